//! Long chains and many chains are read as short and few ones are.

use doubletap::claim::attempt::{Attempt, State};
use doubletap::claim::fence::Fence;
use doubletap::claim::key::Kind;
use doubletap::store::shelf::{Asked, Depth, Page, Shelf as _, Wanted};
use doubletap::store::{Owned, Store as _};

use crate::postgres::people::{
    LIMIT, database, failed, fresh, recorded, request, shelf, store, subject, won,
};
use crate::support::servers::Postgres;

/// A key with so many attempts, of which each failed.
fn long_chain(key: &str, length: usize) -> String {
    let url = fresh();
    let mut store = store(&url, LIMIT);
    let claim = won(&mut store, &request(key, 1));
    assert_eq!(store.complete(claim, &failed()).unwrap(), Owned::Yes);
    multiply(&url, key, length);
    url
}

/// Adds copies of a key's first attempt.
fn multiply(url: &str, key: &str, length: usize) {
    let text = format!(
        "CREATE TEMP TABLE copies AS SELECT first.*, n FROM doubletap.attempt AS first,
            generate_series(2, {length}) AS n WHERE key = '{key}' AND generation = 1;
        UPDATE copies SET generation = n, fence = fence + n * 100000, number = n,
            token = decode(md5(n::text), 'hex');
        ALTER TABLE copies DROP COLUMN n;
        INSERT INTO doubletap.attempt SELECT * FROM copies"
    );
    Postgres::shared().sql(database(url), &text);
}

fn page(url: &str, wanted: Wanted<'_>) -> Page {
    shelf(url, LIMIT).read(wanted).unwrap()
}

fn generations(attempts: &[Attempt]) -> Vec<i64> {
    attempts.iter().map(|attempt| attempt.generation).collect()
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn what_decides_is_read_of_a_long_chain_and_not_much_more() {
    let url = long_chain("key", 1000);
    let key = subject(Kind::Once, "key");
    let read = generations(&page(&url, Wanted::of(&key)).attempts);
    assert!(read.ends_with(&[998, 999, 1000]) && read.len() < 20, "{read:?}");

    let sql = |text: &str| Postgres::shared().sql(database(&url), text);
    sql("UPDATE doubletap.attempt SET state = 'running', ended_ms = NULL WHERE generation = 5");
    sql("UPDATE doubletap.attempt SET state = 'interrupted', emptied = false WHERE generation = 7");
    sql("UPDATE doubletap.attempt SET state = 'interrupted', emptied = true WHERE generation = 9");
    let own = sql("SELECT fence FROM doubletap.attempt WHERE generation = 11");
    let own = Some(Fence(own.trim().parse().unwrap()));
    let read = page(&url, Wanted { own, ..Wanted::of(&key) });
    assert_eq!(generations(&read.attempts), [5, 7, 11, 998, 999, 1000]);
    assert_eq!(read.attempts[0].state, State::Running);

    sql("UPDATE doubletap.attempt SET rerun = true WHERE generation > 900");
    let read = generations(&page(&url, Wanted::of(&key)).attempts);
    assert_eq!(read[..3], [5, 7, 900]);
    assert_eq!(read.len(), 2 + 101);

    let whole = page(&url, Wanted { depth: Depth::Whole, ..Wanted::of(&key) });
    assert_eq!(generations(&whole.attempts), (1..=1000).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_change_sees_as_much_of_a_long_chain() {
    let url = long_chain("key", 1000);
    let first = "SELECT fence FROM doubletap.attempt WHERE generation = 1";
    let fence = Postgres::shared().sql(database(&url), first);
    let mut store = store(&url, LIMIT);
    store.mark_empty(Fence(fence.trim().parse().unwrap())).unwrap();
    let marked = "SELECT generation FROM doubletap.attempt WHERE emptied";
    assert_eq!(Postgres::shared().sql(database(&url), marked).trim(), "1");
    assert_eq!(won(&mut store, &request("key", 200)).attempt().generation, 1001);
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_walk_tells_each_chain_once_and_whole_however_long_it_is() {
    let url = long_chain("long", 1700);
    let mut owner = store(&url, LIMIT);
    for number in 0..30 {
        let claim = won(&mut owner, &request(&format!("key-{number:02}"), 7));
        assert_eq!(owner.complete(claim, &recorded()).unwrap(), Owned::Yes);
    }
    multiply(&url, "key-07", 490);
    let mut told = Vec::new();
    let mut shelf = shelf(&url, LIMIT);
    shelf
        .walk(Asked::Keys(None), &mut |chain| {
            let generations = generations(&chain.attempts);
            assert!(generations.is_sorted_by(|newer, older| *newer == older + 1));
            told.push((chain.subject.key.to_string(), generations.len()));
            Ok(())
        })
        .unwrap();
    let mut expected: Vec<(String, usize)> =
        (0..30).map(|number| (format!("key-{number:02}"), 1)).collect();
    expected[7].1 = 490;
    expected.push(("long".to_owned(), 1700));
    assert_eq!(told, expected);

    let nowhere = doubletap::claim::key::Namespace::new("elsewhere").unwrap();
    shelf.walk(Asked::Keys(Some(&nowhere)), &mut |chain| panic!("{chain:?}")).unwrap();
    let here = doubletap::claim::key::Namespace::new("default").unwrap();
    let mut keys = 0;
    shelf
        .walk(Asked::Keys(Some(&here)), &mut |_| {
            keys += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(keys, 31);
}
