//! Makes connections, and has everything that is asked of a server end in time.
//!
//! A runtime of this thread's own drives the connection, and only while something is
//! asked. What ran out of time leaves the connection in the middle of something, so it is
//! closed: the server undoes what was begun.

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Connection, Error, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Mode};
use super::failure::{Fault, sentence};
use super::rows::Value;
use super::tls;
use crate::store::heed::BETWEEN;
use crate::store::{Heed, StoreError, Trouble};

/// A stream of bytes to a server that may be protected.
pub(super) type Stream = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

/// The shortest and the longest pause before a server that starts is asked again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// How long a server may take to hear that we go.
const GOOD_BYE: Duration = Duration::from_millis(50);

/// A connection, and what drives it.
struct Line {
    client: Client,
    driver: JoinHandle<Result<(), Error>>,
}

/// A server, connected to or not.
pub(super) struct Server {
    pub(super) address: Address,
    /// How long a call takes at the most.
    pub(super) limit: Duration,
    /// When nothing is waited for any more.
    pub(super) heed: Heed,
    tls: MakeRustlsConnect,
    line: Option<Line>,
    /// Nothing only while it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if let (Some(Line { client, driver }), Some(runtime)) = (self.line.take(), &self.runtime) {
            // The driver says good-bye to the server when nobody can ask any more.
            drop(client);
            let _ = runtime.block_on(async { tokio::time::timeout(GOOD_BYE, driver).await });
        }
        // A name that is being looked up is not waited for.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// A runtime of the calling thread's.
pub(super) fn runtime() -> Result<Runtime, StoreError> {
    Builder::new_current_thread().enable_all().build().map_err(|why| {
        StoreError::new(Trouble::Other, format!("no connection can be waited for ({why})"))
    })
}

impl Server {
    /// Nothing is connected to yet.
    pub(super) fn at(address: Address, limit: Duration) -> Result<Self, StoreError> {
        let tls = tls::connector(&address.security).map_err(|why| {
            let what = format!("the store {} cannot be reached safely: {why}", address.shown);
            StoreError::new(Trouble::Refused, what)
        })?;
        let (heed, runtime) = (Heed::default(), Some(runtime()?));
        Ok(Self { address, limit, heed, tls, line: None, runtime })
    }

    /// What protects another connection to the same server.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// What went wrong, for people.
    pub(super) fn told(&self, fault: &Fault) -> StoreError {
        sentence(&self.address, self.limit, fault)
    }

    /// When a call that begins now has to be over.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.limit
    }

    /// Whether there is a connection that is not known to be broken.
    pub(super) fn is_connected(&self) -> bool {
        self.line.as_ref().is_some_and(|line| !line.client.is_closed())
    }

    /// Lets the connection go at once; the server undoes what was begun on it.
    pub(super) fn disconnect(&mut self) {
        if let (Some(Line { driver, .. }), Some(runtime)) = (self.line.take(), &self.runtime) {
            driver.abort();
            // It is closed when the driver has gone, and that goes only while it is waited
            // for.
            let _ = runtime.block_on(driver);
        }
    }

    /// Makes a connection, if there is none.
    pub(super) fn connect(&mut self, deadline: Instant) -> Result<(), Fault> {
        if self.is_connected() {
            return Ok(());
        }
        self.disconnect();
        let Some(runtime) = &self.runtime else { return Err(Fault::Late) };
        let connecting = connect(&self.address, &self.tls, deadline);
        let (client, connection) = runtime.block_on(unless_told(&self.heed, connecting))?;
        let driver = runtime.spawn(connection);
        self.line = Some(Line { client, driver });
        Ok(())
    }

    /// Asks something of the server; a connection is made, if there is none.
    fn ask<T>(
        &mut self,
        deadline: Instant,
        question: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, Fault> {
        self.connect(deadline)?;
        self.ask_here(deadline, question)
    }

    /// Asks on the connection that there is, and makes no other.
    pub(super) fn ask_here<T>(
        &mut self,
        deadline: Instant,
        question: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, Fault> {
        let (Some(line), Some(runtime)) = (&self.line, &self.runtime) else {
            return Err(Fault::Broken);
        };
        let answer = in_time(deadline, question(&line.client));
        let answer = runtime.block_on(unless_told(&self.heed, answer));
        if answer.as_ref().is_err_and(Fault::ends_connection) {
            self.disconnect();
        }
        answer
    }

    /// Asks for rows, without a transaction; once more on another connection, if this one
    /// turns out to be broken.
    pub(super) fn rows(
        &mut self,
        deadline: Instant,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, Fault> {
        let was_connected = self.is_connected();
        let mut ask = || self.ask(deadline, async |client| rows(client, statement, values).await);
        match ask() {
            Err(fault) if was_connected && fault.is_broken_connection() => ask(),
            // A database may be set to run everything as if one after the other.
            Err(fault) if fault.may_pass() => ask(),
            other => other,
        }
    }
}

/// Sends one statement; what it comes to is there when the future is.
pub(super) async fn rows(
    client: &Client,
    statement: &str,
    values: &[Value],
) -> Result<Vec<Row>, Error> {
    let values: Vec<_> = values.iter().map(|(value, is)| (&**value, is.clone())).collect();
    client.query_typed(statement, &values).await
}

/// What comes of something, unless we are told to end: then nothing is waited for, or begun.
async fn unless_told<T>(
    heed: &Heed,
    answer: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let mut answer = pin!(answer);
    while !heed.is_told() {
        if let Ok(answer) = tokio::time::timeout(BETWEEN, answer.as_mut()).await {
            return answer;
        }
    }
    Err(Fault::Broken)
}

pub(super) async fn in_time<T>(
    deadline: Instant,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout_at(deadline.into(), answer).await {
        Ok(answer) => answer.map_err(Fault::Told),
        Err(_) => Err(Fault::Late),
    }
}

/// Connects, in the ways that `sslmode` allows, and again while the server says that it
/// cannot be spoken to yet.
pub(super) async fn connect(
    address: &Address,
    tls: &MakeRustlsConnect,
    deadline: Instant,
) -> Result<(Client, Connection<Socket, Stream>), Fault> {
    let mut pause = PAUSES.0;
    loop {
        let fault = match connect_in_any_way(address, tls, deadline).await {
            Ok(connected) => return Ok(connected),
            Err(fault) if !fault.is_not_yet() => return Err(fault),
            Err(fault) => fault,
        };
        let rest = jittered(pause);
        if Instant::now() + rest >= deadline {
            return Err(fault);
        }
        tokio::time::sleep(rest).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

async fn connect_in_any_way(
    address: &Address,
    tls: &MakeRustlsConnect,
    deadline: Instant,
) -> Result<(Client, Connection<Socket, Stream>), Fault> {
    let ways: &[SslMode] = match address.security.mode {
        _ if address.is_local() => &[SslMode::Disable],
        Mode::Disable => &[SslMode::Disable],
        Mode::Allow => &[SslMode::Disable, SslMode::Require],
        Mode::Prefer => &[SslMode::Prefer, SslMode::Disable],
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => &[SslMode::Require],
    };
    let mut first = None;
    for way in ways {
        let config = with_limits(&address.config, *way, deadline);
        match in_time(deadline, config.connect(tls.clone())).await {
            Ok(connected) => return Ok(connected),
            Err(fault) if fault.is_of_the_way() => first = first.or(Some(fault)),
            Err(fault) => return Err(first.unwrap_or(fault)),
        }
    }
    Err(first.unwrap_or(Fault::Late))
}

/// One host of several that does not answer leaves time for the others.
fn with_limits(config: &Config, way: SslMode, deadline: Instant) -> Config {
    let mut config = config.clone();
    config.ssl_mode(way);
    let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(1).max(1);
    if hosts > 1 && config.get_connect_timeout().is_none() {
        config.connect_timeout(deadline.saturating_duration_since(Instant::now()) / hosts);
    }
    config
}

/// Half of it to all of it.
pub(super) fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    let random = getrandom::u32().unwrap_or(0);
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
