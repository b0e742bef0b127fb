//! The end of an answer, which waits until it is known how its handler has ended.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::signals::Signals;
use super::source::{AT_ONCE, Delivery, has_left};
use super::supervise::{Ended, LINGER};

/// How much is kept for later. It is one byte of an answer that is as long as it says.
const MOST: usize = 64 << 10;

/// What was not handed on as it came.
#[derive(Debug, Default)]
pub struct HeldBack(Vec<u8>);

impl HeldBack {
    /// Keeps more for later.
    ///
    /// # Errors
    /// When there is too much of it; the first part is kept.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = MOST - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() <= room {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "more than {MOST} bytes of it are beyond what its headers say"
        )))
    }

    /// Hands it on, now that the command has ended. Who does not read is waited for, but
    /// not by one that is told to end, and not for long where the command was.
    pub fn hand_on(self, signals: Option<&mut Signals>, ended: &Ended) -> Delivery {
        match self.write(signals, ended) {
            Err(why) if !has_left(&why) => Delivery::Failed(why.to_string()),
            Ok(()) | Err(_) => Delivery::Complete,
        }
    }

    fn write(&self, mut signals: Option<&mut Signals>, ended: &Ended) -> io::Result<()> {
        let mut left = &*self.0;
        if left.is_empty() {
            return Ok(());
        }
        let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let is_over = ended.told.is_some() || ended.stopped.is_some();
        let leave_at = is_over.then(|| Instant::now() + LINGER);
        while !left.is_empty() {
            if waits(&out, signals.as_deref(), leave_at)? {
                match out.write(&left[..left.len().min(AT_ONCE)]) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => left = &left[count..],
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                    Err(why) => return Err(why),
                }
            } else if leave_at.is_some_and(|at| Instant::now() >= at)
                || signals.as_mut().and_then(|signals| signals.told_to_end()).is_some()
            {
                break;
            }
        }
        Ok(())
    }
}

/// Waits until a reader takes something, or something else is to be looked at; says
/// whether it was the reader.
fn waits(out: &File, signals: Option<&Signals>, until: Option<Instant>) -> io::Result<bool> {
    let mut fds = vec![PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
    fds.extend(signals.map(|signals| PollFd::new(signals.fd(), PollFlags::POLLIN)));
    let limit = until.map_or(PollTimeout::NONE, |at| {
        let left = at.saturating_duration_since(Instant::now());
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    });
    match poll(&mut fds, limit) {
        Ok(_) | Err(Errno::EINTR) => Ok(fds[0].any().unwrap_or(false)),
        Err(why) => Err(why.into()),
    }
}
