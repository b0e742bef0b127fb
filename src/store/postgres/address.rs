//! Where the server is and how it is to be spoken to: what the URL says, and what the
//! variables of `libpq` say where the URL leaves it out.
//!
//! The URL is split here and not by the client crate, which knows fewer parameters and
//! takes another `@` for the end of a password than the one that hides it from people.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::unistd::{Uid, User};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::passwords::{self, Asked, Found};
use super::url::{self, Parts};
use crate::place::Url;
use crate::store::{StoreError, Trouble};
use crate::text::quote;

/// Reads a variable of the environment.
pub type Lookup<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// What the schema is called in which the tables are, unless the URL names another.
const SCHEMA: &str = "doubletap";

/// The longest name that PostgreSQL keeps whole.
const LONGEST_NAME: usize = 63;

/// Where a server's socket is that was built by a distribution.
const SOCKETS: &str = "/var/run/postgresql";

/// How the connection is to be protected: `sslmode` of libpq.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// Whose signature makes a server's certificate good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Nobody was named.
    Unnamed,
    /// Those in this file.
    File(PathBuf),
    /// Those that this machine trusts.
    System,
}

/// How the connection is to be protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Security {
    pub(super) mode: Mode,
    pub(super) roots: Roots,
    /// Our own certificate and its key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// All that is needed to connect.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) security: Security,
    /// The schema's name, in quotes.
    pub(super) schema: String,
    /// The same as it is.
    pub(super) schema_name: String,
    /// The URL without its password.
    pub(super) shown: String,
    /// The option that names it again, the password left out.
    pub(super) option: String,
    /// A password file that others can read, and that was left alone therefore.
    pub(super) open_passwords: Option<PathBuf>,
}

impl Address {
    /// Reads a URL.
    pub(super) fn read(url: &Url, lookup: &Lookup<'_>) -> Result<Self, StoreError> {
        let shown = url.to_string();
        let refused = |why: String| {
            StoreError::new(Trouble::Refused, format!("the store {shown} cannot be reached: {why}"))
        };
        let parts = Parts::read(url.secret()).map_err(refused)?;
        let option = format!("--store {}", quote(&url.to_type()));
        read(parts, lookup, (&shown, option)).map_err(refused)
    }

    /// The hosts and ports that are tried, for people.
    pub(super) fn places(&self) -> String {
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        let hosts = self.config.get_hosts().iter().enumerate();
        let hosts = hosts.map(|(at, host)| match host {
            Host::Tcp(name) => format!("{name}, port {}", port(at)),
            Host::Unix(folder) => format!("{}/.s.PGSQL.{}", folder.display(), port(at)),
        });
        hosts.collect::<Vec<_>>().join(" and ")
    }

    /// The role that asks, as a statement names it.
    pub(super) fn role(&self) -> String {
        quoted(self.config.get_user().unwrap_or("…"))
    }

    /// The database, as a statement names it.
    pub(super) fn database(&self) -> String {
        quoted(self.config.get_dbname().unwrap_or("…"))
    }

    /// Whether nothing goes over a network, where there is no TLS.
    pub(super) fn is_local(&self) -> bool {
        self.config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)))
    }
}

fn variable(lookup: &Lookup<'_>, name: &str) -> Option<String> {
    lookup(name)?.into_string().ok().filter(|value| !value.is_empty())
}

fn read(
    mut parts: Parts,
    lookup: &Lookup<'_>,
    (shown, option): (&str, String),
) -> Result<Address, String> {
    let mut ours = |name: &str, variable_name: &str| {
        parts.take(name).or_else(|| variable(lookup, variable_name))
    };
    let mode = ours("sslmode", "PGSSLMODE");
    let roots = ours("sslrootcert", "PGSSLROOTCERT");
    let identity = ours("sslcert", "PGSSLCERT").zip(ours("sslkey", "PGSSLKEY"));
    let passfile = ours("passfile", "PGPASSFILE");
    let user = ours("user", "PGUSER").or_else(user_name);
    let database = ours("dbname", "PGDATABASE").or_else(|| user.clone());
    let host = ours("host", "PGHOST").unwrap_or_else(|| default_host(&parts));
    let port = parts.take("port").or_else(|| variable(lookup, "PGPORT"));
    let password = parts.take("password").or_else(|| variable(lookup, "PGPASSWORD"));
    let schema_name = parts.take("schema").unwrap_or_else(|| SCHEMA.to_owned());
    if schema_name.is_empty() || schema_name.len() > LONGEST_NAME {
        return Err(format!("a schema's name has 1 to {LONGEST_NAME} bytes"));
    }
    // What libpq knows and has no meaning here.
    for name in ["gssencmode", "fallback_application_name", "client_encoding", "sslsni"] {
        parts.take(name);
    }
    if let Some(count) = parts.take("keepalives_count") {
        parts.parameters.push(("keepalives_retries".to_owned(), count));
    }

    let mut pairs = vec![("application_name".to_owned(), "doubletap".to_owned())];
    pairs.push(("host".to_owned(), host));
    pairs.extend(port.map(|port| ("port".to_owned(), port)));
    pairs.extend(user.map(|user| ("user".to_owned(), user)));
    pairs.extend(database.map(|database| ("dbname".to_owned(), database)));
    pairs.append(&mut parts.parameters);
    // Its errors name a parameter, and never what it is.
    let mut config: Config = url::pairs(&pairs)
        .parse()
        .map_err(|why: tokio_postgres::Error| super::failure::with_causes(&why))?;

    let found = match password {
        Some(password) => Found::Password(password.into_bytes()),
        None => password_in_file(passfile, lookup, &config),
    };
    let open_passwords = match found {
        Found::Password(password) => {
            config.password(password);
            None
        }
        Found::OpenToOthers(path) => Some(path),
        Found::Nothing => None,
    };
    Ok(Address {
        config,
        security: security(mode, roots.as_deref(), identity, lookup)?,
        schema: quoted(&schema_name),
        schema_name,
        shown: shown.to_owned(),
        option,
        open_passwords,
    })
}

/// A name as it stands in a statement, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn user_name() -> Option<String> {
    User::from_uid(Uid::effective()).ok().flatten().map(|user| user.name)
}

/// As libpq does: the socket of this machine's server. A name that is looked up is
/// better than none where there is no such folder.
fn default_host(parts: &Parts) -> String {
    let local = !parts.has("hostaddr") && std::fs::metadata(SOCKETS).is_ok();
    if local { SOCKETS } else { "localhost" }.to_owned()
}

fn home(lookup: &Lookup<'_>, name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(lookup("HOME")?).join(name))
}

fn password_in_file(named: Option<String>, lookup: &Lookup<'_>, config: &Config) -> Found {
    let Some(path) = named.map(PathBuf::from).or_else(|| home(lookup, ".pgpass")) else {
        return Found::Nothing;
    };
    let (ports, hosts) = (config.get_ports(), config.get_hosts());
    let asked = hosts.iter().enumerate().map(|(at, host)| Asked {
        host: match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(folder) if folder.as_os_str() == SOCKETS => "localhost".to_owned(),
            Host::Unix(folder) => folder.display().to_string(),
        },
        port: ports.get(at).or(ports.first()).copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or_default(),
        user: config.get_user().unwrap_or_default(),
    });
    passwords::find(&path, &asked.collect::<Vec<_>>())
}

fn security(
    mode: Option<String>,
    roots: Option<&str>,
    identity: Option<(String, String)>,
    lookup: &Lookup<'_>,
) -> Result<Security, String> {
    let named = mode
        .map(|text| {
            Mode::parse(&text).ok_or(
                "sslmode is none of disable, allow, prefer, require, verify-ca, verify-full"
                    .to_owned(),
            )
        })
        .transpose()?;
    let roots = match roots {
        Some("system") => Roots::System,
        Some(path) => Roots::File(PathBuf::from(path)),
        None => home(lookup, ".postgresql/root.crt")
            .filter(|path| path.exists())
            .map_or(Roots::Unnamed, Roots::File),
    };
    let mode = match (named, &roots) {
        (None, Roots::System) => Mode::VerifyFull,
        // Somebody in the world has a certificate for another name.
        (Some(mode), Roots::System) if mode < Mode::VerifyFull && mode != Mode::Disable => {
            return Err("sslrootcert=system is of use with sslmode=verify-full only".to_owned());
        }
        (Some(Mode::Require), Roots::File(_)) => Mode::VerifyCa,
        (named, _) => named.unwrap_or(Mode::Prefer),
    };
    let identity = identity.map(|(cert, key)| (PathBuf::from(cert), PathBuf::from(key)));
    Ok(Security { mode, roots, identity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place;

    fn read_with(text: &str, variables: &[(&str, &str)]) -> Result<Address, StoreError> {
        let url = place::url(text).unwrap().unwrap();
        Address::read(&url, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    fn config(text: &str, variables: &[(&str, &str)]) -> Config {
        read_with(text, variables).unwrap().config
    }

    fn security_of(text: &str) -> Security {
        read_with(text, &[]).unwrap().security
    }

    #[test]
    fn a_url_says_all_of_it() {
        let config = config("postgresql://app:p%40w@db.example:6432/shop?connect_timeout=3", &[]);
        assert_eq!(config.get_user(), Some("app"));
        assert_eq!(config.get_password(), Some(&b"p@w"[..]));
        assert_eq!(config.get_hosts(), [Host::Tcp("db.example".into())]);
        assert_eq!(config.get_ports(), [6432]);
        assert_eq!(config.get_dbname(), Some("shop"));
        assert_eq!(config.get_connect_timeout(), Some(&std::time::Duration::from_secs(3)));
    }

    #[test]
    fn what_it_leaves_out_the_variables_say() {
        let variables = [
            ("PGHOST", "h"),
            ("PGPORT", "7"),
            ("PGUSER", "u"),
            ("PGDATABASE", "d"),
            ("PGPASSWORD", "p"),
        ];
        let filled = config("postgresql:///", &variables);
        assert_eq!(filled.get_hosts(), [Host::Tcp("h".into())]);
        assert_eq!(filled.get_ports(), [7]);
        assert_eq!((filled.get_user(), filled.get_dbname()), (Some("u"), Some("d")));
        assert_eq!(filled.get_password(), Some(&b"p"[..]));
        let own = config("postgresql://me:x@own:8/mine", &variables);
        assert_eq!(own.get_hosts(), [Host::Tcp("own".into())]);
        assert_eq!(own.get_ports(), [8]);
        assert_eq!((own.get_user(), own.get_dbname()), (Some("me"), Some("mine")));
        assert_eq!(own.get_password(), Some(&b"x"[..]));
    }

    #[test]
    fn a_host_that_begins_with_a_slash_is_a_folder_of_sockets() {
        let address = read_with("postgresql://u@/d?host=/run/pg&port=6000", &[]).unwrap();
        assert_eq!(address.config.get_hosts(), [Host::Unix("/run/pg".into())]);
        assert!(address.is_local());
        assert_eq!(address.places(), "/run/pg/.s.PGSQL.6000");
    }

    #[test]
    fn several_hosts_are_tried() {
        let address = read_with("postgresql://u@one:1,two/d", &[]).unwrap();
        assert_eq!(address.places(), "one, port 1 and two, port 5432");
    }

    #[test]
    fn sslmode_is_that_of_libpq() {
        let of = |text: &str| security_of(&format!("postgresql://h/d{text}"));
        assert_eq!(of("").mode, Mode::Prefer);
        assert_eq!(of("?sslmode=require").mode, Mode::Require);
        assert_eq!(of("?sslmode=require&sslrootcert=/ca").mode, Mode::VerifyCa);
        assert_eq!(of("?sslmode=require&sslrootcert=/ca").roots, Roots::File("/ca".into()));
        assert_eq!(of("?sslrootcert=system").mode, Mode::VerifyFull);
        assert!(read_with("postgresql://h/d?sslmode=require&sslrootcert=system", &[]).is_err());
        assert!(read_with("postgresql://h/d?sslmode=always", &[]).is_err());
    }

    #[test]
    fn a_parameter_that_nobody_knows_is_named() {
        let why = read_with("postgresql://u:s3cret@h/d?colour=red", &[]).err().unwrap().to_string();
        assert!(why.contains("`colour`") && !why.contains("s3cret"), "{why}");
    }

    #[test]
    fn a_schema_is_quoted() {
        let address = read_with("postgresql://h/d?schema=a%22b", &[]).unwrap();
        assert_eq!(address.schema, "\"a\"\"b\"");
        let long = format!("postgresql://h/d?schema={}", "s".repeat(64));
        assert!(read_with(&long, &[]).is_err());
    }
}
