//! What Rust's runtime does before `main`, as far as we need it.

use super::raw;

/// Makes sure that no file of ours can get the number of a standard stream, and that
/// writing to a broken pipe fails instead of ending us.
pub fn prepare() {
    if raw::open_standard_streams().is_err() {
        // Whatever we opened could be taken for a stream, and written to.
        std::process::abort();
    }
    raw::survive_broken_pipes();
}
