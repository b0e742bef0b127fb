//! Says what is wrong with a store's place, whether or not it can be opened.
//!
//! Each rule is that of `place`; here all of them are looked at, and nothing is
//! created. What is inside is looked at in `inside`.

mod inside;

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, Uid, access};

use super::place::{self, COMPANIONS, beside, typed};
use super::{Access, open};
use crate::claim::size::for_people;
use crate::store::{Finding, StoreError};

/// Below so many free bytes a store is in danger: a run takes some 30 KiB of log,
/// and an output up to `--max-output` (16 MiB by default).
const LITTLE: u64 = 16 << 20;

/// Below so many there is room for a few such outputs only.
const NOT_MUCH: u64 = 100 << 20;

/// Looks at a store's files, its folder, and what they are on. Not while this process
/// has the store open: closing another descriptor of the file would drop its locks.
#[must_use]
pub fn examine_place(path: &Path) -> Vec<Finding> {
    let folder = place::folder_of(path);
    let mut findings = Vec::new();
    match fs::metadata(path) {
        Ok(metadata) => {
            let owner = metadata.uid();
            findings.push(file(path, &folder, &metadata));
            if metadata.is_file() {
                findings.extend(journal(path));
            }
            findings.extend(COMPANIONS.iter().filter_map(|of| companion(path, of, owner)));
            findings.extend(unindexed_log(path, owner));
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => findings.push(absent(path)),
        Err(why) => findings.push(Finding::of_error("store", &place::unreadable(path, &why))),
    }
    findings.push(in_folder(&folder));
    let there = nearest(&folder);
    findings.push(file_system(&there));
    findings.push(free_space(&there));
    findings
}

/// The folder itself, or the nearest above it that is there.
fn nearest(folder: &Path) -> PathBuf {
    let mut at = folder.to_owned();
    while !at.is_dir() {
        let above = place::folder_of(&at);
        if above == at {
            break;
        }
        at = above;
    }
    at
}

fn absent(path: &Path) -> Finding {
    if let Err(why) = place::check_name(path) {
        return Finding::of_error("store", &why);
    }
    Finding::note(
        "store",
        format!("{} is not there yet, and the first call makes it", path.display()),
        format!("doubletap once KEY --store {} -- COMMAND", typed(path)),
    )
}

fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o7777
}

/// Whether others can look into a file; what commands print is in it.
fn is_open_to_others(metadata: &Metadata) -> bool {
    metadata.mode() & 0o077 != 0
}

fn file(path: &Path, folder: &Path, metadata: &Metadata) -> Finding {
    if let Err(why) = place::check_file(path, folder, metadata, Access::Examine) {
        return Finding::of_error("store", &why);
    }
    let (shown, owner, us) = (path.display(), metadata.uid(), Uid::effective());
    if owner != us.as_raw() {
        return Finding::note(
            "store",
            format!("{shown} belongs to user {owner}, and you are user {us}, who can only look"),
            format!("sudo -u '#{owner}' doubletap doctor --store {}", typed(path)),
        );
    }
    if access(path, AccessFlags::R_OK | AccessFlags::W_OK).is_err() {
        return Finding::bad(
            "store",
            format!("{shown} cannot be read and written by you (mode {:04o})", mode(metadata)),
            format!("chmod u+rw {}", typed(path)),
        );
    }
    if is_open_to_others(metadata) {
        return Finding::note(
            "store",
            format!("{shown} is open to others (mode {:04o})", mode(metadata)),
            format!("chmod go-rwx {}", typed(path)),
        );
    }
    let size = for_people(metadata.len());
    Finding::ok("store", format!("{shown}, {size}, mode {:04o}, user {owner}", mode(metadata)))
}

/// How writers and readers get along, which the file's header says: of a file that is
/// opened to leave no trace, SQLite does not. Nothing for what has no header yet.
fn journal(path: &Path) -> Option<Finding> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    const WAL: [u8; 2] = [2, 2];
    let mut header = [0; 20];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    if header[..16] != *MAGIC {
        return None;
    }
    Some(if header[18..] == WAL {
        Finding::ok("journal", "a write-ahead log")
    } else {
        Finding::bad(
            "journal",
            "no write-ahead log: readers and writers wait for each other",
            format!("sqlite3 {} 'PRAGMA journal_mode = WAL'", typed(path)),
        )
    })
}

/// A log that nobody has looked into since it was put there: what is in the store
/// cannot be looked at.
fn unindexed_log(path: &Path, owner: u32) -> Option<Finding> {
    let us = Uid::effective().as_raw();
    let become_owner = if owner == us { String::new() } else { format!("sudo -u '#{owner}' ") };
    let list = || format!("{become_owner}doubletap list --store {}", typed(path));
    open::is_unindexed(path)
        .then(|| Finding::note("index file", open::unindexed(path).what(), list()))
}

/// One of the files beside a store, if it is there.
fn companion(path: &Path, suffix: &str, owner: u32) -> Option<Finding> {
    let check = match suffix {
        "-wal" => "log file",
        "-shm" => "index file",
        _ => "lock file",
    };
    let path = beside(path, suffix);
    let metadata = fs::symlink_metadata(&path).ok()?;
    let (shown, mode) = (path.display(), mode(&metadata));
    Some(if !metadata.is_file() {
        let remedy = format!("mv {0} {0}.aside", typed(&path));
        Finding::bad(check, format!("{shown} is not a file"), remedy)
    } else if metadata.uid() != owner {
        Finding::bad(
            check,
            format!("{shown} belongs to user {}, and the store to user {owner}", metadata.uid()),
            format!("chown {owner} {}", typed(&path)),
        )
    } else if mode & 0o002 != 0 {
        let remedy = format!("chmod o-w {}", typed(&path));
        Finding::bad(check, format!("{shown} can be written by everybody"), remedy)
    } else if mode & 0o600 != 0o600 {
        let remedy = format!("chmod u+rw {}", typed(&path));
        let found = format!("{shown} cannot be read and written by its owner (mode {mode:04o})");
        Finding::bad(check, found, remedy)
    } else if is_open_to_others(&metadata) {
        let remedy = format!("chmod go-rwx {}", typed(&path));
        Finding::note(check, format!("{shown} is open to others (mode {mode:04o})"), remedy)
    } else {
        Finding::ok(check, format!("{suffix}, {}, mode {mode:04o}", for_people(metadata.len())))
    })
}

fn in_folder(folder: &Path) -> Finding {
    let (there, shown) = (nearest(folder), folder.display());
    let writable = access(&there, AccessFlags::W_OK | AccessFlags::X_OK);
    if let Err(why) = writable {
        let (why, above) = (why.desc(), there.display());
        let found = if there == folder {
            format!("{shown} cannot be written by you ({why})")
        } else {
            format!("{shown} is not there, and cannot be made in {above} ({why})")
        };
        return Finding::bad("folder", found, place::ANOTHER);
    }
    if there != folder {
        if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
            return Finding::bad("folder", format!("{shown} is not a folder"), place::ANOTHER);
        }
        return Finding::ok(
            "folder",
            format!("{shown} is not there yet, and can be made in {}", there.display()),
        );
    }
    match (place::check_folder(folder), fs::metadata(folder)) {
        (Err(why), _) => Finding::of_error("folder", &why),
        (Ok(_), Err(why)) => Finding::of_error("folder", &place::unreadable(folder, &why)),
        (Ok(_), Ok(metadata)) => Finding::ok(
            "folder",
            format!("{shown}, mode {:04o}, user {}", mode(&metadata), metadata.uid()),
        ),
    }
}

/// File systems that are a machine's own, by their magic number (`statfs(2)`).
#[cfg(target_os = "linux")]
const LOCAL: [(u32, &str); 14] = [
    (0xEF53, "ext4"),
    (0x5846_5342, "XFS"),
    (0x9123_683E, "Btrfs"),
    (0x2FC1_2FC1, "ZFS"),
    (0xF2F5_2010, "F2FS"),
    (0xCA45_1A4E, "bcachefs"),
    (0x3153_464A, "JFS"),
    (0x794C_7630, "overlay"),
    (0x4D44, "FAT"),
    (0x2011_BAB0, "exFAT"),
    (0x7366_746E, "NTFS"),
    (0xE0F5_E1E2, "EROFS"),
    (TMPFS, "tmpfs"),
    (RAMFS, "ramfs"),
];

#[cfg(target_os = "linux")]
const TMPFS: u32 = 0x0102_1994;
#[cfg(target_os = "linux")]
const RAMFS: u32 = 0x8584_58F6;

#[cfg(target_os = "linux")]
fn file_system(folder: &Path) -> Finding {
    let look = || -> Result<Finding, StoreError> {
        place::check_file_system(folder)?;
        let magic = place::magic(folder)?;
        let known = LOCAL.iter().find(|(number, _)| *number == magic);
        let name = known.map_or_else(|| format!("{magic:#x}"), |(_, name)| (*name).to_owned());
        Ok(if magic == TMPFS || magic == RAMFS {
            let found = format!("{name}: what is recorded is gone when the machine starts again");
            Finding::note("file system", found, "name a file on a disk with --store")
        } else {
            Finding::ok("file system", name)
        })
    };
    look().unwrap_or_else(|why| Finding::of_error("file system", &why))
}

#[cfg(not(target_os = "linux"))]
fn file_system(folder: &Path) -> Finding {
    let checked = place::check_file_system(folder);
    checked.map_or_else(
        |why: StoreError| Finding::of_error("file system", &why),
        |()| Finding::ok("file system", "not known on this system"),
    )
}

fn free_space(folder: &Path) -> Finding {
    let (check, shown) = ("free space", typed(folder));
    let found = match statvfs(folder) {
        Ok(found) => found,
        Err(why) => {
            let found = format!("it is not known how much is free in {shown} ({})", why.desc());
            return Finding::bad(check, found, format!("df -h {shown}"));
        }
    };
    let free = u128::from(found.blocks_available()) * u128::from(found.fragment_size());
    let free = u64::try_from(free).unwrap_or(u64::MAX);
    let told = for_people(free);
    let remedy = || format!("free some space, see: df -h {shown}");
    match free {
        free if free < LITTLE => {
            Finding::bad(check, format!("{told}, which one large output can fill"), remedy())
        }
        free if free < NOT_MUCH => {
            Finding::note(check, format!("{told}, room for a few large outputs"), remedy())
        }
        _ => Finding::ok(check, told),
    }
}
