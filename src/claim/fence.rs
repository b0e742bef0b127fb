//! The fencing token: an integer that only grows.

use super::time::WallMs;

/// Grows with every claim of a store, across prune, forget, power loss and a
/// deleted store. What the command writes elsewhere can carry it, so that a
/// stalled predecessor's write is refused there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub i64);

impl Fence {
    /// The fence after `last`: `max(last + 1, wall clock in ms)`. The clock's
    /// part is what survives a deleted store; a table's own counter would not
    /// [measured: it restarts after a table rebuild].
    #[must_use]
    pub fn after(last: Fence, wall: WallMs) -> Self {
        Self(last.0.saturating_add(1).max(wall.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_even_when_the_clock_goes_back() {
        assert_eq!(Fence::after(Fence(1000), WallMs(5)), Fence(1001));
    }

    #[test]
    fn it_jumps_to_the_clock_in_a_new_store() {
        assert_eq!(Fence::after(Fence(0), WallMs(5000)), Fence(5000));
    }
}
