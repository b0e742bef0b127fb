//! The output of a command, in the form in which it is kept: in memory while it
//! is little, and in a file when it is more.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use crate::claim::attempt::OutputSummary;

/// Recorded output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Both streams in the order in which they arrived.
    pub frames: Frames,
    /// How much it is, and whether it is all.
    pub summary: OutputSummary,
    /// The name of its file, if that is to get the attempt's own name when it is
    /// recorded.
    pub draft: Option<PathBuf>,
}

/// Output in the form in which it is kept (see `process::frames`).
#[derive(Clone, Debug)]
pub enum Frames {
    /// In memory.
    Bytes(Vec<u8>),
    /// In a file, so many bytes of it from its beginning.
    File(Arc<File>, u64),
}

impl Frames {
    /// How many bytes they are, what belongs to the form included.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Lets go of all of them. A file becomes empty, which makes room where it
    /// is.
    pub fn clear(&mut self) {
        match self {
            Self::Bytes(bytes) => bytes.clear(),
            Self::File(file, length) => {
                // One that cannot be emptied only takes its room.
                let _ = file.set_len(0);
                *length = 0;
            }
        }
    }
}

/// Where a running attempt's output goes that is not kept in memory.
#[derive(Clone, Debug)]
pub enum Spool {
    /// A file of this name, in which others can look meanwhile.
    Named(PathBuf),
    /// A file of this name, beside others that are written for the same attempt: one of
    /// them is recorded.
    Draft(PathBuf),
    /// A file that nobody else can reach and that goes with its owner.
    Unnamed,
}

impl Spool {
    /// Makes the file, for reading and writing, and for nobody else.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
    pub fn create(&self) -> io::Result<File> {
        match self {
            Self::Named(path) | Self::Draft(path) => {
                let mut options = OpenOptions::new();
                let file =
                    options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
                // Whatever the umask.
                file.set_permissions(Permissions::from_mode(0o600))?;
                Ok(file)
            }
            Self::Unnamed => tempfile::tempfile(),
        }
    }

    /// Removes the file, as far as that can be done.
    pub fn remove(&self) {
        if let Self::Named(path) | Self::Draft(path) = self {
            // One that is left all the same is removed by prune.
            let _ = fs::remove_file(path);
        }
    }
}
