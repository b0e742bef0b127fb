//! A server that does not answer, or takes its time: a signal is heard all the same, and what
//! takes long comes to its end.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::support::servers::hearing::{Ear, deaf, relayed, says};
use crate::support::{Call, Running, Scene, Signal, until};

every_server!(
    a_signal_is_heard_while_a_claim_is_not_answered,
    a_signal_is_heard_while_a_wait_asks_in_vain,
    a_claim_that_was_won_unheard_is_given_back_by_who_is_told_to_end,
    a_claim_is_given_what_takes_longer_than_it_may_at_first,
    who_waits_is_given_what_takes_longer_than_it_may_at_first,
);

/// What asks for a change has one of these in it; what only looks has none.
const CHANGES: [&str; 2] = ["; COMMIT", "patience_ms"];

/// What takes the lock of a chain, or reads it, has one of these in it.
const READS: [&str; 2] = ["pg_advisory_xact_lock", "decision"];

/// What asks about a chain has one of these in it.
const LOOKS: [&str; 2] = [".attempt", "EVALSHA"];

/// How long whoever tells a call to end may have to wait for that: with a claim that
/// may have been won, which is given back if the server hears of it in a second; and without.
/// On a busy machine; the third question in vain goes on for eight seconds.
const SOON: Duration = Duration::from_secs(4);
const AT_ONCE: Duration = Duration::from_secs(3);

/// Longer than a question may take at first.
const LONG: Duration = Duration::from_millis(2200);

fn is_one(words: [&str; 2], said: &[u8]) -> bool {
    words.iter().any(|word| says(said, word))
}

/// Another way to the store of a scene, whose ears hear all that is said. Encrypted, nobody
/// would know what that is.
fn way(scene: &Scene, asked: &Arc<Ear>, answered: &Arc<Ear>) -> String {
    let place = scene.place().into_string().unwrap();
    let plain = if place.starts_with("postgres") { "&sslmode=disable" } else { "" };
    relayed(&place, asked, answered) + plain
}

/// A way on which nothing is handed on any more of what is said in silence; counts it.
fn falling_silent(
    scene: &Scene,
    is_silent: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let asked: Arc<Ear> = Arc::new(move |said| {
        while is_silent(said) {
            counted.fetch_add(1, Ordering::SeqCst);
            thread::park();
        }
        ControlFlow::Continue(())
    });
    (way(scene, &asked, &deaf()), count)
}

/// A way on which what is asked with one of these words in it comes late, once that is so.
fn slow(scene: &Scene, is_so: &Arc<AtomicBool>, words: &'static [&str; 2]) -> String {
    let is_so = Arc::clone(is_so);
    let asked: Arc<Ear> = Arc::new(move |said| {
        if is_so.load(Ordering::SeqCst) && is_one(*words, said) {
            thread::sleep(LONG);
        }
        ControlFlow::Continue(())
    });
    way(scene, &asked, &deaf())
}

/// Calls of each kind, which wait for the store as long as they may.
fn calls(scene: &Scene) -> [Call<'_>; 3] {
    let begin = "begin k --claim-ttl 1m --format sh --store-timeout 1m";
    [scene.attempt("k --store-timeout 1m"), scene.held("n --store-timeout 1m"), scene.call(begin)]
}

/// Tells a call to end, and sees that it does.
#[track_caller]
fn ends_within(limit: Duration, call: Running) {
    let told = Instant::now();
    call.signal(Signal::SIGINT);
    call.finish();
    let took = told.elapsed();
    assert!(took < limit, "it took {took:?}");
}

fn a_signal_is_heard_while_a_claim_is_not_answered<E: Engine>() {
    for kind in 0..3 {
        let scene = E::shared().scene();
        let has_begun = AtomicBool::new(false);
        let (way, vain) = falling_silent(&scene, move |said| {
            let begins = is_one(CHANGES, said);
            has_begun.fetch_or(begins, Ordering::SeqCst) || begins
        });
        let call = calls(&scene).into_iter().nth(kind).unwrap();
        let call = call.env("DOUBLETAP_STORE", way).any_stdout().dies_of(Signal::SIGINT).spawn();
        until("it asks for longer than that", || vain.load(Ordering::SeqCst) > 2);
        ends_within(SOON, call);
        assert_eq!(scene.runs(), 0);
    }
}

fn a_signal_is_heard_while_a_wait_asks_in_vain<E: Engine>() {
    let scene = E::shared().scene();
    let mut gate = scene.gate();
    let holder = scene.begun(scene.hanging_lease("n --ttl 2s"));
    let silent = Arc::new(AtomicBool::new(false));
    let falls = Arc::clone(&silent);
    let (way, vain) = falling_silent(&scene, move |_| falls.load(Ordering::SeqCst));
    // A shell has to be told, so that this takes over its signals before it asks.
    let waiter = scene.call("acquire n --ttl 1m --format sh -v --wait 1h --store-timeout 1m");
    let waiter = waiter.any_stdout().any_stderr().env("DOUBLETAP_STORE", way);
    let waiter = waiter.dies_of(Signal::SIGINT).spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    silent.store(true, Ordering::SeqCst);
    until("it asks for longer than that", || vain.load(Ordering::SeqCst) > 2);
    ends_within(AT_ONCE, waiter);
    gate.open();
    holder.finish();
}

fn a_claim_that_was_won_unheard_is_given_back_by_who_is_told_to_end<E: Engine>() {
    for kind in 0..3 {
        let scene = E::shared().scene();
        let [is_sent, is_lost] = [false, false].map(AtomicBool::new).map(Arc::new);
        let (sent, lost) = (Arc::clone(&is_sent), Arc::clone(&is_lost));
        let asked: Arc<Ear> = Arc::new(move |said| {
            is_sent.fetch_or(is_one(CHANGES, said), Ordering::SeqCst);
            ControlFlow::Continue(())
        });
        let answered: Arc<Ear> = Arc::new(move |_| {
            if sent.swap(false, Ordering::SeqCst) && !lost.swap(true, Ordering::SeqCst) {
                loop {
                    thread::park();
                }
            }
            ControlFlow::Continue(())
        });
        let call = calls(&scene).into_iter().nth(kind).unwrap();
        let call = call.env("DOUBLETAP_STORE", way(&scene, &asked, &answered));
        let call = call.any_stdout().dies_of(Signal::SIGINT).spawn();
        until("it has won", || is_lost.load(Ordering::SeqCst));
        ends_within(SOON, call);
        assert_eq!(scene.runs(), 0);
        calls(&scene).into_iter().nth(kind).unwrap().any_stdout().run();
    }
}

fn a_claim_is_given_what_takes_longer_than_it_may_at_first<E: Engine>() {
    let scene = E::shared().scene();
    let way = slow(&scene, &Arc::new(AtomicBool::new(true)), &READS);
    scene.attempt("k --store-timeout 1m").env("DOUBLETAP_STORE", way).run();
    assert_eq!(scene.runs(), 1);
}

fn who_waits_is_given_what_takes_longer_than_it_may_at_first<E: Engine>() {
    let scene = E::shared().scene();
    let is_slow = Arc::new(AtomicBool::new(false));
    let way = slow(&scene, &is_slow, &LOOKS);
    let mut gate = scene.gate();
    let holder = scene.holder("k");
    let waiter = scene.attempt("k -v --wait 5m").any_stderr().env("DOUBLETAP_STORE", way).spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    is_slow.store(true, Ordering::SeqCst);
    gate.open();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 1);
}
