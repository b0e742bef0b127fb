//! Turns rows into attempts and back.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use crate::claim::attempt::{
    Attempt, CommandSummary, End, Extent, Origin, OutputSummary, Promise, Remains, State,
};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::fingerprint::{Field, Fingerprint};
use crate::claim::holder::{Group, Holder, PidNamespace, Reach, StartTime, Tie};
use crate::claim::id::{OperationId, Token, from_hex, to_hex};
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{BootId, BootMs, Expiry, Until, WallMs};
use crate::store::unreadable::{Found, UnreadableRow};

/// What is in a row that no doubletap wrote there.
#[derive(Debug)]
pub(super) struct Unreadable(&'static str, Option<Box<dyn Error + Sync + Send>>);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unreadable {}", self.0)?;
        self.1.iter().try_for_each(|why| write!(f, " ({why})"))
    }
}

type Read<T> = Result<T, Unreadable>;

fn unreadable(what: &'static str) -> Unreadable {
    Unreadable(what, None)
}

fn duration(ms: i64) -> Read<Duration> {
    u64::try_from(ms).map(Duration::from_millis).map_err(|_| unreadable("duration"))
}

/// A value and its type on the server.
pub(super) type Value = (Box<dyn ToSql + Sync>, Type);

/// Every column of an attempt, in the order in which they are read. The first
/// [`FIXED`] never change.
pub(super) const COLUMNS: [&str; 41] = [
    "fence",
    "kind",
    "namespace",
    "key",
    "generation",
    "token",
    "state",
    "operation",
    "number",
    "rerun",
    "fingerprint",
    "command",
    "command_words",
    "host",
    "boot_id",
    "pid",
    "pid_start",
    "pid_namespace",
    "tie",
    "parent",
    "lock_inode",
    "group_reach",
    "group_id",
    "group_start",
    "group_session",
    "group_namespace",
    "emptied",
    "lease_ms",
    "clock",
    "until_ms",
    "rests_until_ms",
    "started_ms",
    "ended_ms",
    "exit_code",
    "signal",
    "reason",
    "run_ms",
    "output_bytes",
    "truncated",
    "expires_ms",
    "promised",
];

/// How many columns say which row it is.
pub(super) const FIXED: usize = 6;

/// What [`COLUMNS`] are for a row.
pub(super) fn values(subject: &Subject, attempt: &Attempt) -> Vec<Value> {
    let holder = &attempt.holder;
    let (group, end) = (attempt.group.as_ref(), attempt.end.as_ref());
    let reach = group.map(|group| match group.reach {
        Reach::Group => "group",
        Reach::Process => "process",
    });
    let (exit_code, signal) = match attempt.outcome() {
        Some(Outcome::Exited(code)) => (Some(code), None),
        Some(Outcome::Signaled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let expires = end.and_then(|end| match end.expiry {
        Expiry::At(at) => Some(at.0),
        Expiry::Never => None,
    });
    vec![
        int8(attempt.fence.0),
        text(subject.kind.as_str()),
        text(subject.namespace.as_str()),
        text(subject.key.as_str()),
        int8(attempt.generation),
        bytea(&attempt.token.0),
        text(attempt.state.as_str()),
        bytea(&attempt.operation.0),
        int8(i64::from(attempt.number)),
        bool(attempt.origin == Origin::Rerun),
        text(&*write_fingerprint(&attempt.fingerprint)),
        text(&*attempt.command.word),
        int8(i64::from(attempt.command.words)),
        text(&*holder.host),
        text(&*holder.boot_id.0),
        int4(holder.pid),
        int8(holder.start.0.cast_signed()),
        int8(holder.pid_namespace.0.cast_signed()),
        text(attempt.tie.as_str()),
        int8(attempt.parent.map(|parent| parent.0)),
        int8(attempt.lock_inode.map(u64::cast_signed)),
        text(reach),
        int4(group.map(|group| group.id)),
        int8(group.map(|group| group.start.0.cast_signed())),
        int4(group.map(|group| group.session)),
        int8(group.map(|group| group.pid_namespace.0.cast_signed())),
        bool(attempt.remains == Remains::None),
        int8(to_ms(attempt.lease)),
        text(&*attempt.until.boot_id.0),
        int8(attempt.until.at.0),
        int8(attempt.rests_until.as_ref().map(|until| until.at.0)),
        int8(attempt.started.0),
        int8(end.map(|end| end.at.0)),
        int4(exit_code.map(i32::from)),
        int4(signal.map(i32::from)),
        text(end.and_then(|end| end.reason.as_deref())),
        int8(end.and_then(|end| end.run).map(to_ms)),
        int8(attempt.output().map(|output| output.bytes.cast_signed())),
        bool(attempt.output().map(|output| output.extent == Extent::Truncated)),
        int8(expires),
        bool(end.map(|end| end.promise == Promise::Explicit)),
    ]
}

pub(super) fn text<'a>(value: impl Into<Option<&'a str>>) -> Value {
    (Box::new(value.into().map(str::to_owned)), Type::TEXT)
}

pub(super) fn bytea(value: &[u8]) -> Value {
    (Box::new(value.to_owned()), Type::BYTEA)
}

pub(super) fn int8(value: impl Into<Option<i64>>) -> Value {
    (Box::new(value.into()), Type::INT8)
}

pub(super) fn int4(value: impl Into<Option<i32>>) -> Value {
    (Box::new(value.into()), Type::INT4)
}

pub(super) fn bool(value: impl Into<Option<bool>>) -> Value {
    (Box::new(value.into()), Type::BOOL)
}

pub(super) fn fences(fences: &[Fence]) -> Value {
    int8s(&fences.iter().map(|fence| fence.0).collect::<Vec<_>>())
}

pub(super) fn int8s(numbers: &[i64]) -> Value {
    (Box::new(numbers.to_owned()), Type::INT8_ARRAY)
}

/// The attempt that [`COLUMNS`] are, from the first of them on, and its chain.
pub(super) fn attempt(row: &Row, first: usize) -> Found {
    Reader::at(row, first).attempt().map_err(|why| {
        let text = |column| row.try_get::<_, &str>(first + column).unwrap_or_default().to_owned();
        UnreadableRow {
            kind: text(1),
            namespace: text(2),
            key: text(3),
            generation: row.try_get(first + 4).unwrap_or_default(),
            why: why.to_string(),
        }
    })
}

/// Reads the columns of a row one after the other.
pub(super) struct Reader<'a> {
    row: &'a Row,
    column: usize,
}

impl<'a> Reader<'a> {
    /// From this column on.
    pub(super) fn at(row: &'a Row, column: usize) -> Self {
        Self { row, column }
    }

    pub(super) fn next<T: FromSql<'a>>(&mut self) -> Read<T> {
        let column = self.column;
        self.column += 1;
        self.row.try_get(column).map_err(|why| Unreadable("column", why.into_source()))
    }

    fn bits<const N: usize>(&mut self) -> Read<[u8; N]> {
        self.next::<&[u8]>()?.try_into().map_err(|_| unreadable("id"))
    }

    /// A number of the kernel's that has 64 bits without a sign; the server's have one.
    fn unsigned(&mut self) -> Read<u64> {
        Ok(self.next::<i64>()?.cast_unsigned())
    }

    fn small(&mut self) -> Read<u32> {
        u32::try_from(self.next::<i64>()?).map_err(|_| unreadable("count"))
    }

    fn byte(&mut self) -> Read<Option<u8>> {
        let number = self.next::<Option<i32>>()?;
        number.map(|n| u8::try_from(n).map_err(|_| unreadable("outcome"))).transpose()
    }

    /// The identity of a chain.
    pub(super) fn subject(&mut self) -> Read<Subject> {
        let kind = Kind::parse(self.next()?).ok_or_else(|| unreadable("kind"))?;
        let namespace = Namespace::new(self.next()?).map_err(|_| unreadable("namespace"))?;
        let key = Key::new(self.next()?).map_err(|_| unreadable("key"))?;
        Ok(Subject { kind, namespace, key })
    }

    fn attempt(&mut self) -> Read<(Subject, Attempt)> {
        let fence = Fence(self.next()?);
        let subject = self.subject()?;
        let generation = self.next()?;
        let token = Token(self.bits()?);
        let state = State::parse(self.next()?).ok_or_else(|| unreadable("state"))?;
        let operation = OperationId(self.bits()?);
        let number = self.small()?;
        let origin = if self.next()? { Origin::Rerun } else { Origin::Ordinary };
        let fingerprint = read_fingerprint(self.next()?)?;
        let command = CommandSummary { word: self.next()?, words: self.small()? };
        let holder = Holder {
            host: self.next()?,
            boot_id: BootId(self.next::<&str>()?.into()),
            pid: self.next()?,
            start: StartTime(self.unsigned()?),
            pid_namespace: PidNamespace(self.unsigned()?),
        };
        let tie = Tie::parse(self.next()?).ok_or_else(|| unreadable("tie"))?;
        let parent = self.next::<Option<i64>>()?.map(Fence);
        let lock_inode = self.next::<Option<i64>>()?.map(i64::cast_unsigned);
        let group = self.group()?;
        let remains = if self.next()? { Remains::None } else { Remains::Possible };
        let lease = duration(self.next()?)?;
        let clock = BootId(self.next::<&str>()?.into());
        let until = Until { boot_id: clock.clone(), at: BootMs(self.next()?) };
        let rests = self.next::<Option<i64>>()?;
        let attempt = Attempt {
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
            tie,
            parent,
            lock_inode,
            group,
            remains,
            lease,
            until,
            rests_until: rests.map(|at| Until { boot_id: clock, at: BootMs(at) }),
            started: WallMs(self.next()?),
            end: self.end()?,
        };
        Ok((subject, attempt))
    }

    fn group(&mut self) -> Read<Option<Group>> {
        let Some(reach) = self.next::<Option<&str>>()? else {
            self.column += 4;
            return Ok(None);
        };
        Ok(Some(Group {
            reach: match reach {
                "group" => Reach::Group,
                "process" => Reach::Process,
                _ => return Err(unreadable("group")),
            },
            id: match self.next()? {
                // 0 would be our own group, and 1 is the system's.
                number if number > 1 => number,
                _ => return Err(unreadable("group")),
            },
            start: StartTime(self.unsigned()?),
            session: self.next()?,
            pid_namespace: PidNamespace(self.unsigned()?),
        }))
    }

    fn end(&mut self) -> Read<Option<End>> {
        let Some(at) = self.next()? else {
            return Ok(None);
        };
        let outcome = match (self.byte()?, self.byte()?) {
            (Some(code), _) => Some(Outcome::Exited(code)),
            (None, Some(signal)) => Some(Outcome::Signaled(signal)),
            (None, None) => None,
        };
        let reason = self.next()?;
        let run = self.next::<Option<i64>>()?.map(duration).transpose()?;
        let output = match (self.next::<Option<i64>>()?, self.next::<Option<bool>>()?) {
            (None, _) => None,
            (Some(bytes), truncated) => Some(OutputSummary {
                bytes: bytes.cast_unsigned(),
                extent: if truncated == Some(true) { Extent::Truncated } else { Extent::Whole },
            }),
        };
        let expires = self.next::<Option<i64>>()?;
        let promise = match self.next::<Option<bool>>()? {
            Some(true) => Promise::Explicit,
            _ => Promise::Default,
        };
        let expiry = expires.map_or(Expiry::Never, |at| Expiry::At(WallMs(at)));
        Ok(Some(End { at: WallMs(at), outcome, reason, run, output, expiry, promise }))
    }
}

fn read_fingerprint(text: &str) -> Read<Fingerprint> {
    let fields: Vec<(String, String)> =
        serde_json::from_str(text).map_err(|_| unreadable("fingerprint"))?;
    let fields = fields.into_iter().map(|(name, hex)| {
        let digest = from_hex(&hex).ok_or_else(|| unreadable("fingerprint"))?;
        Ok(Field { name, digest })
    });
    fields.collect::<Read<_>>().map(Fingerprint::of)
}

fn write_fingerprint(fingerprint: &Fingerprint) -> String {
    let fields: Vec<(&str, String)> =
        fingerprint.fields().iter().map(|f| (f.name.as_str(), to_hex(&f.digest))).collect();
    serde_json::to_string(&fields).unwrap_or_else(|_| String::from("[]"))
}
