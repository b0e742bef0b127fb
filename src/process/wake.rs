//! How other threads wake the one that owns the child.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Why the owner is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The claim is not ours any more.
    Lost,
    /// All output has been read and delivered.
    Drained,
    /// The holder that was waited for has ended.
    Freed,
}

/// The owner's end.
#[derive(Debug)]
pub struct Waker {
    read: UnixStream,
    write: UnixStream,
}

/// The other threads' end.
#[derive(Debug)]
pub struct Bell(UnixStream);

impl Waker {
    /// A new pair of ends.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn new() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        Ok(Self { read, write })
    }

    /// An end for another thread.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn bell(&self) -> io::Result<Bell> {
        self.write.try_clone().map(Bell)
    }

    /// The reasons that have come in.
    pub fn reasons(&mut self) -> Vec<Reason> {
        let mut bytes = [0; 64];
        let count = self.read.read(&mut bytes).unwrap_or(0);
        let reason = |byte: &u8| match byte {
            b'l' => Some(Reason::Lost),
            b'd' => Some(Reason::Drained),
            b'f' => Some(Reason::Freed),
            _ => None,
        };
        bytes[..count].iter().filter_map(reason).collect()
    }

    /// The descriptor to wait on.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

impl Bell {
    /// Wakes the owner.
    pub fn ring(&self, reason: Reason) {
        let byte = match reason {
            Reason::Lost => b'l',
            Reason::Drained => b'd',
            Reason::Freed => b'f',
        };
        // The owner may have gone; then nobody needs to know.
        let _ = (&self.0).write_all(&[byte]);
    }
}

/// Waits until one of the descriptors can be read or has ended, or the time is
/// over. Says for each whether it is so.
///
/// # Errors
/// When the kernel refuses to wait.
pub fn wait_readable<const N: usize>(
    fds: [Option<BorrowedFd<'_>>; N],
    limit: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    let timeout = limit.map_or(PollTimeout::NONE, |limit| {
        // Rounded up, so that a wait is never a little too short.
        let ms = limit.as_millis() + u128::from(limit.subsec_nanos() % 1_000_000 != 0);
        PollTimeout::from(u16::try_from(ms).unwrap_or(u16::MAX))
    });
    match poll(&mut polled, timeout) {
        Ok(_) => {}
        Err(nix::errno::Errno::EINTR) => return Ok([false; N]),
        Err(why) => return Err(why.into()),
    }
    let mut answers = polled.iter().map(|fd| fd.any().unwrap_or(false));
    Ok(fds.map(|fd| fd.is_some() && answers.next().unwrap_or(false)))
}
