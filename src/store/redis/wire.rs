//! A connection on which nobody who is told to end waits for an answer.
//!
//! The client reads until an answer is there or its time is over, and what it has read in
//! vain it skips when it comes. So as long as we may be told to end a thread reads for us.

use std::io;

use redis::{Connection, ConnectionLike, RedisResult, Value};

use crate::store::heed::Heed;

/// A connection, lent to an exchange.
pub(super) struct Wire {
    /// Nothing once an answer on it is not waited for any more.
    connection: Option<Connection>,
    heed: Heed,
}

impl Wire {
    pub(super) fn new(connection: Connection, heed: Heed) -> Self {
        Self { connection: Some(connection), heed }
    }

    /// The connection, if it can be used again.
    pub(super) fn into_connection(self) -> Option<Connection> {
        self.connection
    }

    fn exchange<T: Send + 'static>(
        &mut self,
        exchange: impl FnOnce(&mut Connection) -> RedisResult<T> + Send + 'static,
    ) -> RedisResult<T> {
        let Some(mut connection) = self.connection.take() else { return Err(given_up()) };
        let exchanged = self.heed.unless_told(move || {
            let answer = exchange(&mut connection);
            (connection, answer)
        });
        let (connection, answer) = exchanged.ok_or_else(given_up)?;
        self.connection = Some(connection);
        answer
    }
}

fn given_up() -> redis::RedisError {
    io::Error::new(io::ErrorKind::ConnectionAborted, "given up").into()
}

impl ConnectionLike for Wire {
    fn req_packed_command(&mut self, cmd: &[u8]) -> RedisResult<Value> {
        let cmd = cmd.to_vec();
        self.exchange(move |connection| connection.req_packed_command(&cmd))
    }

    fn req_packed_commands(
        &mut self,
        cmd: &[u8],
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let cmd = cmd.to_vec();
        self.exchange(move |connection| {
            connection.send_packed_command(&cmd)?;
            // Where one answer does not come in time none of the others is waited for.
            let answers = (0..offset + count).map(|_| connection.recv_response());
            Ok(answers.collect::<RedisResult<Vec<_>>>()?.split_off(offset))
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.as_ref().map_or(0, ConnectionLike::get_db)
    }

    fn check_connection(&mut self) -> bool {
        self.connection.as_mut().is_some_and(ConnectionLike::check_connection)
    }

    fn is_open(&self) -> bool {
        self.connection.as_ref().is_some_and(ConnectionLike::is_open)
    }
}
