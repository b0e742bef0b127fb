//! The rows about a store on PostgreSQL, and `psql`, by which scripts do the same by hand.
//!
//! Both sides ask the same server by the same URL: by TCP, with a password, without TLS. `psql` is
//! the program itself and not Debian's wrapper in `/usr/bin`, which takes longer than it.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
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

const PASSWORD: &str = "doubletap";

pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "replay from a PostgreSQL server",
        against: "`psql -c 'SELECT …'`",
        must: Must::Ratio(1.5),
        also: None,
        rounds: Rounds { warm_up: 10, full: 200, quick: 50 },
        sides: Sides::InTurn { ours: replay, peer: find, program: row::PSQL },
    },
    Row {
        name: "fresh `once` of `true` on a PostgreSQL server",
        against: "`psql -c 'INSERT … ON CONFLICT DO NOTHING …'`, `true`, `psql -c 'UPDATE …'`",
        must: Must::Ratio(1.5),
        also: None,
        rounds: Rounds { warm_up: 10, full: 200, quick: 50 },
        sides: Sides::InTurn { ours: fresh, peer: by_hand, program: row::PSQL },
    },
    Row {
        name: "`lease` of `true` on a PostgreSQL server",
        against: "`etcdctl lock NAME true`",
        must: Must::Ratio(1.2),
        also: None,
        rounds: Rounds { warm_up: 10, full: 200, quick: 50 },
        sides: Sides::InTurn { ours: lease, peer: etcd::lock, program: row::ETCD },
    },
];

/// A server of a row's own.
struct Postgres {
    _server: Server,
    psql: PathBuf,
    url: String,
}

impl Postgres {
    /// The server of this row, which ends when nobody has it any more.
    fn shared() -> Result<Rc<Self>> {
        thread_local! {
            static SHARED: RefCell<Weak<Postgres>> = const { RefCell::new(Weak::new()) };
        }
        SHARED.with(|shared| {
            if let Some(server) = shared.borrow().upgrade() {
                return Ok(server);
            }
            let server = Rc::new(Self::start().context("starting PostgreSQL")?);
            *shared.borrow_mut() = Rc::downgrade(&server);
            Ok(server)
        })
    }

    fn start() -> Result<Self> {
        let programs = programs()?;
        let home = Home::create("postgres", &["postgres", "nobody"])?;
        let (port, data) = (free_port()?, home.at("data"));
        fs::write(home.at("password"), PASSWORD)?;
        let mut words: Vec<OsString> = vec![programs.join("initdb").into(), "--pgdata".into()];
        words.extend([&data, Path::new("--pwfile"), &home.at("password")].map(OsString::from));
        words.extend(["--username=doubletap", "--auth=scram-sha-256"].map(OsString::from));
        words.extend(["--encoding=UTF8", "--locale=C.UTF-8"].map(OsString::from));
        home.run(&words)?;
        let mut words: Vec<OsString> = vec![programs.join("postgres").into(), "-D".into()];
        words.extend([&data, Path::new("-p")].map(OsString::from));
        words.push(port.to_string().into());
        words.extend(["-c", "listen_addresses=127.0.0.1", "-k", ""].map(OsString::from));
        let psql = run::install(&programs.join("psql"))?;
        let url = format!("postgresql://doubletap:{PASSWORD}@127.0.0.1:{port}/postgres");
        let ready = || Ok(run::say(&psql, &[&url, "-XAtqc", "SELECT 1"])?.is_some());
        let server = Server::start(home, &words, ready)?;
        Ok(Self { _server: server, psql, url })
    }

    /// Returns `psql URL -XAtqc STATEMENT`.
    fn call(&self, statement: &str) -> Command {
        let mut command = run::command(&self.psql);
        command.args([&*self.url, "-XAtqc", statement]);
        command
    }

    /// Returns the same as a script has it.
    fn in_script(&self, text: &str) -> String {
        format!("{} '{}' -XAtqc \"{text}\"", self.psql.display(), self.url)
    }

    /// Makes what scripts keep their claims in.
    fn table(&self) -> Result<()> {
        let table = "CREATE TABLE claim (key text PRIMARY KEY,
            claimed timestamptz NOT NULL DEFAULT now(), done timestamptz, output text)";
        run::one(self.call(table)).map(drop)
    }
}

/// The folder of the newest programs. Debian keeps all but `psql` out of `PATH`.
fn programs() -> Result<PathBuf> {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = installed.filter_map(|version| {
        let path = version.ok()?.path();
        let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
        Some((number, path.join("bin")))
    });
    let whole = versions.filter(|(_, folder)| folder.join("postgres").is_file());
    if let Some((_, folder)) = whole.max() {
        return Ok(folder);
    }
    let found = run::find("postgres")?.and_then(|path| Some(path.parent()?.to_owned()));
    found.context("PostgreSQL's server: not installed (package postgresql)")
}

fn ours() -> Result<Remote<Postgres>> {
    let server = Postgres::shared()?;
    let url = server.url.clone();
    Remote::create(server, &url)
}

fn replay() -> Result<Measure> {
    ours()?.replay("replay-postgres-runs")
}

fn fresh() -> Result<Measure> {
    Ok(ours()?.fresh())
}

fn lease() -> Result<Measure> {
    Ok(ours()?.lease())
}

/// Finds one record of a script's.
fn find() -> Result<Measure> {
    let server = Postgres::shared()?;
    server.table()?;
    let add = "INSERT INTO claim VALUES ('replay', now(), now(), 'hi')";
    run::one(server.call(add))?;
    let find = "SELECT output FROM claim WHERE key = 'replay' AND done IS NOT NULL";
    let said = run::say(&server.psql, &[&server.url, "-XAtqc", find])?;
    ensure!(said.as_deref() == Some("hi"), "the record was not found");
    Ok(Box::new(move || run::one(server.call(find))))
}

/// Runs `true` under a new key each round, as a careful script does.
fn by_hand() -> Result<Measure> {
    let server = Postgres::shared()?;
    server.table()?;
    let mut round = 0;
    Ok(Box::new(move || {
        round += 1;
        let claim = server.in_script(&format!(
            "INSERT INTO claim (key) VALUES ('fresh-{round}') \
             ON CONFLICT DO NOTHING RETURNING key"
        ));
        let record =
            server.in_script(&format!("UPDATE claim SET done = now() WHERE key = 'fresh-{round}'"));
        let mut command = run::command(Path::new("/bin/sh"));
        command.args(["-c", &format!("test -n \"$({claim})\" && true && {record}")]);
        run::one(command)
    }))
}
