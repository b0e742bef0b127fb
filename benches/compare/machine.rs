//! Says on what machine, disk and day the numbers were taken, and against which versions.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::numbers;
use crate::row::{BKT, FLOCK, Program, TEE};
use crate::run;
use crate::table;

const SYNCS: usize = 200;
const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Prints the facts as a markdown list.
pub(crate) fn describe(out: &mut impl Write) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let date = ask("date", &["-u", "+%Y-%m-%d %H:%M UTC"])?;
    let sync = table::time(fdatasync()?);
    writeln!(out, "- date: {date}")?;
    writeln!(out, "- machine: {cores} cores, {}, Linux {}", processor(), kernel())?;
    writeln!(out, "- load at the start: {}", first_line("/proc/loadavg"))?;
    writeln!(out, "- disk: {}, {sync} for 4 KiB and fdatasync (median of {SYNCS})", disk()?)?;
    // Programs that speak languages load theirs at every start; we speak none.
    let locale = ask("sh", &["-c", "echo \"${LC_ALL:-${LANG:-none}}\""])?;
    writeln!(out, "- locale: {locale}")?;
    writeln!(out, "- doubletap: {}", version(Path::new(env!("CARGO_BIN_EXE_doubletap")))?)?;
    for program in [BKT, FLOCK, TEE] {
        writeln!(out, "- {}", describe_program(program)?)?;
    }
    #[cfg(feature = "postgres")]
    writeln!(out, "- {}", describe_program(crate::row::PSQL)?)?;
    #[cfg(feature = "redis")]
    writeln!(out, "- {}", describe_program(crate::row::REDIS)?)?;
    #[cfg(any(feature = "postgres", feature = "redis"))]
    writeln!(out, "- {}", describe_program(crate::row::ETCD)?)?;
    writeln!(out)?;
    Ok(())
}

fn describe_program(Program { name, install }: Program) -> Result<String> {
    Ok(match run::find(name)? {
        Some(path) => format!("{name}: {}", version(&path)?),
        None => format!("{name}: not installed ({install})"),
    })
}

fn version(program: &Path) -> Result<String> {
    Ok(run::say(program, &["--version"])?.unwrap_or_else(unknown))
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn ask(program: &str, arguments: &[&str]) -> Result<String> {
    let said = match run::find(program)? {
        Some(path) => run::say(&path, arguments)?,
        None => None,
    };
    Ok(said.unwrap_or_else(unknown))
}

fn kernel() -> String {
    first_line("/proc/sys/kernel/osrelease")
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().map_or_else(unknown, str::to_owned)
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    model.map_or_else(unknown, |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// Names the file system of the working directory; one in memory makes every sync free.
fn disk() -> Result<String> {
    let kind = ask("sh", &["-c", "df --output=fstype . | tail -n 1"])?;
    Ok(match kind.as_str() {
        "tmpfs" | "ramfs" => format!("{kind} (NOT A DISK: durable rows mean nothing)"),
        _ => kind,
    })
}

/// Measures what one durable append costs here at least.
fn fdatasync() -> Result<Duration> {
    let mut file = File::create("fdatasync").context("cannot create a file to sync")?;
    let mut append = || file.write_all(&BLOCK).and_then(|()| file.sync_data());
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let (time, result) = run::timed(&mut append);
        result.context("fdatasync")?;
        times.push(time);
    }
    Ok(numbers::median_time(&times))
}
