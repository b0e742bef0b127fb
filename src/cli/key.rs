//! The key that a verb is about.

use clap::Args;

use crate::claim::key::Key;

use super::values;

/// A key given in its place or with `--key`.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct KeyArgs {
    /// The key: 1 to 1024 bytes of UTF-8 without control characters
    #[arg(value_name = "KEY", value_parser = values::key())]
    positional: Option<Key>,

    /// The key, if it begins with a dash
    #[arg(long = "key", value_name = "KEY", value_parser = values::key(), allow_hyphen_values = true)]
    named: Option<Key>,
}

impl KeyArgs {
    /// The key.
    ///
    /// # Panics
    /// Never: clap requires exactly one of the two.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.positional.as_ref().or(self.named.as_ref()).unwrap_or_else(|| unreachable!())
    }
}
