//! The kill campaign: many wrappers over few keys and names, while wrappers, commands
//! and both are killed, stopped and told to end at random moments, and while keys are
//! forgotten and pruned.
//!
//! A witness outside of doubletap, the kernel's lock on a file that each command holds
//! while it works, sees whether two are ever at it at once. Whatever a call has returned
//! with success must be given to every call that begins later, byte for byte, until its
//! key is forgotten or pruned. In the end no key may be stuck, the store must be whole,
//! and no process and no file may be left.
//!
//! It takes a minute, or as many seconds as are asked for:
//!
//! ```sh
//! CAMPAIGN=600 cargo test --locked --test sentences -- --ignored --nocapture campaign
//! ```
//!
//! In 330 s on two cores: 47,854 calls and 12,804 kills, 10,372 of them of wrappers, with
//! 2,875 stops, and nothing amiss.
//!
//! `caller` makes the calls and judges them by the `ledger`, `killer` kills, and `chance`
//! says when and whom.

mod caller;
mod chance;
mod killer;
mod ledger;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Scene;
use crate::support::processes::within;
use caller::Caller;
use chance::Chance;
use killer::{Killer, Targets};
use ledger::Ledger;

/// How many calls are on their way at once.
const CALLERS: u64 = 12;

/// The keys that are run once, and the names that are held.
const KEYS: usize = 4;
const NAMES: usize = 3;

/// What a campaign shares: where it takes place, and what has happened so far.
struct Campaign {
    scene_root: std::path::PathBuf,
    work: std::path::PathBuf,
    store: std::path::PathBuf,
    is_over: AtomicBool,
    targets: Targets,
    ledger: Ledger,
}

impl Campaign {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// How long it takes.
#[expect(clippy::disallowed_methods, reason = "whoever runs it says how long")]
fn duration() -> Duration {
    let asked = std::env::var("CAMPAIGN").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(asked.unwrap_or(60))
}

#[test]
#[ignore = "takes a minute; .ci/run runs it with --ignored"]
fn nothing_is_doubled_lost_or_stuck_while_everybody_is_killed() {
    let scene = Scene::new();
    let seed = u64::from(std::process::id());
    let campaign = Arc::new(Campaign {
        scene_root: scene.root(),
        work: scene.work(),
        store: scene.store(),
        is_over: AtomicBool::new(false),
        targets: Targets::default(),
        ledger: Ledger::new(KEYS),
    });
    let ours = |number| (Arc::clone(&campaign), Chance::new(seed * 1000 + number));
    let callers = (0..CALLERS).map(|number| {
        let (campaign, chance) = ours(number);
        thread::spawn(move || Caller::new(&campaign, chance).call_until_it_is_over())
    });
    let callers: Vec<_> = callers.collect();
    let (shared, chance) = ours(CALLERS);
    let meddler =
        thread::spawn(move || Caller::new(&shared, chance).forget_and_prune_until_it_is_over());
    let (shared, chance) = ours(CALLERS + 1);
    let killer = thread::spawn(move || Killer::new(&shared, chance).kill_until_it_is_over());
    let began = Instant::now();
    while began.elapsed() < duration() && campaign.ledger.violations().is_empty() {
        thread::sleep(Duration::from_millis(50));
    }
    campaign.is_over.store(true, Ordering::Relaxed);
    let done_to_them = killer.join().unwrap();
    let calls: u64 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    meddler.join().unwrap();
    let mut violations = campaign.ledger.violations();
    violations.extend(scene.read("violations").lines().map(str::to_owned));
    violations.extend(steps_that_ran_again(&scene.read("steps")));
    assert!(violations.is_empty(), "seed {seed}: {}", violations.join("\n"));
    nothing_is_left(&scene);
    tell(&format!(
        "campaign: {calls} calls, {} runs, {done_to_them}, seed {seed}, 0 violations",
        scene.read("runs").lines().count()
    ));
}

/// The steps that ran again in an operation in which they had returned.
fn steps_that_ran_again(lines: &str) -> Vec<String> {
    let mut returned = BTreeSet::new();
    let mut again = Vec::new();
    for (what, step) in lines.lines().filter_map(|line| line.split_once(' ')) {
        if what == "returned" {
            returned.insert(step);
        } else if returned.contains(step) {
            again.push(format!("it ran again: {step}"));
        }
    }
    again
}

/// Every key and every name is to be had, the store is whole, and nobody is left.
fn nothing_is_left(scene: &Scene) {
    for key in 0..KEYS {
        scene
            .once(&format!("key-{key} --fingerprint none --wait 30s --quiet"))
            .command(["true"])
            .any_stdout()
            .run();
    }
    for name in 0..NAMES {
        scene.lease(&format!("name-{name} --wait 30s")).command(["true"]).run();
    }
    for name in 0..NAMES {
        let call = scene.once(&format!("steps-{name} --fingerprint none --wait 30s --quiet"));
        call.command(["true"]).unchecked().run();
    }
    let left = within(&scene.root());
    assert!(left.is_empty(), "these are left: {left:?}");
    scene.call("doctor").any_stdout().run();
    for key in 0..KEYS {
        // What was interrupted is nobody's to remove unless somebody says so.
        scene.call(&format!("forget key-{key}")).run();
        scene.once(&format!("key-{key}")).command(["true"]).run();
    }
    scene.call("prune --older-than 0s --force").run();
    let files = scene.state_files();
    let expected = ["store.db", "store.db-shm", "store.db-wal", "store.db.live"];
    assert_eq!(files, expected, "files are left");
}

#[expect(clippy::disallowed_macros, reason = "whoever runs it wants the figures")]
fn tell(line: &str) {
    println!("{line}");
}
