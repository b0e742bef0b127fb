//! `complete KEY`: records how it ended what was begun, or what was interrupted.

mod unresolved;

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::claim::attempt::{Attempt, CommandSummary, Extent, Ownership, State};
use crate::claim::decide::{Decision, Of, OnceTerms, Request, Terms};
use crate::claim::fence::Fence;
use crate::claim::fingerprint::Fingerprint;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Tie};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::period::Calendar;
use crate::cli::{CompleteArgs, WaitArgs};
use crate::exit::{self, Ending, Refusal};
use crate::place::Place;
use crate::process::frames::Stream;
use crate::process::host;
use crate::process::recorder::Recorder;
use crate::process::stdin::read_pieces;
use crate::report::claims::Settlement;
use crate::store::{Completion, LostWhy, Output, Owned, Resumed, Spool, Store, Verdict};

use super::call::account::Account;
use super::call::{Asked, Call};
use super::context::{Context, random};
use super::judging::{Validity, judge};
use super::keeping::{calendar, keep};
use super::playing::digests;
use super::script::settle::{Settling, Timeliness, run_time, timeliness, token_for};

/// Records the outcome.
pub(super) fn run(context: &Context, args: &CompleteArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(Kind::Once, args.key.key())?;
    if args.unresolved {
        return unresolved::settle(context, &subject, args);
    }
    let token = token_for(context, &subject, &args.token)?;
    let waits = WaitArgs::default();
    let mut account = Account::unwritten(context, &subject);
    let call = Call::with(context, ((), &waits), request(&subject, token)?, &mut account);
    let settling = Settling { context, subject: &subject, token, json: args.json };
    Completing { settling, args, calendar: calendar(&args.keep)?, call }.run()
}

/// What is asked for where nothing is known of the key (`--upsert-missing`).
fn request(subject: &Subject, token: Token) -> anyhow::Result<Request> {
    Ok(Request {
        subject: subject.clone(),
        token,
        new_operation: OperationId(random()?),
        fingerprint: Fingerprint::of(Vec::new()),
        command: CommandSummary { word: "complete".to_owned(), words: 0 },
        lease: Duration::from_secs(60),
        parent: None,
        terms: Terms::Once(OnceTerms { of: Of::Missing, ..OnceTerms::default() }),
    })
}

/// One call that records an outcome by its token.
struct Completing<'a> {
    settling: Settling<'a>,
    args: &'a CompleteArgs,
    calendar: Option<Calendar>,
    call: Call<'a, ()>,
}

/// What is to be recorded, and the file that it may be in until it is.
struct Given {
    output: Option<Output>,
    _spool: Removed,
}

/// A file that goes when it is let go of; what was recorded has a name of its own.
struct Removed(Spool);

impl Drop for Removed {
    fn drop(&mut self) {
        self.0.remove();
    }
}

impl Completing<'_> {
    fn run(self) -> anyhow::Result<Ending> {
        let context = self.settling.context;
        let store = if self.args.upsert_missing {
            Some(context.open_to_write()?)
        } else {
            context.open_existing()?
        };
        let Some(mut store) = store else {
            return self.settling.lost(None, LostWhy::Missing);
        };
        match self.settling.resume(&mut *store)? {
            Resumed::Claim(claim) => {
                let given = self.given(&*store, &claim.ownership())?;
                self.record(store, claim, &given)
            }
            Resumed::Ended(own) => self.again(&mut *store, &own),
            Resumed::Lost(LostWhy::Missing) if self.args.upsert_missing => self.upsert(store),
            Resumed::Lost(why) => self.settling.lost(Some(&mut *store), why),
        }
    }

    /// Claims what nothing is known of, and records it. The result is read first: what
    /// cannot be read leaves nothing behind.
    fn upsert(mut self, mut store: Box<dyn Store>) -> anyhow::Result<Ending> {
        let Request { subject, token, .. } = self.call.request.clone();
        let given = self.given(&*store, &Ownership { subject, token, fence: Fence(0) })?;
        let holder = host::ourselves(&self.settling.context.clock);
        // It ends with us; on a server, where nobody would see that, with its lease.
        let tie = match self.settling.context.place() {
            Place::File(_) => Tie::Process,
            Place::Server(_) => Tie::Time,
        };
        let claimant = Claimant { holder, tie, group: None };
        match self.call.ask_for(&mut *store, |_| Ok((claimant, ())))? {
            Asked::Won(won) => self.record(store, won.claim, &given),
            Asked::Over(ending) => Ok(ending),
            Asked::Not(decision) => match *decision {
                // Somebody was faster, perhaps with this very token.
                Decision::Known(newest) if newest.token == self.settling.token => {
                    match self.settling.resume(&mut *store)? {
                        Resumed::Claim(claim) => self.record(store, claim, &given),
                        Resumed::Ended(own) => {
                            self.compare(&mut *store, &own, given.output.as_ref())
                        }
                        Resumed::Lost(why) => self.settling.lost(Some(&mut *store), why),
                    }
                }
                _ => self.settling.lost(Some(&mut *store), LostWhy::Superseded),
            },
            Asked::Again => Err(store.locked_for(self.settling.context.store_timeout()).into()),
        }
    }

    /// Reads what is to be recorded.
    fn given(&self, store: &dyn Store, owner: &Ownership) -> anyhow::Result<Given> {
        let spool = Removed(store.draft(owner)?);
        Ok(Given { output: self.result(&spool.0)?, _spool: spool })
    }

    fn record(
        mut self,
        mut store: Box<dyn Store>,
        claim: Claim,
        given: &Given,
    ) -> anyhow::Result<Ending> {
        let context = self.settling.context;
        let attempt = claim.attempt().clone();
        let validity = match self.validate(&attempt, given.output.as_ref())? {
            Ok(validity) => validity,
            Err(ending) => return Ok(ending),
        };
        let timeliness = timeliness(context, &mut *store, (Kind::Once, &attempt))?;
        let (verdict, code, reason) = match &validity {
            Validity::Valid => {
                let keep = keep(&self.args.keep, self.calendar.as_ref(), attempt.started);
                (Verdict::Recorded { keep }, self.args.exit_code, None)
            }
            Validity::Refused(why) => {
                (Verdict::Failed { rest: None }, exit::REFUSED, Some(why.clone()))
            }
        };
        let completion = Completion {
            verdict,
            outcome: Some(Outcome::Exited(code)),
            reason,
            run: Some(run_time(context, attempt.started)),
            output: given.output.clone(),
        };
        let spent = store.complete(claim, &completion);
        match (self.settling.spent(spent)?, validity) {
            (Owned::Yes, Validity::Valid) => {
                store.tidy();
                self.settling.done(Settlement::Recorded, (&attempt, timeliness))
            }
            (Owned::Yes, Validity::Refused(why)) => {
                self.settling.print(Settlement::Refused, timeliness)?;
                let key = &self.settling.subject.key;
                let message = format!("{key}: {why}; it is not recorded");
                Err(Refusal { status: exit::REFUSED, message }.into())
            }
            // The same token may have been at work twice at once.
            (Owned::Lost(LostWhy::AlreadyDone), _) => {
                let chain = store.chain(self.settling.subject)?;
                let own = chain.into_iter().find(|found| found.token == attempt.token);
                match own {
                    Some(own) => self.compare(&mut *store, &own, completion.output.as_ref()),
                    None => self.settling.lost(Some(&mut *store), LostWhy::Superseded),
                }
            }
            (Owned::Lost(why), _) => self.settling.lost(Some(&mut *store), why),
        }
    }

    /// Has the result looked at, if that was asked for and the outcome is a success.
    fn validate(
        &mut self,
        attempt: &Attempt,
        output: Option<&Output>,
    ) -> anyhow::Result<Result<Validity, Ending>> {
        let (Some(validator), Some(output), 0) = (&self.args.validate, output, self.args.exit_code)
        else {
            return Ok(Ok(Validity::Valid));
        };
        judge(&mut self.call, attempt, (validator, output.frames.clone()))
    }

    /// The attempt of this token has ended: recording the same again changes nothing.
    fn again(&self, store: &mut dyn Store, own: &Attempt) -> anyhow::Result<Ending> {
        if own.state != State::Done {
            return self.settling.lost(Some(store), LostWhy::AlreadyDone);
        }
        let output = self.result(&Spool::Unnamed)?;
        self.compare(store, own, output.as_ref())
    }

    /// Whether what is on record is what was to be recorded.
    fn compare(
        &self,
        store: &mut dyn Store,
        own: &Attempt,
        output: Option<&Output>,
    ) -> anyhow::Result<Ending> {
        let same_outcome = own.outcome() == Some(Outcome::Exited(self.args.exit_code));
        let same_output = match (own.output(), output) {
            (None, None) => true,
            (Some(kept), Some(given)) => {
                let frames = store.output(own.fence)?;
                kept.bytes == given.summary.bytes
                    && match frames {
                        Some(frames) => digests(&frames)? == digests(&given.frames)?,
                        None => false,
                    }
            }
            _ => false,
        };
        if own.state == State::Done && same_outcome && same_output {
            return self.settling.done(Settlement::Recorded, (own, Timeliness::InTime));
        }
        self.settling.lost(Some(store), LostWhy::AlreadyDone)
    }

    /// The result that the caller gives, as output; nothing if he gives none, which is
    /// not an empty one.
    fn result(&self, spool: &Spool) -> anyhow::Result<Option<Output>> {
        let Some(path) = &self.args.result else { return Ok(None) };
        let name = || format!("{}: its result {}", self.settling.subject.key, path.display());
        let input = open(path).with_context(name)?;
        let mut recorder = Recorder::new(None, spool.clone());
        let read = read_pieces(&input, |piece| {
            recorder.record(Stream::Out, piece);
            if recorder.is_full() {
                recorder.store();
            }
            // There is no use in reading on.
            recorder
                .trouble()
                .map_or(Ok(()), |why| Err(io::Error::new(why.kind(), why.to_string())))
        });
        let recording = recorder.finish();
        let trouble = match (read, recording.trouble) {
            (Err(why), _) => Some(why.to_string()),
            (Ok(()), trouble) => trouble,
        };
        if trouble.is_some() || recording.output.summary.extent == Extent::Truncated {
            spool.remove();
            let message = format!("{} cannot be kept: {}", name(), trouble.unwrap_or_default());
            return Err(Refusal { status: exit::NOT_RECORDED, message }.into());
        }
        Ok(Some(recording.output))
    }
}

fn open(path: &Path) -> io::Result<File> {
    if path.as_os_str() == "-" {
        return io::stdin().as_fd().try_clone_to_owned().map(File::from);
    }
    File::open(path)
}
