//! Who may hold a name: the part of [`decide`](super::decide) about leases.
//!
//! The time limit ends the right even of a living holder: that is what a lease
//! is for. A holder that is seen to be gone has lost it at once.

use std::time::Duration;

use super::super::attempt::{Origin, State};
use super::super::holder::Life;
use super::super::time::Now;
use super::{Busy, BusyWhy, Decision, LeaseTerms, Plan, Request, Seen};

impl Seen {
    /// For how long its holder has the right to a name, unless it renews it.
    #[must_use]
    pub fn holds(&self, now: &Now) -> Option<Duration> {
        let may = self.attempt.state == State::Running && self.life != Life::Gone;
        if may { self.attempt.until.left(now) } else { None }
    }

    /// For how long it keeps others from a name: as long as it holds it, and at
    /// least as long as was asked for.
    #[must_use]
    pub fn keeps(&self, now: &Now) -> Option<Duration> {
        let rest = self.attempt.rests_until.as_ref().and_then(|until| until.left(now));
        self.holds(now).max(rest)
    }
}

pub(super) fn decide_lease(
    chain: &[Seen],
    request: &Request,
    terms: LeaseTerms,
    now: &Now,
) -> Decision {
    let running = |seen: &&Seen| seen.attempt.state == State::Running;
    let own = chain.iter().filter(running).find(|seen| seen.attempt.token == request.token);
    if let Some(own) = own {
        return Decision::Claimed(own.attempt.clone());
    }
    let in_the_way: Vec<&Seen> = chain.iter().filter(|seen| seen.keeps(now).is_some()).collect();
    if in_the_way.len() < usize::try_from(terms.slots).unwrap_or(usize::MAX) {
        let lost = |seen: &&Seen| seen.holds(now).is_none();
        return Decision::Run(Box::new(Plan {
            generation: chain.first().map_or(1, |seen| seen.attempt.generation.saturating_add(1)),
            operation: request.new_operation,
            number: 1,
            origin: Origin::Ordinary,
            supersedes: chain.iter().filter(running).filter(lost).cloned().collect(),
            takes_over: None,
        }));
    }
    busy(&in_the_way, now)
}

/// Names the holder who is to be waited for the longest as the one in the way:
/// a living one before one that only rests.
fn busy(in_the_way: &[&Seen], now: &Now) -> Decision {
    let holds = |seen: &&&Seen| seen.holds(now).is_some();
    let Some(named) = in_the_way.iter().find(holds).or_else(|| in_the_way.first()) else {
        unreachable!("without anybody in the way it is not busy");
    };
    let why = match named.holds(now) {
        Some(_) => BusyWhy::Held(named.life),
        None => BusyWhy::Resting,
    };
    let holders = in_the_way.iter().filter(|seen| seen.holds(now).is_some());
    Decision::Busy(Busy {
        attempt: named.attempt.clone(),
        why,
        retry_after: in_the_way.iter().filter_map(|seen| seen.keeps(now)).min(),
        holders: holders.map(|seen| (*seen).clone()).collect(),
        gives: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::attempt::Attempt;
    use super::super::super::samples::{attempt, lease_request, now};
    use super::super::super::time::Until;
    use super::super::decide;
    use super::*;

    fn held(generation: u8, life: Life) -> Seen {
        Seen { attempt: attempt(generation, State::Running), life }
    }

    fn resting(generation: u8, state: State, ms: u64) -> Seen {
        let until = Until::after(&now(0), Duration::from_millis(ms));
        let attempt = Attempt { rests_until: Some(until), ..attempt(generation, state) };
        Seen { attempt, life: Life::Gone }
    }

    fn asked(chain: &[Seen], slots: u32, at_ms: i64) -> Decision {
        decide(chain, &lease_request(9, slots, Duration::ZERO), &now(at_ms))
    }

    fn superseded(decision: Decision) -> Vec<i64> {
        let Decision::Run(plan) = decision else { panic!("not a run: {decision:?}") };
        plan.supersedes.iter().map(|seen| seen.attempt.generation).collect()
    }

    #[test]
    fn a_name_that_nobody_holds_may_be_had() {
        assert_eq!(superseded(asked(&[], 1, 0)), [0; 0]);
        let released = Seen { attempt: attempt(1, State::Released), life: Life::Gone };
        assert_eq!(superseded(asked(&[released], 1, 0)), [0; 0]);
    }

    #[test]
    fn the_time_limit_ends_the_right_of_everybody_exactly_at_its_end() {
        for life in [Life::Alive, Life::Orphaned, Life::Unknown] {
            let chain = [held(1, life)];
            assert!(matches!(asked(&chain, 1, 59_999), Decision::Busy(_)), "{life:?}");
            assert_eq!(superseded(asked(&chain, 1, 60_000)), [1], "{life:?}");
        }
    }

    #[test]
    fn a_holder_that_is_gone_has_lost_it_at_once() {
        assert_eq!(superseded(asked(&[held(1, Life::Gone)], 1, 1)), [1]);
    }

    #[test]
    fn the_own_token_is_answered_with_the_claim_it_has() {
        let decision = decide(
            &[held(2, Life::Alive), held(9, Life::Alive)],
            &lease_request(9, 1, Duration::ZERO),
            &now(0),
        );
        assert!(matches!(decision, Decision::Claimed(own) if own.generation == 9));
    }

    #[test]
    fn fewer_than_the_slots_may_hold_it_and_those_who_lost_it_are_superseded() {
        let chain = [held(3, Life::Alive), held(2, Life::Gone), held(1, Life::Alive)];
        assert!(matches!(asked(&chain, 2, 0), Decision::Busy(_)));
        assert_eq!(superseded(asked(&chain, 3, 0)), [2]);
        assert_eq!(superseded(asked(&chain, 1, 60_000)), [3, 2, 1]);
    }

    #[test]
    fn a_name_that_is_to_be_kept_rests_though_its_holder_is_done_or_gone() {
        for state in [State::Released, State::Running, State::Interrupted] {
            let chain = [resting(1, state, 100)];
            let Decision::Busy(busy) = asked(&chain, 1, 99) else { panic!("{state:?}") };
            assert_eq!(busy.why, BusyWhy::Resting);
            assert_eq!(busy.retry_after, Some(Duration::from_millis(1)));
            assert!(matches!(asked(&chain, 1, 100), Decision::Run(_)), "{state:?}");
        }
    }

    #[test]
    fn a_rest_takes_a_slot_like_a_holder() {
        let chain = [held(2, Life::Alive), resting(1, State::Released, 100)];
        assert!(matches!(asked(&chain, 2, 50), Decision::Busy(_)));
        assert!(matches!(asked(&chain, 2, 100), Decision::Run(_)));
    }

    #[test]
    fn whoever_waits_is_told_of_all_who_live_and_of_the_first_chance() {
        let chain =
            [resting(3, State::Released, 500), held(2, Life::Alive), held(1, Life::Orphaned)];
        let Decision::Busy(busy) = asked(&chain, 1, 0) else { panic!("it is not busy") };
        assert_eq!(busy.why, BusyWhy::Held(Life::Alive), "a holder is named before a rest");
        let holders: Vec<Life> = busy.holders.iter().map(|seen| seen.life).collect();
        assert_eq!(holders, [Life::Alive, Life::Orphaned]);
        assert_eq!(busy.retry_after, Some(Duration::from_millis(500)));
    }
}
