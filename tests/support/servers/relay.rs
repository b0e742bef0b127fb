//! A relay in front of a server: what both say passes through it, or comes late, slowly or
//! never.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// A relay. Dropping it breaks what goes through it.
pub(crate) struct Relay {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    connections: Vec<Connection>,
    is_gone: bool,
}

struct Connection {
    ends: [TcpStream; 2],
    keeps_answers: Arc<AtomicBool>,
}

impl Relay {
    /// Starts one for the server on this port of the loopback address.
    #[track_caller]
    pub(super) fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        let port = listener.local_addr().expect("it listens").port();
        let state = Arc::new(Mutex::new(State::default()));
        let relayed = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if lock(&relayed).is_gone {
                    return;
                }
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    join(client, server, &relayed);
                }
            }
        });
        Self { port, state }
    }

    /// Where a database of the server is by way of the relay, given where it is. Nothing is
    /// encrypted, so that the relay sees what passes.
    pub(crate) fn url(&self, of_server: &str) -> String {
        let (way, database) = of_server.rsplit_once('/').expect("it names a database");
        let (login, _) = way.rsplit_once(':').expect("it names a port");
        format!("{login}:{}/{database}?sslmode=disable", self.port)
    }

    /// Keeps what the server says on the connections that there are, until it ends them: then
    /// all of it is passed on at one stroke.
    pub(crate) fn keep_answers(&self) {
        for connection in &lock(&self.state).connections {
            connection.keeps_answers.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.is_gone = true;
        for end in state.connections.drain(..).flat_map(|one| one.ends) {
            let _ = end.shutdown(Shutdown::Both);
        }
        drop(state);
        // The thread that waits for callers has one more.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody panics with it")
}

/// Passes on what both say, on threads that end with what they say.
fn join(client: TcpStream, server: TcpStream, state: &Mutex<State>) {
    let again = |end: &TcpStream| end.try_clone().expect("a descriptor is left");
    let keeps_answers = Arc::new(AtomicBool::new(false));
    let connection = Connection {
        ends: [again(&client), again(&server)],
        keeps_answers: Arc::clone(&keeps_answers),
    };
    lock(state).connections.push(connection);
    let (asking, answering) = (again(&client), again(&server));
    thread::spawn(move || pass(asking, answering, &AtomicBool::new(false)));
    thread::spawn(move || pass(server, client, &keeps_answers));
}

fn pass(mut from: TcpStream, mut to: TcpStream, keeps: &AtomicBool) {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..length]);
        if !keeps.load(Ordering::SeqCst) && to.write_all(&std::mem::take(&mut kept)).is_err() {
            break;
        }
    }
    let _ = to.write_all(&kept);
    let _ = to.shutdown(Shutdown::Both);
}
