//! A call inside the run it would wait for fails at once.

use crate::support::Scene;

#[test]
fn an_inner_call_of_the_same_key_is_busy_at_once_even_if_told_to_wait() {
    let scene = Scene::new();
    let script = r#"exec "$BIN" once k --wait forever -- sh -c 'echo inner >>runs'"#;
    let call = scene.once("k --wait forever").sh(script);
    call.status(75).note(&["k", "itself"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn an_inner_call_whose_variables_were_dropped_is_found_out_by_its_ancestors() {
    let scene = Scene::new();
    let script = r#"
        env -i PATH="$PATH" "$BIN" --store "$DOUBLETAP_STORE" \
            once k --wait forever -- sh -c 'echo inner >>runs'
        exit $?"#;
    let call = scene.once("k --wait forever").sh(script);
    call.status(75).note(&["k", "itself"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn an_inner_call_two_claims_down_is_found_out_too() {
    let scene = Scene::new();
    let script = r#"
        "$BIN" once middle -- sh -c '
            "$BIN" once outer --wait forever -- sh -c "echo inner >>runs"; exit $?'
        exit $?"#;
    let call = scene.once("outer").sh(script);
    call.status(75).note(&["outer", "itself"]).run();
    assert_eq!(scene.runs(), 0);
}

#[test]
fn an_inner_call_of_another_key_just_runs_and_holds_both_tokens() {
    let scene = Scene::new();
    let script = r#"
        echo "$DOUBLETAP_TOKEN" >outer
        "$BIN" once inner -- sh -c 'echo "$DOUBLETAP_TOKEN" >inner; echo "$DOUBLETAP_HELD"'"#;
    let text = scene.once("outer").sh(script).any_stdout().run().text();
    let held: Vec<&str> = text.trim().split(',').collect();
    assert_eq!(held.len(), 2, "{text}");
    for name in ["outer", "inner"] {
        let token = scene.read(name);
        assert!(held.contains(&token.trim()), "{name} is not in {text}");
    }
}

#[test]
fn the_same_key_in_another_namespace_is_another_key() {
    let scene = Scene::new();
    let script = r#""$BIN" once k --namespace other -- echo inner"#;
    scene.once("k").sh(script).stdout("inner\n").run();
}

#[test]
fn an_inner_call_after_the_outer_record_replays() {
    let scene = Scene::new();
    scene.once("inner").command(["echo", "hi"]).stdout("hi\n").run();
    let script = r#""$BIN" once inner -- echo hi"#;
    scene.once("outer").sh(script).stdout("hi\n").run();
}
