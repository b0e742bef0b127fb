//! Reads all of standard input, and puts a copy in its place.
//!
//! Whoever is to compare what a command is fed must read it before there is a
//! command; the command then finds the same bytes from the beginning.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use nix::unistd::dup2_stdin;

use super::wake::wait_readable;

/// How much is read at once.
const BUFFER: usize = 64 << 10;

/// Reads standard input to its end, shows every piece to `see`, and has whoever
/// inherits it find the same bytes again: in a file without a name, in the
/// folder for temporary files.
///
/// # Errors
/// When it cannot be read, or the folder has no room.
pub fn spool_stdin(folder: &Path, mut see: impl FnMut(&[u8])) -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let no_room = |why: io::Error| {
        let words = format!(
            "no room for the input in {} ({why}); set TMPDIR to a folder that has some",
            folder.display()
        );
        io::Error::new(why.kind(), words)
    };
    let mut copy = tempfile::tempfile_in(folder).map_err(no_room)?;
    read_pieces(&input, |piece| {
        see(piece);
        copy.write_all(piece).map_err(no_room)
    })?;
    copy.rewind()?;
    Ok(dup2_stdin(OwnedFd::from(copy))?)
}

/// Reads to the end, piece by piece, also from a descriptor that somebody made
/// non-blocking.
///
/// # Errors
/// What the descriptor answers, or what `each` does.
pub fn read_pieces(
    mut input: &File,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => each(&buffer[..count])?,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                wait_readable([Some(input.as_fd())], None)?;
            }
            Err(why) => return Err(why),
        }
    }
}
