//! A claim that is won and whose answer is lost, while a wait goes on.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::{ELSEWHERE, Engine};
use super::herds::ALONE;
use crate::support::processes::{destroy, is_alive};
use crate::support::servers::hearing::says;
use crate::support::{Call, Running, Scene, Signal, until};

every_server!(
    a_claim_that_is_heard_of_when_its_time_is_over_is_not_taken_for_a_fresh_one,
    whoever_takes_over_ends_the_command_of_a_claim_that_was_heard_of_late,
);

/// What asks for a change has one of these in it; what only looks has none.
const CHANGES: [&str; 2] = ["; COMMIT", "patience_ms"];

/// How long every claim here lasts, and for how long nothing is heard after the first one.
const LASTS: Duration = Duration::from_secs(4);

/// Another way to the store at a URL: the first change that is asked for is passed on, and
/// from then on nothing is heard for as long as a claim lasts.
fn losing_the_first_answer(text: &str) -> String {
    let (login, place) = text.split_once("@localhost:").unwrap();
    let (port, path) = place.split_once('/').unwrap();
    let server = ("localhost", port.parse::<u16>().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let asked = Arc::new(OnceLock::new());
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let there = Arc::clone(&asked);
            thread::spawn(move || {
                pass(client, server, |said| {
                    if CHANGES.iter().any(|word| says(said, word)) {
                        there.get_or_init(Instant::now);
                    }
                    true
                });
            });
            let asked = Arc::clone(&asked);
            thread::spawn(move || {
                // What has lost a word never makes sense again.
                let mut heard = true;
                pass(back.0, back.1, |_| {
                    heard &= asked.get().is_none_or(|asked| asked.elapsed() >= LASTS);
                    heard
                });
            });
        }
    });
    // Encrypted, nobody knows what is said.
    let plain = if login.starts_with("postgres") { "&sslmode=disable" } else { "" };
    format!("{login}@localhost:{here}/{path}{plain}")
}

/// Passes on what is said, as far as it is to be heard.
fn pass(mut from: TcpStream, mut to: TcpStream, mut is_heard: impl FnMut(&[u8]) -> bool) {
    let mut said = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut said) {
        if is_heard(&said[..length]) && to.write_all(&said[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// A call for a key, and one for a name.
fn calls<'a>(scene: &'a Scene, words: &str) -> [Call<'a>; 2] {
    [
        scene.attempt(&format!("k --claim-ttl 4s {words}")),
        scene.held(&format!("n --ttl 4s {words}")),
    ]
}

/// Starts a call of a kind that waits for a holder who is gone, and takes over, but hears so
/// when the time of its claim is over; waits until its command has begun.
#[track_caller]
fn heard_of_late(scene: &Scene, kind: usize) -> Running {
    let call = |words: &str| calls(scene, words).into_iter().nth(kind).unwrap();
    scene.behave("read x <gate");
    scene.begun(call("").unchecked()).kill();
    let left = scene.command_pid();
    destroy(-left);
    until("the command is gone", || !is_alive(left));
    scene.behave(&format!("{ALONE}; read x <gate; rmdir held"));
    let way = losing_the_first_answer(&scene.place().into_string().unwrap());
    let waiter = call("-v --wait 1m --store-timeout 1s").env("DOUBLETAP_STORE", way);
    let late = waiter.any_stderr().unchecked().spawn();
    until("it waits", || !late.stderr_so_far().is_empty());
    until("it has begun", || scene.path("held").exists());
    late
}

fn a_claim_that_is_heard_of_when_its_time_is_over_is_not_taken_for_a_fresh_one<E: Engine>() {
    for kind in 0..2 {
        let scene = E::shared().scene();
        let mut gate = scene.gate();
        let late = heard_of_late(&scene, kind);
        scene.behave(&format!("{ALONE}; rmdir held"));
        let next = calls(&scene, "-v --wait 1m").into_iter().nth(kind).unwrap();
        // On another host, which can end nobody here.
        let next = next.through_sh(&format!(r#"{ELSEWHERE}"$@""#)).any_stderr().spawn();
        until("it waits", || !next.stderr_so_far().is_empty());
        gate.open();
        assert_eq!(late.finish().code(), 0);
        next.finish();
        assert_eq!(scene.read("overlaps"), "");
    }
}

fn whoever_takes_over_ends_the_command_of_a_claim_that_was_heard_of_late<E: Engine>() {
    for kind in 0..2 {
        let scene = E::shared().scene();
        let _gate = scene.gate();
        let late = heard_of_late(&scene, kind);
        late.signal(Signal::SIGSTOP);
        let command = scene.command_pid();
        scene.behave(&format!(
            "test -d /proc/{command} && grep '^State:.[^ZX]' /proc/{command}/status; :"
        ));
        let next = calls(&scene, "-q --wait 1m").into_iter().nth(kind).unwrap();
        next.run();
        late.signal(Signal::SIGCONT);
        assert_eq!(late.finish().code(), 69);
    }
}
