//! Hears what others write: a connection of its own, on a thread of its own, that listens
//! on the channel of the schema.
//!
//! Whoever writes to a chain tells the number of its lock, in the same transaction. A
//! connection that breaks is made again, and rings everybody on both occasions: something
//! may have been missed.
//!
//! Through a pooler that lends a connection for one transaction nothing is heard, and the
//! connection that was told to listen goes on to do so for others. So it is not told where
//! two of ours turn out to be one and the same, or one to be two. A pooler that hides this
//! is found out with a notice of our own before anybody relies on what is heard.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresShelf;
use super::address::Address;
use super::connecting::{self, Stream, jittered, rows};
use super::failure::Fault;
use super::locking::LockNumber;
use super::rows::{Reader, text};
use crate::claim::id::to_hex;
use crate::claim::key::Subject;

/// How long our own notice may take to come back.
const ECHO: Duration = Duration::from_secs(1);

/// How long making a connection again may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The shortest and the longest pause before a connection is made again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Asks for the process of the server that serves a connection.
const PROCESS: &str = "SELECT pg_backend_pid()::bigint";

type Ring = Box<dyn Fn() + Send>;

/// Whom to ring, by what is heard.
#[derive(Default)]
struct Bells {
    rings: Mutex<BTreeMap<String, Ring>>,
    hearing: AtomicBool,
}

impl Bells {
    fn rings(&self) -> MutexGuard<'_, BTreeMap<String, Ring>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, payload: &str) {
        if let Some(ring) = self.rings().get(payload) {
            ring();
        }
    }

    fn ring_all(&self) {
        self.rings().values().for_each(|ring| ring());
    }
}

/// How listening has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// What is told from now on is heard.
    Listening,
    /// The connection is a pooler's.
    Lent,
}

/// Whom to tell how it has begun, and which process of the server serves him.
struct Beginning {
    told: mpsc::Sender<Begun>,
    process: i64,
}

/// What listens for one shelf, once somebody waits.
#[derive(Default)]
pub(super) struct Ears {
    bells: Arc<Bells>,
    /// Ends the thread when it goes; sent something, also the listening.
    stop: Option<oneshot::Sender<()>>,
    /// Whether there is no use in listening.
    deaf: bool,
}

impl PostgresShelf {
    pub(super) fn watch_chain(&mut self, subject: &Subject, ring: Ring) -> bool {
        if self.ears.deaf {
            return false;
        }
        let name = self.server.address.schema_name.clone();
        let chain = LockNumber::of_chain(&name, subject).to_hex();
        self.ears.bells.rings().entry(chain).or_insert(ring);
        let is_listening = self.ears.stop.as_ref().is_some_and(|stop| !stop.is_closed());
        if !is_listening && !self.begin_to_listen() {
            self.ears.stop = None;
            return false;
        }
        self.ears.bells.hearing.load(Ordering::SeqCst)
    }

    fn begin_to_listen(&mut self) -> bool {
        let deadline = self.server.deadline();
        let Ok(process) = self.number(PROCESS, &[]) else { return false };
        let (address, tls) = (self.server.address.clone(), self.server.tls());
        let bells = Arc::clone(&self.ears.bells);
        let (stop, stopped) = oneshot::channel();
        let (told, begun) = mpsc::channel();
        let beginning = Beginning { told, process };
        self.ears.stop = Some(stop);
        let listen = move || {
            if let Ok(runtime) = connecting::runtime() {
                runtime.block_on(listen(&address, &tls, &bells, beginning, deadline, stopped));
                // A name that is being looked up is not waited for.
                runtime.shutdown_background();
            }
        };
        let spawned = thread::Builder::new().name("listen".to_owned()).spawn(listen);
        let left = deadline.saturating_duration_since(Instant::now());
        let begun = spawned.ok().and_then(|_| self.server.heed.receive(&begun, left));
        let hears = match begun {
            Some(Begun::Listening) => self.hears_an_echo(deadline).unwrap_or(false),
            Some(Begun::Lent) => {
                self.ears.deaf = true;
                false
            }
            None => false,
        };
        if self.ears.deaf {
            // The thread may have gone already.
            let _ = self.ears.stop.take().map(|stop| stop.send(()));
        }
        hears
    }

    /// Whether what the other connection tells is heard.
    fn hears_an_echo(&mut self, deadline: Instant) -> Result<bool, Fault> {
        let mut random = [0; 8];
        let _ = getrandom::fill(&mut random);
        let payload = format!("echo {}", to_hex(&random));
        let (heard, echo) = mpsc::channel();
        let ring = Box::new(move || {
            let _ = heard.send(());
        });
        self.ears.bells.rings().insert(payload.clone(), ring);
        let told = [text(&*self.server.address.schema_name), text(&*payload)];
        let sent = self.server.rows(deadline, "SELECT pg_notify($1, $2)", &told);
        let came = sent.map(|_| self.server.heed.receive(&echo, ECHO).is_some());
        self.ears.bells.rings().remove(&payload);
        let came = came?;
        self.ears.deaf = !came;
        Ok(came)
    }
}

async fn listen(
    address: &Address,
    tls: &MakeRustlsConnect,
    bells: &Arc<Bells>,
    beginning: Beginning,
    mut deadline: Instant,
    stopped: oneshot::Receiver<()>,
) {
    let mut stopped = pin!(stopped);
    let mut beginning = Some(beginning);
    let mut pause = PAUSES.0;
    loop {
        let process = beginning.as_ref().map(|beginning| beginning.process);
        match tune_in(address, tls, bells, (process, deadline)).await {
            Ok(None) => {
                if let Some(one) = beginning {
                    let _ = one.told.send(Begun::Lent);
                }
                return;
            }
            Ok(Some((client, mut driver))) => {
                bells.hearing.store(true, Ordering::SeqCst);
                match beginning.take() {
                    // Nobody waits for an answer any more.
                    Some(one) if one.told.send(Begun::Listening).is_err() => return,
                    Some(_) => {}
                    None => bells.ring_all(),
                }
                pause = PAUSES.0;
                let stop = std::future::poll_fn(|context| {
                    if let Poll::Ready(sent_for) = stopped.as_mut().poll(context) {
                        return Poll::Ready(Some(sent_for.is_ok()));
                    }
                    pin!(&mut driver).poll(context).map(|_| None)
                });
                let stop = stop.await;
                if stop == Some(true) {
                    // It may be lent to the same one again.
                    let unlisten = format!("UNLISTEN {}", address.schema);
                    let until = Instant::now() + ECHO;
                    let _ = connecting::in_time(until, client.batch_execute(&unlisten)).await;
                }
                driver.abort();
                bells.hearing.store(false, Ordering::SeqCst);
                if stop.is_some() {
                    return;
                }
                bells.ring_all();
            }
            // Whoever asked first will ask again.
            Err(_) if beginning.is_some() => return,
            Err(_) => {}
        }
        let rest = tokio::time::timeout(jittered(pause), stopped.as_mut());
        if rest.await.is_ok() {
            return;
        }
        pause = (pause * 2).min(PAUSES.1);
        deadline = Instant::now() + CONNECT;
    }
}

/// Connects, and has the server tell of what is written from now on; nothing comes of it
/// where a pooler lends the process that serves another connection of ours, or one after
/// the other.
async fn tune_in(
    address: &Address,
    tls: &MakeRustlsConnect,
    bells: &Arc<Bells>,
    (other, deadline): (Option<i64>, Instant),
) -> Result<Option<(Client, JoinHandle<()>)>, Fault> {
    let (client, connection) = connecting::connect(address, tls, deadline).await?;
    let driver = tokio::spawn(hear(connection, Arc::clone(bells)));
    if let Some(other) = other {
        let first = serving(&client, deadline).await?;
        if first == other || first != serving(&client, deadline).await? {
            return Ok(None);
        }
    }
    let listen = format!("LISTEN {}", address.schema);
    connecting::in_time(deadline, client.batch_execute(&listen)).await?;
    Ok(Some((client, driver)))
}

/// The process of the server that serves a connection.
async fn serving(client: &Client, deadline: Instant) -> Result<i64, Fault> {
    let rows = connecting::in_time(deadline, rows(client, PROCESS, &[])).await?;
    let row = rows.first().ok_or_else(|| Fault::Unreadable("answer".to_owned()))?;
    Ok(Reader::at(row, 0).next()?)
}

/// Drives the connection, until it ends.
async fn hear(mut connection: Connection<Socket, Stream>, bells: Arc<Bells>) {
    loop {
        match std::future::poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(notice))) => bells.ring(notice.payload()),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return,
        }
    }
}
