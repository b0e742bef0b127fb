//! A Redis server of a test's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::authority::{AUTHORITY, CERTIFICATE, KEY, certify};
use super::keeper::{Home, KILL, Keeper};
use super::place::{Place, free_port};
use super::tool::{answer, program};
use crate::support::poll::until;

/// What of a server's data outlives its process.
#[derive(Clone, Copy)]
pub(crate) enum Persistence {
    /// Nothing.
    Memory,
    /// Every write, synced before it is answered.
    EveryWrite,
    /// Every write, synced once a second: a kill loses nothing, power loss does.
    EverySecond,
}

/// A running server. Dropping it ends it and removes its data.
///
/// Whoever gives no name may do everything, and so may [`Self::USER`] with its
/// password; `ACL SETUSER` by [`Self::cli`] makes others.
pub(crate) struct Redis {
    keeper: Keeper,
    place: Place,
    port: u16,
    tls_port: u16,
    made: AtomicU32,
}

impl Redis {
    /// A user who needs a password.
    pub(crate) const USER: &'static str = "doubletap";
    /// The password, which must not be seen anywhere.
    pub(crate) const PASSWORD: &'static str = "never-to-be-shown";

    /// Starts a server for this machine.
    #[track_caller]
    pub(crate) fn start(persistence: Persistence) -> Self {
        Self::start_at(Place::loopback(), persistence, "")
    }

    /// Starts a cluster, of which this server is all there is.
    #[cfg(feature = "redis")]
    #[track_caller]
    pub(crate) fn cluster() -> Self {
        let more = format!("cluster-enabled yes\ncluster-port {}\n", free_port());
        let server = Self::start_at(Place::loopback(), Persistence::Memory, &more);
        assert_eq!(server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]), "OK");
        until("the cluster works", || {
            server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        });
        server
    }

    /// The server that all sentences share which do nothing to it.
    #[track_caller]
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Persistence::Memory))
    }

    /// Starts a copy that follows this server, and waits until it has caught up.
    #[track_caller]
    pub(crate) fn replica(&self) -> Self {
        let primary = format!("replicaof {} {}\n", self.place.addresses[0], self.port);
        let replica = Self::start_at(self.place.clone(), Persistence::Memory, &primary);
        until("the replica follows", || {
            replica.cli(&["INFO", "replication"]).contains("master_link_status:up")
        });
        replica
    }

    #[track_caller]
    pub(super) fn start_at(place: Place, persistence: Persistence, more: &str) -> Self {
        let redis = program("redis-server", "redis-server");
        let home = Home::of(&["redis", "nobody"]);
        let (port, tls_port) = (free_port(), free_port());
        certify(&home);
        let settings = settings(home.path(), &place, (port, tls_port), persistence);
        home.write("redis.conf", &format!("{settings}{more}"));

        let server = [redis.into(), home.path().join("redis.conf").into()];
        let words = [place.through.clone(), home.through(), server.to_vec()].concat();
        let keeper = Keeper::new(home, KILL, &words);
        let mut server = Self { keeper, place, port, tls_port, made: AtomicU32::new(0) };
        server.wake();
        server
    }

    /// Where a store with this prefix is.
    pub(crate) fn url(&self, prefix: &str) -> String {
        format!("redis://{}:{}/0?prefix={prefix}", self.place.name, self.port)
    }

    /// The same by TLS.
    pub(crate) fn tls_url(&self, prefix: &str) -> String {
        format!("rediss://{}:{}/0?prefix={prefix}", self.place.name, self.tls_port)
    }

    /// Where an empty store is that nobody else uses.
    pub(crate) fn fresh(&self) -> String {
        self.url(&format!("fresh{}", self.made.fetch_add(1, Ordering::Relaxed)))
    }

    /// What `redis-cli` prints of a command's answer.
    #[track_caller]
    pub(crate) fn cli(&self, command: &[&str]) -> String {
        let mut words = vec![program("redis-cli", "redis-tools").into_os_string()];
        words.extend(["-s".into(), self.socket().into_os_string()]);
        words.extend(command.iter().map(OsString::from));
        answer(&words)
    }

    /// Forgets all data.
    #[track_caller]
    pub(crate) fn flush(&self) {
        assert_eq!(self.cli(&["FLUSHALL"]), "OK");
    }

    /// The certificate of the authority that the server's is of. The server's is for
    /// `localhost`.
    pub(crate) fn authority(&self) -> PathBuf {
        self.keeper.folder().join(AUTHORITY)
    }

    /// Makes a replica a server in its own right, at the address of the one that it
    /// has followed and that is dead.
    #[track_caller]
    pub(crate) fn take_over(&mut self, dead: &Self) {
        assert_eq!(self.cli(&["REPLICAOF", "NO", "ONE"]), "OK");
        assert_eq!(self.cli(&["CONFIG", "SET", "port", &dead.port.to_string()]), "OK");
        self.port = dead.port;
    }

    /// Shuts the server down.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.keeper.end(Signal::SIGTERM);
    }

    /// Kills the server.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.keeper.kill();
    }

    /// Starts a server that was stopped or killed again: the same port, and the data
    /// that has outlived it.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        self.wake();
    }

    /// Stops the server where it is: connections stay open and nobody answers.
    #[track_caller]
    pub(crate) fn pause(&mut self) {
        self.keeper.pause();
    }

    /// Ends a pause.
    #[track_caller]
    pub(crate) fn resume(&mut self) {
        self.keeper.resume();
    }

    fn socket(&self) -> PathBuf {
        self.keeper.folder().join("redis.sock")
    }

    #[track_caller]
    fn wake(&mut self) {
        let socket = self.socket();
        self.keeper.start(|_| answers(&socket).is_some());
    }
}

/// A server that still loads its data answers too, but not with this.
fn answers(socket: &Path) -> Option<()> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(b"PING\r\n").ok()?;
    let mut answer = [0; 7];
    stream.read_exact(&mut answer).ok()?;
    (&answer == b"+PONG\r\n").then_some(())
}

fn settings(
    folder: &Path,
    place: &Place,
    (port, tls_port): (u16, u16),
    persistence: Persistence,
) -> String {
    // With a dash: an address that the machine does not have is left out.
    let addresses = place.addresses.join(" -");
    let at = |name: &str| folder.join(name).display().to_string();
    let mut text = format!(
        "bind {addresses}\nport {port}\nprotected-mode no\ndir {}\nunixsocket {}\n\
         tls-port {tls_port}\ntls-auth-clients no\ntls-ca-cert-file {}\n\
         tls-cert-file {}\ntls-key-file {}\nsave \"\"\nrepl-diskless-sync-delay 0\n",
        folder.display(),
        at("redis.sock"),
        at(AUTHORITY),
        at(CERTIFICATE),
        at(KEY),
    );
    let (user, password) = (Redis::USER, Redis::PASSWORD);
    let _ = writeln!(text, "user {user} on >{password} ~* &* +@all");
    text.push_str(match persistence {
        Persistence::Memory => "appendonly no\n",
        Persistence::EveryWrite => "appendonly yes\nappendfsync always\n",
        Persistence::EverySecond => "appendonly yes\nappendfsync everysec\n",
    });
    text
}
