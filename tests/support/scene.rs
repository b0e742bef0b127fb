//! One test's own world: a store, a working folder, a home, and what happened there.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use super::call::Call;
use super::gate::Gate;
use super::poll::until;
use super::processes::{blocked_on, destroy, is_alive, within};
use super::running::Running;
use super::terminal::Terminal;

/// The program under test.
pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_doubletap");

/// What [`Scene::attempt`] runs: it leaves its process id in `pid`, adds the
/// operation's idempotency key as a line to `runs`, then does what the file
/// `behaviour` said at its start. So attempts with one and the same command line
/// can fail, hang and succeed.
const ATTEMPT: &str = r#"
behaviour=$(cat behaviour)
echo $$ >pid
echo "$DOUBLETAP_IDEMPOTENCY_KEY" >>runs
eval "$behaviour"
"#;

/// A temporary folder. Dropping it kills every process that still lives in it.
pub(crate) struct Scene {
    root: TempDir,
    outputs: Cell<u32>,
    /// Where its store is, if that is on a server.
    server: Option<String>,
}

impl Scene {
    /// An empty scene whose store does not exist yet.
    pub(crate) fn new() -> Self {
        let scene = Self {
            root: TempDir::with_prefix("doubletap-").expect("a temporary folder can be made"),
            outputs: Cell::new(0),
            server: None,
        };
        for folder in ["home", "work", "state", "out"] {
            fs::create_dir(scene.root().join(folder)).expect("a folder can be made");
        }
        mkfifo(&scene.path("gate"), Mode::S_IRUSR | Mode::S_IWUSR).expect("a FIFO can be made");
        scene.behave(":");
        scene
    }

    /// The same on a server, where the store is still to be set up.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn on(url: String) -> Self {
        let mut scene = Self::new();
        scene.server = Some(url);
        scene
    }

    /// What calls are told about where the store is.
    pub(crate) fn place(&self) -> OsString {
        self.server.as_ref().map_or_else(|| self.store().into(), OsString::from)
    }

    /// The whole folder, with its links resolved.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the folder is there")
    }

    /// `HOME` of every call.
    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The working folder of every call.
    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// A file in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// The folder of the store.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.root().join("state")
    }

    /// The store.
    pub(crate) fn store(&self) -> PathBuf {
        self.state_folder().join("store.db")
    }

    /// The file whose bytes the living lock.
    pub(crate) fn live(&self) -> PathBuf {
        self.state_folder().join("store.db.live")
    }

    /// Where the next call's stdout and stderr go.
    pub(crate) fn next_outputs(&self) -> (PathBuf, PathBuf) {
        let number = self.outputs.get();
        self.outputs.set(number + 1);
        let folder = self.root().join("out");
        (folder.join(format!("{number}.out")), folder.join(format!("{number}.err")))
    }

    /// Writes a file in the working folder, whole or not at all.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let draft = self.path(&format!("{name}.draft"));
        fs::write(&draft, content).expect("a file can be written");
        fs::rename(&draft, self.path(name)).expect("a file can be renamed");
    }

    /// Reads a file of the working folder; an absent one is empty.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A call of the program with the words of a line.
    pub(crate) fn call(&self, words: &str) -> Call<'_> {
        Call::new(self, words)
    }

    /// `doubletap once` with the words of a line; the command is still to come.
    pub(crate) fn once(&self, words: &str) -> Call<'_> {
        self.call(&format!("once {words}"))
    }

    /// `doubletap once` with a command that does what `behave` said last.
    pub(crate) fn attempt(&self, words: &str) -> Call<'_> {
        self.once(words).sh(ATTEMPT)
    }

    /// `doubletap cgi` with the words of a line, and a handler that does what `behave` said
    /// last.
    pub(crate) fn handled(&self, words: &str) -> Call<'_> {
        self.call(&format!("cgi {words}")).sh(ATTEMPT)
    }

    /// `doubletap lease` with the words of a line; the command is still to come.
    pub(crate) fn lease(&self, words: &str) -> Call<'_> {
        self.call(&format!("lease {words}"))
    }

    /// `doubletap lease` with a command that does what `behave` said last.
    pub(crate) fn held(&self, words: &str) -> Call<'_> {
        self.lease(words).sh(ATTEMPT)
    }

    /// A call for a lease whose command will hang at the gate.
    pub(crate) fn hanging_lease(&self, words: &str) -> Call<'_> {
        self.behave("read x <gate");
        self.held(words)
    }

    /// A shell script at a terminal; its end is left to the test.
    pub(crate) fn script<'a>(&'a self, terminal: &'a Terminal, text: &str) -> Call<'a> {
        self.write("script", text);
        self.call("./script").program("sh".as_ref()).at(terminal).unchecked()
    }

    /// What the next attempts do once they have left their traces.
    pub(crate) fn behave(&self, script: &str) {
        self.write("behaviour", script);
    }

    /// How often commands ran.
    pub(crate) fn runs(&self) -> usize {
        self.keys().len()
    }

    /// The idempotency key each attempt was given, oldest first.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.read("runs").lines().map(str::to_owned).collect()
    }

    /// The process id of the newest attempt's command.
    pub(crate) fn command_pid(&self) -> i32 {
        self.read("pid").trim().parse().expect("the command wrote its id")
    }

    /// The FIFO that commands wait at.
    pub(crate) fn gate(&self) -> Gate {
        Gate::at(&self.path("gate"))
    }

    /// Starts a call and waits until its command has left its traces.
    #[track_caller]
    pub(crate) fn begun(&self, call: Call<'_>) -> Running {
        let before = self.runs();
        let running = call.spawn();
        until("the command has begun", || self.runs() > before);
        running
    }

    /// An attempt that hangs at the gate.
    #[track_caller]
    pub(crate) fn holder(&self, words: &str) -> Running {
        self.begun(self.hanging(words))
    }

    /// A call for an attempt that will hang at the gate.
    pub(crate) fn hanging(&self, words: &str) -> Call<'_> {
        self.behave("read x <gate");
        self.attempt(words)
    }

    /// An attempt whose wrapper and command are both killed in mid-run.
    #[track_caller]
    pub(crate) fn interrupted(&self, words: &str) {
        self.begun(self.hanging(words).unchecked()).kill();
        let command = self.command_pid();
        destroy(-command);
        until("the command is gone", || !is_alive(command));
        self.behave(":");
    }

    /// Waits until this many callers are blocked on a holder's byte.
    #[track_caller]
    pub(crate) fn await_waiters(&self, number: usize) {
        until(&format!("{number} callers wait for the holder"), || {
            blocked_on(&self.live()) == number
        });
    }

    /// The document a call prints, which must be all it prints.
    #[track_caller]
    pub(crate) fn json(&self, words: &str) -> Value {
        let done = self.call(words).any_stdout().run();
        serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|error| panic!("`{words}` printed no JSON ({error}): {}", done.text()))
    }

    /// What `show --json` says of a key; its status is 1 when it is absent.
    #[track_caller]
    pub(crate) fn state(&self, key: &str) -> String {
        let done = self.call(&format!("show {key} --json")).unchecked().run();
        if done.code() == 1 {
            return "absent".to_owned();
        }
        let shown: Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("`show` printed {} {}", done.text(), done.complaint()));
        shown["state"].as_str().expect("a state is a word").to_owned()
    }

    /// When the lease of a key's newest attempt ends, in milliseconds since the
    /// machine was started.
    #[track_caller]
    pub(crate) fn lease_end(&self, key: &str) -> i64 {
        let store = Connection::open(self.store()).expect("the store can be opened");
        let newest = "SELECT until_boot_ms FROM attempt WHERE key = ? ORDER BY fence DESC LIMIT 1";
        store.query_row(newest, [key], |row| row.get(0)).expect("the key has an attempt")
    }

    /// What `show --json` says of a name.
    #[track_caller]
    pub(crate) fn lease_state(&self, name: &str) -> String {
        self.state(&format!("{name} --kind lease"))
    }

    /// The names in the store's folder.
    pub(crate) fn state_files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.state_folder())
            .expect("the folder is there")
            .map(|entry| {
                let entry = entry.expect("an entry can be read");
                entry.file_name().to_string_lossy().into_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Kills every process that works in this scene.
    pub(crate) fn kill_everybody(&self) {
        until("nobody is left in the scene", || {
            let left = within(&self.root());
            left.iter().copied().for_each(destroy);
            left.is_empty()
        });
    }

    /// The wrappers that run in this scene, wherever they were started from.
    pub(crate) fn wrappers(&self) -> Vec<i32> {
        within(&self.root())
            .into_iter()
            .filter(|pid| {
                fs::read_link(format!("/proc/{pid}/exe"))
                    .is_ok_and(|exe| exe.as_path() == Path::new(BIN))
            })
            .collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for _ in 0..100 {
            let left = within(&self.root());
            if left.is_empty() {
                break;
            }
            left.into_iter().for_each(destroy);
        }
    }
}
