//! The peer of most rows: what careful scripts do by hand with `flock` and a marker file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::once::{HERD, KEYS, WIDTH};
use crate::row::Measure;
use crate::run;

/// Returns `flock F sh -c 'test -e M || { WORK && touch M && sync M; }'`.
fn idiom(flock: &Path, file: &str, marker: &str, work: &str) -> Command {
    let script = format!("test -e {marker} || {{ {work} && touch {marker} && sync {marker}; }}");
    let mut command = run::command(flock);
    command.args([file, "sh", "-c", &script]);
    command
}

fn prepare(folder: &str) -> Result<PathBuf> {
    fs::create_dir(folder)?;
    run::need("flock")
}

/// Runs `true` with a new marker each round.
pub(crate) fn fresh() -> Result<Measure> {
    let flock = prepare("fresh-idiom")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let marker = format!("fresh-idiom/done-{round}");
        run::one(idiom(&flock, "fresh-idiom/lock", &marker, "true"))
    }))
}

/// Sends a herd at one new marker each round.
pub(crate) fn herd() -> Result<Measure> {
    let flock = prepare("herd-idiom")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let marker = format!("herd-idiom/done-{round}");
        let counter = format!("herd-idiom/runs-{round}");
        let work = format!("echo ran >> {counter}");
        let caller = |_| idiom(&flock, "herd-idiom/lock", &marker, &work);
        let time = run::herd((0..HERD).map(caller).collect())?;
        run::expect_one_run(&counter)?;
        Ok(time)
    }))
}

/// Runs `true` with many new lock files and markers each round, some at a time.
pub(crate) fn many_files() -> Result<Measure> {
    let flock = prepare("many-idiom")?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let folder = format!("many-idiom/{round}");
        fs::create_dir(&folder)?;
        let caller = |key| {
            let (file, marker) = (format!("{folder}/lock-{key}"), format!("{folder}/done-{key}"));
            idiom(&flock, &file, &marker, "true")
        };
        run::side_by_side(WIDTH, (0..KEYS).map(caller).collect())
    }))
}
