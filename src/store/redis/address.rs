//! Reads the URL of a store on Redis.
//!
//! `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, `rediss://…` over TLS, or
//! `redis+unix:///PATH[?db=DB]`; and `?prefix=NAME`, which names the store in its database,
//! `?cacert=FILE` for the authority of a certificate, `?insecure=true` (or `#insecure`) for
//! one that is not verified at all. What a user or a password may not contain is escaped
//! with `%`. The password may be in the environment, or be none.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::place::{Pieces, Url};
use crate::store::{StoreError, Trouble};
use crate::text::{BadEscape, percent_decoded};

/// Where Redis listens if nobody says otherwise.
const PORT: u16 = 6379;

/// What a store is called if nobody says otherwise.
const NAME: &str = "doubletap";

/// The longest name of a store, in bytes: it is part of every key.
const LONGEST_NAME: usize = 100;

/// Where the password is that no URL has to show: the variable of `redis-cli`.
const PASSWORD: &str = "REDISCLI_AUTH";

/// Whose word is taken for who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// The authorities of this machine.
    System,
    /// The authority in this file.
    Authority(PathBuf),
    /// Nobody's: anyone may answer.
    Anyone,
}

/// How the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As plain text.
    Plain(String, u16),
    /// Over TLS.
    Tls(String, u16, Trust),
    /// A socket on this machine.
    Socket(PathBuf),
}

/// Who we are to the server. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    /// The user's name; none is the default user.
    pub(super) user: Option<String>,
    /// The proof.
    pub(super) password: String,
}

/// Where a store is.
#[derive(Clone)]
pub(super) struct Address {
    /// How the server is reached.
    pub(super) way: Way,
    /// Who we are to it; nobody in particular if it asks for nothing.
    pub(super) login: Option<Login>,
    /// The database.
    pub(super) database: u32,
    /// The name of the store in it.
    pub(super) name: String,
}

/// What is wrong with a URL: a sentence's second half.
type Refused = String;

impl Address {
    /// Reads a URL; `lookup` answers for the environment.
    ///
    /// # Errors
    /// When the URL says something that is not known, or nothing that makes sense.
    pub(super) fn of(
        url: &Url,
        lookup: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreError> {
        let password = || lookup(PASSWORD).and_then(|text| text.into_string().ok());
        read(url.secret(), password).map_err(|why| {
            let what = format!("the address {url} cannot be used: {why}");
            let remedy = "write it like redis://USER:PASSWORD@HOST:6379/0, rediss://HOST or redis+unix:///PATH";
            StoreError::new(Trouble::Refused, what).with_remedy(remedy)
        })
    }
}

fn read(text: &str, password: impl Fn() -> Option<String>) -> Result<Address, Refused> {
    let (scheme, _) = text.split_once("://").ok_or("it has no scheme")?;
    let Some(Pieces { login, hosts, path, query, fragment }) = Pieces::of(text) else {
        return Err(format!("it has an @ in an unexpected place; {}", Pieces::ESCAPE));
    };
    let mut said = Said::read(query)?;
    match fragment {
        None | Some("") => {}
        Some("insecure") => said.insecure = true,
        _ => return Err("only #insecure may follow it".into()),
    }
    let (way, path) = match scheme.to_ascii_lowercase().as_str() {
        "redis+unix" if hosts.is_empty() && !path.is_empty() => {
            (Way::Socket(decoded(path)?.into()), "")
        }
        "redis+unix" => return Err("it names no socket: three slashes begin its path".into()),
        "rediss" => {
            let (host, port) = host_of(hosts)?;
            (Way::Tls(host, port, said.trust()?), path)
        }
        _ => {
            let (host, port) = host_of(hosts)?;
            (Way::Plain(host, port), path)
        }
    };
    if !matches!(way, Way::Tls(..)) && (said.insecure || said.authority.is_some()) {
        return Err("cacert and insecure are for rediss://".into());
    }
    let database = match (path, said.database) {
        ("" | "/", None) => 0,
        ("" | "/", Some(database)) => number(&database)?,
        (path, None) => number(&path[1..])?,
        (_, Some(_)) => return Err("it names two databases".into()),
    };
    let (mut user, mut secret) = login.map_or(Ok((None, None)), login_of)?;
    user = user.or(said.user);
    // A user that needs no password (`nopass`) is let in with any.
    secret = secret.or(said.password).or_else(password).or(user.is_some().then(String::new));
    let login = secret.map(|password| Login { user, password });
    Ok(Address { way, login, database, name: said.name.unwrap_or_else(|| NAME.into()) })
}

/// What the parameters say.
#[derive(Default)]
struct Said {
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
    name: Option<String>,
    authority: Option<PathBuf>,
    insecure: bool,
}

impl Said {
    fn read(parameters: &str) -> Result<Self, Refused> {
        let mut said = Self::default();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = decoded(value)?;
            match name {
                "user" => said.user = Some(value),
                "pass" | "password" => said.password = Some(value),
                "db" => said.database = Some(value),
                "prefix" => said.name = Some(name_of(value)?),
                "cacert" if !value.is_empty() => said.authority = Some(value.into()),
                "insecure" => {
                    said.insecure = match value.as_str() {
                        "true" => true,
                        "false" => false,
                        _ => return Err("insecure is true or false".into()),
                    }
                }
                "cacert" => return Err("cacert names no file".into()),
                _ => return Err(format!("{name:?} is none of prefix, db, cacert, insecure")),
            }
        }
        Ok(said)
    }

    fn trust(&self) -> Result<Trust, Refused> {
        match (&self.authority, self.insecure) {
            (Some(_), true) => Err("it says cacert and insecure, which exclude each other".into()),
            (Some(file), false) => Ok(Trust::Authority(file.clone())),
            (None, true) => Ok(Trust::Anyone),
            (None, false) => Ok(Trust::System),
        }
    }
}

/// A name of a store, without what ends a hash tag.
fn name_of(name: String) -> Result<String, Refused> {
    let odd = |c: char| c.is_control() || c == '{' || c == '}';
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(odd) {
        return Err(format!(
            "a prefix is 1 to {LONGEST_NAME} bytes without braces and control characters"
        ));
    }
    Ok(name)
}

fn number(text: &str) -> Result<u32, Refused> {
    text.parse().map_err(|_| format!("{text:?} is no number of a database"))
}

fn login_of(login: &str) -> Result<(Option<String>, Option<String>), Refused> {
    let (user, password) = login.split_once(':').map_or((login, None), |(u, p)| (u, Some(p)));
    let given = |text: &str| match text {
        "" => Ok(None),
        text => decoded(text).map(Some),
    };
    Ok((given(user)?, given(password.unwrap_or_default())?))
}

/// The host and the port.
fn host_of(authority: &str) -> Result<(String, u16), Refused> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => authority.rsplit_once(':').map_or((authority, None), |(h, p)| (h, Some(p))),
    };
    if host.is_empty() {
        return Err("it names no host".into());
    }
    let port = match port {
        None => PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(format!("{port:?} is no port")),
        },
    };
    Ok((decoded(host)?, port))
}

/// The text with its `%` escapes taken back.
fn decoded(text: &str) -> Result<String, Refused> {
    percent_decoded(text).map_err(|why| match why {
        BadEscape::Digits => "a % in it is not followed by two hexadecimal digits".into(),
        BadEscape::NotUtf8 => "what it escapes with % is not UTF-8".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> Address {
        read(text, || None).unwrap()
    }

    fn login(user: Option<&str>, password: &str) -> Login {
        Login { user: user.map(str::to_owned), password: password.to_owned() }
    }

    #[test]
    fn a_url_says_how_the_server_is_reached() {
        let plain = |host: &str, port| Way::Plain(host.into(), port);
        let tls = |trust| Way::Tls("h".into(), 6379, trust);
        for (text, way, database) in [
            ("redis://h", plain("h", 6379), 0),
            ("REDIS://h:7000/", plain("h", 7000), 0),
            ("redis://h/3", plain("h", 6379), 3),
            ("redis://h?db=3", plain("h", 6379), 3),
            ("redis://[::1]:7000/1", plain("::1", 7000), 1),
            ("rediss://h", tls(Trust::System), 0),
            ("rediss://h/#insecure", tls(Trust::Anyone), 0),
            ("rediss://h?insecure=true", tls(Trust::Anyone), 0),
            ("rediss://h?cacert=/a%20b.pem", tls(Trust::Authority("/a b.pem".into())), 0),
            ("redis+unix:///run/r.sock?db=2", Way::Socket("/run/r.sock".into()), 2),
        ] {
            let found = address(text);
            assert_eq!((found.way, found.database), (way, database), "{text}");
        }
    }

    #[test]
    fn a_login_is_read_from_where_it_is_given() {
        for (text, expected) in [
            ("redis://h", None),
            ("redis://:s3cret@h", Some(login(None, "s3cret"))),
            ("redis://app:a%40b@h", Some(login(Some("app"), "a@b"))),
            ("redis://app:a@b@h/1", Some(login(Some("app"), "a@b"))),
            ("redis://app:a%2Fb%3Fc@h", Some(login(Some("app"), "a/b?c"))),
            ("redis+unix:///s?user=app&pass=s3cret", Some(login(Some("app"), "s3cret"))),
        ] {
            assert!(address(text).login == expected, "{text}");
        }
        let from_outside = |text| read(text, || Some("outside".into())).unwrap().login;
        assert!(from_outside("redis://app@h") == Some(login(Some("app"), "outside")));
        assert!(from_outside("redis://app:inside@h") == Some(login(Some("app"), "inside")));
        assert!(address("redis://app@h").login == Some(login(Some("app"), "")));
    }

    #[test]
    fn a_prefix_names_the_store() {
        assert_eq!(address("redis://h").name, "doubletap");
        assert_eq!(address("redis://h?prefix=ci%2Fnightly").name, "ci/nightly");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "redis://",
            "redis://:6379",
            "redis://app:a/b@h",
            "redis://app:a?b@h",
            "redis://h?password=p@ss",
            "redis://h:0",
            "redis://h:70000",
            "redis://h/x",
            "redis://h/1?db=2",
            "redis://h?perfix=x",
            "redis://h?prefix=",
            "redis://h?prefix={x}",
            "redis://h?insecure=true",
            "redis://h?cacert=f",
            "rediss://h?cacert=",
            "rediss://h?cacert=f&insecure=true",
            "rediss://h?insecure",
            "redis://h#secure",
            "redis://%zz@h",
            "redis+unix://relative",
        ] {
            assert!(read(text, || None).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for text in [
            "redis://app:s3cret@h/x",
            "redis://app:s3cret@h?a=b",
            "redis://a:s3cret@h:x",
            "redis://h?user=a@b&pass=s3cret",
        ] {
            let url = crate::place::url(text).unwrap().unwrap();
            let error = Address::of(&url, &|_| None).err().unwrap();
            assert!(!error.to_string().contains("s3cret"), "{error}");
            assert_eq!(error.trouble(), Trouble::Refused);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "redis(s|\\+unix)?://.*") {
            let _ = read(&text, || None);
        }
    }
}
