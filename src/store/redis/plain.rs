//! Finds out that a server does not speak TLS where it is spoken to by TLS.
//!
//! Redis takes the beginning of a handshake for that of a line, and waits for its end. So a
//! server that has said nothing for a while is asked beside, in plain text, whether it is
//! there. Nothing is told to it there.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use redis::Connection;

use super::failure::Failure;
use super::line::{Deadline, Line, resolve};

/// For how long a server may say nothing before it is asked in plain text, and then how long
/// that may take.
const SILENCE: Duration = Duration::from_secs(1);

/// Makes a connection by TLS to a server at this place.
///
/// # Errors
/// When there is none to be had.
pub(super) fn connect_by_tls(
    line: &Line,
    (host, port): (&str, u16),
    deadline: Deadline,
) -> Result<Connection, Failure> {
    let (connected, result) = mpsc::channel();
    let line = line.another();
    let thread = thread::Builder::new().name("tls".to_owned());
    let asked = thread.spawn(move || connected.send(line.open_and_greet(deadline)));
    asked.map_err(|why| Failure::Unreached(why.to_string()))?;
    if let Ok(result) = result.recv_timeout(SILENCE) {
        return result;
    }
    if speaks_plain_text(host, port) {
        return Err(Failure::Unprotected(port));
    }
    let left = deadline.left().unwrap_or_default();
    result.recv_timeout(left).unwrap_or(Err(Failure::Late))
}

/// Whether Redis answers here in plain text, be it that it lets nobody in.
fn speaks_plain_text(host: &str, port: u16) -> bool {
    let found = resolve(host, port, Deadline::after(SILENCE)).unwrap_or_default();
    found.iter().any(|address| matches!(first_byte(address), Ok(b'+' | b'-')))
}

fn first_byte(address: &SocketAddr) -> std::io::Result<u8> {
    let mut server = TcpStream::connect_timeout(address, SILENCE)?;
    server.set_read_timeout(Some(SILENCE))?;
    server.write_all(b"PING\r\n")?;
    let mut answer = [0];
    server.read_exact(&mut answer)?;
    Ok(answer[0])
}
