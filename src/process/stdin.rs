//! Reads all of standard input, and puts a copy in its place.
//!
//! Whoever is to compare what a command is fed must read it before there is a
//! command; the command then finds the same bytes from the beginning. Or nobody is to
//! find them any more.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use nix::unistd::dup2_stdin;

use super::wake::wait_readable;

/// How much is read at once.
const BUFFER: usize = 64 << 10;

/// How much of standard input is to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// So many bytes, and not one more; all there are, if that is not known.
    pub length: Option<u64>,
    /// More are not taken.
    pub most: Option<u64>,
}

/// What reading it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spooled {
    /// All of it is there.
    Whole,
    /// It is more than is taken.
    TooLarge,
    /// It ended before its time.
    CutShort,
}

/// Reads standard input to its end, shows every piece to `see`, and has whoever
/// inherits it find the same bytes again: in a file without a name, in the
/// folder for temporary files.
///
/// # Errors
/// When it cannot be read, or the folder has no room.
pub fn spool_stdin(folder: &Path, see: impl FnMut(&[u8])) -> io::Result<()> {
    spool_within(folder, Bounds::default(), see).map(|_| ())
}

/// The same within bounds. What is not [`Spooled::Whole`] is not put in place.
///
/// # Errors
/// As [`spool_stdin`].
pub fn spool_within(
    folder: &Path,
    bounds: Bounds,
    mut see: impl FnMut(&[u8]),
) -> io::Result<Spooled> {
    let most = bounds.most.unwrap_or(u64::MAX);
    if bounds.length.is_some_and(|length| length > most) {
        return Ok(Spooled::TooLarge);
    }
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let no_room = |why: io::Error| {
        let words = format!(
            "no room for the input in {} ({why}); set TMPDIR to a folder that has some",
            folder.display()
        );
        io::Error::new(why.kind(), words)
    };
    let mut copy = tempfile::tempfile_in(folder).map_err(no_room)?;
    // One more tells that there are more.
    let limit = bounds.length.unwrap_or(most.saturating_add(1));
    let mut count = 0;
    read_up_to(&input, limit, |piece| {
        count += piece.len() as u64;
        if count > most {
            return Ok(());
        }
        see(piece);
        copy.write_all(piece).map_err(no_room)
    })?;
    if count > most {
        return Ok(Spooled::TooLarge);
    }
    if bounds.length.is_some_and(|length| count < length) {
        return Ok(Spooled::CutShort);
    }
    copy.rewind()?;
    dup2_stdin(OwnedFd::from(copy))?;
    Ok(Spooled::Whole)
}

/// Reads so much of standard input, or all of it, and throws it away.
///
/// # Errors
/// When it cannot be read.
pub fn drop_stdin(length: Option<u64>) -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    read_up_to(&input, length.unwrap_or(u64::MAX), |_| Ok(()))
}

/// Reads to the end, piece by piece, also from a descriptor that somebody made
/// non-blocking.
///
/// # Errors
/// What the descriptor answers, or what `each` does.
pub fn read_pieces(input: &File, each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    read_up_to(input, u64::MAX, each)
}

/// The same up to so many bytes.
fn read_up_to(
    mut input: &File,
    mut left: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    while left > 0 {
        let room = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
        match input.read(&mut buffer[..room]) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                left -= count as u64;
                each(&buffer[..count])?;
            }
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                wait_readable([Some(input.as_fd())], None)?;
            }
            Err(why) => return Err(why),
        }
    }
    Ok(())
}
