//! Completions of the shells: made from the command line, committed, and printed.

use std::env::var_os;
use std::fs;

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};
use doubletap::cli::Cli;

use crate::support::Scene;

/// The shells, and the file of each in `completions/`.
const FILES: [(&str, Shell, &str); 4] = [
    ("bash", Shell::Bash, "doubletap.bash"),
    ("zsh", Shell::Zsh, "_doubletap"),
    ("fish", Shell::Fish, "doubletap.fish"),
    ("elvish", Shell::Elvish, "doubletap.elv"),
];

fn committed(file: &str) -> String {
    format!("{}/completions/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn made_for(shell: Shell) -> String {
    let mut made = Vec::new();
    generate(shell, &mut Cli::command(), "doubletap", &mut made);
    String::from_utf8(made).unwrap()
}

/// `UPDATE=completions cargo test completions` writes them anew.
#[test]
#[cfg_attr(
    any(feature = "otel", feature = "postgres", feature = "redis"),
    ignore = "what is committed is of the default build: cargo test completions"
)]
#[expect(clippy::disallowed_methods, reason = "no option of the program's")]
fn the_committed_completions_are_what_the_command_line_makes() {
    for (_, shell, file) in FILES {
        let path = committed(file);
        let made = made_for(shell);
        if var_os("UPDATE").is_some_and(|what| what == "completions") {
            fs::write(&path, &made).unwrap();
        }
        assert!(made.contains("claim-ttl") && made.contains("older-than"), "{file} lacks options");
        assert_eq!(fs::read_to_string(&path).unwrap(), made, "{file} is old");
    }
}

#[test]
fn completions_prints_the_committed_file_and_needs_no_home() {
    let scene = Scene::new();
    for (name, _, file) in FILES {
        let call = scene.call(&format!("completions {name}"));
        call.through_sh(r#"unset HOME XDG_STATE_HOME DOUBLETAP_STORE; exec "$@""#)
            .stdout(fs::read(committed(file)).unwrap())
            .run();
    }
    let call = scene.call("completions tcsh").status(64);
    call.note(&["tcsh", "bash, zsh, fish, elvish"]).run();
}

#[test]
fn a_shell_reads_what_is_made_for_it_and_completes_a_verb_and_an_option() {
    let scene = Scene::new();
    let script = r#"
        eval "$("$@")"
        complete -p doubletap >/dev/null || exit 1
        COMP_WORDS=(doubletap le); COMP_CWORD=1; _doubletap doubletap le doubletap
        printf '%s\n' "${COMPREPLY[@]}"
        COMP_WORDS=(doubletap lease --slo); COMP_CWORD=2; _doubletap doubletap --slo lease
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let call = scene.call("completions bash").through(["bash", "-c", script, "bash"]);
    call.stdout("lease\n--slots\n").run();
}

#[test]
fn keygen_prints_another_128_bits_each_time() {
    let scene = Scene::new();
    let keys: Vec<String> =
        (0..3).map(|_| scene.call("keygen").any_stdout().run().text()).collect();
    for key in &keys {
        let digits = key.strip_suffix('\n').unwrap();
        assert_eq!(digits.len(), 32, "{key}");
        assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{key}");
    }
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
    scene.once(&keys[0]).sh("echo once").stdout("once\n").run();
}
