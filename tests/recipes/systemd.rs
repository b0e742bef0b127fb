//! The service: its block is read, run and verified.

use super::{TRACE, elsewhere, only};
use crate::support::{Call, Scene};

/// The unit, with the programs that it names among the stand-ins.
fn unit(scene: &Scene) -> String {
    elsewhere(&only("systemd"), "/usr/local/bin", &scene.bin())
}

/// What a setting of the unit says.
fn setting<'a>(unit: &'a str, name: &str) -> &'a str {
    let found = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("the unit does not say {name}: {unit}"))
}

/// A start of the service, in the little environment that a manager gives.
fn start<'a>(scene: &'a Scene, unit: &str) -> Call<'a> {
    let mut words = setting(unit, "ExecStart").split_whitespace();
    let program = words.next().unwrap();
    let home = format!("HOME={}", scene.home().display());
    let call = scene.call("").through(["env", "-i", "PATH=/usr/bin:/bin"]).through([home]);
    words.fold(call.program(program.as_ref()), Call::arg)
}

#[test]
fn a_service_that_is_busy_ends_with_the_status_that_its_unit_calls_a_success() {
    let scene = Scene::new();
    let unit = unit(&scene);
    scene.stand_in("nightly", &format!("{TRACE}; read x <gate; echo report"));
    let first = scene.begun(start(&scene, &unit).stdout("report\n"));
    let busy = setting(&unit, "SuccessExitStatus").parse().unwrap();
    start(&scene, &unit).status(busy).note(&["nightly", "busy"]).run();
    scene.gate().open();
    first.finish();
    start(&scene, &unit).stdout("report\n").run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_service_that_fails_ends_with_another_status_and_its_next_start_runs_again() {
    let scene = Scene::new();
    let unit = unit(&scene);
    scene.stand_in("nightly", &format!("{TRACE}; exit 9"));
    start(&scene, &unit).status(9).run();
    start(&scene, &unit).status(9).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
#[ignore = "needs systemd-analyze: cargo test -- --ignored"]
fn systemd_has_nothing_to_say_against_the_service() {
    let scene = Scene::new();
    scene.stand_in("nightly", TRACE);
    scene.write("nightly.service", unit(&scene));
    scene.call("verify ./nightly.service").program("systemd-analyze".as_ref()).run();
}
