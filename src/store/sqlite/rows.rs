//! Turns rows into attempts and back.

use std::time::Duration;

use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, Row, params};

use crate::claim::attempt::{
    Attempt, CommandSummary, End, Extent, Origin, OutputSummary, Ownership, Promise, Remains, State,
};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::fingerprint::{Field, Fingerprint};
use crate::claim::holder::{Group, Holder, PidNamespace, Reach, StartTime, Tie};
use crate::claim::id::{OperationId, Token, from_hex, to_hex};
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{BootId, BootMs, Expiry, Until, WallMs};
use crate::store::unreadable::UnreadableRow;

/// A value in a column that no doubletap wrote there.
#[derive(Debug)]
struct Unreadable(&'static str);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unreadable {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

fn unreadable(what: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, Box::new(Unreadable(what)))
}

fn duration(ms: i64) -> rusqlite::Result<Duration> {
    u64::try_from(ms).map(Duration::from_millis).map_err(|_| unreadable("duration"))
}

/// The columns of an attempt, in the order in which they are read.
pub(super) const COLUMNS: &str = "fence, generation, state, operation, number, rerun, token,
    fingerprint, command, command_words, host, boot_id, pid, pid_start, pid_namespace,
    lock_inode, emptied, lease_ms, until_boot_ms, started_ms,
    retry_boot_ms, group_reach, group_id, group_start, group_session, group_namespace,
    tie, parent, ended_ms, exit_code, signal, reason, run_ms, output_bytes, truncated, expires_ms, promised";

/// How many they are.
const COUNT: usize = 37;

/// Reads the columns of a row one after the other: looking each up by its
/// name would take longer than finding the row.
struct Reader<'a> {
    row: &'a Row<'a>,
    column: usize,
}

impl Reader<'_> {
    fn next<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let value = self.row.get(self.column);
        self.column += 1;
        value
    }

    fn bits<const N: usize>(&mut self) -> rusqlite::Result<[u8; N]> {
        let bytes = self.row.get_ref(self.column)?.as_blob().ok();
        self.column += 1;
        bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| unreadable("id"))
    }

    /// A number of the kernel's that has 64 bits without a sign; SQLite's have
    /// one.
    fn unsigned(&mut self) -> rusqlite::Result<u64> {
        Ok(self.next::<i64>()?.cast_unsigned())
    }

    fn duration(&mut self) -> rusqlite::Result<Duration> {
        duration(self.next()?)
    }
}

/// The identity of the chain that a row belongs to, from its columns `kind`,
/// `namespace` and `key`, which begin at `first`.
fn subject(row: &Row<'_>, first: usize) -> rusqlite::Result<Subject> {
    let mut from = Reader { row, column: first };
    let (kind, namespace, key) =
        (from.next::<String>()?, from.next::<String>()?, from.next::<String>()?);
    Ok(Subject {
        kind: Kind::parse(&kind).ok_or_else(|| unreadable("kind"))?,
        namespace: Namespace::new(&namespace).map_err(|_| unreadable("namespace"))?,
        key: Key::new(&key).map_err(|_| unreadable("key"))?,
    })
}

/// The attempt that a row of [`COLUMNS`], `kind`, `namespace` and `key` is, and its chain.
pub(super) fn named(row: &Row<'_>) -> rusqlite::Result<(Subject, Attempt)> {
    let read = || Ok((subject(row, COUNT)?, attempt(row)?));
    read().map_err(|why: rusqlite::Error| {
        let text = |column| row.get(COUNT + column).unwrap_or_default();
        damaged(UnreadableRow {
            kind: text(0),
            namespace: text(1),
            key: text(2),
            generation: generation(row),
            why: reason(&why),
        })
    })
}

/// The attempt of this chain that a row of [`COLUMNS`] is.
pub(super) fn attempt_of(subject: &Subject, row: &Row<'_>) -> rusqlite::Result<Attempt> {
    attempt(row).map_err(|why| damaged(UnreadableRow::of(subject, generation(row), reason(&why))))
}

fn generation(row: &Row<'_>) -> i64 {
    row.get(1).unwrap_or_default()
}

/// What is wrong with a row, without the words that tell of columns.
fn reason(why: &rusqlite::Error) -> String {
    match why {
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => why.to_string(),
        other => other.to_string(),
    }
}

/// The error of a row that cannot be read.
pub(super) fn damaged(row: UnreadableRow) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Null, Box::new(row))
}

/// The row that an error is about, if it is about one.
pub(super) fn of_error(error: &rusqlite::Error) -> Option<&UnreadableRow> {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, why) => why.downcast_ref(),
        _ => None,
    }
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let mut from = Reader { row, column: 0 };
    let fence = Fence(from.next()?);
    let generation = from.next()?;
    let state = State::parse(&from.next::<String>()?).ok_or_else(|| unreadable("state"))?;
    let operation = OperationId(from.bits()?);
    let number = from.next()?;
    let origin = if from.next()? { Origin::Rerun } else { Origin::Ordinary };
    let token = Token(from.bits()?);
    let fingerprint = read_fingerprint(&from.next::<String>()?)?;
    let command = CommandSummary { word: from.next()?, words: from.next()? };
    let holder = Holder {
        host: from.next()?,
        boot_id: BootId(from.next::<String>()?.into()),
        pid: from.next()?,
        start: StartTime(from.unsigned()?),
        pid_namespace: PidNamespace(from.unsigned()?),
    };
    let boot_id = holder.boot_id.clone();
    Ok(Attempt {
        generation,
        state,
        operation,
        number,
        origin,
        token,
        fence,
        fingerprint,
        command,
        holder,
        lock_inode: from.next::<Option<i64>>()?.map(i64::cast_unsigned),
        remains: if from.next()? { Remains::None } else { Remains::Possible },
        lease: from.duration()?,
        until: Until { boot_id: boot_id.clone(), at: BootMs(from.next()?) },
        started: WallMs(from.next()?),
        rests_until: from.next::<Option<i64>>()?.map(|at| Until { boot_id, at: BootMs(at) }),
        group: group(&mut from)?,
        tie: tie(&mut from)?,
        parent: from.next::<Option<i64>>()?.map(Fence),
        end: end(&mut from)?,
    })
}

fn tie(from: &mut Reader<'_>) -> rusqlite::Result<Tie> {
    let Some(word) = from.next::<Option<String>>()? else { return Ok(Tie::Wrapper) };
    Tie::parse(&word).ok_or_else(|| unreadable("tie"))
}

fn group(from: &mut Reader<'_>) -> rusqlite::Result<Option<Group>> {
    let Some(reach) = from.next::<Option<String>>()? else {
        from.column += 4;
        return Ok(None);
    };
    Ok(Some(Group {
        reach: match reach.as_str() {
            "group" => Reach::Group,
            "process" => Reach::Process,
            _ => return Err(unreadable("group")),
        },
        id: match from.next()? {
            // 0 would be our own group, and 1 is the system's.
            number if number > 1 => number,
            _ => return Err(unreadable("group")),
        },
        start: StartTime(from.unsigned()?),
        session: from.next()?,
        pid_namespace: PidNamespace(from.unsigned()?),
    }))
}

fn end(from: &mut Reader<'_>) -> rusqlite::Result<Option<End>> {
    let Some(at) = from.next()? else {
        return Ok(None);
    };
    let outcome = match (from.next()?, from.next()?) {
        (Some(code), _) => Some(Outcome::Exited(code)),
        (None, Some(signal)) => Some(Outcome::Signaled(signal)),
        (None, None) => None,
    };
    let reason = from.next()?;
    let run = from.next::<Option<i64>>()?.map(duration).transpose()?;
    let output = match (from.next::<Option<i64>>()?, from.next::<Option<bool>>()?) {
        (None, _) => None,
        (Some(bytes), truncated) => Some(OutputSummary {
            bytes: bytes.cast_unsigned(),
            extent: if truncated == Some(true) { Extent::Truncated } else { Extent::Whole },
        }),
    };
    Ok(Some(End {
        at: WallMs(at),
        outcome,
        reason,
        run,
        output,
        expiry: from.next::<Option<i64>>()?.map_or(Expiry::Never, |at| Expiry::At(WallMs(at))),
        promise: match from.next::<Option<bool>>()? {
            Some(true) => Promise::Explicit,
            _ => Promise::Default,
        },
    }))
}

fn read_fingerprint(text: &str) -> rusqlite::Result<Fingerprint> {
    let fields: Vec<(String, String)> =
        serde_json::from_str(text).map_err(|_| unreadable("fingerprint"))?;
    let fields = fields.into_iter().map(|(name, hex)| {
        let digest = from_hex(&hex).ok_or_else(|| unreadable("fingerprint"))?;
        Ok(Field { name, digest })
    });
    fields.collect::<rusqlite::Result<_>>().map(Fingerprint::of)
}

fn write_fingerprint(fingerprint: &Fingerprint) -> String {
    let fields: Vec<(&str, String)> =
        fingerprint.fields().iter().map(|f| (f.name.as_str(), to_hex(&f.digest))).collect();
    serde_json::to_string(&fields).unwrap_or_else(|_| String::from("[]"))
}

/// Inserts a new attempt; says whether a row was written, which a constraint
/// can prevent.
pub(super) fn insert(
    connection: &Connection,
    subject: &Subject,
    attempt: &Attempt,
) -> rusqlite::Result<bool> {
    // By place: looking thirty names up takes longer than the insert.
    let mut statement = connection.prepare(
        "INSERT OR IGNORE INTO attempt (fence, kind, namespace, key, generation, state, operation, number, rerun, token,
            fingerprint, command, command_words, host, boot_id, pid, pid_start,
            pid_namespace, lock_inode, group_reach, group_id, group_start, group_session,
            group_namespace, emptied, lease_ms, until_boot_ms, retry_boot_ms, started_ms, ended_ms,
            tie, parent)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
            ?, ?, ?, ?, ?)",
    )?;
    let group = attempt.group.as_ref();
    let rows = statement.execute(params![
        attempt.fence.0,
        subject.kind.as_str(),
        subject.namespace.as_str(),
        subject.key.as_str(),
        attempt.generation,
        attempt.state.as_str(),
        attempt.operation.0,
        attempt.number,
        attempt.origin == Origin::Rerun,
        attempt.token.0,
        write_fingerprint(&attempt.fingerprint),
        attempt.command.word,
        attempt.command.words,
        attempt.holder.host,
        &*attempt.holder.boot_id.0,
        attempt.holder.pid,
        attempt.holder.start.0.cast_signed(),
        attempt.holder.pid_namespace.0.cast_signed(),
        attempt.lock_inode.map(u64::cast_signed),
        group.map(|group| match group.reach {
            Reach::Group => "group",
            Reach::Process => "process",
        }),
        group.map(|group| group.id),
        group.map(|group| group.start.0.cast_signed()),
        group.map(|group| group.session),
        group.map(|group| group.pid_namespace.0.cast_signed()),
        attempt.remains == Remains::None,
        to_ms(attempt.lease),
        attempt.until.at.0,
        attempt.rests_until.as_ref().map(|until| until.at.0),
        attempt.started.0,
        attempt.end.as_ref().map(|end| end.at.0),
        (attempt.tie != Tie::Wrapper).then(|| attempt.tie.as_str()),
        attempt.parent.map(|parent| parent.0),
    ])?;
    Ok(rows == 1)
}

const UPDATE_END: &str = "UPDATE attempt SET state = ?, ended_ms = ?, exit_code = ?, signal = ?,
        reason = ?, run_ms = ?, output_bytes = ?, truncated = ?, expires_ms = ?, promised = ?,
        emptied = ?
    WHERE fence = ? AND token = ? AND kind = ? AND namespace = ? AND key = ? AND state = ?";

/// Compiles what [`update_end`] runs.
pub(super) fn expect_end(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(UPDATE_END).map(drop)
}

/// Ends an attempt that is in the state `from`; says whether it still was, and
/// its owner's.
pub(super) fn update_end(
    connection: &Connection,
    row: &Ownership,
    from: State,
    (state, end): (State, &End),
    remains: Remains,
) -> rusqlite::Result<bool> {
    let (exit_code, signal) = match end.outcome {
        Some(Outcome::Exited(code)) => (Some(code), None),
        Some(Outcome::Signaled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let mut statement = connection.prepare_cached(UPDATE_END)?;
    let rows = statement.execute(params![
        state.as_str(),
        end.at.0,
        exit_code,
        signal,
        end.reason,
        end.run.map(to_ms),
        end.output.map(|output| output.bytes.cast_signed()),
        end.output.map(|output| output.extent == Extent::Truncated),
        match end.expiry {
            Expiry::At(at) => Some(at.0),
            Expiry::Never => None,
        },
        end.promise == Promise::Explicit,
        remains == Remains::None,
        row.fence.0,
        row.token.0,
        row.subject.kind.as_str(),
        row.subject.namespace.as_str(),
        row.subject.key.as_str(),
        from.as_str(),
    ])?;
    Ok(rows == 1)
}
