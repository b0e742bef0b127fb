//! What `doctor` says of files: those of a store, those beside it, and what they
//! are on.

use std::fs;
use std::os::unix::fs::chown;

use crate::support::damage::{DAMAGES, mode};
use crate::support::{BIN, Scene};

/// Types a remedy into a shell, from the command in it on.
#[track_caller]
fn typed(scene: &Scene, remedy: &str, program: &str) {
    let at = remedy.find(program).unwrap_or_else(|| panic!("no {program} in {remedy}"));
    let line = remedy[at..].split(", or ").next().unwrap();
    let line = format!(r#"cd /; PATH="${{BIN%/*}}:$PATH"; {line}"#);
    scene.call("-c").program("sh".as_ref()).arg(line).without_env("DOUBLETAP_STORE").run();
}

#[test]
fn whatever_makes_a_store_unusable_is_bad_and_has_a_remedy() {
    for damage in &DAMAGES {
        let scene = Scene::new();
        damage.inflict(&scene);
        let checkup = scene.examined();
        assert_eq!(checkup.status, 1, "{}: {}", damage.name, checkup.document);
        let bad = checkup.names("bad");
        assert!(!bad.is_empty(), "{}", damage.name);
        for name in bad {
            checkup.remedy(&name, "bad");
        }
        let text = checkup.document.to_string();
        assert!(text.contains(damage.remedy), "{}: {text}", damage.name);
    }
}

#[test]
fn a_pipe_in_place_of_a_store_is_bad_and_not_waited_for() {
    let scene = Scene::new();
    fs::rename(scene.path("gate"), scene.store()).unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    assert!(checkup.found("store", "bad").contains("not a file"), "{}", checkup.document);
}

#[test]
fn a_file_that_others_may_write_or_read_is_mended_by_what_is_to_be_typed() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    mode(&scene.store(), 0o666);
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    assert!(checkup.all("opening").is_empty(), "it is told once: {}", checkup.document);
    typed(&scene, &checkup.remedy("store", "bad"), "chmod");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    typed(&scene, &checkup.remedy("store", "note"), "chmod");
    scene.examined().found("store", "ok");
}

#[test]
fn a_folder_that_everybody_may_write_in_is_mended_by_what_is_to_be_typed() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    mode(&scene.state_folder(), 0o777);
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    typed(&scene, &checkup.remedy("folder", "bad"), "chmod");
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    checkup.found("folder", "ok");
}

#[test]
fn a_file_beside_the_store_that_others_may_write_or_its_owner_may_not_is_mended_too() {
    for (suffix, check) in [("-wal", "log file"), ("-shm", "index file"), (".live", "lock file")] {
        for (bits, program) in [(0o666, "chmod o-w"), (0o400, "chmod u+rw")] {
            let scene = Scene::new();
            scene.once("k").sh("true").run();
            let file = scene.state_folder().join(format!("store.db{suffix}"));
            mode(&file, bits);
            let checkup = scene.examined();
            assert_eq!(checkup.status, 1, "{}", checkup.document);
            typed(&scene, &checkup.remedy(check, "bad"), program);
            assert_eq!(scene.examined().status, 0);
        }
    }
}

#[test]
fn a_record_whose_output_is_lost_is_bad_until_it_is_forgotten() {
    let scene = Scene::new();
    let large = "head -c 2000000 /dev/zero";
    let call = scene.once("--namespace prod").arg("--key=-o'dd key").sh(large);
    call.any_stdout().run();
    let checkup = scene.examined();
    assert!(checkup.found("outputs", "ok").starts_with("1 files"), "{}", checkup.document);
    for name in scene.state_files().iter().filter(|name| name.contains(".out")) {
        fs::remove_file(scene.state_folder().join(name)).unwrap();
    }
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    typed(&scene, &checkup.remedy("outputs", "bad"), "doubletap");
    assert_eq!(scene.examined().status, 0);
}

#[test]
fn a_file_of_an_output_that_belongs_to_no_attempt_is_worth_a_note() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let name = format!("store.db-17-{}.out", "ab".repeat(16));
    fs::write(scene.state_folder().join(&name), "stray").unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    typed(&scene, &checkup.remedy("outputs", "note"), "doubletap");
    assert!(!scene.state_files().contains(&name));
    scene.examined().found("outputs", "ok");
}

/// What `doctor --json` prints after a script that mounts, in a mount namespace of
/// its own.
#[track_caller]
fn examined_after(scene: &Scene, script: &str) -> serde_json::Value {
    let call = scene.call("doctor --json").through(["unshare", "-m", "sh", "-c", script, "sh"]);
    let done = call.unchecked().run();
    serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", done.complaint()))
}

#[track_caller]
fn assert_says(document: &serde_json::Value, name: &str, verdict: &str, word: &str) {
    let mut checks = document["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["name"] == name).unwrap();
    assert_eq!(check["verdict"], verdict, "{check}");
    assert!(check["found"].as_str().unwrap().contains(word), "{check}");
    assert!(check["remedy"].is_string(), "{check}");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn little_space_is_bad_some_is_a_note_and_a_file_in_memory_too() {
    for (size, verdict) in [("8m", "bad"), ("60m", "note")] {
        let scene = Scene::new();
        let script = format!(
            r#"mount -t tmpfs -o size={size},mode=700 none "$STATE" || exit 99; exec "$@""#
        );
        let document = examined_after(&scene, &script);
        assert_says(&document, "free space", verdict, "MiB");
        assert_says(&document, "file system", "note", "tmpfs");
    }
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_machine_that_does_not_say_when_it_started_is_bad() {
    let scene = Scene::new();
    let script = r#"mount --bind /dev/null /proc/sys/kernel/random/boot_id || exit 99; exec "$@""#;
    assert_says(&examined_after(&scene, script), "boot id", "bad", "restart");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_folder_on_a_read_only_medium_is_bad() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    let script = r#"
        mount --bind "$STATE" "$STATE" && mount -o remount,ro,bind "$STATE" || exit 99
        exec "$@""#;
    let document = examined_after(&scene, script);
    assert_says(&document, "folder", "bad", "Read-only");
    assert_eq!(document["verdict"], "bad");
}

#[test]
#[ignore = "needs root, /dev/fuse and bindfs: cargo test -- --ignored"]
fn a_network_file_system_is_bad() {
    let scene = Scene::new();
    let script = r#"
        mkdir -p source && bindfs source "$STATE" || exit 99
        "$@"; umount "$STATE""#;
    assert_says(&examined_after(&scene, script), "file system", "bad", "network");
}

#[test]
#[ignore = "needs root: cargo test -- --ignored"]
fn root_examines_another_users_store_and_leaves_no_trace() {
    const SOMEBODY: u32 = 65534;
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    for name in scene.state_files() {
        chown(scene.state_folder().join(name), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    chown(scene.state_folder(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    let before = scene.state_files();
    let checkup = scene.examined_with("--race 3");
    assert_eq!(checkup.status, 0, "{}", checkup.document);
    assert!(checkup.remedy("store", "note").starts_with("sudo -u '#65534' doubletap doctor"));
    checkup.found("rows", "ok");
    assert_eq!(scene.state_files(), before);

    chown(scene.live(), Some(0), Some(0)).unwrap();
    let checkup = scene.examined();
    assert_eq!(checkup.status, 1);
    typed(&scene, &checkup.remedy("lock file", "bad"), "chown 65534");
    assert_eq!(scene.examined().status, 0);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn another_users_store_is_refused_with_the_remedy_that_opening_gives() {
    let scene = Scene::new();
    scene.once("k").sh("true").run();
    for path in [scene.root(), scene.state_folder()] {
        mode(&path, 0o755);
    }
    let program = scene.root().join("doubletap");
    fs::copy(BIN, &program).unwrap();
    let call = scene.call("doctor").program(&program);
    let call = call.through(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    let text = call.status(1).any_stdout().run().text();
    assert!(text.contains("run as its owner, or name another with --store"), "{text}");
}
