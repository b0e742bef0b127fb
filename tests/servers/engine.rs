//! What the sentences ask of a server, whatever it is.

use crate::support::Scene;
use crate::support::servers::{Host, Network, Persistence, Postgres, Redis};

/// Words that start a program on what looks like another host, which has another boot id.
pub(crate) const ELSEWHERE: &str = r#"unshare -m sh -c 'echo another >boot_id
    mount --bind boot_id /proc/sys/kernel/random/boot_id && exec "$@"' sh "#;

/// What no doubletap writes into the columns of an attempt.
const SPOILT_COLUMNS: [&str; 5] = [
    "state = 'unknown'",
    "token = '\\x00'",
    "lease_ms = -1",
    "fingerprint = '{'",
    "group_reach = 'group', group_id = NULL",
];

/// What no doubletap writes as the row of an attempt.
const SPOILT_ROWS: [fn(&str) -> String; 6] = [
    |row| row.replace(r#""state":""#, r#""state":"un"#),
    |row| row.replace(r#""fence":"#, r#""fence":"x","old_fence":"#),
    |row| row[..row.len() - 1].to_owned(),
    |row| format!("1{row}"),
    |_| String::new(),
    |_| "something else".to_owned(),
];

/// A server that a store can be on.
pub(crate) trait Engine: Sized + 'static {
    /// A server of a sentence's own.
    fn start() -> Self;
    /// A server that the hosts of a network reach, and nobody else.
    fn within(network: &Network) -> Self;
    /// The server of the sentences that do nothing to it.
    fn shared() -> &'static Self;
    /// Where nothing is yet.
    fn fresh(&self) -> String;
    /// The password that the address has in it.
    fn password() -> &'static str;
    fn pause(&mut self);
    fn resume(&mut self);
    fn stop(&mut self);
    fn kill(&mut self);
    fn restart(&mut self);
    /// In how many ways an attempt can be made unreadable.
    const WAYS_TO_SPOIL: usize;
    /// Makes the newest attempt of a kind and a key of the store here unreadable, in one way.
    fn spoil(&self, store: &str, chain: (&str, &str), way: usize);

    /// A scene whose store is here, and set up.
    #[track_caller]
    fn scene(&self) -> Scene {
        let scene = Scene::on(self.fresh());
        scene.call("setup").run();
        scene
    }

    /// The same, where only hosts reach the server.
    #[track_caller]
    fn scene_of(&self, host: &Host<'_>) -> Scene {
        let scene = Scene::on(self.fresh());
        scene.call("setup").through(host.through()).run();
        scene
    }
}

impl Engine for Postgres {
    fn start() -> Self {
        Postgres::start()
    }

    fn within(network: &Network) -> Self {
        network.postgres()
    }

    fn shared() -> &'static Self {
        Postgres::shared()
    }

    fn fresh(&self) -> String {
        Postgres::fresh(self)
    }

    fn password() -> &'static str {
        Self::PASSWORD
    }

    fn pause(&mut self) {
        Postgres::pause(self);
    }

    fn resume(&mut self) {
        Postgres::resume(self);
    }

    fn stop(&mut self) {
        Postgres::stop(self);
    }

    fn kill(&mut self) {
        Postgres::kill(self);
    }

    fn restart(&mut self) {
        Postgres::restart(self);
    }

    const WAYS_TO_SPOIL: usize = SPOILT_COLUMNS.len();

    fn spoil(&self, store: &str, (kind, key): (&str, &str), way: usize) {
        let (_, schema) = store.rsplit_once("schema=").unwrap();
        let spoilt = SPOILT_COLUMNS[way];
        let text = format!(
            "UPDATE {schema}.attempt SET {spoilt} WHERE fence = (SELECT max(fence)
                FROM {schema}.attempt WHERE kind = '{kind}' AND key = '{key}') RETURNING 1"
        );
        assert_eq!(self.sql("postgres", &text), "1");
    }
}

impl Engine for Redis {
    fn start() -> Self {
        Redis::start(Persistence::EveryWrite)
    }

    fn within(network: &Network) -> Self {
        network.redis(Persistence::EveryWrite)
    }

    fn shared() -> &'static Self {
        Redis::shared()
    }

    fn fresh(&self) -> String {
        let (user, password) = (Self::USER, Self::PASSWORD);
        Redis::fresh(self).replace("redis://", &format!("redis://{user}:{password}@"))
    }

    fn password() -> &'static str {
        Self::PASSWORD
    }

    fn pause(&mut self) {
        Redis::pause(self);
    }

    fn resume(&mut self) {
        Redis::resume(self);
    }

    fn stop(&mut self) {
        Redis::stop(self);
    }

    fn kill(&mut self) {
        Redis::kill(self);
    }

    fn restart(&mut self) {
        Redis::restart(self);
    }

    const WAYS_TO_SPOIL: usize = SPOILT_ROWS.len();

    fn spoil(&self, store: &str, (kind, key): (&str, &str), way: usize) {
        let (_, prefix) = store.rsplit_once("prefix=").unwrap();
        let chain = self.cli(&["KEYS", &format!("{{{prefix}}}:chain:{kind}:*\u{1f}{key}")]);
        let newest = self.cli(&["HGET", &chain, "newest"]);
        let row = self.cli(&["HGET", &chain, &newest]);
        let spoilt = SPOILT_ROWS[way](&row);
        assert_ne!(spoilt, row);
        assert_eq!(self.cli(&["HSET", &chain, &newest, &spoilt]), "0");
    }
}

/// Makes one test for each server of each sentence.
macro_rules! every_server {
    ($($sentence:ident),* $(,)?) => {
        on_each_server! {
            "needs postgresql and openssl: cargo test --features full -- --ignored servers::",
            "needs redis-server and openssl: cargo test --features full -- --ignored servers::",
            $($sentence),*
        }
    };
}

/// The same of sentences about hosts.
macro_rules! every_server_of_hosts {
    ($($sentence:ident),* $(,)?) => {
        on_each_server! {
            "needs root, iproute2, libfaketime and postgresql: cargo test --features full -- --ignored servers::",
            "needs root, iproute2, libfaketime and redis-server: cargo test --features full -- --ignored servers::",
            $($sentence),*
        }
    };
}

macro_rules! on_each_server {
    ($postgres:literal, $redis:literal, $($sentence:ident),*) => {
        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[test]
                #[ignore = $postgres]
                fn $sentence() {
                    super::$sentence::<crate::support::servers::Postgres>();
                }
            )*
        }
        #[cfg(feature = "redis")]
        mod redis {
            $(
                #[test]
                #[ignore = $redis]
                fn $sentence() {
                    super::$sentence::<crate::support::servers::Redis>();
                }
            )*
        }
    };
}
