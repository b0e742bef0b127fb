//! Starts processes, waits for them, and holds the clock.
//!
//! Both sides of a row go through the same functions, so that what the bench itself costs is the
//! same on both. Commands are built before the clock starts. Nothing is set on them that would
//! keep the standard library from `posix_spawn`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Variables that would change what is measured: of the caller's shell, and the one by which cargo
/// has every program that is not static look for its libraries in vain first. Peers were slower with
/// it, and we were not.
const UNSET: &[&str] = &[
    "DOUBLETAP_STORE",
    "DOUBLETAP_NAMESPACE",
    "DOUBLETAP_LOG",
    "DOUBLETAP_SOURCE",
    "DOUBLETAP_TOKEN",
    "DOUBLETAP_HELD",
    "BKT_TTL",
    "BKT_SCOPE",
    "BKT_CACHE_DIR",
    "PGOPTIONS",
    "PGSERVICE",
    "PGSSLMODE",
    "REDISCLI_AUTH",
    "LD_LIBRARY_PATH",
];

/// Returns a command that has all that the bench has itself.
pub(crate) fn inheriting(program: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "a bench of whole processes starts processes")]
    Command::new(program)
}

/// Returns a command that reads nothing and whose output nobody sees.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = inheriting(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for name in UNSET {
        command.env_remove(name);
    }
    command
}

/// Finds a program in the search path; its full path spares the peer that search later.
pub(crate) fn find(name: &str) -> Result<Option<PathBuf>> {
    let found = say(Path::new("/bin/sh"), &["-c", "command -v \"$1\"", "sh", name])?;
    Ok(found.map(PathBuf::from))
}

/// Finds a program that has to be there, and installs it for the bench.
pub(crate) fn need(name: &str) -> Result<PathBuf> {
    install(&find(name)?.with_context(|| format!("{name}: not installed"))?)
}

/// Copies a program into the folder of the bench, as a package manager would have done. What a
/// linker leaves lies scattered over the page cache, and such a program starts measurably slower
/// than a copy of it; so each side gets a copy.
pub(crate) fn install(program: &Path) -> Result<PathBuf> {
    let folder = std::env::current_dir()?.join("bin");
    let copy = folder.join(program.file_name().context("a program has a name")?);
    if !copy.exists() {
        fs::create_dir_all(&folder)?;
        fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    Ok(copy)
}

/// Returns the first line a program prints, or nothing if it fails.
pub(crate) fn say(program: &Path, arguments: &[&str]) -> Result<Option<String>> {
    let output = command(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().map(str::to_owned);
    Ok(line.filter(|_| output.status.success()))
}

/// Returns what some work gave and how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// Runs one process from start to end.
pub(crate) fn one(mut command: Command) -> Result<Duration> {
    let (time, status) = timed(|| command.status());
    expect_success(&command, status)?;
    Ok(time)
}

/// Runs two processes, the first one's output into the second, and waits for both.
pub(crate) fn piped(mut first: Command, mut second: Command) -> Result<Duration> {
    first.stdout(Stdio::piped());
    let (time, statuses) = timed(|| -> io::Result<_> {
        let mut writer = first.spawn()?;
        second.stdin(writer.stdout.take().map_or_else(Stdio::null, Stdio::from));
        let reader = second.spawn();
        // As long as this end is open here, a writer would not notice that its reader is gone.
        second.stdin(Stdio::null());
        Ok((writer.wait(), reader.and_then(|mut reader| reader.wait())))
    });
    let (written, read) = statuses.context("cannot start the first of two processes")?;
    expect_success(&second, read)?;
    expect_success(&first, written)?;
    Ok(time)
}

/// Starts all processes at once and waits for the last.
pub(crate) fn herd(mut commands: Vec<Command>) -> Result<Duration> {
    let (time, statuses) = timed(|| {
        // All are started before any is waited for, and all are waited for before an error counts.
        let children: Vec<_> = commands.iter_mut().map(Command::spawn).collect();
        let end = |child: io::Result<Child>| child.and_then(|mut child| child.wait());
        children.into_iter().map(end).collect::<Vec<_>>()
    });
    for (command, status) in commands.iter().zip(statuses) {
        expect_success(command, status)?;
    }
    Ok(time)
}

/// Runs processes, `width` of them at a time, and waits for the last.
pub(crate) fn side_by_side(width: usize, commands: Vec<Command>) -> Result<Duration> {
    let rest = Mutex::new(commands.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<()> {
        while let Some(mut command) = next() {
            let status = command.status();
            expect_success(&command, status)?;
        }
        Ok(())
    };
    let (time, results) = timed(|| {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..width).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        })
    });
    for result in results {
        result.map_err(|_| anyhow::anyhow!("a thread of the bench panicked"))??;
    }
    Ok(time)
}

/// Fails unless a process could be started and succeeded.
pub(crate) fn expect_success(command: &Command, status: io::Result<ExitStatus>) -> Result<()> {
    let program = command.get_program().display();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    ensure!(
        status.success(),
        "{program} {:?} ended with {status} instead of success",
        command.get_args().collect::<Vec<_>>()
    );
    Ok(())
}

/// Fails unless the command that appends a line to `counter` ran exactly once.
pub(crate) fn expect_one_run(counter: &str) -> Result<()> {
    let lines = fs::read_to_string(counter).unwrap_or_default().lines().count();
    ensure!(lines == 1, "{counter}: the command ran {lines} times instead of exactly once");
    Ok(())
}
