//! `doctor`: looks at the store, at what is on record in it and at the machine, and
//! says what is wrong and what to type. It changes nothing; `--race` makes a folder
//! of its own for as long as it takes.

mod race;

use std::path::Path;
use std::time::Duration;

use crate::claim::attempt::State;
use crate::claim::duration::for_people;
use crate::claim::key::Namespace;
use crate::claim::standing::Standing;
use crate::claim::time::{Clock as _, Now, WallMs};
use crate::cli::DoctorArgs;
use crate::exit::{self, Ending};
use crate::place::Place;
use crate::process::clock;
use crate::process::live::{Trial, try_locks};
use crate::report::checkup;
use crate::store::sqlite::examine_place;
use crate::store::{Finding, Grade, Store, StoreError};

use super::context::{Context, form, print_answer, print_document};
use race::Raced;

/// What a stale holder is reported as.
const HOLDER: &str = "holder";

/// How far clocks may be apart unnoticed.
const SKEW: Duration = Duration::from_secs(1);

/// The shortest time that is told.
const MILLISECOND: Duration = Duration::from_millis(1);

/// So many stale holders are told of one by one.
const TOLD: usize = 10;

/// Examines the store; with a race, that too.
pub(super) fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<Ending> {
    let mut findings = context.place().file().map_or_else(Vec::new, examine_place);
    let inside = look_inside(context, &findings);
    findings.extend(inside);
    findings.extend(machine(context));
    let mut document = None;
    if let Some(processes) = args.race {
        match race::run(context, processes.into())? {
            Raced::Told(signal) => return Ok(Ending::Signal(signal)),
            Raced::Over(finding, numbers) => {
                findings.push(finding);
                document = numbers;
            }
        }
    }
    let ending = match checkup::worst(&findings) {
        Grade::Ok | Grade::Note => Ending::OK,
        Grade::Bad => Ending::Status(exit::UNSOUND),
    };
    let printed = if args.json {
        print_document(&checkup::document(&findings, document))
    } else {
        print_answer(&checkup::table(&findings, form()))
    };
    printed.map(|_| ending)
}

/// What a store that can be opened says of itself, and why another cannot.
fn look_inside(context: &Context, so_far: &[Finding]) -> Vec<Finding> {
    let mut store = match context.open_to_examine() {
        Ok(Some(store)) => store,
        Ok(None) if context.place().file().is_some_and(Path::exists) => {
            let found = "it is empty, and the first call makes a store of it";
            let remedy = format!("doubletap once KEY{} -- COMMAND", context.store_option());
            return vec![Finding::note("schema", found, remedy)];
        }
        Ok(None) => return Vec::new(),
        // A place that is refused has said so.
        Err(why) if so_far.iter().any(|finding| finding.found == why.what()) => return Vec::new(),
        Err(why) => return vec![Finding::of_error("opening", &why)],
    };
    let mut findings = store.examine();
    if let Place::Server(_) = context.place() {
        findings.push(clocks(context, &mut *store));
    }
    match stale_holders(context, &mut *store) {
        Ok(stale) => findings.extend(stale),
        Err(why) => findings.push(Finding::of_error(HOLDER, &why)),
    }
    findings
}

/// The holders of whom nothing more is to be expected.
fn stale_holders(context: &Context, store: &mut dyn Store) -> Result<Vec<Finding>, StoreError> {
    let now = store.now()?;
    let mut stale = Vec::new();
    let (mut running, mut untold) = (0_usize, 0_usize);
    let named = context.named_namespace();
    let is_wanted = |namespace: &Namespace| named.is_none_or(|named| named == namespace);
    for (subject, attempt) in store.unended()? {
        if !is_wanted(&subject.namespace) {
            continue;
        }
        // It may have ended meanwhile, and been removed.
        let seen = context.seen_alone(store, (&subject, attempt))?;
        let Some(seen) = seen.filter(|seen| seen.attempt.state == State::Running) else { continue };
        let standing = Standing::of_attempt(&seen, subject.kind, &now);
        if standing == Standing::Expired {
            // A name whose time is over, which is what its time is for: whoever asks has it.
            continue;
        }
        let options = context.options_for(&subject);
        match context.topic_with(&subject, &options).stale(HOLDER, &seen, standing) {
            None => running += 1,
            Some(_) if stale.len() == TOLD => untold += 1,
            Some(finding) => stale.push(finding),
        }
    }
    if untold > 0 {
        let states = "--state interrupted --state orphaned";
        let remedy = format!("doubletap list {states}{}", context.store_option());
        stale.push(Finding::note(HOLDER, format!("and {untold} more like these"), remedy));
    }
    if stale.is_empty() {
        let found = format!("{running} running or held, and none whose holder is gone");
        stale.push(Finding::ok(HOLDER, found));
    }
    Ok(stale)
}

/// How far the store's clock is from ours.
fn clocks(context: &Context, store: &mut dyn Store) -> Finding {
    let check = "clock";
    let before = context.clock.now().wall;
    let there = match store.now() {
        Ok(now) => now.wall,
        Err(why) => return Finding::of_error(check, &why),
    };
    let after = context.clock.now().wall;
    // The store read its clock in between: in the middle, as far as anybody knows.
    let here = WallMs(before.0.midpoint(after.0));
    let (ahead, behind) = (here.age(there), there.age(here));
    let skew = ahead.max(behind);
    if skew <= SKEW {
        let found = format!("within {} of the store's", for_people(skew.max(MILLISECOND)));
        return Finding::ok(check, found);
    }
    let side = if ahead > behind { "behind" } else { "ahead of" };
    let found = format!(
        "that of this host is {} {side} the store's, by which claims and records count; only what starts by the clocks of several hosts suffers",
        for_people(skew)
    );
    let remedy = "set the clocks by NTP; where they differ, a lease with a longer --min-hold, or once --per, keeps a second host from running again";
    Finding::note(check, found, remedy)
}

/// What a store needs of the machine.
fn machine(context: &Context) -> Vec<Finding> {
    let now = context.clock.now();
    let mut findings: Vec<_> = context.witness().lock_file().map(locks).into_iter().collect();
    findings.extend([boot_id(&now), boot_clock(&now)]);
    findings
}

fn locks(file: &Path) -> Finding {
    let check = "locks";
    let elsewhere = "name a local file with --store";
    match try_locks(file) {
        Ok(Trial::Seen) => Finding::ok(check, "the kernel shows who lives"),
        Ok(Trial::NoFile) => Finding::ok(check, "not tried: no claim has made the lock file yet"),
        Ok(Trial::Unsupported) => Finding::note(
            check,
            "there are none of open file descriptions here: a holder that died is seen when its lease ends",
            elsewhere,
        ),
        Ok(Trial::Unseen) => {
            Finding::bad(check, "a lock that is held is not seen by others", elsewhere)
        }
        Err(why) => {
            let found = format!("{} cannot be tried: {why}", file.display());
            Finding::bad(check, found, elsewhere)
        }
    }
}

fn boot_id(now: &Now) -> Finding {
    if now.boot_id.0.is_empty() {
        let found = "it cannot be read, so a restart of the machine is not noticed";
        return Finding::bad("boot id", found, "mount -t proc proc /proc");
    }
    Finding::ok("boot id", now.boot_id.to_string())
}

fn boot_clock(now: &Now) -> Finding {
    if clock::counts_asleep() {
        let up = for_people(Duration::from_millis(now.boot.0.unsigned_abs()));
        return Finding::ok("boot clock", format!("CLOCK_BOOTTIME, {up} since the start"));
    }
    let found = "there is no CLOCK_BOOTTIME: leases stand still while the machine sleeps";
    Finding::note("boot clock", found, "keep the machine awake while commands run")
}
