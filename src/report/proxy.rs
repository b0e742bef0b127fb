//! The proxy on the way to a collector, by the variables that curl knows.
//!
//! ureq would take the first that is set for every URL: that of `https` for `http` too, and
//! for what is on this machine.

use std::net::IpAddr;

use ureq::http::Uri;

/// The proxy that is to be asked for this URL; `variable` has the environment.
///
/// `HTTP_PROXY` does not count: behind a web server it is what a client has sent in a header
/// `Proxy` (<https://httpoxy.org>). Programs that know that read `http_proxy` alone.
#[must_use]
pub fn of(url: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    if is_this_machine(&host) {
        return None;
    }
    let first_of = |names: &[&str]| names.iter().find_map(|name| variable(name));
    if is_excepted(&host, &first_of(&["no_proxy", "NO_PROXY"]).unwrap_or_default()) {
        return None;
    }
    let of_scheme: &[&str] = match uri.scheme_str()? {
        "https" => &["https_proxy", "HTTPS_PROXY"],
        _ => &["http_proxy"],
    };
    first_of(of_scheme).or_else(|| first_of(&["all_proxy", "ALL_PROXY"]))
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

/// Whether a host is in a list of those that are asked without a proxy: itself, or what it
/// is below.
fn is_excepted(host: &str, list: &str) -> bool {
    let names = list.split([',', ' ']).map(|name| name.trim_matches(['[', ']']));
    names.filter(|name| !name.is_empty()).any(|name| {
        let name = name.strip_prefix('*').unwrap_or(name).trim_start_matches('.');
        let name = name.to_ascii_lowercase();
        let above = host.strip_suffix(&*name);
        above.is_some_and(|above| above.is_empty() || name.is_empty() || above.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way<'a>(url: &str, environment: &[(&str, &'a str)]) -> Option<&'a str> {
        let value = |name: &str| environment.iter().find(|(known, _)| *known == name);
        let found = of(url, |name| value(name).map(|(_, value)| (*value).to_owned()));
        let known = environment.iter().map(|(_, value)| *value);
        known.into_iter().find(|value| found.as_deref() == Some(value))
    }

    #[test]
    fn a_proxy_is_of_the_scheme_or_of_all() {
        let all = [("http_proxy", "h"), ("https_proxy", "s"), ("all_proxy", "a")];
        assert_eq!(way("http://far/x", &all), Some("h"));
        assert_eq!(way("HTTPS://far/x", &all), Some("s"));
        assert_eq!(way("http://far", &all[1..]), Some("a"));
        assert_eq!(way("http://far", &[("HTTP_PROXY", "of a client")]), None);
        assert_eq!(way("https://far", &[("HTTPS_PROXY", "s")]), Some("s"));
    }

    #[test]
    fn this_machine_is_asked_itself() {
        for host in ["localhost", "LOCALHOST.", "a.localhost", "127.1.2.3", "[::1]"] {
            assert_eq!(way(&format!("http://{host}:4318"), &[("all_proxy", "a")]), None, "{host}");
        }
        assert_eq!(way("http://[fe80::1]:4318", &[("all_proxy", "a")]), Some("a"));
    }

    #[test]
    fn a_list_excepts_hosts_and_what_is_below_them() {
        for (list, is_excepted) in [
            ("*", true),
            ("b.example", true),
            (".example", true),
            ("*.example", true),
            ("EXAMPLE", true),
            ("x, a.b.example", true),
            ("a.b.example.", false),
            ("ample", false),
            ("c.example,,", false),
            ("", false),
        ] {
            let environment = [("http_proxy", "h"), ("no_proxy", list)];
            let expected = (!is_excepted).then_some("h");
            assert_eq!(way("http://a.b.example:4318", &environment), expected, "{list}");
        }
        let environment = [("http_proxy", "h"), ("NO_PROXY", "192.0.2.1 [2001:db8::1]")];
        assert_eq!(way("http://192.0.2.1", &environment), None);
        assert_eq!(way("http://[2001:db8::1]:4318", &environment), None);
    }
}
