//! A wall clock that a test steps while programs run, as `date` or a time server would:
//! the clocks that count from the start of the machine go on as they are.
//!
//! The machine's own clock is everybody's, so `libfaketime` answers for it. It reaches
//! what asks libc, which a static program does not: here the same sources are linked
//! dynamically, and nothing else about them is different.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::call::Call;
use super::scene::Scene;

/// Debian's package `libfaketime` has it there; the loader knows the folder's name.
pub(super) const LIBRARY: &str = "/usr/$LIB/faketime/libfaketimeMT.so.1";

/// `.cargo/config.toml` without what makes a static program.
const FLAGS: &str = r#"--cfg getrandom_backend="linux_getrandom" --cfg sha2_256_backend="soft""#;

/// The library leaves files in `/dev/shm` behind those who end as we do, and later fails
/// where it finds them: every call has a folder of its own there.
pub(super) const PRELOADED: &str = r#"mount -t tmpfs none /dev/shm || exit 99
    exec env LD_PRELOAD="$FAKETIME_LIBRARY" "$@""#;

/// What the wall clock of one scene says.
pub(crate) struct WallClock<'scene> {
    scene: &'scene Scene,
    program: &'static Path,
}

impl<'scene> WallClock<'scene> {
    /// A clock that is right. The first takes as long as a build does.
    pub(crate) fn new(scene: &'scene Scene) -> Self {
        let clock = Self { scene, program: dynamic() };
        clock.set(0);
        clock
    }

    /// Steps it to so many hours from the right time, for whoever runs by it.
    pub(crate) fn set(&self, hours: i64) {
        self.scene.write("clock", format!("{:+}\n", hours * 3600));
    }

    /// What a call becomes where this clock hangs.
    pub(crate) fn beside(&self, call: Call<'scene>) -> Call<'scene> {
        call.program(self.program)
            .through(["unshare", "--mount", "sh", "-c", PRELOADED, "sh"])
            .env("FAKETIME_LIBRARY", LIBRARY)
            .env("FAKETIME_TIMESTAMP_FILE", self.scene.path("clock"))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1")
    }
}

/// The program with the stores that this one has, linked dynamically; built by the first
/// who asks.
#[expect(clippy::disallowed_methods, reason = "cargo needs the home that the tests have")]
pub(crate) fn dynamic() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dynamic");
        let mut stores = Vec::new();
        stores.extend(cfg!(feature = "postgres").then_some("postgres"));
        stores.extend(cfg!(feature = "redis").then_some("redis"));
        let done = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--features", &stores.join(",")])
            .arg("--target-dir")
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env("RUSTFLAGS", FLAGS)
            .output()
            .expect("cargo can be started");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "cargo could not build it: {said}");
        // The folder of the target is called what that of this build is.
        let this = Path::new(super::scene::BIN);
        let triple = this.ancestors().nth(2).and_then(Path::file_name).expect("a target");
        target.join(triple).join("debug/doubletap")
    })
}
