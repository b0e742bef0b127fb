//! The rows of the table, in its order.

use std::time::Duration;

use crate::must::{Also, Must};
use crate::row::{self, Rounds, Row, Sides};
use crate::{gigabyte, idiom, lease, million, neighbour, once, waiter};

/// What a process may have in memory, however much passes through it.
const MEMORY_KIB: u64 = 16 << 10;

/// What a process may have in memory that holds a name and does nothing else.
const HELD_KIB: u64 = 8 << 10;

/// Returns all rows that this build has.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    let rows = ROWS.iter();
    #[cfg(feature = "postgres")]
    let rows = rows.chain(crate::postgres::ROWS);
    #[cfg(feature = "redis")]
    let rows = rows.chain(crate::redis::ROWS);
    rows
}

const ROWS: &[Row] = &[
    Row {
        name: "replay of a small record",
        against: "`bkt` cache hit",
        must: Must::Ratio(1.0),
        also: None,
        rounds: Rounds { warm_up: 20, full: 500, quick: 100 },
        sides: Sides::InTurn { ours: once::replay, peer: once::bkt_hit, program: row::BKT },
    },
    Row {
        name: "fresh durable `once` of `true`",
        against: "`flock` idiom",
        must: Must::Ratio(0.7),
        also: None,
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        sides: Sides::InTurn { ours: once::fresh, peer: idiom::fresh, program: row::FLOCK },
    },
    Row {
        name: "50 processes, one key",
        against: "the same herd of the idiom",
        must: Must::Ratio(1.0),
        also: None,
        rounds: Rounds { warm_up: 2, full: 30, quick: 7 },
        sides: Sides::InTurn { ours: once::herd, peer: idiom::herd, program: row::FLOCK },
    },
    Row {
        name: "500 keys, 8 at a time",
        against: "the idiom on 500 files",
        must: Must::Ratio(1.2),
        also: None,
        rounds: Rounds { warm_up: 1, full: 11, quick: 3 },
        sides: Sides::InTurn {
            ours: once::many_keys,
            peer: idiom::many_files,
            program: row::FLOCK,
        },
    },
    Row {
        name: "capture of 1 GiB, `--max-output none`",
        against: "`cat FILE \\| tee COPY; sync COPY`",
        must: Must::Ratio(1.4),
        also: Some(Also::Memory { most_kib: MEMORY_KIB, peak_kib: gigabyte::capture_peak_kib }),
        rounds: Rounds { warm_up: 1, full: 5, quick: 2 },
        sides: Sides::InTurn { ours: gigabyte::capture, peer: gigabyte::tee, program: row::TEE },
    },
    Row {
        name: "replay of 1 GiB into a pipe",
        against: "`cat FILE` into a pipe",
        must: Must::Ratio(1.5),
        also: Some(Also::Memory { most_kib: MEMORY_KIB, peak_kib: gigabyte::replay_peak_kib }),
        rounds: Rounds { warm_up: 1, full: 9, quick: 3 },
        sides: Sides::InTurn { ours: gigabyte::replay, peer: gigabyte::cat, program: row::CAT },
    },
    Row {
        name: "fresh `once` of `true` while another key captures 1 GiB",
        against: "the same alone",
        must: Must::MedianMore(Duration::from_millis(50)),
        also: None,
        rounds: Rounds { warm_up: 0, full: 4, quick: 2 },
        sides: Sides::Together(neighbour::fresh),
    },
    Row {
        name: "end of a waiter, once its holder's command is let go",
        against: "end of the holder",
        must: Must::P99More(Duration::from_millis(20)),
        also: Some(Also::Idle { most_switches: 2, spent: waiter::idle }),
        rounds: Rounds { warm_up: 5, full: 200, quick: 50 },
        sides: Sides::Together(waiter::wake),
    },
    Row {
        name: "`lease` of `true`",
        against: "`flock F true`",
        must: Must::Ratio(1.4),
        also: Some(Also::Held {
            most_kib: HELD_KIB,
            peak_kib: lease::peak_kib,
            // One each, and the owner of the command, who looks when the time of an earlier one
            // would have been over.
            most_switches: 6,
            spent: lease::idle,
        }),
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        sides: Sides::InTurn { ours: lease::held, peer: lease::flock, program: row::FLOCK },
    },
    Row {
        name: "end of a waiter's `true`, once the holder of its name is let go",
        against: "end of the holder",
        must: Must::P99More(Duration::from_millis(20)),
        also: Some(Also::Idle { most_switches: 2, spent: waiter::idle_for_name }),
        rounds: Rounds { warm_up: 5, full: 200, quick: 50 },
        sides: Sides::Together(waiter::wake_for_name),
    },
    Row {
        name: "replay from 1,000,000 keys",
        against: "the same from 10",
        must: Must::Ratio(1.1),
        also: None,
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        sides: Sides::Together(million::replay),
    },
    Row {
        name: "prune of 1,000,000 keys",
        against: "one `DELETE … WHERE` in `sqlite3`",
        must: Must::Ratio(2.0),
        also: None,
        rounds: Rounds { warm_up: 0, full: 3, quick: 1 },
        sides: Sides::InTurn { ours: million::prune, peer: million::delete, program: row::SQLITE },
    },
    Row {
        name: "fresh `once` of `true` while 1,000,000 keys are pruned",
        against: "the same alone",
        must: Must::LongestMore(Duration::from_millis(100)),
        also: None,
        rounds: Rounds { warm_up: 0, full: 3, quick: 1 },
        sides: Sides::Together(million::fresh_meanwhile),
    },
];
