//! What a whole store comes to: keys by state, attempts, run times by group.
//!
//! A store reads its attempts twice. First it has the groups ranked
//! ([`Ranking`]), then it counts the run times of the largest and of all the
//! others together ([`Ranked`]). So little is kept however many groups there
//! are: a key that is a random number is a group of its own, or nearly.

use std::collections::BTreeMap;
use std::time::Duration;

use super::key::{Kind, Namespace};
use super::run_times::RunTimes;
use super::standing::Standing;
use super::time::WallMs;

/// How many groups are told apart.
pub const GROUPS: usize = 20;

/// How many groups are counted at once while they are ranked.
const RANKED: usize = 1000;

/// What a store comes to.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// How many keys are in which state.
    pub keys: BTreeMap<(Kind, Standing), u64>,
    /// How many attempts there are; what `forget` leaves behind is none.
    pub attempts: u64,
    /// When the oldest attempt started, and the newest.
    pub started: Option<(WallMs, WallMs)>,
    /// How many bytes of output are kept.
    pub output_bytes: u64,
    /// How long ended attempts ran, by namespace.
    pub namespaces: Ranked,
    /// The same by prefix of the key.
    pub prefixes: Ranked,
    /// How much room the whole store takes.
    pub sizes: Sizes,
}

/// How much room a store takes, in bytes; nothing where it is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Its file.
    pub file: u64,
    /// Its write-ahead log.
    pub log: u64,
    /// The files of outputs beside it.
    pub output_files: u64,
    /// How many these are.
    pub output_file_count: u64,
}

impl Survey {
    /// Tells the largest groups apart from here on.
    pub fn tell_apart(&mut self, ranking: Ranking) {
        self.namespaces = Ranked::of(ranking.namespaces.largest());
        self.prefixes = Ranked::of(ranking.prefixes.largest());
    }

    /// Counts a key.
    pub fn key(&mut self, kind: Kind, standing: Standing) {
        *self.keys.entry((kind, standing)).or_default() += 1;
    }

    /// Counts an attempt, and how many bytes of output are kept of it.
    pub fn attempt(&mut self, started: WallMs, output_bytes: u64) {
        self.attempts += 1;
        self.output_bytes = self.output_bytes.saturating_add(output_bytes);
        let (oldest, newest) = self.started.unwrap_or((started, started));
        self.started = Some((oldest.min(started), newest.max(started)));
    }

    /// Counts how long a command ran.
    pub fn run(&mut self, key: KeyText<'_>, run: Duration) {
        self.namespaces.times_of(key.group(By::Namespace)).add(run);
        self.prefixes.times_of(key.group(By::Prefix)).add(run);
    }
}

/// A key as a store has it.
#[derive(Clone, Copy, Debug)]
pub struct KeyText<'a> {
    /// What it is about.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: &'a str,
    /// The key itself.
    pub key: &'a str,
}

/// What keys are grouped by.
#[derive(Clone, Copy)]
enum By {
    Namespace,
    Prefix,
}

impl<'a> KeyText<'a> {
    fn group(self, by: By) -> GroupText<'a> {
        let Self { kind, namespace, key } = self;
        let prefix = match by {
            By::Namespace => None,
            By::Prefix => Some(prefix(key)),
        };
        GroupText { kind, namespace, prefix }
    }
}

/// A key's prefix: all before its first digit or one of `- _ : / . @ #`. Nothing
/// is left of a key that begins with one of these.
#[must_use]
pub fn prefix(key: &str) -> &str {
    let ends = |c: char| c.is_ascii_digit() || "-_:/.@#".contains(c);
    key.split(ends).next().unwrap_or_default()
}

/// Keys of one namespace, or of one prefix in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// What they are about.
    pub kind: Kind,
    /// Their namespace.
    pub namespace: Namespace,
    /// Their prefix, if that is what they have in common.
    pub prefix: Option<String>,
}

/// The same, borrowed. A namespace that no doubletap wrote is in no group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct GroupText<'a> {
    kind: Kind,
    namespace: &'a str,
    prefix: Option<&'a str>,
}

impl Group {
    fn text(&self) -> GroupText<'_> {
        let Self { kind, namespace, prefix } = self;
        GroupText { kind: *kind, namespace: namespace.as_str(), prefix: prefix.as_deref() }
    }
}

impl GroupText<'_> {
    fn name(self) -> Option<Group> {
        Some(Group {
            kind: self.kind,
            namespace: Namespace::new(self.namespace).ok()?,
            prefix: self.prefix.map(str::to_owned),
        })
    }
}

/// Finds the groups with the most attempts.
#[derive(Default)]
pub struct Ranking {
    namespaces: Counts,
    prefixes: Counts,
}

impl Ranking {
    /// Counts an attempt. Keys come in their order, so that those of a group
    /// come together or nearly.
    pub fn attempt(&mut self, key: KeyText<'_>) {
        self.namespaces.count(key.group(By::Namespace));
        self.prefixes.count(key.group(By::Prefix));
    }
}

/// Groups and how many attempts they have; the newest is not put back yet.
#[derive(Default)]
struct Counts {
    counted: BTreeMap<Group, u64>,
    newest: Option<(Group, u64)>,
}

impl Counts {
    fn count(&mut self, group: GroupText<'_>) {
        match &mut self.newest {
            Some((name, count)) if name.text() == group => *count += 1,
            _ => {
                self.put_back();
                self.newest = group.name().map(|name| (name, 1));
            }
        }
    }

    /// Counts the newest group with the others. Where these are many, the smaller
    /// half goes: as keys come in their order, it does not come back.
    fn put_back(&mut self) {
        let Some((name, count)) = self.newest.take() else { return };
        *self.counted.entry(name).or_default() += count;
        if self.counted.len() >= RANKED {
            let ranked = self.ranked();
            self.counted = ranked.into_iter().take(RANKED / 2).collect();
        }
    }

    fn ranked(&mut self) -> Vec<(Group, u64)> {
        let mut ranked: Vec<_> = std::mem::take(&mut self.counted).into_iter().collect();
        ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        ranked
    }

    fn largest(mut self) -> Vec<Group> {
        self.put_back();
        self.ranked().into_iter().take(GROUPS).map(|(name, _)| name).collect()
    }
}

/// How long the attempts of the largest groups ran, and those of all others.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    /// The largest groups.
    pub groups: Vec<(Group, RunTimes)>,
    /// All others.
    pub others: RunTimes,
    /// The place of the group that was asked for last.
    newest: usize,
}

impl Ranked {
    fn of(groups: Vec<Group>) -> Self {
        let groups = groups.into_iter().map(|name| (name, RunTimes::default())).collect();
        Self { groups, ..Self::default() }
    }

    fn times_of(&mut self, group: GroupText<'_>) -> &mut RunTimes {
        let is_this = |(name, _): &(Group, RunTimes)| name.text() == group;
        if !self.groups.get(self.newest).is_some_and(is_this) {
            self.newest = self.groups.iter().position(is_this).unwrap_or(usize::MAX);
        }
        self.groups.get_mut(self.newest).map_or(&mut self.others, |(_, times)| times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key<'a>(namespace: &'a str, key: &'a str) -> KeyText<'a> {
        KeyText { kind: Kind::Once, namespace, key }
    }

    #[test]
    fn a_prefix_ends_before_the_first_digit_or_separator() {
        for (key, expected) in [
            ("deploy-42", "deploy"),
            ("deploy_42", "deploy"),
            ("deploy42", "deploy"),
            ("a:b", "a"),
            ("a/b", "a"),
            ("a.b", "a"),
            ("a@b", "a"),
            ("a#b", "a"),
            ("nightly", "nightly"),
            ("zwölf Boxkämpfer", "zwölf Boxkämpfer"),
            ("2026-11-30", ""),
            ("/var/log", ""),
        ] {
            assert_eq!(prefix(key), expected, "{key}");
        }
    }

    #[test]
    fn the_largest_groups_are_found_among_more_than_are_counted_at_once() {
        let name = |number: usize| -> String {
            let letter = |digit| char::from(b'a' + u8::try_from(digit % 26).unwrap());
            [number / 676, number / 26, number].map(letter).into_iter().collect()
        };
        let mut ranking = Ranking::default();
        for number in 0..5000 {
            // Those that are rare in the whole are many at each moment.
            let times = if number % 200 == 0 { 3 + number / 200 } else { 2 };
            (0..times).for_each(|_| ranking.attempt(key("default", &name(number))));
        }
        let mut survey = Survey::default();
        survey.tell_apart(ranking);
        assert_eq!(survey.namespaces.groups.len(), 1);
        let prefixes = survey.prefixes.groups.into_iter();
        let found: Vec<_> = prefixes.map(|(group, _)| group.prefix.unwrap()).collect();
        let expected: Vec<_> = (5..25).rev().map(|large| name(large * 200)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn attempts_of_other_groups_are_counted_together() {
        let mut ranking = Ranking::default();
        let names: Vec<String> = (0..30).map(|number| format!("n{number:02}")).collect();
        for name in &names {
            ranking.attempt(key(name, "k-1"));
        }
        let mut survey = Survey::default();
        survey.tell_apart(ranking);
        for name in &names {
            survey.run(key(name, "k-1"), Duration::from_secs(1));
        }
        for ranked in [survey.namespaces, survey.prefixes] {
            assert_eq!(ranked.groups.len(), GROUPS);
            assert!(ranked.groups.iter().all(|(_, times)| times.count() == 1));
            assert_eq!(ranked.others.count(), 10);
        }
    }
}
