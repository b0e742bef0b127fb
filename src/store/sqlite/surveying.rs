//! What the store comes to: two walks that keep little.
//!
//! The first goes along the index, which has each key's attempts together: it
//! ranks the groups and notes which row is each key's newest. The second goes
//! along the table in its own order [measured: the table in the order of the
//! index takes 10 times as long where keys are random]. Both go in batches, so
//! that no snapshot is held for long: a long one keeps the log from being started
//! over. What happens meanwhile is seen or not; a key is counted once.

use std::fs;
use std::time::Duration;

use rusqlite::{Connection, named_params};

use super::reading::{Depth, attempts};
use super::{SqliteStore, failure, place};
use crate::claim::attempt::{Origin, State};
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::claim::standing::Standing;
use crate::claim::survey::{KeyText, Ranking, Sizes, Survey};
use crate::claim::time::{Expiry, Now, WallMs};
use crate::store::unreadable::UnreadableRow;
use crate::store::{Liveness, StoreError, Trouble, seen_without_lock};

/// Rows read at once.
const BATCH: i64 = 10_000;

/// The place of a row in the index.
#[derive(Clone, Default)]
struct Place {
    kind: String,
    namespace: String,
    key: String,
    generation: i64,
    fence: i64,
}

impl Place {
    fn is_of_the_key_of(&self, other: &Self) -> bool {
        self.key == other.key && self.namespace == other.namespace && self.kind == other.kind
    }

    fn text(&self) -> Result<KeyText<'_>, StoreError> {
        let (namespace, key) = (self.namespace.as_str(), self.key.as_str());
        Kind::parse(&self.kind)
            .map(|kind| KeyText { kind, namespace, key })
            .ok_or_else(|| unreadable("kind"))
    }
}

/// What a survey needs of a row of the table.
struct Row {
    fence: i64,
    kind: String,
    namespace: String,
    key: String,
    generation: i64,
    state: String,
    /// Whether it is what `forget` leaves behind.
    tombstone: bool,
    origin: Origin,
    ended: bool,
    expiry: Expiry,
    rests: bool,
    started: WallMs,
    run: Option<u64>,
    output_bytes: u64,
}

fn unreadable(what: &str) -> StoreError {
    let message = format!("the store has an unreadable {what}; restore it, or move it away");
    StoreError::new(Trouble::Damaged, message)
}

fn subject(key: KeyText<'_>) -> Result<Subject, StoreError> {
    Ok(Subject {
        kind: key.kind,
        namespace: Namespace::new(key.namespace).map_err(|_| unreadable("namespace"))?,
        key: Key::new(key.key).map_err(|_| unreadable("key"))?,
    })
}

/// One survey on its way.
struct Walk<'a> {
    store: &'a SqliteStore,
    namespace: Option<&'a Namespace>,
    liveness: &'a mut dyn Liveness,
    survey: Survey,
}

impl SqliteStore {
    pub(super) fn survey_all(
        &self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        let survey = Survey { sizes: self.sizes(), ..Survey::default() };
        let mut walk = Walk { store: self, namespace, liveness, survey };
        let newest = walk.along_the_index()?;
        walk.along_the_table(&newest)?;
        Ok(walk.survey)
    }

    /// How much room the store takes.
    fn sizes(&self) -> Sizes {
        // What cannot be looked at is not counted.
        let length = |suffix| {
            fs::metadata(place::beside(&self.path, suffix)).map_or(0, |metadata| metadata.len())
        };
        let mut sizes = Sizes { file: length(""), log: length("-wal"), ..Sizes::default() };
        for spool in self.spools() {
            sizes.output_file_count += 1;
            sizes.output_files += fs::metadata(spool.path).map_or(0, |metadata| metadata.len());
        }
        sizes
    }
}

impl Walk<'_> {
    /// Ranks the groups; gives the newest row of each key, in the order of the
    /// table. That takes eight bytes for each key, and is all that grows with them.
    fn along_the_index(&mut self) -> Result<Vec<i64>, StoreError> {
        let mut ranking = Ranking::default();
        let mut newest = Vec::new();
        let mut last = Place::default();
        let mut rows_of_key = 0;
        loop {
            let batch = self.store.read(|c| places(c, self.namespace, &last))?;
            let is_last = batch.is_empty();
            for place in batch {
                ranking.attempt(place.text()?);
                if rows_of_key > 0 && !place.is_of_the_key_of(&last) {
                    self.note(&last, rows_of_key, &mut newest)?;
                    rows_of_key = 0;
                }
                rows_of_key += 1;
                last = place;
            }
            if is_last {
                break;
            }
        }
        if rows_of_key > 0 {
            self.note(&last, rows_of_key, &mut newest)?;
        }
        newest.sort_unstable();
        self.survey.tell_apart(ranking);
        Ok(newest)
    }

    /// Notes the newest row of a key. A name that several may hold is judged at
    /// once: any of its rows may say what state it is in.
    fn note(&mut self, place: &Place, rows: u32, newest: &mut Vec<i64>) -> Result<(), StoreError> {
        let key = place.text()?;
        match key.kind {
            Kind::Lease if rows > 1 => self.judge(&subject(key)?),
            Kind::Lease | Kind::Once | Kind::Step => {
                newest.push(place.fence);
                Ok(())
            }
        }
    }

    /// Counts the attempts, and the keys that their newest row says the state of.
    fn along_the_table(&mut self, newest: &[i64]) -> Result<(), StoreError> {
        let mut newest = newest.iter().copied().peekable();
        let mut after = i64::MIN;
        loop {
            let now = self.store.clock.now();
            let batch = self.store.read(|c| rows(c, self.namespace, after))?;
            let Some(last) = batch.last() else { return Ok(()) };
            after = last.fence;
            for row in batch {
                let kind = Kind::parse(&row.kind).ok_or_else(|| unreadable("kind"))?;
                let key = KeyText { kind, namespace: &row.namespace, key: &row.key };
                if !row.tombstone {
                    self.survey.attempt(row.started, row.output_bytes);
                }
                if let Some(ms) = row.run {
                    self.survey.run(key, Duration::from_millis(ms));
                }
                while newest.next_if(|fence| *fence < row.fence).is_some() {}
                if newest.next_if_eq(&row.fence).is_some() {
                    let standing = row.standing(kind, &now);
                    match standing.map_err(|row| row.error(&failure::option(&self.store.path)))? {
                        Some(standing) => self.survey.key(kind, standing),
                        None => self.judge(&subject(key)?)?,
                    }
                }
            }
        }
    }

    /// Finds the state of a key by all that says it.
    fn judge(&mut self, subject: &Subject) -> Result<(), StoreError> {
        let read = || self.store.read(|c| attempts(c, subject, Depth::Decision));
        let seen = seen_without_lock(read()?, self.liveness, read)?;
        if !seen.is_empty() {
            let standing = Standing::of_key(&seen, subject.kind, &self.store.clock.now());
            self.survey.key(subject.kind, standing);
        }
        Ok(())
    }
}

impl Row {
    /// The state of the key whose newest row this is; nothing where that is not for
    /// this row alone to say.
    fn standing(&self, kind: Kind, now: &Now) -> Result<Option<Standing>, UnreadableRow> {
        let state = State::parse(&self.state).ok_or_else(|| UnreadableRow {
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            key: self.key.clone(),
            generation: self.generation,
            why: "unreadable state".to_owned(),
        })?;
        let says_it = match kind {
            Kind::Once | Kind::Step => self.origin == Origin::Ordinary || state == State::Done,
            Kind::Lease => !self.rests,
        };
        let decides = self.ended && state != State::Running && says_it;
        Ok(decides.then(|| Standing::of_ended(kind, state, self.expiry, now)))
    }
}

/// The next places of the index: of the table, which has it, where a view stands for a
/// newer one.
fn places(
    connection: &Connection,
    namespace: Option<&Namespace>,
    after: &Place,
) -> rusqlite::Result<Vec<Place>> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, namespace, key, generation, fence
         FROM main.attempt INDEXED BY attempt_chain
         WHERE (kind, namespace, key, generation) > (:kind, :after, :key, :generation)
            AND kind <> 'step' AND (:namespace IS NULL OR namespace = :namespace)
         ORDER BY kind, namespace, key, generation LIMIT :limit",
    )?;
    let asked = named_params! {
        ":kind": after.kind,
        ":after": after.namespace,
        ":key": after.key,
        ":generation": after.generation,
        ":namespace": namespace.map(Namespace::as_str),
        ":limit": BATCH,
    };
    let places = statement.query_map(asked, |row| {
        Ok(Place {
            kind: row.get(0)?,
            namespace: row.get(1)?,
            key: row.get(2)?,
            generation: row.get(3)?,
            fence: row.get(4)?,
        })
    })?;
    places.collect()
}

/// The next rows of the table.
fn rows(
    connection: &Connection,
    namespace: Option<&Namespace>,
    after: i64,
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(
        "SELECT fence, kind, namespace, key, state, state = 'forgotten' AND number = 0, rerun,
            ended_ms IS NOT NULL, expires_ms, retry_boot_ms IS NOT NULL, started_ms,
            run_ms, output_bytes, generation
         FROM attempt NOT INDEXED
         WHERE fence > :after AND kind <> 'step' AND (:namespace IS NULL OR namespace = :namespace)
         ORDER BY fence LIMIT :limit",
    )?;
    let asked = named_params! {
        ":after": after,
        ":namespace": namespace.map(Namespace::as_str),
        ":limit": BATCH,
    };
    let rows = statement.query_map(asked, |row| {
        let expires: Option<i64> = row.get(8)?;
        let rerun: bool = row.get(6)?;
        Ok(Row {
            fence: row.get(0)?,
            kind: row.get(1)?,
            namespace: row.get(2)?,
            key: row.get(3)?,
            state: row.get(4)?,
            tombstone: row.get(5)?,
            origin: if rerun { Origin::Rerun } else { Origin::Ordinary },
            ended: row.get(7)?,
            expiry: expires.map_or(Expiry::Never, |at| Expiry::At(WallMs(at))),
            rests: row.get(9)?,
            started: WallMs(row.get(10)?),
            run: row.get::<_, Option<i64>>(11)?.map(|ms| u64::try_from(ms).unwrap_or(0)),
            generation: row.get(13)?,
            output_bytes: u64::try_from(row.get::<_, Option<i64>>(12)?.unwrap_or(0)).unwrap_or(0),
        })
    })?;
    rows.collect()
}
