//! The `webhook` daemon, which starts a command and answers with what it prints.

use super::{BIN, Web, finished};
use crate::support::{Call, Done, Scene};

/// Hooks that hand a script the id of a delivery, and its body in a file.
fn hooks(scene: &Scene) -> String {
    let work = scene.work().display().to_string();
    format!(
        r#"[{{
            "id": "pay",
            "execute-command": "{work}/hook",
            "command-working-directory": "{work}",
            "include-command-output-in-response": true,
            "pass-environment-to-command":
                [{{ "source": "header", "name": "X-Delivery", "envname": "DELIVERY_ID" }}],
            "pass-file-to-command":
                [{{ "source": "raw-request-body", "envname": "BODY" }}]
        }}]"#
    )
}

struct Daemon {
    scene: Scene,
    web: Web,
}

impl Daemon {
    fn new(options: &str) -> Self {
        let scene = Scene::new();
        let handler = r#"echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs; . ./behaviour; cat"#;
        scene.write("handler", handler);
        let line = format!(
            r#"exec '{BIN}' once --key-env DELIVERY_ID --fingerprint stdin {options} --store '{}' -- sh ./handler <"$BODY""#,
            scene.store().display()
        );
        scene.executable(&scene.path("hook"), &line);
        let web = Web::webhook(&hooks(&scene));
        Self { scene, web }
    }

    fn deliver(&self, id: &str, body: &str) -> Call<'_> {
        let call = self.scene.call("-sS -m 60 -w %{http_code}").program("curl".as_ref());
        let call = call.arg(self.web.url("/hooks/pay")).arg("-H").arg(format!("X-Delivery: {id}"));
        call.arg("--data-binary").arg(body).any_stdout()
    }

    #[track_caller]
    fn assert_answered(&self, done: &Done, body: &str) {
        assert_eq!(done.text(), format!("{body}200"), "{}", self.web.log());
    }
}

#[test]
#[ignore = "needs webhook and curl: cargo test -- --ignored cgi::servers::"]
fn a_delivery_that_is_repeated_has_one_effect_and_another_body_is_refused() {
    let daemon = Daemon::new("");
    for _ in 0..2 {
        daemon.assert_answered(&daemon.deliver("d1", "paid").run(), "paid");
    }
    let other = daemon.deliver("d1", "stolen").run().text();
    assert!(other.ends_with("500"), "{other}");
    assert!(daemon.web.log().contains("stdin differs"), "{}", daemon.web.log());
    assert_eq!(daemon.scene.runs(), 1);
}

#[test]
#[ignore = "needs webhook and curl: cargo test -- --ignored cgi::servers::"]
fn of_fifty_deliveries_at_once_one_has_an_effect_and_all_get_its_answer() {
    let daemon = Daemon::new("--wait 1m");
    let all: Vec<_> = (0..50).map(|_| daemon.deliver("d1", "paid").spawn()).collect();
    for done in finished(all) {
        daemon.assert_answered(&done, "paid");
    }
    assert_eq!(daemon.scene.runs(), 1);
}

#[test]
#[ignore = "needs webhook and curl: cargo test -- --ignored cgi::servers::"]
fn a_delivery_without_an_id_is_refused_or_has_its_effect_each_time() {
    let daemon = Daemon::new("");
    assert!(daemon.deliver("", "x").run().text().ends_with("500"));
    assert_eq!(daemon.scene.runs(), 0);
    let daemon = Daemon::new("--if-key");
    for _ in 0..2 {
        let text = daemon.deliver("", "x").run().text();
        assert!(text.contains('x') && text.ends_with("200"), "{text}");
    }
    assert_eq!(daemon.scene.runs(), 2);
}

#[test]
#[ignore = "needs webhook and curl: cargo test -- --ignored cgi::servers::"]
fn a_delivery_that_fails_is_handled_again_when_it_is_repeated() {
    let daemon = Daemon::new("");
    daemon.scene.behave("exit 1");
    assert!(daemon.deliver("d1", "paid").run().text().ends_with("500"));
    daemon.scene.behave(":");
    daemon.assert_answered(&daemon.deliver("d1", "paid").run(), "paid");
    let keys = daemon.scene.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "one operation");
}
