//! A waiter that is held up on its way to a server, at each thing that it asks for.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::support::servers::hearing::{Ear, deaf, relayed};
use crate::support::until;

every_server!(wherever_a_waiter_is_held_up_it_shares_the_failure_that_comes_meanwhile,);

/// Whoever asks for nothing for so long asks for nothing more until it is told something.
const RESTS: Duration = Duration::from_secs(1);

/// Holds up what is asked after so many things.
struct Obstacle {
    asked: AtomicU32,
    lets_pass: u32,
    is_gone: AtomicBool,
}

impl Obstacle {
    fn after(lets_pass: u32) -> Arc<Self> {
        Arc::new(Self { asked: AtomicU32::new(0), lets_pass, is_gone: AtomicBool::new(false) })
    }

    /// A way to the store at a URL that it is on.
    fn on_the_way_to(self: &Arc<Self>, text: &str) -> String {
        let there = Arc::clone(self);
        let asked: Arc<Ear> = Arc::new(move |_| {
            if there.asked.fetch_add(1, Ordering::SeqCst) >= there.lets_pass {
                until("the way is free", || there.is_gone.load(Ordering::SeqCst));
            }
            ControlFlow::Continue(())
        });
        relayed(text, &asked, &deaf())
    }

    /// Waits until somebody is held up; says whether it comes to that.
    fn is_met(&self) -> bool {
        let mut last = (0, Instant::now());
        loop {
            let asked = self.asked.load(Ordering::SeqCst);
            if asked > self.lets_pass {
                return true;
            }
            if last.0 != asked {
                last = (asked, Instant::now());
            } else if asked > 0 && last.1.elapsed() > RESTS {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn remove(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
    }
}

fn wherever_a_waiter_is_held_up_it_shares_the_failure_that_comes_meanwhile<E: Engine>() {
    let mut held_up_while_waiting = 0;
    for passed in 0.. {
        let scene = E::shared().scene();
        let mut gate = scene.gate();
        scene.behave("read x <gate; exit 3");
        let holder = scene.begun(scene.attempt("k").status(3));
        let obstacle = Obstacle::after(passed);
        let place = obstacle.on_the_way_to(&scene.place().into_string().unwrap());
        let call = scene.attempt(&format!("k -v --wait forever --store {place}")).any_stderr();
        let waiter = call.status(3).spawn();
        let is_met = obstacle.is_met();
        let waits = !waiter.stderr_so_far().is_empty();
        scene.behave("exit 3");
        gate.open();
        let (told, ends) = mpsc::channel();
        let ending = thread::spawn(move || {
            holder.finish();
            let _ = told.send(());
        });
        // If what is held up has the lock, the holder comes to its end only after it.
        let _ = ends.recv_timeout(RESTS);
        obstacle.remove();
        waiter.finish();
        ending.join().unwrap();
        // One that has not looked yet has waited for nobody.
        assert!(!waits || scene.runs() == 1, "held up after {passed}: {} runs", scene.runs());
        held_up_while_waiting += u32::from(waits && is_met);
        if !is_met {
            break;
        }
    }
    assert!(held_up_while_waiting >= 3, "{held_up_while_waiting}");
}
