//! Both sides of the row about two keys of one store, one of which is captured at length.

use anyhow::Result;

use crate::gigabyte::{self, SIZE};
use crate::row::{MeasureBoth, Times};
use crate::run;
use crate::running::Running;
use crate::store::Store;

/// Runs `true` under a new key, again and again while a gigabyte is captured in the same store,
/// and then as often while nothing is.
///
/// A run counts if the capture had not ended when it started: the last one may have met the end
/// of the capture, where everything becomes durable.
pub(crate) fn fresh() -> Result<MeasureBoth> {
    let (store, file) = (Store::create("neighbour")?, gigabyte::file()?);
    let fresh = |store: &Store, number: usize| {
        run::one(store.once(&format!("fresh-{number}"), &[], &["true"]))
    };
    fresh(&store, 0)?;
    Ok(Box::new(move || {
        store.empty()?;
        gigabyte::settle();
        let mut times = Times::default();
        let mut capture = Running::start(store.once("capture", gigabyte::ALL, &["cat", file]))?;
        while !capture.has_ended()? {
            times.ours.push(fresh(&store, times.ours.len())?);
        }
        capture.end()?;
        store.expect_spool(SIZE)?;
        store.empty()?;
        gigabyte::settle();
        for number in 0..times.ours.len() {
            times.peer.push(fresh(&store, number)?);
        }
        Ok(times)
    }))
}
