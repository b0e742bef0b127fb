//! The wall clock steps, forward and back, by an hour or a day, while commands run and
//! between calls. Only a record's expiry, a calendar period and the age that prune goes by
//! are wall-clock time; everything that is claimed, held or waited for goes on as if
//! nothing had happened.
//!
//!     cargo test --locked --test sentences -- --ignored clock_steps
//!
//! needs root, util-linux and Debian's `libfaketime`, and makes a second build of the
//! program, since no library reaches a static one (`support/wall_clock.rs`).

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Scene, WallClock, token_of, until};

/// Where the clock is stepped to, in hours from the right time.
const STEPS: [i64; 5] = [1, -1, 24, -24, 0];

/// Longer than the shortest lease there is.
const PAST_THE_LEASE: Duration = Duration::from_millis(2600);

/// No lease, rest or limit in these sentences is longer than this, on any machine: less
/// than the least step.
const SOON: Duration = Duration::from_secs(30);

/// Asserts that something took as long as it was to, by the clock on the test's wall.
#[track_caller]
fn took_its_time(began: Instant, at_least: Duration) {
    let took = began.elapsed();
    assert!(took >= at_least && took < SOON, "it took {took:?} instead of {at_least:?}");
}

/// Whether a text has a number below nothing in it.
fn has_negative(text: &str) -> bool {
    let is_number = |at: usize| text[at + 2..].starts_with(|next: char| next.is_ascii_digit());
    text.match_indices(" -").any(|(at, _)| is_number(at))
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_step_in_mid_run_shows_in_the_record_and_in_no_time_of_the_report() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut gate = scene.gate();
    let minutes = |key: &str| {
        let shown = scene.json(&format!("show {key} --json"));
        let at = |field: &str| -> jiff::Timestamp {
            shown["attempts"][0][field].as_str().unwrap().parse().unwrap()
        };
        (at("ended").as_second() - at("started").as_second()) / 60
    };
    for step in STEPS {
        clock.set(0);
        let key = format!("k{step}");
        let call = scene.hanging(&format!("{key} --report report"));
        let holder = scene.begun(clock.beside(call));
        clock.set(step);
        gate.open();
        holder.finish();
        let seen = minutes(&key);
        assert!((seen - step * 60).abs() <= 1, "it ended {seen} minutes after it began");
        let report: Value = serde_json::from_str(&scene.read("report")).unwrap();
        for time in ["run_ms", "store_ms", "wait_ms"] {
            let ms = report[time].as_u64().unwrap();
            assert!(Duration::from_millis(ms) < SOON, "{report}");
        }
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_step_hands_no_living_claim_away_and_its_outcome_is_replayed() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut gate = scene.gate();
    let holder = scene.begun(clock.beside(scene.hanging("k --claim-ttl 2s")));
    for step in STEPS {
        clock.set(step);
        let ends = scene.lease_end("k");
        clock.beside(scene.attempt("k --claim-ttl 2s")).status(75).note(&["k", "busy"]).run();
        until("it is renewed", || scene.lease_end("k") > ends);
        clock.beside(scene.attempt("k --claim-ttl 2s")).status(75).note(&["k", "busy"]).run();
    }
    gate.open();
    holder.finish();
    for step in STEPS {
        clock.set(step);
        clock.beside(scene.attempt("k --claim-ttl 2s")).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_step_ends_no_lease_that_is_renewed() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut gate = scene.gate();
    let holder = scene.begun(clock.beside(scene.hanging_lease("n --ttl 2s")));
    for step in STEPS {
        clock.set(step);
        let began = Instant::now();
        until("its first length is over", || {
            clock.beside(scene.held("n")).status(75).note(&["n", "held by"]).run();
            began.elapsed() > PAST_THE_LEASE
        });
    }
    gate.open();
    holder.finish();
    scene.behave(":");
    clock.beside(scene.held("n")).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_lease_by_hand_ends_when_its_length_is_over_whatever_the_wall_clock_says() {
    for step in STEPS {
        let scene = Scene::new();
        let clock = WallClock::new(&scene);
        let began = Instant::now();
        let token = token_of(&clock.beside(scene.acquire("n --ttl 3s")).any_stdout().run());
        clock.set(step);
        clock.beside(scene.acquire("n --ttl 3s")).status(75).note(&["n", "held"]).run();
        clock.beside(scene.with_token("assert", &token)).run();
        let next = clock.beside(scene.acquire("n --ttl 3s -q --wait 30s"));
        assert_ne!(token_of(&next.any_stdout().run()), token);
        took_its_time(began, Duration::from_secs(3));
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_claim_by_hand_is_renewed_and_completed_across_steps() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let begin = clock.beside(scene.begin("k --claim-ttl 20s"));
    let token = token_of(&begin.any_stdout().run());
    for step in STEPS {
        clock.set(step);
        let ends = scene.lease_end("k");
        clock.beside(scene.with_token("renew", &token)).run();
        let longer = scene.lease_end("k") - ends;
        assert!((0..20_000).contains(&longer), "it was extended by {longer} ms");
        clock.beside(scene.begin("k --claim-ttl 20s")).status(75).note(&["k", "busy"]).run();
    }
    clock.set(-24);
    clock.beside(scene.with_token("complete k", &token)).run();
    for step in STEPS {
        clock.set(step);
        clock.beside(scene.begin("k --claim-ttl 20s")).status(10).run();
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_record_is_replayed_until_its_instant_on_the_wall_clock_and_one_without_for_ever() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let good = |words: &str| clock.beside(scene.attempt(words)).run();
    good("always");
    good("k --ttl 2h");
    for step in [1, -1, -24, 0] {
        clock.set(step);
        good("k --ttl 2h");
        good("always");
    }
    assert_eq!(scene.runs(), 2, "a clock that went back makes no record older");
    clock.set(24);
    good("always");
    good("k --ttl 2h");
    assert_eq!(scene.runs(), 3, "a day later two hours are over");
    clock.set(0);
    good("k --ttl 2h");
    assert_eq!(scene.runs(), 3, "what ran tomorrow is good until then");
    let found = clock.beside(scene.call("doctor")).any_stdout().run().text();
    assert!(found.contains("note  wall clock") && found.contains("went back"), "{found}");
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_record_counts_from_the_clock_at_its_completion() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut gate = scene.gate();
    for (step, later, runs) in [(-24, -23, 1), (-24, 0, 2), (24, 0, 1), (24, 25, 1), (24, 48, 2)] {
        let key = format!("k{step}.{later} --ttl 2h");
        let before = scene.runs();
        clock.set(0);
        let holder = scene.begun(clock.beside(scene.hanging(&key)));
        clock.set(step);
        gate.open();
        holder.finish();
        scene.behave(":");
        clock.set(later);
        clock.beside(scene.attempt(&key)).run();
        assert_eq!(scene.runs() - before, runs, "completed at {step}, asked for at {later}");
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn what_has_run_for_a_day_is_not_run_for_it_again_when_the_clock_returns() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    // Wherever it is noon, the day does not end meanwhile.
    let hour = jiff::Timestamp::now().as_second() / 3600 % 24;
    let zone = format!("NOON{:+}", hour - 12);
    let call = || clock.beside(scene.attempt("k --per day")).env("TZ", &zone).run();
    call();
    clock.set(24);
    call();
    assert_eq!(scene.runs(), 2, "tomorrow is another day");
    for step in [0, -24, 24] {
        clock.set(step);
        call();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn fences_grow_while_the_clock_goes_back() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut last = 0;
    for (number, step) in [0, 24, -24, 1, -1, 0, 24, 0].into_iter().enumerate() {
        clock.set(step);
        for claim in [
            clock.beside(scene.once(&format!("k{number}"))),
            clock.beside(scene.lease("n")),
            clock.beside(scene.once("again --rerun")),
        ] {
            let done = claim.sh("echo $DOUBLETAP_FENCE").any_stdout().run();
            let fence: u64 = done.text().trim().parse().unwrap();
            assert!(fence > last, "{fence} came after {last}");
            last = fence;
        }
        clock.beside(scene.call(&format!("forget k{number}"))).run();
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_rest_after_a_failure_or_a_lease_lasts_as_long_as_it_was_to() {
    for step in STEPS {
        let scene = Scene::new();
        let clock = WallClock::new(&scene);
        let again = |words: &str| clock.beside(scene.attempt(words));
        let began = Instant::now();
        scene.behave("exit 7");
        again("k --retry-after 3s").status(7).run();
        scene.behave(":");
        clock.beside(scene.held("n --min-hold 3s")).run();
        clock.set(step);
        again("k -q --report report").status(75).run();
        let report: Value = serde_json::from_str(&scene.read("report")).unwrap();
        let left = report["retry_after_ms"].as_u64().unwrap();
        assert!(report["outcome"] == "busy" && left <= 3000, "{report}");
        clock.beside(scene.held("n")).status(75).note(&["n", "--min-hold"]).run();
        again("k -q --wait 30s").run();
        clock.beside(scene.held("n -q --wait 30s")).run();
        took_its_time(began, Duration::from_secs(3));
        assert_eq!(scene.runs(), 4);
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn a_wait_and_a_timeout_last_as_long_as_they_were_to() {
    for step in STEPS {
        let scene = Scene::new();
        let clock = WallClock::new(&scene);
        let mut gate = scene.gate();
        let holder = scene.begun(clock.beside(scene.hanging("k")));
        let began = Instant::now();
        let limited = scene
            .begun(clock.beside(scene.hanging("limited --timeout 2s")).status(124).any_stderr());
        let waiter = clock.beside(scene.attempt("k -q --wait 2s")).status(75).spawn();
        scene.await_waiters(1);
        clock.set(step);
        waiter.finish();
        took_its_time(began, Duration::from_secs(2));
        limited.finish();
        took_its_time(began, Duration::from_secs(2));
        gate.open();
        holder.finish();
        assert_eq!(scene.runs(), 2);
    }
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn what_lies_ahead_of_the_clock_is_shown_without_an_age_below_nothing() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let mut gate = scene.gate();
    clock.beside(scene.once("done --ttl 1h")).sh("echo out").stdout("out\n").run();
    clock.beside(scene.once("failed --retry-after 1h")).sh("exit 3").status(3).run();
    clock.beside(scene.acquire("n --ttl 1h")).any_stdout().run();
    let holder = scene.begun(clock.beside(scene.hanging("running")));
    let looks = [
        "show done",
        "show done --json",
        "show failed",
        "show running",
        "show running --json",
        "show n --kind lease",
        "list",
        "list --json",
        "stats",
        "stats --json",
        "doctor",
        "doctor --json",
        "logs done",
    ];
    for step in STEPS {
        clock.set(step);
        for words in looks {
            let done = clock.beside(scene.call(words)).any_stdout().run();
            let text = done.text();
            assert!(!text.is_empty() && !has_negative(&text), "`{words}` at {step}: {text}");
        }
        let busy = clock.beside(scene.attempt("running"));
        let said = busy.status(75).note(&["running: busy"]).run().complaint();
        assert!(!has_negative(&said), "at {step}: {said}");
    }
    gate.open();
    holder.finish();
}

#[test]
#[ignore = "needs root, util-linux and libfaketime: cargo test -- --ignored"]
fn prune_removes_what_is_old_by_the_clock_and_nothing_that_lies_ahead_of_it() {
    let scene = Scene::new();
    let clock = WallClock::new(&scene);
    let prune = |age: &str| {
        let call = scene.call(&format!("prune --older-than {age} --force --json"));
        let done = clock.beside(call).any_stdout().run();
        let pruned: Value = serde_json::from_slice(&done.stdout).unwrap();
        pruned["keys"].as_u64().unwrap()
    };
    clock.beside(scene.attempt("now")).run();
    clock.set(-24);
    clock.beside(scene.attempt("yesterday")).run();
    assert_eq!(prune("1h"), 0, "what lies ahead is younger than anything");
    clock.set(-1);
    clock.beside(scene.attempt("an-hour-ago")).run();
    assert_eq!(prune("1day"), 0, "yesterday's is 23 hours old");
    clock.set(0);
    assert_eq!(prune("20h"), 1);
    assert_eq!(scene.state("yesterday"), "absent");
    assert_eq!(prune("2h"), 0);
    clock.set(24);
    assert_eq!(prune("23h"), 2);
}
