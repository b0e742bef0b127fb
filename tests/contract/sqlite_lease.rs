//! Leases in a file, of which not everything is synced.

use std::fs;
use std::time::Duration;

use doubletap::claim::decide::{LeaseTerms, Request, Terms};
use doubletap::claim::key::{Kind, Subject};
use tempfile::TempDir;

use super::stage::{LEASE, Stage, open, subject};

#[test]
fn after_power_loss_that_cost_a_lease_its_fence_is_not_given_out_again() {
    let mut stage = Stage::sqlite();
    let terms = Terms::Lease(LeaseTerms { slots: 1, min_hold: Duration::ZERO });
    let subject = Subject { kind: Kind::Lease, ..subject("name") };
    let request = |stage: &mut Stage| {
        let request = stage.request("name");
        Request { subject: subject.clone(), terms: terms.clone(), ..request }
    };
    stage.done("earlier");
    // What is on the disk: all that was synced, which the lease is not.
    let files = ["", "-wal"].map(|end| {
        let mut name = stage.path().into_os_string();
        name.push(end);
        (name.clone(), fs::read(name).unwrap())
    });
    let asked = request(&mut stage);
    let lost = stage.win(&asked).attempt().fence;
    let folder = TempDir::with_prefix("doubletap-").unwrap();
    let after = folder.path().join("store.db");
    for ((_, bytes), end) in files.iter().zip(["", "-wal"]) {
        fs::write(folder.path().join(format!("store.db{end}")), bytes).unwrap();
    }
    stage.clock.pass(Duration::from_secs(1));
    stage.clock.restart_machine();
    stage.store = Box::new(open(&after, LEASE, &stage.clock));
    let asked = request(&mut stage);
    let next = stage.win(&asked).attempt().fence;
    assert!(next > lost, "{next:?} after {lost:?}");
}
