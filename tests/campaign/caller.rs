//! Makes calls, and judges what they return.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::chance::Chance;
use super::ledger::Span;
use super::{Campaign, KEYS, NAMES};
use crate::support::BIN;

/// What a command does: it holds the witness's lock while it works, and says what nobody
/// else will say. What it starts does not hold it: a claim ends with the command itself.
const WORK: &str = r#"
subject=${DOUBLETAP_KEY-$DOUBLETAP_NAME}
exec 9>>"witness.$subject"
flock -n -E 66 9
[ $? -ne 66 ] || echo "two at once: $subject, fence $DOUBLETAP_FENCE" >>violations
echo "$subject $DOUBLETAP_FENCE" >>runs
sleep "$1" 9>&-
echo "$DOUBLETAP_FENCE"
"#;

/// An operation of three steps. What a step has returned it must not run again, which the
/// order of the lines tells.
const STEPS: &str = r#"
for step in one two three; do
    "$BIN" step "$step" -q -- sh -c '
        echo "ran $DOUBLETAP_KEY $1 $2" >>steps; sleep "$3"; echo "$1"
    ' sh "$step" "$DOUBLETAP_IDEMPOTENCY_KEY" "$1" || exit
    echo "returned $DOUBLETAP_KEY $step $DOUBLETAP_IDEMPOTENCY_KEY" >>steps
done
"#;

pub(super) struct Caller<'a> {
    campaign: &'a Campaign,
    chance: Chance,
}

/// What became of a call.
struct Returned {
    span: Span,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

impl<'a> Caller<'a> {
    pub(super) fn new(campaign: &'a Campaign, chance: Chance) -> Self {
        Self { campaign, chance }
    }

    pub(super) fn call_until_it_is_over(mut self) -> u64 {
        let mut calls = 0;
        while self.campaign.goes_on() {
            match self.chance.below(6) {
                0..=1 => self.hold(),
                2 => self.run_in_steps(),
                _ => self.run_once(),
            }
            calls += 1;
        }
        calls
    }

    pub(super) fn forget_and_prune_until_it_is_over(mut self) {
        while self.campaign.goes_on() {
            thread::sleep(self.chance.ms(20, 400));
            if self.chance.below(8) == 0 {
                let prune = || self.call(&["prune", "--older-than", "0s", "--force"], false);
                let pruned = self.campaign.ledger.dropping(0..KEYS, prune);
                self.expect(&pruned, &[0], "prune");
            } else {
                let key = self.chance.below(KEYS);
                let forget = || self.call(&["forget", &format!("key-{key}")], false);
                let forgotten = self.campaign.ledger.dropping(key..key + 1, forget);
                // Absent, or busy: it was spared.
                self.expect(&forgotten, &[0, 1, 75], "forget");
            }
        }
    }

    fn run_once(&mut self) {
        let key = self.chance.below(KEYS);
        let name = format!("key-{key}");
        let mut words = vec!["once", &name, "--quiet", "--fingerprint", "none"];
        if self.chance.below(2) == 0 {
            words.extend(["--wait", "20s"]);
        }
        let returned = self.work(&words);
        match returned.status.code() {
            Some(0) => self.campaign.ledger.give(key, returned.span, returned.stdout),
            // Busy; or its command was killed, whose end is shared by those who wait; or
            // told to end; or its key was forgotten meanwhile.
            _ => self.expect(&returned, &[75, 128 + 9, 128 + 15, 69], &name),
        }
    }

    fn run_in_steps(&mut self) {
        let name = format!("steps-{}", self.chance.below(NAMES));
        let lasts = format!("0.{:03}", self.chance.below(20));
        let words = ["once", &name, "--quiet", "--ttl", "1s", "--wait", "20s"];
        let returned =
            self.call(&[&words[..], &["--", "sh", "-c", STEPS, "sh", &lasts]].concat(), true);
        // Whatever has ended a step is what has ended the operation.
        self.expect(&returned, &[0, 65, 75, 128 + 9, 128 + 15, 69], &name);
    }

    fn hold(&mut self) {
        let name = format!("name-{}", self.chance.below(NAMES));
        let returned = self.work(&["lease", &name, "--quiet", "--ttl", "2s", "--wait", "20s"]);
        // The command was killed, or the lease lost to another while it was stopped.
        self.expect(&returned, &[0, 75, 128 + 9, 128 + 15, 69], &name);
    }

    /// A call that runs a command.
    fn work(&mut self, words: &[&str]) -> Returned {
        let lasts = format!("0.{:03}", self.chance.below(60));
        let mut all = words.to_vec();
        all.extend(["--", "sh", "-c", WORK, "sh", &lasts]);
        self.call(&all, true)
    }

    /// Accuses a call that ended as none should.
    fn expect(&self, returned: &Returned, statuses: &[i32], what: &str) {
        let is_ours = returned.status.signal().is_some_and(|signal| [9, 15].contains(&signal));
        let is_expected = returned.status.code().is_some_and(|code| statuses.contains(&code));
        if !is_ours && !is_expected {
            let (status, stderr) = (returned.status, &returned.stderr);
            self.campaign.ledger.accuse(format!("{what} ended with {status}: {stderr}"));
        }
    }

    /// A call, which may be struck if it is a target.
    #[expect(clippy::disallowed_methods, reason = "the calls that the campaign is about")]
    fn call(&self, words: &[&str], is_target: bool) -> Returned {
        let file = || tempfile::tempfile_in(self.campaign.scene_root.join("out")).unwrap();
        let (mut out, mut err) = (file(), file());
        let began = Instant::now();
        let mut child = Command::new(BIN)
            .args(words)
            .current_dir(&self.campaign.work)
            .env("DOUBLETAP_STORE", &self.campaign.store)
            .env("BIN", BIN)
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(err.try_clone().unwrap())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        if is_target {
            self.campaign.targets.lock().insert(pid);
            let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            waitid(Id::Pid(Pid::from_raw(pid)), ended).unwrap();
            self.campaign.targets.lock().remove(&pid);
        }
        let status = child.wait().unwrap();
        let span = Span { began, ended: Instant::now() };
        let stderr = String::from_utf8_lossy(&contents(&mut err)).into_owned();
        Returned { span, status, stdout: contents(&mut out), stderr }
    }
}

fn contents(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}
