//! The same behind real servers, and asked by a real client.
//!
//! lighttpd, nginx (with fcgiwrap) and Apache hold to the same sentences; the `webhook`
//! daemon has its own, since it speaks no CGI.

mod recipes;
mod webhook;
mod wrong;

use super::{Answer, KEY, OUTSTANDING, REUSED, says};
use crate::support::processes::destroy;
use crate::support::servers::Web;
use crate::support::{BIN, Call, Scene, finished, until};
use wrong::a_call_that_is_wrong_is_a_500_whose_reason_only_the_operator_finds;

/// A handler behind a server.
struct Site {
    scene: Scene,
    web: Web,
}

/// What the handler does is what `behave` said last.
const HANDLER: &str = r#"
behaviour=$(cat behaviour)
echo $$ >pid
echo $PPID >wrapper
echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs
eval "$behaviour"
"#;

/// The program that the server starts, with these options.
fn install(scene: &Scene, options: &str) {
    let line = format!(
        "cd '{}' && exec '{BIN}' cgi {options} --store '{}' -- sh ./handler",
        scene.work().display(),
        scene.store().display()
    );
    scene.executable(&scene.path("pay"), &line);
}

impl Site {
    fn new(server: impl FnOnce(&Scene) -> Web) -> Self {
        let scene = Scene::new();
        scene.write("handler", HANDLER);
        install(&scene, "");
        // The password of both is `pw`.
        scene.write("passwords", "alice:{PLAIN}pw\nbob:{PLAIN}pw\n");
        let digest = "{SHA}GpHWL3ymc5liWkNopqtdSjuqYHM=";
        scene.write("digests", format!("alice:{digest}\nbob:{digest}\n"));
        scene.write("plain", "alice:pw\nbob:pw\n");
        let web = server(&scene);
        Self { scene, web }
    }

    fn lighttpd() -> Self {
        Self::new(|scene| {
            let work = scene.work().display().to_string();
            Web::lighttpd(&format!(
                r#"
server.modules += ( "mod_cgi", "mod_alias", "mod_auth", "mod_authn_file" )
alias.url += ( "/pay" => "{work}/pay", "/private" => "{work}/pay" )
cgi.assign = ( "" => "" )
auth.backend = "plain"
auth.backend.plain.userfile = "{work}/plain"
auth.require = ( "/private" => ( "method" => "basic", "realm" => "us", "require" => "valid-user" ) )
"#
            ))
        })
    }

    fn nginx() -> Self {
        Self::new(|scene| {
            let work = scene.work().display().to_string();
            let handled = format!(
                "include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME {work}/pay; fastcgi_pass unix:SOCKET;"
            );
            Web::nginx(&format!(
                r#"
        location = /pay {{ {handled} fastcgi_request_buffering off; }}
        location = /private {{
            auth_basic "us";
            auth_basic_user_file {work}/passwords;
            {handled}
        }}
"#
            ))
        })
    }

    fn apache() -> Self {
        Self::new(|scene| {
            let work = scene.work().display().to_string();
            Web::apache(&format!(
                r"
ScriptAlias /pay {work}/pay
ScriptAlias /private {work}/pay
<Directory {work}>
    Require all granted
</Directory>
<Location /private>
    AuthType Basic
    AuthName us
    AuthUserFile {work}/digests
    Require valid-user
</Location>
"
            ))
        })
    }

    /// A request to a path, with more words for the client.
    fn ask(&self, path: &str, words: &[&str]) -> Call<'_> {
        let call = self.scene.call("-sS -i -m 60 -H Expect:").program("curl".as_ref());
        words.iter().fold(call.arg(self.web.url(path)).any_stdout(), |call, word| call.arg(*word))
    }

    fn post(&self, key: &str, body: &str) -> Call<'_> {
        let key = format!("Idempotency-Key: \"{key}\"");
        self.ask("/pay", &["-H", &key, "--data-binary", body])
    }

    #[track_caller]
    fn answer(&self, call: Call<'_>) -> Answer {
        let done = call.run();
        assert!(done.text().starts_with("HTTP/1.1 "), "{}\n{}", done.text(), self.web.log());
        Answer::of(&done)
    }
}

fn a_double_post_has_one_effect_and_one_answer(site: &Site) {
    site.scene.behave(r"printf 'Status: 201 Created\r\nX-Id: 7\r\n\r\nmade '; cat");
    for again in [false, true] {
        let answer = site.answer(site.post(KEY, "it"));
        assert_eq!((answer.status(), answer.text()), ("201", "made it".to_owned()));
        assert_eq!(answer.header("X-Id"), Some("7"));
        assert_eq!(answer.is_replayed(), again);
    }
    assert_eq!(site.scene.runs(), 1);
}

fn of_fifty_posts_at_once_one_has_an_effect(site: &Site) {
    site.scene.behave(&says("done"));
    let all: Vec<_> = (0..50).map(|_| site.post(KEY, "x").spawn()).collect();
    let answers: Vec<Answer> = finished(all).iter().map(Answer::of).collect();
    assert_eq!(site.scene.runs(), 1);
    assert_eq!(answers.iter().filter(|it| it.text() == "done" && !it.is_replayed()).count(), 1);
    for answer in &answers {
        assert!(answer.text() == "done" || answer.status() == "409", "{}", answer.head);
    }
}

fn a_changed_body_is_refused(site: &Site) {
    site.scene.behave(&says("done"));
    site.answer(site.post(KEY, "one"));
    site.answer(site.post(KEY, "two")).problem(422, REUSED);
    assert_eq!(site.scene.runs(), 1);
    assert!(site.web.log().contains("body differs"), "{}", site.web.log());
}

fn while_a_slow_handler_works_a_repeat_is_a_409_and_then_the_answer(site: &Site) {
    let mut gate = site.scene.gate();
    site.scene.behave(&format!("read x <gate; {}", says("done")));
    let first = site.scene.begun(site.post(KEY, "x"));
    let busy = site.answer(site.post(KEY, "x"));
    busy.problem(409, OUTSTANDING);
    let seconds: u64 = busy.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    gate.open();
    assert_eq!(Answer::of(&first.finish()).text(), "done");
    assert!(site.answer(site.post(KEY, "x")).is_replayed());
    assert_eq!(site.scene.runs(), 1);
}

fn after_a_crash_in_mid_handler_the_repeat_is_handled(site: &Site) {
    site.scene.behave("read x <gate");
    let first = site.scene.begun(site.post(KEY, "x").unchecked());
    let pid = |name: &str| site.scene.read(name).trim().parse::<i32>().unwrap();
    destroy(pid("wrapper"));
    destroy(-pid("pid"));
    let lost = first.finish();
    assert!(!lost.text().contains(" 200 "), "{}", lost.text());
    site.scene.behave(&says("done"));
    let answer = site.answer(site.post(KEY, "x"));
    assert_eq!((answer.text(), answer.is_replayed()), ("done".to_owned(), false));
    assert!(site.answer(site.post(KEY, "x")).is_replayed());
    let keys = site.scene.keys();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "one operation");
}

fn two_users_with_one_key_both_have_their_effect(site: &Site) {
    site.scene.behave(r#"printf 'A: b\r\n\r\n%s' "$REMOTE_USER""#);
    let key = format!("Idempotency-Key: {KEY}");
    let ask = |user: &str| {
        let login = format!("{user}:pw");
        site.answer(site.ask("/private", &["-u", &login, "-H", &key, "-d", "x"]))
    };
    for again in [false, true] {
        for user in ["alice", "bob"] {
            let answer = ask(user);
            assert_eq!((answer.text(), answer.is_replayed()), (user.to_owned(), again));
        }
    }
    assert_eq!(site.scene.runs(), 2);
    let refused = site.ask("/private", &["-u", "alice:guess", "-H", &key, "-d", "x"]);
    assert_eq!(site.answer(refused).status(), "401");
}

fn a_get_goes_through(site: &Site) {
    site.scene.behave(&says("now"));
    let key = format!("Idempotency-Key: {KEY}");
    for _ in 0..2 {
        let answer = site.answer(site.ask("/pay?a=1", &["-H", &key]));
        assert_eq!((answer.text(), answer.is_replayed()), ("now".to_owned(), false));
    }
    assert_eq!(site.scene.runs(), 2);
}

fn ten_megabytes_go_in_and_come_out_once_more(site: &Site) {
    site.scene.behave(r"printf 'Content-Type: application/octet-stream\r\n\r\n'; cat");
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(10 << 20).collect();
    site.scene.write("large", &bytes);
    for again in [false, true] {
        let answer = site.answer(site.post(KEY, "@large"));
        assert_eq!((answer.is_replayed(), answer.body == bytes), (again, true));
    }
    assert_eq!(site.scene.runs(), 1);
}

fn a_chunked_body_comes_whole(site: &Site) {
    site.scene.behave(&format!("{}; cat", says("")));
    site.scene.write("pieces", "piece ".repeat(30_000));
    let key = format!("Idempotency-Key: {KEY}");
    for again in [false, true] {
        let words = ["-H", &key, "-H", "Transfer-Encoding: chunked", "--data-binary", "@pieces"];
        let answer = site.answer(site.ask("/pay", &words));
        assert_eq!(answer.is_replayed(), again, "{}", answer.head);
        assert!(answer.text() == site.scene.read("pieces"), "{} bytes", answer.body.len());
    }
    assert_eq!(site.scene.runs(), 1);
}

fn a_binary_answer_is_the_same_to_the_byte(site: &Site) {
    let bytes: Vec<u8> = (0..=255_u8).chain(*b"\r\n\r\n\n\n\0").cycle().take(200_003).collect();
    site.scene.write("bytes", &bytes);
    site.scene.behave(r"printf 'Content-Type: application/octet-stream\r\n\r\n'; cat bytes");
    for again in [false, true] {
        let answer = site.answer(site.post(KEY, ""));
        assert_eq!((answer.is_replayed(), answer.body == bytes), (again, true));
    }
}

fn a_bad_key_is_a_400_and_not_the_servers_500(site: &Site) {
    let answer = site.answer(site.ask("/pay", &["-H", "Idempotency-Key: \"open", "-d", "x"]));
    answer.problem(400, super::INVALID);
    assert_eq!(site.scene.runs(), 0);
}

fn a_refusal_comes_through_however_large_the_body(site: &Site) {
    install(&site.scene, "--require-key --max-body 100KiB");
    site.scene.write("large", vec![b'x'; 300_000]);
    let keyless = site.answer(site.ask("/pay", &["--data-binary", "@large"]));
    keyless.problem(400, "Idempotency-Key is missing");
    site.answer(site.post(KEY, "@large")).problem(413, "Content Too Large");
    install(&site.scene, "--log /nonexistent/log");
    site.answer(site.post(KEY, "@large")).problem(503, "Service Unavailable");
    assert_eq!(site.scene.runs(), 0);
}

fn of_two_keys_at_most_one_counts(site: &Site) {
    site.scene.behave(&says("done"));
    let ask = |keys: &[&str]| {
        let headers: Vec<String> =
            keys.iter().map(|key| format!("Idempotency-Key: \"{key}\"")).collect();
        let words: Vec<&str> =
            headers.iter().flat_map(|header| ["-H", header.as_str()]).chain(["-d", "x"]).collect();
        site.answer(site.ask("/pay", &words))
    };
    let first = ask(&["a", "b"]);
    if first.status() == "400" {
        // The server has joined them.
        first.problem(400, super::INVALID);
        return;
    }
    assert!(ask(&["a", "b"]).is_replayed());
    assert_ne!(ask(&["a"]).is_replayed(), ask(&["b"]).is_replayed());
}

fn a_client_that_hangs_up_gets_the_answer_when_it_comes_again(site: &Site) {
    let mut gate = site.scene.gate();
    site.scene.behave(&format!("read x <gate; {}", says("done")));
    let first = site.scene.begun(site.post(KEY, "x").unchecked());
    drop(first);
    gate.open();
    until("it is answered", || {
        let answer = site.answer(site.post(KEY, "x"));
        gate.open();
        answer.status() == "200"
    });
    assert!(site.answer(site.post(KEY, "x")).is_replayed());
}

fn a_handler_that_says_how_long_its_answer_is_has_time_to_end(site: &Site) {
    let answers = [
        (r"Content-Length: 4\r\n", "done"),
        (r"Content-Length: 4\r\n", "done and more"),
        (r"Content-Length: 40\r\n", "done"),
        (r"Content-Length: 0\r\n", ""),
        (r"Status: 204\r\n", ""),
    ];
    for (number, (says, body)) in answers.into_iter().enumerate() {
        let work = "sleep 0.3; echo late >&2; sleep 0.1; echo effect >>effects";
        let answer = format!(r"printf 'Content-Type: text/plain\r\n{says}\r\n{body}'");
        site.scene.behave(&format!("{answer}; {work}"));
        for again in [false, true] {
            // Who gets less than was said notices.
            let answer = site.answer(site.post(&format!("key-{number}"), "x").unchecked());
            assert_eq!(answer.is_replayed(), again, "{says}, {body:?}: {}", answer.head);
            assert!(body.starts_with(&answer.text()), "{says}: {}", answer.text());
        }
        assert_eq!(site.scene.runs(), number + 1);
        assert_eq!(site.scene.read("effects").lines().count(), number + 1, "{says}, {body:?}");
    }
}

fn every_request_is_in_the_log_though_a_server_ends_whoever_has_answered(site: &Site) {
    install(&site.scene, "--log log");
    site.scene.behave(r"printf 'Content-Length: 4\r\n\r\ndone'");
    for _ in 0..20 {
        assert_eq!(site.answer(site.post(KEY, "x")).text(), "done");
    }
    let outcomes = |outcome: &str| {
        let log = site.scene.read("log");
        log.lines().filter(|line| line.contains(&format!(r#""outcome":"{outcome}""#))).count()
    };
    until("each has its line", || (outcomes("ran"), outcomes("replayed")) == (1, 19));
}

/// The same sentences behind each of the servers.
macro_rules! behind {
    ($server:ident, $why:literal: $($sentence:ident),* $(,)?) => {
        mod $server {
            use super::Site;

            $(
                #[test]
                #[ignore = $why]
                fn $sentence() {
                    super::$sentence(&Site::$server());
                }
            )*
        }
    };
}

macro_rules! behind_all {
    ($($sentence:ident),* $(,)?) => {
        behind! { lighttpd, "needs lighttpd and curl: cargo test -- --ignored cgi::servers::":
            $($sentence),* }
        behind! { nginx, "needs nginx-light, fcgiwrap and curl: cargo test -- --ignored cgi::servers::":
            $($sentence),* }
        behind! { apache, "needs apache2-bin and curl: cargo test -- --ignored cgi::servers::":
            $($sentence),* }
    };
}

behind_all! {
    a_double_post_has_one_effect_and_one_answer,
    of_fifty_posts_at_once_one_has_an_effect,
    a_changed_body_is_refused,
    while_a_slow_handler_works_a_repeat_is_a_409_and_then_the_answer,
    after_a_crash_in_mid_handler_the_repeat_is_handled,
    two_users_with_one_key_both_have_their_effect,
    a_get_goes_through,
    ten_megabytes_go_in_and_come_out_once_more,
    a_chunked_body_comes_whole,
    a_binary_answer_is_the_same_to_the_byte,
    a_bad_key_is_a_400_and_not_the_servers_500,
    a_refusal_comes_through_however_large_the_body,
    of_two_keys_at_most_one_counts,
    a_client_that_hangs_up_gets_the_answer_when_it_comes_again,
    a_handler_that_says_how_long_its_answer_is_has_time_to_end,
    every_request_is_in_the_log_though_a_server_ends_whoever_has_answered,
    a_call_that_is_wrong_is_a_500_whose_reason_only_the_operator_finds,
}
