//! A relay in front of a server: what both say passes through it, or comes late, slowly or
//! never.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// A relay. Dropping it breaks what goes through it.
pub(crate) struct Relay {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    connections: Vec<Connection>,
    handshakes: Handshakes,
    /// How many bytes a second pass in either direction.
    speed: Option<u32>,
    is_gone: bool,
}

/// What becomes of whoever asks for TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Handshakes {
    /// The server answers.
    #[default]
    Passed,
    /// He is told to begin, and then the connection is reset.
    Reset,
    /// He is told to begin, and then the connection is closed.
    Closed,
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
                let handshakes = {
                    let state = lock(&relayed);
                    if state.is_gone {
                        return;
                    }
                    state.handshakes
                };
                if handshakes != Handshakes::Passed {
                    let _ = break_handshake(client, handshakes);
                } else if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    join(client, server, &relayed);
                }
            }
        });
        Self { port, state }
    }

    /// Where a database of the server is by way of the relay, given where it is.
    pub(crate) fn url(&self, of_server: &str) -> String {
        let (way, database) = of_server.rsplit_once('/').expect("it names a database");
        let (login, _) = way.rsplit_once(':').expect("it names a port");
        format!("{login}:{}/{database}", self.port)
    }

    /// Keeps what the server says on the connections that there are, until it ends them: then
    /// all of it is passed on at one stroke.
    pub(crate) fn keep_answers(&self) {
        for connection in &lock(&self.state).connections {
            connection.keeps_answers.store(true, Ordering::SeqCst);
        }
    }

    /// Has so many bytes a second pass in either direction, on connections to come.
    pub(crate) fn slow_down(&self, speed: u32) {
        lock(&self.state).speed = Some(speed);
    }

    /// Breaks the connections that there are.
    pub(crate) fn cut(&self) {
        let ends =
            lock(&self.state).connections.drain(..).flat_map(|one| one.ends).collect::<Vec<_>>();
        for end in ends {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Has the handshakes to come end so.
    pub(crate) fn set_handshakes(&self, handshakes: Handshakes) {
        lock(&self.state).handshakes = handshakes;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        lock(&self.state).is_gone = true;
        self.cut();
        // The thread that waits for callers has one more.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody panics with it")
}

/// Says as a server does that TLS can begin, and goes when it has.
fn break_handshake(mut client: TcpStream, how: Handshakes) -> std::io::Result<()> {
    let mut asked = [0; 8];
    client.read_exact(&mut asked)?;
    client.write_all(b"S")?;
    // What was sent and not read has the kernel reset the connection.
    let length = if how == Handshakes::Reset { 1 } else { 16 << 10 };
    client.read(&mut vec![0; length]).map(drop)
}

/// Passes on what both say, on threads that end with what they say.
fn join(client: TcpStream, server: TcpStream, state: &Mutex<State>) {
    let again = |end: &TcpStream| end.try_clone().expect("a descriptor is left");
    let keeps_answers = Arc::new(AtomicBool::new(false));
    let connection = Connection {
        ends: [again(&client), again(&server)],
        keeps_answers: Arc::clone(&keeps_answers),
    };
    let speed = {
        let mut state = lock(state);
        state.connections.push(connection);
        state.speed
    };
    let (asking, answering) = (again(&client), again(&server));
    thread::spawn(move || pass(asking, answering, &AtomicBool::new(false), speed));
    thread::spawn(move || pass(server, client, &keeps_answers, speed));
}

fn pass(mut from: TcpStream, mut to: TcpStream, keeps: &AtomicBool, speed: Option<u32>) {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if let (Some(speed), Ok(length)) = (speed, u32::try_from(length)) {
            thread::sleep(Duration::from_secs(1) * length / speed);
        }
        kept.extend_from_slice(&buffer[..length]);
        if !keeps.load(Ordering::SeqCst) && to.write_all(&std::mem::take(&mut kept)).is_err() {
            break;
        }
    }
    let _ = to.write_all(&kept);
    let _ = to.shutdown(Shutdown::Both);
}
