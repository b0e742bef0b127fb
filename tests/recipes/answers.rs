//! What is asked of others, and what others ask: webhooks, payments, and answers that
//! may be nonsense or must not be repeated.

use super::{TRACE, elsewhere, only, recipe, script};
use crate::support::processes::{destroy, is_alive};
use crate::support::{Call, Scene, input_of, until};

/// A delivery of a webhook.
fn delivery<'a>(scene: &'a Scene, id: &str, body: &str) -> Call<'a> {
    let handler = elsewhere(&only("Webhooks"), "/var/lib/hooks/doubletap.db", &scene.store());
    scene.shell(&handler).env("DELIVERY_ID", id).stdin(input_of(scene, body.as_bytes()))
}

#[test]
fn a_delivery_that_is_repeated_gets_the_first_answer_and_another_body_is_refused() {
    let scene = Scene::new();
    script(&scene, "handle-hook.sh", &format!("{TRACE}; sed s/^/took:/"));
    delivery(&scene, "d1", "paid\n").stdout("took:paid\n").run();
    delivery(&scene, "d1", "paid\n").stdout("took:paid\n").run();
    assert_eq!(scene.runs(), 1);
    delivery(&scene, "d1", "stolen\n").status(65).note(&["hook-d1", "stdin"]).run();
    assert_eq!(scene.runs(), 1);
    delivery(&scene, "d2", "stolen\n").stdout("took:stolen\n").run();
    let unset = delivery(&scene, "", "paid\n").unchecked().run();
    assert!(unset.complaint().contains("DELIVERY_ID"), "{}", unset.complaint());
    assert_eq!(scene.runs(), 2);
}

#[test]
fn a_delivery_that_comes_while_the_first_is_handled_waits_for_its_answer() {
    let scene = Scene::new();
    script(&scene, "handle-hook.sh", &format!("{TRACE}; read x <gate; sed s/^/took:/"));
    let first = scene.begun(delivery(&scene, "d1", "paid\n").stdout("took:paid\n"));
    let second = delivery(&scene, "d1", "paid\n").stdout("took:paid\n").spawn();
    scene.await_waiters(1);
    scene.gate().open();
    first.finish();
    second.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn an_invoice_that_is_tried_again_goes_out_under_the_key_of_the_first_try() {
    let scene = Scene::new();
    let send = only("Scripts");
    scene.stand_in("curl", r#"printf '%s\n' "$3" >>runs; cat "${5#@}" answer"#);
    scene.write("a file", "sum=3\n");
    let send = |id: &str| scene.shell(&send).env("id", id).env("file", "a file");
    let lost = send("7").status(1).any_stderr().stdout("sum=3\n").run();
    assert!(lost.complaint().contains("answer"), "{}", lost.complaint());
    scene.write("answer", "charged\n");
    send("7").stdout("sum=3\ncharged\n").run();
    send("7").stdout("sum=3\ncharged\n").run();
    let keys = scene.keys();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert!(keys[0].starts_with("Idempotency-Key: ") && keys[0].len() > 20, "{keys:?}");
    scene.write("a file", "sum=4\n");
    send("7").status(65).note(&["invoice-7", "a file"]).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn an_answer_that_is_nonsense_is_not_recorded() {
    let scene = Scene::new();
    let ask = only("An answer that may be nonsense");
    scene.stand_in("curl", &format!("{TRACE}; cat answer"));
    scene.stand_in("jq", r#"test "$*" = '-e .rates' && exec grep -q '"rates"'"#);
    scene.write("answer", "<html>");
    let ask = || scene.shell(&ask).env("day", "monday");
    ask().status(76).stdout("<html>").note(&["rates-monday", "--validate"]).run();
    scene.write("answer", "{\"rates\":[1]}");
    ask().stdout("{\"rates\":[1]}").run();
    scene.write("answer", "later");
    ask().stdout("{\"rates\":[1]}").run();
    assert_eq!(scene.runs(), 2);
}

/// The three lines of the recipe for what must not happen twice, after a crash.
fn crashed(scene: &Scene) -> [String; 3] {
    let [lines] = recipe("An effect that must not happen twice, whatever it costs");
    let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    let lines: [String; 3] = lines.try_into().unwrap();
    // Its id is written before the trace that is waited for.
    script(scene, "payout.sh", &format!("echo $$ >pid; {TRACE}; read x <gate"));
    scene.begun(scene.shell(&format!("exec {}", lines[0])).unchecked()).kill();
    let command = scene.command_pid();
    destroy(-command);
    until("the command is gone", || !is_alive(command));
    script(scene, "payout.sh", TRACE);
    scene.shell(&lines[0]).status(70).notes(&["payout-7", "complete", "forget"]).run();
    assert_eq!(scene.runs(), 1);
    lines
}

#[test]
fn a_person_says_that_an_effect_has_happened() {
    let scene = Scene::new();
    let [pay, complete, _] = crashed(&scene);
    scene.shell(&complete).run();
    scene.shell(&pay).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_person_says_that_an_effect_has_not_happened() {
    let scene = Scene::new();
    let [pay, _, forget] = crashed(&scene);
    scene.shell(&forget).run();
    scene.shell(&pay).run();
    scene.shell(&pay).run();
    assert_eq!(scene.runs(), 2);
}
