//! Wakes who waits for a chain: a connection of its own that hears of every change.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use redis::{Connection, Value};

use super::RedisShelf;
use super::line::{Deadline, Line};
use crate::claim::key::Subject;

/// A connection that says nothing for so long is asked whether it is there.
const QUIET: Duration = Duration::from_secs(30);

/// How long a connection may take to be there again.
const AGAIN: Duration = Duration::from_secs(5);

/// The longest pause before a broken connection is tried again.
const PAUSE: Duration = Duration::from_secs(1);

impl RedisShelf {
    /// Listens from here on; says whether that is so.
    pub(super) fn listen(&mut self, subject: &Subject, ring: Box<dyn Fn() + Send>) -> bool {
        let channel = self.keys.channel(subject);
        if self.watched.contains(&channel) {
            return true;
        }
        let (line, named) = (self.line.another(), channel.clone());
        let deadline = Deadline::after(self.limit);
        let subscribed = self.line.heeds().unless_told(move || {
            let connection = subscribe(&line, &named, deadline)?;
            Some((line, connection))
        });
        let Some((line, connection)) = subscribed.flatten() else { return false };
        let owner = Arc::downgrade(&self.alive);
        let watch = Watch { line, channel: channel.clone(), ring, owner };
        let started = thread::Builder::new().spawn(move || watch.go_on(connection));
        if started.is_ok() {
            self.watched.insert(channel);
        }
        started.is_ok()
    }
}

/// A connection that hears of the channel. When it is there, nothing that is told from then
/// on is missed.
fn subscribe(line: &Line, channel: &str, deadline: Deadline) -> Option<Connection> {
    let mut connection = line.connect(deadline).ok()?;
    let mut asked = redis::cmd("SUBSCRIBE");
    asked.arg(channel);
    let left = deadline.left()?;
    connection.set_read_timeout(Some(left)).ok()?;
    connection.set_write_timeout(Some(left)).ok()?;
    asked.exec(&mut connection).ok()?;
    Some(connection)
}

struct Watch {
    line: Line,
    channel: String,
    ring: Box<dyn Fn() + Send>,
    owner: Weak<()>,
}

impl Watch {
    fn go_on(self, mut connection: Connection) {
        loop {
            self.hear(&mut connection);
            // What was told meanwhile is lost.
            (self.ring)();
            let mut pause = Duration::from_millis(50);
            connection = loop {
                if self.owner.strong_count() == 0 {
                    return;
                }
                thread::sleep(pause);
                pause = PAUSE.min(pause * 2);
                let deadline = Deadline::after(AGAIN);
                if let Some(connection) = subscribe(&self.line, &self.channel, deadline) {
                    break connection;
                }
            };
            // And so is what was told until now.
            (self.ring)();
        }
    }

    /// Rings for whatever is heard, until the connection breaks or nobody waits any more.
    fn hear(&self, connection: &mut Connection) {
        let mut heard = connection.as_pubsub();
        while self.owner.strong_count() > 0 && heard.set_read_timeout(Some(QUIET)).is_ok() {
            match heard.get_message() {
                Ok(_) => (self.ring)(),
                Err(why) if why.is_timeout() && heard.ping::<Value>().is_ok() => {}
                Err(_) => return,
            }
        }
    }
}
