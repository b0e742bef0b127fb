//! What only a file can show of a survey: its sizes, many rows, and holders who
//! end meanwhile.

use std::fs;

use doubletap::claim::attempt::Attempt;
use doubletap::claim::decide::Decision;
use doubletap::claim::fence::Fence;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::Life;
use doubletap::claim::key::Kind;
use doubletap::claim::standing::Standing;
use doubletap::claim::survey::Sizes;
use doubletap::store::sqlite::SqliteStore;
use doubletap::store::{Hold, Liveness, Store as _, StoreError};
use rusqlite::Connection;

use super::completion::{recorded, with_spooled};
use super::stage::{LEASE, Stage, open};
use super::surveying::{surveyed, told_by_chains};

/// More than are read at once, twice.
const MANY: u32 = 25_000;

#[test]
fn more_attempts_than_are_read_at_once_are_all_counted() {
    let mut stage = Stage::sqlite();
    stage.done("k");
    // A chain that lies in more than one batch, beside others.
    Connection::open(stage.path())
        .unwrap()
        .execute_batch(&format!(
            "CREATE TEMP TABLE copy AS SELECT * FROM attempt;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
             INSERT INTO temp.copy SELECT fence + i, kind, namespace,
                CASE WHEN i % 2 THEN 'k' ELSE 'k' || i END,
                generation + i, CASE WHEN i % 3 THEN 'done' ELSE 'failed' END, operation, number,
                rerun, token, fingerprint, command, command_words, host, boot_id, pid, pid_start,
                pid_namespace, lock_inode, group_reach, group_id, group_start, group_session,
                group_namespace, emptied, lease_ms, until_boot_ms, started_ms, ended_ms, exit_code,
                signal, reason, run_ms, output_bytes, truncated, expires_ms, promised,
                retry_boot_ms, tie, parent FROM copy, n;
             INSERT OR IGNORE INTO main.attempt SELECT * FROM copy;"
        ))
        .unwrap();
    let survey = surveyed(&mut stage);
    assert_eq!(survey.attempts, u64::from(MANY) + 1);
    assert_eq!(survey.keys, told_by_chains(&mut stage));
    assert_eq!(survey.keys.values().sum::<u64>(), u64::from(MANY / 2) + 1);
    let ran = |groups: &[(_, doubletap::claim::run_times::RunTimes)]| groups[0].1.count();
    assert_eq!(ran(&survey.prefixes.groups), u64::from(MANY) + 1);
}

#[test]
fn sizes_are_those_of_the_files() {
    let mut stage = Stage::sqlite();
    let length = |suffix: &str, stage: &Stage| {
        let path = stage.path().display().to_string() + suffix;
        fs::metadata(path).map_or(0, |metadata| metadata.len())
    };
    let claim = stage.won("large");
    let spool = stage.store.spool(&claim.ownership());
    let large = vec![b'x'; 2 << 20];
    stage.complete(claim, &with_spooled(&spool, &large, recorded()));
    let sizes = surveyed(&mut stage).sizes;
    let expected = Sizes {
        file: length("", &stage),
        log: length("-wal", &stage),
        output_files: 2 << 20,
        output_file_count: 1,
    };
    assert_eq!(sizes, expected);
    assert!(sizes.file > 0 && sizes.log > 0);
}

/// Says of a holder that it is gone, which it is only once it has recorded its end.
struct LastMoment {
    store: SqliteStore,
    claim: Option<Claim>,
    life: Life,
}

/// What is seen of those who are gone.
const LEFT: [Life; 2] = [Life::Gone, Life::Orphaned];

impl LastMoment {
    fn of(stage: &mut Stage, life: Life) -> Self {
        let claim = Some(stage.won("k"));
        Self { store: open(&stage.path(), LEASE, &stage.clock), claim, life }
    }
}

impl Liveness for LastMoment {
    fn hold(&mut self, _: Fence) -> Result<Hold, StoreError> {
        Ok(Hold::Occupied)
    }

    fn let_go(&mut self, _: Fence) {}

    fn probe(&mut self, _: &Attempt) -> Result<Life, StoreError> {
        if let Some(claim) = self.claim.take() {
            let _ = self.store.complete(claim, &recorded()).unwrap();
        }
        Ok(self.life)
    }
}

#[test]
fn a_holder_that_ends_while_it_is_asked_about_is_not_interrupted() {
    for life in LEFT {
        let mut stage = Stage::sqlite();
        let mut last_moment = LastMoment::of(&mut stage, life);
        let survey = stage.store.survey(None, &mut last_moment).unwrap();
        let keys: Vec<_> = survey.keys.into_iter().collect();
        assert_eq!(keys, [((Kind::Once, Standing::Done), 1)], "{life:?}");
    }
}

#[test]
fn a_holder_that_ends_while_it_is_asked_about_has_left_a_record() {
    for life in LEFT {
        let mut stage = Stage::sqlite();
        let mut last_moment = LastMoment::of(&mut stage, life);
        let request = stage.request("k");
        let decision = stage.store.look(&request, &mut last_moment).unwrap();
        assert!(matches!(decision, Decision::Replay(_)), "{life:?}: {decision:?}");
    }
}
