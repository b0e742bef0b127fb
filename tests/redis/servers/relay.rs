//! A way to a server that hears what is said on it, and may end it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Whether what was heard is handed on; if not, the connection ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Fine,
    Enough,
}

/// Hears what one side says, and says what becomes of it.
pub(super) type Ear = dyn Fn(&[u8]) -> Heard + Send + Sync;

/// Says nothing to anything.
pub(super) fn deaf() -> Arc<Ear> {
    Arc::new(|_| Heard::Fine)
}

/// Another way to the store at a URL: one ear for what is asked and one for the answers.
pub(super) fn relayed(text: &str, asked: &Arc<Ear>, answered: &Arc<Ear>) -> String {
    let (port, path) = text.strip_prefix("redis://localhost:").unwrap().split_once('/').unwrap();
    let server = ("localhost", port.parse::<u16>().unwrap());
    let listener = TcpListener::bind(("localhost", 0)).unwrap();
    let here = listener.local_addr().unwrap().port();
    let ears = [Arc::clone(asked), Arc::clone(answered)];
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            for ((from, to), ear) in [(client, server), back].into_iter().zip(ears.clone()) {
                thread::spawn(move || hand_on(from, to, &*ear));
            }
        }
    });
    format!("redis://localhost:{here}/{path}")
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, ear: &Ear) {
    let mut said = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut said) {
        if ear(&said[..length]) == Heard::Enough || to.write_all(&said[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Whether a word is in what was said.
pub(super) fn says(said: &[u8], word: &str) -> bool {
    said.windows(word.len()).any(|heard| heard == word.as_bytes())
}
