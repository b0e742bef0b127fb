//! The recipes of the README for web servers, as they stand there. Only paths are other
//! ones, and the port.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Answer, Web, says};
use crate::recipes::{elsewhere, only, recipe};
use crate::support::damage::mode;
use crate::support::{BIN, Call, Scene};

const OURS: &str = "/usr/local/bin/doubletap";
const FOLDER: &str = "/usr/local/lib/pay";
const STORE: &str = "/var/lib/pay/doubletap.db";

/// The scene with the programs of the recipe in it, and what is typed to try them.
fn installed() -> (Scene, [String; 2]) {
    let scene = Scene::new();
    let [program, try_it, ask] = recipe("A handler behind a web server");
    let here = |text: &str| elsewhere(text, FOLDER, &scene.work());
    let program = here(&elsewhere(&program, OURS, Path::new(BIN)));
    scene.executable(&scene.path("cgi"), &elsewhere(&program, STORE, &scene.store()));
    handles(&scene, "handle");
    let lines = [here(&try_it), ask];
    (scene, lines)
}

/// The program that does the work, of this name.
fn handles(scene: &Scene, name: &str) {
    let work = scene.work().display().to_string();
    let script = format!("cd '{work}'; echo run >>runs; . ./behaviour");
    scene.executable(&scene.path(name), &script);
    scene.behave(&says("paid"));
}

/// The README's `curl`, for this server; what it prints is left to the test.
fn ask<'a>(scene: &'a Scene, line: &str, web: &Web) -> Call<'a> {
    let line = line.replace("http://localhost", &web.url(""));
    scene.shell(&line).any_stdout().any_stderr()
}

/// What the README says of a request that is repeated, behind this server.
#[track_caller]
fn assert_pays_once(scene: &Scene, line: &str, web: &Web) {
    let key = scene.call("keygen").any_stdout().run().text();
    let line = line.replace("$(doubletap keygen)", key.trim());
    for again in [false, true] {
        let answer = Answer::of(&ask(scene, &line, web).run());
        let found = (answer.status(), answer.text(), answer.is_replayed());
        assert_eq!(found, ("200", "paid".to_owned(), again), "{}", web.log());
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_handler_is_tried_without_a_server() {
    let (scene, [try_it, _]) = installed();
    let try_it = elsewhere(&try_it, "su -s /bin/sh www-data -c", Path::new("sh -c"));
    scene.shell(&try_it).stdout("Content-Type: text/plain\r\n\r\npaid").run();
    let again = scene.shell(&try_it).any_stdout().run();
    assert!(Answer::of(&again).is_replayed());
    assert_eq!(scene.runs(), 1);
}

#[test]
#[ignore = "needs root, util-linux and an account www-data: cargo test -- --ignored"]
fn what_root_tries_leaves_a_store_that_the_account_of_the_server_can_use() {
    let (scene, [try_it, _]) = installed();
    for (folder, mask) in
        [(scene.root(), 0o755), (scene.work(), 0o777), (scene.root().join("out"), 0o777)]
    {
        mode(&folder, mask);
    }
    // Where every account reaches it.
    let program = scene.root().join("doubletap");
    std::fs::copy(BIN, &program).unwrap();
    let text = std::fs::read_to_string(scene.path("cgi")).unwrap();
    scene.write("cgi", elsewhere(&text, BIN, &program));
    mode(&scene.path("cgi"), 0o755);
    scene.shell(&format!("chown www-data '{}'", scene.state_folder().display())).run();
    let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
    for _ in 0..2 {
        scene.shell(&try_it).any_stdout().run();
    }
    assert_eq!(scene.runs(), 1);
    assert_ne!(owner(&scene.store()), 0);
    assert_eq!(owner(&scene.store()), owner(&scene.state_folder()));
}

#[test]
#[ignore = "needs lighttpd and curl: cargo test -- --ignored cgi::servers::"]
fn lighttpd_runs_the_recipe_of_the_readme() {
    let (scene, [_, ask]) = installed();
    let config = elsewhere(&only("lighttpd"), FOLDER, &scene.work());
    let log = scene.path("log");
    let web = Web::lighttpd(&elsewhere(&config, "/var/log/lighttpd/pay.log", &log));
    assert_pays_once(&scene, &ask, &web);
    // What operators are told is where the README says.
    let key = scene.call("keygen").any_stdout().run().text();
    let ask = elsewhere(&ask, "$(doubletap keygen)", Path::new(key.trim()));
    for line in [ask.clone(), elsewhere(&ask, "amount=7", Path::new("amount=8"))] {
        self::ask(&scene, &line, &web).run();
    }
    assert!(scene.read("log").contains("body differs"), "{}", scene.read("log"));
}

#[test]
#[ignore = "needs nginx-light, fcgiwrap and curl: cargo test -- --ignored cgi::servers::"]
fn nginx_runs_the_recipe_of_the_readme() {
    let (scene, [_, ask]) = installed();
    let [place, away] = recipe("nginx");
    let place = elsewhere(&place, FOLDER, &scene.work());
    let web = Web::nginx(&elsewhere(&place, "/run/fcgiwrap.socket", Path::new("SOCKET")));
    assert_pays_once(&scene, &ask, &web);
    // What the README says of users whose passwords nobody checks.
    let key = "Idempotency-Key: 8e03978e-40d5-43e8-bc93-6894a57f9324";
    let as_somebody = |web: &Web, user: &str| {
        let call = scene.call("-sS -i -d x -H").program("curl".as_ref()).arg(key);
        let call = call.arg("-u").arg(user).arg(web.url("/pay")).any_stdout();
        Answer::of(&call.run()).is_replayed()
    };
    assert!(!as_somebody(&web, "alice:wrong"));
    assert!(as_somebody(&web, "alice:guessed"), "the name is believed");
    let guests = scene.path("guests");
    scene.shell(&elsewhere(&away, "/etc/nginx/guests", &guests)).run();
    let place = elsewhere(&place, "/etc/nginx/fastcgi_params", &guests);
    let web = Web::nginx(&place.replace("/run/fcgiwrap.socket", "SOCKET"));
    assert!(!as_somebody(&web, "alice:wrong"));
    assert!(as_somebody(&web, "bob:wrong"), "all are guests");
    // A shell would drop what there is twice of; this hands on all that it is given.
    let (store, work) = (scene.store().display().to_string(), scene.work().display().to_string());
    let line = format!("#!/usr/bin/env -S '{BIN}' cgi --store '{store}' -- {work}/handle\n");
    scene.executable(&scene.path("cgi"), &line);
    assert!(as_somebody(&web, "carol:wrong"), "all are guests");
}

#[test]
#[ignore = "needs apache2-bin and curl: cargo test -- --ignored cgi::servers::"]
fn apache_runs_the_recipe_of_the_readme() {
    let (scene, [_, ask]) = installed();
    let web = Web::apache(&elsewhere(&only("Apache"), FOLDER, &scene.work()));
    assert_pays_once(&scene, &ask, &web);
}

#[test]
#[ignore = "needs webhook and curl: cargo test -- --ignored cgi::servers::"]
fn the_webhook_daemon_runs_the_recipe_of_the_readme() {
    let scene = Scene::new();
    let [hooks, hook] = recipe("The webhook daemon");
    let hook = elsewhere(&elsewhere(&hook, OURS, Path::new(BIN)), STORE, &scene.store());
    let hook = elsewhere(&hook, "/var/lib/pay/hook.log", &scene.path("log"));
    scene.executable(&scene.path("hook"), &elsewhere(&hook, FOLDER, &scene.work()));
    handles(&scene, "deliver");
    scene.behave("sed s/^/took:/; echo careful >&2");
    let web = Web::webhook(&elsewhere(&hooks, FOLDER, &scene.work()));
    let deliver = |id: &str, body: &str| {
        let call = scene.call("-sS -w %{http_code} -H").program("curl".as_ref());
        let call = call.arg(format!("X-Delivery-Id: {id}")).arg("-d").arg(body);
        call.arg(web.url("/hooks/pay")).any_stdout().run().text()
    };
    for _ in 0..2 {
        assert_eq!(deliver("d1", "paid"), "took:paid200", "{}", web.log());
    }
    assert!(deliver("d1", "stolen").ends_with("500"));
    assert!(deliver("", "paid").ends_with("500"));
    assert_eq!(scene.runs(), 1);
    let log = scene.read("log");
    assert!(log.contains("careful") && log.contains("stdin differs"), "{log}");
}
