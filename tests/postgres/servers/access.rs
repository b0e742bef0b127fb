//! Who may open a store, and how it is protected on the way.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use doubletap::store::postgres::PostgresShelf;
use doubletap::store::setup::Setup;
use doubletap::store::shelf::Shelf as _;
use doubletap::store::{StoreError, Trouble};

use crate::postgres::people::{LIMIT, address, database, fresh, nothing};
use crate::support::servers::Postgres;

fn open(url: &str) -> Result<PostgresShelf, StoreError> {
    PostgresShelf::open(&address(url), LIMIT, Setup::Required, &nothing)
}

#[track_caller]
fn refused(url: &str) -> StoreError {
    let why = open(url).err().unwrap();
    assert_eq!(why.trouble(), Trouble::Refused, "{why}");
    assert!(!why.to_string().contains(Postgres::PASSWORD), "{why}");
    why
}

/// What the connection is protected by.
fn protection(url: &str) -> String {
    let findings = open(url).unwrap().examine();
    findings.into_iter().find(|finding| finding.check == "tls").unwrap().found
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_wrong_password_is_not_shown() {
    let url = fresh().replace(Postgres::PASSWORD, "s3cret");
    let why = refused(&url);
    assert!(why.what().contains("password authentication failed"), "{why}");
    assert!(why.remedy().unwrap().contains("PGPASSWORD"), "{why}");
    assert!(!why.to_string().contains("s3cret"), "{why}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn the_password_comes_from_the_variable_or_from_the_file() {
    let text = fresh();
    let bare = text.replace(&format!(":{}@", Postgres::PASSWORD), "@");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".pgpass");
    let open = |variables: &[(&str, OsString)]| {
        PostgresShelf::open(&address(&bare), LIMIT, Setup::Required, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.clone())
        })
    };
    let none = open(&[]).err().unwrap();
    assert!(none.what().contains("password missing"), "{none}");
    drop(open(&[("PGPASSWORD", Postgres::PASSWORD.into())]).unwrap());

    let name = database(&text);
    let user = Postgres::USER;
    let line = format!("localhost:*:{name}:{user}:{}\n", Postgres::PASSWORD);
    fs::write(&file, line).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    drop(open(&[("HOME", folder.path().into())]).unwrap());
    drop(open(&[("PGPASSFILE", file.clone().into())]).unwrap());

    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let why = open(&[("HOME", folder.path().into())]).err().unwrap();
    let typed = format!("chmod 600 {}", file.display());
    assert!(why.remedy().unwrap().contains(&typed), "{why}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn it_is_protected_as_sslmode_says() {
    let url = fresh();
    let root = Postgres::shared().authority();
    let stranger = Postgres::start();
    let (root, other) = (root.display(), stranger.authority().display().to_string());
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let told = protection(&format!("{url}?sslmode={mode}&sslrootcert={root}"));
        assert!(told.starts_with("TLSv1"), "{mode}: {told}");
    }
    assert!(protection(&url).starts_with("TLSv1"));
    assert!(protection(&format!("{url}?sslmode=disable")).starts_with("none"));
    assert!(protection(&format!("{url}?sslmode=allow")).starts_with("none"));
    for mode in ["require", "verify-ca", "verify-full"] {
        let why = refused(&format!("{url}?sslmode={mode}&sslrootcert={other}"));
        assert!(why.what().contains("certificate"), "{mode}: {why}");
    }
    for bad in ["sslmode=verify-full", "sslmode=verify-full&sslrootcert=/nowhere"] {
        let why = refused(&format!("{url}?{bad}"));
        assert!(why.what().contains("certificate"), "{bad}: {why}");
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn verify_full_looks_at_the_name_and_verify_ca_does_not() {
    let url = fresh().replace("@localhost:", "@db.example:");
    let root = Postgres::shared().authority();
    let with = |mode: &str| {
        format!("{url}?hostaddr=127.0.0.1&sslmode={mode}&sslrootcert={}", root.display())
    };
    assert!(protection(&with("verify-ca")).starts_with("TLSv1"));
    let why = refused(&with("verify-full"));
    assert!(why.what().contains("db.example"), "{why}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_server_that_is_not_there_is_said_to_be_away_at_once() {
    let mut server = Postgres::start();
    let url = server.database();
    server.stop();
    let began = Instant::now();
    let why = open(&url).err().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(why.trouble(), Trouble::Away, "{why}");
    assert!(why.what().contains("refused") && why.what().contains("localhost, port"), "{why}");
    assert!(!why.to_string().contains(Postgres::PASSWORD), "{why}");

    let unknown = open("postgresql://nobody@no-such-host.invalid/d").err().unwrap();
    assert_eq!(unknown.trouble(), Trouble::Away, "{unknown}");
    assert!(unknown.what().contains("no-such-host.invalid"), "{unknown}");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_database_and_rights_that_are_missing_are_named() {
    let server = Postgres::shared();
    let url = fresh();
    let there = server.url("not_there");
    let why = refused(&there);
    let port = there.rsplit(':').next().unwrap().split('/').next().unwrap();
    let typed = format!("createdb -h localhost -p {port} -U {} not_there", Postgres::USER);
    assert_eq!(why.remedy(), Some(&*typed));

    let name = database(&url);
    server.sql(name, &format!("CREATE ROLE \"Guest-{name}\" LOGIN PASSWORD 'x'"));
    let login = format!("{}:{}@", Postgres::USER, Postgres::PASSWORD);
    let why = refused(&url.replace(&login, &format!("Guest-{name}:x@")));
    let remedy = why.remedy().unwrap();
    assert!(remedy.contains(&format!("TO \"Guest-{name}\"")), "{why}");
    server.sql(name, remedy);
    drop(open(&url.replace(&login, &format!("Guest-{name}:x@"))).unwrap());
}
