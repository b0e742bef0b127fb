//! `--fingerprint json:FILE` compares what every reader of the document would agree on.

use crate::support::{Call, Scene};

/// A call that is about this document.
fn about<'scene>(scene: &'scene Scene, document: &str) -> Call<'scene> {
    scene.write("input", document);
    scene.once("k --fingerprint json:input").sh("echo run >>runs")
}

#[test]
fn numbers_that_differ_in_their_last_digit_only_are_different_requests() {
    for (first, second) in [
        (r#"{"id": 12345678901234567890123}"#, r#"{"id": 12345678901234567890124}"#),
        (r#"{"id": 0.12345678901234567890123}"#, r#"{"id": 0.12345678901234567890124}"#),
        ("[-9007199254740993]", "[-9007199254740992]"),
    ] {
        let scene = Scene::new();
        about(&scene, first).run();
        about(&scene, second).status(65).note(&["json:input"]).run();
        about(&scene, first).run();
        assert_eq!(scene.runs(), 1, "{first} {second}");
    }
}

#[test]
fn the_order_of_keys_and_white_space_make_no_difference() {
    let scene = Scene::new();
    about(&scene, r#"{"id":12345678901234567890123,"to":{"a":[1,2],"b":null}}"#).run();
    for same in [
        r#"{"to":{"b":null,"a":[1,2]},"id":12345678901234567890123}"#,
        "\n{ \"to\" : { \"b\" : null , \"a\" : [ 1 ,\t2 ] } ,\r\n\"id\" : 12345678901234567890123 }\n",
    ] {
        about(&scene, same).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_key_that_comes_twice_runs_nothing_and_is_named() {
    let scene = Scene::new();
    for document in [
        r#"{"amount": 1, "amount": 1}"#,
        r#"{"order": [{"amount": 1, "currency": "EUR", "amount": 2}]}"#,
        r#"{"amount": 1, "\u0061mount": 2}"#,
    ] {
        about(&scene, document).status(125).note(&["json:input", "amount", "twice"]).run();
    }
    assert_eq!(scene.runs(), 0);
    about(&scene, r#"{"amount": 1, "order": {"amount": 1}}"#).run();
    assert_eq!(scene.runs(), 1);
}
