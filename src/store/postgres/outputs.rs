//! Outputs, in parts: no more than a few of them are in memory at once, whatever an
//! output comes to.

use std::io::{Seek as _, Write as _};
use std::sync::Arc;

use super::PostgresShelf;
use super::failure::Fault;
use super::rows::{Reader, int4, int8};
use super::transaction::Transaction;
use crate::claim::fence::Fence;
use crate::store::{Frames, Spool, StoreError, Trouble};

/// The bytes of a part: an output of as many is one, and is given back in memory.
pub(super) const PART: usize = 1 << 20;

pub(super) fn unreadable(why: &std::io::Error) -> StoreError {
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
        self.read_parts(fence)
    }

    /// Reads an output of many parts into a file. It may go meanwhile: all of it is read
    /// as it was at one moment. Each part has all the time that a call has.
    fn read_parts(&mut self, fence: Fence) -> Result<Option<Frames>, Fault> {
        let unwritten = |why: std::io::Error| Fault::Said(unreadable(&why));
        let mut file = Spool::Unnamed.create().map_err(unwritten)?;
        let schema = &self.server.address.schema;
        let next = format!("SELECT frames FROM {schema}.output WHERE fence = $1 AND part = $2");
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let deadline = self.server.deadline();
        let mut transaction = Transaction::begin(&mut self.server, deadline, begin)?;
        for part in 0.. {
            transaction.take_time();
            let found = transaction.rows(&next, &[int8(fence.0), int4(part)])?;
            let Some(row) = found.first() else { break };
            file.write_all(Reader::at(row, 0).next()?).map_err(unwritten)?;
        }
        let length = file.stream_position().map_err(unwritten)?;
        Ok((length > 0).then(|| Frames::File(Arc::new(file), length)))
    }
}
