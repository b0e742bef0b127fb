//! The pieces of a URL, as libpq cuts it.

use crate::place::Pieces;
use crate::text::percent_decoded;

/// What to do about characters that have a meaning of their own.
const ESCAPE: &str = Pieces::ESCAPE;

/// The pieces of a URL, decoded.
pub(super) struct Parts {
    /// What it says, by the names of parameters.
    pub(super) parameters: Vec<(String, String)>,
}

impl Parts {
    /// Cuts a URL. Its errors show nothing of what may be a password.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let pieces = Pieces::of(text).filter(|pieces| pieces.fragment.is_none());
        let Some(pieces) = pieces else {
            return Err(format!("it has an @ or # in an unexpected place; {ESCAPE}"));
        };
        let mut parameters = Vec::new();
        if let Some(login) = pieces.login {
            let (user, password) =
                login.split_once(':').map_or((login, None), |(user, pass)| (user, Some(pass)));
            push(&mut parameters, "user", user)?;
            push(&mut parameters, "password", password.unwrap_or_default())?;
        }
        read_hosts(&mut parameters, pieces.hosts)?;
        let path = pieces.path;
        push(&mut parameters, "dbname", path.strip_prefix('/').unwrap_or(path))?;
        for parameter in pieces.query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter
                .split_once('=')
                .filter(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
                .ok_or_else(|| format!("it has a parameter that is no name=value; {ESCAPE}"))?;
            parameters.push((name.to_owned(), decoded(value)?));
        }
        Ok(Self { parameters })
    }

    /// Takes a parameter out; the last one of a name counts, as in libpq.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let mut found = None;
        self.parameters.retain_mut(|(known, value)| {
            let is_it = known == name;
            if is_it {
                found = Some(std::mem::take(value));
            }
            !is_it
        });
        found.filter(|value| !value.is_empty())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|(known, _)| known == name)
    }
}

fn push(parameters: &mut Vec<(String, String)>, name: &str, value: &str) -> Result<(), String> {
    if !value.is_empty() {
        parameters.push((name.to_owned(), decoded(value)?));
    }
    Ok(())
}

fn read_hosts(parameters: &mut Vec<(String, String)>, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for host in text.split(',') {
        let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, port)) => (name, port.strip_prefix(':').unwrap_or(port)),
            None => host.split_once(':').unwrap_or((host, "")),
        };
        if !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("a port is no number; {ESCAPE}"));
        }
        hosts.push(decoded(name)?);
        ports.push(if port.is_empty() { "5432" } else { port });
    }
    parameters.push(("host".to_owned(), hosts.join(",")));
    // One that is left out may be named elsewhere.
    if text.rsplit(']').next().is_some_and(|rest| rest.contains(':')) || ports.len() > 1 {
        parameters.push(("port".to_owned(), ports.join(",")));
    }
    Ok(())
}

fn decoded(text: &str) -> Result<String, String> {
    let text = percent_decoded(text).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("it has a % that is no character's; {ESCAPE}"))
}

/// Writes parameters in the form `name='value' …`.
pub(super) fn pairs(parameters: &[(String, String)]) -> String {
    let pair = |(name, value): &(String, String)| {
        format!("{name}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
    };
    parameters.iter().map(pair).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(text: &str) -> Vec<(String, String)> {
        Parts::read(text).unwrap().parameters
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_url_is_cut_as_libpq_cuts_it() {
        for (text, expected) in [
            ("postgresql://", &[][..]),
            ("postgresql://h", &[("host", "h")]),
            ("postgresql://h:1/d", &[("host", "h"), ("port", "1"), ("dbname", "d")]),
            ("postgresql://u@h/d", &[("user", "u"), ("host", "h"), ("dbname", "d")]),
            ("postgresql://[::1]/d", &[("host", "::1"), ("dbname", "d")]),
            ("postgresql://[::1]:7", &[("host", "::1"), ("port", "7")]),
            ("postgresql://%2Frun/d", &[("host", "/run"), ("dbname", "d")]),
            ("postgresql://a:1,b/d", &[("host", "a,b"), ("port", "1,5432"), ("dbname", "d")]),
            ("postgresql:///d?host=/run&x=%20", &[("dbname", "d"), ("host", "/run"), ("x", " ")]),
            ("postgresql://u:p@w@h", &[("user", "u"), ("password", "p@w"), ("host", "h")]),
        ] {
            assert_eq!(parts(text), owned(expected), "{text}");
        }
    }

    #[test]
    fn what_is_ambiguous_is_refused_and_not_shown() {
        for text in [
            "postgresql://u:s3c/ret@h/d",
            "postgresql://u:s3c?ret@h/d",
            "postgresql://u:s3c#ret@h/d",
            "postgresql://h:s3cret/d",
            "postgresql://u:s3cret%zz@h",
            "postgresql://u:s3cret%0@h",
            "postgresql://u:s3cret%00@h",
            "postgresql://u:s3cret%ff@h",
            "postgresql://h/d?s3cret",
        ] {
            let why = Parts::read(text).err().unwrap();
            assert!(!why.contains("s3c"), "{text}: {why}");
        }
    }

    #[test]
    fn values_are_quoted_for_the_client() {
        let written = pairs(&owned(&[("host", "it's"), ("user", "a\\b"), ("dbname", "x y")]));
        let config: tokio_postgres::Config = written.parse().unwrap();
        assert_eq!(config.get_user(), Some("a\\b"));
        assert_eq!(config.get_dbname(), Some("x y"));
    }

    proptest! {
        #[test]
        fn no_url_makes_it_panic(text in "postgresql://.*") {
            let _ = Parts::read(&text);
        }

        #[test]
        fn an_escaped_password_reads_back(password in "[ -~]{1,20}") {
            let escaped: Vec<String> = password.bytes().map(|b| format!("%{b:02X}")).collect();
            let mut parts = Parts::read(&format!("postgresql://u:{}@h/d", escaped.concat())).unwrap();
            prop_assert_eq!(parts.take("password"), Some(password));
        }
    }
}
