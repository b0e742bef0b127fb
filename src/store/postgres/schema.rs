//! The tables, how they came about, and the statements that are written for them.
//!
//! Migrations are appended, never changed, and only add: an older doubletap may be in
//! mid-run on the same store. The table `migration` has a row for each that was made.

use super::rows::{COLUMNS, FIXED};

/// What brings a store from version `n` to `n + 1`, by `n`. `{s}` is the schema.
pub(super) const MIGRATIONS: [&str; 1] = [FIRST];

/// The newest version that this program knows.
pub(super) const NEWEST: usize = MIGRATIONS.len();

/// `fence` is the row's number: unique in the store, and it grows. Times named `_ms` are
/// milliseconds since 1970, of the clock that `clock` names: the server's. Names are
/// compared by their bytes. Outputs are kept in parts, and not compressed, which would
/// take longer than keeping them.
const FIRST: &str = r#"
CREATE TABLE {s}.fence (
    id integer PRIMARY KEY CHECK (id = 1),
    fence bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO {s}.fence VALUES (1, 0);

CREATE TABLE {s}.attempt (
    fence bigint PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    token bytea NOT NULL,
    state text COLLATE "C" NOT NULL,
    operation bytea NOT NULL,
    number bigint NOT NULL,
    rerun boolean NOT NULL,
    fingerprint text NOT NULL,
    command text NOT NULL,
    command_words bigint NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid integer NOT NULL,
    pid_start bigint NOT NULL,
    pid_namespace bigint NOT NULL,
    tie text NOT NULL,
    parent bigint,
    lock_inode bigint,
    group_reach text,
    group_id integer,
    group_start bigint,
    group_session integer,
    group_namespace bigint,
    emptied boolean NOT NULL,
    lease_ms bigint NOT NULL,
    clock text NOT NULL,
    until_ms bigint NOT NULL,
    rests_until_ms bigint,
    started_ms bigint NOT NULL,
    ended_ms bigint,
    exit_code integer,
    signal integer,
    reason text,
    run_ms bigint,
    output_bytes bigint,
    truncated boolean,
    expires_ms bigint,
    promised boolean
);
CREATE UNIQUE INDEX attempt_chain ON {s}.attempt (kind, namespace, key, generation);
CREATE INDEX attempt_token ON {s}.attempt (token);
CREATE INDEX attempt_unsettled ON {s}.attempt (kind, namespace, key, generation)
    WHERE state = 'running' OR (state IN ('interrupted', 'forgotten') AND NOT emptied);

CREATE TABLE {s}.output (
    fence bigint NOT NULL,
    part integer NOT NULL,
    frames bytea NOT NULL,
    PRIMARY KEY (fence, part)
);
ALTER TABLE {s}.output ALTER COLUMN frames SET STORAGE EXTERNAL;
"#;

/// What comes before all migrations.
pub(super) const BEGINNING: &str = "
CREATE TABLE {s}.migration (
    version integer PRIMARY KEY,
    made timestamp with time zone NOT NULL DEFAULT clock_timestamp()
)";

/// What may matter to a decision however old it is: the condition of an index.
pub(super) const UNSETTLED: &str =
    "(state = 'running' OR (state IN ('interrupted', 'forgotten') AND NOT emptied))";

/// The clock of the server, in milliseconds since 1970. Not `now()`, which stands still
/// from the beginning of a transaction on: before its lock was had.
pub(super) const CLOCK: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The statements for one schema.
#[derive(Clone, Debug)]
pub(super) struct Statements {
    /// Adds an attempt.
    pub(super) add: String,
    /// Writes all that can change of an attempt; fails if it is not there.
    pub(super) change: String,
}

impl Statements {
    pub(super) fn of(schema: &str) -> Self {
        let columns = COLUMNS.join(", ");
        let places: Vec<String> = (1..=COLUMNS.len()).map(|n| format!("${n}")).collect();
        let pairs = |range: &[&str], first: usize, between: &str| {
            let pairs = range.iter().enumerate();
            let pairs = pairs.map(|(at, name)| format!("{name} = ${}", at + first));
            pairs.collect::<Vec<_>>().join(between)
        };
        // A number of rows that is wrong divides by zero, so that what was sent along with
        // it fails too, the commit included.
        let change = format!(
            "WITH changed AS (UPDATE {schema}.attempt SET {} WHERE {} RETURNING 1)
            SELECT 1 / count(*) FROM changed",
            pairs(&COLUMNS[FIXED..], FIXED + 1, ", "),
            pairs(&COLUMNS[..FIXED], 1, " AND "),
        );
        Self {
            add: format!("INSERT INTO {schema}.attempt ({columns}) VALUES ({})", places.join(", ")),
            change,
        }
    }
}
