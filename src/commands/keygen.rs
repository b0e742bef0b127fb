//! `keygen`: a key that nobody guesses and nobody else has.

use crate::claim::id::Token;
use crate::exit::Ending;

use super::context::{print_answer, random};

/// Prints 128 random bits.
pub(super) fn run() -> anyhow::Result<Ending> {
    print_answer(&format!("{}\n", Token(random()?)))
}
