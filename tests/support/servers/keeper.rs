//! Sees to it that a server ends with the test process, however that ends.
//!
//! A keeper is a small shell that starts the server when told to and then waits for
//! the end of its standard input, whose other end only the test process has. So it
//! also notices when that is killed, and values in a `static`, which are never
//! dropped, are seen to as well. Then it ends the server by its process id and removes
//! the folder. It has a session of its own: `^C` is not meant for it.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, chown, geteuid};
use tempfile::TempDir;

use super::tool::command;
use crate::support::poll::until;
use crate::support::processes::{children, is_alive};

const SCRIPT: &str = r#"
folder=$1 farewell=$2
shift 2
cd "$folder"
server=
while read -r order; do
    [ -z "$server" ] || wait "$server"
    "$@" </dev/null >>"$folder/log" 2>&1 &
    server=$!
    echo "$server"
done
[ -z "$server" ] || eval "$farewell"
cd /
rm -rf "$folder"
"#;

/// The farewell to a server that needs none, and to the processes that it has started.
pub(super) const KILL: &str = r#"
kill -KILL "$server" $(cat "/proc/$server/task/$server/children")
wait "$server"
"#;

/// A folder for a server and for whoever runs it. Servers refuse to be root.
pub(super) struct Home {
    folder: TempDir,
    account: Option<User>,
}

impl Home {
    /// An empty folder that belongs to the first of these accounts that exists, or to
    /// us, unless we are root.
    pub(super) fn of(accounts: &[&str]) -> Self {
        let folder = TempDir::with_prefix("doubletap-server-").expect("a folder can be made");
        let account = geteuid().is_root().then(|| {
            let known = accounts.iter().find_map(|name| User::from_name(name).ok().flatten());
            known.unwrap_or_else(|| panic!("none of the accounts {accounts:?} exists"))
        });
        let home = Self { folder, account };
        home.hand_over(home.path());
        home
    }

    /// An empty folder for a server that runs as we do.
    pub(super) fn ours() -> Self {
        let folder = TempDir::with_prefix("doubletap-server-").expect("a folder can be made");
        Self { folder, account: None }
    }

    /// The name of whoever we are.
    pub(super) fn user() -> String {
        let user = User::from_uid(geteuid()).ok().flatten();
        user.map_or_else(|| "nobody".to_owned(), |user| user.name)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that belongs to the account.
    pub(super) fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::write(&path, content).expect("a file can be written");
        self.hand_over(&path);
    }

    /// Gives a file to the account.
    pub(super) fn hand_over(&self, path: &Path) {
        if let Some(account) = &self.account {
            chown(path, Some(account.uid), Some(account.gid)).expect("root gives files away");
        }
    }

    /// The words that run a command as the account.
    pub(super) fn through(&self) -> Vec<OsString> {
        let Some(account) = &self.account else { return Vec::new() };
        let (user, group) = (account.uid.to_string(), account.gid.to_string());
        let words = ["setpriv", "--reuid", &user, "--regid", &group, "--clear-groups"];
        words.iter().map(OsString::from).collect()
    }
}

/// A server's processes. Dropping it ends them.
pub(super) struct Keeper {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    server: Option<i32>,
}

impl Keeper {
    /// A keeper of a folder, and of the server that these words start. The `farewell`
    /// is what the shell then does to end the process `$server`.
    pub(super) fn new(home: Home, farewell: &str, server: &[OsString]) -> Self {
        let folder = home.path().to_owned();
        let mut words: Vec<OsString> =
            ["setsid", "sh", "-c", SCRIPT, "sh"].iter().map(OsString::from).collect();
        words.extend([folder.clone().into(), farewell.into()]);
        words.extend(server.iter().cloned());
        let mut shell = command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        let _ = home.folder.keep();
        let orders = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("it is a pipe"));
        Self { shell, orders, answers, folder, server: None }
    }

    /// The server's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the server, which must not run, and waits until it is `ready`.
    #[track_caller]
    pub(super) fn start(&mut self, ready: impl Fn(i32) -> bool) {
        assert!(self.server.is_none(), "the server runs already");
        let orders = self.orders.as_mut().expect("the keeper has not been dismissed");
        orders.write_all(b"start\n").expect("the keeper listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the keeper answers");
        let server = answer.trim().parse().expect("the keeper answers with a process id");
        self.server = Some(server);
        until("the server is ready", || {
            assert!(is_alive(server), "the server did not start:\n{}", self.log());
            ready(server)
        });
    }

    /// What the server has logged.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The server's first process.
    #[track_caller]
    pub(super) fn server(&self) -> i32 {
        self.server.expect("the server runs")
    }

    /// Asks the server to end, and waits until all its processes have.
    #[track_caller]
    pub(super) fn end(&mut self, by: Signal) {
        let all = self.all();
        send(&all[..1], by);
        self.server = None;
        until("the server has ended", || !all.iter().any(|pid| is_alive(*pid)));
    }

    /// Kills all processes of the server at one stroke.
    #[track_caller]
    pub(super) fn kill(&mut self) {
        self.pause();
        let all = self.all();
        send(&all, Signal::SIGKILL);
        self.server = None;
        until("the server is dead", || !all.iter().any(|pid| is_alive(*pid)));
    }

    /// Stops all processes of the server where they are. The first one is stopped
    /// first: it starts no others then.
    #[track_caller]
    pub(super) fn pause(&self) {
        send(&[self.server()], Signal::SIGSTOP);
        send(&self.all(), Signal::SIGSTOP);
    }

    /// Lets all processes of the server go on.
    #[track_caller]
    pub(super) fn resume(&self) {
        send(&self.all(), Signal::SIGCONT);
    }

    fn all(&self) -> Vec<i32> {
        let server = self.server();
        [vec![server], children(server)].concat()
    }
}

/// Signals processes; one that has just ended is fine too.
fn send(pids: &[i32], signal: Signal) {
    for pid in pids {
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}
