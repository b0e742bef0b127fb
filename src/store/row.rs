//! What every store does alike: the rows that a plan and an end come to, and
//! the small rules about them.

use std::time::Duration;

use crate::claim::attempt::{Attempt, CommandSummary, End, Origin, Promise, Remains, State};
use crate::claim::decide::{Plan, Request, Seen, Terms};
use crate::claim::fence::Fence;
use crate::claim::fingerprint::Fingerprint;
use crate::claim::held::Claim;
use crate::claim::holder::{Claimant, Holder, Life, PidNamespace, StartTime, Tie};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::{Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::{Expiry, Now, Until};

use super::{
    Completion, Dropped, Keep, KeepUntil, Liveness, LostWhy, Resumed, StoreError, Trouble, Verdict,
};

/// The row of a new claim.
pub(crate) fn claimed(
    request: &Request,
    claimant: &Claimant,
    plan: &Plan,
    fence: Fence,
    lock_inode: Option<u64>,
    now: &Now,
) -> Attempt {
    Attempt {
        generation: plan.generation,
        state: State::Running,
        operation: plan.operation,
        number: plan.number,
        origin: plan.origin,
        token: request.token,
        fence,
        fingerprint: request.fingerprint.clone(),
        command: request.command.clone(),
        holder: claimant.holder.clone(),
        tie: claimant.tie,
        parent: request.parent.as_ref().map(|parent| parent.fence),
        lock_inode,
        group: claimant.group,
        remains: Remains::Possible,
        lease: request.lease,
        until: Until::after(now, request.lease),
        rests_until: match request.terms {
            Terms::Lease(terms) if !terms.min_hold.is_zero() => {
                Some(Until::after(now, terms.min_hold))
            }
            Terms::Lease(_) | Terms::Once(_) => None,
        },
        started: now.wall,
        end: None,
    }
}

/// Whether processes of an attempt that is superseded now may be left: not if
/// the kernel has just said that nobody is, and not if it has started none.
pub(crate) fn remains_of(superseded: &Seen) -> Remains {
    if superseded.attempt.tie != Tie::Wrapper {
        return Remains::None;
    }
    match superseded.life {
        Life::Gone => Remains::None,
        Life::Alive | Life::Orphaned | Life::Unknown => Remains::Possible,
    }
}

/// Whether nobody has looked yet for the processes of an attempt that somebody else ended.
pub(crate) fn is_unlooked(attempt: &Attempt) -> bool {
    matches!(attempt.state, State::Interrupted | State::Forgotten)
        && attempt.remains == Remains::Possible
}

/// Whether a key is kept busy by an attempt that nobody holds.
pub(crate) fn rests(attempt: &Attempt, now: &Now) -> bool {
    attempt.rests_until.as_ref().is_some_and(|until| until.left(now).is_some())
}

/// So many attempts of a lease are left for others to look for.
const LEFT_TO_OTHERS: usize = 16;

/// What goes of a lease though nobody has looked for its processes: they were under another
/// kernel or in another PID namespace than whoever claims, where nobody may ever claim again.
/// The newest few stay; all would be read at every claim and every renewal.
pub(crate) fn too_many_of_others(chain: &[Attempt], here: &Holder, now: &Now) -> Vec<Fence> {
    let sees =
        |there: &Holder| there.boot_id == here.boot_id && there.pid_namespace == here.pid_namespace;
    let of_others = chain
        .iter()
        .filter(|attempt| is_unlooked(attempt) && !rests(attempt, now) && !sees(&attempt.holder));
    let mut all: Vec<Fence> = of_others.map(|attempt| attempt.fence).collect();
    all.sort();
    all.truncate(all.len().saturating_sub(LEFT_TO_OTHERS));
    all
}

/// The end of an attempt that somebody else ended at `now`.
pub(crate) fn cut_off(now: &Now) -> End {
    End {
        at: now.wall,
        outcome: None,
        reason: None,
        run: None,
        output: None,
        expiry: Expiry::Never,
        promise: Promise::Default,
    }
}

/// The state and the end that a completion comes to.
pub(crate) fn ended(completion: &Completion, now: &Now) -> (State, End) {
    let mut end = End {
        outcome: completion.outcome,
        reason: completion.reason.clone(),
        run: completion.run,
        output: completion.output.as_ref().map(|output| output.summary),
        ..cut_off(now)
    };
    match completion.verdict {
        Verdict::Recorded { keep } => {
            end.expiry = keep.expiry(now.wall);
            end.promise = keep.promise;
            (State::Done, end)
        }
        Verdict::Failed { .. } => (State::Failed, end),
        Verdict::Released => (State::Released, end),
    }
}

/// Whether a name is given back under which nothing ran: it is kept for nobody.
pub(crate) fn never_ran(completion: &Completion) -> bool {
    matches!(completion.verdict, Verdict::Released) && completion.run.is_none()
}

/// Until when the key stays busy from the end on, if a completion says so.
pub(crate) fn rest(completion: &Completion, now: &Now) -> Option<Until> {
    match completion.verdict {
        Verdict::Failed { rest } => rest.map(|span| Until::after(now, span)),
        Verdict::Recorded { .. } | Verdict::Released => None,
    }
}

/// The end of an interrupted attempt that a person settled.
pub(crate) fn settled(outcome: Outcome, now: &Now) -> (State, End) {
    ended(
        &Completion {
            verdict: Verdict::Recorded {
                keep: Keep { until: KeepUntil::Pruned, promise: Promise::Default },
            },
            outcome: Some(outcome),
            reason: Some("settled by hand".to_owned()),
            run: None,
            output: None,
        },
        now,
    )
}

/// The newest attempt of a key, or what stands for it where that is a generation of which
/// nothing can be read.
pub(crate) fn newest_known(newest: Option<&Attempt>, last: Option<i64>, now: &Now) -> Attempt {
    let generation = newest.map(|newest| newest.generation).max(last).unwrap_or(0);
    let known = newest.cloned().unwrap_or_else(|| Attempt {
        generation,
        state: State::Forgotten,
        operation: OperationId([0; 16]),
        number: 0,
        origin: Origin::Ordinary,
        token: Token([0; 16]),
        fence: Fence(0),
        fingerprint: Fingerprint::of(Vec::new()),
        command: CommandSummary { word: String::new(), words: 0 },
        holder: Holder {
            host: String::new(),
            boot_id: now.boot_id.clone(),
            pid: 0,
            start: StartTime(0),
            pid_namespace: PidNamespace(0),
        },
        tie: Tie::Wrapper,
        parent: None,
        lock_inode: None,
        group: None,
        remains: Remains::None,
        lease: Duration::ZERO,
        until: Until::after(now, Duration::ZERO),
        rests_until: None,
        started: now.wall,
        end: None,
    });
    Attempt { generation, ..known }
}

/// The generation that a forgotten key leaves behind. It is nobody's: its
/// token is never handed out.
pub(crate) fn tombstone(newest: &Attempt, fence: Fence, token: Token, now: &Now) -> Attempt {
    Attempt {
        generation: newest.generation.saturating_add(1),
        state: State::Forgotten,
        operation: OperationId(token.0),
        number: 0,
        origin: Origin::Ordinary,
        token,
        fence,
        fingerprint: Fingerprint::of(Vec::new()),
        tie: Tie::Wrapper,
        parent: None,
        lock_inode: None,
        group: None,
        remains: Remains::None,
        rests_until: None,
        started: now.wall,
        end: Some(cut_off(now)),
        ..newest.clone()
    }
}

/// What an owner lost its attempt to, told by the state it finds it in.
pub(crate) fn lost_to(state: State) -> LostWhy {
    match state {
        State::Done | State::Failed | State::Released => LostWhy::AlreadyDone,
        State::Running | State::Interrupted | State::Forgotten => LostWhy::Superseded,
    }
}

/// What a token is good for, told by the attempts of the key.
pub(crate) fn resumed(subject: &Subject, chain: Vec<Attempt>, token: Token) -> Resumed {
    if chain.is_empty() {
        return Resumed::Lost(LostWhy::Missing);
    }
    match chain.into_iter().find(|attempt| attempt.token == token) {
        Some(own) => match own.state {
            State::Running => Resumed::Claim(Claim::won(subject.clone(), own, None, Vec::new())),
            State::Done | State::Failed | State::Released => Resumed::Ended(Box::new(own)),
            State::Interrupted | State::Forgotten => Resumed::Lost(LostWhy::Superseded),
        },
        // Its attempt may have been removed since others took its place.
        None => Resumed::Lost(LostWhy::Superseded),
    }
}

/// Why the newest attempt of a key cannot be settled by hand, if it cannot.
pub(crate) fn not_to_be_settled(newest: &Seen, now: &Now) -> Option<Dropped> {
    match newest.attempt.state {
        State::Running if newest.counts(now) => {
            Some(Dropped::Held(newest.attempt.clone(), newest.life))
        }
        State::Running | State::Interrupted => None,
        State::Done | State::Failed | State::Forgotten | State::Released => {
            Some(Dropped::Resolved(newest.attempt.clone()))
        }
    }
}

/// A token that nobody is told: the tombstone's.
pub(crate) fn nobodys_token() -> Result<Token, StoreError> {
    drawn().map(Token)
}

/// A name that nobody else has drawn.
pub(crate) fn drawn() -> Result<[u8; 16], StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|why| {
        StoreError::new(Trouble::Other, format!("the kernel gives no random bytes: {why}"))
    })?;
    Ok(bytes)
}

/// Whether somebody has a right to the key through this attempt.
pub(crate) fn is_held(seen: &Seen, kind: Kind, now: &Now) -> bool {
    match kind {
        Kind::Once | Kind::Step => seen.counts(now),
        Kind::Lease => seen.holds(now).is_some(),
    }
}

/// Adds what is known of the holders.
///
/// # Errors
/// When the lock file cannot be used.
pub fn with_lives(
    attempts: Vec<Attempt>,
    liveness: &mut dyn Liveness,
) -> Result<Vec<Seen>, StoreError> {
    let seen = attempts.into_iter().map(|attempt| {
        let life = match attempt.state {
            State::Running => liveness.probe(&attempt)?,
            _ => Life::Gone,
        };
        Ok(Seen { attempt, life })
    });
    seen.collect()
}

/// The same, without a lock, for a chain that was read. Whoever is gone may have recorded
/// an end since then: what is seen of him goes with a chain that was read after he was.
///
/// # Errors
/// When the lock file cannot be used, or the chain not be read again.
pub fn seen_without_lock(
    mut chain: Vec<Attempt>,
    liveness: &mut dyn Liveness,
    mut read_again: impl FnMut() -> Result<Vec<Attempt>, StoreError>,
) -> Result<Vec<Seen>, StoreError> {
    loop {
        let seen = with_lives(chain, liveness)?;
        let is_left = |seen: &Seen| {
            seen.attempt.state == State::Running && matches!(seen.life, Life::Gone | Life::Orphaned)
        };
        if !seen.iter().any(is_left) {
            return Ok(seen);
        }
        chain = read_again()?;
        if chain.iter().eq(seen.iter().map(|seen| &seen.attempt)) {
            return Ok(seen);
        }
    }
}

/// Whether a decision needs the attempts before this one: it does while what
/// it has seen may be passed over.
pub(crate) fn may_be_passed_over(attempt: &Attempt) -> bool {
    attempt.origin == Origin::Rerun
        && matches!(attempt.state, State::Running | State::Failed | State::Interrupted)
}
