//! Who holds a claim, and what can be known of him.

use super::time::BootId;

/// When a process started, in the kernel's clock ticks since boot; with the
/// pid it names one process, because a pid alone is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StartTime(pub u64);

/// The inode of a PID namespace: a pid means nothing outside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PidNamespace(pub u64);

/// The process that claimed, for people to find. Whether it lives is the
/// kernel's to say, through a lock (DESIGN section 4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The machine's name.
    pub host: String,
    /// The start of the kernel it ran under.
    pub boot_id: BootId,
    /// Its process id, in its own PID namespace.
    pub pid: i32,
    /// When it started.
    pub start: StartTime,
    /// Its PID namespace.
    pub pid_namespace: PidNamespace,
}

/// What a claim hangs on: whose end sets it free, if its owner never says a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tie {
    /// The doubletap that runs its command, which holds a lock meanwhile.
    Wrapper,
    /// The process that is named as its holder.
    Process,
    /// The lease.
    Time,
    /// That process, and the lease where nothing can be known of it.
    Both,
}

impl Tie {
    /// Every tie.
    const ALL: [Self; 4] = [Self::Wrapper, Self::Process, Self::Time, Self::Both];

    /// The word for it in stores and documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wrapper => "wrapper",
            Self::Process => "process",
            Self::Time => "time",
            Self::Both => "both",
        }
    }

    /// Reads the word that [`Tie::as_str`] writes.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tie| tie.as_str() == word)
    }

    /// The tie of a claim that gets a time limit besides.
    #[must_use]
    pub fn limited(self) -> Self {
        match self {
            Self::Process => Self::Both,
            other => other,
        }
    }
}

/// Who claims, and what will run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The process that claims.
    pub holder: Holder,
    /// What the claim hangs on.
    pub tie: Tie,
    /// The command, which waits to be let go.
    pub group: Option<Group>,
}

/// How far the command's processes can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The command leads a process group of its own.
    Group,
    /// The command shares our group, because of a controlling terminal.
    Process,
}

/// What the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Whether `id` is a process group or a single process.
    pub reach: Reach,
    /// The process group, which is also its leader's pid; or the pid.
    pub id: i32,
    /// When the leader started.
    pub start: StartTime,
    /// The session it belongs to.
    pub session: i32,
    /// The PID namespace in which these numbers mean something.
    pub pid_namespace: PidNamespace,
}

/// What is known of a running attempt's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The wrapper lives: it holds its lock.
    Alive,
    /// The wrapper is gone, but its command lives.
    Orphaned,
    /// Nobody is left.
    Gone,
    /// Nothing can be known from here: the lease decides.
    Unknown,
}
