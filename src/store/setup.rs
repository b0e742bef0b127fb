//! What is done once to a store that others look after, as one on a server is.

/// Whether a store has to be set up already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// It has: one that is not is an error.
    Required,
    /// Opening it does so.
    Automatic,
}

/// What setting a store up came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// There was none, and there is one now.
    Created,
    /// It was of an older doubletap.
    Migrated,
    /// It was as it should be.
    Nothing,
}
