//! A store of one row's own, and our calls on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run;

/// A folder with a store in it, both of which go when the row is done: a gigabyte that is left
/// behind would be in the way of the next one.
pub(crate) struct Store {
    folder: PathBuf,
    path: PathBuf,
    doubletap: PathBuf,
}

impl Store {
    /// Makes the folder; the first call on it makes the store.
    pub(crate) fn create(folder: &str) -> Result<Self> {
        fs::create_dir(folder).with_context(|| format!("cannot create {folder}"))?;
        let folder = std::env::current_dir()?.join(folder);
        Ok(Self {
            path: folder.join("doubletap.db"),
            folder,
            doubletap: run::install(Path::new(env!("CARGO_BIN_EXE_doubletap")))?,
        })
    }

    /// Returns `doubletap once KEY [OPTION…] -- COMMAND…` on this store.
    pub(crate) fn once(&self, key: &str, options: &[&str], wrapped: &[&str]) -> Command {
        let mut command = self.doubletap();
        command.args(["once", key]).args(options).arg("--").args(wrapped);
        command
    }

    /// Returns `doubletap lease NAME [OPTION…] -- COMMAND…` on this store.
    pub(crate) fn lease(&self, name: &str, options: &[&str], wrapped: &[&str]) -> Command {
        let mut command = self.doubletap();
        command.args(["lease", name]).args(options).arg("--").args(wrapped);
        command
    }

    /// Returns `doubletap prune --older-than AGE` on this store.
    pub(crate) fn prune_older_than(&self, age: &str) -> Command {
        let mut command = self.doubletap();
        command.args(["prune", "--older-than", age]);
        command
    }

    /// Returns the path of its file.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Makes it a copy of another whose log is empty.
    pub(crate) fn replace_by(&self, other: &Self) -> Result<()> {
        for suffix in ["", "-wal", "-shm", ".live"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            // What is not there need not go.
            let _ = fs::remove_file(path);
        }
        fs::copy(&other.path, &self.path).context("cannot copy the store")?;
        // Neither side is to wait for what this has written.
        nix::unistd::sync();
        Ok(())
    }

    /// Returns the path of the file whose bytes the holders of this store lock.
    pub(crate) fn live(&self) -> PathBuf {
        self.folder.join("doubletap.db.live")
    }

    /// Fails unless the only large output beside the store has at least this size.
    pub(crate) fn expect_spool(&self, least: u64) -> Result<()> {
        let sizes = self.spools()?;
        ensure!(
            matches!(*sizes, [size] if size >= least),
            "the outputs beside the store have {sizes:?} bytes instead of one of {least} or more"
        );
        Ok(())
    }

    /// Removes every record, and with them the large outputs beside the store.
    pub(crate) fn empty(&self) -> Result<()> {
        let mut prune = self.doubletap();
        prune.args(["prune", "--older-than", "0s", "--force"]);
        run::one(prune)?;
        let sizes = self.spools()?;
        ensure!(sizes.is_empty(), "prune left outputs of {sizes:?} bytes");
        Ok(())
    }

    fn doubletap(&self) -> Command {
        let mut command = run::command(&self.doubletap);
        command.env("DOUBLETAP_STORE", &self.path);
        command
    }

    /// Returns the sizes of the large outputs, each of which is a file of its own.
    fn spools(&self) -> Result<Vec<u64>> {
        let mut sizes = Vec::new();
        for found in fs::read_dir(&self.folder)? {
            let found = found?;
            if found.path().extension().is_some_and(|extension| extension == "out") {
                sizes.push(found.metadata()?.len());
            }
        }
        Ok(sizes)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // What cannot be removed now goes with the folder of the bench.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
