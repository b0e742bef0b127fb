//! `lease NAME -- COMMAND`: runs a command while holding a name, so that it never
//! overlaps itself.
//!
//! The command has our own standard streams; nothing is captured. A lease that
//! cannot be renewed stops its command before it ends.

use std::time::Instant;

use anyhow::anyhow;

use crate::claim::attempt::{Attempt, CommandSummary};
use crate::claim::decide::{Decision, Request, Terms};
use crate::claim::duration::for_people;
use crate::claim::fingerprint::Fingerprint;
use crate::claim::held::Claim;
use crate::claim::id::{OperationId, Token};
use crate::claim::key::Kind;
use crate::cli::{LeaseArgs, first_word};
use crate::exit::{self, Ending};
use crate::place::Place;
use crate::process::launch::Streams;
use crate::process::supervise::{Ended, Stopped};
use crate::report::line::CallOutcome;
use crate::store::{Completion, LostWhy, Owned, Store, StoreError, Verdict};

use super::call::account::Account;
use super::call::keeper::Renewal;
use super::call::running::{Begun, Under, ending};
use super::call::wait::Woken;
use super::call::{Asked, Call};
use super::context::{Context, random};

/// Runs the command while holding the name.
pub(super) fn run(context: &Context, args: &LeaseArgs) -> anyhow::Result<Ending> {
    let subject = context.subject(Kind::Lease, args.name.name())?;
    let mut account = Account::open(context, args.run.report.as_ref(), &subject)?;
    let request = Request {
        subject,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint: Fingerprint::of(Vec::new()),
        command: CommandSummary {
            word: first_word(&args.run.command).to_string_lossy().into_owned(),
            words: u32::try_from(args.run.command.len()).unwrap_or(u32::MAX),
        },
        lease: args.ttl(),
        parent: None,
        terms: Terms::Lease(args.slots.terms()),
    };
    let mut call = Call::new(context, &args.run, request, &mut account);
    call.renewal = if args.no_renew { Renewal::Never } else { Renewal::Always };
    let ending = Lease(call).run();
    if ending.is_err() && !account.is_settled() {
        account.settle(CallOutcome::Error);
    }
    account.close(context);
    ending
}

/// One call of `lease`.
struct Lease<'a>(Call<'a>);

impl Lease<'_> {
    fn run(mut self) -> anyhow::Result<Ending> {
        let ending = self.acquire_and_run();
        // The end of the process closes what is open, all at once.
        std::mem::forget(self);
        ending
    }

    fn acquire_and_run(&mut self) -> anyhow::Result<Ending> {
        let opened = Instant::now();
        let mut store = self.0.context.open_to_write()?;
        self.0.account.in_store(opened);
        loop {
            match self.0.ask(&mut *store, Streams::Inherited)? {
                Asked::Won(won) => match self.0.begin(store, *won, |_, _, _, _| Ok(None))? {
                    Begun::Running(under) => return self.see_through(*under),
                    Begun::Over(ending) => return Ok(ending),
                    Begun::Again(again) => store = again,
                },
                Asked::Not(decision) => {
                    let Decision::Busy(busy) = *decision else {
                        let name = &self.0.request.subject.key;
                        return Err(anyhow!("{name}: the store gave no answer"));
                    };
                    if let Woken::Over(ending) = self.0.wait(&mut *store, &busy)? {
                        return Ok(ending);
                    }
                }
                Asked::Again => {}
                Asked::Over(ending) => return Ok(ending),
            }
        }
    }

    /// Runs the command to its end, and gives the name back.
    fn see_through(&mut self, under: Under) -> anyhow::Result<Ending> {
        let limiting = under.limiting_tenure();
        let Under { claim, mut keeper, transacting, running, .. } = under;
        let rules = (&*transacting, limiting.as_deref());
        let ended = self.0.see_through(running, None, rules, |waker| keeper.begin(waker))?;
        let mut store = keeper.stop()?;
        self.0.account.ended(Some(ended.outcome));
        self.0.account.ran(ended.run, None);
        let began = Instant::now();
        let given_back = self.give_back(&mut *store, claim, &ended);
        self.0.account.in_store(began);
        let ending = match (given_back, ended.stopped) {
            (Ok(Owned::Lost(why)), _) => self.lost(&mut *store, &ended, why),
            (_, Some(Stopped::Lost)) => self.not_renewed(&ended),
            (_, Some(Stopped::TimedOut)) => self.0.timed_out(&ended),
            (Err(error), None) => {
                let free = match self.0.context.place() {
                    Place::File(_) => "once we are gone",
                    Place::Server(_) => "when its lease ends",
                };
                self.0.context.voice.warn(&format!(
                    "{}: it could not be given back, and is free {free}: {error}",
                    self.0.request.subject.key
                ));
                self.ran(&ended)
            }
            (Ok(Owned::Yes), None) => self.ran(&ended),
        };
        // The end of the process closes it [measured: 0.05 ms less].
        std::mem::forget(store);
        Ok(ending)
    }

    /// Releases the name. Whoever waits for it is served before anything else.
    fn give_back(
        &mut self,
        store: &mut dyn Store,
        claim: Claim,
        ended: &Ended,
    ) -> Result<Owned, StoreError> {
        let completion = Completion {
            verdict: Verdict::Released,
            outcome: Some(ended.outcome),
            reason: match ended.stopped {
                Some(Stopped::Lost) => Some("it could not be renewed".to_owned()),
                Some(Stopped::TimedOut) => Some("its command ran for too long".to_owned()),
                None => None,
            },
            run: Some(ended.run),
            output: None,
        };
        let what = (claim.attempt().fence, claim.attempt().group);
        let owned = store.complete(claim, &completion).map_err(|unrecorded| unrecorded.error)?;
        self.0.spent(store, what, owned);
        Ok(owned)
    }

    fn ran(&mut self, ended: &Ended) -> Ending {
        let (context, name) = (self.0.context, &self.0.request.subject.key);
        context
            .voice
            .tell(|| format!("{name}: held for {}, {}", for_people(ended.run), ended.outcome));
        let well = ended.outcome.is_success();
        self.0.account.settle(if well { CallOutcome::Ran } else { CallOutcome::Failed });
        ending(ended)
    }

    /// Somebody else has it, or may have.
    fn lost(&mut self, store: &mut dyn Store, ended: &Ended, why: LostWhy) -> Ending {
        let successor = self.successor(store);
        let topic = self.0.topic();
        self.0.context.voice.warn(&topic.lease_lost(why, successor.as_ref(), ended.outcome));
        self.0.account.settle(CallOutcome::Lost);
        Ending::Status(exit::LOST)
    }

    /// The newest holder, as far as that can be known.
    fn successor(&self, store: &mut dyn Store) -> Option<Attempt> {
        let chain = store.chain(&self.0.request.subject).ok()?;
        let ours = chain.iter().find(|attempt| attempt.token == self.0.request.token);
        let ours = ours.map(|attempt| attempt.generation);
        chain.into_iter().find(|attempt| {
            ours.is_none_or(|ours| attempt.generation > ours) && !attempt.is_tombstone()
        })
    }

    fn not_renewed(&mut self, ended: &Ended) -> Ending {
        let lease = self.0.request.lease;
        let topic = self.0.topic();
        let sentence = match self.0.renewal {
            Renewal::Always => topic.not_renewed(lease, ended.outcome),
            Renewal::Never => topic.ran_out(lease, ended.outcome),
        };
        self.0.context.voice.warn(&sentence);
        self.0.account.settle(CallOutcome::Lost);
        Ending::Status(exit::LOST)
    }
}
