//! Our side of the rows about stores on servers, whichever server it is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use anyhow::Result;

use crate::row::Measure;
use crate::run;

/// A store on a server that runs as long as somebody has this.
pub(crate) struct Remote<S> {
    doubletap: PathBuf,
    url: String,
    _server: Rc<S>,
}

impl<S> Remote<S> {
    /// Sets a store up.
    pub(crate) fn create(server: Rc<S>, url: &str) -> Result<Self> {
        let doubletap = run::install(Path::new(env!("CARGO_BIN_EXE_doubletap")))?;
        let remote = Self { doubletap, url: url.to_owned(), _server: server };
        run::one(remote.call(&["setup"]))?;
        Ok(remote)
    }

    fn call(&self, words: &[&str]) -> Command {
        let mut command = run::command(&self.doubletap);
        command.args(words).env("DOUBLETAP_STORE", &self.url);
        command
    }
}

impl<S: 'static> Remote<S> {
    /// Replays one record; its command counts its runs, so that a rerun cannot pass for a replay.
    pub(crate) fn replay(self, counter: &'static str) -> Result<Measure> {
        let script = format!("echo ran >> {counter}; echo hi");
        let call = move || self.call(&["once", "replay", "--", "sh", "-c", &script]);
        run::one(call())?;
        Ok(Box::new(move || {
            let time = run::one(call())?;
            run::expect_one_run(counter)?;
            Ok(time)
        }))
    }

    /// Runs `true` under a new key each round.
    pub(crate) fn fresh(self) -> Measure {
        let mut round = 0;
        Box::new(move || {
            round += 1;
            run::one(self.call(&["once", &format!("fresh-{round}"), "--", "true"]))
        })
    }

    /// Runs `true` under the same name each round.
    pub(crate) fn lease(self) -> Measure {
        Box::new(move || run::one(self.call(&["lease", "name", "--", "true"])))
    }
}
