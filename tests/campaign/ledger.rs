//! What calls have returned, and what must follow from it.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// From when to when something took place.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// What has happened to one key.
#[derive(Default)]
struct Page {
    /// What calls have returned with success.
    given: Vec<(Span, Vec<u8>)>,
    /// When it may have been dropped; what goes on has no end yet.
    dropped: Vec<(Instant, Option<Instant>)>,
}

/// The pages of all keys, and what should not have happened.
pub(super) struct Ledger {
    pages: Vec<Mutex<Page>>,
    violations: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    pub(super) fn new(keys: usize) -> Self {
        let pages = (0..keys).map(|_| Mutex::default()).collect();
        Self { pages, violations: Mutex::default() }
    }

    /// What should not have happened, so far.
    pub(super) fn violations(&self) -> Vec<String> {
        lock(&self.violations).clone()
    }

    /// Notes what should not have happened.
    pub(super) fn accuse(&self, what: String) {
        lock(&self.violations).push(what);
    }

    /// Notes that these keys may be dropped while `work` goes on.
    pub(super) fn dropping<T>(&self, keys: Range<usize>, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        keys.clone().for_each(|key| lock(&self.pages[key]).dropped.push((began, None)));
        let done = work();
        let ended = Instant::now();
        for key in keys {
            let mut page = lock(&self.pages[key]);
            page.dropped.iter_mut().for_each(|drop| drop.1 = drop.1.or(Some(ended)));
        }
        done
    }

    /// Notes what a call has returned with success. A call that was over before this one
    /// began must have returned the same, unless the key may have been dropped since that
    /// one began.
    pub(super) fn give(&self, key: usize, span: Span, output: Vec<u8>) {
        let mut page = lock(&self.pages[key]);
        let Page { given, dropped } = &*page;
        let is_dropped = |from: Instant| {
            dropped
                .iter()
                .any(|(began, ended)| ended.is_none_or(|ended| ended > from) && *began < span.ended)
        };
        let broken = given.iter().rev().find(|(before, said)| {
            before.ended < span.began && *said != output && !is_dropped(before.began)
        });
        if let Some((_, said)) = broken {
            let (said, now) = (String::from_utf8_lossy(said), String::from_utf8_lossy(&output));
            self.accuse(format!("key-{key} gave {said:?}, and later {now:?}"));
        }
        page.given.push((span, output));
    }
}
