//! A FIFO on which a command blocks until the test lets it go on.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Holds both ends open, so that neither side ever blocks in `open` and a reader
/// that was killed leaves nothing behind. Commands wait with `read x <gate`.
pub(crate) struct Gate {
    pipe: File,
}

impl Gate {
    /// Joins a FIFO. Commands that come while nobody has joined block in `open`.
    pub(crate) fn at(path: &Path) -> Self {
        let pipe =
            OpenOptions::new().read(true).write(true).open(path).expect("a FIFO can be opened");
        Self { pipe }
    }

    /// Lets one waiting command go on, or the next that comes. When the gate is
    /// dropped everybody goes on.
    pub(crate) fn open(&mut self) {
        self.pipe.write_all(b"\n").expect("a FIFO held open takes a byte");
    }
}
