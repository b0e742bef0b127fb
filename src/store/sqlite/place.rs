//! Whether a file is a safe place for a store, and making one.
//!
//! A store decides whether commands run, so nobody but its owner may be able
//! to write it, and its locks must be the kernel's own.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, Uid, access};

use super::Access;
use crate::store::{StoreError, Trouble};
use crate::text::quote;

/// How an acceptable file is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is ours.
    Ours,
    /// It can only be read: another user's, seen by root, or not writable.
    ReadOnly,
}

/// A file by its device and inode: its name may get another.
pub(super) type Identity = (u64, u64);

/// Checks the file and its folder, creating both where `access` allows.
/// Nothing when there is no file and none may be made.
///
/// Says which file it was. It is asked for before the file is opened: another that takes
/// the name meanwhile is never taken for the one that is open.
pub(super) fn prepare(
    path: &Path,
    access: Access,
) -> Result<Option<(Standing, Identity)>, StoreError> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(why) if why.kind() == io::ErrorKind::NotFound => None,
        Err(why) => return Err(unreadable(path, &why)),
    };
    if found.is_none() && access != Access::Write {
        return Ok(None);
    }
    let folder = folder_of(path);
    if found.is_none() {
        check_name(path)?;
        create_folder(&folder)?;
    }
    let shared = check_folder(&folder)?;
    check_file_system(&folder)?;
    Ok(Some(match found {
        Some(metadata) => {
            let standing = check_file(path, &folder, &metadata, access)?;
            if shared == Folder::Shared && standing == Standing::Ours {
                check_companions(path)?;
            }
            (standing, identity_of(&metadata))
        }
        None => (create_file(path, &folder)?, identity(path).unwrap_or_default()),
    }))
}

/// The longest name of a store, in bytes: file systems allow 255, and the longest
/// name beside it, that of a spool, has 54 more.
const LONGEST_NAME: usize = 200;

pub(super) fn check_name(path: &Path) -> Result<(), StoreError> {
    if path.file_name().is_some_and(|name| name.len() > LONGEST_NAME) {
        let what = format!(
            "the store's name {} is longer than {LONGEST_NAME} bytes, and the files beside it need longer ones",
            path.display()
        );
        return Err(refused(what).with_remedy(ANOTHER));
    }
    Ok(())
}

/// Which file has a name; nothing when it is gone.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().as_ref().map(identity_of)
}

fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// The folder that a path lies in.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What to do where a place cannot be made good.
pub(super) const ANOTHER: &str = "name another with --store";

/// A path as a word of a command to be typed.
pub(super) fn typed(path: &Path) -> String {
    quote(&path.to_string_lossy())
}

pub(super) fn unreadable(path: &Path, why: &io::Error) -> StoreError {
    refused(format!("the store {} cannot be reached: {why}", path.display())).with_remedy(ANOTHER)
}

fn refused(message: String) -> StoreError {
    StoreError::new(Trouble::Refused, message)
}

pub(super) fn check_file(
    path: &Path,
    folder: &Path,
    metadata: &Metadata,
    wanted: Access,
) -> Result<Standing, StoreError> {
    let shown = path.display();
    if !metadata.is_file() {
        let what = format!("the store {shown} is not a file");
        return Err(refused(what).with_remedy("name a file with --store"));
    }
    let us = Uid::effective();
    if metadata.uid() != us.as_raw() {
        if us.is_root() && wanted != Access::Write {
            return Ok(Standing::ReadOnly);
        }
        let what =
            format!("the store {shown} belongs to user {}, and you are user {us}", metadata.uid());
        return Err(refused(what).with_remedy("run as its owner, or name another with --store"));
    }
    if metadata.mode() & 0o002 != 0 {
        let what = format!("the store {shown} can be written by everybody");
        let remedy = format!("after a look inside: chmod o-w {}", typed(path));
        return Err(refused(what).with_remedy(remedy));
    }
    if metadata.nlink() > 1 {
        let what = format!(
            "the store {shown} has {} names (hard links), and each would have locks of its own",
            metadata.nlink()
        );
        return Err(refused(what).with_remedy("remove all but one"));
    }
    let writable = |at: &Path| access(at, AccessFlags::W_OK).is_ok();
    Ok(match wanted {
        Access::Examine => Standing::ReadOnly,
        Access::Read if !(writable(path) && writable(folder)) => Standing::ReadOnly,
        Access::Read | Access::Write => Standing::Ours,
    })
}

/// Who can make files in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// Its owner only.
    Private,
    /// Others too.
    Shared,
}

/// What the files that belong to a store are called, after its own name.
pub(super) const COMPANIONS: [&str; 3] = ["-wal", "-shm", ".live"];

/// In a folder where others can make files, one of them may have made those
/// that belong to the store before we did.
fn check_companions(path: &Path) -> Result<(), StoreError> {
    for suffix in COMPANIONS {
        let companion = beside(path, suffix);
        let owner = fs::symlink_metadata(&companion).map(|metadata| metadata.uid());
        if owner.is_ok_and(|owner| owner != Uid::effective().as_raw()) {
            let what = format!(
                "{} belongs to somebody else, who may have put it there",
                companion.display()
            );
            let remedy = "name a store in a folder of your own with --store";
            return Err(refused(what).with_remedy(remedy));
        }
    }
    Ok(())
}

/// One of the files beside a store.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Checks that the files of an open store can still be written. One that was
/// made immutable meanwhile is more than an error of SQLite's: its shared index
/// is memory, and writing there would end us.
pub(super) fn require_writable(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        let file = beside(path, suffix);
        match access(&file, AccessFlags::W_OK) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(why) => {
                return Err(StoreError::new(
                    Trouble::ReadOnly,
                    format!(
                        "the store's file {} cannot be written any more ({})",
                        file.display(),
                        why.desc()
                    ),
                )
                .with_remedy("make it writable again (chmod, chattr -i, or mount)"));
            }
        }
    }
    Ok(())
}

pub(super) fn check_folder(folder: &Path) -> Result<Folder, StoreError> {
    let metadata = fs::metadata(folder).map_err(|why| unreadable(folder, &why))?;
    let mode = metadata.mode();
    if mode & 0o002 != 0 && mode & 0o1000 == 0 {
        let what = format!(
            "the store's folder {} can be written by everybody, who could put another file in its place",
            folder.display()
        );
        let remedy = format!("chmod o-w {}, or name another with --store", typed(folder));
        return Err(refused(what).with_remedy(remedy));
    }
    Ok(if mode & 0o022 == 0 { Folder::Private } else { Folder::Shared })
}

/// Creates a folder and what is missing above it, each 0700 whatever the
/// umask and each synced into its parent.
fn create_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    create_folder(&folder_of(folder))?;
    let made = match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o700))
            .and_then(|()| sync_folder(&folder_of(folder))),
        // Somebody else was a little faster.
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    };
    made.map_err(|why| {
        refused(format!("the store's folder {} cannot be created: {why}", folder.display()))
            .with_remedy("name another place with --store")
    })
}

/// Creates an empty file, 0600 whatever the umask.
fn create_file(path: &Path, folder: &Path) -> Result<Standing, StoreError> {
    let made = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(0o600)).and_then(|()| sync_folder(folder))
        }
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(why) => Err(why),
    };
    made.map(|()| Standing::Ours).map_err(|why| {
        StoreError::new(
            Trouble::ReadOnly,
            format!("the store {} cannot be created: {why}", path.display()),
        )
        .with_remedy("name another place with --store")
    })
}

/// Makes the names in a folder survive power loss.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// File systems whose locks or shared memory are not this kernel's own, by
/// the magic number that `statfs(2)` lists.
const NETWORK: [(u32, &str); 13] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "FUSE or virtiofs"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "kAFS"),
    (0x00C3_6400, "Ceph"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x0BD0_0BD0, "Lustre"),
    (0x7375_7245, "Coda"),
];

#[cfg(target_os = "linux")]
pub(super) fn check_file_system(folder: &Path) -> Result<(), StoreError> {
    let magic = magic(folder)?;
    match NETWORK.iter().find(|(number, _)| *number == magic) {
        None => Ok(()),
        Some((_, name)) => {
            let what = format!(
                "the store's folder {} is on a network file system ({name}), where locks cannot be trusted",
                folder.display()
            );
            Err(refused(what).with_remedy("name a local file with --store"))
        }
    }
}

/// What the kernel knows a file system by.
#[cfg(target_os = "linux")]
pub(super) fn magic(folder: &Path) -> Result<u32, StoreError> {
    let found = nix::sys::statfs::statfs(folder)
        .map_err(|why| unreadable(folder, &io::Error::from(why)))?;
    // The kernel's magic numbers have 32 bits, whatever the width of the field.
    Ok(u32::try_from(i128::from(found.filesystem_type().0) & 0xFFFF_FFFF).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn check_file_system(_folder: &Path) -> Result<(), StoreError> {
    let _ = NETWORK;
    Ok(())
}
