//! The scripts that run on the server, each as one step that nothing interrupts.

use std::sync::LazyLock;

use redis::{Cmd, FromRedisValue, RedisResult, ToRedisArgs};

use super::wire::Wire;

/// A script and its digest.
pub(super) struct Script {
    text: &'static str,
    digest: redis::Script,
}

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script {
            text: include_str!($file),
            digest: redis::Script::new(include_str!($file)),
        });
    };
}

script!(READ, "read.lua");
script!(WRITE, "write.lua");
script!(FENCE, "fence.lua");
script!(ENDED, "ended.lua");
script!(WALK, "walk.lua");
script!(SETUP, "setup.lua");

/// A call of a script: by its digest, and with its text where the server does not know that
/// yet, or any more.
pub(super) struct Run {
    by_digest: Cmd,
    by_text: Cmd,
}

impl Run {
    /// A call with these keys and arguments.
    pub(super) fn of(script: &Script, keys: &[String], arguments: &[impl ToRedisArgs]) -> Self {
        let call = |name: &str, what: &str| {
            let mut cmd = redis::cmd(name);
            cmd.arg(what).arg(keys.len()).arg(keys);
            for argument in arguments {
                cmd.arg(argument);
            }
            cmd
        };
        Self {
            by_digest: call("EVALSHA", script.digest.get_hash()),
            by_text: call("EVAL", script.text),
        }
    }

    /// Makes the call.
    ///
    /// # Errors
    /// Those of the connection and of the script.
    pub(super) fn on<T: FromRedisValue>(&self, connection: &mut Wire) -> RedisResult<T> {
        match self.by_digest.query(connection) {
            Err(why) if why.code() == Some("NOSCRIPT") => self.by_text.query(connection),
            answered => answered,
        }
    }
}
