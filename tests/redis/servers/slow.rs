//! Servers whose answers take long, or never come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use doubletap::claim::decide::Decision;
use doubletap::store::{Owned, Store as _};

use super::relay::{Ear, Heard, deaf, relayed};
use super::{LIMIT, completed, refusal, store, won};
use crate::contract::completion::recorded;
use crate::contract::stage::request;
use crate::support::servers::Redis;

/// A way to a server each of whose answers comes so many milliseconds later.
fn far(text: &str, ms: &Arc<AtomicU64>) -> String {
    let ms = Arc::clone(ms);
    let answered: Arc<Ear> = Arc::new(move |_| {
        thread::sleep(Duration::from_millis(ms.load(Ordering::SeqCst)));
        Heard::Fine
    });
    relayed(text, &deaf(), &answered)
}

sentence! {
    fn a_server_whose_answers_take_longer_than_a_second_takes_claims_renewals_and_ends() {
        let ms = Arc::new(AtomicU64::new(0));
        let mut store = store(&far(&Redis::shared().fresh(), &ms));
        let warm = won(&mut store, &request("warm", 1));
        completed(&mut store, warm, &recorded());
        ms.store(1200, Ordering::SeqCst);
        let own = won(&mut store, &request("k", 2));
        assert_eq!(store.renew(&own.ownership(), LIMIT).unwrap(), Owned::Yes);
        completed(&mut store, own, &recorded());
        assert!(matches!(refusal(&mut store, &request("k", 3)), Decision::Replay(_)));
    }
}
