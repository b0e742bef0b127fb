//! For how long a server that does not answer is waited for: until its time is over, or until
//! whoever waits is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a wait goes on before it looks whether it is to end.
pub const BETWEEN: Duration = Duration::from_millis(100);

/// Says whether we are told to end; without a flag we never are.
#[derive(Clone, Debug, Default)]
pub struct Heed(Option<Arc<AtomicBool>>);

impl Heed {
    /// We are when this is set.
    #[must_use]
    pub fn to(told: Arc<AtomicBool>) -> Self {
        Self(Some(told))
    }

    /// Whether we are told to end.
    #[must_use]
    pub fn is_told(&self) -> bool {
        self.0.as_ref().is_some_and(|told| told.load(Ordering::SeqCst))
    }

    /// Whether we may ever be.
    #[must_use]
    pub fn may_be_told(&self) -> bool {
        self.0.is_some()
    }

    /// What is sent to us within a time; nothing if we are told to end meanwhile.
    pub fn receive<T>(&self, from: &Receiver<T>, limit: Duration) -> Option<T> {
        let began = Instant::now();
        loop {
            let left = limit.saturating_sub(began.elapsed());
            match from.recv_timeout(left.min(BETWEEN)) {
                Ok(sent) => return Some(sent),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && !self.is_told() => {}
                Err(_) => return None,
            }
        }
    }

    /// What some work comes to that may take long and cannot be broken off; nothing if we are
    /// told to end meanwhile. Then the thread that does it is left alone.
    pub fn unless_told<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if !self.may_be_told() {
            return Some(work());
        }
        let (done, result) = channel();
        let thread = thread::Builder::new().name("ask".to_owned());
        // Nobody may want it any more.
        thread.spawn(move || done.send(work())).ok()?;
        self.receive(&result, Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_told_to_end_waits_for_nothing_any_more() {
        let told = Arc::new(AtomicBool::new(false));
        let heed = Heed::to(Arc::clone(&told));
        assert_eq!(heed.unless_told(|| 1), Some(1));
        let (never, nothing) = channel::<()>();
        assert_eq!(heed.receive(&nothing, Duration::from_millis(1)), None);
        let work = move || {
            told.store(true, Ordering::SeqCst);
            nothing.recv()
        };
        assert_eq!(heed.unless_told(work), None);
        assert_eq!(Heed::default().unless_told(|| 2), Some(2));
        drop(never);
    }
}
