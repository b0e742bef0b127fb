//! What a sweep takes, as conditions of SQL.
//!
//! Each is walked in the order of the fences, which is the order in which attempts
//! began, and a bounded number of rows at a time.

/// Whether two rows belong to one key.
fn same_key(one: &str, other: &str) -> String {
    format!(
        "{one}.kind = {other}.kind AND {one}.namespace = {other}.namespace AND {one}.key = {other}.key"
    )
}

/// Whether a later attempt took the place of a record: any ordinary one did,
/// and a `--rerun` by succeeding.
pub(super) fn replaced_by(later: &str, record: &str) -> String {
    format!(
        "{} AND {later}.generation > {record}.generation AND ({later}.rerun = 0 OR {later}.state = 'done')",
        same_key(later, record)
    )
}

/// Whether a row keeps its key from going: processes of it may be about that nobody
/// has looked for and somebody would, or it is a promised record that is in force.
fn keeps(row: &str) -> String {
    format!(
        "(({row}.emptied = 0 AND {row}.state IN ('interrupted', 'forgotten')
            AND (NOT :unlooked OR {row}.ended_ms >= :horizon))
        OR (NOT :promised AND {row}.state = 'done' AND {row}.promised IS 1
            AND ({row}.expires_ms IS NULL OR {row}.expires_ms > :now)
            AND NOT EXISTS (SELECT 1 FROM attempt AS later WHERE {})))",
        replaced_by("later", row)
    )
}

/// Whether a row ended before the horizon and nothing of its key is in progress.
fn finished(row: &str) -> String {
    format!(
        "{row}.kind = 'once' AND {row}.state IN ('done', 'failed', 'forgotten')
        AND {row}.ended_ms < :horizon"
    )
}

/// Whether a row is the newest of a finished key that goes whole. Any of the others
/// can keep it: under a rerun that failed lies the record that is in force. One that
/// rests stays too, which a rerun that failed does not make it. (A key can have many
/// attempts, so they are looked at only under the newest; the first has none.)
fn goes_whole(newest: &str) -> String {
    format!(
        "{finished} AND NOT {itself}
        AND (:promised OR {newest}.rerun = 1 OR {newest}.retry_boot_ms IS NULL
            OR {newest}.retry_boot_ms <= :boot OR {newest}.boot_id <> :boot_id)
        AND NOT EXISTS (SELECT 1 FROM attempt AS later
            WHERE {later} AND later.generation > {newest}.generation)
        AND ({newest}.generation = 1
            OR NOT EXISTS (SELECT 1 FROM attempt AS other WHERE {same} AND {other}))",
        finished = finished(newest),
        itself = keeps(newest),
        later = same_key("later", newest),
        same = same_key("other", newest),
        other = keeps("other"),
    )
}

/// One of the two things that a sweep takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Finished keys, whole. The rows are their newest attempts.
    Keys,
    /// Ended attempts of other keys that a later one of another operation has
    /// replaced: a hot key would otherwise keep every output. Processes that nobody
    /// has looked for are not let go of where somebody would, and neither are reruns that
    /// came to nothing while they are the newest.
    Replaced,
}

/// Whether a row is of the namespace that was asked for, if one was.
const ASKED_FOR: &str = "(:namespace IS NULL OR row.namespace = :namespace)";

/// The rows of a batch.
const BATCH: &str = "row.fence BETWEEN :first AND :last";

impl Taken {
    /// The rows after the fence `:after`, and of those that look as if they may go the
    /// bytes of their output. (An index would find what is old in no order, and read
    /// all of it each time.)
    pub(super) fn promising(self) -> String {
        format!(
            "SELECT row.fence, CASE WHEN {} THEN ifnull(row.output_bytes, 0) END
            FROM attempt AS row NOT INDEXED WHERE row.fence > :after ORDER BY row.fence",
            self.look()
        )
    }

    /// How many keys go, and how many attempts.
    pub(super) fn tally(self) -> String {
        let (keys, attempts) = match self {
            Self::Keys => (
                "count(*)",
                format!(
                    "total((SELECT count(*) FROM attempt AS other WHERE {}))",
                    same_key("other", "row")
                ),
            ),
            Self::Replaced => ("0", "count(*)".to_owned()),
        };
        format!(
            "SELECT {keys}, CAST({attempts} AS INTEGER) FROM attempt AS row NOT INDEXED
            WHERE {BATCH} AND {}",
            self.condition()
        )
    }

    /// The keys that go of which there are older attempts.
    pub(super) fn several() -> String {
        format!(
            "SELECT row.kind, row.namespace, row.key FROM attempt AS row NOT INDEXED
            WHERE {BATCH} AND row.generation > 1 AND {}",
            Self::Keys.condition()
        )
    }

    /// Removes what goes, if it still may.
    pub(super) fn removal(self) -> String {
        format!("DELETE FROM attempt AS row NOT INDEXED WHERE {BATCH} AND {}", self.condition())
    }

    /// What can be said of a row without another.
    fn look(self) -> String {
        match self {
            Self::Keys => format!("{} AND {ASKED_FOR}", finished("row")),
            Self::Replaced => format!(
                "row.kind = 'once' AND row.state IN ('done', 'failed', 'interrupted', 'forgotten')
                AND row.ended_ms < :horizon AND {ASKED_FOR}
                AND (row.emptied = 1 OR :unlooked OR row.state IN ('done', 'failed'))"
            ),
        }
    }

    fn condition(self) -> String {
        match self {
            Self::Keys => format!("{ASKED_FOR} AND {}", goes_whole("row")),
            Self::Replaced => format!(
                "{look} AND EXISTS (SELECT 1 FROM attempt AS later
                    WHERE {later} AND later.generation > row.generation
                    AND later.operation <> row.operation
                    AND (later.rerun = 0 OR later.state = 'done'
                        OR (row.rerun = 1 AND row.state <> 'done')))
                AND NOT EXISTS (SELECT 1 FROM attempt AS newest WHERE {newest}
                    AND newest.generation =
                        (SELECT max(last.generation) FROM attempt AS last WHERE {last})
                    AND {whole})",
                look = self.look(),
                later = same_key("later", "row"),
                newest = same_key("newest", "row"),
                last = same_key("last", "row"),
                whole = goes_whole("newest"),
            ),
        }
    }
}
