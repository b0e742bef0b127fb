//! `cgi`: requests that a web server hands to its handler.
//!
//! What can be shown without a server is shown without: a [`Request`] is an environment and
//! a standard input, an [`Answer`] what comes out. `servers` has the real ones.

mod again;
mod body;
mod failures;
mod fingerprint;
mod in_progress;
mod kept;
mod keys;
mod passing;
mod scope;
mod servers;
mod told;
mod whole;
mod wrong;

use crate::support::{Call, Done, Scene, input_of};

/// A key that nobody guesses.
const KEY: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

/// A request as a server hands it on.
#[derive(Clone)]
struct Request<'a> {
    scene: &'a Scene,
    variables: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl<'a> Request<'a> {
    /// A request without a key and a body.
    fn new(scene: &'a Scene, method: &str) -> Self {
        let request = Self { scene, variables: Vec::new(), body: Vec::new() };
        request.with("REQUEST_METHOD", method).with("SCRIPT_NAME", "/pay")
    }

    /// A POST with a key and a body.
    fn post(scene: &'a Scene, key: &str, body: &str) -> Self {
        Self::new(scene, "POST").with("HTTP_IDEMPOTENCY_KEY", key).body(body)
    }

    fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    fn without(mut self, variable: &str) -> Self {
        self.variables.retain(|(name, _)| *name != variable);
        self
    }

    fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        let length = self.body.len().to_string();
        self.without("CONTENT_LENGTH").with("CONTENT_LENGTH", length)
    }

    /// The call that the server makes, with these options and the handler of the scene.
    fn call(self, options: &str) -> Call<'a> {
        self.handled_by(self.scene.handled(options))
    }

    /// The call that the server makes with another handler.
    fn handled_by(&self, call: Call<'a>) -> Call<'a> {
        let call = call.stdin(input_of(self.scene, &self.body));
        self.variables.iter().fold(call, |call, (name, value)| call.env(name, value))
    }

    /// The answer to it, from a call that ends well and says nothing to the operator.
    #[track_caller]
    fn answer(self, options: &str) -> Answer {
        Answer::of(&self.call(options).any_stdout().run())
    }

    /// The answer to it, and one line to the operator with each of these words.
    #[track_caller]
    fn answer_and_note(self, options: &str, words: &[&str]) -> Answer {
        Answer::of(&self.call(options).any_stdout().note(words).run())
    }
}

/// What a server is given.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    fn of(done: &Done) -> Self {
        Self::read(&done.stdout)
    }

    #[track_caller]
    fn read(bytes: &[u8]) -> Self {
        let at = |mark: &[u8]| {
            let at = bytes.windows(mark.len()).position(|window| window == mark)?;
            Some((at, at + mark.len()))
        };
        let found = [at(b"\n\n"), at(b"\r\n\r\n")].into_iter().flatten().min();
        let (end, begin) =
            found.unwrap_or_else(|| panic!("no header block: {}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        Self { head, body: bytes[begin..].to_vec() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The status without its words, as a handler or as a server says it.
    fn status(&self) -> &str {
        match self.head.strip_prefix("HTTP/1.1 ") {
            Some(status) => &status[..3],
            None => &self.header("Status").unwrap_or("200")[..3],
        }
    }

    fn is_replayed(&self) -> bool {
        self.header("Idempotent-Replayed") == Some("true")
    }

    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// A problem document with this status and title; gives its detail.
    #[track_caller]
    fn problem(&self, status: u16, title: &str) -> String {
        assert_eq!(self.status(), status.to_string(), "{}\n{}", self.head, self.text());
        assert_eq!(self.header("Content-Type"), Some("application/problem+json"));
        if self.header("Transfer-Encoding") != Some("chunked") {
            // Apache measures an answer itself, and no short one in advance.
            assert_eq!(self.header("Content-Length"), Some(&*self.body.len().to_string()));
        }
        let document: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!((&document["status"], &document["title"]), (&status.into(), &title.into()));
        assert!(document["type"].is_string());
        document["detail"].as_str().unwrap().to_owned()
    }
}

/// What a handler prints that answers with this, after a header.
fn says(text: &str) -> String {
    format!(r"printf 'Content-Type: text/plain\r\n\r\n{text}'")
}

const OUTSTANDING: &str = "A request is outstanding for this Idempotency-Key";
const REUSED: &str = "Idempotency-Key is already used";
const INVALID: &str = "Idempotency-Key is invalid";
