//! Our side of the rows about `once`, and `bkt`, the peer that keeps output too.

use std::fs;

use anyhow::Result;

use crate::row::Measure;
use crate::run;
use crate::store::Store;

/// How many callers share one key in the herd rows.
pub(crate) const HERD: usize = 50;
/// How many keys the row of many keys has.
pub(crate) const KEYS: usize = 500;
/// How many of them are run at a time.
pub(crate) const WIDTH: usize = 8;

/// Replays one record; its command counts its runs, so that a rerun cannot pass for a replay.
pub(crate) fn replay() -> Result<Measure> {
    let store = Store::create("replay-ours")?;
    let script = small_script("replay-ours/runs");
    run::one(store.once("replay", &[], &["sh", "-c", &script]))?;
    Ok(Box::new(move || {
        let time = run::one(store.once("replay", &[], &["sh", "-c", &script]))?;
        run::expect_one_run("replay-ours/runs")?;
        Ok(time)
    }))
}

/// The same command, kept by `bkt`.
pub(crate) fn bkt_hit() -> Result<Measure> {
    let bkt = run::need("bkt")?;
    fs::create_dir("replay-bkt")?;
    let folder = std::env::current_dir()?.join("replay-bkt/kept");
    let hit = move || {
        let mut command = run::command(&bkt);
        command.args(["--ttl", "1d", "--cache-dir"]).arg(&folder);
        command.args(["--", "sh", "-c", &small_script("replay-bkt/runs")]);
        run::one(command)
    };
    hit()?;
    Ok(Box::new(move || {
        let time = hit()?;
        run::expect_one_run("replay-bkt/runs")?;
        Ok(time)
    }))
}

fn small_script(counter: &str) -> String {
    format!("echo ran >> {counter}; echo hi")
}

/// Runs `true` under a new key each round.
pub(crate) fn fresh() -> Result<Measure> {
    let store = Store::create("fresh-ours")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        run::one(store.once(&format!("fresh-{round}"), &[], &["true"]))
    }))
}

/// Sends a herd at one new key each round: one runs, the others wait and replay.
pub(crate) fn herd() -> Result<Measure> {
    let store = Store::create("herd-ours")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let key = format!("herd-{round}");
        let counter = format!("herd-ours/runs-{round}");
        let script = format!("echo ran >> {counter}");
        let caller = |_| store.once(&key, &["--wait", "forever"], &["sh", "-c", &script]);
        let time = run::herd((0..HERD).map(caller).collect())?;
        run::expect_one_run(&counter)?;
        Ok(time)
    }))
}

/// Runs `true` under many new keys each round, some at a time.
pub(crate) fn many_keys() -> Result<Measure> {
    let store = Store::create("many-ours")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let caller = |key| store.once(&format!("many-{round}-{key}"), &[], &["true"]);
        run::side_by_side(WIDTH, (0..KEYS).map(caller).collect())
    }))
}
