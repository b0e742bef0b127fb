//! Parse, call, end.
//!
//! With glibc the runtime's own beginning is left out: it reads the memory map to
//! guard the stack, and more [measured: 0.1 ms of the 1.5 that a small replay takes].
#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use doubletap::{cli, commands};

/// What the C library calls once it is ready.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library knows it by this name")]
#[expect(clippy::disallowed_methods, reason = "the end of the program")]
#[unsafe(no_mangle)]
extern "C" fn main() -> std::ffi::c_int {
    doubletap::process::start::prepare();
    std::process::exit(run().into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() -> std::process::ExitCode {
    run().into()
}

fn run() -> u8 {
    commands::end(&match cli::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => commands::run(cli),
        Err(stop) => commands::stop(&stop),
    })
}
