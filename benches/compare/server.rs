//! Servers of the bench's own: started in its folder on a free port of the loopback address, and
//! ended with the row that they are for. Those that run already are never touched.
//!
//! A small shell waits for the end of its input, whose other end only the bench has, and then ends
//! its server. So a server ends with the bench even if that is killed. They sync as they do by
//! default, or as their rows say.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, bail};
use nix::unistd::{User, chown, geteuid};

use crate::run;
use crate::running::until;

const KEEPER: &str = r#"
"$@" </dev/null >"$0/log" 2>&1 &
read -r nothing
kill -TERM "$!"
wait "$!"
"#;

/// An empty folder for a server, and for whoever runs it: servers refuse to be root.
pub(crate) struct Home {
    folder: PathBuf,
    through: Vec<OsString>,
}

impl Home {
    /// Makes the folder. It belongs to us, or to the first of these accounts that exists where we
    /// are root.
    pub(crate) fn create(name: &str, accounts: &[&str]) -> Result<Self> {
        fs::create_dir(name).with_context(|| format!("cannot create {name}"))?;
        let bench = std::env::current_dir()?;
        let folder = bench.join(name);
        let mut through = Vec::new();
        if geteuid().is_root() && !accounts.is_empty() {
            let known = accounts.iter().find_map(|name| User::from_name(name).ok().flatten());
            let account = known.with_context(|| format!("none of {accounts:?} exists"))?;
            chown(&folder, Some(account.uid), Some(account.gid))?;
            // Whoever it is has to get there.
            fs::set_permissions(&bench, fs::Permissions::from_mode(0o711))?;
            let (user, group) = (account.uid.to_string(), account.gid.to_string());
            let words = ["setpriv", "--reuid", &user, "--regid", &group, "--clear-groups"];
            through = words.iter().map(OsString::from).collect();
        }
        Ok(Self { folder, through })
    }

    /// Returns the path of something in it.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a program to its end as the account.
    #[cfg(feature = "postgres")]
    pub(crate) fn run(&self, words: &[OsString]) -> Result<()> {
        let mut all = self.through.clone();
        all.extend_from_slice(words);
        let mut command = run::command(Path::new(&all[0]));
        command.args(&all[1..]).current_dir(&self.folder);
        let said = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let text = String::from_utf8_lossy(&said.stderr);
        anyhow::ensure!(said.status.success(), "{} failed: {text}", words[0].display());
        Ok(())
    }
}

/// A server that runs. Dropping it ends it and removes its folder.
pub(crate) struct Server {
    home: Home,
    keeper: Child,
}

impl Server {
    /// Starts one, and waits until it is ready.
    pub(crate) fn start(
        home: Home,
        words: &[OsString],
        mut ready: impl FnMut() -> Result<bool>,
    ) -> Result<Self> {
        let mut keeper = run::command(Path::new("/bin/sh"));
        keeper.args(["-c", KEEPER]).arg(&home.folder).args(&home.through).args(words);
        let keeper = keeper.stdin(Stdio::piped()).current_dir(&home.folder).spawn()?;
        let server = Self { home, keeper };
        let waited = until("the server is ready", &mut ready);
        if let Err(why) = waited {
            let log = fs::read_to_string(server.home.at("log")).unwrap_or_default();
            bail!("{why:#}; its log says: {log}");
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
        // What cannot be removed now goes with the folder of the bench.
        let _ = fs::remove_dir_all(&self.home.folder);
    }
}

/// Finds a port that nobody listens at.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
