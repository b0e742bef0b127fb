//! What every verb starts from: the store's place, the namespace, the voice; and how
//! it ends: the form of its answer. `opening` opens the store.

mod opening;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod server;

use std::cell::OnceCell;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use directories::ProjectDirs;
use serde::Serialize;

use crate::claim::attempt::Attempt;
use crate::claim::decide::Seen;
use crate::claim::http::scope::is_reserved;
use crate::claim::key::{Key, Kind, Namespace, Subject};
use crate::claim::time::{BootMs, Clock as _, Now};
#[cfg(any(feature = "postgres", feature = "redis"))]
use crate::cli::ServerArgs;
#[cfg(feature = "otel")]
use crate::cli::TraceArgs;
use crate::cli::{Global, LogPlace};
use crate::exit::{self, Ending, Refusal};
#[cfg(feature = "redis")]
use crate::place::Engine;
use crate::place::{self, Place, Url};
use crate::process::clock::SystemClock;
use crate::process::tenure::until;
use crate::report::form::Form;
use crate::report::sentences::Topic;
use crate::report::voice::{Voice, print};
use crate::store::{Chain, Store, StoreError, seen_without_lock, with_lives};
use crate::text::quote;

pub(super) use opening::Witness;

/// What every verb starts from.
pub(super) struct Context {
    /// What is said, and how much.
    pub(super) voice: Voice,
    /// The machine's clocks.
    pub(super) clock: Arc<SystemClock>,
    /// Where calls are logged.
    pub(super) log: Option<LogPlace>,
    /// The caller's label.
    pub(super) source: Option<String>,
    namespace: Option<Namespace>,
    place: Place,
    /// The options that name this store and namespace again.
    options: String,
    /// The same for a namespace that `cgi` has made.
    options_of_scope: OnceCell<String>,
    /// The option that names this store again.
    store_option: String,
    store_timeout: Duration,
    /// What the store's clock said, and when by ours, where it has one of its own.
    told: OnceCell<(Now, BootMs)>,
    #[cfg(any(feature = "postgres", feature = "redis"))]
    server: ServerArgs,
    #[cfg(feature = "otel")]
    traces: TraceArgs,
}

impl Context {
    /// Reads the global options.
    pub(super) fn new(global: Global, voice: Voice) -> anyhow::Result<Self> {
        let place = match &global.store {
            Some(Place::Server(url)) => {
                Place::Server(url.clone().with_password_of(server_of_variable()))
            }
            Some(Place::File(path)) => file(path)?,
            None => file(&default_store()?)?,
        };
        #[cfg(feature = "redis")]
        if global.server.redis_wait.is_some() && !is_on(&place, Engine::Redis) {
            let message = format!("--redis-wait is about replicas of a Redis, and {place} is none");
            return Err(Refusal::usage(message).into());
        }
        let named = global.store.as_ref().map(|_| &place);
        let store_option = again(named, None);
        let options = again(named, global.namespace.as_ref());
        Ok(Self {
            voice,
            clock: Arc::new(SystemClock::default()),
            store_timeout: global.store_timeout(),
            log: global.log.filter(|log| !log.path.as_os_str().is_empty()),
            source: global.source,
            namespace: global.namespace,
            place,
            options,
            options_of_scope: OnceCell::new(),
            store_option,
            told: OnceCell::new(),
            #[cfg(any(feature = "postgres", feature = "redis"))]
            server: global.server,
            #[cfg(feature = "otel")]
            traces: global.traces,
        })
    }

    /// A chain of this kind in the namespace of this call.
    pub(super) fn subject(&self, kind: Kind, key: &Key) -> anyhow::Result<Subject> {
        Ok(Subject { kind, namespace: self.namespace()?, key: key.clone() })
    }

    /// The namespace of this call.
    pub(super) fn namespace(&self) -> anyhow::Result<Namespace> {
        match &self.namespace {
            Some(named) => Ok(named.clone()),
            None => Ok(Namespace::new("default")?),
        }
    }

    /// A chain that runs once, in the namespace of this call, which must not be one of
    /// those that `cgi` makes: they are as many as there are users.
    pub(super) fn subject_to_claim(&self, key: &Key) -> anyhow::Result<Subject> {
        let subject = self.subject(Kind::Once, key)?;
        if is_reserved(&subject.namespace) {
            let message = format!(
                "--namespace {}: what begins like that belongs to cgi; use another",
                subject.namespace
            );
            return Err(Refusal::usage(message).into());
        }
        Ok(subject)
    }

    /// The namespace that was named, if one was.
    pub(super) fn named_namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// Whether a collector of traces is told digests in place of keys.
    #[cfg(feature = "otel")]
    pub(super) fn redacts_keys(&self) -> bool {
        self.traces.redact_keys
    }

    /// How long to wait for the store itself.
    pub(super) fn store_timeout(&self) -> Duration {
        self.store_timeout
    }

    /// Where the store is; a file by its absolute path.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Adds what is known of the holders, for people.
    pub(super) fn seen(&self, attempts: Vec<Attempt>) -> Result<(Vec<Seen>, Now), StoreError> {
        Ok((with_lives(attempts, &mut self.witness())?, self.now()))
    }

    /// The same for a chain that was read without a lock.
    pub(super) fn seen_in(
        &self,
        store: &mut dyn Store,
        chain: Chain,
    ) -> Result<(Vec<Seen>, Now), StoreError> {
        let Chain { subject, attempts } = chain;
        let seen = seen_without_lock(attempts, &mut self.witness(), || store.chain(&subject))?;
        Ok((seen, self.now()))
    }

    /// The same for one attempt of a chain; nothing if it has been removed since.
    pub(super) fn seen_alone(
        &self,
        store: &mut dyn Store,
        (subject, attempt): (&Subject, Attempt),
    ) -> Result<Option<Seen>, StoreError> {
        let fence = attempt.fence;
        let read_again = || {
            let chain = store.chain(subject)?;
            Ok(chain.into_iter().filter(|found| found.fence == fence).collect())
        };
        let seen = seen_without_lock(vec![attempt], &mut self.witness(), read_again)?;
        Ok(seen.into_iter().next())
    }

    /// The time by the store's clock, for people: as it was when the store was opened, and
    /// what has gone by since. What decides asks the store again.
    pub(super) fn now(&self) -> Now {
        let here = self.clock.now();
        let Some((told, at)) = self.told.get() else { return here };
        let since = until(here.boot, *at);
        let (wall, boot) = (told.wall.plus(since), told.boot.plus(since));
        Now { wall, boot, boot_id: told.boot_id.clone() }
    }

    /// What is said about a key.
    pub(super) fn topic<'a>(&'a self, subject: &'a Subject) -> Topic<'a> {
        if !is_reserved(&subject.namespace) {
            return self.topic_with(subject, &self.options);
        }
        // Nobody has typed it, and a call is about one of them at the most.
        let options = self.options_of_scope.get_or_init(|| self.options_for(subject));
        self.topic_with(subject, options)
    }

    /// What is said about a key that nobody has named, with the options for it.
    pub(super) fn topic_with<'a>(&self, subject: &'a Subject, options: &'a str) -> Topic<'a> {
        Topic { subject, step: None, options, now: self.now().wall }
    }

    /// The options that name this store and the namespace of a key that nobody has
    /// named.
    pub(super) fn options_for(&self, subject: &Subject) -> String {
        if self.namespace.is_none() && subject.namespace.as_str() == "default" {
            return self.store_option.clone();
        }
        format!("{}{}", self.store_option, again(None, Some(&subject.namespace)))
    }

    /// The option that names this store again, after a blank; nothing where the
    /// default does.
    pub(super) fn store_option(&self) -> &str {
        &self.store_option
    }

    /// What to say of a key that is not there.
    pub(super) fn absent(&self, subject: &Subject) -> anyhow::Error {
        let message = format!("{}: no such key {}", subject.key, self.searched(subject));
        anyhow::Error::new(Refusal { status: exit::ABSENT, message })
    }

    /// Where a key was looked for. The file is named: whoever typed another one, or is
    /// another user than they think, sees it.
    pub(super) fn searched(&self, subject: &Subject) -> String {
        let (namespace, store) = (&subject.namespace, &self.place);
        if self.is_there() {
            format!("in namespace {namespace} of the store {store}")
        } else {
            format!("in namespace {namespace}: there is no store {store}")
        }
    }
}

/// Whether a store is on a server of this kind.
#[cfg(feature = "redis")]
fn is_on(place: &Place, engine: Engine) -> bool {
    matches!(place, Place::Server(url) if url.engine() == engine)
}

/// The server that the variable names, whatever the option says.
#[expect(clippy::disallowed_methods, reason = "the option hides what the variable says")]
fn server_of_variable() -> Option<Url> {
    place::url(&env::var("DOUBLETAP_STORE").ok()?).ok().flatten()
}

/// The options that name a store and a namespace again, ready to be typed.
fn again(store: Option<&Place>, namespace: Option<&Namespace>) -> String {
    let store = store.map(|place| format!(" --store {}", quote(&place.to_type())));
    let namespace = namespace.map(|name| format!(" --namespace {}", quote(name.as_str())));
    [store, namespace].into_iter().flatten().collect()
}

/// The store in this file, by the name that everybody has for it.
fn file(path: &Path) -> anyhow::Result<Place> {
    let path = one_name(path)
        .with_context(|| format!("the store {} has no absolute path", path.display()))?;
    Ok(Place::File(path))
}

/// The path of a store without symbolic links, so that its lock file is the
/// same whatever it is called by. What does not exist yet keeps its name.
fn one_name(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    if let Ok(real) = absolute.canonicalize() {
        return Ok(real);
    }
    Ok(match (absolute.parent().map(Path::canonicalize), absolute.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => absolute,
    })
}

/// The form of what is said to people on standard output.
#[expect(clippy::disallowed_methods, reason = "these variables stand in for no option of ours")]
pub(super) fn form() -> Form {
    Form::of_stdout(|name| env::var_os(name))
}

/// Prints what a verb was asked for.
pub(super) fn print_answer(text: &str) -> anyhow::Result<Ending> {
    print(text).context("standard output")?;
    Ok(Ending::OK)
}

/// Prints the document that `--json` asks for.
pub(super) fn print_document(document: &impl Serialize) -> anyhow::Result<Ending> {
    print_answer(&(serde_json::to_string_pretty(document)? + "\n"))
}

/// `doubletap.db` in the user's state folder, or in the local data folder
/// where a system has no state folder.
fn default_store() -> anyhow::Result<PathBuf> {
    let folders = ProjectDirs::from("", "", "doubletap").ok_or_else(|| {
        Refusal::usage(
            "no home folder is known for this user, so the store needs a name: set DOUBLETAP_STORE, or use --store",
        )
    })?;
    let folder = folders.state_dir().unwrap_or_else(|| folders.data_local_dir());
    Ok(folder.join("doubletap.db"))
}

/// 128 random bits, for a token or an operation.
pub(super) fn random() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the kernel gives no random bytes")?;
    Ok(bytes)
}
