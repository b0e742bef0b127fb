//! Claims that a script makes and spends by hand.

use super::call::Call;
use super::expect::Done;
use super::running::Running;
use super::scene::Scene;

/// A script that waits at the gate.
const WAITS: &str = "echo >waits; read x <gate";

impl Scene {
    /// `doubletap begin` with the words of a line.
    pub(crate) fn begin(&self, words: &str) -> Call<'_> {
        self.call(&format!("begin {words}"))
    }

    /// `doubletap acquire` with the words of a line.
    pub(crate) fn acquire(&self, words: &str) -> Call<'_> {
        self.call(&format!("acquire {words}"))
    }

    /// Begins, for longer than any sentence lasts, and gives the token.
    #[track_caller]
    pub(crate) fn token(&self, words: &str) -> String {
        token_of(&self.begin(&format!("{words} --claim-ttl 1h")).any_stdout().run())
    }

    /// Acquires a name for longer than any sentence lasts, and gives the token.
    #[track_caller]
    pub(crate) fn acquired(&self, words: &str) -> String {
        token_of(&self.acquire(&format!("{words} --ttl 1h")).any_stdout().run())
    }

    /// A call with the words of a line and a token.
    pub(crate) fn with_token(&self, words: &str, token: &str) -> Call<'_> {
        self.call(&format!("{words} --token {token}"))
    }

    /// A process that a claim can be tied to: it waits at the gate.
    #[track_caller]
    pub(crate) fn bystander(&self) -> Running {
        let running = self.shell(WAITS).unchecked().spawn();
        super::until("the script waits", || self.path("waits").exists());
        running
    }
}

/// The token that a call printed, and nothing else.
#[track_caller]
pub(crate) fn token_of(done: &Done) -> String {
    let text = done.text();
    let token = text.strip_suffix('\n').unwrap_or_default();
    let is_token = token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_token, "that is no token: {text}");
    token.to_owned()
}
