//! The command inherits what we inherited, and nothing of ours.

use std::fs;

use crate::support::Scene;

/// Everything about itself that a process has from whoever started it.
const LOOK: &str = r#"
    grep -E '^(Umask|Uid|Gid|Groups|SigBlk|SigIgn|CapEff|NoNewPrivs|Seccomp)' /proc/self/status
    cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup; nice; pwd
    for fd in /proc/self/fd/*; do echo "${fd##*/}"; done; cat <&7; echo to nine >&9"#;

/// Odd things to inherit: a mask, ignored signals, limits, descriptors.
const ODD: &str = r#"trap '' HUP USR2; umask 027; ulimit -n 200; exec 7<seven 9>>nine; exec "$@""#;

#[test]
fn a_command_finds_the_same_with_us_as_without_us() {
    let scene = Scene::new();
    scene.write("seven", "through seven\n");
    let direct = scene.call("-c").program("sh".as_ref()).arg(LOOK);
    let direct = direct.through_sh(ODD).any_stdout().run().text();
    assert!(direct.contains("through seven\n"), "{direct}");
    for words in ["k", "bare --no-output", "open --fail-open --store /proc/nowhere"] {
        let call = scene.once(words).sh(LOOK).through_sh(ODD).unchecked();
        assert_eq!(call.run().text(), direct, "{words}");
    }
    assert_eq!(scene.read("nine"), "to nine\n".repeat(4));
}

#[test]
fn a_blocked_signal_stays_blocked_for_the_command_and_does_not_keep_its_end_from_us() {
    const BLOCKED: [&str; 2] = ["env", "--block-signal=CHLD,USR1"];
    let scene = Scene::new();
    let probe = scene.call("").program("true".as_ref()).through(BLOCKED).unchecked().run();
    if probe.code() != 0 {
        return; // This `env` is not GNU's.
    }
    let look = ["grep", "^Sig[BI]", "/proc/self/status"];
    let direct = scene.call("").program("env".as_ref());
    let direct = look.iter().fold(direct, |call, word| call.arg(*word));
    let direct = direct.through(BLOCKED).any_stdout().run().text();
    let call = scene.once("k").command(look).through(BLOCKED);
    call.stdout(&direct).run();
    assert!(direct.contains("SigBlk:\t0000000000010200"), "{direct}");
}

#[test]
fn a_closed_stream_is_the_null_device_for_us_and_the_command() {
    let scene = Scene::new();
    let script = r#"
        found=$(for pid in $$ $PPID; do for fd in 0 1 2; do readlink /proc/$pid/fd/$fd; done; done)
        echo "$found" >found"#;
    let closed = r#"exec "$@" <&- >&- 2>&-"#;
    scene.once("k --no-output").sh(script).through_sh(closed).run();
    assert_eq!(scene.read("found"), "/dev/null\n".repeat(6));
    assert_eq!(scene.state("k"), "done", "the store took no stray byte");
}

#[test]
#[ignore = "needs make: cargo test -- --ignored"]
fn the_jobserver_of_make_works_through_us() {
    let scene = Scene::new();
    // Each half waits for the other: with one at a time neither would end.
    scene.write("Makefile", "all: ; +\"$$BIN\" once k -- $(MAKE) -f inner.mk\n");
    let inner = ".SILENT:\nboth: left right\nleft: ; echo >meet; echo left\n\
        right: ; read x <meet; echo right\n";
    scene.write("inner.mk", inner);
    nix::unistd::mkfifo(&scene.path("meet"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let make = |words: &str| {
        let call = scene.call(words).program("make".as_ref());
        ["MAKEFLAGS", "MAKELEVEL", "MFLAGS"]
            .into_iter()
            .fold(call, crate::support::Call::without_env)
    };
    let done = make("-s -j2").any_stdout().run();
    let text = done.text();
    assert!(text.contains("left\n") && text.contains("right\n"), "{text}");
    fs::remove_file(scene.path("meet")).unwrap();
    make("-s -j2").stdout(text).run();
}
