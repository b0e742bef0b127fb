//! The settings that are explored. Each is small, and together they have everything:
//! what is not in one of them is another's subject.

use doubletap::claim::decide::{LeaseTerms, OnCrash, OnceTerms, Terms};

use super::kernel::Knows;
use super::setting::{Setting, ticks};
use super::world::Budget;

const NOTHING: Budget = Budget {
    ticks: 0,
    crashes: 0,
    losses: 0,
    stalls: 0,
    failures: 0,
    forgets: 0,
    settles: 0,
    prunes: 0,
};

fn once(on_crash: OnCrash) -> Terms {
    Terms::Once(OnceTerms { on_crash, ..OnceTerms::default() })
}

fn lease(slots: u32, min_hold: u8) -> Terms {
    Terms::Lease(LeaseTerms { slots, min_hold: ticks(min_hold) })
}

/// To run once, and to run again after a crash; a record expires.
pub(super) fn rerun() -> Setting {
    let budget = Budget { ticks: 1, crashes: 1, losses: 1, failures: 1, ..NOTHING };
    let setting = Setting::new(once(OnCrash::Rerun), Knows::Lives, 1, [2, 1, 1], budget);
    Setting { keep: Some(1), ..setting }
}

/// The same with more of everything.
pub(super) fn rerun_for_long() -> Setting {
    let budget = Budget { ticks: 1, crashes: 2, losses: 1, failures: 1, ..NOTHING };
    Setting { calls: [2, 2, 1], budget, ..rerun() }
}

/// To run once, where who comes to a held key waits for its end.
pub(super) fn waiting() -> Setting {
    let budget = Budget { crashes: 1, losses: 1, failures: 1, ..NOTHING };
    let setting = Setting::new(once(OnCrash::Rerun), Knows::Lives, 1, [2, 1, 1], budget);
    Setting { waits: true, ..setting }
}

/// The same with more of everything.
pub(super) fn waiting_for_long() -> Setting {
    let budget = Budget { crashes: 1, losses: 1, failures: 1, forgets: 1, ..NOTHING };
    Setting { budget, ..waiting() }
}

/// To wait as well, where a record may have expired when a waiter looks again.
pub(super) fn waiting_too_long() -> Setting {
    let budget = Budget { ticks: 1, crashes: 1, failures: 1, ..NOTHING };
    Setting { calls: [2, 1, 0], keep: Some(1), budget, ..waiting() }
}

/// To run once, where a record lasts for ever.
pub(super) fn kept() -> Setting {
    Setting { keep: None, ..rerun() }
}

/// To run once, with nothing but crashes.
pub(super) fn crashing() -> Setting {
    Setting { calls: [2, 1, 0], budget: Budget { crashes: 1, ..NOTHING }, ..kept() }
}

/// To run once, and to stop after a crash until a person settles or forgets the key.
pub(super) fn stop() -> Setting {
    let budget = Budget { crashes: 1, losses: 1, settles: 1, forgets: 1, ..NOTHING };
    Setting::new(once(OnCrash::Stop), Knows::Lives, 1, [2, 1, 1], budget)
}

/// The same with more of everything.
pub(super) fn stop_for_long() -> Setting {
    let budget = Budget { crashes: 2, losses: 1, settles: 1, forgets: 1, failures: 1, ..NOTHING };
    Setting { calls: [2, 2, 1], budget, ..stop() }
}

/// To run once, where nobody can say who lives: the lease decides.
pub(super) fn elsewhere() -> Setting {
    let budget = Budget { ticks: 4, crashes: 1, stalls: 1, ..NOTHING };
    let setting = Setting::new(once(OnCrash::Rerun), Knows::Nothing, 2, [1, 1, 1], budget);
    Setting { keep: Some(1), ..setting }
}

/// The same, where messages are lost too.
pub(super) fn far_away() -> Setting {
    let budget = Budget { ticks: 4, losses: 1, stalls: 1, ..NOTHING };
    Setting { calls: [1, 1, 0], budget, ..elsewhere() }
}

/// The same with more of everything.
pub(super) fn elsewhere_for_long() -> Setting {
    let budget = Budget { ticks: 4, crashes: 1, losses: 1, stalls: 1, ..NOTHING };
    Setting { budget, ..elsewhere() }
}

/// To hold a name alone.
pub(super) fn one_slot() -> Setting {
    let budget = Budget { ticks: 2, crashes: 1, losses: 1, stalls: 1, ..NOTHING };
    Setting::new(lease(1, 0), Knows::Lives, 2, [1, 1, 1], budget)
}

/// To hold a name alone, until a person forgets it.
pub(super) fn forgotten_name() -> Setting {
    let budget = Budget { ticks: 3, crashes: 1, stalls: 1, forgets: 1, ..NOTHING };
    Setting { calls: [1, 1, 0], budget, ..one_slot() }
}

/// The same with more of everything.
pub(super) fn one_slot_for_long() -> Setting {
    let budget = Budget { ticks: 2, crashes: 1, losses: 1, stalls: 1, forgets: 1, ..NOTHING };
    Setting { budget, ..one_slot() }
}

/// For two to hold a name, and to keep it for a while.
pub(super) fn two_slots() -> Setting {
    let budget = Budget { ticks: 2, crashes: 1, stalls: 1, ..NOTHING };
    Setting::new(lease(2, 1), Knows::Lives, 2, [1, 1, 1], budget)
}

/// The same with more of everything, and a name that is kept for longer than its lease.
pub(super) fn two_slots_for_long() -> Setting {
    let budget = Budget { ticks: 4, crashes: 1, stalls: 1, ..NOTHING };
    Setting::new(lease(2, 3), Knows::Lives, 2, [1, 1, 1], budget)
}

/// To run once, where keys are forgotten and pruned.
pub(super) fn pruned() -> Setting {
    let budget = Budget { ticks: 3, crashes: 1, forgets: 1, prunes: 1, ..NOTHING };
    Setting::new(once(OnCrash::Rerun), Knows::Lives, 1, [2, 1, 0], budget)
}

/// The same, where nobody can say who lives, or look for what is left.
pub(super) fn pruned_elsewhere() -> Setting {
    let budget = Budget { ticks: 4, crashes: 1, forgets: 1, prunes: 1, ..NOTHING };
    Setting::new(once(OnCrash::Rerun), Knows::Nothing, 1, [2, 1, 0], budget)
}

/// The same with more of everything.
pub(super) fn pruned_for_long() -> Setting {
    let budget = Budget { ticks: 3, crashes: 1, forgets: 1, prunes: 2, failures: 1, ..NOTHING };
    Setting { calls: [2, 1, 0], budget, ..pruned() }
}
