//! A store on a server is set up once.

use std::thread;

use doubletap::store::postgres::{PostgresShelf, setup};
use doubletap::store::setup::{Made, Setup};
use doubletap::store::shelf::Shelf as _;
use doubletap::store::{Grade, Trouble};

use crate::postgres::people::{LIMIT, address, database, nothing};
use crate::support::servers::Postgres;

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_was_not_set_up_says_what_to_type_and_no_password() {
    let url = address(&Postgres::shared().database());
    let why = PostgresShelf::open(&url, LIMIT, Setup::Required, &nothing).err().unwrap();
    assert_eq!(why.trouble(), Trouble::Refused);
    assert!(why.what().ends_with("has not been set up"), "{why}");
    let typed = why.remedy().unwrap();
    assert!(typed.starts_with("doubletap setup --store postgresql://doubletap@"), "{typed}");
    assert!(!why.to_string().contains(Postgres::PASSWORD));
    drop(PostgresShelf::open(&url, LIMIT, Setup::Automatic, &nothing).unwrap());
    drop(PostgresShelf::open(&url, LIMIT, Setup::Required, &nothing).unwrap());
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn of_twenty_at_once_one_makes_the_tables() {
    let url = address(&Postgres::shared().database());
    let each = |_| {
        let url = url.clone();
        thread::spawn(move || setup(&url, LIMIT, &nothing).unwrap())
    };
    let all: Vec<_> = (0..20).map(each).collect();
    let mut made: Vec<Made> = all.into_iter().map(|one| one.join().unwrap()).collect();
    made.retain(|made| *made != Made::Nothing);
    assert_eq!(made, [Made::Created]);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_store_of_a_newer_doubletap_is_refused() {
    let server = Postgres::shared();
    let text = server.database();
    let url = address(&text);
    assert_eq!(setup(&url, LIMIT, &nothing).unwrap(), Made::Created);
    server.sql(database(&text), "INSERT INTO doubletap.migration (version) VALUES (1000)");
    for setup_or_open in [
        setup(&url, LIMIT, &nothing).err().unwrap(),
        PostgresShelf::open(&url, LIMIT, Setup::Required, &nothing).err().unwrap(),
        PostgresShelf::open(&url, LIMIT, Setup::Automatic, &nothing).err().unwrap(),
    ] {
        assert_eq!(setup_or_open.trouble(), Trouble::Refused);
        assert!(setup_or_open.what().contains("made by a newer doubletap"), "{setup_or_open}");
    }
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn the_url_can_name_another_schema() {
    let server = Postgres::shared();
    let text = server.database();
    let [one, other] = ["a", "it's%20%22mine%22"].map(|schema| format!("{text}?schema={schema}"));
    for url in [&one, &other] {
        assert_eq!(setup(&address(url), LIMIT, &nothing).unwrap(), Made::Created);
        assert_eq!(setup(&address(url), LIMIT, &nothing).unwrap(), Made::Nothing);
        let mut shelf =
            PostgresShelf::open(&address(url), LIMIT, Setup::Required, &nothing).unwrap();
        let findings = shelf.examine();
        assert!(findings.iter().all(|f| f.grade != Grade::Bad), "{findings:?}");
        assert!(shelf.sizes().unwrap().file > 0);
    }
    let found = "SELECT count(*) FROM pg_tables WHERE tablename = 'attempt'";
    assert_eq!(server.sql(database(&text), found).trim(), "2");
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_schema_that_is_there_needs_no_right_to_make_one() {
    let server = Postgres::shared();
    let text = server.database();
    let name = database(&text);
    server.sql(
        name,
        &format!(
            "CREATE ROLE owner_{name} LOGIN PASSWORD 'x'; CREATE SCHEMA doubletap;
            GRANT ALL ON SCHEMA doubletap TO owner_{name}"
        ),
    );
    let login = format!("{}:{}@", Postgres::USER, Postgres::PASSWORD);
    let url = address(&text.replace(&login, &format!("owner_{name}:x@")));
    assert_eq!(setup(&url, LIMIT, &nothing).unwrap(), Made::Created);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn whoever_may_not_set_a_store_up_is_told_which_right_he_needs() {
    let server = Postgres::shared();
    let text = server.database();
    let name = database(&text);
    let role = format!("Guest-{name}");
    server.sql(name, &format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'x'"));
    let login = format!("{}:{}@", Postgres::USER, Postgres::PASSWORD);
    let url = |schema: &str| {
        address(&format!("{}?schema={schema}", text.replace(&login, &format!("{role}:x@"))))
    };
    let refused = |schema: &str| {
        let why = setup(&url(schema), LIMIT, &nothing).err().unwrap();
        assert_eq!(why.trouble(), Trouble::Refused, "{why}");
        why.remedy().unwrap().to_owned()
    };
    // A schema that somebody else has made, and one that nobody has.
    server.sql(name, "CREATE SCHEMA \"theirs\"");
    for (schema, right) in [("theirs", "ON SCHEMA \"theirs\""), ("ours", "ON DATABASE")] {
        let remedy = refused(schema);
        assert!(remedy.contains(right), "{remedy}");
        server.sql(name, &remedy);
        assert_eq!(setup(&url(schema), LIMIT, &nothing).unwrap(), Made::Created);
        drop(PostgresShelf::open(&url(schema), LIMIT, Setup::Required, &nothing).unwrap());
    }
}
