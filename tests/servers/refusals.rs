//! A server that cannot be used: one sentence without a password, 125, and nothing runs.

use super::engine::Engine;
use crate::support::Scene;
use crate::support::servers::{Postgres, Redis};

every_server!(
    whoever_is_not_let_in_runs_nothing,
    a_server_that_is_not_there_runs_nothing,
    a_server_that_proves_nothing_runs_nothing,
    a_server_that_may_only_be_read_runs_nothing,
);

/// A password that nobody may see either.
const WRONG: &str = "wr0ng";

/// A server that cannot be used as it is named: how, and what is said of it.
trait Refusing: Engine {
    /// For somebody who has no rights there.
    fn for_a_guest(&self, url: &str) -> (String, &'static str);
    /// In a database that is not there.
    fn nowhere(url: &str) -> (String, &'static str);
    /// With a certificate of an authority that nobody here knows.
    fn certified(&self, url: &str) -> String;
    /// Where it can only be read; whoever is handed over with it keeps it so.
    fn read_only(&mut self, url: &str) -> (Option<Self>, String);
}

impl Refusing for Postgres {
    fn for_a_guest(&self, url: &str) -> (String, &'static str) {
        self.sql("postgres", &format!("CREATE ROLE guest LOGIN PASSWORD '{WRONG}'"));
        let login = format!("{}:{}@", Self::USER, Self::PASSWORD);
        (url.replace(&login, &format!("guest:{WRONG}@")), "GRANT USAGE ON SCHEMA")
    }

    fn nowhere(url: &str) -> (String, &'static str) {
        (url.replace("/postgres?", "/not_there?"), "createdb -h localhost")
    }

    fn certified(&self, url: &str) -> String {
        format!("{url}&sslmode=verify-full")
    }

    fn read_only(&mut self, url: &str) -> (Option<Self>, String) {
        self.stop();
        self.stand_by();
        (None, url.to_owned())
    }
}

impl Refusing for Redis {
    fn for_a_guest(&self, url: &str) -> (String, &'static str) {
        let password = format!(">{WRONG}");
        let rules = ["ACL", "SETUSER", "guest", "on", &password, "~*", "+@read", "+@connection"];
        assert_eq!(self.cli(&rules), "OK");
        let login = format!("{}:{}@", Self::USER, Self::PASSWORD);
        (url.replace(&login, &format!("guest:{WRONG}@")), "NOPERM")
    }

    fn nowhere(url: &str) -> (String, &'static str) {
        (url.replace("/0?", "/99?"), "DB index is out of range")
    }

    fn certified(&self, url: &str) -> String {
        let (_, name) = url.split_once("?prefix=").unwrap();
        self.tls_url(name).replace("://", &format!("://{}:{}@", Self::USER, Self::PASSWORD))
    }

    fn read_only(&mut self, url: &str) -> (Option<Self>, String) {
        let copy = self.replica();
        let (_, name) = url.split_once("?prefix=").unwrap();
        let there = copy.url(name);
        let login = format!("://{}:{}@", Self::USER, Self::PASSWORD);
        (Some(copy), there.replace("://", &login))
    }
}

/// Has calls tell of a store that they cannot use.
#[track_caller]
fn refused<E: Engine>(scene: &Scene, url: &str, words: &[&str]) {
    let calls = [
        scene.once("k --report report --log log --store-timeout 5s"),
        scene.lease("k --report report --log log --store-timeout 5s"),
    ];
    for call in calls {
        let call = call.env("DOUBLETAP_STORE", url).sh("echo >>runs").status(125);
        let said = call.note(words).run().complaint();
        for text in [said, scene.read("report"), scene.read("log")] {
            assert!(!text.contains(E::password()) && !text.contains(WRONG), "{text}");
        }
    }
    assert_eq!(scene.runs(), 0);
    let outcome = r#""outcome":"error""#;
    assert!(scene.read("report").contains(outcome), "{}", scene.read("report"));
}

fn whoever_is_not_let_in_runs_nothing<E: Refusing>() {
    let server = E::shared();
    let scene = server.scene();
    let url = scene.place().into_string().unwrap();
    refused::<E>(&scene, &url.replace(E::password(), WRONG), &["password"]);
    let (guest, said) = server.for_a_guest(&url);
    refused::<E>(&scene, &guest, &[said]);
    let (nowhere, said) = E::nowhere(&url);
    refused::<E>(&scene, &nowhere, &[said]);
}

fn a_server_that_is_not_there_runs_nothing<E: Refusing>() {
    let scene = E::shared().scene();
    let url = scene.place().into_string().unwrap();
    refused::<E>(
        &scene,
        &url.replace("@localhost", "@no-such-host.invalid"),
        &["no-such-host.invalid"],
    );
    let (login, rest) = url.split_once("@localhost:").unwrap();
    let (_, rest) = rest.split_once('/').unwrap();
    refused::<E>(&scene, &format!("{login}@localhost:1/{rest}"), &["localhost", "refused"]);
}

fn a_server_that_proves_nothing_runs_nothing<E: Refusing>() {
    let scene = E::shared().scene();
    let url = scene.place().into_string().unwrap();
    refused::<E>(&scene, &E::shared().certified(&url), &["certificate"]);
}

fn a_server_that_may_only_be_read_runs_nothing<E: Refusing>() {
    let mut server = E::start();
    let scene = server.scene();
    scene.once("before").sh("echo out").stdout("out\n").run();
    let (_copy, url) = server.read_only(scene.place().to_str().unwrap());
    refused::<E>(&scene, &url, &["cannot be written"]);
    // What is on record can be read all the same.
    let shown = scene.call("show before").env("DOUBLETAP_STORE", &url).any_stdout().run();
    assert!(shown.text().contains("done"), "{}", shown.text());
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_postgresql_that_only_variables_name_is_a_store() {
    let server = Postgres::shared();
    let url = server.database();
    let (place, database) = url.rsplit_once('/').unwrap();
    let port = place.rsplit(':').next().unwrap();
    let scene = Scene::on("postgresql://".to_owned());
    let call = |words: &str| {
        let call = scene.call(words).env("PGHOST", "localhost").env("PGPORT", port);
        let call = call.env("PGUSER", Postgres::USER).env("PGPASSWORD", Postgres::PASSWORD);
        call.env("PGDATABASE", database)
    };
    call("setup").run();
    call("once k -- true").run();
    call("show k").any_stdout().run();
}
