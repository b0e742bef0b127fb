//! What a store is handed from outside: the time, and who lives.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use doubletap::claim::attempt::Attempt;
use doubletap::claim::fence::Fence;
use doubletap::claim::holder::Life;
use doubletap::claim::time::{BootId, BootMs, Clock, Now, WallMs};
use doubletap::store::{Hold, Liveness, StoreError, Trouble};

/// A clock that moves only when it is told to.
pub(super) struct ManualClock(Mutex<Now>);

impl ManualClock {
    /// Some day in 2023, on a machine that has been up for a while.
    pub(super) fn new() -> Self {
        Self(Mutex::new(Now {
            wall: WallMs(1_700_000_000_000),
            boot: BootMs(5_000_000),
            boot_id: BootId("boot-1".into()),
        }))
    }

    /// Lets time pass on both clocks.
    pub(super) fn pass(&self, span: Duration) {
        self.pass_boot(span);
        self.step_wall(ms(span));
    }

    /// Lets time pass that the wall clock does not see.
    pub(super) fn pass_boot(&self, span: Duration) {
        self.0.lock().unwrap().boot.0 += ms(span);
    }

    /// Sets the wall clock forward or back by so many milliseconds.
    pub(super) fn step_wall(&self, by_ms: i64) {
        self.0.lock().unwrap().wall.0 += by_ms;
    }

    /// Starts the machine again: its boot clock counts from zero.
    pub(super) fn restart_machine(&self) {
        let mut now = self.0.lock().unwrap();
        now.boot = BootMs(0);
        now.boot_id = BootId(format!("{}+", now.boot_id).into());
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        self.0.lock().unwrap().clone()
    }
}

fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap()
}

/// Says of every holder what it was told to say, and remembers the locks.
pub(super) struct Witness {
    lives: HashMap<Fence, Life>,
    occupied: HashSet<Fence>,
    /// Whether the lock file is out of order.
    pub(super) broken: bool,
    /// The fences whose locks were taken, in order.
    pub(super) held: Vec<Fence>,
    /// The fences whose locks were released, in order.
    pub(super) let_go: Vec<Fence>,
}

/// What the lock file's inode is in all these tests.
pub(super) const INODE: u64 = u64::MAX - 1;

impl Witness {
    /// A witness to whom everybody lives.
    pub(super) fn new() -> Self {
        Self {
            lives: HashMap::new(),
            occupied: HashSet::new(),
            broken: false,
            held: Vec::new(),
            let_go: Vec::new(),
        }
    }

    /// Says from now on that the holder of `fence` is in this state.
    pub(super) fn says(&mut self, fence: Fence, life: Life) {
        self.lives.insert(fence, life);
    }

    /// Refuses the lock of `fence`.
    pub(super) fn occupies(&mut self, fence: Fence) {
        self.occupied.insert(fence);
    }
}

impl Liveness for Witness {
    fn hold(&mut self, fence: Fence) -> Result<Hold, StoreError> {
        if self.broken {
            return Err(StoreError::new(Trouble::Other, "the lock file is out of order"));
        }
        if self.occupied.contains(&fence) {
            return Ok(Hold::Occupied);
        }
        self.held.push(fence);
        Ok(Hold::Taken(Some(INODE)))
    }

    fn let_go(&mut self, fence: Fence) {
        self.let_go.push(fence);
    }

    fn probe(&mut self, attempt: &Attempt) -> Result<Life, StoreError> {
        Ok(self.lives.get(&attempt.fence).copied().unwrap_or(Life::Alive))
    }
}
