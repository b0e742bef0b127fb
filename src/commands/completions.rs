//! `completions SHELL`: what a shell needs to complete our command line, as it is
//! committed in `completions/`.

use crate::cli::{CompletionsArgs, ShellArg};
use crate::exit::Ending;

use super::context::print_answer;

/// Prints the completions of a shell.
pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<Ending> {
    print_answer(match args.shell {
        ShellArg::Bash => include_str!("../../completions/doubletap.bash"),
        ShellArg::Zsh => include_str!("../../completions/_doubletap"),
        ShellArg::Fish => include_str!("../../completions/doubletap.fish"),
        ShellArg::Elvish => include_str!("../../completions/doubletap.elv"),
    })
}
