//! Where a store is: a file, or a server.

mod pieces;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

pub use pieces::Pieces;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file on this machine.
    File(PathBuf),
    /// On a server.
    Server(Url),
}

impl Place {
    /// The file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }

    /// All of its name, password included: for the environment of a command, whose own
    /// calls need it.
    #[must_use]
    pub fn secret(&self) -> &OsStr {
        match self {
            Self::File(path) => path.as_os_str(),
            Self::Server(url) => OsStr::new(url.secret()),
        }
    }

    /// Its name in a line to be typed, without a password.
    #[must_use]
    pub fn to_type(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Server(url) => url.to_type(),
        }
    }
}

/// For people, without a password.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => fmt::Display::fmt(&path.display(), f),
            Self::Server(url) => fmt::Display::fmt(url, f),
        }
    }
}

/// What answers at a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
}

impl Engine {
    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
        }
    }

    /// The cargo feature that a build needs for it.
    #[must_use]
    pub fn feature(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        }
    }

    fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "postgresql" | "postgres" => Some(Self::Postgres),
            "redis" | "rediss" | "redis+unix" => Some(Self::Redis),
            _ => None,
        }
    }
}

/// The address of a store on a server. It may hold a password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    engine: Engine,
    text: String,
}

impl Url {
    /// What answers there.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The whole of it, password included: for the client of that server, and for the
    /// environment of a command.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.text
    }

    /// What names it again in a line to be typed, the password left out.
    #[must_use]
    pub fn to_type(&self) -> String {
        masked(&self.text, Mask::Nothing)
    }

    /// This one, with the password of the other if it names the same and only lacks that:
    /// so a line that was told to be typed finds the password beside it.
    #[must_use]
    pub fn with_password_of(self, other: Option<Self>) -> Self {
        other.filter(|other| other.to_type() == self.text).unwrap_or(self)
    }
}

/// Without its password.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.text))
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads a name that may be a URL. One with a scheme that is no engine's is an error; what
/// has no scheme is a file's.
///
/// # Errors
/// A sentence's second half.
pub fn url(name: &str) -> Result<Option<Url>, String> {
    let Some((scheme, rest)) = name.split_once("://") else { return Ok(None) };
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return Ok(None);
    }
    let Some(engine) = Engine::of_scheme(&scheme.to_ascii_lowercase()) else {
        return Err(format!(
            "there is no {scheme} store; name a file, postgresql://… or redis://… (a file of that name is ./{scheme}:…)"
        ));
    };
    // What a client of PostgreSQL does not name, its variables do.
    if rest.is_empty() && engine != Engine::Postgres {
        return Err(format!("it names no {} server", engine.name()));
    }
    if let Some(control) = name.chars().find(|c| c.is_control()) {
        return Err(format!("it has the control character {}", control.escape_default()));
    }
    Ok(Some(Url { engine, text: name.to_owned() }))
}

/// What stands in the place of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    /// Three stars.
    Stars,
    /// Nothing: the client looks for the password elsewhere.
    Nothing,
}

/// A URL with `***` in the place of every password: before the `@`, and in its parameters.
/// Whatever the scheme: somebody who mistypes that gives a password all the same. Where
/// nobody can say what is a password, nothing but the scheme is left.
#[must_use]
pub fn without_password(text: &str) -> String {
    masked(text, Mask::Stars)
}

fn masked(text: &str, mask: Mask) -> String {
    let Some((scheme, _)) = text.split_once("://") else { return text.to_owned() };
    let Some(pieces) = Pieces::of(text) else { return format!("{scheme}://***") };
    let login = pieces.login.map(|login| match login.split_once(':') {
        Some((user, _)) if mask == Mask::Stars => format!("{user}:***@"),
        Some(("", _)) => String::new(),
        Some((user, _)) => format!("{user}@"),
        None => format!("{login}@"),
    });
    let is_secret = |name: &str| name.to_ascii_lowercase().contains("pass") || name.contains('%');
    let parameters = pieces.query.split('&').filter(|parameter| !parameter.is_empty());
    let shown: Vec<String> = parameters
        .filter_map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                (mask == Mask::Stars).then(|| format!("{name}=***"))
            }
            _ => Some(parameter.to_owned()),
        })
        .collect();
    let (login, place) = (login.unwrap_or_default(), [pieces.hosts, pieces.path].concat());
    let question = if shown.is_empty() { "" } else { "?" };
    let fragment = pieces.fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{scheme}://{login}{place}{question}{}{fragment}", shown.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        url(text).unwrap().unwrap().to_string()
    }

    #[test]
    fn a_name_without_a_scheme_is_a_files() {
        for name in ["state.db", "/var/lib/a b.db", "./a://b", "", "é://x", "://x"] {
            assert_eq!(url(name), Ok(None), "{name}");
        }
    }

    #[test]
    fn a_scheme_says_what_answers() {
        for (name, engine) in [
            ("postgresql://h/d", Engine::Postgres),
            ("postgresql://", Engine::Postgres),
            ("postgres://h/d", Engine::Postgres),
            ("POSTGRESQL://h/d", Engine::Postgres),
            ("redis://h", Engine::Redis),
            ("rediss://h:6380/1", Engine::Redis),
            ("redis+unix:///run/redis.sock", Engine::Redis),
        ] {
            assert_eq!(url(name).unwrap().unwrap().engine(), engine, "{name}");
        }
    }

    #[test]
    fn a_scheme_of_nobody_is_refused() {
        for name in ["mysql://h/d", "file:///x", "http://h", "redis://", "rediss://"] {
            assert!(url(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (text, expected) in [
            ("postgresql://app:s3cret@h:5432/d", "postgresql://app:***@h:5432/d"),
            (
                "postgresql://app:a@b@h/d?sslmode=require",
                "postgresql://app:***@h/d?sslmode=require",
            ),
            ("redis://:s3cret@h/0", "redis://:***@h/0"),
            ("postgresql://app@h/d", "postgresql://app@h/d"),
            ("postgresql:///d?host=/run&password=s3cret", "postgresql:///d?host=/run&password=***"),
            ("postgresql://h/d?sslpassword=x&a=b", "postgresql://h/d?sslpassword=***&a=b"),
            ("redis://u:p@w@h/0", "redis://u:***@h/0"),
            ("rediss://u:p@h?p%61ss=s3cret#insecure", "rediss://u:***@h?p%61ss=***#insecure"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn where_nobody_can_say_what_is_a_password_nothing_is_shown() {
        for text in [
            "postgresql://app:a/b?c@h/d",
            "postgresql://h/d?user=app&password=p@ss",
            "postgresql://h:5432/d?password=p@ss",
            "postgresql:///d?host=/run&user=me@corp&password=s3cret",
            "postgresql://app:s#cret@h",
        ] {
            assert_eq!(shown(text), "postgresql://***");
            assert_eq!(url(text).unwrap().unwrap().to_type(), "postgresql://***");
        }
    }

    #[test]
    fn a_line_to_type_leaves_a_password_out() {
        for (text, expected) in [
            ("postgresql://app:s3cret@h:5432/d?a=b", "postgresql://app@h:5432/d?a=b"),
            ("redis://:s3cret@h/0", "redis://h/0"),
            ("redis://h/0", "redis://h/0"),
            ("postgresql:///d?host=/run&password=s3cret", "postgresql:///d?host=/run"),
            ("postgresql:///d?password=s3cret", "postgresql:///d"),
        ] {
            assert_eq!(Place::Server(url(text).unwrap().unwrap()).to_type(), expected);
        }
    }

    #[test]
    fn a_line_that_was_typed_finds_the_password_of_the_same_store() {
        let read = |text: &str| url(text).unwrap().unwrap();
        let typed = |text: &str, beside: &str| {
            read(text).with_password_of(Some(read(beside))).secret().to_owned()
        };
        let known = "redis://app:s3cret@h/0?prefix=ci";
        assert_eq!(typed("redis://app@h/0?prefix=ci", known), known);
        for other in ["redis://app@h/0", "redis://h/0?prefix=ci", "redis://app:x@h/0?prefix=ci"] {
            assert_eq!(typed(other, known), other);
        }
        assert_eq!(read("redis://h").with_password_of(None), read("redis://h"));
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(name in ".*") {
            let _ = url(&name).map(|url| url.map(|url| url.to_string()));
        }

        #[test]
        fn whatever_a_password_is_it_is_not_shown(
            password in "[A-Z/?#&=:@%+]{8,20}", place in "[a-z]{1,9}", rest in "(/[a-z]{0,5})?",
        ) {
            let shown = shown(&format!("postgresql://user:{password}@{place}{rest}"));
            prop_assert!(!shown.contains(&password), "{shown}");
            if password.contains(['/', '?', '#']) {
                prop_assert_eq!(shown, "postgresql://***");
            } else {
                prop_assert_eq!(shown, format!("postgresql://user:***@{place}{rest}"));
            }
        }
    }
}
