//! One store with a clock and a witness, and the steps that sentences are made
//! of. A claim can only be had by winning it.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use doubletap::claim::attempt::{Attempt, CommandSummary};
use doubletap::claim::decide::{Decision, OnceTerms, Request, Rerun, Terms};
use doubletap::claim::fence::Fence;
use doubletap::claim::fingerprint::{Field, Fingerprint};
use doubletap::claim::held::Claim;
use doubletap::claim::holder::{Claimant, Group, Holder, Life, PidNamespace, StartTime, Tie};
use doubletap::claim::id::{OperationId, Token};
use doubletap::claim::key::{Key, Kind, Namespace, Subject};
use doubletap::claim::outcome::Outcome;
use doubletap::claim::time::Clock as _;
use doubletap::store::memory::MemoryStore;
#[cfg(any(feature = "postgres", feature = "redis"))]
use doubletap::store::setup::Setup;
use doubletap::store::sqlite::{Access, SqliteStore};
use doubletap::store::{
    Answer, Completion, Dropped, Force, Frames, Owned, Promised, Store, Sweep, SweepMode, Swept,
    Unlooked,
};
use tempfile::TempDir;

#[cfg(feature = "postgres")]
use crate::support::servers::Postgres;
#[cfg(feature = "redis")]
use crate::support::servers::{Persistence, Redis};
#[cfg(feature = "postgres")]
use doubletap::store::postgres::PostgresShelf;
#[cfg(feature = "redis")]
use doubletap::store::redis::{self, RedisShelf};
#[cfg(any(feature = "postgres", feature = "redis"))]
use doubletap::{place, store::chained::ChainStore};
#[cfg(feature = "redis")]
use std::sync::OnceLock;

use super::completion::{failed, recorded, with_output};
use super::people::{ManualClock, Witness};

/// The lease of every claim, unless a sentence says otherwise.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// The smallest step of a clock.
pub(super) const MS: Duration = Duration::from_millis(1);

/// A long while after everything else.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The last instant before a span is over.
pub(super) fn almost(span: Duration) -> Duration {
    span.checked_sub(MS).unwrap()
}

/// How a kind of store is made anew.
type Maker = fn(&Arc<ManualClock>) -> (Box<dyn Store>, Option<TempDir>);

/// One store and what surrounds it.
pub(super) struct Stage {
    pub(super) store: Box<dyn Store>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) witness: Witness,
    make: Maker,
    drawn: u32,
    folder: Option<TempDir>,
}

impl Stage {
    /// A stage with a [`MemoryStore`].
    pub(super) fn memory() -> Self {
        Self::with(|clock| (Box::new(MemoryStore::new(clock.clone())), None))
    }

    /// A stage with a [`SqliteStore`] in a folder of its own.
    pub(super) fn sqlite() -> Self {
        Self::with(|clock| {
            let folder = TempDir::with_prefix("doubletap-").unwrap();
            (Box::new(open(&folder.path().join("store.db"), LEASE, clock)), Some(folder))
        })
    }

    /// A stage with a store in a schema of its own on a PostgreSQL server.
    #[cfg(feature = "postgres")]
    pub(super) fn postgres() -> Self {
        Self::with(|clock| {
            let url = place::url(&Postgres::shared().fresh()).unwrap().unwrap();
            let setup = Setup::Automatic;
            let shelf = PostgresShelf::open(&url, LEASE, setup, &|_| None).unwrap();
            (Box::new(ChainStore::over(shelf, LEASE).by(clock.clone())), None)
        })
    }

    /// A stage with a store of its own on a Redis server that promises all it can.
    #[cfg(feature = "redis")]
    pub(super) fn redis() -> Self {
        Self::with(|clock| {
            static SERVER: OnceLock<Redis> = OnceLock::new();
            let server = SERVER.get_or_init(|| Redis::start(Persistence::EveryWrite));
            let url = place::url(&server.fresh()).unwrap().unwrap();
            let terms = redis::Terms { setup: Setup::Automatic, acknowledgements: 0 };
            let shelf = RedisShelf::open(&url, LEASE, terms, &|_| None).unwrap();
            (Box::new(ChainStore::over(shelf, LEASE).by(clock.clone())), None)
        })
    }

    fn with(make: Maker) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (store, folder) = make(&clock);
        Self { store, clock, witness: Witness::new(), make, drawn: 0, folder }
    }

    /// Deletes the store and makes another in its place.
    pub(super) fn delete_store(&mut self) {
        (self.store, self.folder) = (self.make)(&self.clock);
    }

    /// The recorded frames of an attempt.
    pub(super) fn output(&mut self, fence: Fence) -> Option<Vec<u8>> {
        output_in(&mut *self.store, fence)
    }

    /// The file of the store, for a store that is a file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("store.db")
    }

    /// A request for `key` with a token of its own.
    pub(super) fn request(&mut self, key: &str) -> Request {
        self.drawn += 1;
        request(key, self.drawn)
    }

    /// A request for `key` on these terms.
    pub(super) fn request_with(&mut self, key: &str, terms: OnceTerms) -> Request {
        Request { terms: Terms::Once(terms), ..self.request(key) }
    }

    /// The claiming step.
    pub(super) fn claim(&mut self, request: &Request) -> Answer {
        self.store.claim(request, &claimant(&self.clock), &mut self.witness).unwrap()
    }

    /// A claim that must be won.
    #[track_caller]
    pub(super) fn win(&mut self, request: &Request) -> Claim {
        match self.claim(request) {
            Answer::Won(claim) => claim,
            Answer::Not(why) => panic!("{} was not won: {why:?}", request.subject.key),
        }
    }

    /// A claim that must not be won.
    #[track_caller]
    pub(super) fn refusal(&mut self, request: &Request) -> Decision {
        match self.claim(request) {
            Answer::Won(claim) => panic!("{} was won: {claim:?}", request.subject.key),
            Answer::Not(why) => *why,
        }
    }

    /// Wins `key`.
    #[track_caller]
    pub(super) fn won(&mut self, key: &str) -> Claim {
        let request = self.request(key);
        self.win(&request)
    }

    /// Wins `key` for a command that is this.
    pub(super) fn won_with(&mut self, key: &str, group: Group) -> Claim {
        let request = self.request(key);
        let claimant = Claimant { group: Some(group), ..claimant(&self.clock) };
        match self.store.claim(&request, &claimant, &mut self.witness).unwrap() {
            Answer::Won(claim) => claim,
            Answer::Not(why) => panic!("{key} was not won: {why:?}"),
        }
    }

    /// Wins what is asked for, for a script: the claim hangs on this.
    #[track_caller]
    pub(super) fn win_tied(&mut self, request: &Request, tie: Tie) -> Claim {
        let claimant = Claimant { tie, ..claimant(&self.clock) };
        match self.store.claim(request, &claimant, &mut self.witness).unwrap() {
            Answer::Won(claim) => claim,
            Answer::Not(why) => panic!("{} was not won: {why:?}", request.subject.key),
        }
    }

    /// Wins `key` for a script of whom this is known.
    #[track_caller]
    pub(super) fn begun(&mut self, key: &str, tie: Tie, life: Life) -> Claim {
        let request = self.request(key);
        let claim = self.win_tied(&request, tie);
        self.witness.says(claim.attempt().fence, life);
        claim
    }

    /// A request for the step of this name of the attempt that a claim is.
    pub(super) fn step(&mut self, of: &Claim, name: &str) -> Request {
        let subject = step_of(of, name);
        Request { subject, parent: Some(of.ownership()), ..self.request(name) }
    }

    /// Runs a step, whose output is its name, to this end.
    #[track_caller]
    pub(super) fn stepped(&mut self, of: &Claim, name: &str, completion: Completion) -> Attempt {
        let request = self.step(of, name);
        let claim = self.win(&request);
        let subject = claim.subject().clone();
        self.complete(claim, &with_output(name.as_bytes(), completion));
        self.store.chain(&subject).unwrap().remove(0)
    }

    /// Wins `key` for a `--rerun`.
    #[track_caller]
    pub(super) fn won_again(&mut self, key: &str) -> Claim {
        let request =
            self.request_with(key, OnceTerms { rerun: Rerun::Yes, ..OnceTerms::default() });
        self.win(&request)
    }

    /// Looks at `key`.
    pub(super) fn look(&mut self, key: &str) -> Decision {
        let request = self.request(key);
        self.store.look(&request, &mut self.witness).unwrap()
    }

    /// Looks at `key` and finds its record.
    #[track_caller]
    pub(super) fn replay(&mut self, key: &str) -> Attempt {
        match self.look(key) {
            Decision::Replay(attempt) => attempt,
            other => panic!("{key} is not replayed: {other:?}"),
        }
    }

    /// Spends a claim, which must still be its owner's.
    #[track_caller]
    pub(super) fn complete(&mut self, claim: Claim, completion: &Completion) {
        assert_eq!(self.store.complete(claim, completion).unwrap(), Owned::Yes);
    }

    /// Wins `key` and records a success; the attempt's own row is given back.
    #[track_caller]
    pub(super) fn done(&mut self, key: &str) -> Attempt {
        let claim = self.won(key);
        self.complete(claim, &recorded());
        self.newest(key)
    }

    /// Wins `key` and fails.
    #[track_caller]
    pub(super) fn failed(&mut self, key: &str) -> Attempt {
        let claim = self.won(key);
        self.complete(claim, &failed());
        self.newest(key)
    }

    /// Wins `key` and dies, but nobody has noticed yet.
    #[track_caller]
    pub(super) fn died(&mut self, key: &str, life: Life) -> Claim {
        let claim = self.won(key);
        self.witness.says(claim.attempt().fence, life);
        claim
    }

    /// All attempts of `key`, newest first.
    pub(super) fn chain(&mut self, key: &str) -> Vec<Attempt> {
        self.store.chain(&subject(key)).unwrap()
    }

    /// The newest attempt of `key`.
    #[track_caller]
    pub(super) fn newest(&mut self, key: &str) -> Attempt {
        self.chain(key).remove(0)
    }

    /// Forgets `key`.
    pub(super) fn forget(&mut self, key: &str, force: Force) -> Dropped {
        self.store.forget(&subject(key), force, &mut self.witness).unwrap()
    }

    /// Settles `key` with an exit status.
    pub(super) fn settle(&mut self, key: &str, code: u8) -> Dropped {
        let outcome = Outcome::Exited(code);
        self.store.settle(&subject(key), outcome, &mut self.witness).unwrap()
    }

    /// Sweeps.
    pub(super) fn sweep(&mut self, sweep: &Sweep) -> Swept {
        self.store.sweep(sweep, &mut |_| ()).unwrap()
    }

    /// The key of every chain, newest first.
    pub(super) fn keys(&mut self) -> Vec<String> {
        let chains = self.store.chains(None).unwrap();
        chains.iter().map(|chain| chain.subject.key.to_string()).collect()
    }
}

/// A connection of its own to the store in a file.
pub(super) fn open(path: &Path, timeout: Duration, clock: &Arc<ManualClock>) -> SqliteStore {
    SqliteStore::open(path, Access::Write, timeout, clock.clone()).unwrap().unwrap()
}

/// A request for `key` whose token is made from a number.
pub(crate) fn request(key: &str, number: u32) -> Request {
    let mut random = [7; 16];
    random[..4].copy_from_slice(&number.to_le_bytes());
    Request {
        subject: subject(key),
        token: Token(random),
        new_operation: OperationId(random.map(|byte| !byte)),
        fingerprint: fingerprint(1),
        command: CommandSummary { word: "./deploy \"it\" 100%".into(), words: 3 },
        lease: LEASE,
        parent: None,
        terms: Terms::Once(OnceTerms::default()),
    }
}

/// A fingerprint like no other number's.
pub(super) fn fingerprint(number: u8) -> Fingerprint {
    Fingerprint::of(vec![
        Field { name: "argv".into(), digest: [number; 32] },
        Field { name: "file:a \"b\" é".into(), digest: [0xFE; 32] },
    ])
}

/// Who claims, on the machine that the clock belongs to.
pub(super) fn claimant(clock: &ManualClock) -> Claimant {
    let holder = Holder {
        host: "host.example".into(),
        boot_id: clock.now().boot_id,
        pid: 4_194_304,
        start: StartTime(u64::MAX),
        pid_namespace: PidNamespace(4_026_531_836),
    };
    Claimant { holder, tie: Tie::Wrapper, group: None }
}

/// The chain of `key` in the usual namespace.
pub(crate) fn subject(key: &str) -> Subject {
    subject_in("default", key)
}

/// The chain of `key` in `namespace`.
pub(crate) fn subject_in(namespace: &str, key: &str) -> Subject {
    Subject {
        kind: Kind::Once,
        namespace: Namespace::new(namespace).unwrap(),
        key: Key::new(key).unwrap(),
    }
}

/// The step of this name of the operation that a claim is an attempt of.
pub(super) fn step_of(claim: &Claim, name: &str) -> Subject {
    Subject::step(claim.attempt().operation, Key::new(name).unwrap())
}

/// A sweep of everything that ended longer ago than `older_than`, with what is
/// promised and what nobody has looked for spared.
pub(crate) fn older_than(older_than: Duration) -> Sweep {
    let (promised, unlooked) = (Promised::Spared, Unlooked::Spared);
    Sweep { namespace: None, older_than, promised, unlooked, mode: SweepMode::Remove }
}

/// The recorded frames of an attempt.
pub(crate) fn output_in(store: &mut dyn Store, fence: Fence) -> Option<Vec<u8>> {
    store.output(fence).unwrap().map(|frames| match frames {
        Frames::Bytes(bytes) => bytes,
        Frames::File(file, length) => {
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes
        }
    })
}
