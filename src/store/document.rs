//! An attempt as a JSON document, for the stores that keep it on a server.
//!
//! Fields are only ever added: whoever does not know one leaves it out of sight, and
//! whoever misses one takes what it meant before there was such a field. So binaries of
//! two releases can work on one store. Instants of leases are milliseconds of the server's
//! clock, which is the same for all hosts, unless the document names another.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::claim::attempt::{
    Attempt, CommandSummary, End, Extent, Origin, OutputSummary, Promise, Remains, State,
};
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::claim::fingerprint::{Field, Fingerprint};
use crate::claim::holder::{Group, Holder, PidNamespace, Reach, StartTime, Tie};
use crate::claim::id::{OperationId, Token, from_hex, to_hex};
use crate::claim::outcome::Outcome;
use crate::claim::time::{BootId, BootMs, Expiry, Until, WallMs};

use super::shelf::SERVER;
use super::{StoreError, Trouble};

#[derive(Serialize, Deserialize)]
struct Document<'a> {
    generation: i64,
    #[serde(borrow)]
    state: Cow<'a, str>,
    operation: Cow<'a, str>,
    number: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    rerun: bool,
    token: Cow<'a, str>,
    fence: i64,
    fingerprint: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    command: Cow<'a, str>,
    words: u32,
    holder: Whose<'a>,
    tie: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lock_inode: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<Processes<'a>>,
    #[serde(default, skip_serializing_if = "is_false")]
    emptied: bool,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    clock: Option<Cow<'a, str>>,
    lease_ms: u64,
    until_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rests_until_ms: Option<i64>,
    started_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Ended<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Whose<'a> {
    #[serde(borrow)]
    host: Cow<'a, str>,
    boot_id: Cow<'a, str>,
    pid: i32,
    start: u64,
    pid_namespace: u64,
}

#[derive(Serialize, Deserialize)]
struct Processes<'a> {
    #[serde(borrow)]
    reach: Cow<'a, str>,
    id: i32,
    start: u64,
    session: i32,
    pid_namespace: u64,
}

#[derive(Serialize, Deserialize)]
struct Ended<'a> {
    at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<u8>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "is_false")]
    promised: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// The document of an attempt.
///
/// # Errors
/// When it cannot be made, which no attempt is known to bring about.
pub(crate) fn write(attempt: &Attempt) -> Result<String, StoreError> {
    let fields = attempt.fingerprint.fields().iter();
    let holder = &attempt.holder;
    let document = Document {
        generation: attempt.generation,
        state: attempt.state.as_str().into(),
        operation: attempt.operation.to_string().into(),
        number: attempt.number,
        rerun: attempt.origin == Origin::Rerun,
        token: attempt.token.to_string().into(),
        fence: attempt.fence.0,
        fingerprint: fields
            .map(|field| (field.name.as_str().into(), to_hex(&field.digest).into()))
            .collect(),
        command: attempt.command.word.as_str().into(),
        words: attempt.command.words,
        holder: Whose {
            host: holder.host.as_str().into(),
            boot_id: (&*holder.boot_id.0).into(),
            pid: holder.pid,
            start: holder.start.0,
            pid_namespace: holder.pid_namespace.0,
        },
        tie: attempt.tie.as_str().into(),
        parent: attempt.parent.map(|parent| parent.0),
        lock_inode: attempt.lock_inode,
        group: attempt.group.as_ref().map(of_group),
        emptied: attempt.remains == Remains::None,
        clock: Some(&*attempt.until.boot_id.0).filter(|id| *id != SERVER).map(Cow::Borrowed),
        lease_ms: to_ms(attempt.lease).unsigned_abs(),
        until_ms: attempt.until.at.0,
        rests_until_ms: attempt.rests_until.as_ref().map(|until| until.at.0),
        started_ms: attempt.started.0,
        end: attempt.end.as_ref().map(of_end),
    };
    serde_json::to_string(&document).map_err(|why| {
        StoreError::new(Trouble::Other, format!("an attempt cannot be written as JSON ({why})"))
    })
}

fn of_group(group: &Group) -> Processes<'static> {
    Processes {
        reach: match group.reach {
            Reach::Group => "group",
            Reach::Process => "process",
        }
        .into(),
        id: group.id,
        start: group.start.0,
        session: group.session,
        pid_namespace: group.pid_namespace.0,
    }
}

fn of_end(end: &End) -> Ended<'_> {
    let (exit_code, signal) = match end.outcome {
        Some(Outcome::Exited(code)) => (Some(code), None),
        Some(Outcome::Signaled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    Ended {
        at_ms: end.at.0,
        exit_code,
        signal,
        reason: end.reason.as_deref().map(Cow::Borrowed),
        run_ms: end.run.map(|run| to_ms(run).unsigned_abs()),
        output_bytes: end.output.map(|output| output.bytes),
        truncated: end.output.is_some_and(|output| output.extent == Extent::Truncated),
        expires_ms: match end.expiry {
            Expiry::Never => None,
            Expiry::At(at) => Some(at.0),
        },
        promised: end.promise == Promise::Explicit,
    }
}

/// What it is that no doubletap writes.
pub(crate) type Unreadable = Cow<'static, str>;

/// The attempt that a document is about.
///
/// # Errors
/// What is wrong with it when it is none that a doubletap wrote.
pub(crate) fn read(text: &str) -> Result<Attempt, Unreadable> {
    let document: Document<'_> = serde_json::from_str(text).map_err(|why| why.to_string())?;
    let operation = from_hex(&document.operation).ok_or("unreadable operation")?;
    let holder = document.holder;
    let boot_id = BootId(document.clock.as_deref().unwrap_or(SERVER).into());
    let until = |ms| Until { boot_id: boot_id.clone(), at: BootMs(ms) };
    Ok(Attempt {
        generation: document.generation,
        state: State::parse(&document.state).ok_or("unreadable state")?,
        operation: OperationId(operation),
        number: document.number,
        origin: if document.rerun { Origin::Rerun } else { Origin::Ordinary },
        token: Token::parse(&document.token).ok_or("unreadable token")?,
        fence: Fence(document.fence),
        fingerprint: fingerprint(document.fingerprint)?,
        command: CommandSummary { word: document.command.into_owned(), words: document.words },
        holder: Holder {
            host: holder.host.into_owned(),
            boot_id: BootId((&*holder.boot_id).into()),
            pid: holder.pid,
            start: StartTime(holder.start),
            pid_namespace: PidNamespace(holder.pid_namespace),
        },
        tie: Tie::parse(&document.tie).ok_or("unreadable tie")?,
        parent: document.parent.map(Fence),
        lock_inode: document.lock_inode,
        group: document.group.as_ref().map(group).transpose()?,
        remains: if document.emptied { Remains::None } else { Remains::Possible },
        lease: Duration::from_millis(document.lease_ms),
        until: until(document.until_ms),
        rests_until: document.rests_until_ms.map(until),
        started: WallMs(document.started_ms),
        end: document.end.map(end),
    })
}

fn fingerprint(fields: Vec<(Cow<'_, str>, Cow<'_, str>)>) -> Result<Fingerprint, Unreadable> {
    let fields = fields.into_iter().map(|(name, hex)| {
        let digest = from_hex(&hex).ok_or("unreadable fingerprint")?;
        Ok(Field { name: name.into_owned(), digest })
    });
    fields.collect::<Result<_, Unreadable>>().map(Fingerprint::of)
}

fn group(group: &Processes<'_>) -> Result<Group, Unreadable> {
    Ok(Group {
        reach: match &*group.reach {
            "group" => Reach::Group,
            "process" => Reach::Process,
            _ => return Err("unreadable group".into()),
        },
        id: match group.id {
            // 0 would be our own group, and 1 is the system's.
            number if number > 1 => number,
            _ => return Err("unreadable group".into()),
        },
        start: StartTime(group.start),
        session: group.session,
        pid_namespace: PidNamespace(group.pid_namespace),
    })
}

fn end(end: Ended<'_>) -> End {
    let outcome = match (end.exit_code, end.signal) {
        (Some(code), _) => Some(Outcome::Exited(code)),
        (None, Some(signal)) => Some(Outcome::Signaled(signal)),
        (None, None) => None,
    };
    let extent = if end.truncated { Extent::Truncated } else { Extent::Whole };
    End {
        at: WallMs(end.at_ms),
        outcome,
        reason: end.reason.map(Cow::into_owned),
        run: end.run_ms.map(Duration::from_millis),
        output: end.output_bytes.map(|bytes| OutputSummary { bytes, extent }),
        expiry: end.expires_ms.map_or(Expiry::Never, |at| Expiry::At(WallMs(at))),
        promise: if end.promised { Promise::Explicit } else { Promise::Default },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Attempt {
        Attempt {
            generation: 3,
            state: State::Done,
            operation: OperationId([1; 16]),
            number: 2,
            origin: Origin::Rerun,
            token: Token([0xAB; 16]),
            fence: Fence(1_796_000_000_000),
            fingerprint: Fingerprint::of(vec![Field {
                name: "file:a \"b\" é".into(),
                digest: [0xFE; 32],
            }]),
            command: CommandSummary { word: "./deploy \"it\" 100%".into(), words: 3 },
            holder: Holder {
                host: "host.example".into(),
                boot_id: BootId("b".into()),
                pid: 4_194_304,
                start: StartTime(u64::MAX),
                pid_namespace: PidNamespace(4_026_531_836),
            },
            tie: Tie::Both,
            parent: Some(Fence(17)),
            lock_inode: Some(u64::MAX),
            group: Some(Group {
                reach: Reach::Process,
                id: 2,
                start: StartTime(9),
                session: 1,
                pid_namespace: PidNamespace(1),
            }),
            remains: Remains::None,
            lease: Duration::from_millis(60_001),
            until: Until { boot_id: BootId("c".into()), at: BootMs(5) },
            rests_until: Some(Until { boot_id: BootId("c".into()), at: BootMs(6) }),
            started: WallMs(4),
            end: Some(End {
                at: WallMs(7),
                outcome: Some(Outcome::Signaled(9)),
                reason: Some("it's \u{1b}".into()),
                run: Some(Duration::from_millis(8)),
                output: Some(OutputSummary { bytes: 1 << 40, extent: Extent::Truncated }),
                expiry: Expiry::At(WallMs(i64::MAX)),
                promise: Promise::Explicit,
            }),
        }
    }

    fn plain() -> Attempt {
        Attempt {
            state: State::Running,
            origin: Origin::Ordinary,
            parent: None,
            lock_inode: None,
            group: None,
            remains: Remains::Possible,
            until: Until { boot_id: BootId(SERVER.into()), at: BootMs(5) },
            rests_until: None,
            end: None,
            ..sample()
        }
    }

    #[test]
    fn an_attempt_reads_back_as_it_was_written() {
        for attempt in [sample(), plain()] {
            assert_eq!(read(&write(&attempt).unwrap()).unwrap(), attempt);
        }
    }

    #[test]
    fn a_field_of_a_later_release_is_passed_over() {
        let text = write(&sample()).unwrap().replacen('{', r#"{"later":[{"a":1}],"#, 1);
        assert_eq!(read(&text).unwrap(), sample());
    }

    #[test]
    fn the_first_documents_are_still_read() {
        let text = r#"{"generation":3,"state":"running","operation":"01010101010101010101010101010101","number":2,"token":"abababababababababababababababab","fence":1796000000000,"fingerprint":[["file:a \"b\" é","fefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefe"]],"command":"./deploy \"it\" 100%","words":3,"holder":{"host":"host.example","boot_id":"b","pid":4194304,"start":18446744073709551615,"pid_namespace":4026531836},"tie":"both","lease_ms":60001,"until_ms":5,"started_ms":4}"#;
        assert_eq!(read(text).unwrap(), plain());
    }

    #[test]
    fn what_no_doubletap_wrote_is_damage() {
        let whole = write(&sample()).unwrap();
        for (found, put) in [
            ("\"done\"", "\"gone\""),
            ("\"id\":2", "\"id\":1"),
            ("abab", "xbab"),
            ("\"generation\":3,", ""),
            ("fefe", "fe"),
        ] {
            let damaged = whole.replacen(found, put, 1);
            assert_ne!(damaged, whole, "{found}");
            assert!(read(&damaged).is_err(), "{found}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = read(&text);
        }
    }
}
