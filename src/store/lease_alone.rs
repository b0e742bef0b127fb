//! Where nobody can be asked who lives, the lease alone decides: on a server, whose
//! holders may be on any host.

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::holder::Life;

use super::{Hold, Liveness, StoreError};

/// Knows nothing of anybody.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaseAlone;

impl Liveness for LeaseAlone {
    fn hold(&mut self, _: Fence) -> Result<Hold, StoreError> {
        Ok(Hold::Taken(None))
    }

    fn let_go(&mut self, _: Fence) {}

    fn probe(&mut self, _: &Attempt) -> Result<Life, StoreError> {
        Ok(Life::Unknown)
    }
}
