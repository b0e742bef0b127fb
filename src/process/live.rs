//! The kernel's answer to "does the holder live?": a lock on one byte.
//!
//! Each run holds an exclusive lock of its open file description (OFD) on the
//! byte of `<store>.live` whose offset is its fence. The kernel drops it when
//! the process ends, however it ends, and shows it in every PID namespace and
//! container [measured: pids with start times were fooled by zombies, hidden
//! `/proc` and time namespaces; this was not]. The file is never unlinked.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::claim::attempt::Attempt;
use crate::claim::fence::Fence;
use crate::claim::holder::{Holder, Life, Tie};
use crate::claim::time::BootId;
use crate::store::{Hold, Liveness, StoreError, Trouble};

use super::group::{self, Presence, presence};

/// The lock file of one store, opened when it is first needed.
#[derive(Debug)]
pub struct LiveFile {
    path: PathBuf,
    boot_id: BootId,
    holding: Option<File>,
    probing: Option<File>,
}

impl LiveFile {
    /// The lock file beside a store.
    #[must_use]
    pub fn beside(store: &Path, boot_id: BootId) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".live");
        Self { path: path.into(), boot_id, holding: None, probing: None }
    }

    fn trouble(&self, what: &str, why: &io::Error) -> StoreError {
        StoreError::new(
            Trouble::Refused,
            format!("the lock file {} {what}: {why}", self.path.display()),
        )
    }

    fn open_to_hold(&mut self) -> Result<&File, StoreError> {
        if self.holding.is_none() {
            let file = create(&self.path).map_err(|why| self.trouble("cannot be opened", &why))?;
            self.holding = Some(file);
        }
        self.holding.as_ref().ok_or_else(|| {
            self.trouble("cannot be opened", &io::Error::from(io::ErrorKind::NotFound))
        })
    }

    /// The file to ask, if there is one. Not the one we hold bytes of: a
    /// description's own locks are no obstacle to it.
    fn open_to_probe(&mut self) -> Result<Option<&File>, StoreError> {
        if self.probing.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.probing = Some(file),
                Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(why) => return Err(self.trouble("cannot be read", &why)),
            }
        }
        Ok(self.probing.as_ref())
    }

    /// Blocks until the holder of `fence` has ended, for a thread of its own.
    ///
    /// # Errors
    /// At once, where that cannot be known.
    pub fn wait_for(path: &Path, fence: Fence) -> io::Result<()> {
        locks::wait_shared(&File::open(path)?, fence)
    }

    /// Where the lock file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a trial of the lock file's locks came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// One description sees what another holds.
    Seen,
    /// It does not: a living holder would pass for a dead one.
    Unseen,
    /// There are no such locks, and leases decide.
    Unsupported,
    /// There is no lock file yet.
    NoFile,
}

/// A number that is no claim's: fences begin above it.
const NOBODY: Fence = Fence(0);

/// Tries on a byte that is no claim's whether the lock of one description is seen by
/// another. Creates nothing and disturbs nobody.
///
/// # Errors
/// When the file cannot be opened or locked.
pub fn try_locks(path: &Path) -> io::Result<Trial> {
    let mut options = OpenOptions::new();
    let file = match options.read(true).write(true).open(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Trial::NoFile),
        opened => opened?,
    };
    Ok(match locks::try_exclusive(&file, NOBODY)? {
        locks::Taken::Unsupported => Trial::Unsupported,
        // Somebody else tries it at this moment, and we have seen that.
        locks::Taken::No => Trial::Seen,
        locks::Taken::Yes if locks::is_held(&File::open(path)?, NOBODY)? => Trial::Seen,
        locks::Taken::Yes => Trial::Unseen,
    })
}

/// Opens the file, creating it 0600 whatever the umask.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    match options.clone().create_new(true).mode(0o600).open(path) {
        Ok(file) => file.set_permissions(Permissions::from_mode(0o600)).map(|()| file),
        // Somebody else was a little faster.
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        Err(why) => Err(why),
    }
}

impl Liveness for LiveFile {
    fn hold(&mut self, fence: Fence) -> Result<Hold, StoreError> {
        let file = self.open_to_hold()?;
        let taken =
            locks::try_exclusive(file, fence).and_then(|taken| Ok((taken, file.metadata()?.ino())));
        match taken.map_err(|why| self.trouble("cannot be locked", &why))? {
            (locks::Taken::Yes, inode) => Ok(Hold::Taken(Some(inode))),
            (locks::Taken::No, _) => Ok(Hold::Occupied),
            (locks::Taken::Unsupported, _) => Ok(Hold::Taken(None)),
        }
    }

    fn let_go(&mut self, fence: Fence) {
        if let Some(file) = &self.holding {
            locks::release(file, fence);
        }
    }

    fn probe(&mut self, attempt: &Attempt) -> Result<Life, StoreError> {
        let same_boot = attempt.holder.boot_id == self.boot_id;
        match attempt.tie {
            Tie::Wrapper => {}
            _ if !same_boot => return Ok(Life::Gone),
            Tie::Time => return Ok(Life::Unknown),
            Tie::Process | Tie::Both => return Ok(life_of(&attempt.holder)),
        }
        let fence = attempt.fence;
        let answer = match self.open_to_probe()? {
            Some(file) if file.metadata().ok().map(|m| m.ino()) == attempt.lock_inode => {
                locks::is_held(file, fence).map(Some)
            }
            _ => Ok(None),
        };
        let answer = answer.map_err(|why| self.trouble("cannot be asked", &why))?;
        Ok(match answer {
            Some(true) => Life::Alive,
            Some(false) | None if !same_boot => Life::Gone,
            None => Life::Unknown,
            Some(false) => match attempt.group.as_ref().map_or(Presence::Nobody, presence) {
                Presence::Somebody => Life::Orphaned,
                Presence::Nobody => Life::Gone,
                Presence::Elsewhere => Life::Unknown,
            },
        })
    }
}

/// What can be known of a process by its pid.
fn life_of(holder: &Holder) -> Life {
    match group::presence_of(holder) {
        Presence::Somebody => Life::Alive,
        Presence::Nobody => Life::Gone,
        Presence::Elsewhere => Life::Unknown,
    }
}

/// Locks of an open file description on one byte of a file.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod locks {
    use std::fs::File;
    use std::io;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use crate::claim::fence::Fence;

    /// Whether a lock was taken.
    pub(super) enum Taken {
        Yes,
        No,
        /// The file's offsets cannot reach this byte.
        Unsupported,
    }

    fn byte(kind: i32, fence: Fence) -> Option<libc::flock> {
        Some(libc::flock {
            l_type: libc::c_short::try_from(kind).ok()?,
            l_whence: libc::c_short::try_from(libc::SEEK_SET).ok()?,
            l_start: libc::off_t::try_from(fence.0).ok()?,
            l_len: 1,
            l_pid: 0,
        })
    }

    pub(super) fn try_exclusive(file: &File, fence: Fence) -> io::Result<Taken> {
        let Some(lock) = byte(libc::F_WRLCK, fence) else { return Ok(Taken::Unsupported) };
        match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(Taken::Yes),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(Taken::No),
            Err(Errno::EINVAL) => Ok(Taken::Unsupported),
            Err(why) => Err(why.into()),
        }
    }

    pub(super) fn release(file: &File, fence: Fence) {
        if let Some(lock) = byte(libc::F_UNLCK, fence) {
            // The end of the process releases it, should this fail.
            let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&lock));
        }
    }

    /// Asks for a shared lock without taking it: waiters hold shared ones.
    pub(super) fn is_held(file: &File, fence: Fence) -> io::Result<bool> {
        let Some(mut lock) = byte(libc::F_RDLCK, fence) else { return Ok(false) };
        fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(i32::from(lock.l_type) != libc::F_UNLCK)
    }

    pub(super) fn wait_shared(file: &File, fence: Fence) -> io::Result<()> {
        let Some(lock) = byte(libc::F_RDLCK, fence) else { return Ok(()) };
        loop {
            match fcntl(file, FcntlArg::F_OFD_SETLKW(&lock)) {
                Err(Errno::EINTR) => {}
                other => return other.map(|_| ()).map_err(io::Error::from),
            }
        }
    }
}

/// Other systems have no such locks: the lease decides there.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod locks {
    use std::fs::File;
    use std::io;

    use crate::claim::fence::Fence;

    /// Whether a lock was taken.
    pub(super) enum Taken {
        #[expect(dead_code, reason = "no lock is ever taken here")]
        Yes,
        #[expect(dead_code, reason = "no lock is ever refused here")]
        No,
        Unsupported,
    }

    pub(super) fn try_exclusive(_: &File, _: Fence) -> io::Result<Taken> {
        Ok(Taken::Unsupported)
    }

    pub(super) fn release(_: &File, _: Fence) {}

    pub(super) fn is_held(_: &File, _: Fence) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn wait_shared(_: &File, _: Fence) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::clock::SystemClock;
    use super::super::host;
    use super::*;
    use crate::claim::attempt::State;
    use crate::claim::holder::{PidNamespace, StartTime};
    use crate::claim::samples::attempt;

    /// What is known of the holder of a claim that hangs on this, if he is this.
    fn life(tie: Tie, change: impl FnOnce(&mut Holder)) -> Option<Life> {
        let clock = SystemClock::default();
        let mut holder = host::ourselves(&clock);
        change(&mut holder);
        let held = Attempt { holder, tie, ..attempt(1, State::Running) };
        LiveFile::beside(Path::new("/nonexistent/store.db"), clock.boot_id().clone())
            .probe(&held)
            .ok()
    }

    #[test]
    fn a_process_is_known_by_its_pid_its_start_its_namespace_and_its_boot() {
        for tie in [Tie::Process, Tie::Both] {
            assert_eq!(life(tie, |_| ()), Some(Life::Alive));
            let other = |holder: &mut Holder| holder.start = StartTime(holder.start.0 + 1);
            assert_eq!(life(tie, other), Some(Life::Gone), "its pid is used again");
            let other = |holder: &mut Holder| holder.pid_namespace = PidNamespace(1);
            assert_eq!(life(tie, other), Some(Life::Unknown));
            let other = |holder: &mut Holder| holder.boot_id = BootId("earlier".into());
            assert_eq!(life(tie, other), Some(Life::Gone));
        }
    }

    #[test]
    fn of_a_claim_for_a_time_nothing_is_known_until_the_machine_starts_again() {
        assert_eq!(life(Tie::Time, |_| ()), Some(Life::Unknown));
        let other = |holder: &mut Holder| holder.boot_id = BootId("earlier".into());
        assert_eq!(life(Tie::Time, other), Some(Life::Gone));
    }

    #[test]
    fn a_trial_of_the_locks_sees_them_and_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db.live");
        assert_eq!(try_locks(&path).unwrap(), Trial::NoFile);
        assert!(!path.exists());
        let file = create(&path).unwrap();
        assert_eq!(try_locks(&path).unwrap(), Trial::Seen);
        // Another trial is on, and a claim lives.
        for fence in [NOBODY, Fence(1)] {
            assert!(matches!(locks::try_exclusive(&file, fence), Ok(locks::Taken::Yes)));
        }
        assert_eq!(try_locks(&path).unwrap(), Trial::Seen);
        assert!(locks::is_held(&File::open(&path).unwrap(), Fence(1)).unwrap());
    }
}
