//! Bad input is refused with 64 and one line, before the store is opened.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::support::{Call, Scene};

/// Runs a call that must be refused, and looks that it touched nothing.
#[track_caller]
fn refused(scene: &Scene, call: Call<'_>, words: &[&str]) {
    call.status(64).note(words).run();
    assert_eq!(scene.runs(), 0, "the command ran although the call is wrong");
    assert_eq!(
        scene.state_files(),
        Vec::<String>::new(),
        "the store was opened although the call is wrong"
    );
}

#[test]
fn a_key_must_be_text_of_1_to_1024_bytes_without_control_characters() {
    let scene = Scene::new();
    let keys: [Vec<u8>; 7] = [
        b"".to_vec(),
        vec![b'k'; 1025],
        b"a\nb".to_vec(),
        b"a\x1b[31m".to_vec(),
        b"tab\t".to_vec(),
        b"a\x7f".to_vec(),
        b"a\xffb".to_vec(),
    ];
    for key in keys {
        let key = OsString::from_vec(key);
        refused(&scene, scene.call("once").arg(key).sh("echo >>runs"), &[]);
    }
}

#[test]
fn a_key_of_1024_bytes_or_with_any_other_character_is_fine() {
    let scene = Scene::new();
    let long = "k".repeat(1024);
    for key in [&long, "a b", "../../etc/passwd", "ключ/🔑", "'\"$(x)`", "."] {
        scene.call("once").arg(key).sh("echo hi").stdout("hi\n").run();
        scene.call("once").arg(key).sh("echo hi").stdout("hi\n").run();
    }
    assert_eq!(scene.json("list --json").as_array().map(Vec::len), Some(6), "each key is its own");
}

#[test]
fn a_key_that_begins_with_a_dash_is_passed_by_name() {
    let scene = Scene::new();
    for _ in 0..2 {
        scene.once("--key -x").sh("echo >>runs").run();
        scene.once("--key=--wait").sh("echo >>runs").run();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_namespace_is_held_to_the_rules_of_a_key() {
    let scene = Scene::new();
    for namespace in ["", "a\nb", &"n".repeat(1025)] {
        let call = scene.call("once k --namespace").arg(namespace);
        refused(&scene, call.sh("echo >>runs"), &[]);
    }
}

#[test]
fn durations_need_a_number_a_unit_and_a_meaning() {
    let scene = Scene::new();
    let wrong = [
        "",
        "0",
        "5",
        "5M",
        "1M",
        "-5s",
        "s",
        "abc",
        "5 parsecs",
        "1h-5m",
        "99999999999999999999s",
        "18446744073709551615y",
        "0x5s",
        "5s;",
        "∞",
    ];
    for option in ["--ttl", "--wait", "--retry-after", "--claim-ttl", "--store-timeout"] {
        for duration in wrong {
            let call = scene.call("once k").arg(format!("{option}={duration}"));
            refused(&scene, call.sh("echo >>runs"), &[option]);
        }
    }
    for duration in wrong {
        let call = scene.call("prune").arg(format!("--older-than={duration}"));
        refused(&scene, call, &["--older-than"]);
    }
}

#[test]
fn zero_is_refused_where_it_has_no_meaning_and_claims_last_2_seconds_at_least() {
    let scene = Scene::new();
    for option in ["--ttl=0s", "--claim-ttl=0s", "--claim-ttl=1s", "--claim-ttl=1999ms"] {
        refused(&scene, scene.once("k").arg(option).sh("echo >>runs"), &[]);
    }
}

#[test]
fn durations_are_understood_as_people_write_them() {
    let scene = Scene::new();
    for (at, duration) in ["90s", "1h30m", "30d", "forever", "2s", "1h 30m"].iter().enumerate() {
        let key = format!("once k{at} --ttl");
        scene.call(&key).arg(*duration).sh("true").run();
    }
    scene.once("w1 --wait forever").sh("true").run();
    scene.once("w2 --wait 1ms").sh("true").run();
    scene.once("c --claim-ttl 2s").sh("true").run();
}

#[test]
fn numbers_out_of_range_are_refused() {
    let scene = Scene::new();
    for option in [
        "-E 600",
        "-E -1",
        "-E x",
        "--conflict-exit-code 256",
        "-E 1.5",
        "--max-attempts 0",
        "--max-attempts -1",
        "--max-attempts 99999999999999999999",
        "--record 256",
        "--record -1",
        "--record 5-3",
        "--record x",
        "--record 1,,2",
        "--record 0-",
        "--on-crash maybe",
        "--replay loud",
        "--report fd:x",
        "--report fd:-1",
        "--fingerprint nonsense",
        "--fingerprint env:",
        "--fingerprint file:",
    ] {
        let call = scene.once("k").arg("--no-output");
        let call = option.split(' ').fold(call, Call::arg);
        refused(&scene, call.sh("echo >>runs"), &[]);
    }
    for option in ["--record=", "--fingerprint=", "--on-crash=", "--report=", "-E="] {
        refused(&scene, scene.once("k").arg(option).sh("echo >>runs"), &[]);
    }
}

#[test]
fn an_option_without_its_value_does_not_swallow_the_key() {
    let scene = Scene::new();
    refused(&scene, scene.once("k --wait").sh("echo >>runs"), &["--wait"]);
    refused(&scene, scene.once("--wait k").sh("echo >>runs"), &["--wait"]);
    refused(&scene, scene.once("k --ttl").sh("echo >>runs"), &["--ttl"]);
    refused(&scene, scene.once("k -w -n").sh("echo >>runs"), &["--wait"]);
}

#[test]
fn a_command_without_the_two_dashes_is_told_where_to_put_them() {
    let scene = Scene::new();
    refused(&scene, scene.once("k ./deploy.sh"), &["once k -- ./deploy.sh"]);
    refused(&scene, scene.once("k ./deploy.sh --fast"), &["--"]);
}

#[test]
fn a_call_without_a_command_key_or_known_verb_is_refused() {
    let scene = Scene::new();
    for words in [
        "once",
        "once k",
        "once k --",
        "once --",
        "once -- true",
        "onse k -- true",
        "once k --frobnicate -- true",
        "once k extra -- true",
        "show",
        "forget",
        "complete",
        "complete k",
        "prune",
        "list extra",
        "show k extra",
        "",
        "complete k --unresolved --exit-code 256",
    ] {
        refused(&scene, scene.call(words), &[]);
    }
}

#[test]
fn the_key_is_given_once() {
    let scene = Scene::new();
    refused(&scene, scene.once("k --key j").sh("echo >>runs"), &[]);
}

#[test]
fn an_empty_command_name_is_no_command() {
    let scene = Scene::new();
    refused(&scene, scene.once("k").command([""]), &["COMMAND"]);
}

#[test]
fn help_and_version_go_to_stdout_and_open_nothing() {
    let scene = Scene::new();
    for words in ["--help", "once --help", "prune --help"] {
        let done = scene.call(words).any_stdout().run();
        assert!(done.text().contains("doubletap"), "{words}: {}", done.text());
    }
    let version = concat!("doubletap ", env!("CARGO_PKG_VERSION"), "\n");
    scene.call("--version").stdout(version).run();
    assert_eq!(scene.state_files(), Vec::<String>::new());
}

#[test]
fn a_claim_that_hangs_on_nothing_is_refused_with_what_it_could_hang_on() {
    let scene = Scene::new();
    refused(&scene, scene.call("begin k"), &["--pid $$", "--claim-ttl 1h"]);
    refused(&scene, scene.call("begin k --format json"), &["--pid $$"]);
}

#[test]
fn a_store_on_a_server_needs_a_build_with_its_feature_and_a_scheme_of_somebody() {
    let scene = Scene::new();
    let of_nobody = "there is no mysql store; name a file, postgresql://… or redis://…";
    let mut wrong = vec![("mysql://h/d", of_nobody), ("redis://", "names no Redis server")];
    if cfg!(not(feature = "postgres")) {
        wrong.push((
            "postgresql://h/d",
            "no PostgreSQL store; one that has: cargo install --path . --features postgres",
        ));
    }
    if cfg!(not(feature = "redis")) {
        wrong.push((
            "rediss://h",
            "no Redis store; one that has: cargo install --path . --features redis",
        ));
    }
    for (name, why) in wrong {
        let call = scene.once("k --store").arg(name).sh("echo >>runs");
        refused(&scene, call, &[name, why]);
        let call = scene.once("k").env("DOUBLETAP_STORE", name).sh("echo >>runs");
        refused(&scene, call, &[name, why]);
    }
}

#[test]
fn a_password_in_the_name_of_a_store_is_not_shown() {
    let scene = Scene::new();
    for name in ["mysql://app:s3cret@h/d", "postgresql://app:s3cret@h/d\n", "redis://:s3cret@h\n"] {
        for call in [
            scene.once("k --store").arg(name),
            scene.once("k").env("DOUBLETAP_STORE", name),
            scene.call("list --store").arg(name),
        ] {
            let done = call.unchecked().run();
            let complaint = done.complaint();
            assert!(complaint.contains("***@h"), "{complaint}");
            assert!(!complaint.contains("s3cret"), "{complaint}");
        }
    }
    for verb in ["--help", "once --help", "show --help"] {
        let call = scene.call(verb).env("DOUBLETAP_STORE", "redis://:s3cret@h");
        let done = call.unchecked().run();
        let help = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(help.contains("DOUBLETAP_STORE"), "{help}");
        assert!(!help.contains("s3cret"), "{help}");
    }
}
