//! A pooler in front of a PostgreSQL server, which lends a connection for one
//! transaction at a time: what a session set, locked or listens for is somebody
//! else's a moment later.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::authority::{CERTIFICATE, KEY, certify};
use super::keeper::{Home, KILL, Keeper};
use super::place::free_port;
use super::postgres::Postgres;
use super::tool::program;

/// A running `PgBouncer`. Dropping it ends it.
pub(crate) struct Pooler {
    /// Held, not read: it ends the process.
    _keeper: Keeper,
    port: u16,
}

impl Pooler {
    /// Starts one for the server whose socket is in this folder. As few as two
    /// connections serve everybody.
    #[track_caller]
    pub(super) fn start(server: &Path, server_port: u16) -> Self {
        let pgbouncer = program("pgbouncer", "pgbouncer");
        // The server's folder is open to its own account only.
        let home = Home::of(&["postgres", "nobody"]);
        let port = free_port();
        certify(&home);
        let at = |name: &str| home.path().join(name).display().to_string();
        let user = Postgres::USER;
        home.write("users", &format!("\"{user}\" \"{}\"\n", Postgres::PASSWORD));
        let settings = format!(
            "[databases]\n* = host={} port={server_port}\n[pgbouncer]\n\
             listen_addr = localhost\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = scram-sha-256\nauth_file = {}\n\
             client_tls_sslmode = allow\nclient_tls_cert_file = {}\nclient_tls_key_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 300\n",
            server.display(),
            at("users"),
            at(CERTIFICATE),
            at(KEY),
        );
        home.write("pgbouncer.ini", &settings);

        let log = home.path().join("log");
        let command = [pgbouncer.into(), at("pgbouncer.ini").into()];
        let words: Vec<OsString> = [home.through(), command.to_vec()].concat();
        let mut keeper = Keeper::new(home, KILL, &words);
        keeper.start(|_| fs::read_to_string(&log).is_ok_and(|log| log.contains("process up")));
        Self { _keeper: keeper, port }
    }

    /// Where a database of the server is by way of the pooler, given where it is.
    pub(crate) fn url(&self, of_server: &str) -> String {
        let (way, database) = of_server.rsplit_once('/').expect("it names a database");
        let (login, _) = way.rsplit_once(':').expect("it names a port");
        format!("{login}:{}/{database}", self.port)
    }
}
