//! Hosts of a test's own: network namespaces on one switch, from which each can be
//! cut off.
//!
//! No namespace has a name and none is the machine's own, so there is nothing to
//! collide with and nothing to clean up: each lasts as long as the processes in it,
//! the first of which a keeper ends with the test.

use std::ffi::OsString;
use std::fs;

use super::keeper::{Home, KILL, Keeper};
use super::place::Place;
use super::postgres::Postgres;
use super::redis::{Persistence, Redis};
use super::tool::answer;
use crate::support::poll::until;
use crate::support::wall_clock::{LIBRARY, PRELOADED};

/// What a host is known by to whoever asks whether a process is one of its own.
const BOOTED: &str = r#"mount --bind "$BOOTED" /proc/sys/kernel/random/boot_id || exit 99
    unset BOOTED; exec "$@""#;

/// The address of the servers in every network.
pub(super) const SERVER: &str = "10.77.0.1";

/// A switch, and the place of the servers that all hosts share.
pub(crate) struct Network {
    space: Namespace,
}

/// A host: what runs in it reaches the network's servers and nothing else, and was
/// booted at another time than any other host. Its files and processes are the
/// machine's.
pub(crate) struct Host<'network> {
    network: &'network Network,
    space: Namespace,
    plug: String,
}

impl Network {
    /// A network with nobody in it. Needs root.
    #[track_caller]
    pub(crate) fn new() -> Self {
        let space = Namespace::new("servers");
        space.run("ip link add name switch type bridge");
        space.run(&format!("ip address add {SERVER}/24 dev switch"));
        space.run("ip link set dev switch up");
        Self { space }
    }

    /// Joins a host of this name; its number, up to 200, is nobody else's.
    #[track_caller]
    pub(crate) fn host(&self, number: u8, name: &str) -> Host<'_> {
        let space = Namespace::new(name);
        let plug = format!("plug{number}");
        let pid = space.keeper.server();
        self.space.run(&format!("ip link add name {plug} type veth peer name net0 netns {pid}"));
        self.space.run(&format!("ip link set dev {plug} master switch up"));
        space.run(&format!("ip address add 10.77.0.{}/24 dev net0", number + 10));
        space.run("ip link set dev net0 up");
        fs::write(space.booted(), format!("{name}\n")).expect("a file can be written");
        let host = Host { network: self, space, plug };
        host.await_the_network();
        host
    }

    /// Starts a PostgreSQL server that all hosts reach.
    #[track_caller]
    pub(crate) fn postgres(&self) -> Postgres {
        Postgres::start_at(self.place())
    }

    /// Starts a Redis server that all hosts reach.
    #[track_caller]
    pub(crate) fn redis(&self, persistence: Persistence) -> Redis {
        Redis::start_at(self.place(), persistence, "")
    }

    fn place(&self) -> Place {
        let addresses = vec![SERVER.to_owned(), "127.0.0.1".to_owned()];
        Place { through: self.space.through(), name: SERVER.to_owned(), addresses }
    }
}

impl Host<'_> {
    /// The words that start a program on this host, for `Call::through`.
    pub(crate) fn through(&self) -> Vec<OsString> {
        let mut words = self.space.through();
        let booted = format!("BOOTED={}", self.space.booted());
        let private = ["env", &booted, "unshare", "--mount", "sh", "-c", BOOTED, "sh"];
        words.extend(private.map(OsString::from));
        words
    }

    /// The words that start a program on this host by a wall clock that is this many
    /// seconds off. What it starts has the same clock. A static program does not see it:
    /// [`dynamic`](crate::support::dynamic) is the one that does.
    pub(crate) fn with_clock(&self, seconds: i32) -> Vec<OsString> {
        let mut words = self.through();
        let library = format!("FAKETIME_LIBRARY={LIBRARY}");
        let offset = format!("FAKETIME={seconds:+}s");
        let others = ["FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"];
        words.extend(["env", &library, &offset, others[0], others[1]].map(OsString::from));
        words.extend(["unshare", "--mount", "sh", "-c", PRELOADED, "sh"].map(OsString::from));
        words
    }

    /// Pulls the host's plug: whatever it sends is lost, and nobody is told.
    #[track_caller]
    pub(crate) fn cut_off(&self) {
        self.network.space.run(&format!("ip link set dev {} down", self.plug));
    }

    /// Puts the plug back.
    #[track_caller]
    pub(crate) fn join(&self) {
        self.network.space.run(&format!("ip link set dev {} up", self.plug));
        self.await_the_network();
        // For a while the kernel would remember that nobody had answered.
        self.space.run("ip neighbour flush dev net0");
    }

    /// Waits until the host's card and the switch have noticed the plug.
    #[track_caller]
    fn await_the_network(&self) {
        let switch = format!("ip -details link show dev {}", self.plug);
        until("the switch forwards", || {
            self.network.space.run(&switch).contains("state forwarding")
        });
        until("the host's card is up", || {
            self.space.run("ip link show dev net0").contains("state UP")
        });
    }
}

/// A network namespace with a host name of its own, and a process that only sleeps.
struct Namespace {
    keeper: Keeper,
}

impl Namespace {
    #[track_caller]
    fn new(name: &str) -> Self {
        let sleeper = ["unshare", "--net", "--uts", "sleep", "infinity"].map(OsString::from);
        let mut keeper = Keeper::new(Home::of(&["root"]), KILL, &sleeper);
        let kind = |pid: &str, kind: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
        keeper.start(|pid| {
            let pid = pid.to_string();
            ["net", "uts"].iter().all(|space| kind(&pid, space) != kind("self", space))
        });
        let space = Self { keeper };
        space.run("ip link set dev lo up");
        space.sh(&format!("echo {name} >/proc/sys/kernel/hostname"));
        until("the host has its name", || space.sh("uname -n") == name);
        space
    }

    fn through(&self) -> Vec<OsString> {
        let pid = self.keeper.server().to_string();
        ["nsenter", "--target", &pid, "--net", "--uts"].map(OsString::from).to_vec()
    }

    /// The file with what the kernel would draw at its start.
    fn booted(&self) -> String {
        self.keeper.folder().join("boot_id").display().to_string()
    }

    #[track_caller]
    fn run(&self, line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        answer(&[self.through(), words].concat())
    }

    #[track_caller]
    fn sh(&self, script: &str) -> String {
        let words = ["sh", "-c", script].map(OsString::from).to_vec();
        answer(&[self.through(), words].concat())
    }
}
