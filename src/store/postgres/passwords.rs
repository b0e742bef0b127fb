//! The password file of libpq: `host:port:database:user:password` on each line, where a
//! field may be `*`, and `\` makes the next character ordinary. The first line that fits
//! counts. A file that others can read is left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Whose password is looked for.
#[derive(Clone, Debug)]
pub(super) struct Asked<'a> {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// What a password file says.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Found {
    Password(Vec<u8>),
    /// Nothing, because others can read it.
    OpenToOthers(PathBuf),
    Nothing,
}

/// Looks in a file for the first of several.
pub(super) fn find(path: &Path, asked: &[Asked<'_>]) -> Found {
    let Ok(metadata) = fs::metadata(path) else { return Found::Nothing };
    if !metadata.is_file() {
        return Found::Nothing;
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Found::OpenToOthers(path.to_owned());
    }
    let Ok(text) = fs::read(path) else { return Found::Nothing };
    let mut found = asked.iter().filter_map(|asked| password(&text, asked));
    found.next().map_or(Found::Nothing, Found::Password)
}

fn password(text: &[u8], asked: &Asked<'_>) -> Option<Vec<u8>> {
    let port = asked.port.to_string();
    let wanted = [&*asked.host, &port, asked.database, asked.user];
    text.split(|byte| *byte == b'\n').find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            return None;
        }
        let mut rest = line;
        for field in wanted {
            let (found, after) = take_field(rest)?;
            if found != Field::Any && found != Field::Text(field.as_bytes().to_owned()) {
                return None;
            }
            rest = after;
        }
        Some(unescaped(rest))
    })
}

#[derive(PartialEq, Eq)]
enum Field {
    Any,
    Text(Vec<u8>),
}

/// The first field of a line, and what follows its colon.
fn take_field(line: &[u8]) -> Option<(Field, &[u8])> {
    let mut escaped = false;
    let end = line.iter().position(|byte| {
        let ends = *byte == b':' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })?;
    let (field, rest) = (&line[..end], &line[end + 1..]);
    let field = if field == b"*" { Field::Any } else { Field::Text(unescaped(field)) };
    Some((field, rest))
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => *bytes.next().unwrap_or(byte),
            _ => *byte,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked() -> Asked<'static> {
        Asked { host: "db.example".to_owned(), port: 5432, database: "shop", user: "app" }
    }

    fn found(text: &str) -> Option<String> {
        password(text.as_bytes(), &asked()).map(|found| String::from_utf8(found).unwrap())
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        for (text, expected) in [
            ("db.example:5432:shop:app:one", Some("one")),
            ("*:*:*:*:any\ndb.example:5432:shop:app:one", Some("any")),
            ("# db.example:5432:shop:app:no\n\n*:*:shop:app:two\r\n", Some("two")),
            ("other:5432:shop:app:no\n*:5433:shop:app:no", None),
            ("db.example:5432:shop:app", None),
            ("db.example:5432:shop:app:", Some("")),
            (r"*:*:*:*:a\:b\\c:d", Some(r"a:b\c:d")),
            (r"db.exam\ple:*:*:*:x", Some("x")),
        ] {
            assert_eq!(found(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn colons_in_a_field_are_escaped() {
        let asked = Asked { host: "::1".to_owned(), ..asked() };
        assert_eq!(password(br"\:\:1:5432:shop:app:x", &asked), Some(b"x".to_vec()));
    }

    #[test]
    fn a_file_that_others_can_read_is_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "*:*:*:*:x\n").unwrap();
        for (mode, left_alone) in [(0o600, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            let found = find(file.path(), &[asked()]);
            assert!((found == Found::OpenToOthers(file.path().to_owned())) == left_alone);
            assert!((found == Found::Password(b"x".to_vec())) != left_alone);
        }
        assert!(find(Path::new("/nowhere"), &[asked()]) == Found::Nothing);
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(text: Vec<u8>) {
            let _ = password(&text, &asked());
        }
    }
}
