//! The ten situations of the README's table, as anyone can run them.

use crate::support::{BIN, Scene};

#[test]
#[ignore = "needs bash and script (bsdutils): cargo test -- --ignored"]
fn in_none_of_the_ten_situations_do_we_fail() {
    let scene = Scene::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/situations.sh");
    let call = scene.call("--check").program(script.as_ref()).arg(BIN);
    let done = call.any_stdout().run();
    assert_eq!(done.text().matches("| ✓ ").count(), 9, "{}", done.text());
    assert_eq!(done.text().matches("| ◐ kept when lines are apart").count(), 1, "{}", done.text());
}
