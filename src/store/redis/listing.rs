//! Finds chains and attempts by what indexes say of them.
//!
//! An index is written by the script that writes the rows, so it never misses one; a reader
//! that asks for rows in a second exchange may find that one is gone, and leaves it out.

use std::collections::VecDeque;
use std::time::Duration;

use redis::Pipeline;

use super::RedisShelf;
use super::keys::{self, Range};
use super::line::Deadline;
use super::reading::{Field, attempt, rows};
use super::scripts::{ENDED, Run, WALK};
use crate::claim::attempt::{Attempt, State};
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::claim::key::{Kind, Namespace, Subject};
use crate::claim::time::WallMs;
use crate::store::shelf::{Asked, Shelf as _};
use crate::store::unreadable::{Found, Unreadable};
use crate::store::{Chain, StoreError};

/// So many chains are read at once, and not many more bytes of them.
const CHAINS: usize = 200;
const BYTES: usize = 1 << 20;

/// So many members of an index.
const MEMBERS: usize = 500;

/// Who hears of a chain and its fields.
type Told<'a> = dyn FnMut(Subject, &[Field]) -> Result<(), StoreError> + 'a;

impl RedisShelf {
    pub(super) fn walk_chains(
        &mut self,
        asked: Asked<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let ranges = match asked {
            Asked::Keys(namespace) => {
                [Kind::Once, Kind::Lease].map(|kind| Range::of(kind, namespace)).to_vec()
            }
            Asked::Steps(operation) => vec![Range::of_steps(operation)],
        };
        let option = self.option();
        let mut tell = |subject: Subject, fields: &[Field]| {
            let (mut attempts, unreadable) = rows(&subject, fields);
            if let Some(row) = unreadable.first() {
                return Err(row.error(&option));
            }
            attempts.reverse();
            if attempts.is_empty() { Ok(()) } else { told(Chain { subject, attempts }) }
        };
        ranges.into_iter().try_for_each(|range| self.walk_range(range, &mut tell))
    }

    /// Looks at every row for those that cannot be read.
    pub(super) fn look_for_unreadable(&mut self) -> Result<Unreadable, StoreError> {
        let mut unreadable = Unreadable::default();
        self.walk_range(Range::all(), &mut |subject, fields| {
            rows(&subject, fields).1.into_iter().for_each(|row| unreadable.note(row));
            Ok(())
        })?;
        Ok(unreadable)
    }

    fn walk_range(&mut self, mut range: Range, told: &mut Told<'_>) -> Result<(), StoreError> {
        loop {
            let arguments = [
                range.first.clone(),
                range.last.clone(),
                self.keys.chains(),
                CHAINS.to_string(),
                BYTES.to_string(),
            ];
            let run = Run::of(&WALK, &[self.keys.subjects()], &arguments);
            let found: Vec<(String, Vec<Field>)> =
                self.line.ask_by(Deadline::after(self.limit), |connection| run.on(connection))?;
            let Some((last, _)) = found.last() else { return Ok(()) };
            range = range.after(last);
            for (identity, fields) in found {
                if let Some(subject) = keys::subject(&identity) {
                    told(subject, &fields)?;
                }
            }
        }
    }

    pub(super) fn keys_ended_before(
        &mut self,
        horizon: WallMs,
        after: Fence,
        namespace: Option<&Namespace>,
        at_most: usize,
    ) -> Result<Vec<(Fence, Subject)>, StoreError> {
        let (mut found, mut after) = (Vec::new(), after.0.to_string());
        while found.len() < at_most {
            let arguments = [
                after,
                keys::beginning(Kind::Once, namespace),
                horizon.0.to_string(),
                self.keys.chains(),
                MEMBERS.to_string(),
                (at_most - found.len()).to_string(),
            ];
            let run = Run::of(&ENDED, &[self.keys.fences()], &arguments);
            let (last, members): (String, Vec<(String, i64)>) =
                self.line.ask_by(Deadline::after(self.limit), |connection| run.on(connection))?;
            if last.is_empty() {
                break;
            }
            after = last;
            found.extend(members.into_iter().filter_map(|(member, fence)| {
                keys::member(&member).map(|(_, subject)| (Fence(fence), subject))
            }));
        }
        Ok(found)
    }

    pub(super) fn unended_attempts(&mut self) -> Result<Vec<(Subject, Attempt)>, StoreError> {
        let mut asked = redis::cmd("ZREVRANGE");
        asked.arg(self.keys.running()).arg(0).arg(-1);
        let members: Vec<String> = self.line.ask(&asked, Deadline::after(self.limit))?;
        let mut members: VecDeque<_> = members.into();
        let mut unended = Vec::new();
        while !members.is_empty() {
            let next: Vec<_> = members.drain(..members.len().min(MEMBERS)).collect();
            let found = self.rows_of(&next)?.into_iter().flatten();
            unended.extend(found.filter(|(_, row)| row.state == State::Running));
        }
        Ok(unended)
    }

    /// The attempts that members name, as far as they are there, each by itself.
    fn rows_of(&mut self, members: &[String]) -> Result<Vec<Found>, StoreError> {
        let known = members.iter().filter_map(|member| keys::member(member));
        let (mut asked, mut subjects) = (Pipeline::new(), Vec::new());
        for (generation, subject) in known {
            asked.cmd("HGET").arg(self.keys.chain(&subject)).arg(generation);
            subjects.push((generation, subject));
        }
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<Option<Vec<u8>>> =
            self.line.ask_by(Deadline::after(self.limit), |connection| asked.query(connection))?;
        let found = subjects.into_iter().zip(rows);
        let found = found.filter_map(|(named, row)| row.map(|row| (named, row)));
        let read = found.map(|((generation, subject), row)| {
            let read = attempt(&subject, generation, &row);
            read.map(|attempt| (subject, attempt))
        });
        Ok(read.collect())
    }

    /// The member that names the attempt of a fence.
    fn member_of(&mut self, fence: Fence) -> Result<Option<String>, StoreError> {
        let mut asked = redis::cmd("ZRANGEBYSCORE");
        asked.arg(self.keys.fences()).arg(fence.0).arg(fence.0);
        let members: Vec<String> = self.line.ask(&asked, Deadline::after(self.limit))?;
        Ok(members.into_iter().next())
    }

    pub(super) fn find_subject(&mut self, fence: Fence) -> Result<Option<Subject>, StoreError> {
        let member = self.member_of(fence)?;
        Ok(member.and_then(|member| keys::member(&member).map(|(_, subject)| subject)))
    }

    pub(super) fn find_attempt(
        &mut self,
        token: Token,
        fence: Option<Fence>,
    ) -> Result<Option<(Subject, Attempt)>, StoreError> {
        let fence = if let Some(fence) = fence {
            Some(fence)
        } else {
            let mut asked = redis::cmd("HGET");
            asked.arg(self.keys.tokens()).arg(token.to_string());
            self.line.ask::<Option<i64>>(&asked, Deadline::after(self.limit))?.map(Fence)
        };
        let Some(fence) = fence else { return Ok(None) };
        let Some(member) = self.member_of(fence)? else { return Ok(None) };
        let found = self.rows_of(&[member])?.pop().transpose();
        let found = found.map_err(|row| row.error(&self.option()))?;
        Ok(found.filter(|(_, attempt)| attempt.token == token))
    }

    pub(super) fn read_longest_lease(&mut self) -> Result<Duration, StoreError> {
        let mut asked = redis::cmd("HKEYS");
        asked.arg(self.keys.leases());
        let leases: Vec<u64> = self.line.ask(&asked, Deadline::after(self.limit))?;
        Ok(leases.into_iter().max().map_or(Duration::ZERO, Duration::from_millis))
    }
}
