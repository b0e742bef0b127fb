//! Full disks and read-only media. Each call brings its own mount namespace.

use crate::support::{Call, Scene};

/// Starts the call in a mount namespace of its own, after a script that mounts.
fn mounted<'scene>(call: Call<'scene>, script: &str) -> Call<'scene> {
    call.through(["unshare", "-m", "sh", "-c", script, "sh"])
}

/// Asserts that an attempt after that script ends with 125, says these words,
/// and never starts its command.
#[track_caller]
fn runs_nothing(scene: &Scene, script: &str, words: &[&str]) {
    mounted(scene.attempt("k"), script).status(125).note(words).run();
    assert_eq!(scene.runs(), 0);
}

const READ_ONLY: &str = r#"
    mount --bind "$STATE" "$STATE" && mount -o remount,ro,bind "$STATE" || exit 99
    exec "$@""#;
const SMALL: &str = r#"mount -t tmpfs -o size=1m,mode=700 none "$STATE" || exit 99"#;
const FILL: &str = r#"dd if=/dev/zero of="$STATE/fill" bs=4k 2>/dev/null"#;

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn on_a_full_disk_nothing_runs() {
    let scene = Scene::new();
    let script = format!(r#"{SMALL}; {FILL}; exec "$@""#);
    runs_nothing(&scene, &script, &["store"]);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn on_a_disk_that_filled_up_after_the_store_was_made_nothing_runs() {
    let scene = Scene::new();
    let script = format!(
        r#"{SMALL}; "$BIN" once earlier -- true || exit 98
        i=0; {FILL}
        # Claims until the space that the store still had is used up.
        while "$BIN" once used-up-$i -- true 2>/dev/null && test $i -lt 3000; do i=$((i+1)); done
        exec "$@""#
    );
    runs_nothing(&scene, &script, &["store"]);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn on_a_full_disk_fail_open_runs_unguarded() {
    let scene = Scene::new();
    let script = format!(r#"{SMALL}; {FILL}; exec "$@""#);
    scene.behave("echo out");
    let call = mounted(scene.attempt("k --fail-open"), &script);
    call.stdout("out\n").notes(&["unguarded"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_disk_that_fills_during_the_run_costs_the_output_or_gives_74_but_never_silence() {
    let scene = Scene::new();
    let output = "x".repeat(200_000);
    std::fs::write(scene.path("big"), &output).unwrap();
    let script = format!(
        r#"{SMALL}
        "$@" >first 2>first-err; echo $? >first-status
        "$BIN" show k --json >shown
        rm -f "$STATE/fill"
        "$@" >second 2>second-err; echo $? >second-status"#
    );
    scene.behave(&format!("{FILL}; cat big"));
    mounted(scene.attempt("k --claim-ttl 2s"), &script).run();
    assert_eq!(scene.read("first"), output, "the output is delivered");
    let complaint = scene.read("first-err");
    assert!(
        complaint.starts_with("doubletap: ") && complaint.contains('k'),
        "it said: {complaint}"
    );
    match scene.read("first-status").trim() {
        "0" => {
            assert_eq!(scene.read("second-status"), "0\n");
            assert_eq!(scene.read("second"), "", "the record has no output");
            assert_eq!(scene.runs(), 1, "the record was replayed");
        }
        "74" => {
            assert!(complaint.contains("complete k --unresolved"), "{complaint}");
            assert_eq!(scene.runs(), 2, "the next call took the attempt over");
            assert!(scene.read("second-err").contains("interrupted"));
        }
        status => panic!("it ended with {status}: {complaint}"),
    }
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn an_output_that_the_disk_has_no_room_for_is_delivered_and_its_end_recorded() {
    let scene = Scene::new();
    let script = format!(
        r#"{SMALL}
        "$@" >first 2>first-err; echo $? >first-status
        ls "$STATE" >listed
        "$@" >second 2>second-err; echo $? >second-status"#
    );
    scene.behave("dd if=/dev/zero bs=64k count=48 2>/dev/null");
    mounted(scene.attempt("k"), &script).run();
    assert_eq!(scene.read("first").len(), 3 << 20, "the output is delivered");
    assert_eq!(
        (scene.read("first-status"), scene.read("second-status")),
        ("0\n".into(), "0\n".into())
    );
    let complaint = scene.read("first-err");
    assert!(complaint.contains("k: ") && complaint.contains("No space left"), "{complaint}");
    let told = scene.read("second-err");
    assert!(
        told.contains("none of its output is on record"),
        "a replay says what is missing: {told}"
    );
    assert!(scene.read("second").len() < 1 << 20);
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn on_a_read_only_medium_nothing_runs_unless_told_to_fail_open() {
    let scene = Scene::new();
    scene.once("earlier").sh("true").run();
    runs_nothing(&scene, READ_ONLY, &["store"]);
    let call = mounted(scene.attempt("k --fail-open"), READ_ONLY);
    call.notes(&["unguarded"]).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_store_on_an_empty_read_only_medium_runs_nothing() {
    let scene = Scene::new();
    runs_nothing(&scene, READ_ONLY, &["store"]);
}

#[test]
#[ignore = "needs root and util-linux: cargo test -- --ignored"]
fn a_store_whose_file_is_immutable_runs_nothing() {
    let scene = Scene::new();
    scene.once("earlier").sh("true").run();
    let script = r#"
        for file in "$STATE"/*; do
            mount --bind "$file" "$file" && mount -o remount,ro,bind "$file" || exit 99
        done
        exec "$@""#;
    runs_nothing(&scene, script, &["store"]);
}

#[test]
#[ignore = "needs root, /dev/fuse and bindfs: cargo test -- --ignored"]
fn on_a_network_file_system_nothing_runs_and_nothing_is_created() {
    let scene = Scene::new();
    let script = r#"
        mkdir -p source && bindfs source "$STATE" || exit 99
        "$@"; status=$?
        ls -A "$STATE" >listed
        umount "$STATE"; exit $status"#;
    runs_nothing(&scene, script, &["network file system", "--store"]);
    assert_eq!(scene.read("listed"), "");
}
