//! Where a server listens: on the loopback address, or in a network of its own.

use std::ffi::OsString;
use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// A place for servers.
#[derive(Clone)]
pub(crate) struct Place {
    /// The words that start a program there.
    pub(super) through: Vec<OsString>,
    /// What a URL calls it.
    pub(super) name: String,
    /// The addresses to listen at.
    pub(super) addresses: Vec<String>,
}

impl Place {
    /// This machine, for its own processes only.
    pub(super) fn loopback() -> Self {
        let addresses = ["127.0.0.1", "::1"].iter().map(ToString::to_string).collect();
        Self { through: Vec::new(), name: "localhost".to_owned(), addresses }
    }
}

/// A port that nobody listens at.
///
/// It is below those that the kernel gives to outgoing connections: a server that is
/// down for a while must find its port free when it comes back.
pub(super) fn free_port() -> u16 {
    const FIRST: u16 = 12_000;
    const NUMBER: u16 = 18_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two test processes begin far apart.
    let start = u16::try_from(process::id() * 61 % u32::from(NUMBER)).expect("it is smaller");
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + start.wrapping_add(step) % NUMBER;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
