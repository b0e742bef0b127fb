//! What `/proc/PID/stat` says of a process.

use std::fs;

use crate::claim::holder::StartTime;

use super::clock::read_short;

/// The fields of `/proc/PID/stat` that are of use here (`proc(5)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcStat {
    /// Its process id.
    pub pid: i32,
    /// Whether it is dead and only waits to be reaped.
    pub vital: Vital,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Its session.
    pub session: i32,
    /// When it started.
    pub start: StartTime,
}

impl ProcStat {
    /// Whether both are of one process.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }
}

/// Whether a process can still do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vital {
    /// It runs, sleeps or is stopped.
    Living,
    /// A zombie.
    Dead,
}

/// Reads what is said of a process; nothing when there is no such process, or when
/// `/proc` is not there or does not show it.
#[must_use]
pub fn read(pid: i32) -> Option<ProcStat> {
    parse(&read_short(&format!("/proc/{pid}/stat"))?)
}

/// Reads what is said of this process.
#[must_use]
pub fn read_own() -> Option<ProcStat> {
    parse(&read_short("/proc/self/stat")?)
}

/// Every process that `/proc` shows.
pub fn all() -> impl Iterator<Item = ProcStat> {
    pids().filter_map(read)
}

/// The number of every process that `/proc` shows.
pub fn pids() -> impl Iterator<Item = i32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|found| found.file_name().to_str()?.parse().ok())
}

/// The name stands in parentheses and may hold anything, parentheses too.
fn parse(text: &str) -> Option<ProcStat> {
    let (pid, rest) = text.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i32>().ok());
    Some(ProcStat {
        pid: pid.parse().ok()?,
        // A process lives on when its first thread ends before the others.
        vital: match (*fields.first()?, number(17)) {
            ("Z", Some(threads)) if threads > 1 => Vital::Living,
            ("Z" | "X" | "x", _) => Vital::Dead,
            _ => Vital::Living,
        },
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start: StartTime(fields.get(19)?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) Z (b) S 1 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let stat = parse(line).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.group, stat.session), (42, 1, 40, 39));
        assert_eq!((stat.vital, stat.start), (Vital::Living, StartTime(777)));
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_lives_as_long_as_another() {
        let line =
            |threads| format!("42 (a) Z 1 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 777 0 0");
        assert_eq!(parse(&line(2)).unwrap().vital, Vital::Living);
        assert_eq!(parse(&line(1)).unwrap().vital, Vital::Dead);
    }

    #[test]
    fn nonsense_is_no_process() {
        for text in ["", "1", "1 (", "1 (a)", "1 (a) S", "x (a) S 1 2 3"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
