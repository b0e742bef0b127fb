//! The pieces of a URL, cut as libpq does: once for those who connect and for what is
//! shown, so that no password stands where only one of them looks for it.

/// The pieces of a URL, not decoded.
pub struct Pieces<'a> {
    /// What stands before the `@`: a user, and a password after a colon.
    pub login: Option<&'a str>,
    /// Hosts, each with its port after a colon.
    pub hosts: &'a str,
    /// What follows, from a slash on.
    pub path: &'a str,
    /// The parameters: what stands after the `?`.
    pub query: &'a str,
    /// What stands after the `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> Pieces<'a> {
    /// What to do about characters that have a meaning of their own.
    pub const ESCAPE: &'static str = "in a name or password write %40 for @, %3A for :, %2F for /, %3F for ?, %23 for # and %25 for %";

    /// The pieces of this; nothing where an `@` follows a `/`, `?` or `#`: nobody can say
    /// then what is a password.
    #[must_use]
    pub fn of(url: &'a str) -> Option<Self> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if rest.contains('@') {
            return None;
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment)),
            None => (rest, None),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Some(Self { login, hosts, path, query, fragment })
    }
}
