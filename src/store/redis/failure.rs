//! What goes wrong between us and a server, as sentences.
//!
//! What the client crate says of an error is shown only where it is the system's or that of
//! TLS; a server's answer is shown by its code and its text. Neither has a password in it.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::RedisError;

use super::address::Address;
use crate::claim::duration::for_people;
use crate::place::Url;
use crate::store::{StoreError, Trouble};
use crate::text::{escape, quote};

/// What the store asks of a server, beside its own keys and channels.
const RIGHTS: &str =
    "+@read +@write +@connection +@pubsub +@scripting +time +info +wait +config|get";

/// What came of an exchange that failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// There is no connection, so nothing was sent.
    Unreached(String),
    /// By TLS it says nothing on this port, and in plain text it does.
    Unprotected(u16),
    /// The connection broke. What was asked for may have been done.
    Broken(String),
    /// We were stopped, or told something, while we waited. What was asked for may have been
    /// done.
    Interrupted(String),
    /// The time ran out. What was asked for may have been done.
    Late,
    /// The server said no.
    Told(Told),
    /// The answer is none that was expected.
    Strange(String),
}

/// An error that a server answered with.
#[derive(Clone, Debug)]
pub(super) struct Told {
    code: String,
    text: String,
}

impl Told {
    pub(super) fn new(code: &str, text: &str) -> Self {
        let (code, text) = inner(text).unwrap_or((code, text));
        // Where in which script it was is nothing to people.
        let text = text.split(" script: ").next().unwrap_or_default();
        Self { code: code.to_owned(), text: escape(text) }
    }

    /// Whether it will do so if it is asked a little later.
    pub(super) fn passes(&self) -> bool {
        ["LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN", "CLUSTERDOWN"].contains(&self.code.as_str())
    }

    /// Whether it is a replica: another may be the one to write to by now.
    pub(super) fn is_replica(&self) -> bool {
        self.code == "READONLY"
    }

    fn is_refusal(&self) -> bool {
        let old = ["invalid password", "no password is set", "without any password configured"];
        ["NOAUTH", "WRONGPASS"].contains(&self.code.as_str())
            || self.code == "ERR" && old.iter().any(|words| self.text.contains(words))
    }

    fn said(&self) -> String {
        format!("{} {}", self.code, self.text)
    }
}

/// Before Redis 7 an error inside a script is told within another: `…: -CODE text`.
fn inner(text: &str) -> Option<(&str, &str)> {
    let (_, told) = text.split_once(": -")?;
    let (code, text) = told.split_once(' ')?;
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase());
    is_code.then_some((code, text))
}

impl Failure {
    /// What an error means that came up on a connection.
    pub(super) fn of(error: &RedisError) -> Self {
        // Of several commands that were sent at once, the first that failed.
        let told = error.clone().into_server_errors();
        match told.iter().flat_map(|told| told.iter()).next() {
            Some((_, told)) => {
                Self::Told(Told::new(told.code(), told.details().unwrap_or_default()))
            }
            None if error.is_timeout() => Self::Late,
            None if is_interruption(error) => Self::Interrupted(escape(&error.to_string())),
            None if error.is_io_error() => Self::Broken(escape(&error.to_string())),
            None => Self::Strange(escape(error.category())),
        }
    }

    /// The sentence for people.
    pub(super) fn sentence(&self, url: &Url, limit: Duration) -> StoreError {
        match self {
            Self::Unreached(why) => unreached(url, why),
            Self::Unprotected(port) => StoreError::new(
                Trouble::Refused,
                format!("the store {url} cannot be reached safely (its server speaks no TLS on port {port})"),
            )
            .with_remedy("name the port on which it does, or write redis:// for plain text"),
            Self::Broken(why) | Self::Interrupted(why) => StoreError::new(
                Trouble::Away,
                format!("the connection to the store {url} broke ({why})"),
            )
            .with_remedy("try again"),
            Self::Late => StoreError::late(format!("the store {url} did not answer"), limit)
                .with_remedy("try again, or wait longer with --store-timeout"),
            Self::Told(told) => refusal(url, told),
            Self::Strange(what) => {
                let what = format!("what answers at {url} is no Redis that is known ({what})");
                StoreError::new(Trouble::Other, what)
            }
        }
    }
}

/// Whether the kernel broke off what was waited for. It does so on a socket with a time
/// limit whenever a process that was stopped goes on, whatever happens to signals
/// (`signal(7)`).
fn is_interruption(error: &RedisError) -> bool {
    // The error of the system is kept in what the client shares among copies.
    let shared = error.source().and_then(|why| why.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let told = shared.and_then(|why| why.downcast_ref::<io::Error>());
    told.is_some_and(|why| why.kind() == io::ErrorKind::Interrupted)
}

fn unreached(url: &Url, why: &str) -> StoreError {
    let error =
        StoreError::new(Trouble::Away, format!("the store {url} cannot be reached ({why})"));
    if why.contains("UnknownIssuer") {
        error.with_remedy("name the authority of its certificate: ?cacert=FILE")
    } else if why.contains("certificate") {
        error.with_remedy("name the host as its certificate does")
    } else {
        error.with_remedy("see whether the server runs, and whether host and port are right")
    }
}

fn refusal(url: &Url, told: &Told) -> StoreError {
    let said = told.said();
    let (trouble, what, remedy) = match told.code.as_str() {
        _ if told.is_refusal() => (
            Trouble::Refused,
            format!("the store {url} does not let us in ({said})"),
            "put the password into REDISCLI_AUTH, or the URL with its user and password into DOUBLETAP_STORE".to_owned(),
        ),
        "NOPERM" => (
            Trouble::Refused,
            format!("the store {url} does not let this user work on it ({said})"),
            rights(url),
        ),
        "READONLY" => (
            Trouble::ReadOnly,
            format!("the store {url} is on a replica, which cannot be written ({said})"),
            "name the server that it copies".to_owned(),
        ),
        "MISCONF" | "NOREPLICAS" => (
            Trouble::ReadOnly,
            format!("the store {url} takes no writes at present ({said})"),
            "mend the server".to_owned(),
        ),
        "OOM" => (
            Trouble::Full,
            format!("no room is left for the store {url} ({said})"),
            "raise its maxmemory, or make room: doubletap prune --older-than 30d".to_owned(),
        ),
        "MOVED" | "ASK" => (
            Trouble::Refused,
            format!("another node of the cluster has this store: {}", node(&told.text)),
            "name that node with --store".to_owned(),
        ),
        "WRONGTYPE" => (
            Trouble::Damaged,
            format!("the store {url} is something else ({said})"),
            "name another store with ?prefix=NAME".to_owned(),
        ),
        _ if told.passes() => (
            Trouble::Away,
            format!("the store {url} is not ready ({said})"),
            "try again".to_owned(),
        ),
        _ => return StoreError::new(Trouble::Other, format!("the store {url}: {said}")),
    };
    StoreError::new(trouble, what).with_remedy(remedy)
}

/// The rule that lets a user work on a store.
fn rights(url: &Url) -> String {
    // What the password is does not matter here.
    let address = Address::of(url, &|_| Some("-".into()));
    let Ok(Address { login, name, .. }) = address else {
        return "allow it scripts, the keys and the channels of the store".to_owned();
    };
    let user = login.and_then(|login| login.user).unwrap_or_else(|| "default".to_owned());
    format!("allow it that: ACL SETUSER {user} ~{{{name}}}:* &{{{name}}}:* {RIGHTS}")
}

/// The node that `MOVED 3999 127.0.0.1:6381` names.
fn node(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or_default()
}

/// The sentence about a store that nobody has set up.
pub(super) fn not_set_up(url: &Url) -> StoreError {
    let what = format!("the store {url} is not set up");
    let typed = quote(&url.to_type());
    StoreError::new(Trouble::Refused, what)
        .with_remedy(format!("set it up: doubletap setup --store {typed}"))
}

/// The sentence about a store that a later release has made.
pub(super) fn newer(url: &Url, found: &str, known: u32) -> StoreError {
    let what = format!("the store {url} has format {}, and this is format {known}", escape(found));
    StoreError::new(Trouble::Refused, what).with_remedy("use the newer doubletap")
}

/// The sentence about a change that others were faster with, again and again.
pub(super) fn contended(url: &Url, limit: Duration) -> StoreError {
    let limit = for_people(limit);
    let what = format!("others kept changing what was to be written to {url} for {limit}");
    StoreError::new(Trouble::Locked, what)
        .with_remedy("try again, or wait longer with --store-timeout")
}

/// The sentence about a store whose place something else has.
pub(super) fn foreign(url: &Url, found: &str) -> StoreError {
    let found: String = found.chars().take(40).collect();
    let what = format!("the store {url} is something else: its format is {found:?}");
    StoreError::new(Trouble::Refused, what).with_remedy("name another store with ?prefix=NAME")
}

/// The sentence about output that was sent and is not there when it is to be recorded.
pub(super) fn forgets(url: &Url) -> StoreError {
    let what = format!("the store {url} forgets the output before it is recorded");
    StoreError::new(Trouble::Output, what)
        .with_remedy("let the server drop nothing: maxmemory-policy noeviction")
}

/// The sentence about a write that too few replicas have.
pub(super) fn unacknowledged(url: &Url, asked: u32, given: u32) -> StoreError {
    let what = format!("{given} of {asked} replicas of {url} have acknowledged the write in time");
    StoreError::new(Trouble::Unacknowledged, what)
        .with_remedy("try again, or ask for fewer with --redis-wait")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        crate::place::url(text).unwrap().unwrap()
    }

    fn of(code: &str, text: &str) -> StoreError {
        let failure = Failure::Told(Told::new(code, text));
        failure.sentence(&url("redis://app:s3cret@h"), Duration::from_secs(10))
    }

    #[test]
    fn a_servers_no_is_a_kind_of_trouble_and_a_remedy() {
        for (code, text, trouble) in [
            ("NOAUTH", "Authentication required.", Trouble::Refused),
            ("WRONGPASS", "invalid username-password pair", Trouble::Refused),
            ("ERR", "invalid password", Trouble::Refused),
            ("NOPERM", "this user has no permissions", Trouble::Refused),
            ("READONLY", "You can't write against a read only replica.", Trouble::ReadOnly),
            ("MISCONF", "unable to persist to disk", Trouble::ReadOnly),
            ("OOM", "command not allowed. script: abc, on @user_script:5.", Trouble::Full),
            (
                "ERR",
                "Error running script (call to f_1): @user_script:8: -OOM command not",
                Trouble::Full,
            ),
            ("MOVED", "3999 127.0.0.1:6381", Trouble::Refused),
            ("WRONGTYPE", "Operation against a key", Trouble::Damaged),
            ("LOADING", "Redis is loading the dataset in memory", Trouble::Away),
        ] {
            let error = of(code, text);
            assert_eq!(error.trouble(), trouble, "{error}");
            assert!(error.remedy().is_some(), "{error}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert!(!error.to_string().contains("script: abc"), "{error}");
        }
    }

    #[test]
    fn the_rights_that_are_named_are_those_of_the_readme() {
        assert!(include_str!("../../../README.md").contains(RIGHTS));
        let error = of("NOPERM", "this user has no permissions");
        let typed = format!("ACL SETUSER app ~{{doubletap}}:* &{{doubletap}}:* {RIGHTS}");
        assert!(error.remedy().unwrap().ends_with(&typed), "{error}");
    }

    #[test]
    fn the_node_that_has_the_store_is_named() {
        assert!(of("MOVED", "3999 127.0.0.1:6381").what().ends_with("127.0.0.1:6381"));
    }

    #[test]
    fn what_has_to_be_typed_first_shows_no_password() {
        let error = not_set_up(&url("redis://app:s3cret@h/0?prefix=a b"));
        assert_eq!(
            error.remedy(),
            Some("set it up: doubletap setup --store 'redis://app@h/0?prefix=a b'")
        );
    }
}
