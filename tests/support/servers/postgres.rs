//! A PostgreSQL server of a test's own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::Signal;

use super::authority::{AUTHORITY, CERTIFICATE, KEY, certify};
#[cfg(feature = "postgres")]
use super::keeper::KILL;
use super::keeper::{Home, Keeper};
use super::place::{Place, free_port};
use super::pooler::Pooler;
#[cfg(feature = "postgres")]
use super::relay::Relay;
use super::tool::{answer, postgres_folder};

/// An immediate shutdown, for which nobody may be stopped. A server that was killed
/// has also left a little shared memory: its file says which.
const FAREWELL: &str = r#"
kill -CONT "$server" $(cat "/proc/$server/task/$server/children")
kill -QUIT "$server"
wait "$server"
[ ! -e "$folder/data/postmaster.pid" ] ||
    ipcrm --shmem-id "$(sed -n '7s/.* //p' "$folder/data/postmaster.pid")"
"#;

/// A running server. Dropping it ends all its processes and removes its data.
///
/// By TCP it asks for a password, encrypted or not; by its Unix socket, which only
/// the test can reach, for none.
pub(crate) struct Postgres {
    keeper: Keeper,
    programs: PathBuf,
    place: Place,
    port: u16,
    made: AtomicU32,
}

/// What receives all that a server writes. Dropping it ends it.
#[cfg(feature = "postgres")]
pub(crate) struct Receiver {
    /// Held, not read: it ends the process.
    _keeper: Keeper,
}

impl Postgres {
    /// The superuser.
    pub(crate) const USER: &'static str = "doubletap";
    /// Its password, which must not be seen anywhere.
    pub(crate) const PASSWORD: &'static str = "never-to-be-shown";

    /// Starts a server for this machine. It syncs as servers do by default.
    #[track_caller]
    pub(crate) fn start() -> Self {
        Self::start_at(Place::loopback())
    }

    /// The server that all sentences share which do nothing to it.
    #[track_caller]
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    #[track_caller]
    pub(super) fn start_at(place: Place) -> Self {
        let programs = postgres_folder();
        let home = Home::of(&["postgres", "nobody"]);
        let port = free_port();
        create(&home, &programs);
        certify(&home);
        configure(&home, &place, port);

        let data = home.path().join("data");
        let server = [programs.join("postgres").into(), "-D".into(), data.into()];
        let words = [place.through.clone(), home.through(), server.to_vec()].concat();
        let keeper = Keeper::new(home, FAREWELL, &words);
        let mut server = Self { keeper, programs, place, port, made: AtomicU32::new(0) };
        server.wake();
        server
    }

    /// Where a database is, the password included.
    pub(crate) fn url(&self, database: &str) -> String {
        let (user, password, place) = (Self::USER, Self::PASSWORD, &self.place.name);
        format!("postgresql://{user}:{password}@{place}:{}/{database}", self.port)
    }

    /// Where an empty store is that nobody else uses: a schema is made faster than a
    /// database.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn fresh(&self) -> String {
        let schema = self.made.fetch_add(1, Ordering::Relaxed);
        format!("{}?schema=fresh{schema}", self.url("postgres"))
    }

    /// Makes an empty database that nobody else uses, and says where it is.
    #[track_caller]
    pub(crate) fn database(&self) -> String {
        let name = format!("fresh{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        self.url(&name)
    }

    /// Starts a pooler in front of the server.
    #[track_caller]
    pub(crate) fn pooler(&self) -> Pooler {
        Pooler::start(self.keeper.folder(), self.port)
    }

    /// Starts what receives all that the server writes, as a standby of this name does.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub(crate) fn receiver(&self, name: &str) -> Receiver {
        let home = Home::of(&["postgres", "nobody"]);
        let (socket, port) = (self.keeper.folder().display(), self.port);
        let server =
            format!("host={socket} port={port} user={} application_name={name}", Self::USER);
        let receive = [
            self.programs.join("pg_receivewal").into(),
            "--synchronous".into(),
            "--directory".into(),
            home.path().into(),
            "--dbname".into(),
            server.into(),
        ];
        let words = [home.through(), receive.to_vec()].concat();
        let mut keeper = Keeper::new(home, KILL, &words);
        keeper.start(|_| true);
        Receiver { _keeper: keeper }
    }

    /// Starts a relay in front of the server.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub(crate) fn relay(&self) -> Relay {
        Relay::start(self.port)
    }

    /// What `psql` prints of a statement's rows: one a line, fields divided by `|`.
    #[track_caller]
    pub(crate) fn sql(&self, database: &str, text: &str) -> String {
        let mut words = self.psql();
        let socket = self.keeper.folder().as_os_str().to_owned();
        words.extend(["--host".into(), socket, "--port".into(), self.port.to_string().into()]);
        words.extend(["--username", Self::USER, "--dbname", database].map(OsString::from));
        words.extend(["--command", text].map(OsString::from));
        answer(&words)
    }

    /// The same, of the database at a URL.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub(crate) fn sql_at(&self, url: &str, text: &str) -> String {
        let mut words = self.psql();
        words.extend(["--command", text, url].map(OsString::from));
        answer(&words)
    }

    /// The words that start a `psql` which prints as [`Self::sql`] does.
    pub(crate) fn psql(&self) -> Vec<OsString> {
        let mut words = vec![self.programs.join("psql").into()];
        words.extend(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"].map(OsString::from));
        words.extend(["--no-password", "--set", "ON_ERROR_STOP=1"].map(OsString::from));
        words
    }

    /// The certificate of the authority that the server's is of, for `sslrootcert`.
    /// The server's is for `localhost`.
    pub(crate) fn authority(&self) -> PathBuf {
        self.keeper.folder().join(AUTHORITY)
    }

    /// What the server has logged.
    pub(crate) fn log(&self) -> String {
        self.keeper.log()
    }

    /// Shuts the server down; open connections are closed.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.keeper.end(Signal::SIGINT);
    }

    /// Starts a server that was stopped again, as the standby of one that is not there:
    /// it can be read.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    #[track_caller]
    pub(crate) fn stand_by(&mut self) {
        let signal = self.keeper.folder().join("data/standby.signal");
        fs::write(signal, "").expect("a file can be written");
        self.wake();
    }

    /// Kills all processes of the server.
    #[track_caller]
    pub(crate) fn kill(&mut self) {
        self.keeper.kill();
    }

    /// Starts a server that was stopped or killed again: the same data, the same port.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        self.wake();
    }

    /// Stops all processes where they are: connections stay open and nobody answers.
    #[track_caller]
    pub(crate) fn pause(&mut self) {
        self.keeper.pause();
    }

    /// Ends a pause.
    #[track_caller]
    pub(crate) fn resume(&mut self) {
        self.keeper.resume();
    }

    #[track_caller]
    fn wake(&mut self) {
        let file = self.keeper.folder().join("data/postmaster.pid");
        self.keeper.start(|server| {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            lines.first() == Some(&&*server.to_string())
                && lines.get(7).is_some_and(|state| ["ready", "standby"].contains(state))
        });
    }
}

/// Makes the data of an empty server.
#[track_caller]
fn create(home: &Home, programs: &Path) {
    home.write("password", Postgres::PASSWORD);
    let at = |name: &str| home.path().join(name).into_os_string();
    let mut words = home.through();
    words.extend([programs.join("initdb").into(), "--pgdata".into(), at("data")]);
    words.extend(["--username".into(), Postgres::USER.into(), "--pwfile".into(), at("password")]);
    words.extend(["--auth-local=trust", "--auth-host=scram-sha-256"].map(OsString::from));
    words.extend(["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"].map(OsString::from));
    answer(&words);
}

fn configure(home: &Home, place: &Place, port: u16) {
    let at = |name: &str| home.path().join(name).display().to_string();
    // Shared memory in the data's own folder, where it is removed with it.
    let settings = format!(
        "listen_addresses = '{}'\nport = {port}\nunix_socket_directories = '{}'\n\
         max_connections = 300\ndynamic_shared_memory_type = mmap\n\
         ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\n",
        place.addresses.join(","),
        home.path().display(),
        at(CERTIFICATE),
        at(KEY),
    );
    append(&home.path().join("data/postgresql.conf"), &settings);
    append(&home.path().join("data/pg_hba.conf"), "host all all samenet scram-sha-256\n");
}

fn append(path: &Path, text: &str) {
    let before = fs::read_to_string(path).expect("initdb has made it");
    fs::write(path, format!("{before}\n{text}")).expect("a file can be written");
}
