//! Scripts that claim for themselves, and deploys in steps: killed at every point of them,
//! and called again until they are done.

use std::fs;
use std::ops::RangeInclusive;

use super::{only, script};
use crate::support::processes::{destroy, within};
use crate::support::{Done, Gate, Running, Scene, Signal, until};

/// A moment of a script at which it can be killed: it is written down, and at the one
/// whose number is in `strike` the test is waited for. Before and after every effect, and
/// before and after every call of ours that changes what is on record.
const POINT: &str = r#"
    point() {
        echo "$*" >>points
        [ "$(wc -l <points)" -ne "$(cat strike)" ] || { touch struck; read x <gate; }
    }
"#;

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// Everything at once, as when the machine goes down.
    Machine,
    /// What the test has started: the script, or the `once` around it.
    Outermost,
    /// The script whose steps they are; the `once` around it lives.
    Script,
}

/// A script of the README, and what it calls, in a scene of its own.
struct Stage {
    scene: Scene,
    line: &'static str,
}

impl Stage {
    fn new(line: &'static str, files: &[(&str, &str)]) -> Self {
        let scene = Scene::new();
        fs::remove_file(scene.bin().join("doubletap")).unwrap();
        let ours = format!(
            r#"{POINT}
            case $1 in begin | complete | fail | step) ;; *) exec "$BIN" "$@" ;; esac
            echo $PPID >script.pid
            point "before $1"
            status=0
            "$BIN" "$@" || status=$?
            point "after $1"
            exit $status"#
        );
        scene.stand_in("doubletap", &ours);
        for (name, text) in files {
            script(&scene, name, text);
        }
        scene.write("strike", "0\n");
        Self { scene, line }
    }

    /// A command of the script's that has an effect.
    fn effect(&self, name: &str, does: &str) {
        let text = format!(
            r#"{POINT}
            point "before {name}"
            echo "{name} $DOUBLETAP_IDEMPOTENCY_KEY" >>effects
            {does}
            point "after {name}""#
        );
        script(&self.scene, &format!("{name}.sh"), &text);
    }

    fn call(&self) -> crate::support::Call<'_> {
        self.scene.shell(self.line)
    }

    /// The points of an undisturbed call.
    fn points(&self) -> Vec<String> {
        self.scene.read("points").lines().map(str::to_owned).collect()
    }

    /// Kills at the point with this number, and waits until nobody is left. Says what
    /// the point was, or nothing if there are not so many.
    fn strike(&self, number: usize, victim: Victim) -> Option<String> {
        self.scene.write("strike", format!("{number}\n"));
        let gate = self.scene.gate();
        let mut running = self.call().unchecked().spawn();
        let struck = self.scene.path("struck");
        until("a point is reached, or the end", || struck.exists() || !running.is_under_way());
        if !struck.exists() {
            running.finish();
            return None;
        }
        let point = self.points().pop();
        self.kill(running, gate, victim);
        self.scene.write("strike", "0\n");
        point
    }

    fn kill(&self, running: Running, mut gate: Gate, victim: Victim) {
        match victim {
            Victim::Machine => self.scene.kill_everybody(),
            Victim::Outermost => running.signal(Signal::SIGKILL),
            Victim::Script => destroy(self.scene.read("script.pid").trim().parse().unwrap()),
        }
        // What was started and lives goes on to its end.
        gate.open();
        running.finish();
        until("nobody is left", || within(&self.scene.root()).is_empty());
    }

    /// Calls it until it is done, and says what that printed.
    fn done(&self) -> Done {
        self.call().any_stdout().any_stderr().run()
    }

    /// The idempotency keys of each time that an effect happened.
    fn effects(&self, name: &str) -> Vec<String> {
        let all = self.scene.read("effects");
        let of = all.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        of.map(str::to_owned).collect()
    }

    /// Each of these effects has happened so often, and always under the same key.
    #[track_caller]
    fn assert_effects<'a>(
        &self,
        names: &[&'a str],
        at: &str,
        times: impl Fn(&'a str) -> RangeInclusive<usize>,
    ) {
        for name in names {
            let keys = self.effects(name);
            let times = times(name);
            assert!(
                times.contains(&keys.len()),
                "killed {at}: not {times:?} times {name}: {keys:?}"
            );
            assert!(keys.iter().all(|key| key.len() == 32 && *key == keys[0]), "{at}: {keys:?}");
        }
    }

    /// One key, with one record, which from now on is replayed.
    #[track_caller]
    fn assert_recorded(&self, key: &str, printed: &str, at: &str) {
        let keys = self.scene.json("list --json");
        let keys = keys.as_array().unwrap();
        assert_eq!(keys.len(), 1, "killed {at}");
        assert_eq!((&keys[0]["key"], &keys[0]["state"]), (&key.into(), &"done".into()), "{at}");
        let effects = self.scene.read("effects");
        // What a step had to say about a crash is on record, too.
        self.call().stdout(printed).any_stderr().run();
        assert_eq!(self.scene.read("effects"), effects, "killed {at}: a replay has effects");
    }
}

fn charging() -> Stage {
    let text = only("A script that claims for itself");
    let stage = Stage::new("exec ./charge 2026-11", &[("charge", &text)]);
    stage.effect("collect", r#"echo "due in $1""#);
    stage.effect("charge", "sed s/due/charged/");
    stage
}

const RECEIPTS: &str = "charged in 2026-11\n";

#[test]
fn a_script_that_claims_for_itself_charges_once_and_gives_its_receipts_again() {
    let stage = charging();
    stage.call().stdout(RECEIPTS).run();
    assert_eq!(stage.points().len(), 8, "{:?}", stage.points());
    stage.assert_effects(&["collect", "charge"], "never", |_| 1..=1);
    stage.assert_recorded("charge-2026-11", RECEIPTS, "never");
}

#[test]
fn a_script_that_claims_for_itself_can_be_killed_anywhere() {
    for victim in [Victim::Machine, Victim::Outermost] {
        for number in 1.. {
            let stage = charging();
            let Some(point) = stage.strike(number, victim) else {
                assert_eq!(number, 9, "the script was killed at every point");
                break;
            };
            let at = format!("at {number} ({point}), {victim:?}");
            assert_eq!(stage.done().text(), RECEIPTS, "killed {at}");
            // What had happened happens again as long as nothing is on record. Whatever the
            // script had started goes on without it, and a late `complete` is recorded.
            let (lives_on, recorded) = match victim {
                Victim::Machine => (0, 8),
                _ => (1, 7),
            };
            stage.assert_effects(&["collect", "charge"], &at, |name| {
                let happened = if name == "collect" { 4 } else { 6 };
                let twice = happened - lives_on <= number && number < recorded;
                let times = 1 + usize::from(twice);
                times..=times
            });
            stage.assert_recorded("charge-2026-11", RECEIPTS, &at);
        }
    }
}

#[test]
fn a_script_that_fails_or_is_told_to_end_gives_its_key_back_and_says_why() {
    let stage = charging();
    let charge = fs::read_to_string(stage.scene.path("charge.sh")).unwrap();
    script(&stage.scene, "charge.sh", "exit 4");
    stage.call().status(4).run();
    assert_eq!(stage.scene.state("charge-2026-11"), "failed");
    let shown = stage.scene.call("show charge-2026-11").any_stdout().run().text();
    assert!(shown.contains("the script ended with 4"), "{shown}");
    script(&stage.scene, "charge.sh", "echo >>waits; read x <gate");
    let mut gate = stage.scene.gate();
    let running = stage.call().status(143).spawn();
    until("it charges", || stage.scene.path("waits").exists());
    running.signal(Signal::SIGTERM);
    gate.open();
    running.finish();
    let shown = stage.scene.call("show charge-2026-11").any_stdout().run().text();
    assert!(shown.contains("the script ended with 143"), "{shown}");
    script(&stage.scene, "charge.sh", &charge);
    stage.call().stdout(RECEIPTS).run();
    let keys = stage.effects("collect");
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "one operation: {keys:?}");
}

#[test]
fn a_script_that_finds_its_key_busy_or_no_doubletap_does_nothing() {
    let stage = charging();
    script(&stage.scene, "collect.sh", "touch waits; read x <gate");
    let mut gate = stage.scene.gate();
    let first = stage.call().any_stdout().spawn();
    until("it collects", || stage.scene.path("waits").exists());
    stage.call().status(75).note(&["charge-2026-11", "busy", "pid"]).run();
    gate.open();
    first.finish();
    let stage = charging();
    fs::remove_file(stage.scene.bin().join("doubletap")).unwrap();
    stage.call().status(127).any_stderr().run();
    assert_eq!(stage.scene.read("effects"), "");
}

const STEPS: [&str; 3] = ["migrate", "upload", "switch"];
const PROGRESS: &str = "did migrate\ndid upload\ndid switch\n";

fn deploy() -> Stage {
    let text = only("A deploy in steps");
    let stage = Stage::new("exec doubletap once deploy-42 -- ./deploy.sh", &[("deploy.sh", &text)]);
    for step in STEPS {
        stage.effect(step, &format!("echo did {step}"));
    }
    stage
}

#[test]
fn a_deploy_in_steps_can_be_killed_anywhere_and_no_step_is_done_again() {
    for victim in [Victim::Machine, Victim::Outermost, Victim::Script] {
        for number in 1.. {
            let stage = deploy();
            let Some(point) = stage.strike(number, victim) else {
                assert_eq!(number, 13, "the deploy was killed at every point");
                stage.assert_effects(&STEPS, "never", |_| 1..=1);
                break;
            };
            let at = format!("at {number} ({point}), {victim:?}");
            assert_eq!(stage.done().text(), PROGRESS, "killed {at}");
            // Four points to a step: before it, before and after its effect, and after its
            // end is on record.
            let under_way = STEPS[(number - 1) / 4];
            stage.assert_effects(&STEPS, &at, |step| match (victim, number % 4) {
                _ if step != under_way => 1..=1,
                (_, 0) | (Victim::Machine, 1 | 2) => 1..=1,
                (Victim::Machine, _) => 2..=2,
                // It goes on without its script, and may or may not be in time.
                _ => 1..=2,
            });
            stage.assert_recorded("deploy-42", PROGRESS, &at);
        }
    }
}

#[test]
fn a_deploy_whose_step_has_failed_goes_on_with_that_step() {
    let stage = deploy();
    let upload = fs::read_to_string(stage.scene.path("upload.sh")).unwrap();
    script(&stage.scene, "upload.sh", &format!("{upload}\nexit 4"));
    stage.call().status(4).stdout("did migrate\ndid upload\n").run();
    script(&stage.scene, "upload.sh", &upload);
    stage.call().stdout(PROGRESS).run();
    let times = |step| if step == "upload" { 2..=2 } else { 1..=1 };
    stage.assert_effects(&STEPS, "never", times);
    let mut keys: Vec<String> = STEPS.iter().map(|step| stage.effects(step).remove(0)).collect();
    keys.dedup();
    assert_eq!(keys.len(), 3, "every step has a key of its own: {keys:?}");
    stage.scene.call("forget deploy-42").run();
    stage.call().stdout(PROGRESS).run();
    assert_eq!(stage.effects("migrate").len(), 2, "steps go with their operation");
}

#[test]
fn a_name_that_a_script_has_acquired_is_free_when_the_script_is_done_or_gone() {
    let scene = Scene::new();
    script(&scene, "report", &only("A name by hand"));
    script(&scene, "report.sh", "echo >>runs; read x <gate");
    let mut gate = scene.gate();
    let first = scene.begun(scene.shell("./report"));
    let held = scene.lease("reports").command(["true"]);
    held.status(75).note(&["reports", "held by pid"]).run();
    gate.open();
    first.finish();
    assert_eq!(scene.lease_state("reports"), "released");
    script(&scene, "report.sh", "exit 3");
    scene.shell("./report").status(3).run();
    scene.lease("reports").command(["true"]).run();
}
