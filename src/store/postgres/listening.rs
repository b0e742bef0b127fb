//! Hears what others write: a connection of its own, on a thread of its own, that listens
//! on the channel of the schema.
//!
//! Whoever writes to a chain tells the number of its lock, in the same transaction. A
//! connection that breaks is made again, and rings everybody on both occasions: something
//! may have been missed. Through a pooler that hands out connections by the transaction
//! nothing is heard; that is found out with a notice of our own before anybody relies on
//! it.

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
use super::connecting::{self, Stream, jittered};
use super::failure::Fault;
use super::locking::LockNumber;
use super::rows::text;
use crate::claim::id::to_hex;
use crate::claim::key::Subject;

/// How long our own notice may take to come back.
const ECHO: Duration = Duration::from_secs(1);

/// How long making a connection again may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The shortest and the longest pause before a connection is made again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

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

/// What listens for one shelf, once somebody waits.
#[derive(Default)]
pub(super) struct Ears {
    bells: Arc<Bells>,
    /// Ends the thread when it goes.
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
        let (address, tls) = (self.server.address.clone(), self.server.tls());
        let bells = Arc::clone(&self.ears.bells);
        let (stop, stopped) = oneshot::channel();
        let (begun, has_begun) = mpsc::channel();
        self.ears.stop = Some(stop);
        let listen = move || {
            if let Ok(runtime) = connecting::runtime() {
                runtime.block_on(listen(&address, &tls, &bells, begun, deadline, stopped));
                // A name that is being looked up is not waited for.
                runtime.shutdown_background();
            }
        };
        let spawned = thread::Builder::new().name("listen".to_owned()).spawn(listen);
        let left = deadline.saturating_duration_since(Instant::now());
        if spawned.is_err() || has_begun.recv_timeout(left).is_err() {
            return false;
        }
        self.hears_an_echo(deadline).unwrap_or(false)
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
        let came = sent.map(|_| echo.recv_timeout(ECHO).is_ok());
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
    begun: mpsc::Sender<()>,
    mut deadline: Instant,
    stopped: oneshot::Receiver<()>,
) {
    let mut stopped = pin!(stopped);
    let mut begun = Some(begun);
    let mut pause = PAUSES.0;
    loop {
        match tune_in(address, tls, bells, deadline).await {
            Ok((_client, mut driver)) => {
                bells.hearing.store(true, Ordering::SeqCst);
                match begun.take() {
                    // Nobody waits for an answer any more.
                    Some(begun) if begun.send(()).is_err() => return,
                    Some(_) => {}
                    None => bells.ring_all(),
                }
                pause = PAUSES.0;
                let stop = std::future::poll_fn(|context| {
                    if stopped.as_mut().poll(context).is_ready() {
                        return Poll::Ready(true);
                    }
                    pin!(&mut driver).poll(context).map(|_| false)
                });
                let stop = stop.await;
                driver.abort();
                bells.hearing.store(false, Ordering::SeqCst);
                if stop {
                    return;
                }
                bells.ring_all();
            }
            // Whoever asked first will ask again.
            Err(_) if begun.is_some() => return,
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

/// Connects, and has the server tell of what is written from now on.
async fn tune_in(
    address: &Address,
    tls: &MakeRustlsConnect,
    bells: &Arc<Bells>,
    deadline: Instant,
) -> Result<(Client, JoinHandle<()>), Fault> {
    let (client, connection) = connecting::connect(address, tls, deadline).await?;
    let driver = tokio::spawn(hear(connection, Arc::clone(bells)));
    let listen = format!("LISTEN {}", address.schema);
    connecting::in_time(deadline, client.batch_execute(&listen)).await?;
    Ok((client, driver))
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
