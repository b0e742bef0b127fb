//! `doctor --race N`: the classic experiment, where the store is. So many processes
//! ask for one key at the same moment; then as many look for a file and write it
//! if it is not there. How many of each ran?

use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::claim::id::Token;
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::claim::outcome::Outcome;
use crate::exit;
use crate::place::Place;
use crate::process::herd::{self, Errand, Gathered};
use crate::process::host;
use crate::process::signals::Signals;
use crate::report::checkup::{RaceDocument, race as told};
use crate::store::{Finding, Force, Promised, Sweep, SweepMode, Unlooked};

use super::super::call::environment::STORE;
use super::super::context::{Context, random};

/// What the check is called.
const CHECK: &str = "race";

/// All of it takes no longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What to do about one that did not come to its end.
const SMALLER: &str = "try again, or a smaller --race";

/// What to do about one that was lost.
const ELSEWHERE: &str = "keep the store on a local disk of this machine";

/// The command under doubletap: it leaves a line, and says something that no other
/// run of it would.
const COMMAND: &str = r#"echo ran >>ran; echo "$$ at $(date +%s%N)""#;

/// What is usually written instead, with nothing added to make it fail.
const NAIVE: &str = "test -e marker || { echo ran >>naive; touch marker; }";

/// What became of a race.
pub(super) enum Raced {
    /// It is over.
    Over(Finding, Option<RaceDocument>),
    /// This signal told us to end.
    Told(u8),
}

/// Runs the race. What it has made is gone when this returns.
pub(super) fn run(context: &Context, processes: usize) -> anyhow::Result<Raced> {
    let mut signals = Signals::take_over().context("the signals of this process")?;
    let raced = place(context.place()).map_err(anyhow::Error::from).and_then(|folder| {
        let arena = Arena::of(context.place())?;
        let raced = Ring::new(folder.path(), &arena, processes)?.race(&mut signals);
        arena.leave(context)?;
        raced
    });
    let told = signals.give_back().and_then(|signal| u8::try_from(signal as i32).ok());
    Ok(match (told, raced) {
        (Some(signal), _) => Raced::Told(signal),
        (None, Ok(raced)) => raced,
        (None, Err(why)) => {
            Raced::Over(Finding::bad(CHECK, format!("it could not be run: {why:#}"), SMALLER), None)
        }
    })
}

/// A folder of its own beside a store that is a file, where that can be, and not as root in
/// another user's folder; else where temporary files are.
fn place(store: &Place) -> io::Result<TempDir> {
    let mut named = tempfile::Builder::new();
    named.prefix(".doubletap-race-");
    let made = match store.file().and_then(Path::parent) {
        Some(folder) if folder.is_dir() && !host::is_guest_of(folder) => {
            // One that cannot be written has a finding of its own.
            named.tempdir_in(folder).or_else(|_| named.tempdir())
        }
        _ => named.tempdir(),
    }?;
    // Whatever the umask.
    fs::set_permissions(made.path(), Permissions::from_mode(0o700))?;
    Ok(made)
}

/// The store of the race: a file in its folder, or a namespace of its own on a server.
enum Arena {
    File,
    Server(Namespace, OsString),
}

impl Arena {
    fn of(place: &Place) -> anyhow::Result<Self> {
        Ok(match place {
            Place::File(_) => Self::File,
            Place::Server(_) => {
                let own = Namespace::new(&format!("doubletap-race-{}", Token(random()?)))?;
                Self::Server(own, place.secret().to_owned())
            }
        })
    }

    /// What a call is told of it: not the name of a server, which others could see.
    fn words(&self) -> [&str; 2] {
        match self {
            Self::File => ["--store", "race.db"],
            Self::Server(own, _) => ["--namespace", own.as_str()],
        }
    }

    fn variable(&self) -> Option<(OsString, OsString)> {
        match self {
            Self::File => None,
            Self::Server(_, store) => Some((STORE.into(), store.clone())),
        }
    }

    /// Removes what the race has left on a server; a file goes with its folder.
    fn leave(self, context: &Context) -> anyhow::Result<()> {
        let Self::Server(own, _) = self else { return Ok(()) };
        let sweep = Sweep {
            namespace: Some(own.clone()),
            older_than: Duration::ZERO,
            promised: Promised::Included,
            unlooked: Unlooked::Included,
            mode: SweepMode::Remove,
        };
        let key = Key::new("race")?;
        let subject = Subject { kind: Kind::Once, namespace: own, key };
        let mut store = context.open_to_write()?;
        // Whoever was ended in mid-race has left a claim.
        let _ = store.forget(&subject, Force::Yes, &mut context.witness())?;
        // What was forgotten in this very millisecond is not older than no time at all yet.
        for _ in 0..100 {
            store.sweep(&sweep, &mut |_| ())?;
            if store.chain(&subject)?.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Where it takes place.
struct Ring<'a> {
    folder: &'a Path,
    environment: Vec<(OsString, OsString)>,
    once: Vec<OsString>,
    processes: usize,
    began: Instant,
}

impl<'a> Ring<'a> {
    fn new(folder: &'a Path, arena: &Arena, processes: usize) -> anyhow::Result<Self> {
        let program = env::current_exe().context("this program cannot be found again")?;
        let mut once = vec![program.into_os_string()];
        once.extend(["once", "race", "--quiet"].map(OsString::from));
        once.extend(arena.words().map(OsString::from));
        once.extend(["--", "/bin/sh", "-c", COMMAND].map(OsString::from));
        // Neither our options nor a claim above us are theirs.
        let ours = |name: &OsString| name.as_encoded_bytes().starts_with(b"DOUBLETAP_");
        let others = env::vars_os().filter(|(name, _)| !ours(name));
        let environment = others.chain(arena.variable()).collect();
        Ok(Self { folder, environment, once, processes, began: Instant::now() })
    }

    fn race(&self, signals: &mut Signals) -> anyhow::Result<Raced> {
        let naive = ["/bin/sh", "-c", NAIVE].map(OsString::from);
        let once = match self.herd("once", &self.once, self.processes, signals)? {
            Ok(ends) => ends,
            Err(raced) => return Ok(raced),
        };
        let again = match self.herd("again", &self.once, 1, signals)? {
            Ok(ends) => ends,
            Err(raced) => return Ok(raced),
        };
        if let Err(raced) = self.herd("naive", &naive, self.processes, signals)? {
            return Ok(raced);
        }
        let count = |outcome| once.iter().filter(|end| **end == Outcome::Exited(outcome)).count();
        let ran = self.lines("ran");
        let document = RaceDocument {
            processes: self.processes,
            folder: self.folder.parent().unwrap_or(self.folder).display().to_string(),
            doubletap_ran: ran,
            doubletap_replayed: count(0).saturating_sub(ran),
            doubletap_busy: count(exit::BUSY),
            replay_is_exact: self.all_said_the_same(&once, &again),
            naive: NAIVE,
            naive_ran: self.lines("naive"),
        };
        Ok(Raced::Over(self.judge(&document, &once), Some(document)))
    }

    /// How each member of a herd ended; or, if they did not, what comes of that.
    fn herd(
        &self,
        name: &str,
        argv: &[OsString],
        number: usize,
        signals: &mut Signals,
    ) -> io::Result<Result<Vec<Outcome>, Raced>> {
        let environment = &*self.environment;
        let errand = Errand { argv, environment, folder: self.folder, name };
        Ok(match herd::run(&errand, number, self.began + LIMIT, signals)? {
            Gathered::All(ends) => Ok(ends),
            Gathered::Told(signal) => {
                Err(Raced::Told(u8::try_from(signal as i32).unwrap_or(u8::MAX)))
            }
            Gathered::TooLong => {
                let limit = LIMIT.as_secs();
                let found = format!("the processes ({name}) had not ended after {limit}s");
                Err(Raced::Over(Finding::bad(CHECK, found, SMALLER), None))
            }
        })
    }

    fn judge(&self, document: &RaceDocument, ends: &[Outcome]) -> Finding {
        let told = told(document, self.began.elapsed());
        let expected = [Outcome::Exited(0), Outcome::Exited(exit::BUSY)];
        if let Some(at) = ends.iter().position(|end| !expected.contains(end)) {
            let why = self.said(&format!("once-{at}.err"));
            let line = String::from_utf8_lossy(&why).lines().next().unwrap_or("").to_owned();
            let found = format!("{told}; one ended with {}: {line}", ends[at]);
            return Finding::bad(CHECK, found, "what it said names the remedy");
        }
        if document.doubletap_ran != 1 {
            let found = format!("{told}; exactly one must");
            return Finding::bad(CHECK, found, ELSEWHERE);
        }
        if !document.replay_is_exact {
            let found = format!("{told}; a replay gave other bytes than the run");
            return Finding::bad(CHECK, found, ELSEWHERE);
        }
        Finding::ok(CHECK, told)
    }

    /// Whether a call afterwards, and all that ended well, said what the command did.
    fn all_said_the_same(&self, ends: &[Outcome], again: &[Outcome]) -> bool {
        let said = self.said("again-0.out");
        let ended_well = (0..).zip(ends).filter(|(_, end)| **end == Outcome::Exited(0));
        again == [Outcome::Exited(0)]
            && !said.is_empty()
            && ended_well.into_iter().all(|(at, _)| self.said(&format!("once-{at}.out")) == said)
    }

    /// What is in a file; nothing if it is not there.
    fn said(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap_or_default()
    }

    fn lines(&self, name: &str) -> usize {
        self.said(name).split(|byte| *byte == b'\n').skip(1).count()
    }
}
