//! Time limits: renewed while the command runs; and what can no longer be
//! protected is stopped before somebody else may begin.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::processes::is_alive;
use crate::support::{Scene, Signal, until};

/// Another program's write lock.
fn foreign_lock(scene: &Scene) -> Connection {
    let connection = Connection::open(scene.store()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Traps TERM, with a child that traps it too; both hang at the gate.
const STUBBORN: &str = r#"trap "" TERM; (trap "" TERM; read x <gate) & echo $! >child
    echo ready >ready; read x <gate"#;

#[track_caller]
fn nobody_is_left(scene: &Scene) {
    let child: i32 = scene.read("child").trim().parse().unwrap();
    for pid in [scene.command_pid(), child] {
        assert!(!is_alive(pid), "{pid} is left");
    }
}

#[test]
fn a_command_may_run_for_much_longer_than_the_lease_because_it_is_renewed() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 2s"));
    let began = Instant::now();
    until("three leases are over", || {
        scene.held("n -q").status(75).run();
        began.elapsed() > Duration::from_secs(6)
    });
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_lease_that_is_not_to_be_renewed_stops_its_command_before_it_ends() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let began = Instant::now();
    let call = scene.hanging_lease("n --ttl 2s --no-renew").status(69);
    call.note(&["n", "2s", "--ttl"]).run();
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1500), "it was stopped after {took:?}");
    scene.behave(":");
    scene.held("n --no-renew").run();
}

#[test]
fn a_store_that_is_locked_for_less_than_three_quarters_of_the_lease_ends_nobody() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let call = scene.hanging_lease("n --ttl 8s --store-timeout 100ms");
    let holder = scene.begun(call.note(&["n", "cannot be renewed at present", "locked"]));
    let lock = foreign_lock(&scene);
    until("it has told of the lock", || holder.stderr_so_far().ends_with(b"\n"));
    drop(lock);
    let before = scene.lease_end("n");
    until("it is renewed again", || scene.lease_end("n") > before);
    gate.open();
    holder.finish();
}

#[test]
fn a_store_that_stays_locked_ends_the_command_and_all_its_group_within_the_lease() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(STUBBORN);
    let call = scene.held("n --ttl 4s --store-timeout 100ms").status(69);
    let holder = scene.begun(call.notes(&["n", "cannot be renewed", "before its 4s were over"]));
    until("both are there", || scene.path("ready").exists());
    let lock = foreign_lock(&scene);
    let ends = scene.lease_end("n");
    holder.finish();
    nobody_is_left(&scene);
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME).unwrap();
    let now = i64::try_from(Duration::from(now).as_millis()).unwrap();
    assert!(now < ends + 1500, "it took {} ms longer than the lease", now - ends);
    drop(lock);
    scene.behave(":");
    scene.held("n").run();
}

#[test]
fn a_stalled_holder_that_nobody_superseded_renews_when_it_wakes_up_and_goes_on() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 2s"));
    holder.signal(Signal::SIGSTOP);
    let ends = scene.lease_end("n");
    let began = Instant::now();
    until("its lease is over", || began.elapsed() > Duration::from_secs(3));
    assert_eq!(scene.lease_state("n"), "expired");
    holder.signal(Signal::SIGCONT);
    until("it is renewed", || scene.lease_end("n") > ends);
    scene.held("n -q").status(75).run();
    gate.open();
    holder.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_timeout_is_one_and_leaves_nobody() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(STUBBORN);
    let call = scene.held("n --timeout 500ms --kill-after 100ms").status(124);
    call.note(&["n", "500ms"]).run();
    nobody_is_left(&scene);
    scene.behave(":");
    scene.held("n").run();
}

#[test]
fn a_signal_that_ends_the_command_ends_us_and_frees_the_name() {
    let scene = Scene::new();
    let _gate = scene.gate();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let holder = scene.begun(scene.hanging_lease("n").dies_of(signal));
        holder.signal(signal);
        holder.finish();
        let command = scene.command_pid();
        until("the command is gone", || !is_alive(command));
        assert_eq!(scene.lease_state("n"), "released");
    }
}

#[test]
fn under_nohup_a_hang_up_reaches_nobody() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let call = scene.hanging_lease("n").through(["nohup"]).unchecked();
    let holder = scene.begun(call);
    holder.signal(Signal::SIGHUP);
    scene.held("n -q").status(75).run();
    gate.open();
    assert_eq!(holder.finish().code(), 0);
}

#[test]
fn a_loss_after_a_timeout_leaves_the_command_no_more_time() {
    let scene = Scene::new();
    let _gate = scene.gate();
    scene.behave(STUBBORN);
    let call = scene.held("n --ttl 2s --timeout 300ms --kill-after 1h").status(69);
    let holder = scene.begun(call.note(&["n", "lost"]));
    until("both are there", || scene.path("ready").exists());
    scene.call("forget n --kind lease --force").run();
    holder.finish();
    nobody_is_left(&scene);
}

#[test]
fn a_name_that_was_won_too_late_is_asked_for_again_and_kept_for_nobody_meanwhile() {
    let scene = Scene::new();
    scene.lease("n").sh("true").run();
    let lock = foreign_lock(&scene);
    let call = scene.lease("n --ttl 2s --min-hold 1h").sh("echo got").stdout("got\n");
    let running = call.spawn();
    let began = Instant::now();
    until("its time would be over", || began.elapsed() > Duration::from_millis(2200));
    drop(lock);
    running.finish();
    scene.lease("other --min-hold 1h").command(["./absent"]).status(127).note(&["other"]).run();
    scene.lease("other").sh("true").run();
}

#[test]
fn a_claim_that_is_asked_for_again_has_a_token_and_an_operation_of_its_own() {
    let scene = Scene::new();
    scene.lease("n").sh("true").run();
    let lock = foreign_lock(&scene);
    let remember = "CREATE TABLE claim (token, operation);
        CREATE TRIGGER claimed AFTER INSERT ON attempt
        BEGIN INSERT INTO claim VALUES (NEW.token, NEW.operation); END";
    lock.execute_batch(remember).unwrap();
    let running = scene.lease("n --ttl 2s").sh("echo got").stdout("got\n").spawn();
    let began = Instant::now();
    until("its time would be over", || began.elapsed() > Duration::from_millis(2200));
    lock.execute_batch("COMMIT").unwrap();
    running.finish();
    let count = "SELECT count(*), count(DISTINCT token), count(DISTINCT operation) FROM claim";
    let counts = lock.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(counts.unwrap(), (2, 2, 2));
}

#[test]
fn a_store_that_is_removed_ends_the_command_at_the_next_renewal() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let call = scene.hanging_lease("n --ttl 8s").status(69).notes(&["n", "removed or replaced"]);
    let holder = scene.begun(call);
    let began = Instant::now();
    std::fs::remove_dir_all(scene.state_folder()).unwrap();
    holder.finish();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    assert!(!is_alive(scene.command_pid()));
}

#[test]
fn a_signal_ends_a_call_at_once_whose_claim_waits_for_a_lock() {
    let scene = Scene::new();
    scene.lease("n").sh("true").run();
    let _lock = foreign_lock(&scene);
    let call = scene.lease("n --wait forever").sh("true").dies_of(Signal::SIGTERM);
    let running = call.spawn();
    until("it has taken over its signals", || {
        std::fs::read_to_string(format!("/proc/{}/status", running.pid()))
            .is_ok_and(|status| status.contains("SigCgt:") && catches_term(&status))
    });
    let began = Instant::now();
    running.signal(Signal::SIGTERM);
    running.finish();
    assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
}

/// Whether a process that this is the status of has a handler for TERM.
fn catches_term(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(line.trim(), 16).is_ok_and(|mask| mask & (1 << 14) != 0)
}
