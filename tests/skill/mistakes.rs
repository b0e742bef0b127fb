//! Mistakes in the use of `doubletap` itself, and what they cost.

use super::{example, pair};
use crate::support::Scene;
use crate::support::crontab::firings;

const TRACE: &str = "echo $$ >>runs; echo report";

fn script(scene: &Scene, name: &str, text: &str) {
    scene.executable(&scene.path(name), text);
}

#[test]
fn a_variable_that_is_not_set_makes_one_key_of_all_releases() {
    let [bad, good] = pair("A variable that is not set");
    let scene = Scene::new();
    script(&scene, "release.sh", TRACE);
    let release = |text: &str| scene.shell(text).without_env("version");
    release(&bad).stdout("report\n").run();
    release(&bad).stdout("report\n").run();
    assert_eq!(scene.runs(), 1, "the second release never goes out");
    let refused = release(&good).unchecked().run();
    assert_ne!(refused.code(), 0);
    assert_eq!(scene.runs(), 1);
    for version in ["1.4", "1.5", "1.5"] {
        release(&good).env("version", version).stdout("report\n").run();
    }
    assert_eq!(scene.runs(), 3);
}

#[test]
fn a_date_in_a_crontab_breaks_the_line_and_in_a_key_makes_mail() {
    let [bad, good] = example("A date in the key of a cron job", ["crontab bad", "crontab"]);
    let scene = Scene::new();
    scene.stand_in("backup", TRACE);
    let fired = |lines: &str| {
        let path = format!("PATH={}:/usr/bin:/bin\n", scene.bin().display());
        firings(&format!("{path}{lines}")).remove(0)
    };
    assert_ne!(fired(&bad).call(&scene).unchecked().run().code(), 0);
    assert_eq!(scene.runs(), 0);
    let dated = fired(&bad.replace('%', "\\%"));
    dated.call(&scene).stdout("report\n").run();
    dated.call(&scene).stdout("report\n").run();
    assert_eq!(scene.runs(), 1);
    let daily = fired(&good);
    daily.call(&scene).stdout("report\n").run();
    daily.call(&scene).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn what_reads_a_replay_behind_a_pipe_does_its_work_again() {
    let [bad, good] = pair("A command behind the pipe");
    for (text, mails) in [(bad, 2), (good, 1)] {
        let scene = Scene::new();
        script(&scene, "digest.sh", TRACE);
        scene.stand_in("mail", r#"echo "$*: $(cat)" >>mails"#);
        scene.shell(&text).run();
        scene.shell(&text).run();
        assert_eq!(scene.read("mails"), "-s digest team: report\n".repeat(mails), "{text}");
        assert_eq!(scene.runs(), 1);
    }
}

#[test]
fn a_secret_that_was_recorded_can_be_read() {
    let [bad, good] = pair("A secret in the output");
    for (text, logs) in [(bad, "hunter2\n"), (good, "")] {
        let scene = Scene::new();
        script(&scene, "issue-token.sh", "echo hunter2");
        for _ in 0..2 {
            scene.shell(&text).run();
            assert_eq!(scene.read("token"), "hunter2\n", "{text}");
        }
        let shown = scene.call("logs token").unchecked().run();
        assert_eq!(shown.text(), logs, "{text}");
    }
}

#[test]
fn an_error_page_is_replayed_unless_curl_fails_or_somebody_looks() {
    let [bad, good] = pair("An error page for ever");
    // A server that fails at first, and a curl that minds it only with -f.
    let curl = r#"
        echo >>runs
        test "$(wc -l <runs)" -gt 1 && { echo '{"rates":[1]}'; exit; }
        case $1 in -f*) exit 22 ;; esac
        echo '<html>'
    "#;
    let scene = Scene::new();
    scene.stand_in("curl", curl);
    scene.shell(&bad).stdout("<html>\n").run();
    scene.shell(&bad).stdout("<html>\n").run();
    let scene = Scene::new();
    scene.stand_in("curl", curl);
    scene.stand_in("jq", "grep -q rates");
    scene.shell(&good).status(22).run();
    for _ in 0..2 {
        scene.shell(&good).stdout("{\"rates\":[1]}\n").run();
    }
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_key_that_stands_for_two_deeds_does_only_the_first() {
    let [bad, good] = pair("Two deeds under one key");
    for (text, status, reports) in [(bad, 65, 0), (good, 0, 1)] {
        let scene = Scene::new();
        script(&scene, "import.sh", "echo >>runs");
        script(&scene, "report.sh", "echo >>reports");
        scene.shell(&text).status(status).any_stderr().run();
        assert_eq!((scene.runs(), scene.read("reports").len()), (1, reports), "{text}");
    }
}

#[test]
fn an_eval_of_nothing_succeeds_and_an_assignment_of_nothing_does_not() {
    let [bad, good] = pair("An eval that succeeds where there is no doubletap");
    for (text, runs) in [(bad, 2), (good, 1)] {
        let scene = Scene::new();
        script(&scene, "import.sh", "echo >>runs");
        scene.shell(&text).run();
        scene.shell(&text).status(10).run();
        assert_eq!((scene.runs(), &*scene.state("import")), (1, "done"), "{text}");
        std::fs::remove_file(scene.bin().join("doubletap")).unwrap();
        scene.shell(&text).status(127).any_stderr().run();
        assert_eq!(scene.runs(), runs, "{text}");
    }
}
