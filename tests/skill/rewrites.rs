//! What races, what sticks and what repeats, and what is to be written instead.

use super::{example, pair};
use crate::support::{Call, Running, Scene, finished, until};

/// Leaves a trace and waits for the test.
const SLOW: &str = "echo $$ >>runs; read x <gate; echo report";
const QUICK: &str = "echo $$ >>runs; echo report";

fn script(scene: &Scene, name: &str, text: &str) {
    scene.executable(&scene.path(name), text);
}

/// Two racers of a script whose command waits: the second starts while the first one's
/// command runs. What the second does is left to the test.
fn racers<'a>(scene: &'a Scene, text: &str) -> (Running, Call<'a>) {
    let race = || scene.shell(text).any_stdout();
    (scene.begun(race()), race())
}

#[test]
fn of_two_that_look_for_a_marker_file_both_run_and_with_a_key_one_does() {
    let [bad, good] = pair("A marker file");
    let scene = Scene::new();
    script(&scene, "import.sh", SLOW);
    let (first, second) = racers(&scene, &bad);
    let second = scene.begun(second);
    assert_eq!(scene.runs(), 2, "both are running");
    drop((first, second));

    let scene = Scene::new();
    script(&scene, "import.sh", SLOW);
    let (first, second) = racers(&scene, &good);
    second.status(75).note(&["import", "busy"]).run();
    scene.gate().open();
    first.finish();
    scene.shell(&good).stdout("report\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_marker_file_is_missing_after_a_crash_and_what_had_happened_happens_again() {
    let [bad, _] = pair("A marker file");
    let scene = Scene::new();
    script(&scene, "import.sh", SLOW);
    let (first, _) = racers(&scene, &bad);
    scene.kill_everybody();
    drop(first);
    script(&scene, "import.sh", QUICK);
    scene.shell(&bad).stdout("report\n").run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn of_two_that_look_for_a_process_both_start_it_and_with_a_lease_one_does() {
    let [bad, good] = pair("A search for the process");
    let scene = Scene::new();
    // It answers truly, and late.
    scene.stand_in("pgrep", "test -e alive; found=$?; echo >>asked; read x <gate; exit $found");
    script(&scene, "worker", "touch alive; echo >>runs");
    let race = || scene.shell(&bad).spawn();
    let both = [race(), race()];
    until("both have looked", || scene.read("asked").lines().count() == 2);
    let mut gate = scene.gate();
    gate.open();
    gate.open();
    finished(both);
    assert_eq!(scene.runs(), 2);

    let scene = Scene::new();
    script(&scene, "worker", SLOW);
    let (first, second) = racers(&scene, &good);
    second.status(75).run();
    scene.gate().open();
    first.finish();
    assert_eq!(scene.runs(), 1);
    script(&scene, "worker", QUICK);
    scene.shell(&good).stdout("report\n").run();
    assert_eq!(scene.runs(), 2, "a lease is free afterwards");
}

#[test]
fn the_folder_of_a_killed_holder_blocks_for_ever_and_its_lease_does_not() {
    let [bad, good] = pair("A lock that nobody takes away");
    let scene = Scene::new();
    script(&scene, "report.sh", SLOW);
    let (first, second) = racers(&scene, &bad);
    second.status(75).run();
    scene.kill_everybody();
    drop(first);
    script(&scene, "report.sh", QUICK);
    for _ in 0..3 {
        scene.shell(&bad).status(75).run();
    }
    assert_eq!(scene.runs(), 1, "nobody runs, and nobody may");

    let scene = Scene::new();
    script(&scene, "report.sh", SLOW);
    let (first, second) = racers(&scene, &good);
    second.status(75).note(&["report", "busy"]).run();
    scene.kill_everybody();
    drop(first);
    script(&scene, "report.sh", QUICK);
    scene.shell(&good).stdout("report\n").any_stderr().run();
    assert_eq!(scene.runs(), 2);
}

/// A provider that charges once per idempotency key, and whose first answer is lost.
const PROVIDER: &str = r#"
    echo >>runs
    grep -qxF "$key" charges 2>/dev/null || echo "$key" >>charges
    test "$(wc -l <runs)" -gt 1
"#;

#[test]
fn a_counter_in_the_key_charges_twice_and_one_key_once() {
    let [bad, good] = pair("A counter in the key");
    for (text, charges) in [(bad, 2), (good, 1)] {
        let scene = Scene::new();
        let provider = format!("key=$DOUBLETAP_IDEMPOTENCY_KEY\n{PROVIDER}");
        script(&scene, "charge.sh", &provider);
        scene.shell(&text).env("order", "8812").run();
        let charged = scene.read("charges").lines().count();
        assert_eq!((scene.runs(), charged), (2, charges), "{text}");
    }
}

#[test]
fn a_request_without_a_key_is_taken_for_another_one() {
    let [bad, good] = pair("A request without an idempotency key");
    // Without a header, every request is a new one.
    let curl = format!(
        r#"key="none $$"; for word; do case $word in Idem*) key=$word ;; esac; done
        {PROVIDER}"#
    );
    for (text, charges, runs) in [(bad, 3, 3), (good, 1, 2)] {
        let scene = Scene::new();
        scene.stand_in("curl", &curl);
        scene.shell(&text).status(1).run();
        scene.shell(&text).run();
        scene.shell(&text).run();
        let charged = scene.read("charges").lines().count();
        assert_eq!((scene.runs(), charged), (runs, charges), "{text}");
    }
}

#[test]
fn a_script_tells_a_busy_key_from_one_that_needs_a_person_and_from_a_failure() {
    let [text] = example("A failure that a script has to tell apart", ["sh"]);
    let scene = Scene::new();
    let sync = || scene.shell(&text).env("site", "north");
    script(&scene, "sync.sh", "echo >>runs; exit 9");
    sync().status(9).run();
    script(&scene, "sync.sh", "echo >>runs; read x <gate");
    let first = scene.begun(sync());
    sync().stdout("north is being synced; later\n").any_stderr().run();
    scene.gate().open();
    first.finish();
    sync().run();
    assert_eq!(scene.runs(), 2);
    scene.call("once sync-west").command(["true"]).run();
    let person = sync().env("site", "west").status(65).any_stderr().run();
    assert!(person.complaint().ends_with("west needs a person\n"), "{}", person.complaint());
}

#[test]
fn five_callers_run_it_once_and_all_get_its_output() {
    let [text] = example("Five callers at once", ["sh"]);
    let scene = Scene::new();
    script(&scene, "import.sh", QUICK);
    scene.shell(&text).stdout("report\n".repeat(5)).run();
    assert_eq!(scene.runs(), 1);
}

/// A deploy of two parts; the second one ends with what is in `upload`.
fn parts(scene: &Scene) {
    scene.write("upload", "0");
    script(scene, "migrate.sh", "echo migrate $version >>runs");
    script(scene, "upload.sh", "echo upload $version >>runs; exit $(cat upload)");
}

#[test]
fn marks_between_the_parts_of_a_script_stop_the_next_release_and_steps_do_not() {
    let [bad, good] = pair("Marker files between the parts of a script");
    for (text, second) in [(bad, ""), (good, "migrate 2\nupload 2\n")] {
        let scene = Scene::new();
        let deploy = |version: &str| scene.shell(&text).env("version", version);
        parts(&scene);
        scene.write("upload", "4");
        deploy("1").status(4).run();
        scene.write("upload", "0");
        deploy("1").run();
        deploy("1").run();
        assert_eq!(scene.read("runs"), "migrate 1\nupload 1\nupload 1\n", "{text}");
        scene.write("runs", "");
        deploy("2").run();
        assert_eq!(scene.read("runs"), second, "{text}");
    }
}

#[test]
fn a_script_that_says_it_runs_says_so_for_ever_when_it_is_killed_and_a_claim_does_not() {
    let [bad, good] = pair("A script that cannot be wrapped");
    let scene = Scene::new();
    script(&scene, "import.sh", SLOW);
    let (first, _) = racers(&scene, &bad);
    scene.kill_everybody();
    drop(first);
    script(&scene, "import.sh", QUICK);
    scene.shell(&bad).status(75).run();
    assert_eq!(scene.runs(), 1, "nobody runs, and nobody may");

    let scene = Scene::new();
    script(&scene, "import.sh", SLOW);
    let (first, second) = racers(&scene, &good);
    second.status(75).note(&["import", "busy"]).run();
    scene.kill_everybody();
    drop(first);
    script(&scene, "import.sh", "echo >>runs; exit 4");
    scene.shell(&good).status(4).note(&["import", "interrupted"]).run();
    script(&scene, "import.sh", QUICK);
    scene.shell(&good).run();
    scene.shell(&good).run();
    assert_eq!(scene.runs(), 3);
    scene.call("logs import").stdout("report\n").run();
}
