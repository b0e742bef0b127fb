//! Outputs come back as they were, whatever they come to.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use doubletap::claim::fence::Fence;
use doubletap::store::{Frames, Owned, Store as _};

use crate::postgres::people::{LIMIT, database, fresh, recorded, request, store, with_output, won};
use crate::support::servers::Postgres;

const MIB: u32 = 1 << 20;

fn kept(url: &str, frames: Option<Frames>) -> Fence {
    let mut store = store(url, LIMIT);
    let claim = won(&mut store, &request("key", 1));
    let fence = claim.attempt().fence;
    let end = match frames {
        Some(frames) => with_output(frames, recorded()),
        None => recorded(),
    };
    assert_eq!(store.complete(claim, &end).unwrap(), Owned::Yes);
    fence
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn no_output_is_not_an_empty_one() {
    let url = fresh();
    let fence = kept(&url, None);
    assert!(store(&url, LIMIT).output(fence).unwrap().is_none());
    let url = fresh();
    let fence = kept(&url, Some(Frames::Bytes(Vec::new())));
    let found = store(&url, LIMIT).output(fence).unwrap();
    assert!(matches!(found, Some(Frames::Bytes(bytes)) if bytes.is_empty()));
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_small_one_comes_back_in_memory() {
    let url = fresh();
    let fence = kept(&url, Some(Frames::Bytes(vec![0xFF; 1 << 20])));
    let found = store(&url, LIMIT).output(fence).unwrap();
    assert!(matches!(found, Some(Frames::Bytes(bytes)) if bytes == vec![0xFF; 1 << 20]));
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn a_large_one_comes_back_in_a_file_and_goes_with_its_attempt() {
    let url = fresh();
    let mut file = tempfile::tempfile().unwrap();
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| n.to_le_bytes()[n as usize % 3]).collect();
    file.write_all(&bytes).unwrap();
    // What is behind it is not part of it.
    file.write_all(b"more").unwrap();
    let fence = kept(&url, Some(Frames::File(Arc::new(file), bytes.len() as u64)));
    let Some(Frames::File(found, length)) = store(&url, LIMIT).output(fence).unwrap() else {
        panic!("it is in no file")
    };
    let mut read = vec![0; usize::try_from(length).unwrap()];
    found.read_exact_at(&mut read, 0).unwrap();
    assert!(read == bytes);
    let (mut found, mut rest) = (&*found, Vec::new());
    found.seek(std::io::SeekFrom::Start(length)).unwrap();
    assert_eq!(found.read_to_end(&mut rest).unwrap(), 0);

    let mut store = store(&url, LIMIT);
    let key = crate::postgres::people::subject(doubletap::claim::key::Kind::Once, "key");
    let mut nobody = doubletap::store::lease_alone::LeaseAlone;
    let _ = store.forget(&key, doubletap::store::Force::No, &mut nobody).unwrap();
    let sweep = doubletap::store::Sweep {
        namespace: None,
        older_than: Duration::ZERO,
        promised: doubletap::store::Promised::Spared,
        unlooked: doubletap::store::Unlooked::Included,
        mode: doubletap::store::SweepMode::Remove,
    };
    crate::support::until("it has ended in the past", || {
        let _ = store.sweep(&sweep, &mut |_| ()).unwrap();
        let left = "SELECT count(*) FROM doubletap.output";
        Postgres::shared().sql(database(&url), left).trim() == "0"
    });
}

#[test]
#[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
fn one_that_takes_longer_than_a_call_may_passes_part_by_part() {
    let url = fresh();
    let relay = Postgres::shared().relay();
    // A call may take as long as four of six parts.
    relay.slow_down(2 * MIB);
    let limit = Duration::from_secs(2);
    let mut store = store(&format!("{}?sslmode=disable", relay.url(&url)), LIMIT);
    let claim = won(&mut store, &request("key", 1));
    store.wait_at_most(limit);
    let fence = claim.attempt().fence;
    let bytes: Vec<u8> = (0..6 * MIB / 4).flat_map(u32::to_le_bytes).collect();
    let end = with_output(Frames::Bytes(bytes.clone()), recorded());
    let began = Instant::now();
    assert_eq!(store.complete(claim, &end).unwrap(), Owned::Yes);
    assert!(began.elapsed() > limit, "{:?}", began.elapsed());
    let began = Instant::now();
    let Some(Frames::File(found, length)) = store.output(fence).unwrap() else {
        panic!("it is in no file")
    };
    assert!(began.elapsed() > limit, "{:?}", began.elapsed());
    let mut read = vec![0; usize::try_from(length).unwrap()];
    found.read_exact_at(&mut read, 0).unwrap();
    assert!(read == bytes);
}
