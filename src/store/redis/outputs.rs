//! Outputs: lists of parts, so that no message is large and neither side needs much memory.
//!
//! Parts are sent under a name of their own, which soon goes by itself; the script that ends
//! an attempt gives them the attempt's name.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::RedisShelf;
use super::line::Deadline;
use crate::claim::duration::to_ms;
use crate::claim::fence::Fence;
use crate::store::{Frames, Parts, Spool, StoreError, Trouble, row};

/// The size of a part.
const PART: usize = 512 << 10;

/// What is handed out in memory at the most.
const INSIDE: usize = 1 << 20;

/// An upload that nobody goes on with, or uses, is gone after so long, and the time that a
/// call has.
const GONE_AFTER: Duration = Duration::from_secs(60);

/// Output that is on the server and is no attempt's yet.
pub(super) struct Upload {
    /// The attempt that it is for.
    pub(super) fence: Fence,
    /// Where it is.
    pub(super) key: String,
    /// How many parts it has.
    pub(super) parts: u64,
}

impl RedisShelf {
    /// Sends output. Each part has all the time that a call has: how long the whole takes
    /// depends on how much it is. Nothing comes of it if the server has forgotten the
    /// beginning before the end was sent: a process may be stopped meanwhile.
    pub(super) fn upload(
        &mut self,
        fence: Fence,
        frames: &Frames,
    ) -> Result<Option<Upload>, StoreError> {
        let mut upload = Upload { fence, key: self.keys.upload(row::drawn()?), parts: 0 };
        let mut parts = Parts::of(frames, PART);
        let lost = |why| StoreError::new(Trouble::Output, format!("the file that holds it: {why}"));
        while let Some(part) = parts.read_next().map_err(lost)? {
            let there = self.send(&upload, part)?;
            upload.parts += 1;
            if there != upload.parts {
                self.drop_upload(&upload);
                return Ok(None);
            }
        }
        Ok(Some(upload))
    }

    /// Sends a part; says how many are there.
    fn send(&mut self, upload: &Upload, part: &[u8]) -> Result<u64, StoreError> {
        let deadline = Deadline::after(self.limit);
        let mut sent = redis::pipe();
        // A server cannot count further than this.
        let gone_after = to_ms(GONE_AFTER.saturating_add(self.limit)).min(1 << 50);
        sent.cmd("RPUSH").arg(&upload.key).arg(part);
        sent.cmd("PEXPIRE").arg(&upload.key).arg(gone_after).ignore();
        // Once: a part that is there twice would be a wrong output.
        let there: Result<(u64,), _> =
            self.line.exchange(deadline, |connection| sent.query(connection));
        there.map(|(there,)| there).map_err(|failure| self.line.sentence(&failure, deadline))
    }

    /// Lets go of an upload that became no output.
    pub(super) fn drop_upload(&mut self, upload: &Upload) {
        let deadline = Deadline::after(self.limit.min(Duration::from_secs(1)));
        let mut gone = redis::cmd("UNLINK");
        gone.arg(&upload.key);
        // What is left all the same goes by itself.
        let _ = self.line.exchange(deadline, |connection| gone.exec(connection));
    }

    /// Fetches the output of an attempt: as a file without a name, if it is much.
    pub(super) fn fetch_output(&mut self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        let key = self.keys.output(fence);
        let (parts, first): (usize, Vec<Vec<u8>>) = {
            let mut asked = redis::pipe();
            asked.cmd("LLEN").arg(&key);
            asked.cmd("LRANGE").arg(&key).arg(0).arg(INSIDE / PART - 1);
            self.line.ask_by(Deadline::after(self.limit), |connection| asked.query(connection))?
        };
        if parts == 0 {
            return Ok(None);
        }
        if first.len() == parts {
            return Ok(Some(Frames::Bytes(first.concat())));
        }
        let lost = |why: std::io::Error| {
            StoreError::new(Trouble::Other, format!("the output cannot be kept in a file: {why}"))
        };
        let mut file = Spool::Unnamed.create().map_err(lost)?;
        let mut length = 0;
        for part in &first {
            file.write_all(part).map_err(lost)?;
            length += part.len() as u64;
        }
        for place in first.len()..parts {
            let mut asked = redis::cmd("LINDEX");
            asked.arg(&key).arg(place);
            let part: Option<Vec<u8>> = self.line.ask(&asked, Deadline::after(self.limit))?;
            // It was pruned meanwhile, and there is as little of it as if it was before.
            let Some(part) = part else { return Ok(None) };
            file.write_all(&part).map_err(lost)?;
            length += part.len() as u64;
        }
        Ok(Some(Frames::File(Arc::new(file), length)))
    }
}
