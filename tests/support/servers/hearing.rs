//! A way to a server that hears what is said on it, and may end it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Hears what one side says before it is handed on, and may break the connection.
pub(crate) type Ear = dyn Fn(&[u8]) -> ControlFlow<()> + Send + Sync;

/// Says nothing to anything.
pub(crate) fn deaf() -> Arc<Ear> {
    Arc::new(|_| ControlFlow::Continue(()))
}

/// Another way to the store at a URL: one ear for what is asked and one for the answers.
pub(crate) fn relayed(text: &str, asked: &Arc<Ear>, answered: &Arc<Ear>) -> String {
    let (way, place) = text.split_once("localhost:").unwrap();
    let (port, path) = place.split_once('/').unwrap();
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
    format!("{way}localhost:{here}/{path}")
}

/// A way to a server each of whose answers comes so many milliseconds later.
pub(crate) fn far(text: &str, ms: &Arc<AtomicU64>) -> String {
    let ms = Arc::clone(ms);
    let answered: Arc<Ear> = Arc::new(move |_| {
        thread::sleep(Duration::from_millis(ms.load(Ordering::SeqCst)));
        ControlFlow::Continue(())
    });
    relayed(text, &deaf(), &answered)
}

fn hand_on(mut from: TcpStream, mut to: TcpStream, ear: &Ear) {
    let mut said = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut said) {
        if ear(&said[..length]).is_break() || to.write_all(&said[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Whether a word is in what was said.
pub(crate) fn says(said: &[u8], word: &str) -> bool {
    said.windows(word.len()).any(|heard| heard == word.as_bytes())
}
