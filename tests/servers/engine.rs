//! What the sentences ask of a server, whatever it is.

use crate::support::Scene;
use crate::support::servers::{Persistence, Postgres, Redis};

/// A server that a store can be on.
pub(crate) trait Engine: Sized + 'static {
    /// A server of a sentence's own.
    fn start() -> Self;
    /// The server of the sentences that do nothing to it.
    fn shared() -> &'static Self;
    /// Where nothing is yet.
    fn fresh(&self) -> String;
    /// Its password, where the address has one.
    fn password() -> Option<&'static str>;
    fn pause(&mut self);
    fn resume(&mut self);
    fn kill(&mut self);
    fn restart(&mut self);

    /// A scene whose store is here, and set up.
    #[track_caller]
    fn scene(&self) -> Scene {
        let scene = Scene::on(self.fresh());
        scene.call("setup").run();
        scene
    }
}

impl Engine for Postgres {
    fn start() -> Self {
        Postgres::start()
    }

    fn shared() -> &'static Self {
        Postgres::shared()
    }

    fn fresh(&self) -> String {
        Postgres::fresh(self)
    }

    fn password() -> Option<&'static str> {
        Some(Self::PASSWORD)
    }

    fn pause(&mut self) {
        Postgres::pause(self);
    }

    fn resume(&mut self) {
        Postgres::resume(self);
    }

    fn kill(&mut self) {
        Postgres::kill(self);
    }

    fn restart(&mut self) {
        Postgres::restart(self);
    }
}

impl Engine for Redis {
    fn start() -> Self {
        Redis::start(Persistence::EveryWrite)
    }

    fn shared() -> &'static Self {
        Redis::shared()
    }

    fn fresh(&self) -> String {
        let (user, password) = (Self::USER, Self::PASSWORD);
        Redis::fresh(self).replace("redis://", &format!("redis://{user}:{password}@"))
    }

    fn password() -> Option<&'static str> {
        Some(Self::PASSWORD)
    }

    fn pause(&mut self) {
        Redis::pause(self);
    }

    fn resume(&mut self) {
        Redis::resume(self);
    }

    fn kill(&mut self) {
        Redis::kill(self);
    }

    fn restart(&mut self) {
        Redis::restart(self);
    }
}

/// Makes one test for each server of each sentence.
macro_rules! every_server {
    ($($sentence:ident),* $(,)?) => {
        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[test]
                #[ignore = "needs postgresql and openssl: cargo test --features full -- --ignored servers::"]
                fn $sentence() {
                    super::$sentence::<crate::support::servers::Postgres>();
                }
            )*
        }
        #[cfg(feature = "redis")]
        mod redis {
            $(
                #[test]
                #[ignore = "needs redis-server and openssl: cargo test --features full -- --ignored servers::"]
                fn $sentence() {
                    super::$sentence::<crate::support::servers::Redis>();
                }
            )*
        }
    };
}
