//! Output that is too much for the tables: files beside the store.
//!
//! A running attempt spools to a file of its own, in which others can look
//! meanwhile. At its end the file is taken into the tables if it is small; else
//! it is the record. Large outputs are not written through SQLite [measured:
//! 1 GiB took 2.4 to 3.8 times as long as `tee` and `sync`, and held other
//! commits up for 444 ms].

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::OFlag;
use rusqlite::{OptionalExtension as _, params};

use super::{SqliteStore, place};
use crate::claim::fence::Fence;
use crate::claim::id::Token;
use crate::store::{Frames, StoreError, Trouble, Verdict};

/// The largest output that is kept in the tables.
const INSIDE: u64 = 1 << 20;

/// What ends the name of every such file.
const SUFFIX: &str = ".out";

/// The file of an attempt. The fence finds its row, and the token proves that
/// it is this one.
pub(super) fn path(store: &Path, fence: Fence, token: &Token) -> PathBuf {
    place::beside(store, &format!("-{}-{token}{SUFFIX}", fence.0))
}

/// A file of a result that is read for an attempt. Others may read theirs meanwhile, so
/// it has a name of its own until it is recorded.
pub(super) fn draft(store: &Path, fence: Fence, token: &Token, own: &Token) -> PathBuf {
    place::beside(store, &format!("-{}-{token}.{own}{SUFFIX}", fence.0))
}

/// Gives a draft the attempt's own name, too. Under the lock nobody else does, so what
/// has that name now was left by somebody who came to nothing.
pub(super) fn adopt(store: &Path, draft: &Path, path: &Path) -> Result<(), StoreError> {
    let adopted = match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => fs::hard_link(draft, path),
    };
    adopted.and_then(|()| place::sync_folder(&place::folder_of(store))).map_err(|why| {
        StoreError::new(Trouble::Other, format!("the output {}: {why}", path.display()))
    })
}

/// What a file is to the attempt that its name says it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Its output.
    Output,
    /// What may become that.
    Draft,
}

/// The attempt that a file of this name belongs to, if it is one of ours.
fn attempt_of(name: &OsStr, store: &OsStr) -> Option<(Fence, Token, Role)> {
    let rest = name.as_bytes().strip_prefix(store.as_bytes())?;
    let rest = str::from_utf8(rest).ok()?;
    let (fence, token) = rest.strip_prefix('-')?.strip_suffix(SUFFIX)?.split_once('-')?;
    let (token, role) = match token.split_once('.') {
        Some((token, own)) => Token::parse(own).map(|_| (token, Role::Draft))?,
        None => (token, Role::Output),
    };
    Some((Fence(fence.parse().ok()?), Token::parse(token)?, role))
}

/// A file of an output, and the attempt that its name says it belongs to.
pub(super) struct SpoolFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The attempt.
    fence: Fence,
    /// The attempt's token.
    token: Token,
    /// What it is to it.
    role: Role,
}

/// What is to be written into the tables for an output; nothing for one whose
/// file is kept. That file survives power loss from here on if it is a record.
pub(super) fn taken_in<'a>(
    store: &Path,
    frames: &'a Frames,
    verdict: &Verdict,
) -> Result<Option<Cow<'a, [u8]>>, StoreError> {
    let (file, length) = match frames {
        Frames::Bytes(bytes) => return Ok(Some(Cow::Borrowed(bytes))),
        Frames::File(file, length) => (file, *length),
    };
    // After a sync that failed nothing is known of the file, and the next would
    // claim that all is well.
    let lost = |why: io::Error| match why.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => (why, Trouble::Full),
        _ => (why, Trouble::Output),
    };
    let read = || -> Result<Option<Cow<'a, [u8]>>, (io::Error, Trouble)> {
        if length <= INSIDE {
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            file.read_exact_at(&mut bytes, 0).map_err(lost)?;
            return Ok(Some(Cow::Owned(bytes)));
        }
        if let Verdict::Recorded { .. } = verdict {
            file.sync_data().map_err(lost)?;
            // This can be tried again.
            let folder = place::folder_of(store);
            place::sync_folder(&folder).map_err(|why| (why, Trouble::Other))?;
        }
        Ok(None)
    };
    read().map_err(|(why, trouble)| {
        StoreError::new(
            trouble,
            format!("the file beside {} that holds it: {why}", store.display()),
        )
    })
}

impl SqliteStore {
    /// The file of an attempt whose output is not in the tables.
    pub(super) fn read_spool(&self, fence: Fence) -> Result<Option<Frames>, StoreError> {
        let token = self.read(|connection| {
            connection
                .query_row("SELECT token FROM attempt WHERE fence = ?", [fence.0], |row| row.get(0))
                .optional()
        })?;
        let Some(token) = token.map(Token) else { return Ok(None) };
        let path = path(&self.path, fence, &token);
        match open(&path) {
            Ok((file, length)) => Ok(Some(Frames::File(Arc::new(file), length))),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(StoreError::new(
                Trouble::Other,
                format!("the output {} cannot be read: {why}", path.display()),
            )),
        }
    }

    /// Removes the files that nobody needs any more.
    pub(super) fn remove_stray_spools(&self) -> Result<(), StoreError> {
        for spool in self.spools() {
            if let Some(_stray) = self.stray(&spool)? {
                // What cannot be removed now is tried again by the next prune.
                let _ = fs::remove_file(spool.path);
            }
        }
        Ok(())
    }

    /// The files of outputs that lie beside the store.
    pub(super) fn spools(&self) -> Vec<SpoolFile> {
        let Some(store) = self.path.file_name() else { return Vec::new() };
        // A folder that cannot be listed holds nothing that can be removed.
        let Ok(entries) = fs::read_dir(place::folder_of(&self.path)) else { return Vec::new() };
        let found = entries.flatten().filter_map(|entry| {
            let (fence, token, role) = attempt_of(&entry.file_name(), store)?;
            Some(SpoolFile { path: entry.path(), fence, token, role })
        });
        found.collect()
    }

    /// A file that nobody needs any more: the attempt is gone, or has its output in the
    /// tables; or whoever wrote the draft has ended.
    pub(super) fn stray(&self, spool: &SpoolFile) -> Result<Option<Stray>, StoreError> {
        if spool.role == Role::Draft {
            return Ok(abandoned(&spool.path).map(|lock| Stray { _lock: Some(lock) }));
        }
        let is_needed = self.read(|connection| {
            connection.query_row(
                "SELECT EXISTS (SELECT 1 FROM attempt WHERE fence = ?1 AND token = ?2)
                    AND NOT EXISTS (SELECT 1 FROM output WHERE fence = ?1)",
                params![spool.fence.0, spool.token.0],
                |row| row.get::<_, bool>(0),
            )
        })?;
        Ok((!is_needed).then_some(Stray { _lock: None }))
    }
}

/// A file that nobody needs, as long as this is kept.
pub(super) struct Stray {
    /// What keeps whoever has just made a draft from writing to it.
    _lock: Option<File>,
}

/// A draft that nobody writes or records, locked while this is open.
fn abandoned(path: &Path) -> Option<File> {
    let (file, _) = open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Opens a file to read it. Whatever lies there in place of it is not followed, and not
/// waited for.
fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok((file, found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_says_whose_it_is() {
        let token = Token([0xAB; 16]);
        let path = path(Path::new("/state/a b.db"), Fence(17), &token);
        let name = path.file_name().unwrap();
        assert_eq!(attempt_of(name, "a b.db".as_ref()), Some((Fence(17), token, Role::Output)));
        let path = draft(Path::new("/state/a b.db"), Fence(17), &token, &Token([1; 16]));
        let name = path.file_name().unwrap();
        assert_eq!(attempt_of(name, "a b.db".as_ref()), Some((Fence(17), token, Role::Draft)));
        assert_eq!(attempt_of(name, "b.db".as_ref()), None);
    }

    #[test]
    fn names_of_others_are_nobodys() {
        for name in
            ["a.db", "a.db-wal", "a.db-1-.out", "a.db--abc.out", "a.db-1-xyz.out", "notes.out"]
        {
            assert_eq!(attempt_of(name.as_ref(), "a.db".as_ref()), None, "{name}");
        }
    }
}
