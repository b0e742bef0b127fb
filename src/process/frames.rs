//! Recorded output: both streams in the order in which they arrived.
//!
//! A frame is one byte for the stream (1 or 2), four bytes of length (little
//! endian), and as many bytes of output. A 3 in place of the stream says that
//! what came after it is not kept.

use std::io::{self, Read};
use std::ops::Range;

/// One of the two streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

const HEAD: usize = 5;

/// What says that nothing more is kept.
const CUT: u8 = 3;

/// Makes frames of pieces of output, in memory.
#[derive(Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
    /// The stream of the last frame, and where it begins.
    last: Option<(Stream, usize)>,
}

impl FrameWriter {
    /// Adds one piece; pieces of one stream that follow each other become one
    /// frame.
    pub fn push(&mut self, stream: Stream, piece: &[u8]) {
        let grown = match self.last {
            Some((last, start)) if last == stream => self.grow(start, piece),
            _ => false,
        };
        if !grown {
            self.begin(stream, piece);
        }
    }

    /// Notes that what comes from here on is not kept.
    pub fn cut(&mut self) {
        self.last = None;
        self.bytes.extend_from_slice(&[CUT, 0, 0, 0, 0]);
    }

    /// The frames so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Starts over, with the memory that is there.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.last = None;
    }

    /// Ends the writing.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn begin(&mut self, stream: Stream, piece: &[u8]) {
        self.last = Some((stream, self.bytes.len()));
        self.bytes.push(match stream {
            Stream::Out => 1,
            Stream::Err => 2,
        });
        let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(piece);
    }

    /// Adds to the last frame, unless its length would not fit any more.
    fn grow(&mut self, start: usize, piece: &[u8]) -> bool {
        let length = self.bytes.len() - start - HEAD + piece.len();
        let Ok(length) = u32::try_from(length) else { return false };
        self.bytes[start + 1..start + HEAD].copy_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(piece);
        true
    }
}

/// The largest piece that is given at once.
const PIECE: usize = 256 << 10;

/// The least that is asked of a source at once: small frames come together.
const CHUNK: usize = 64 << 10;

/// Reads frames, piece by piece, in bounded memory. Ends early where they are
/// damaged, or are still being written.
///
/// A large frame is read with the head of the next one, and no more: so whoever
/// hands pieces on writes as much at once as was written at once.
#[derive(Debug)]
pub struct FrameReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// What of the buffer was read and not yet given.
    unread: Range<usize>,
    /// The stream of the present frame, and what is left of it.
    frame: (Stream, usize),
    was_cut: bool,
    /// The least that is asked of the source at once.
    chunk: usize,
}

impl<'a> FrameReader<&'a [u8]> {
    /// A reader of frames in memory: no buffer for a large file is made for what
    /// is mostly a few bytes.
    #[must_use]
    pub fn in_memory(frames: &'a [u8]) -> Self {
        Self { chunk: frames.len().min(CHUNK), ..Self::new(frames) }
    }
}

impl<R: Read> FrameReader<R> {
    /// A reader from the beginning of a frame.
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            unread: 0..0,
            frame: (Stream::Out, 0),
            was_cut: false,
            chunk: CHUNK,
        }
    }

    /// The next piece; nothing at the end.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn next_piece(&mut self) -> io::Result<Option<(Stream, &[u8])>> {
        while self.frame.1 == 0 {
            self.fill(HEAD)?;
            let Some(head) = self.buffer[self.unread.clone()].first_chunk() else {
                return Ok(None);
            };
            self.was_cut = head[0] == CUT;
            let Some(frame) = read_head(*head) else { return Ok(None) };
            self.unread.start += HEAD;
            self.frame = frame;
        }
        let (stream, left) = self.frame;
        self.fill(left.min(PIECE))?;
        let from = self.unread.start;
        let piece = from..from + self.unread.len().min(left.min(PIECE));
        if piece.is_empty() {
            return Ok(None);
        }
        self.unread.start = piece.end;
        self.frame = (stream, left - piece.len());
        Ok(Some((stream, &self.buffer[piece])))
    }

    /// Whether the end that was come to is where keeping was given up.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Reads until so much is at hand, or there is no more.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.unread.len() >= wanted {
            return Ok(());
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let room = (wanted + HEAD).max(self.chunk);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        while self.unread.end < wanted {
            match self.source.read(&mut self.buffer[self.unread.end..room]) {
                Ok(0) => break,
                Ok(count) => self.unread.end += count,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

fn read_head(head: [u8; HEAD]) -> Option<(Stream, usize)> {
    let [stream, length @ ..] = head;
    let stream = match stream {
        1 => Stream::Out,
        2 => Stream::Err,
        _ => return None,
    };
    Some((stream, usize::try_from(u32::from_le_bytes(length)).ok()?))
}

/// How much output whole frames in memory hold; less than was written where
/// they are damaged.
#[must_use]
pub fn output_bytes(frames: &[u8]) -> u64 {
    let mut reader = FrameReader::in_memory(frames);
    let mut count = 0;
    while let Ok(Some((_, piece))) = reader.next_piece() {
        count += piece.len() as u64;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(pieces: &[(Stream, &[u8])]) -> Vec<u8> {
        let mut writer = FrameWriter::default();
        for (stream, piece) in pieces {
            writer.push(*stream, piece);
        }
        writer.into_bytes()
    }

    fn read(source: impl Read) -> Vec<(Stream, Vec<u8>)> {
        let mut reader = FrameReader::new(source);
        let mut pieces = Vec::new();
        while let Some((stream, piece)) = reader.next_piece().unwrap() {
            pieces.push((stream, piece.to_vec()));
        }
        pieces
    }

    #[test]
    fn pieces_of_one_stream_become_one_frame_and_the_order_stays() {
        let frames = written(&[
            (Stream::Out, b"a"),
            (Stream::Out, b"b"),
            (Stream::Err, b"c"),
            (Stream::Out, b"d"),
        ]);
        let expected = [
            (Stream::Out, b"ab".to_vec()),
            (Stream::Err, b"c".to_vec()),
            (Stream::Out, b"d".to_vec()),
        ];
        assert_eq!(read(&*frames), expected);
        assert_eq!(output_bytes(&frames), 4);
    }

    /// Gives one byte at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(1);
            self.0.read(&mut buffer[..count])
        }
    }

    #[test]
    fn a_frame_that_is_larger_than_a_piece_comes_in_pieces() {
        let (large, small) = (vec![7; 2 * PIECE + 1], vec![8; CHUNK + 1]);
        let frames =
            written(&[(Stream::Err, &large), (Stream::Out, &small), (Stream::Err, b"end")]);
        let lengths: Vec<usize> = read(&*frames).iter().map(|(_, piece)| piece.len()).collect();
        assert_eq!(lengths, [PIECE, PIECE, 1, CHUNK + 1, 3]);
    }

    #[test]
    fn a_source_that_trickles_is_read_all_the_same() {
        let frames = written(&[(Stream::Err, &[7; 1000]), (Stream::Out, b"end")]);
        assert_eq!(read(Trickle(&frames)), read(&*frames));
    }

    #[test]
    fn a_cut_is_told_from_an_end() {
        let mut writer = FrameWriter::default();
        writer.push(Stream::Out, b"kept");
        for cut in [false, true] {
            let mut reader = FrameReader::new(writer.bytes());
            assert!(reader.next_piece().unwrap().is_some());
            assert!(reader.next_piece().unwrap().is_none());
            assert_eq!(reader.was_cut(), cut);
            writer.cut();
        }
    }

    #[test]
    fn a_frame_that_is_still_being_written_gives_what_is_there() {
        let frames = written(&[(Stream::Out, b"whole"), (Stream::Err, b"half")]);
        assert_eq!(read(&frames[..frames.len() - 2]).last(), Some(&(Stream::Err, b"ha".to_vec())));
        assert_eq!(read(&frames[..frames.len() - 6]).len(), 1);
    }

    proptest! {
        #[test]
        fn damaged_frames_end_early_and_never_panic(bytes: Vec<u8>) {
            prop_assert!(output_bytes(&bytes) <= bytes.len() as u64);
        }
    }
}
