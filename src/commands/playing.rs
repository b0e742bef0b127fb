//! Gives recorded output again: the same bytes on the same streams, in the
//! order in which they arrived.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use crate::claim::attempt::OutputSummary;
use crate::claim::fingerprint::{Digest, FieldDigest};
use crate::process::frames::{self, FrameReader, Stream};
use crate::process::source::{Delivery, has_left, write_all};
use crate::store::Frames;

/// Where each of a command's streams goes; nowhere if it is not wanted.
pub(super) struct Targets {
    out: Option<File>,
    err: Option<File>,
}

impl Targets {
    /// Each to our own descriptor of the same name.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub(super) fn both() -> io::Result<Self> {
        let (out, err) = (own(io::stdout().as_fd())?, own(io::stderr().as_fd())?);
        Ok(Self { out: Some(out), err: Some(err) })
    }

    /// Standard output to this file, and nothing else.
    pub(super) fn out_to(file: File) -> Self {
        Self { out: Some(file), err: None }
    }

    /// One of them, to our standard output.
    ///
    /// # Errors
    /// When no descriptors are left.
    pub(super) fn only(stream: Stream) -> io::Result<Self> {
        let target = Some(own(io::stdout().as_fd())?);
        Ok(match stream {
            Stream::Out => Self { out: target, err: None },
            Stream::Err => Self { out: None, err: target },
        })
    }
}

fn own(fd: BorrowedFd<'_>) -> io::Result<File> {
    fd.try_clone_to_owned().map(File::from)
}

/// What came of playing.
#[derive(Default)]
pub(super) struct Played {
    /// Whether it could be written.
    pub(super) delivery: Delivery,
    /// How much output there was.
    pub(super) bytes: u64,
    /// Whether it ends where keeping was given up.
    pub(super) was_cut: bool,
    /// Whether nobody read on to the end.
    pub(super) unwanted: bool,
}

impl Played {
    /// Whether there was less than this, though it was wanted.
    pub(super) fn is_cut_short(&self, expected: u64) -> bool {
        !self.unwanted && self.bytes != expected
    }

    /// Writes what there is to read, until nobody wants it any more.
    fn go_on(
        &mut self,
        reader: &mut FrameReader<impl Read>,
        targets: &mut Targets,
    ) -> io::Result<()> {
        while let Some((stream, piece)) = reader.next_piece()? {
            self.bytes += piece.len() as u64;
            let target = match stream {
                Stream::Out => &mut targets.out,
                Stream::Err => &mut targets.err,
            };
            match target.as_mut().map(|file| write_all(file, piece)) {
                None | Some(Ok(())) => {}
                Some(Err(why)) => {
                    *target = None;
                    if !has_left(&why) {
                        self.delivery = Delivery::Failed(why.to_string());
                    }
                }
            }
            if targets.out.is_none() && targets.err.is_none() {
                self.unwanted = true;
                break;
            }
        }
        self.was_cut = reader.was_cut();
        Ok(())
    }
}

/// Writes frames to their targets. A reader that has gone is no error: it has
/// what it wanted.
///
/// # Errors
/// When the frames cannot be read.
pub(super) fn play(frames: &Frames, targets: Targets) -> io::Result<Played> {
    match frames {
        Frames::Bytes(bytes) => play_from(FrameReader::in_memory(bytes), targets),
        Frames::File(file, length) => {
            let mut file = &**file;
            file.rewind()?;
            // One that is still being written has no end.
            play_from(FrameReader::new(file.take(*length)), targets)
        }
    }
}

fn play_from(mut reader: FrameReader<impl Read>, mut targets: Targets) -> io::Result<Played> {
    let mut played = Played::default();
    played.go_on(&mut reader, &mut targets)?;
    Ok(played)
}

/// Writes recorded output; it was found damaged if it is less than it was.
pub(super) fn deliver(
    frames: &Frames,
    expected: OutputSummary,
    targets: impl FnOnce() -> io::Result<Targets>,
) -> Delivery {
    match targets().and_then(|targets| play(frames, targets)) {
        Ok(played) if played.delivery != Delivery::Complete => played.delivery,
        Ok(played) if played.is_cut_short(expected.bytes) => Delivery::Failed(format!(
            "it is damaged, {} of its {} bytes are left; to start over, forget it",
            played.bytes, expected.bytes
        )),
        Ok(_) => Delivery::Complete,
        Err(why) => Delivery::Failed(why.to_string()),
    }
}

/// Output that is still being written, given as it comes.
pub(super) struct Follower {
    reader: FrameReader<Arc<File>>,
    targets: Targets,
    played: Played,
}

impl Follower {
    /// Follows a file of frames from its beginning.
    pub(super) fn new(file: Arc<File>, targets: Targets) -> Self {
        Self { reader: FrameReader::new(file), targets, played: Played::default() }
    }

    /// Gives what has come since; says what came of all of it.
    ///
    /// # Errors
    /// When the frames cannot be read.
    pub(super) fn go_on(&mut self) -> io::Result<&Played> {
        self.played.go_on(&mut self.reader, &mut self.targets)?;
        Ok(&self.played)
    }

    /// What came of it.
    pub(super) fn played(self) -> Played {
        self.played
    }
}

/// The digests of what frames hold for either stream, whatever the pieces are.
///
/// # Errors
/// When the frames cannot be read.
pub(super) fn digests(frames: &Frames) -> io::Result<[Digest; 2]> {
    match frames {
        Frames::Bytes(bytes) => digests_of(FrameReader::in_memory(bytes)),
        Frames::File(file, length) => {
            let mut file = &**file;
            file.rewind()?;
            digests_of(FrameReader::new(file.take(*length)))
        }
    }
}

fn digests_of(mut reader: FrameReader<impl Read>) -> io::Result<[Digest; 2]> {
    let (mut out, mut err) = (FieldDigest::new(), FieldDigest::new());
    while let Some((stream, piece)) = reader.next_piece()? {
        match stream {
            Stream::Out => out.stream(piece),
            Stream::Err => err.stream(piece),
        }
    }
    Ok([out.finish(), err.finish()])
}

/// Whether frames that are to hold so much output are all there, as far as
/// that can be told without reading a large file.
pub(super) fn are_whole(frames: &Frames, output: u64) -> bool {
    match frames {
        Frames::Bytes(bytes) => frames::output_bytes(bytes) == output,
        Frames::File(_, length) => *length > output,
    }
}
