//! Callers of a store on a server, and what they ask for.

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use doubletap::claim::attempt::{Attempt, CommandSummary, Promise};
use doubletap::claim::decide::{LeaseTerms, OnceTerms, Request, Terms};
use doubletap::claim::fingerprint::Fingerprint;
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Claimant, Holder, PidNamespace, StartTime, Tie};
use doubletap::claim::id::{OperationId, Token};
use doubletap::claim::key::{Key, Kind, Namespace, Subject};
use doubletap::claim::outcome::Outcome;
use doubletap::claim::time::BootId;
use doubletap::place::{self, Url};
use doubletap::store::chained::ChainStore;
use doubletap::store::lease_alone::LeaseAlone;
use doubletap::store::postgres::PostgresShelf;
use doubletap::store::setup::Setup;
use doubletap::store::shelf::{Changes, Durability, Shelf, Wanted};
use doubletap::store::{
    Answer, Completion, Frames, Keep, KeepUntil, Output, Store, StoreError, Verdict,
};

use crate::support::servers::Postgres;

/// How long a call may take that nothing is in the way of.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A lease, unless a sentence says otherwise.
pub(super) const LEASE: Duration = Duration::from_secs(60);

pub(super) fn address(url: &str) -> Url {
    place::url(url).unwrap().unwrap()
}

/// No variable is set.
pub(super) fn nothing(_: &str) -> Option<OsString> {
    None
}

/// Opens a store, whose tables are made if they are not there.
#[track_caller]
pub(super) fn shelf(url: &str, limit: Duration) -> PostgresShelf {
    PostgresShelf::open(&address(url), limit, Setup::Automatic, &nothing).unwrap()
}

/// The same, with the rules of a store.
#[track_caller]
pub(super) fn store(url: &str, limit: Duration) -> ChainStore<PostgresShelf> {
    ChainStore::over(shelf(url, limit), limit)
}

/// An empty store on the server that all share.
#[track_caller]
pub(super) fn fresh() -> String {
    let url = Postgres::shared().database();
    drop(shelf(&url, LIMIT));
    url
}

/// The database that a URL names.
pub(super) fn database(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

pub(super) fn subject(kind: Kind, key: &str) -> Subject {
    let namespace = Namespace::new("default").unwrap();
    Subject { kind, namespace, key: Key::new(key).unwrap() }
}

/// A request to run `key` once, with a token like no other number's.
pub(super) fn request(key: &str, number: u8) -> Request {
    Request {
        subject: subject(Kind::Once, key),
        token: Token([number; 16]),
        new_operation: OperationId([!number; 16]),
        fingerprint: Fingerprint::of(Vec::new()),
        command: CommandSummary { word: "true".into(), words: 1 },
        lease: LEASE,
        parent: None,
        terms: Terms::Once(OnceTerms::default()),
    }
}

/// A request for a lease of `name`.
pub(super) fn lease(name: &str, number: u8, length: Duration) -> Request {
    let terms = LeaseTerms { slots: 1, min_hold: Duration::ZERO };
    let subject = subject(Kind::Lease, name);
    Request { subject, lease: length, terms: Terms::Lease(terms), ..request(name, number) }
}

pub(super) fn claimant() -> Claimant {
    let holder = Holder {
        host: "host.example".into(),
        boot_id: BootId("boot".into()),
        pid: 4242,
        start: StartTime(1),
        pid_namespace: PidNamespace(1),
    };
    Claimant { holder, tie: Tie::Wrapper, group: None }
}

pub(super) fn claim(
    store: &mut ChainStore<PostgresShelf>,
    request: &Request,
) -> Result<Answer, StoreError> {
    store.claim(request, &claimant(), &mut LeaseAlone)
}

#[track_caller]
pub(super) fn won(store: &mut ChainStore<PostgresShelf>, request: &Request) -> Claim {
    match claim(store, request).unwrap() {
        Answer::Won(claim) => claim,
        Answer::Not(why) => panic!("{} was not won: {why:?}", request.subject.key),
    }
}

/// A success, recorded for ever.
pub(super) fn recorded() -> Completion {
    let keep = Keep { until: KeepUntil::Pruned, promise: Promise::Default };
    Completion {
        verdict: Verdict::Recorded { keep },
        outcome: Some(Outcome::Exited(0)),
        reason: None,
        run: Some(Duration::from_secs(1)),
        output: None,
    }
}

/// A failure, after which the next call may run at once.
pub(super) fn failed() -> Completion {
    let outcome = Some(Outcome::Exited(3));
    Completion { verdict: Verdict::Failed { rest: None }, outcome, ..recorded() }
}

/// The same end with output.
pub(super) fn with_output(frames: Frames, completion: Completion) -> Completion {
    use doubletap::claim::attempt::{Extent, OutputSummary};
    let summary = OutputSummary { bytes: frames.length(), extent: Extent::Whole };
    Completion { output: Some(Output { frames, summary, draft: None }), ..completion }
}

/// Somebody in the middle of a change to a chain, who has its lock.
pub(super) struct InMidChange {
    go: Sender<()>,
    done: thread::JoinHandle<Result<(), StoreError>>,
}

/// Begins to change a chain by what `change` makes of its attempts, and stops before
/// anything is written.
pub(super) fn in_mid_change(
    url: &str,
    limit: Duration,
    subject: &Subject,
    change: impl Fn(&[Attempt]) -> Changes + Send + 'static,
) -> InMidChange {
    let (mut shelf, subject) = (shelf(url, limit), subject.clone());
    let (go, may_go): (_, Receiver<()>) = channel();
    let (here, is_here) = channel();
    let done = thread::spawn(move || {
        shelf.change(Wanted::of(&subject), Durability::Power, &mut |page, _| {
            here.send(()).unwrap();
            let _ = may_go.recv();
            Ok(change(&page.attempts))
        })
    });
    is_here.recv().unwrap();
    InMidChange { go, done }
}

impl InMidChange {
    /// Goes on to the end.
    pub(super) fn finish(self) -> Result<(), StoreError> {
        drop(self.go);
        self.done.join().unwrap()
    }
}

/// How many wait for the lock of a chain in a database.
pub(super) fn waiting(server: &Postgres, url: &str) -> usize {
    let database = database(url);
    let text = format!(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE locktype = 'advisory' AND NOT granted AND datname = '{database}'"
    );
    server.sql("postgres", &text).trim().parse().unwrap()
}
