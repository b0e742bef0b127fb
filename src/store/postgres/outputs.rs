//! Outputs, in parts: no more than a few of them are in memory at once, whatever an
//! output comes to.

use std::io::{Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tokio_postgres::Client;

use super::PostgresShelf;
use super::connecting::rows;
use super::failure::Fault;
use super::rows::{Reader, int4, int8};
use crate::claim::fence::Fence;
use crate::store::{Frames, Spool, StoreError, Trouble};

/// The bytes of a part: an output of as many is one, and is given back in memory.
const PART: usize = 1 << 20;

/// The parts of an output, from first to last. Even of nothing there is one.
pub(super) struct Parts<'a> {
    frames: &'a Frames,
    at: u64,
    buffer: Vec<u8>,
    begun: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn of(frames: &'a Frames) -> Self {
        Self { frames, at: 0, buffer: Vec::new(), begun: false }
    }

    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, StoreError> {
        let left = self.frames.length() - self.at;
        if left == 0 && self.begun {
            return Ok(None);
        }
        self.begun = true;
        let length = usize::try_from(left).unwrap_or(PART).min(PART);
        let from = self.at;
        self.at += length as u64;
        match self.frames {
            Frames::Bytes(bytes) => {
                let from = usize::try_from(from).unwrap_or(bytes.len());
                Ok(Some(&bytes[from..from + length]))
            }
            Frames::File(file, _) => {
                self.buffer.resize(length, 0);
                file.read_exact_at(&mut self.buffer, from).map_err(|why| unreadable(&why))?;
                Ok(Some(&self.buffer))
            }
        }
    }
}

fn unreadable(why: &std::io::Error) -> StoreError {
    StoreError::new(Trouble::Output, format!("the output cannot be read or written ({why})"))
}

impl PostgresShelf {
    pub(super) fn read_output(&mut self, fence: Fence) -> Result<Option<Frames>, Fault> {
        let deadline = self.server.deadline();
        let schema = &self.server.address.schema;
        let first = format!(
            "SELECT frames, (SELECT count(*) FROM {schema}.output WHERE fence = $1)
            FROM {schema}.output WHERE fence = $1 AND part = 0"
        );
        let found = self.server.rows(deadline, &first, &[int8(fence.0)])?;
        let Some(row) = found.first() else { return Ok(None) };
        let mut from = Reader::at(row, 0);
        let (frames, parts) = (from.next::<Vec<u8>>()?, from.next::<i64>()?);
        if parts == 1 {
            return Ok(Some(Frames::Bytes(frames)));
        }
        self.read_parts(fence, deadline)
    }

    /// Reads an output of many parts into a file. It may go meanwhile: all of it is read
    /// as it was at one moment.
    fn read_parts(
        &mut self,
        fence: Fence,
        deadline: std::time::Instant,
    ) -> Result<Option<Frames>, Fault> {
        let unwritten = |why: std::io::Error| Fault::Said(unreadable(&why));
        let mut file = Spool::Unnamed.create().map_err(unwritten)?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.server.ask(deadline, async |client| client.batch_execute(begin).await)?;
        let schema = &self.server.address.schema;
        let next = format!("SELECT frames FROM {schema}.output WHERE fence = $1 AND part = $2");
        for part in 0.. {
            let asked = [int8(fence.0), int4(part)];
            let ask = async |client: &Client| rows(client, &next, &asked).await;
            let found = self.server.ask(deadline, ask)?;
            let Some(row) = found.first() else { break };
            file.write_all(Reader::at(row, 0).next()?).map_err(unwritten)?;
        }
        self.server.ask(deadline, async |client| client.batch_execute("COMMIT").await)?;
        let length = file.stream_position().map_err(unwritten)?;
        Ok((length > 0).then(|| Frames::File(Arc::new(file), length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(frames: &Frames) -> Vec<usize> {
        let mut parts = Parts::of(frames);
        let mut lengths = Vec::new();
        while let Some(part) = parts.next().unwrap() {
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
