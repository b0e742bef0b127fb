//! Finds what a token is good for, and says what became of it.

use std::time::Duration;

use crate::claim::attempt::{Attempt, State};
use crate::claim::fence::Fence;
use crate::claim::holder::Tie;
use crate::claim::id::Token;
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::WallMs;
use crate::cli::script::TokenArgs;
use crate::cli::values::BAD_TOKEN;
use crate::exit::{self, Ending, Refusal};
use crate::report::claims::{Settlement, SettlementDocument};
use crate::store::row::is_held;
use crate::store::{
    Completion, LostWhy, Owned, Resumed, Store, Trouble, Unrecorded, Verdict, with_lives,
};

use super::super::call::environment::{fence_above, held_above, token_above};
use super::super::context::{Context, print_document};

/// The token that the call names, or the environment.
pub(in crate::commands) fn token(args: &TokenArgs) -> anyhow::Result<Token> {
    if let Some(token) = args.token {
        return Ok(token);
    }
    match token_above() {
        Some(text) => Token::parse(&text)
            .ok_or_else(|| Refusal::usage(format!("DOUBLETAP_TOKEN: {BAD_TOKEN}")).into()),
        None => Err(Refusal::usage(
            "no token: name it with --token, or set DOUBLETAP_TOKEN to what begin or acquire printed",
        )
        .into()),
    }
}

/// The token for this key: the one that is named, or of those that the environment has
/// the one that was drawn for it. A script may hold a name within an operation.
pub(in crate::commands) fn token_for(
    context: &Context,
    subject: &Subject,
    args: &TokenArgs,
) -> anyhow::Result<Token> {
    let token = token(args)?;
    let held = held_above();
    if args.token.is_some() || held.is_empty() {
        return Ok(token);
    }
    let Some(mut store) = context.open_to_read()? else { return Ok(token) };
    let chain = store.chain(subject)?;
    let is_of = |token: &Token| chain.iter().any(|attempt| attempt.token == *token);
    let candidates = std::iter::once(token).chain(held.into_iter().rev());
    Ok(candidates.into_iter().find(is_of).unwrap_or(token))
}

/// The fence that goes with a token, if the environment says so.
pub(in crate::commands) fn fence_of(token: Token) -> Option<Fence> {
    let is_above = token_above().and_then(|text| Token::parse(&text)) == Some(token);
    if is_above { fence_above() } else { None }
}

/// Whether a claim was still good when it was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Timeliness {
    /// It was.
    InTime,
    /// Anybody could have taken it, and nobody had.
    Late,
}

/// Whether a claim that nobody has taken is still good.
pub(in crate::commands) fn timeliness(
    context: &Context,
    store: &mut dyn Store,
    (kind, attempt): (Kind, &Attempt),
) -> anyhow::Result<Timeliness> {
    let now = store.now()?;
    let seen = with_lives(vec![attempt.clone()], &mut context.witness())?;
    let good = seen.iter().any(|seen| is_held(seen, kind, &now));
    Ok(if good { Timeliness::InTime } else { Timeliness::Late })
}

/// How long ago an attempt was claimed: what a script did took as long.
pub(in crate::commands) fn run_time(context: &Context, started: WallMs) -> Duration {
    started.age(context.now().wall)
}

/// What a call with a token is about, and whether it prints a document.
pub(in crate::commands) struct Settling<'a> {
    pub(in crate::commands) context: &'a Context,
    pub(in crate::commands) subject: &'a Subject,
    pub(in crate::commands) token: Token,
    pub(in crate::commands) json: bool,
}

impl Settling<'_> {
    /// It is done.
    pub(in crate::commands) fn done(
        &self,
        settlement: Settlement,
        (attempt, timeliness): (&Attempt, Timeliness),
    ) -> anyhow::Result<Ending> {
        let topic = self.context.topic(self.subject);
        if timeliness == Timeliness::Late {
            self.context.voice.note(&topic.late(settlement.as_str(), attempt));
        } else {
            self.context.voice.tell(|| format!("{}: {}", self.subject.key, settlement.as_str()));
        }
        self.print(settlement, timeliness)?;
        Ok(Ending::OK)
    }

    /// Prints the document, if one was asked for.
    pub(in crate::commands) fn print(
        &self,
        settlement: Settlement,
        timeliness: Timeliness,
    ) -> anyhow::Result<()> {
        if self.json {
            let printed = print_document(&SettlementDocument {
                status: settlement.as_str(),
                kind: Some(self.subject.kind.as_str()),
                namespace: Some(self.subject.namespace.to_string()),
                key: Some(self.subject.key.to_string()),
                late: timeliness == Timeliness::Late,
            });
            // What was to be done is done.
            let _ = printed.map_err(|why| Refusal {
                status: exit::OUTPUT_LOST,
                message: format!("{}: {}, but: {why:#}", self.subject.key, settlement.as_str()),
            })?;
        }
        Ok(())
    }

    /// It is not: the token is good for nothing any more.
    pub(in crate::commands) fn lost(
        &self,
        store: Option<&mut dyn Store>,
        why: LostWhy,
    ) -> anyhow::Result<Ending> {
        let chain = store.map_or_else(|| Ok(Vec::new()), |store| store.chain(self.subject))?;
        let own = chain.iter().find(|attempt| attempt.token == self.token);
        let message = self.context.topic(self.subject).not_yours(
            why,
            (chain.first(), own),
            &self.context.searched(self.subject),
        );
        self.print(settlement_of(why), Timeliness::InTime)?;
        Err(Refusal { status: exit::LOST, message }.into())
    }

    /// It is good no more, and nobody has taken it so far.
    pub(in crate::commands) fn expired(&self, attempt: &Attempt) -> anyhow::Result<Ending> {
        self.print(Settlement::Expired, Timeliness::Late)?;
        let message = self.context.topic(self.subject).is_over(attempt);
        Err(Refusal { status: exit::LOST, message }.into())
    }

    /// Takes the answer of the store to an end.
    pub(in crate::commands) fn spent(
        &self,
        spent: Result<Owned, Unrecorded>,
    ) -> anyhow::Result<Owned> {
        spent.map_err(|Unrecorded { error, .. }| {
            let key = &self.subject.key;
            let message = match error.trouble() {
                Trouble::Unacknowledged => {
                    let why = error.what();
                    format!("{key}: the server has its end, but {why}; a fail-over may forget it")
                }
                _ => format!("{key}: its end could not be recorded: {error}"),
            };
            Refusal { status: exit::NOT_RECORDED, message }.into()
        })
    }

    /// Spends the claim without a result. Doing so again changes nothing.
    pub(in crate::commands) fn spend(
        &self,
        settlement: Settlement,
        verdict: Verdict,
        (outcome, reason): (Option<Outcome>, Option<String>),
    ) -> anyhow::Result<Ending> {
        let Some(mut store) = self.context.open_existing()? else {
            return self.lost(None, LostWhy::Missing);
        };
        let claim = match self.resume(&mut *store)? {
            Resumed::Claim(claim) => claim,
            Resumed::Ended(own) if is_end_of(&verdict, own.state) => {
                return self.done(settlement, (&own, Timeliness::InTime));
            }
            Resumed::Ended(_) => return self.lost(Some(&mut *store), LostWhy::AlreadyDone),
            Resumed::Lost(why) => return self.lost(Some(&mut *store), why),
        };
        let attempt = claim.attempt().clone();
        let timeliness = timeliness(self.context, &mut *store, (self.subject.kind, &attempt))?;
        // It was used, so a name is kept for as long as was asked for.
        let run = Some(run_time(self.context, attempt.started));
        let completion = Completion { verdict, outcome, reason, run, output: None };
        match self.spent(store.complete(claim, &completion))? {
            Owned::Yes => {
                store.tidy();
                self.done(settlement, (&attempt, timeliness))
            }
            Owned::Lost(why) => self.lost(Some(&mut *store), why),
        }
    }

    /// What the token is good for, in the store that is there.
    pub(in crate::commands) fn resume(&self, store: &mut dyn Store) -> anyhow::Result<Resumed> {
        let resumed = store.resume(self.subject, self.token)?;
        if let Resumed::Claim(claim) = &resumed {
            self.require_script(store, claim.attempt())?;
        }
        Ok(resumed)
    }

    /// A command does not give back what the doubletap that runs it holds: another would
    /// run beside it.
    pub(in crate::commands) fn require_script(
        &self,
        store: &mut dyn Store,
        attempt: &Attempt,
    ) -> anyhow::Result<()> {
        let (context, subject) = (self.context, self.subject);
        if attempt.tie != Tie::Wrapper
            || timeliness(context, store, (subject.kind, attempt))? == Timeliness::Late
        {
            return Ok(());
        }
        Err(Refusal::usage(format!(
            "{}: it is held by the doubletap that runs its command (pid {}), which gives it back when that ends",
            subject.key, attempt.holder.pid
        ))
        .into())
    }
}

/// Whether an attempt that ended in this state was given this verdict.
fn is_end_of(verdict: &Verdict, state: State) -> bool {
    match verdict {
        Verdict::Recorded { .. } => state == State::Done,
        Verdict::Failed { .. } => state == State::Failed,
        Verdict::Released => state == State::Released,
    }
}

/// The word for what was lost.
pub(in crate::commands) fn settlement_of(why: LostWhy) -> Settlement {
    match why {
        LostWhy::Missing => Settlement::Missing,
        LostWhy::Superseded => Settlement::Superseded,
        LostWhy::AlreadyDone => Settlement::AlreadyDone,
    }
}

/// What a token is for, found by nothing else.
pub(in crate::commands) fn found(
    context: &Context,
    token: Token,
    json: bool,
) -> anyhow::Result<(Box<dyn Store>, Subject, Attempt)> {
    if let Some(mut store) = context.open_existing()?
        && let Some((subject, attempt)) = store.find(token, fence_of(token))?
    {
        return Ok((store, subject, attempt));
    }
    if json {
        let _ = print_document(&SettlementDocument {
            status: Settlement::Missing.as_str(),
            kind: None,
            namespace: None,
            key: None,
            late: false,
        })?;
    }
    let store = context.place();
    let message = format!(
        "missing: nothing is known of this token in the store {store}: somebody else has taken what it was for, or it is of another store"
    );
    Err(Refusal { status: exit::LOST, message }.into())
}
