//! What a claim hangs on that no wrapper keeps: a process, a time, or both.

use crate::support::processes::{is_alive, state};
use crate::support::{Scene, Signal, token_of, until};

/// Begins a key from a script that ends at once, and says which process that was.
#[track_caller]
fn begun_by_a_script_that_ended(scene: &Scene, words: &str) -> i32 {
    let script = format!(r#"echo $$ >script; exec >token; "$BIN" begin {words} --pid $$; exit $?"#);
    scene.shell(&script).run();
    scene.read("script").trim().parse().unwrap()
}

#[test]
fn a_key_is_held_while_its_process_lives_though_the_one_that_claimed_it_is_long_gone() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    scene.begin(&format!("k --pid {}", script.pid())).any_stdout().run();
    assert!(scene.wrappers().is_empty(), "nothing of ours is left");
    let holder = format!("held by pid {}", script.pid());
    let call = scene.begin("k --claim-ttl 1h").status(75);
    call.note(&["k: busy", &holder]).run();
    scene.call("forget k").status(75).note(&[&holder, "--force"]).run();
    assert_eq!(scene.state("k"), "running");
}

#[test]
fn a_key_is_free_the_moment_its_process_is_gone() {
    let scene = Scene::new();
    let pid = begun_by_a_script_that_ended(&scene, "k");
    assert_eq!(scene.state("k"), "interrupted");
    let call = scene.begin("k --claim-ttl 1h").any_stdout();
    call.note(&["interrupted", &format!("pid {pid}")]).run();
}

#[test]
fn a_key_is_free_when_its_process_is_killed_and_only_a_zombie_is_left() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    scene.begin(&format!("k --pid {}", script.pid())).any_stdout().run();
    script.signal(Signal::SIGKILL);
    until("it is a zombie", || state(script.pid()) == Some('Z'));
    assert_eq!(scene.state("k"), "interrupted");
    scene.begin("k --claim-ttl 1h").any_stdout().note(&["interrupted"]).run();
}

#[test]
fn a_late_end_is_recorded_if_nobody_took_the_key_and_says_so() {
    let scene = Scene::new();
    begun_by_a_script_that_ended(&scene, "k");
    let token = scene.read("token");
    let call = scene.with_token("complete k --json", token.trim()).any_stdout();
    let done = call.note(&["k: recorded late", "its process was gone", "nobody had taken"]).run();
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&told["status"], &told["late"]), (&"recorded".into(), &true.into()));
    scene.begin("k --claim-ttl 1h").status(10).run();
}

#[test]
fn a_late_end_that_was_superseded_is_not_recorded_and_the_new_owners_record_stands() {
    let scene = Scene::new();
    begun_by_a_script_that_ended(&scene, "k");
    let late = scene.read("token");
    let token = scene.token("k -q");
    scene.write("late", "late");
    scene.write("result", "result");
    for _ in 0..2 {
        let call = scene.with_token("complete k --result late --json", late.trim()).status(69);
        let done = call.any_stdout().note(&["k: superseded", "another attempt"]).run();
        let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!((&told["status"], &told["late"]), (&"superseded".into(), &false.into()));
    }
    scene.with_token("complete k --result result", &token).run();
    let call = scene.with_token("complete k --result late", late.trim()).status(69);
    call.note(&["k: superseded"]).run();
    scene.begin("k --claim-ttl 1h").status(10).stdout("result").run();
}

#[test]
fn a_key_that_was_begun_for_a_time_is_free_when_that_is_over() {
    let scene = Scene::new();
    let done = scene.begin("k --claim-ttl 2s").any_stdout().run();
    let late = token_of(&done);
    scene.begin("k --claim-ttl 1h -q").status(75).run();
    until("its time is over", || scene.state("k") == "interrupted");
    let token = scene.token("k -q");
    scene.with_token("complete k", &late).status(69).note(&["superseded"]).run();
    scene.with_token("complete k", &token).run();
}

#[test]
fn an_end_after_its_time_is_recorded_late() {
    let scene = Scene::new();
    let done = scene.begin("k --claim-ttl 2s").any_stdout().run();
    let token = token_of(&done);
    until("its time is over", || scene.state("k") == "interrupted");
    let call = scene.with_token("complete k", &token);
    call.note(&["k: recorded late", "its time was over", "nobody had taken"]).run();
    scene.with_token("complete k", &token).run();
}

#[test]
fn a_process_decides_and_not_the_time_where_it_can_be_seen() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    let both = format!("k --pid {} --claim-ttl 2s", script.pid());
    scene.begin(&both).any_stdout().run();
    let other = scene.begin("other --claim-ttl 2s").any_stdout().run();
    token_of(&other);
    until("as much time is over", || scene.state("other") == "interrupted");
    scene.begin("k --claim-ttl 1h").status(75).note(&["busy"]).run();
    script.kill();
    scene.begin("k --claim-ttl 1h").any_stdout().note(&["interrupted"]).run();
}

#[test]
fn a_process_that_can_be_seen_and_has_gone_decides_before_the_time_is_over() {
    let scene = Scene::new();
    begun_by_a_script_that_ended(&scene, "k --claim-ttl 1h");
    scene.begin("k --claim-ttl 1h").any_stdout().note(&["interrupted"]).run();
}

#[test]
fn a_script_that_begins_what_it_holds_would_wait_for_itself_and_is_told() {
    let scene = Scene::new();
    let script =
        r#""$BIN" begin k --pid $$ >token && "$BIN" begin k --pid $$ --wait forever; exit $?"#;
    scene.shell(script).status(75).note(&["k: busy", "wait for itself"]).run();
}

#[test]
fn nothing_of_the_script_is_ended_when_its_claim_is_taken() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = scene.bystander();
    let both = format!("k --pid {}", script.pid());
    scene.begin(&both).any_stdout().run();
    scene.call("forget k --force").run();
    scene.begin("k --claim-ttl 1h").any_stdout().run();
    assert!(is_alive(script.pid()), "it is not ours");
}

/// Process ids of its own, until the gate is dropped. The claim is tied to a process
/// that lives there.
const APART: [&str; 7] = [
    "unshare",
    "-p",
    "-f",
    "--mount-proc",
    "sh",
    "-c",
    r#"echo $$ >inner; "$@" --pid $$ >token; echo $? >begun.draft; mv begun.draft begun; read x <gate"#,
];

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_process_of_another_pid_namespace_counts_until_somebody_uses_force() {
    let scene = Scene::new();
    let gate = scene.gate();
    let apart = scene.begin("k").through(APART).through(["sh"]).unchecked().spawn();
    until("it has begun", || scene.read("begun") == "0\n");
    let call = scene.begin("k --claim-ttl 1h").status(75);
    call.note(&["k: busy", "cannot be seen from here", "doubletap forget k --force"]).run();
    drop(gate);
    apart.finish();
    let call = scene.begin("k --claim-ttl 1h").status(75);
    call.note(&["k: busy", "doubletap forget k --force"]).run();
    scene.call("forget k --force").run();
    scene.token("k");
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn the_time_decides_about_a_process_of_another_pid_namespace_if_one_was_named() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let begin = scene.begin("k --claim-ttl 4s").through(APART).through(["sh"]);
    let _apart = begin.unchecked().spawn();
    until("it has begun", || scene.read("begun") == "0\n");
    scene.begin("k --claim-ttl 1h -q").status(75).run();
    until("its time is over", || scene.state("k") == "interrupted");
    scene.begin("k --claim-ttl 1h").any_stdout().note(&["interrupted"]).run();
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_renewal_that_names_a_time_limits_what_cannot_be_seen() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let _apart = scene.begin("k").through(APART).through(["sh"]).unchecked().spawn();
    until("it has begun", || scene.read("begun") == "0\n");
    let token = scene.read("token");
    scene.with_token("renew", token.trim()).run();
    scene.begin("k --claim-ttl 1h -q").status(75).run();
    scene.with_token("renew --claim-ttl 2s", token.trim()).run();
    until("its time is over", || scene.state("k") == "interrupted");
    scene.begin("k --claim-ttl 1h").any_stdout().note(&["interrupted"]).run();
}
