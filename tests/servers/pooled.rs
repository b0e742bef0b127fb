//! Through a pooler that lends a connection for one transaction at a time.

use crate::support::servers::Postgres;
use crate::support::{Scene, finished, until};

#[test]
#[ignore = "needs postgresql, openssl and pgbouncer: cargo test --features full -- --ignored servers::"]
fn all_that_is_done_directly_is_done_through_a_pooler() {
    let server = Postgres::shared();
    let pooler = server.pooler();
    let scene = Scene::on(pooler.url(&server.database()));
    scene.call("setup").run();
    let mut gate = scene.gate();

    scene.behave("echo out");
    let callers = (0..20).map(|_| scene.attempt("k --wait 30s").stdout("out\n").spawn());
    finished(callers.collect::<Vec<_>>());
    assert_eq!(scene.runs(), 1);

    let holder = scene.begun(scene.hanging_lease("n"));
    scene.behave(":");
    let waiter = scene.held("n -v --wait 30s").any_stderr().spawn();
    until("it waits", || !waiter.stderr_so_far().is_empty());
    assert_eq!(scene.runs(), 2);
    gate.open();
    holder.finish();
    waiter.finish();
    assert_eq!(scene.runs(), 3);

    let token = scene.call("begin s --claim-ttl 1m").any_stdout().run().text();
    scene.write("result", "done\n");
    scene.call("renew --token").arg(token.trim()).run();
    scene.call("complete s --result result --token").arg(token.trim()).run();
    scene.call("begin s --claim-ttl 1m").status(10).stdout("done\n").run();
}
