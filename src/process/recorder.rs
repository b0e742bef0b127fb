//! Keeps what a command writes, in bounded memory.
//!
//! Little is kept in memory. What is more, or comes from a command that lasts,
//! goes to a file (the spool), where others can read it while the command
//! runs. [`Recorder::record`] never touches the file: whoever records says when
//! there is time for [`Recorder::store`].

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::claim::attempt::{Extent, OutputSummary};
use crate::store::{Frames, Output, Spool};

use super::frames::{FrameWriter, Stream};
use super::raw::{Wait, write_back};

/// How much is kept in memory before it is stored (DESIGN section 7).
const IN_MEMORY: usize = 64 << 10;

/// How much is kept in memory between two writes to the spool.
const BATCH: usize = 256 << 10;

/// How much of the spool is on its way to the disk at the most, twice over. A
/// large file that is synced at its end only holds up everybody who syncs
/// meanwhile.
const WRITE_BACK: u64 = 1 << 20;

/// How long a command runs before what it writes goes to the spool, so that it
/// can be looked at.
const LASTING: Duration = Duration::from_secs(1);

/// What a recorder has kept.
#[derive(Debug)]
pub struct Recording {
    /// The output.
    pub output: Output,
    /// Why it is not all there, if the spool is to blame.
    pub trouble: Option<String>,
    /// The beginning of standard output, if that was asked for, whatever is kept.
    pub beginning: Vec<u8>,
}

/// Keeps the first part of what a command writes.
#[derive(Debug)]
pub struct Recorder {
    spool: Spool,
    begun: Instant,
    /// The most bytes of output to be kept.
    limit: u64,
    /// Bytes of output that are kept.
    kept: u64,
    extent: Extent,
    /// Whether the frames say that no more is kept.
    is_cut: bool,
    /// What is not in the file yet.
    pending: FrameWriter,
    file: Option<Spooled>,
    trouble: Option<io::Error>,
    /// The beginning of standard output, and how much of it is wanted.
    beginning: (Vec<u8>, usize),
}

/// The spool, and what is in it.
#[derive(Debug)]
struct Spooled {
    file: File,
    /// What was written to it.
    written: Mark,
    /// What was there before the last writing.
    before: Mark,
    /// What is on its way to the disk.
    under_way: Mark,
    /// What has come there, as far as that was waited for.
    arrived: Mark,
}

/// A place in the spool at which frames end.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// Bytes of the file.
    length: u64,
    /// Bytes of output in them.
    output: u64,
}

impl Spooled {
    fn new(file: File) -> Self {
        let start = Mark::default();
        Self { file, written: start, before: start, under_way: start, arrived: start }
    }

    /// Adds frames that hold the output up to `kept` bytes. What is left after
    /// an error is what is known to be there, and some room for others.
    fn append(&mut self, frames: &[u8], kept: u64) -> Result<(), (io::Error, Mark)> {
        self.file.write_all(frames).map_err(|why| {
            let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
            let gives_room = full.contains(&why.kind()) && self.before.length > 0;
            (why, if gives_room { self.before } else { self.written })
        })?;
        self.before = self.written;
        let length = self.written.length + frames.len() as u64;
        self.written = Mark { length, output: kept };
        self.write_back().map_err(|why| (why, self.arrived))
    }

    /// Begins to write what has come since the last time, and waits for what
    /// had come before that.
    fn write_back(&mut self) -> io::Result<()> {
        if self.written.length - self.under_way.length < WRITE_BACK {
            return Ok(());
        }
        let (arrived, under_way) = (self.arrived.length, self.under_way.length);
        write_back(&self.file, under_way..self.written.length, Wait::No)?;
        write_back(&self.file, arrived..under_way, Wait::Yes)?;
        self.arrived = self.under_way;
        self.under_way = self.written;
        Ok(())
    }
}

impl Recorder {
    /// Keeps at most `limit` bytes of output, where there is a limit.
    #[must_use]
    pub fn new(limit: Option<u64>, spool: Spool) -> Self {
        Self {
            spool,
            begun: Instant::now(),
            limit: limit.unwrap_or(u64::MAX),
            kept: 0,
            extent: Extent::Whole,
            is_cut: false,
            pending: FrameWriter::default(),
            file: None,
            trouble: None,
            beginning: (Vec::new(), 0),
        }
    }

    /// Remembers so much of the beginning of standard output, too, in memory.
    #[must_use]
    pub fn remembering(mut self, beginning: usize) -> Self {
        self.beginning.1 = beginning;
        self
    }

    /// Keeps one piece of output, in the order of the calls.
    pub fn record(&mut self, stream: Stream, bytes: &[u8]) {
        if self.beginning.1 > 0 && stream == Stream::Out {
            self.remember(bytes);
        }
        let room = usize::try_from(self.limit - self.kept).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        if !kept.is_empty() {
            self.kept += kept.len() as u64;
            self.pending.push(stream, kept);
        }
        if kept.len() < bytes.len() && !std::mem::replace(&mut self.is_cut, true) {
            self.extent = Extent::Truncated;
            self.pending.cut();
        }
    }

    fn remember(&mut self, bytes: &[u8]) {
        let (beginning, wanted) = &mut self.beginning;
        let room = *wanted - beginning.len();
        beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Notes that some output never arrived.
    pub fn mark_truncated(&mut self) {
        self.extent = Extent::Truncated;
    }

    /// Whether no more is to be recorded before [`Recorder::store`].
    #[must_use]
    pub fn is_full(&self) -> bool {
        let most = if self.file.is_some() { BATCH } else { IN_MEMORY };
        self.pending.bytes().len() >= most && self.may_store()
    }

    /// When [`Recorder::store`] is to be called, if nothing more has come by
    /// then.
    #[must_use]
    pub fn to_be_stored_at(&self) -> Option<Instant> {
        let waits = !self.pending.bytes().is_empty() && self.may_store();
        waits.then(|| self.begun + LASTING)
    }

    /// Why the spool can take no more, if it cannot.
    #[must_use]
    pub fn trouble(&self) -> Option<&io::Error> {
        self.trouble.as_ref()
    }

    fn may_store(&self) -> bool {
        self.trouble.is_none()
    }

    /// Moves what is kept in memory to the spool.
    pub fn store(&mut self) {
        if !self.may_store() || self.pending.bytes().is_empty() {
            return;
        }
        let spooled = match &mut self.file {
            Some(spooled) => spooled,
            None => match self.spool.create() {
                Ok(file) => self.file.insert(Spooled::new(file)),
                Err(why) => {
                    // What fits in memory is kept there.
                    self.limit = self.limit.min(self.kept.max(IN_MEMORY as u64));
                    self.trouble = Some(why);
                    return;
                }
            },
        };
        if let Err((why, left)) = spooled.append(self.pending.bytes(), self.kept) {
            self.trouble = Some(why);
            if left.length == 0 && spooled.written.length == 0 {
                // Nothing was there yet: what is in memory stays there, and the
                // room is given back.
                let _ = spooled.file.set_len(0);
                self.spool.remove();
                self.file = None;
                self.limit = self.limit.min(self.kept.max(IN_MEMORY as u64));
                return;
            }
            // What cannot be cut off stays unread behind the last whole frame.
            let _ = spooled.file.set_len(left.length);
            spooled.written = left;
            self.kept = left.output;
            self.limit = self.kept;
            self.extent = Extent::Truncated;
        }
        self.pending.clear();
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(mut self) -> Recording {
        if self.file.is_some() {
            self.store();
        }
        let summary = OutputSummary { bytes: self.kept, extent: self.extent };
        let frames = match self.file {
            Some(Spooled { file, written, .. }) => Frames::File(Arc::new(file), written.length),
            None => Frames::Bytes(self.pending.into_bytes()),
        };
        let draft = match (self.spool, &frames) {
            (Spool::Draft(path), Frames::File(..)) => Some(path),
            _ => None,
        };
        let trouble = self.trouble.filter(|_| summary.extent == Extent::Truncated);
        Recording {
            output: Output { frames, summary, draft },
            trouble: trouble.map(|why| why.to_string()),
            beginning: self.beginning.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::process::frames::FrameReader;

    fn recorder(limit: u64) -> Recorder {
        Recorder::new(Some(limit), Spool::Unnamed)
    }

    fn bytes(frames: &Frames) -> Vec<u8> {
        match frames {
            Frames::Bytes(bytes) => bytes.clone(),
            Frames::File(file, length) => {
                let mut bytes = vec![0; usize::try_from(*length).unwrap()];
                file.read_exact_at(&mut bytes, 0).unwrap();
                bytes
            }
        }
    }

    /// The last piece of a recording.
    fn last(recording: &Recording) -> Vec<u8> {
        let frames = bytes(&recording.output.frames);
        let mut reader = FrameReader::new(&*frames);
        let mut last = Vec::new();
        while let Some((_, piece)) = reader.next_piece().unwrap() {
            last = piece.to_vec();
        }
        last
    }

    #[test]
    fn the_first_part_is_kept_and_the_rest_is_told_to_be_missing() {
        let mut recorder = recorder(3);
        recorder.record(Stream::Out, b"ab");
        recorder.record(Stream::Err, b"cd");
        let recording = recorder.finish();
        let summary = OutputSummary { bytes: 3, extent: Extent::Truncated };
        assert_eq!((recording.output.summary, last(&recording)), (summary, b"c".to_vec()));
        assert_eq!(recording.trouble, None);
    }

    #[test]
    fn the_beginning_of_standard_output_is_remembered_whatever_is_kept() {
        let mut recorder = recorder(0).remembering(3);
        for (stream, bytes) in
            [(Stream::Err, b"no"), (Stream::Out, b"ab"), (Stream::Out, b"cd"), (Stream::Out, b"ef")]
        {
            recorder.record(stream, bytes);
        }
        let recording = recorder.finish();
        assert_eq!((recording.beginning, recording.output.summary.bytes), (b"abc".to_vec(), 0));
    }

    #[test]
    fn an_output_of_exactly_the_limit_is_whole() {
        let mut recorder = recorder(2);
        recorder.record(Stream::Out, b"ab");
        assert_eq!(recorder.finish().output.summary.extent, Extent::Whole);
    }

    #[test]
    fn what_was_stored_and_what_was_not_come_out_in_one_piece() {
        let mut recorder = recorder(1 << 20);
        recorder.record(Stream::Out, &vec![1; IN_MEMORY]);
        assert!(recorder.is_full());
        recorder.store();
        assert!(!recorder.is_full() && recorder.to_be_stored_at().is_none());
        recorder.record(Stream::Out, b"end");
        let recording = recorder.finish();
        assert_eq!(recording.output.summary.bytes, IN_MEMORY as u64 + 3);
        assert_eq!(last(&recording), b"end");
    }

    #[test]
    fn without_a_spool_the_first_part_stays_in_memory_and_the_reason_is_told() {
        let spool = Spool::Named("/nonexistent/folder/spool".into());
        let mut recorder = Recorder::new(None, spool);
        recorder.record(Stream::Out, b"begin");
        recorder.store();
        recorder.record(Stream::Out, &vec![2; 2 * IN_MEMORY]);
        assert!(!recorder.is_full());
        let recording = recorder.finish();
        assert_eq!(recording.output.summary.bytes, IN_MEMORY as u64);
        assert!(recording.trouble.is_some_and(|why| why.contains("No such file")));
    }

    #[test]
    fn a_spool_that_is_not_needed_is_no_trouble() {
        let mut recorder = Recorder::new(None, Spool::Named("/nonexistent/spool".into()));
        recorder.record(Stream::Out, b"little");
        recorder.store();
        let recording = recorder.finish();
        assert_eq!((recording.output.summary.extent, recording.trouble), (Extent::Whole, None));
    }
}
