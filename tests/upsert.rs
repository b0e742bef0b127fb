//! `complete --upsert-missing`: an end that is recorded though the store has lost what it
//! knew of the key, and never over what anybody else did.

use std::io::Write as _;
use std::os::fd::OwnedFd;

use crate::large_output::spools;
use crate::support::{Done, Scene, finished, until};

/// A token that nobody drew in this store.
const STRANGE: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn what_nothing_is_known_of_is_recorded_in_a_new_store() {
    let scene = Scene::new();
    scene.write("result", "result");
    for _ in 0..2 {
        let call = scene.with_token("complete k --upsert-missing --result result", STRANGE);
        call.run();
    }
    scene.begin("k --claim-ttl 1h").status(10).stdout("result").run();
    assert_eq!(scene.json("show k --json")["attempts"].as_array().map(Vec::len), Some(1));
    let call = scene.with_token("complete k --upsert-missing", STRANGE).status(69);
    call.note(&["k: already_done"]).run();
}

#[test]
fn what_was_pruned_is_recorded_by_its_token() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("fail k", &token).run();
    until("it is old enough", || {
        scene.call("prune --older-than 0s --force").run();
        scene.state("k") == "absent"
    });
    scene.with_token("complete k", &token).status(69).note(&["k: missing"]).run();
    scene.with_token("complete k --upsert-missing", &token).run();
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn the_own_claim_is_simply_completed() {
    let scene = Scene::new();
    let token = scene.token("k");
    scene.with_token("complete k --upsert-missing", &token).run();
    let attempts = &scene.json("show k --json")["attempts"];
    assert_eq!(attempts.as_array().map(Vec::len), Some(1));
    assert_eq!(attempts[0]["command"], "begin");
}

#[test]
fn another_ones_claim_and_record_stay_as_they_are() {
    let scene = Scene::new();
    let token = scene.token("k");
    let refused = || {
        let before = scene.json("show k --json");
        let call = scene.with_token("complete k --upsert-missing --exit-code 9", STRANGE);
        call.status(69).note(&["k: superseded"]).run();
        assert_eq!(scene.json("show k --json")["state"], before["state"]);
        assert_eq!(scene.json("show k --json")["attempts"][0]["ended"], {
            before["attempts"][0]["ended"].clone()
        });
    };
    refused();
    scene.with_token("complete k --ttl 1s", &token).run();
    refused();
    until("the record has expired", || scene.state("k") == "expired");
    refused();
    scene.call("forget k").run();
    refused();
    assert_eq!(scene.state("k"), "forgotten");
}

#[test]
fn a_zombie_of_a_forgotten_key_loses() {
    let scene = Scene::new();
    let zombie = scene.token("k");
    scene.call("forget k --force").run();
    let call = scene.with_token("complete k --upsert-missing", &zombie).status(69);
    call.note(&["k: superseded", "forgotten"]).run();
    let token = scene.token("k");
    let call = scene.with_token("complete k --upsert-missing", &zombie).status(69);
    call.note(&["k: superseded", "another attempt"]).run();
    scene.with_token("complete k", &token).run();
}

#[test]
fn of_many_at_once_one_is_recorded() {
    let scene = Scene::new();
    let complete = |number: i32| {
        let token = format!("{number:032x}");
        let words = format!("complete k --upsert-missing --exit-code {number}");
        scene.with_token(&words, &token).unchecked().spawn()
    };
    let done = finished((1..=8).map(complete).collect::<Vec<_>>());
    let codes: Vec<i32> = done.iter().map(Done::code).collect();
    let winners: Vec<usize> = (0..8).filter(|at| codes[*at] == 0).collect();
    assert_eq!((winners.len(), codes.iter().filter(|code| **code == 69).count()), (1, 7));
    let recorded = &scene.json("show k --json")["attempts"][0]["exit_code"];
    assert_eq!(*recorded, winners[0] + 1);
}

#[test]
fn of_two_at_once_with_one_token_and_one_result_both_are_recorded() {
    let scene = Scene::new();
    scene.write("result", "result");
    let words = "complete k --upsert-missing --result result";
    finished((0..4).map(|_| scene.with_token(words, STRANGE).spawn()).collect::<Vec<_>>());
    assert_eq!(scene.json("show k --json")["attempts"].as_array().map(Vec::len), Some(1));
    scene.begin("k --claim-ttl 1h").status(10).stdout("result").run();
}

#[test]
fn a_result_that_cannot_be_read_leaves_nothing_behind() {
    let scene = Scene::new();
    let words = "complete k --upsert-missing --result nowhere";
    let token = "00112233445566778899aabbccddeeff";
    scene.with_token(words, token).status(125).note(&["k: its result nowhere"]).run();
    assert_eq!(scene.state("k"), "absent");
    scene.write("nowhere", "found");
    scene.with_token(words, token).run();
    assert_eq!(scene.state("k"), "done");
}

#[test]
fn a_large_result_is_spared_by_a_prune_that_comes_while_it_is_read() {
    let scene = Scene::new();
    let result = vec![b'x'; 2_000_000];
    let (reader, mut writer) = std::io::pipe().unwrap();
    let call = scene.with_token("complete k --upsert-missing --result -", STRANGE);
    let running = call.stdin(OwnedFd::from(reader).into()).spawn();
    writer.write_all(&result).unwrap();
    until("there is a file of it", || scene.state_folder().exists() && spools(&scene).len() == 1);
    scene.call("prune --older-than 1d").run();
    drop(writer);
    running.finish();
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
    assert_eq!(spools(&scene).len(), 1, "it has one name");
}

#[test]
#[ignore = "needs strace: cargo test -- --ignored"]
fn an_end_that_could_not_be_recorded_is_recorded_by_the_same_call_again() {
    let scene = Scene::new();
    scene.attempt("earlier").run();
    let result = vec![b'x'; 2_000_000];
    scene.write("result", &result);
    let call = || scene.with_token("complete k --upsert-missing --result result", STRANGE);
    // After the claim the file of the result is synced.
    let failing = ["strace", "-f", "-o", "trace", "-e", "inject=fdatasync:error=EIO:when=2"];
    let failed = call().through(failing).status(74);
    failed.note(&["k: its end could not be recorded"]).run();
    assert_eq!(scene.state("k"), "interrupted", "whoever asks for it is told of what is not known");
    assert!(spools(&scene).is_empty());
    call().note(&["k: recorded late"]).run();
    scene.begin("k --claim-ttl 1h").status(10).stdout(&result).run();
}
