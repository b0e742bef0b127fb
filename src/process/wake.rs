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

/// The owner's end. Most commands end before another thread is needed, so the
/// descriptors are made when the first bell is.
#[derive(Debug, Default)]
pub struct Waker(Option<Ends>);

#[derive(Debug)]
struct Ends {
    read: UnixStream,
    write: UnixStream,
}

/// The other threads' end.
#[derive(Debug)]
pub struct Bell(UnixStream);

impl Waker {
    /// An end for another thread.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub fn bell(&mut self) -> io::Result<Bell> {
        if self.0.is_none() {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            self.0 = Some(Ends { read, write });
        }
        let ends = self.0.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        ends.write.try_clone().map(Bell)
    }

    /// The reasons that have come in.
    pub fn reasons(&mut self) -> Vec<Reason> {
        let mut bytes = [0; 64];
        let count = self.0.as_mut().map_or(0, |ends| ends.read.read(&mut bytes).unwrap_or(0));
        let reason = |byte: &u8| match byte {
            b'l' => Some(Reason::Lost),
            b'd' => Some(Reason::Drained),
            b'f' => Some(Reason::Freed),
            _ => None,
        };
        bytes[..count].iter().filter_map(reason).collect()
    }

    /// The descriptor to wait on, once there is another thread.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|ends| ends.read.as_fd())
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

/// Waits for so long, and less if whoever reads our standard output leaves; says
/// whether nobody reads it any more.
pub fn reader_leaves_within(pause: Duration) -> bool {
    let out = io::stdout();
    let mut fds = [PollFd::new(out.as_fd(), PollFlags::empty())];
    let timeout = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
    match poll(&mut fds, timeout) {
        Ok(count) => count > 0,
        Err(_) => false,
    }
}
