//! Parse, call, end.

use std::process::ExitCode;

use doubletap::exit::Ending;
use doubletap::process::signals::die_of;
use doubletap::{cli, commands};

fn main() -> ExitCode {
    let ending = match cli::parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => commands::run(cli),
        Err(stop) => commands::stop(&stop),
    };
    match ending {
        Ending::Status(status) => ExitCode::from(status),
        Ending::Signal(signal) => {
            die_of(signal);
            ExitCode::from(128_u8.saturating_add(signal))
        }
    }
}
