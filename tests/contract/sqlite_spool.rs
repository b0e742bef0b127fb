//! Spools: the files beside a store in which large outputs are.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use doubletap::claim::attempt::Ownership;
use doubletap::claim::fence::Fence;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::Life;
use doubletap::store::{Force, Spool, Sweep, SweepMode};

use super::completion::{failed, recorded, with_spooled};
use super::stage::{DAY, Stage, older_than};

const SMALL: usize = 1 << 20;
const LARGE: usize = SMALL + 1;

/// The files beside the store that are no part of it.
fn spools(stage: &Stage) -> Vec<PathBuf> {
    let folder = stage.path().parent().unwrap().to_owned();
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "out")).collect()
}

fn spool_of(stage: &Stage, claim: &Claim) -> Spool {
    stage.store.spool(&claim.ownership())
}

/// An attempt that has spooled so many bytes and recorded its end.
fn done(stage: &mut Stage, key: &str, size: usize) {
    let claim = stage.won(key);
    let completion = with_spooled(&spool_of(stage, &claim), &vec![7; size], recorded());
    stage.complete(claim, &completion);
}

fn sweep(stage: &mut Stage) {
    stage.clock.pass(DAY);
    stage.sweep(&older_than(Duration::from_secs(3600)));
}

#[test]
fn a_small_output_is_taken_into_the_store_and_a_large_one_stays_a_file() {
    let mut stage = Stage::sqlite();
    done(&mut stage, "small", SMALL);
    assert_eq!(spools(&stage), Vec::<PathBuf>::new());
    done(&mut stage, "large", LARGE);
    let [large] = &spools(&stage)[..] else { panic!("{:?}", spools(&stage)) };
    let found = fs::metadata(large).unwrap();
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (LARGE as u64, 0o600));
}

#[test]
fn what_a_running_attempt_has_spooled_can_be_read() {
    let mut stage = Stage::sqlite();
    let claim = stage.won("k");
    let fence = claim.attempt().fence;
    assert_eq!(stage.output(fence), None);
    let Spool::Named(path) = spool_of(&stage, &claim) else { panic!("others cannot look") };
    fs::write(&path, b"so far").unwrap();
    assert_eq!(stage.output(fence), Some(b"so far".to_vec()));
}

#[test]
fn prune_removes_the_files_of_what_it_removes() {
    let mut stage = Stage::sqlite();
    done(&mut stage, "k", LARGE);
    let claim = stage.won("failed");
    let completion = with_spooled(&spool_of(&stage, &claim), &vec![7; LARGE], failed());
    stage.complete(claim, &completion);
    assert_eq!(spools(&stage).len(), 2);
    stage.clock.pass(DAY);
    let count = Sweep { mode: SweepMode::Count, ..older_than(Duration::from_secs(3600)) };
    stage.sweep(&count);
    assert_eq!(spools(&stage).len(), 2, "who only counts removes nothing");
    sweep(&mut stage);
    assert_eq!(spools(&stage), Vec::<PathBuf>::new());
}

#[test]
fn prune_spares_the_files_of_what_runs_or_was_interrupted() {
    let mut stage = Stage::sqlite();
    for (key, life) in [("running", Life::Alive), ("interrupted", Life::Gone)] {
        let claim = stage.died(key, life);
        spool_of(&stage, &claim).create().unwrap();
    }
    let claim = stage.won("forgotten");
    spool_of(&stage, &claim).create().unwrap();
    let _ = stage.forget("forgotten", Force::Yes);
    let _ = stage.won_again("interrupted");
    sweep(&mut stage);
    assert_eq!(spools(&stage).len(), 3);
}

#[test]
fn prune_spares_a_draft_as_long_as_it_is_written() {
    let mut stage = Stage::sqlite();
    let claim = stage.won("k");
    let owner = claim.ownership();
    // Of what is recorded though nothing is known of it there is no row yet.
    let nobodys = Ownership { fence: Fence(0), ..owner.clone() };
    let create = |owner| stage.store.draft(owner).unwrap().create().unwrap();
    let written = [create(&owner), create(&owner), create(&nobodys)];
    sweep(&mut stage);
    assert_eq!(spools(&stage).len(), 3);
    assert_eq!(stage.output(claim.attempt().fence), None, "a draft is nobody's output");
    drop(written);
    stage.sweep(&older_than(DAY));
    assert_eq!(spools(&stage), Vec::<PathBuf>::new(), "what was left behind goes");
}

#[test]
fn a_draft_that_is_recorded_takes_the_place_of_what_came_to_nothing() {
    let mut stage = Stage::sqlite();
    for (size, files) in [(SMALL, 0), (LARGE, 1)] {
        let claim = stage.won(&format!("{size}"));
        let fence = claim.attempt().fence;
        spool_of(&stage, &claim).create().unwrap();
        let Spool::Draft(path) = stage.store.draft(&claim.ownership()).unwrap() else {
            panic!("it has no name of its own")
        };
        let draft = Spool::Draft(path.clone());
        let mut completion = with_spooled(&draft, &vec![7; size], recorded());
        completion.output.as_mut().unwrap().draft = Some(path.clone());
        stage.complete(claim, &completion);
        assert_eq!(stage.output(fence), Some(vec![7; size]));
        assert!(!path.exists());
        assert_eq!(spools(&stage).len(), files);
    }
}

#[test]
fn prune_removes_files_that_nobody_speaks_for_and_leaves_those_of_others_alone() {
    let mut stage = Stage::sqlite();
    done(&mut stage, "k", 1);
    let record = stage.newest("k");
    let name = |fence: i64, token: &str| {
        let mut name = stage.path().into_os_string();
        name.push(format!("-{fence}-{token}.out"));
        PathBuf::from(name)
    };
    let strays = [
        name(7, &"0".repeat(32)),
        name(record.fence.0, &"f".repeat(32)),
        // Its owner died after it was taken in.
        name(record.fence.0, &record.token.to_string()),
    ];
    let foreign = [name(7, "notes"), stage.path().with_file_name("notes.out")];
    for path in strays.iter().chain(&foreign) {
        fs::write(path, b"x").unwrap();
    }
    let mut left = foreign.to_vec();
    left.sort();
    stage.sweep(&older_than(DAY));
    let mut found = spools(&stage);
    found.sort();
    assert_eq!(found, left);
}
