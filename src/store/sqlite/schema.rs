//! The tables, and how they came about.
//!
//! Migrations are appended, never changed, and only add: an older doubletap
//! may be in mid-run on the same file. `PRAGMA user_version` counts them.

/// Says in the file's header whose it is (`PRAGMA application_id`): "dbtp".
pub(super) const APPLICATION_ID: i64 = 0x6462_7470;

/// What brings a file from version `n` to `n + 1`, by `n`.
pub(super) const MIGRATIONS: [&str; 2] = [FIRST, SECOND];

/// The newest version that this program knows.
pub(super) const NEWEST: usize = MIGRATIONS.len();

/// What makes a file of an older version look as if it were of the newest, by its
/// version, to those who must not change it. A temporary view goes before a table.
pub(super) const DISGUISES: [&str; NEWEST] =
    ["", "CREATE TEMP VIEW attempt AS SELECT *, NULL AS tie, NULL AS parent FROM main.attempt"];

/// `fence` is the row's number: it is unique in the store and grows, so rows
/// are appended, listing newest first needs no index, and pruning oldest first
/// walks the table in order. Times named `_ms` are wall-clock milliseconds
/// since 1970; `until_boot_ms` and `retry_boot_ms` (until when the key rests, for
/// `--retry-after` or `--min-hold`) count from the start of the kernel that
/// `boot_id` names.
const FIRST: &str = "
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO store (id, fence) VALUES (1, 0);

CREATE TABLE attempt (
    fence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    generation INTEGER NOT NULL,
    state TEXT NOT NULL,
    operation BLOB NOT NULL,
    number INTEGER NOT NULL,
    rerun INTEGER NOT NULL,
    token BLOB NOT NULL,
    fingerprint TEXT NOT NULL,
    command TEXT NOT NULL,
    command_words INTEGER NOT NULL,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_start INTEGER NOT NULL,
    pid_namespace INTEGER NOT NULL,
    lock_inode INTEGER,
    group_reach TEXT,
    group_id INTEGER,
    group_start INTEGER,
    group_session INTEGER,
    group_namespace INTEGER,
    emptied INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    until_boot_ms INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    run_ms INTEGER,
    output_bytes INTEGER,
    truncated INTEGER,
    expires_ms INTEGER,
    promised INTEGER,
    retry_boot_ms INTEGER
) STRICT;
CREATE UNIQUE INDEX attempt_chain ON attempt (kind, namespace, key, generation);
CREATE TABLE output (
    fence INTEGER PRIMARY KEY,
    frames BLOB NOT NULL
) STRICT;
";

/// What scripts need that claim by hand. `tie` is nothing where a doubletap holds a
/// lock as long as its claim lasts, and `parent` is the fence of the attempt that a
/// step belongs to. Whoever renews names only a token; nothing else is looked up by it.
const SECOND: &str = "
ALTER TABLE attempt ADD COLUMN tie TEXT;
ALTER TABLE attempt ADD COLUMN parent INTEGER;
CREATE INDEX attempt_tied ON attempt (token) WHERE tie IS NOT NULL;
";
