//! A PostgreSQL server does what its owner says.

use std::ffi::OsString;

use crate::support::processes::state;
use crate::support::servers::Postgres;
use crate::support::{Done, Scene, until};

/// `psql` from outside, by a URL.
fn psql(scene: &Scene, server: &Postgres, url: &str, statement: &str) -> Done {
    let words: Vec<OsString> = server.psql();
    let mut call = scene.call("").program(words[0].as_ref()).unchecked();
    for word in words.into_iter().skip(1) {
        call = call.arg(word);
    }
    call.arg("--command").arg(statement).arg(url).run()
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn every_database_is_empty_and_nobody_elses() {
    let scene = Scene::new();
    let server = Postgres::shared();
    let [one, other] = [server.database(), server.database()];
    assert_ne!(one, other);
    let made = psql(&scene, server, &one, "CREATE TABLE t (x int)");
    assert_eq!(made.complaint(), "");
    let found = "SELECT count(*) FROM pg_tables WHERE tablename = 't'";
    assert_eq!(psql(&scene, server, &one, found).text(), "1\n");
    assert_eq!(psql(&scene, server, &other, found).text(), "0\n");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_wrong_password_is_refused() {
    let scene = Scene::new();
    let server = Postgres::shared();
    let url = server.url("postgres").replace(Postgres::PASSWORD, "wrong");
    let done = psql(&scene, server, &url, "SELECT 1");
    assert!(done.complaint().contains("password authentication failed"), "{}", done.complaint());
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn its_certificate_is_for_localhost_and_of_its_own_authority() {
    let scene = Scene::new();
    let server = Postgres::shared();
    let stranger = Postgres::start();
    let verified = |authority: &Postgres, host: &str| {
        let url = server.url("postgres").replace("localhost", host);
        let root = authority.authority();
        let url = format!("{url}?sslmode=verify-full&sslrootcert={}", root.display());
        psql(&scene, server, &url, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    };
    assert_eq!(verified(server, "localhost").text(), "t\n");
    let by_another = verified(&stranger, "localhost");
    assert!(by_another.complaint().contains("certificate verify failed"));
    let elsewhere = verified(server, "127.0.0.2");
    assert_ne!(elsewhere.code(), 0);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_was_committed_outlives_a_kill_and_a_stop() {
    let scene = Scene::new();
    let mut server = Postgres::start();
    let url = server.database();
    let database = url.rsplit('/').next().unwrap();
    server.sql(database, "CREATE TABLE t (x int)");
    let end: [fn(&mut Postgres); 2] = [Postgres::kill, Postgres::stop];
    for (number, end) in end.into_iter().enumerate() {
        server.sql(database, &format!("INSERT INTO t VALUES ({number})"));
        end(&mut server);
        let refused = psql(&scene, &server, &url, "SELECT 1");
        assert!(refused.complaint().contains("Connection refused"), "{}", refused.complaint());
        server.restart();
        assert_eq!(
            psql(&scene, &server, &url, "SELECT max(x) FROM t").text(),
            format!("{number}\n")
        );
    }
    assert!(server.log().contains("not properly shut down"), "{}", server.log());
    assert_eq!(server.sql(database, "SHOW fsync"), "on");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn nobody_answers_in_a_pause_and_everybody_after_it() {
    let scene = Scene::new();
    let mut server = Postgres::start();
    let url = server.url("postgres");
    server.pause();
    let words = server.psql();
    let call = scene.call("").program(words[0].as_ref());
    let mut asking = call.arg("-Atc").arg("SELECT 1").arg(&url).stdout("1\n").spawn();
    // It hangs where it waits for the server's word: in `poll`.
    until("psql waits", || state(asking.pid()) == Some('S'));
    assert!(asking.is_under_way());
    server.resume();
    asking.finish();
}

#[test]
#[ignore = "needs postgresql and pgbouncer: cargo test --features full -- --ignored servers::"]
fn a_pooler_lends_a_connection_for_one_transaction() {
    let scene = Scene::new();
    let server = Postgres::shared();
    let direct = server.database();
    let pooler = server.pooler();
    let url = pooler.url(&direct);
    assert_ne!(url, direct);
    let asked = |url: &str, statement: &str| {
        let done = psql(&scene, server, url, statement);
        assert_eq!(done.complaint(), "");
        done.text()
    };
    // A lock of a session outlives the client that took it, for nobody's good.
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7";
    asked(&url, "SELECT pg_advisory_lock(7)");
    assert_eq!(asked(&direct, held), "1\n");
    asked(&direct, "SELECT pg_advisory_lock(7 + 1)");
    assert_eq!(asked(&direct, &held.replace('7', "8")), "0\n");
    let refused = psql(&scene, server, &url.replace(Postgres::PASSWORD, "wrong"), "SELECT 1");
    assert!(refused.complaint().contains("FATAL"), "{}", refused.complaint());
}
