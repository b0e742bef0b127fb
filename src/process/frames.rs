//! Recorded output: both streams in the order in which they arrived.
//!
//! A frame is one byte for the stream (1 or 2), four bytes of length (little
//! endian), and as many bytes of output.

use crate::claim::attempt::{Extent, OutputSummary};

/// One of the two streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

const HEAD: usize = 5;

/// What a recorder has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The frames.
    pub frames: Vec<u8>,
    /// How much output they hold, and whether it is all.
    pub summary: OutputSummary,
}

/// Keeps what a command writes.
pub trait Recorder: Send {
    /// Keeps one piece of output, in the order of the calls.
    fn record(&mut self, stream: Stream, bytes: &[u8]);

    /// Notes that some output never arrived.
    fn mark_truncated(&mut self);

    /// Ends the recording.
    fn finish(self: Box<Self>) -> Recording;
}

/// Keeps the first `limit` bytes in memory.
#[derive(Debug)]
pub struct MemoryRecorder {
    frames: Vec<u8>,
    last: Option<(Stream, usize)>,
    kept: u64,
    limit: u64,
    extent: Extent,
}

impl MemoryRecorder {
    /// A recorder for at most `limit` bytes of output.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { frames: Vec::new(), last: None, kept: 0, limit, extent: Extent::Whole }
    }
}

impl Recorder for MemoryRecorder {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        let room = usize::try_from(self.limit - self.kept).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        if kept.len() < bytes.len() {
            self.extent = Extent::Truncated;
        }
        if kept.is_empty() {
            return;
        }
        self.kept += kept.len() as u64;
        let grown = match self.last {
            Some((last, start)) if last == stream => self.grow(start, kept),
            _ => false,
        };
        if !grown {
            self.begin(stream, kept);
        }
    }

    fn mark_truncated(&mut self) {
        self.extent = Extent::Truncated;
    }

    fn finish(self: Box<Self>) -> Recording {
        Recording {
            frames: self.frames,
            summary: OutputSummary { bytes: self.kept, extent: self.extent },
        }
    }
}

impl MemoryRecorder {
    fn begin(&mut self, stream: Stream, bytes: &[u8]) {
        self.last = Some((stream, self.frames.len()));
        self.frames.push(match stream {
            Stream::Out => 1,
            Stream::Err => 2,
        });
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.frames.extend_from_slice(&length.to_le_bytes());
        self.frames.extend_from_slice(bytes);
    }

    /// Adds to the last frame, unless its length would not fit any more.
    fn grow(&mut self, start: usize, bytes: &[u8]) -> bool {
        let length = self.frames.len() - start - HEAD + bytes.len();
        let Ok(length) = u32::try_from(length) else { return false };
        self.frames[start + 1..start + HEAD].copy_from_slice(&length.to_le_bytes());
        self.frames.extend_from_slice(bytes);
        true
    }
}

/// The frames of a recording, in order. Ends early where they are damaged.
pub fn read(frames: &[u8]) -> impl Iterator<Item = (Stream, &[u8])> {
    let mut rest = frames;
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at_checked(HEAD)?;
        let stream = match head[0] {
            1 => Stream::Out,
            2 => Stream::Err,
            _ => return None,
        };
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let (bytes, tail) = tail.split_at_checked(usize::try_from(length).ok()?)?;
        rest = tail;
        Some((stream, bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(limit: u64, pieces: &[(Stream, &[u8])]) -> Recording {
        let mut recorder = Box::new(MemoryRecorder::new(limit));
        for (stream, bytes) in pieces {
            recorder.record(*stream, bytes);
        }
        recorder.finish()
    }

    #[test]
    fn pieces_of_one_stream_become_one_frame_and_the_order_stays() {
        let recording = recorded(
            100,
            &[(Stream::Out, b"a"), (Stream::Out, b"b"), (Stream::Err, b"c"), (Stream::Out, b"d")],
        );
        let frames: Vec<_> = read(&recording.frames).collect();
        let expected: [(Stream, &[u8]); 3] =
            [(Stream::Out, b"ab"), (Stream::Err, b"c"), (Stream::Out, b"d")];
        assert_eq!(frames, expected);
    }

    #[test]
    fn the_first_part_is_kept_and_the_rest_is_told_to_be_missing() {
        let recording = recorded(3, &[(Stream::Out, b"ab"), (Stream::Err, b"cd")]);
        assert_eq!(recording.summary, OutputSummary { bytes: 3, extent: Extent::Truncated });
        assert_eq!(read(&recording.frames).last(), Some((Stream::Err, &b"c"[..])));
    }

    #[test]
    fn an_output_of_exactly_the_limit_is_whole() {
        let recording = recorded(2, &[(Stream::Out, b"ab")]);
        assert_eq!(recording.summary.extent, Extent::Whole);
    }

    proptest! {
        #[test]
        fn damaged_frames_end_early_and_never_panic(bytes: Vec<u8>) {
            read(&bytes).for_each(drop);
        }
    }
}
