//! One connection to a server, made anew when it has to be, and every exchange on it within
//! a time limit.
//!
//! A call whose time ran out leaves a connection behind on which an answer is still to come:
//! it is dropped. What only reads is asked again at once, once, when the connection turns
//! out to be broken, and as often as we were stopped meanwhile and go on; what writes is not,
//! because it may have been done.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use redis::io::tcp::TcpSettings;
use redis::{
    Client, Cmd, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo as _, RedisResult,
    TlsCertificates,
};

use super::address::{Address, Trust, Way};
use super::failure::Failure;
use super::plain::connect_by_tls;
use super::wire::Wire;
use crate::place::Url;
use crate::store::{Heed, StoreError, Trouble};

/// The longest pause before something is tried again.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// When a call ends at the latest, whatever comes of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    end: Option<Instant>,
    limit: Duration,
}

impl Deadline {
    /// So long from now on.
    pub(super) fn after(limit: Duration) -> Self {
        // What a clock cannot hold never comes.
        Self { end: Instant::now().checked_add(limit), limit }
    }

    /// How long there is still; nothing if that is less than a socket can wait.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = match self.end {
            Some(end) => end.saturating_duration_since(Instant::now()),
            None => self.limit,
        };
        (left >= Duration::from_millis(1)).then_some(left)
    }
}

/// Waits a little longer each time, and no two wait alike.
#[derive(Default)]
pub(super) struct Pauses {
    taken: u32,
}

impl Pauses {
    /// Waits; says whether there was time for that.
    pub(super) fn take(&mut self, deadline: Deadline) -> bool {
        let Some(left) = deadline.left() else { return false };
        let longest = LONGEST_PAUSE.min(Duration::from_millis(2) * 2_u32.pow(self.taken.min(6)));
        self.taken += 1;
        let mut random = [0; 2];
        // Without random bytes all wait alike, which is slower and not wrong.
        let _ = getrandom::fill(&mut random);
        let pause = longest * u32::from(u16::from_le_bytes(random)) / u32::from(u16::MAX);
        thread::sleep(pause.min(left));
        deadline.left().is_some()
    }
}

/// What came of a write.
#[derive(Debug)]
pub(super) enum Sent<T> {
    /// It was done, and this is the answer.
    Answered(T),
    /// Surely it was not done. The connection is gone, and what was read on it is stale.
    Undone,
}

/// One connection, or the way to it.
pub(super) struct Line {
    url: Url,
    address: Address,
    authority: Option<Vec<u8>>,
    connection: Option<Connection>,
    heed: Heed,
    /// How many connections there have been.
    made: u64,
}

impl Line {
    /// A line that is not connected yet.
    ///
    /// # Errors
    /// When a file cannot be read that the address names.
    pub(super) fn new(url: &Url, address: Address) -> Result<Self, StoreError> {
        let authority = match &address.way {
            Way::Tls(_, _, Trust::Authority(file)) => Some(std::fs::read(file).map_err(|why| {
                let file = file.display();
                let what = format!("the certificate {file} cannot be read: {why}");
                StoreError::new(Trouble::Refused, what)
            })?),
            _ => None,
        };
        let (url, heed) = (url.clone(), Heed::default());
        Ok(Self { url, address, authority, connection: None, heed, made: 0 })
    }

    /// Another line to the same place, which heeds nobody.
    pub(super) fn another(&self) -> Self {
        Self {
            url: self.url.clone(),
            address: self.address.clone(),
            authority: self.authority.clone(),
            connection: None,
            heed: Heed::default(),
            made: 0,
        }
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Which connection this is: another number, another connection.
    pub(super) fn number(&self) -> u64 {
        self.made
    }

    /// Has nothing be waited for any more once we are told to end.
    pub(super) fn heed(&mut self, told: Heed) {
        self.heed = told;
    }

    /// What it heeds.
    pub(super) fn heeds(&self) -> &Heed {
        &self.heed
    }

    /// Lets go of the connection, if there is one.
    pub(super) fn drop_connection(&mut self) {
        self.connection = None;
    }

    /// Asks for something that does no harm when it is asked for twice.
    ///
    /// # Errors
    /// When there is no answer in time, or the answer is an error.
    pub(super) fn ask<T: FromRedisValue>(
        &mut self,
        cmd: &Cmd,
        deadline: Deadline,
    ) -> Result<T, StoreError> {
        self.ask_by(deadline, |connection| cmd.query(connection))
    }

    /// The same, of more than one command.
    ///
    /// # Errors
    /// As [`Line::ask`].
    pub(super) fn ask_by<T>(
        &mut self,
        mut deadline: Deadline,
        exchange: impl Fn(&mut Wire) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let (mut pauses, mut replica) = (Pauses::default(), false);
        let mut again = self.connection.is_some();
        loop {
            let failure = match self.exchange(deadline, &exchange) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match &failure {
                Failure::Broken(_) if again => again = false,
                Failure::Interrupted(_) => {
                    // Only who was stopped for longer has not waited in vain by now.
                    if deadline.left().is_none() {
                        deadline = Deadline::after(deadline.limit);
                    }
                }
                Failure::Told(told) if told.passes() && pauses.take(deadline) => {}
                Failure::Told(told) if told.is_replica() && !replica => {
                    replica = true;
                    self.connection = None;
                }
                _ => return Err(self.sentence(&failure, deadline)),
            }
        }
    }

    /// Asks for a write on the connection of this number, once.
    ///
    /// # Errors
    /// When the answer is an error, or is lost: then it may have been done.
    pub(super) fn write<T>(
        &mut self,
        number: u64,
        deadline: Deadline,
        exchange: impl Fn(&mut Wire) -> RedisResult<T>,
    ) -> Result<Sent<T>, StoreError> {
        if self.connection.is_none() || self.made != number {
            return Ok(Sent::Undone);
        }
        match self.exchange(deadline, &exchange) {
            Ok(answer) => Ok(Sent::Answered(answer)),
            Err(Failure::Told(told)) if told.passes() => Ok(Sent::Undone),
            Err(failure) => Err(self.sentence(&failure, deadline)),
        }
    }

    /// What came of something that failed, as a sentence.
    pub(super) fn sentence(&self, failure: &Failure, deadline: Deadline) -> StoreError {
        failure.sentence(&self.url, deadline.limit)
    }

    /// One exchange, on the connection that there is or on a new one.
    pub(super) fn exchange<T>(
        &mut self,
        deadline: Deadline,
        exchange: impl Fn(&mut Wire) -> RedisResult<T>,
    ) -> Result<T, Failure> {
        if self.heed.is_told() {
            return Err(given_up());
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect_unless_told(deadline)?,
        };
        limit(&connection, deadline)?;
        let mut wire = Wire::new(connection, self.heed.clone());
        let answer = exchange(&mut wire).map_err(|why| Failure::of(&why));
        if let Ok(_) | Err(Failure::Told(_)) = answer {
            self.connection = wire.into_connection();
        }
        answer
    }

    fn connect_unless_told(&mut self, deadline: Deadline) -> Result<Connection, Failure> {
        self.made += 1;
        let other = self.another();
        let connected = self.heed.unless_told(move || other.connect(deadline));
        connected.unwrap_or_else(|| Err(given_up()))
    }

    /// Makes a connection of its own for somebody.
    ///
    /// # Errors
    /// When there is none to be had.
    pub(super) fn connect(&self, deadline: Deadline) -> Result<Connection, Failure> {
        match &self.address.way {
            Way::Tls(host, port, _) => connect_by_tls(self, (host, *port), deadline),
            Way::Plain(..) | Way::Socket(_) => self.open_and_greet(deadline),
        }
    }

    /// The same, however long that takes in vain.
    ///
    /// # Errors
    /// As [`Line::connect`].
    pub(super) fn open_and_greet(&self, deadline: Deadline) -> Result<Connection, Failure> {
        let mut connection = self.reach(deadline)?;
        limit(&connection, deadline)?;
        self.greet(&mut connection).map_err(|why| match Failure::of(&why) {
            // Over TLS that is the first exchange: who answers is known only now.
            Failure::Broken(why) | Failure::Strange(why) => Failure::Unreached(why),
            failure => failure,
        })?;
        Ok(connection)
    }

    /// Says who we are and what we want to work on.
    fn greet(&self, connection: &mut Connection) -> RedisResult<()> {
        if let Some(login) = &self.address.login {
            let mut auth = redis::cmd("AUTH");
            login.user.iter().for_each(|user| {
                auth.arg(user);
            });
            auth.arg(&login.password).exec(connection)?;
        }
        if self.address.database != 0 {
            redis::cmd("SELECT").arg(self.address.database).exec(connection)?;
        }
        if matches!(self.address.way, Way::Tls(..)) && self.address.login.is_none() {
            redis::cmd("PING").exec(connection)?;
        }
        Ok(())
    }

    fn reach(&self, deadline: Deadline) -> Result<Connection, Failure> {
        match &self.address.way {
            Way::Socket(path) => self.open(ConnectionAddr::Unix(path.clone()), deadline, 1),
            Way::Plain(host, port) => {
                let found = resolve(host, *port, deadline)?;
                let mut failure = Failure::Late;
                for (place, at) in found.iter().enumerate() {
                    let plain = ConnectionAddr::Tcp(at.ip().to_string(), at.port());
                    match self.open(plain, deadline, found.len() - place) {
                        Ok(connection) => return Ok(connection),
                        Err(why) => failure = why,
                    }
                }
                Err(failure)
            }
            Way::Tls(host, port, trust) => {
                let others = resolve(host, *port, deadline)?.len();
                let insecure = *trust == Trust::Anyone;
                let tls = ConnectionAddr::TcpTls {
                    host: host.clone(),
                    port: *port,
                    insecure,
                    tls_params: None,
                };
                self.open(tls, deadline, others)
            }
        }
    }

    /// Opens a connection to one of so many places that it may be found at.
    fn open(
        &self,
        to: ConnectionAddr,
        deadline: Deadline,
        places: usize,
    ) -> Result<Connection, Failure> {
        let left = deadline.left().ok_or(Failure::Late)?;
        let share = left / u32::try_from(places.max(1)).unwrap_or(u32::MAX);
        let open = || {
            let info = to.into_connection_info()?;
            // Who logs in is said in an exchange of our own, so that no error can tell.
            let quiet = info.redis_settings().clone().set_skip_set_lib_name();
            let tcp = TcpSettings::default().set_nodelay(true);
            let info = info.set_redis_settings(quiet).set_tcp_settings(tcp);
            let client = match &self.authority {
                Some(pem) => {
                    let root_cert = Some(pem.clone());
                    Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })?
                }
                None => Client::open(info)?,
            };
            client.get_connection_with_timeout(share)
        };
        open().map_err(|why| match Failure::of(&why) {
            Failure::Broken(why) | Failure::Strange(why) => Failure::Unreached(why),
            failure => failure,
        })
    }
}

/// What becomes of whatever is asked for when we are told to end.
fn given_up() -> Failure {
    Failure::Broken("given up".to_owned())
}

/// No exchange on it takes longer than there is time for.
fn limit(connection: &Connection, deadline: Deadline) -> Result<(), Failure> {
    let left = deadline.left().ok_or(Failure::Late)?;
    let set = connection
        .set_read_timeout(Some(left))
        .and_then(|()| connection.set_write_timeout(Some(left)));
    set.map_err(|why| Failure::of(&why))
}

/// Where a host is. The system's resolver knows no time limit, so it is asked on a thread
/// that is left alone when it takes too long.
pub(super) fn resolve(
    host: &str,
    port: u16,
    deadline: Deadline,
) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let left = deadline.left().ok_or(Failure::Late)?;
    let (answer, answered) = mpsc::channel();
    let name = host.to_owned();
    let asked = thread::Builder::new().spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // Nobody may be listening any more.
        let _ = answer.send(found);
    });
    asked.map_err(|why| Failure::Unreached(why.to_string()))?;
    match answered.recv_timeout(left) {
        Ok(Ok::<Vec<SocketAddr>, _>(found)) if !found.is_empty() => Ok(found),
        Ok(Ok(_)) => Err(Failure::Unreached("its name has no address".to_owned())),
        Ok(Err(why)) => Err(Failure::Unreached(crate::text::escape(&why.to_string()))),
        Err(_) => Err(Failure::Late),
    }
}
