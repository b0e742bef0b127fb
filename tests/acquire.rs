//! `acquire` and `release`: a name that a script holds by hand.

use serde_json::Value;

use crate::support::processes::is_alive;
use crate::support::{Done, Scene, Signal, finished, token_of, until};

#[test]
fn a_name_is_held_until_it_is_released() {
    let scene = Scene::new();
    let token = scene.acquired("n");
    assert_eq!(scene.lease_state("n"), "held");
    let call = scene.acquire("n --ttl 1h").status(75);
    call.note(&["n: busy", "held by pid", "--wait"]).run();
    scene.acquire("n --ttl 1h -q -E 9").status(9).run();
    scene.with_token("release n", &token).run();
    assert_eq!(scene.lease_state("n"), "released");
    scene.acquired("n");
}

#[test]
fn to_release_it_twice_is_no_error_and_changes_nothing() {
    let scene = Scene::new();
    let token = scene.acquired("n");
    for _ in 0..3 {
        let told = scene.json(&format!("release n --json --token {token}"));
        assert_eq!((&told["status"], &told["kind"]), (&"released".into(), &"lease".into()));
    }
    scene.acquired("n");
    scene.with_token("release n", &token).status(69).note(&["n: superseded"]).run();
    assert_eq!(scene.lease_state("n"), "held", "it is not the next one's that was released");
}

#[test]
fn of_eight_at_once_one_has_it() {
    let scene = Scene::new();
    let acquire = |_| scene.acquire("n --ttl 1h -q").unchecked().spawn();
    let done = finished((0..8).map(acquire).collect::<Vec<_>>());
    let mut codes: Vec<i32> = done.iter().map(Done::code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 75, 75, 75, 75, 75, 75, 75]);
}

#[test]
fn as_many_as_there_are_slots_have_it_at_once() {
    let scene = Scene::new();
    let first = scene.acquired("n --slots 2");
    let second = scene.acquired("n --slots 2");
    assert_ne!(first, second);
    scene.acquire("n --ttl 1h --slots 2").status(75).note(&["n: busy"]).run();
    scene.with_token("release n", &first).run();
    scene.acquired("n --slots 2");
    scene.acquire("n --ttl 1h --slots 2 -q").status(75).run();
    scene.with_token("release n", &second).run();
    scene.lease("n --slots 2").command(["echo", "hi"]).stdout("hi\n").run();
}

#[test]
fn a_name_that_is_to_be_kept_outlives_its_release() {
    let scene = Scene::new();
    let token = scene.acquired("n --min-hold 1h");
    scene.with_token("release n", &token).run();
    let call = scene.acquire("n --ttl 1h").status(75);
    call.note(&["n: busy", "it is kept for another", "--min-hold"]).run();
    let call = scene.acquire("n --ttl 1h --format json -q").any_stdout().status(75);
    let told: Value = serde_json::from_slice(&call.run().stdout).unwrap();
    assert_eq!((&told["status"], &told["kind"]), (&"busy".into(), &"lease".into()));
    assert!(told["retry_after_ms"].as_u64().is_some_and(|left| left > 3_000_000));
    scene.call("forget n --kind lease").run();
    scene.acquired("n");
}

#[test]
fn whoever_waits_has_it_when_it_is_released() {
    let scene = Scene::new();
    let token = scene.acquired("n");
    let waiter = scene.acquire("n --ttl 1h -v --wait forever").unchecked().spawn();
    until("it waits", || {
        String::from_utf8_lossy(&waiter.stderr_so_far()).contains("n: waiting for")
    });
    scene.with_token("release n", &token).run();
    let done = waiter.finish();
    assert_eq!(done.code(), 0, "{}", done.complaint());
    assert_ne!(token_of(&done), token);
}

#[test]
fn a_lease_that_runs_a_command_and_one_by_hand_keep_each_other_out() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n"));
    scene.acquire("n --ttl 1h").status(75).note(&["n: busy"]).run();
    let waiter = scene.acquire("n --ttl 1h -q --wait forever").any_stdout().spawn();
    gate.open();
    holder.finish();
    let token = token_of(&waiter.finish());
    scene.lease("n").sh("echo run >>runs").status(75).note(&["n: busy"]).run();
    scene.with_token("release n", &token).run();
    scene.lease("n").sh("echo run >>runs").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn it_is_free_at_once_when_its_process_is_gone() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    scene.acquire(&format!("n --ttl 1h --pid {}", script.pid())).any_stdout().run();
    let holder = format!("held by pid {}", script.pid());
    scene.acquire("n --ttl 1h").status(75).note(&[&holder]).run();
    script.signal(Signal::SIGKILL);
    until("it is gone", || !is_alive(script.pid()));
    scene.acquired("n");
}

#[test]
fn its_time_ends_the_right_of_a_process_that_lives_on_unharmed() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    let acquire = scene.acquire(&format!("n --ttl 2s --pid {}", script.pid()));
    let late = token_of(&acquire.any_stdout().run());
    scene.acquire("n --ttl 1h -q").status(75).run();
    until("its time is over", || scene.acquire("n --ttl 1h -q").unchecked().run().code() == 0);
    assert!(is_alive(script.pid()), "it is not ours to end");
    let call = scene.with_token("release n --json", &late).any_stdout().status(69);
    let done = call.note(&["n: superseded", "somebody else has it"]).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["status"], "superseded");
    for verb in ["renew", "renew --claim-ttl 1h", "assert"] {
        scene.with_token(verb, &late).status(69).note(&[]).run();
    }
    assert_eq!(scene.lease_state("n"), "held");
}

#[test]
fn a_late_release_that_nobody_superseded_says_so() {
    let scene = Scene::new();
    scene.shell(r#""$BIN" acquire n --ttl 1h --pid $$ >token; exit $?"#).run();
    let token = scene.read("token");
    let call = scene.with_token("release n --json", token.trim()).any_stdout();
    let done = call.note(&["n: released late", "nobody had taken"]).run();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["late"]), (&"released".into(), &true.into()));
}

#[test]
fn a_key_of_the_same_word_and_another_namespace_are_something_else() {
    let scene = Scene::new();
    let name = scene.acquired("word");
    let key = scene.token("word");
    let other = scene.acquired("word --namespace other");
    scene.with_token("release word", &key).status(69).note(&["word: superseded"]).run();
    scene.with_token("release word", &other).status(69).note(&["word: superseded"]).run();
    scene.with_token("complete word", &key).run();
    scene.with_token("release word", &name).run();
    scene.with_token("release word --namespace other", &other).run();
    scene.with_token("release absent", &name).status(69).note(&["absent: missing"]).run();
}

#[test]
fn a_forgotten_name_is_lost_to_whoever_held_it() {
    let scene = Scene::new();
    let token = scene.acquired("n");
    scene.call("forget n --kind lease").status(75).note(&["held by", "--force"]).run();
    scene.call("forget n --kind lease --force").run();
    scene.with_token("release n", &token).status(69).note(&["n: superseded"]).run();
    scene.acquired("n");
}

#[test]
fn fences_grow_whoever_gives_them_out() {
    let scene = Scene::new();
    let mut fences: Vec<i64> = Vec::new();
    for _ in 0..3 {
        let told = scene.json("acquire n --ttl 1h --format json");
        fences.push(told["fence"].as_i64().unwrap());
        scene.with_token("release n", told["token"].as_str().unwrap()).run();
        let lease = scene.lease("n").sh("echo $DOUBLETAP_FENCE").any_stdout().run();
        fences.push(lease.text().trim().parse().unwrap());
        let script = r#"eval "$("$BIN" acquire n --ttl 1h --format sh)" && echo $DOUBLETAP_FENCE &&
            "$BIN" release n"#;
        fences.push(scene.shell(script).any_stdout().run().text().trim().parse().unwrap());
    }
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

#[test]
fn a_script_that_acquires_what_it_holds_would_wait_for_itself_and_is_told() {
    let scene = Scene::new();
    let script = r#"eval "$("$BIN" acquire n --ttl 1h --format sh)"
        "$BIN" acquire n --ttl 1h --wait forever; exit $?"#;
    scene.shell(script).status(75).note(&["n: busy", "wait for itself"]).run();
}
