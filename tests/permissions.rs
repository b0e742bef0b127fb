//! Whatever the umask, what we create is for its owner alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::Scene;

/// Fails unless every file below has mode 0600 and every folder 0700.
#[track_caller]
fn private(folder: &Path) {
    let mut seen = 0;
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            assert_eq!(mode, 0o700, "{} has mode {mode:o}", path.display());
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{} has mode {mode:o}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0, "nothing was created in {}", folder.display());
}

#[test]
fn everything_we_create_is_0600_in_0700_whatever_the_umask() {
    for umask in ["000", "022", "077", "777"] {
        let scene = Scene::new();
        let store = scene.root().join("new").join("deep").join("store.db");
        let mut gate = scene.gate();
        let call = |script| {
            let call =
                scene.once("k --rerun --fingerprint none").arg("--store").arg(&store).sh(script);
            call.through_sh(&format!(r#"umask {umask}; exec "$@""#))
        };
        call("true").run();
        private(&scene.root().join("new"));
        let running = call("read x <gate").spawn();
        crate::support::until("it is running", || {
            let shown = scene.call("show k --json --store").arg(&store).any_stdout().run();
            shown.text().contains("running")
        });
        private(&scene.root().join("new"));
        gate.open();
        running.finish();
    }
}

#[test]
fn the_default_folder_is_private_too() {
    let scene = Scene::new();
    let folder = scene.root().join("xdg");
    scene
        .once("k")
        .sh("true")
        .through_sh(r#"umask 000; exec "$@""#)
        .without_env("DOUBLETAP_STORE")
        .env("XDG_STATE_HOME", &folder)
        .run();
    private(&folder);
}

#[test]
fn a_folder_that_was_there_keeps_its_mode() {
    let scene = Scene::new();
    crate::support::damage::mode(&scene.state_folder(), 0o755);
    scene.attempt("k").run();
    let mode = fs::metadata(scene.state_folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn report_and_log_obey_the_umask_like_any_output_file() {
    let scene = Scene::new();
    let call = scene.attempt("k --report report --log log");
    call.through_sh(r#"umask 027; exec "$@""#).run();
    for name in ["report", "log"] {
        let mode = fs::metadata(scene.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o027, 0, "{name} has mode {mode:o}");
    }
}
