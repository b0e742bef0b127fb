//! Whose a key is: two users never share one.
//!
//! The scope is part of the namespace, which is a column of its own in every store, and in
//! a form of its own: `cgi:NAMESPACE:REMOTE_USER=alice`. No other namespace may begin like
//! that ([`is_reserved`]), and no two scopes are written alike.

use sha2::{Digest as _, Sha256};

use crate::claim::id::to_hex;
use crate::claim::key::{MAX_BYTES, Namespace, Refused};

/// How the namespaces of scopes begin, and no others.
const BEGINNING: &str = "cgi:";

/// Whose a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everybody's of whom the server says nothing.
    Guest,
    /// That of the user, or whatever it is, that this variable of the server names.
    Named {
        /// The variable.
        variable: String,
        /// Its value, as it is.
        value: Vec<u8>,
    },
}

impl Scope {
    /// The scope that a variable of the server names; an empty one names nobody.
    #[must_use]
    pub fn of(variable: &str, value: &[u8]) -> Self {
        if value.is_empty() {
            return Self::Guest;
        }
        Self::Named { variable: variable.to_owned(), value: value.to_owned() }
    }

    /// The namespace of this scope within another one.
    ///
    /// # Errors
    /// When the name of the variable is too long to be one.
    pub fn within(&self, namespace: &Namespace) -> Result<Namespace, Refused> {
        let (within, scope) = (escaped(namespace.as_str()), self.written());
        let plain = format!("{BEGINNING}{within}:{scope}");
        if plain.len() <= MAX_BYTES {
            return Namespace::new(&plain);
        }
        let scope = match self {
            Self::Guest => scope,
            Self::Named { variable, value } => digested(variable, value),
        };
        let shorter = format!("{BEGINNING}{within}:{scope}");
        if shorter.len() <= MAX_BYTES {
            return Namespace::new(&shorter);
        }
        // No namespace is empty, so this is none of the forms above.
        let digest = digest(namespace.as_str().as_bytes());
        Namespace::new(&format!("{BEGINNING}:sha256={digest}:{scope}"))
    }

    /// The scope in words; in digits where it is not to be read, or cannot be.
    fn written(&self) -> String {
        match self {
            Self::Guest => "guest".to_owned(),
            Self::Named { variable, value } => match std::str::from_utf8(value) {
                Ok(text) if !is_header(variable) && !text.contains(char::is_control) => {
                    format!("{variable}={text}")
                }
                _ => digested(variable, value),
            },
        }
    }
}

/// Whether a namespace is one of those that are made here.
#[must_use]
pub fn is_reserved(namespace: &Namespace) -> bool {
    namespace.as_str().starts_with(BEGINNING)
}

/// Whether a variable is a header of the request (RFC 3875, section 4.1.18), which may be
/// what its client proves himself with: a namespace is in every list and log. Apache has
/// another name for the same after an internal redirect.
fn is_header(variable: &str) -> bool {
    variable.trim_start_matches("REDIRECT_").starts_with("HTTP_")
}

/// A variable and a value that cannot be shown, or must not. Of a value that can be, the equals sign
/// follows the variable at once.
fn digested(variable: &str, value: &[u8]) -> String {
    format!("{variable}:sha256={}", digest(value))
}

fn digest(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// A namespace without the mark that ends it.
fn escaped(namespace: &str) -> String {
    namespace.replace('%', "%25").replace(':', "%3A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn namespace(within: &str, scope: &Scope) -> String {
        let made = scope.within(&Namespace::new(within).unwrap()).unwrap();
        assert!(is_reserved(&made));
        made.as_str().to_owned()
    }

    #[test]
    fn a_scope_can_be_read_where_it_can_be_shown() {
        let alice = Scope::of("REMOTE_USER", b"alice");
        assert_eq!(namespace("default", &alice), "cgi:default:REMOTE_USER=alice");
        assert_eq!(namespace("a:b", &Scope::Guest), "cgi:a%3Ab:guest");
        assert_eq!(Scope::of("REMOTE_USER", b""), Scope::Guest);
    }

    #[test]
    fn a_long_or_an_odd_user_is_a_digest() {
        for value in [vec![b'a'; 2000], b"a\nb".to_vec(), vec![0xff]] {
            let made = namespace("default", &Scope::of("REMOTE_USER", &value));
            assert!(made.starts_with("cgi:default:REMOTE_USER:sha256="), "{made}");
            assert_eq!(made.len(), "cgi:default:REMOTE_USER:sha256=".len() + 64);
        }
        let long = namespace(&":".repeat(1024), &Scope::of("U", b"alice"));
        assert!(long.starts_with("cgi::sha256="), "{long}");
    }

    #[test]
    fn a_header_is_a_digest_whatever_it_says() {
        for variable in ["HTTP_AUTHORIZATION", "HTTP_X_API_KEY", "REDIRECT_HTTP_COOKIE"] {
            let made = namespace("default", &Scope::of(variable, b"s3cret"));
            assert_eq!(made, format!("cgi:default:{variable}:sha256={}", digest(b"s3cret")));
        }
        let made = namespace("default", &Scope::of("SSL_CLIENT_S_DN", b"CN=alice"));
        assert_eq!(made, "cgi:default:SSL_CLIENT_S_DN=CN=alice");
    }

    #[test]
    fn who_calls_himself_like_a_scope_gets_none_that_is_not_his() {
        let guest = namespace("default", &Scope::Guest);
        assert_ne!(namespace("default", &Scope::of("REMOTE_USER", b"guest")), guest);
        let odd = Scope::of("U", b"\n");
        let digest = namespace("default", &odd);
        let value = digest.strip_prefix("cgi:default:U").unwrap();
        assert_ne!(namespace("default", &Scope::of("U", value.as_bytes())), digest);
        assert_ne!(namespace("default", &Scope::of("U", &value.as_bytes()[1..])), digest);
    }

    proptest! {
        #[test]
        fn two_scopes_are_never_written_alike(
            a in "[ -~]{1,1024}", b in "[ -~]{1,1024}",
            (one, two) in (any::<Vec<u8>>(), any::<Vec<u8>>()),
            (u, v) in ("(HTTP_)?[A-Z_]{1,9}", "(HTTP_)?[A-Z_]{1,9}"),
        ) {
            let (x, y) = (Scope::of(&u, &one), Scope::of(&v, &two));
            let differ = (&a, &x) != (&b, &y);
            prop_assert_eq!(namespace(&a, &x) != namespace(&b, &y), differ);
        }
    }
}
