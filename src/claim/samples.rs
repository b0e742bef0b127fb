//! Values for unit tests.

use std::time::Duration;

use super::attempt::{Attempt, CommandSummary, End, Origin, Promise, Remains, State};
use super::decide::{LeaseTerms, OnceTerms, Request, Terms};
use super::fence::Fence;
use super::fingerprint::{Field, FieldDigest, Fingerprint};
use super::holder::{Holder, PidNamespace, StartTime, Tie};
use super::id::{OperationId, Token};
use super::key::{Key, Kind, Namespace, Subject};
use super::time::{BootId, BootMs, Expiry, Now, Until, WallMs};

pub(crate) fn now(ms: i64) -> Now {
    Now { wall: WallMs(1_000_000 + ms), boot: BootMs(ms), boot_id: BootId("boot".into()) }
}

pub(crate) fn fingerprint(text: &str) -> Fingerprint {
    let mut digest = FieldDigest::new();
    digest.item(text.as_bytes());
    Fingerprint::of(vec![Field { name: "text".into(), digest: digest.finish() }])
}

pub(crate) fn request(token: u8) -> Request {
    Request {
        subject: Subject {
            kind: Kind::Once,
            namespace: Namespace::new("default").unwrap(),
            key: Key::new("k").unwrap(),
        },
        token: Token([token; 16]),
        new_operation: OperationId([token; 16]),
        fingerprint: fingerprint("a"),
        command: CommandSummary { word: "true".into(), words: 1 },
        lease: Duration::from_secs(60),
        parent: None,
        terms: Terms::Once(OnceTerms::default()),
    }
}

/// A request for one of so many slots, held for so long at least.
pub(crate) fn lease_request(token: u8, slots: u32, min_hold: Duration) -> Request {
    let mut request = request(token);
    request.subject.kind = Kind::Lease;
    request.terms = Terms::Lease(LeaseTerms { slots, min_hold });
    request
}

pub(crate) fn holder() -> Holder {
    Holder {
        host: "host".into(),
        boot_id: BootId("boot".into()),
        pid: 7,
        start: StartTime(1),
        pid_namespace: PidNamespace(1),
    }
}

/// An attempt of generation `generation`, claimed at 0 with a lease of 60 s.
pub(crate) fn attempt(generation: u8, state: State) -> Attempt {
    let end = End {
        at: now(0).wall,
        outcome: None,
        reason: None,
        run: None,
        output: None,
        expiry: Expiry::Never,
        promise: Promise::Default,
    };
    Attempt {
        generation: i64::from(generation),
        state,
        operation: OperationId([generation; 16]),
        number: 1,
        origin: Origin::Ordinary,
        token: Token([generation; 16]),
        fence: Fence(i64::from(generation)),
        fingerprint: fingerprint("a"),
        command: CommandSummary { word: "true".into(), words: 1 },
        holder: holder(),
        tie: Tie::Wrapper,
        parent: None,
        lock_inode: Some(1),
        group: None,
        remains: Remains::Possible,
        lease: Duration::from_secs(60),
        until: Until::after(&now(0), Duration::from_secs(60)),
        rests_until: None,
        started: now(0).wall,
        end: (state != State::Running).then_some(end),
    }
}
