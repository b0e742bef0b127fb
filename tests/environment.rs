//! What a command learns from its environment, and what we need from ours.

use crate::support::{Scene, until};

#[test]
fn the_command_is_told_key_namespace_store_token_fence_and_attempt() {
    let scene = Scene::new();
    let script = r#"
        echo "$DOUBLETAP_KEY"; echo "$DOUBLETAP_NAMESPACE"; echo "$DOUBLETAP_STORE"
        echo "$DOUBLETAP_ATTEMPT"; echo "$DOUBLETAP_TOKEN"; echo "$DOUBLETAP_FENCE"
        echo "$DOUBLETAP_IDEMPOTENCY_KEY"; echo "$DOUBLETAP_HELD"; echo "${DOUBLETAP_NAME-no name}""#;
    let done = scene.call("once --namespace billing").arg("a key").sh(script).any_stdout().run();
    let text = done.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert_eq!(lines[0], "a key");
    assert_eq!(lines[1], "billing");
    assert_eq!(lines[2], scene.store().to_str().unwrap());
    assert_eq!(lines[3], "1", "the first attempt");
    assert!(is_hex(lines[4], 32), "a token of 128 bits: {}", lines[4]);
    assert!(
        lines[5].parse::<u64>().is_ok_and(|fence| fence > 1_600_000_000_000),
        "a fence is at least the wall clock in ms: {}",
        lines[5]
    );
    assert!(is_hex(lines[6], 32), "an idempotency key: {}", lines[6]);
    assert_eq!(lines[7], lines[4], "it holds its own claim only");
    assert_eq!(lines[8], "no name");
}

#[test]
fn a_relative_store_is_handed_on_as_an_absolute_path() {
    let scene = Scene::new();
    let wanted = format!("{}\n", scene.path("own.db").display());
    let call = scene.once("k --store own.db").sh("echo \"$DOUBLETAP_STORE\"");
    call.stdout(wanted).run();
    assert!(scene.path("own.db").exists());
}

#[test]
fn an_inner_call_uses_the_same_store_and_namespace() {
    let scene = Scene::new();
    let script = r#"cd /; "$BIN" once inner -- sh -c 'echo "$DOUBLETAP_NAMESPACE"'"#;
    let call = scene.once("outer --store own.db --namespace n").sh(script);
    call.stdout("n\n").run();
    let listed = scene.json("list --store own.db --namespace n --json");
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(scene.state_files(), Vec::<String>::new());
}

#[test]
fn tokens_differ_between_runs_and_fences_grow_whatever_is_removed() {
    let scene = Scene::new();
    let run = || {
        let call = scene.once("k").sh("echo $DOUBLETAP_FENCE $DOUBLETAP_TOKEN");
        let text = call.any_stdout().run().text();
        let (fence, token) = text.trim().split_once(' ').unwrap();
        (fence.parse::<u64>().unwrap(), token.to_owned())
    };
    let mut seen = vec![run()];
    scene.call("forget k").run();
    seen.push(run());
    until("the record is old enough to be pruned", || {
        scene.json("prune --older-than 1s --force --json")["keys"] == 1
    });
    seen.push(run());
    std::fs::remove_dir_all(scene.state_folder()).unwrap();
    std::fs::create_dir(scene.state_folder()).unwrap();
    seen.push(run());
    for pair in seen.windows(2) {
        assert!(pair[0].0 < pair[1].0, "fences went back: {seen:?}");
        assert_ne!(pair[0].1, pair[1].1, "a token came twice");
    }
}

#[test]
fn an_empty_environment_is_enough_when_the_store_is_named() {
    let scene = Scene::new();
    let store = scene.store();
    for _ in 0..2 {
        scene
            .call("once k --store")
            .arg(&store)
            .command(["/bin/sh", "-c", "echo run >>runs; echo hi"])
            .through(["env", "-i"])
            .stdout("hi\n")
            .run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_default_store_is_in_the_state_folder_of_the_home() {
    let scene = Scene::new();
    for _ in 0..2 {
        let call = scene.once("k").sh("echo run >>runs").without_env("DOUBLETAP_STORE");
        call.run();
    }
    assert_eq!(scene.runs(), 1);
    let found = find(&scene.home(), "doubletap.db");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(".local/state"), "{found:?}");
}

#[test]
fn xdg_state_home_moves_the_default_store_also_with_home_unset() {
    let scene = Scene::new();
    let folder = scene.root().join("xdg");
    for _ in 0..2 {
        scene
            .once("k")
            .sh("echo run >>runs")
            .without_env("DOUBLETAP_STORE")
            .without_env("HOME")
            .env("XDG_STATE_HOME", &folder)
            .run();
    }
    assert_eq!(scene.runs(), 1);
    assert_eq!(find(&folder, "doubletap.db").len(), 1);
}

#[test]
fn without_home_the_user_database_says_where_home_is() {
    let scene = Scene::new();
    // Only looks: the real home is not ours to write into.
    let key = format!("absent-{}", std::process::id());
    let call = scene.call(&format!("show {key} --json"));
    let done = call.through(["env", "-i"]).unchecked().run();
    assert_eq!(done.code(), 1, "{}", done.complaint());
}

#[test]
fn flags_win_over_variables() {
    let scene = Scene::new();
    scene
        .once("k --namespace flag")
        .arg("--store")
        .arg(scene.path("flag.db"))
        .sh("echo $DOUBLETAP_NAMESPACE")
        .env("DOUBLETAP_NAMESPACE", "variable")
        .stdout("flag\n")
        .run();
    assert!(scene.path("flag.db").exists());
    assert!(!scene.store().exists());
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn find(folder: &std::path::Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(find(&path, name));
        } else if path.file_name().is_some_and(|file| file == name) {
            found.push(path.display().to_string());
        }
    }
    found
}
