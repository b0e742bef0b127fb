//! Gives a recorded answer again: the same bytes, with a header that says that it is not
//! the first time. What the handler wrote for its operator is not said again.

use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::os::fd::AsFd as _;

use crate::claim::attempt::{Attempt, Extent, OutputSummary};
use crate::claim::http::response::{BEGINNING, Edit, Response};
use crate::claim::outcome::Outcome;
use crate::process::frames::{FrameReader, Stream};
use crate::process::source::{Delivery, has_left, write_all};
use crate::report::problem::Problem;
use crate::store::Frames;

use super::super::super::call::account::Spoke;

/// Gives the answer of an attempt again, of which this is the output. An attempt that has
/// failed may have given none.
#[inline(never)]
pub(in crate::commands::once) fn give(
    attempt: &Attempt,
    output: Option<(&Frames, OutputSummary)>,
) -> (Delivery, Spoke) {
    let given = match output {
        Some((frames, expected)) => give_output(frames, expected),
        // A person has said that it had gone well.
        None if attempt.outcome().is_some_and(Outcome::is_success) => {
            give_status(&Response::read(b""))
        }
        None => Ok((Delivery::Complete, Spoke::No)),
    };
    given.unwrap_or_else(|why| {
        let is_over = has_left(&why);
        let delivery = if is_over { Delivery::Complete } else { Delivery::Failed(why.to_string()) };
        (delivery, Spoke::Yes)
    })
}

fn give_output(frames: &Frames, expected: OutputSummary) -> io::Result<(Delivery, Spoke)> {
    let response = Response::read(&beginning(frames)?);
    if expected.extent == Extent::Truncated {
        // A part of an answer is another answer.
        return if response.has_whole_block() {
            give_status(&response)
        } else {
            write(Problem::answer_lost().answer()?.as_bytes())
        };
    }
    let mut edits = response.replayed().into_iter().peekable();
    let mut out = standard_output()?;
    let (mut all, mut read, mut left_out) = (0, 0, 0);
    each_piece(frames, |stream, mut piece| {
        all += piece.len() as u64;
        if stream == Stream::Err {
            return Ok(Next::More);
        }
        loop {
            let passed = piece.len().min(left_out);
            (piece, read, left_out) = (&piece[passed..], read + passed, left_out - passed);
            let end = read + piece.len();
            let Some(Edit { at, text }) =
                edits.next_if(|edit| left_out == 0 && edit.at.start <= end)
            else {
                break;
            };
            let (before, after) = piece.split_at(at.start - read);
            write_all(&mut out, before)?;
            write_all(&mut out, text.as_bytes())?;
            (piece, read, left_out) = (after, at.start, at.len());
        }
        write_all(&mut out, piece)?;
        read += piece.len();
        Ok(Next::More)
    })?;
    let spoke = if read > 0 { Spoke::Yes } else { Spoke::No };
    if all == expected.bytes {
        return Ok((Delivery::Complete, spoke));
    }
    let missing = format!("it is damaged, {all} of its {} bytes are left", expected.bytes);
    Ok((Delivery::Failed(missing), spoke))
}

/// An answer without its body, and with the mark.
fn give_status(response: &Response) -> io::Result<(Delivery, Spoke)> {
    let mut answer = response.without_body();
    for Edit { at, text } in Response::read(&answer).replayed().into_iter().rev() {
        answer.splice(at, text.into_bytes());
    }
    write(&answer)
}

fn write(answer: &[u8]) -> io::Result<(Delivery, Spoke)> {
    write_all(&mut standard_output()?, answer).map(|()| (Delivery::Complete, Spoke::Yes))
}

fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// As much of an answer as has its header block.
fn beginning(frames: &Frames) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    each_piece(frames, |stream, piece| {
        if stream == Stream::Out {
            let room = BEGINNING - beginning.len();
            beginning.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        Ok(if beginning.len() == BEGINNING { Next::Enough } else { Next::More })
    })?;
    Ok(beginning)
}

/// Whether more is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    More,
    Enough,
}

fn each_piece(
    frames: &Frames,
    each: impl FnMut(Stream, &[u8]) -> io::Result<Next>,
) -> io::Result<()> {
    match frames {
        Frames::Bytes(bytes) => each_of(FrameReader::in_memory(bytes), each),
        Frames::File(file, length) => {
            let mut file = &**file;
            file.rewind()?;
            each_of(FrameReader::new(file.take(*length)), each)
        }
    }
}

fn each_of(
    mut reader: FrameReader<impl Read>,
    mut each: impl FnMut(Stream, &[u8]) -> io::Result<Next>,
) -> io::Result<()> {
    while let Some((stream, piece)) = reader.next_piece()? {
        if each(stream, piece)? == Next::Enough {
            break;
        }
    }
    Ok(())
}
