//! What stores are handed from outside: the time, and who lives.

use std::collections::BTreeMap;

use doubletap::claim::attempt::Attempt;
use doubletap::claim::fence::Fence;
use doubletap::claim::holder::{Life, Tie};
use doubletap::claim::time::{Clock, Now};
use doubletap::store::{Hold, Liveness, StoreError};

use super::mutants::Mutant;
use super::world::{Child, World};

/// What can be known of holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knows {
    /// The kernel says who lives.
    Lives,
    /// Nothing, so the lease decides, and nobody's command can be ended: holders are
    /// on other machines.
    Nothing,
}

/// A clock that stands still for one step.
pub(super) struct Stopped(pub(super) Now);

impl Clock for Stopped {
    fn now(&self) -> Now {
        self.0.clone()
    }
}

/// What one worker's process can know of the others, and the locks that it takes.
pub(super) struct Kernel {
    knows: Knows,
    mutant: Option<Mutant>,
    /// The bytes that others hold.
    others: Vec<Fence>,
    /// The bytes that it holds itself.
    pub(super) own: Vec<Fence>,
    children: BTreeMap<u8, Child>,
}

impl Kernel {
    /// What can be known by a worker, or by an operator.
    pub(super) fn seen_by(
        worker: Option<usize>,
        world: &World,
        (knows, mutant): (Knows, Option<Mutant>),
    ) -> Self {
        let mut kernel = Self {
            knows,
            mutant,
            others: Vec::new(),
            own: Vec::new(),
            children: world.children.clone(),
        };
        for (index, one) in world.workers.iter().enumerate() {
            let to = if Some(index) == worker { &mut kernel.own } else { &mut kernel.others };
            to.extend(&one.locks);
        }
        kernel
    }

    /// What can be known when nobody is left.
    pub(super) fn deserted(knows: Knows, mutant: Option<Mutant>) -> Self {
        let (others, own, children) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { knows, mutant, others, own, children }
    }

    fn life(&self, attempt: &Attempt) -> Life {
        if self.knows == Knows::Nothing || attempt.tie != Tie::Wrapper {
            return Life::Unknown;
        }
        if self.others.contains(&attempt.fence) || self.own.contains(&attempt.fence) {
            return Life::Alive;
        }
        match self.children.get(&number_of(attempt)) {
            Some(_) => Life::Orphaned,
            None => Life::Gone,
        }
    }
}

impl Liveness for Kernel {
    fn hold(&mut self, fence: Fence) -> Result<Hold, StoreError> {
        if self.knows == Knows::Nothing {
            return Ok(Hold::Taken(None));
        }
        if self.others.contains(&fence) {
            return Ok(Hold::Occupied);
        }
        if !self.own.contains(&fence) {
            self.own.push(fence);
        }
        Ok(Hold::Taken(Some(1)))
    }

    fn let_go(&mut self, fence: Fence) {
        self.own.retain(|own| *own != fence);
    }

    fn probe(&mut self, attempt: &Attempt) -> Result<Life, StoreError> {
        let life = self.life(attempt);
        Ok(self.mutant.map_or(life, |mutant| mutant.probes(life)))
    }
}

/// The number of the call that made an attempt; none is of a tombstone.
pub(super) fn number_of(attempt: &Attempt) -> u8 {
    attempt.group.map_or(0, |group| u8::try_from(group.id).unwrap_or(0))
}
