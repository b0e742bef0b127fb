//! `--max-output`: the first part is kept, and a replay says so.

use crate::support::{Call, Scene};

/// Writes `0123456789` in two halves, the second to stderr.
const TEN_BYTES: &str = "echo run >>runs; printf 01234; printf 56789 >&2";

fn call<'scene>(scene: &'scene Scene, options: &str) -> Call<'scene> {
    scene.once(options).sh(TEN_BYTES).merged()
}

#[test]
fn beyond_it_the_live_output_goes_on_and_the_record_keeps_the_first_part() {
    let scene = Scene::new();
    call(&scene, "k --max-output 7").stdout("0123456789").run();
    let replay = scene.once("k --max-output 7").sh(TEN_BYTES);
    let done = replay.unchecked().run();
    assert_eq!(done.text(), "01234");
    let told = done.complaint();
    assert!(told.starts_with("56doubletap: k: only the first 7 bytes"), "{told}");
    assert_eq!((done.code(), scene.runs()), (0, 1));
}

#[test]
fn what_fits_exactly_is_whole() {
    let scene = Scene::new();
    for _ in 0..2 {
        call(&scene, "k --max-output 10").stdout("0123456789").run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn zero_keeps_nothing_and_says_so() {
    let scene = Scene::new();
    call(&scene, "k --max-output 0").stdout("0123456789").run();
    scene.once("k --max-output 0").sh(TEN_BYTES).note(&["none of its output is on record"]).run();
    scene.once("silent --max-output 0").sh("true").run();
    scene.once("silent --max-output 0").sh("true").run();
}

#[test]
fn by_default_it_is_16_mib_and_none_lifts_it() {
    let scene = Scene::new();
    let script = "dd if=/dev/zero bs=1M count=17 2>/dev/null";
    for (key, kept) in [("default", 16 << 20), ("free --max-output none", 17 << 20)] {
        let live = scene.once(key).sh(script).any_stdout().run();
        assert_eq!(live.stdout.len(), 17 << 20);
        let replay = scene.once(key).sh(script).unchecked().run();
        assert_eq!(replay.stdout.len(), kept, "{key}");
        assert_eq!(replay.complaint().contains("only the first 16777216 bytes"), kept == 16 << 20);
    }
}

#[test]
fn the_report_and_show_say_that_it_was_cut_short() {
    let scene = Scene::new();
    call(&scene, "k --max-output 1KiB --report report").stdout("0123456789").run();
    assert!(scene.read("report").contains(r#""output_bytes":10,"truncated":false"#));
    let longer = scene.once("l --max-output 4B --report report").sh(TEN_BYTES).merged();
    longer.stdout("0123456789").run();
    assert!(scene.read("report").contains(r#""output_bytes":4,"truncated":true"#));
    let shown = scene.call("show l").any_stdout().run();
    assert!(shown.text().contains("the first 4 bytes of its output"), "{}", shown.text());
}

#[test]
fn a_size_needs_a_number_and_a_unit_that_exists() {
    let scene = Scene::new();
    for size in ["", "M", "1.5G", "64 KiB", "unlimited", "99999999TiB"] {
        let call = scene.once("k").arg("--max-output").arg(size).sh(TEN_BYTES);
        call.status(64).note(&["--max-output"]).run();
    }
    let call = scene.once("k --max-output 1M --no-output").sh(TEN_BYTES);
    call.status(64).note(&["--no-output"]).run();
    assert_eq!(scene.runs(), 0);
}
