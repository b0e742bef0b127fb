//! Between reading a chain and writing it others may write it, and time may pass.

use std::thread;
use std::time::{Duration, Instant};

use doubletap::claim::attempt::Attempt;
use doubletap::claim::decide::{Decision, OnceTerms, Request, Rerun, Terms};
use doubletap::claim::fence::Fence;
use doubletap::store::shelf::{Changes, Durability, Parent, Shelf as _, Wanted};
use doubletap::store::{Answer, Owned, Store as _, Trouble};

use super::{claim, completed, shelf, store, won};
use crate::contract::completion::recorded;
use crate::contract::stage::{request, subject};
use crate::support::servers::Redis;

/// An attempt with a fence.
fn made(fence: Fence) -> Attempt {
    let mut other = store(&Redis::shared().fresh());
    Attempt { fence, ..won(&mut other, &request("k", 9)).attempt().clone() }
}

/// The same, though there may be a record.
fn again(request: Request) -> Request {
    Request {
        terms: Terms::Once(OnceTerms { rerun: Rerun::Yes, ..OnceTerms::default() }),
        ..request
    }
}

sentence! {
    fn of_sixteen_who_claim_one_key_at_once_one_wins() {
        let url = Redis::shared().fresh();
        for round in 0..10 {
            let key = format!("k{round}");
            let won: u32 = thread::scope(|scope| {
                let claimed = (0..16).map(|number| {
                    let (url, key) = (&url, &key);
                    scope.spawn(move || {
                        let mut store = store(url);
                        match claim(&mut store, &request(key, number)).unwrap() {
                            Answer::Won(_) => 1,
                            Answer::Not(why) => {
                                assert!(matches!(*why, Decision::Busy(_)), "{why:?}");
                                0
                            }
                        }
                    })
                });
                let claimed: Vec<_> = claimed.collect();
                claimed.into_iter().map(|claimed| claimed.join().unwrap()).sum()
            });
            assert_eq!(won, 1);
        }
    }

    fn sixteen_who_write_one_chain_at_once_lose_nothing() {
        let url = Redis::shared().fresh();
        thread::scope(|scope| {
            for number in 0..16 {
                let url = &url;
                scope.spawn(move || {
                    let mut store = store(url);
                    for round in 0..4 {
                        let request = again(request("k", 100 * number + round));
                        let own = loop {
                            match claim(&mut store, &request).unwrap() {
                                Answer::Won(own) => break own,
                                Answer::Not(_) => thread::yield_now(),
                            }
                        };
                        completed(&mut store, own, &recorded());
                    }
                });
            }
        });
        let chain = store(&url).chain(&subject("k")).unwrap();
        let generations: Vec<i64> = chain.iter().map(|attempt| attempt.generation).collect();
        assert_eq!(generations, (1..=64).rev().collect::<Vec<_>>());
        assert!(chain.is_sorted_by(|newer, older| newer.fence > older.fence));
    }

    fn what_was_decided_on_a_chain_that_has_changed_since_is_decided_again() {
        let url = Redis::shared().fresh();
        let (mut slow, mut other) = (shelf(&url), store(&url));
        let chain = subject("k");
        let mut pages = Vec::new();
        slow.change(Wanted::of(&chain), Durability::Process, &mut |page, fences| {
            pages.push(page.attempts.len());
            if pages.len() == 1 {
                drop(won(&mut other, &request("k", 1)));
            }
            // The first time this would be the second running attempt.
            match page.attempts.first() {
                None => {
                    let added = made(fences(&page.now)?);
                    Ok(Changes { added: Some(added), ..Changes::default() })
                }
                Some(_) => Ok(Changes::default()),
            }
        })
        .unwrap();
        assert_eq!(pages, [0, 1]);
        assert_eq!(other.chain(&chain).unwrap().len(), 1);
    }

    fn a_claimant_that_stalls_does_not_begin_with_a_lease_that_is_over() {
        let url = Redis::shared().fresh();
        let mut slow = shelf(&url);
        let chain = subject("k");
        let mut read_at = Vec::new();
        slow.change(Wanted::of(&chain), Durability::Power, &mut |page, fences| {
            read_at.push(page.now.wall);
            if read_at.len() == 1 {
                // It is stopped, or swapped out, until most of its lease would be over.
                thread::sleep(Duration::from_millis(1500));
            }
            let mut added = made(fences(&page.now)?);
            added.started = page.now.wall;
            added.lease = Duration::from_secs(2);
            Ok(Changes { added: Some(added), ..Changes::default() })
        })
        .unwrap();
        assert_eq!(read_at.len(), 2, "it was decided once");
        let chain = slow.read(Wanted::of(&chain)).unwrap();
        assert_eq!(chain.attempts.len(), 1);
        assert_eq!(chain.attempts[0].started, read_at[1]);
        assert!(chain.attempts[0].started.age(chain.now.wall) < Duration::from_secs(1));
    }

    fn a_step_is_not_had_once_its_parent_has_lost_its_claim_meanwhile() {
        let url = Redis::shared().fresh();
        let (mut slow, mut other) = (shelf(&url), store(&url));
        let parent = won(&mut other, &request("k", 1));
        let owner = parent.ownership();
        let mut parent = Some(parent);
        let chain = subject("step");
        let wanted = Wanted { parent: Some(&owner), ..Wanted::of(&chain) };
        let mut seen = Vec::new();
        slow.change(wanted, Durability::Power, &mut |page, fences| {
            seen.push(page.parent);
            if let Some(parent) = parent.take() {
                completed(&mut other, parent, &recorded());
            }
            if page.parent == Parent::Lost {
                return Ok(Changes::default());
            }
            let added = made(fences(&page.now)?);
            Ok(Changes { added: Some(added), ..Changes::default() })
        })
        .unwrap();
        assert_eq!(seen, [Parent::Holds, Parent::Lost]);
        assert!(other.chain(&chain).unwrap().is_empty());
    }

    fn a_fence_is_never_drawn_twice() {
        let url = Redis::shared().fresh();
        let drawn: Vec<_> = thread::scope(|scope| {
            let draws = (0..8).map(|_| {
                scope.spawn(|| {
                    let mut shelf = shelf(&url);
                    let mut drawn = Vec::new();
                    let chain = subject("k");
                    shelf
                        .change(Wanted::of(&chain), Durability::Process, &mut |page, fences| {
                            for _ in 0..50 {
                                drawn.push(fences(&page.now)?);
                            }
                            Ok(Changes::default())
                        })
                        .unwrap();
                    assert!(drawn.is_sorted());
                    drawn
                })
            });
            let draws: Vec<_> = draws.collect();
            draws.into_iter().flat_map(|draw| draw.join().unwrap()).collect()
        });
        let mut apart = drawn.clone();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), drawn.len());
    }

    fn a_call_that_others_are_always_faster_than_ends_in_time() {
        let url = Redis::shared().fresh();
        let (mut slow, mut other) = (shelf(&url), store(&url));
        let limit = Duration::from_millis(300);
        slow.wait_at_most(limit);
        let own = won(&mut other, &request("k", 1));
        let begun = Instant::now();
        let error = slow
            .change(Wanted::of(&subject("k")), Durability::Process, &mut |page, _| {
                let renewed = other.renew(&own.ownership(), super::LIMIT).unwrap();
                assert_eq!(renewed, Owned::Yes);
                Ok(Changes { changed: page.attempts.clone(), ..Changes::default() })
            })
            .unwrap_err();
        assert_eq!(error.trouble(), Trouble::Locked, "{error}");
        assert!(begun.elapsed() < limit * 10, "{:?}", begun.elapsed());
    }
}
