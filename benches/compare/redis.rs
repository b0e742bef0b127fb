//! The rows about a store on Redis, and `redis-cli`, by which scripts do the same by hand.
//!
//! Both sides ask the same server, which syncs every write before it answers.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::{Rc, Weak};

use anyhow::{Context, Result, ensure};

use crate::etcd;
use crate::must::Must;
use crate::remote::Remote;
use crate::row::{self, Measure, Rounds, Row, Sides};
use crate::run;
use crate::server::{Home, Server, free_port};

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "replay from a Redis server",
        against: "`redis-cli GET …`",
        must: Must::Ratio(1.5),
        also: None,
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        sides: Sides::InTurn { ours: replay, peer: find, program: row::REDIS },
    },
    Row {
        name: "fresh `once` of `true` on a Redis server",
        against: "`redis-cli SET … NX EX …`, `true`, `redis-cli SET …`",
        must: Must::Ratio(1.5),
        also: None,
        rounds: Rounds { warm_up: 20, full: 300, quick: 60 },
        sides: Sides::InTurn { ours: fresh, peer: by_hand, program: row::REDIS },
    },
    Row {
        name: "`lease` of `true` on a Redis server",
        against: "`etcdctl lock NAME true`",
        must: Must::Ratio(1.2),
        also: None,
        rounds: Rounds { warm_up: 20, full: 200, quick: 50 },
        sides: Sides::InTurn { ours: lease, peer: etcd::lock, program: row::ETCD },
    },
];

/// A server of a row's own.
struct Redis {
    _server: Server,
    cli: PathBuf,
    port: String,
}

impl Redis {
    /// The server of this row, which ends when nobody has it any more.
    fn shared() -> Result<Rc<Self>> {
        thread_local! {
            static SHARED: RefCell<Weak<Redis>> = const { RefCell::new(Weak::new()) };
        }
        SHARED.with(|shared| {
            if let Some(server) = shared.borrow().upgrade() {
                return Ok(server);
            }
            let server = Rc::new(Self::start().context("starting Redis")?);
            *shared.borrow_mut() = Rc::downgrade(&server);
            Ok(server)
        })
    }

    fn start() -> Result<Self> {
        let program = run::find("redis-server")?;
        let program = program.context("redis-server: not installed (package redis-server)")?;
        let home = Home::create("redis", &["redis", "nobody"])?;
        let port = free_port()?.to_string();
        let mut words: Vec<OsString> = vec![program.into(), "--port".into(), (&port).into()];
        words.extend(["--bind", "127.0.0.1", "--save", ""].map(OsString::from));
        words.extend(["--appendonly", "yes", "--appendfsync", "always"].map(OsString::from));
        let cli = run::need("redis-cli")?;
        let ready = || {
            let said = run::say(&cli, &["-h", "127.0.0.1", "-p", &port, "PING"])?;
            Ok(said.as_deref() == Some("PONG"))
        };
        let server = Server::start(home, &words, ready)?;
        Ok(Self { _server: server, cli, port })
    }

    /// Returns `redis-cli WORD…`.
    fn call(&self, words: &[&str]) -> Command {
        let mut command = run::command(&self.cli);
        command.args(["-h", "127.0.0.1", "-p", &self.port]).args(words);
        command
    }
}

fn ours() -> Result<Remote<Redis>> {
    let server = Redis::shared()?;
    let url = format!("redis://127.0.0.1:{}/0", server.port);
    Remote::create(server, &url)
}

fn replay() -> Result<Measure> {
    ours()?.replay("replay-redis-runs")
}

fn fresh() -> Result<Measure> {
    Ok(ours()?.fresh())
}

fn lease() -> Result<Measure> {
    Ok(ours()?.lease())
}

/// Finds one record of a script's.
fn find() -> Result<Measure> {
    let server = Redis::shared()?;
    run::one(server.call(&["SET", "by-hand", "hi"]))?;
    let said = run::say(&server.cli, &["-h", "127.0.0.1", "-p", &server.port, "GET", "by-hand"])?;
    ensure!(said.as_deref() == Some("hi"), "the record was not found");
    Ok(Box::new(move || run::one(server.call(&["GET", "by-hand"]))))
}

/// Runs `true` under a new key each round, as a careful script does.
fn by_hand() -> Result<Measure> {
    let server = Redis::shared()?;
    let cli = format!("{} -h 127.0.0.1 -p {}", server.cli.display(), server.port);
    let mut round = 0;
    Ok(Box::new(move || {
        let _running = &server;
        round += 1;
        let claim = format!("{cli} SET by-hand-{round} claimed NX EX 60");
        let record = format!("{cli} SET by-hand-{round} done");
        let mut command = run::command(Path::new("/bin/sh"));
        command.args(["-c", &format!("test \"$({claim})\" = OK && true && {record}")]);
        run::one(command)
    }))
}
