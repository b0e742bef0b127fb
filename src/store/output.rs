//! The output of a command, in the form in which it is kept: in memory while it
//! is little, and in a file when it is more.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
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

/// The parts of an output, from first to last: no more than one is in memory at once. Even
/// of nothing there is one.
pub struct Parts<'a> {
    frames: &'a Frames,
    size: usize,
    at: u64,
    buffer: Vec<u8>,
    begun: bool,
}

impl<'a> Parts<'a> {
    /// Parts of this many bytes, but for the last.
    #[must_use]
    pub fn of(frames: &'a Frames, size: usize) -> Self {
        Self { frames, size, at: 0, buffer: Vec::new(), begun: false }
    }

    /// The next one; nothing after the last.
    ///
    /// # Errors
    /// When the file that holds it cannot be read.
    pub fn read_next(&mut self) -> io::Result<Option<&[u8]>> {
        let left = self.frames.length() - self.at;
        if left == 0 && self.begun {
            return Ok(None);
        }
        self.begun = true;
        let length = usize::try_from(left).unwrap_or(self.size).min(self.size);
        let from = self.at;
        self.at += length as u64;
        match self.frames {
            Frames::Bytes(bytes) => {
                let from = usize::try_from(from).unwrap_or(bytes.len());
                Ok(Some(&bytes[from..from + length]))
            }
            Frames::File(file, _) => {
                self.buffer.resize(length, 0);
                file.read_exact_at(&mut self.buffer, from)?;
                Ok(Some(&self.buffer))
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
    /// Makes the file, for reading and writing, and for nobody else. A draft is locked for
    /// as long as it is open, which shows that it is not left behind.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
    pub fn create(&self) -> io::Result<File> {
        match self {
            Self::Named(path) => create(path),
            Self::Draft(path) => loop {
                let file = create(path)?;
                file.lock()?;
                // Before it was locked it may have been removed like one that is left behind.
                if file.metadata()?.nlink() > 0 {
                    return Ok(file);
                }
            },
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

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
    // Whatever the umask.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const PART: usize = 1 << 20;

    fn lengths(frames: &Frames) -> Vec<usize> {
        let mut parts = Parts::of(frames, PART);
        let mut lengths = Vec::new();
        while let Some(part) = parts.read_next().unwrap() {
            lengths.push(part.len());
        }
        lengths
    }

    #[test]
    fn an_output_is_cut_into_parts_and_nothing_is_one() {
        assert_eq!(lengths(&Frames::Bytes(Vec::new())), [0]);
        assert_eq!(lengths(&Frames::Bytes(vec![1; PART])), [PART]);
        assert_eq!(lengths(&Frames::Bytes(vec![1; 2 * PART + 1])), [PART, PART, 1]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![2; PART + 7]).unwrap();
        let file = Arc::new(file);
        assert_eq!(lengths(&Frames::File(Arc::clone(&file), PART as u64 + 7)), [PART, 7]);
        assert_eq!(lengths(&Frames::File(file, 5)), [5]);
    }
}
