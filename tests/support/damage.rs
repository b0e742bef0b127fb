//! Stores that cannot be used, each broken in one way.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::scene::Scene;

/// One way to break a store, and a word that the refusal must contain.
pub(crate) struct Damage {
    pub(crate) name: &'static str,
    pub(crate) remedy: &'static str,
    inflict: fn(&Scene),
}

impl Damage {
    /// Breaks the scene's store.
    pub(crate) fn inflict(&self, scene: &Scene) {
        (self.inflict)(scene);
    }
}

/// Everything that makes a store unusable for any user, root included.
pub(crate) const DAMAGES: [Damage; 8] = [
    Damage {
        name: "garbage instead of a database",
        remedy: "store.db",
        inflict: |scene| {
            let garbage = "this is no database, and never was one\n".repeat(300);
            fs::write(scene.store(), garbage).unwrap();
        },
    },
    Damage {
        name: "a database cut in half",
        remedy: "store.db",
        inflict: |scene| {
            settled(scene);
            let bytes = fs::read(scene.store()).unwrap();
            fs::write(scene.store(), &bytes[..4096 + 100]).unwrap();
        },
    },
    Damage {
        name: "a database with its pages overwritten",
        remedy: "store.db",
        inflict: |scene| {
            settled(scene);
            let mut bytes = fs::read(scene.store()).unwrap();
            bytes[200..].fill(0xA5);
            fs::write(scene.store(), bytes).unwrap();
        },
    },
    Damage {
        name: "a newer schema",
        remedy: "newer",
        inflict: |scene| {
            settled(scene);
            let database = Connection::open(scene.store()).unwrap();
            database.pragma_update(None, "user_version", 9999).unwrap();
        },
    },
    Damage {
        name: "a folder that everybody may write in",
        remedy: "chmod",
        inflict: |scene| mode(&scene.state_folder(), 0o777),
    },
    Damage {
        name: "a file that others may write",
        remedy: "chmod",
        inflict: |scene| {
            scene.once("earlier").sh("true").run();
            mode(&scene.store(), 0o666);
        },
    },
    Damage {
        name: "a folder that is a file",
        remedy: "state",
        inflict: |scene| {
            fs::remove_dir_all(scene.state_folder()).unwrap();
            fs::write(scene.state_folder(), "").unwrap();
        },
    },
    Damage {
        name: "a store that is a folder",
        remedy: "store.db",
        inflict: |scene| fs::create_dir(scene.store()).unwrap(),
    },
];

/// Makes a store with a record of the key `earlier` and moves all of it from the WAL into the file.
pub(crate) fn settled(scene: &Scene) {
    scene.once("earlier").sh("true").run();
    let database = Connection::open(scene.store()).unwrap();
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(database);
    for side in ["store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(scene.state_folder().join(side));
    }
}

/// Sets the mode of a file or folder.
pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
