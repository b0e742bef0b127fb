//! How an answer for people is written: what a terminal gets, and what a file or a
//! program gets. A verb decides it once for standard output and hands it to the
//! tables, which ask it for every instant and every colour.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use super::document::timestamp;
use crate::claim::duration::for_people;
use crate::claim::standing::Standing;
use crate::claim::time::WallMs;
use crate::store::Grade;

/// Set to anything, it means that nobody wants colours (<https://no-color.org>).
const NO_COLOR: &str = "NO_COLOR";

/// What kind of terminal it is; `dumb` knows no colours, and one that is not named is
/// taken for as little.
const TERM: &str = "TERM";

/// Every variable that the form depends on, for the documents that are held to this
/// list.
pub const VARIABLES: [&str; 2] = [NO_COLOR, TERM];

/// How an answer for people is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For files and programs: exact instants and not one escape sequence.
    Plain,
    /// For somebody who looks at a terminal: how long ago or ahead it is.
    Terminal(Colour),
}

/// Whether words are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// They are not.
    Off,
    /// With the eight colours that every terminal has.
    Basic,
}

/// What a word means to the reader, which is what its colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing in particular.
    Ordinary,
    /// It is the head of a column.
    Head,
    /// All is well.
    Good,
    /// Something goes on.
    Active,
    /// It did not come to what was wanted, or not any more.
    Doubtful,
    /// A person is needed.
    Wrong,
}

impl Form {
    /// The form for whatever standard output is, as the variables of the caller allow.
    #[must_use]
    pub fn of_stdout(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        if !io::stdout().is_terminal() {
            return Self::Plain;
        }
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let is_able = set(TERM).is_some_and(|kind| kind != "dumb");
        Self::Terminal(match set(NO_COLOR) {
            None if is_able => Colour::Basic,
            _ => Colour::Off,
        })
    }

    /// When something was or will be.
    #[must_use]
    pub fn instant(self, at: WallMs, now: WallMs) -> String {
        match self {
            Self::Plain => timestamp(at),
            Self::Terminal(_) if at > now => format!("in {}", for_people(now.age(at))),
            Self::Terminal(_) => format!("{} ago", for_people(at.age(now))),
        }
    }

    /// A word in the colour of its tone.
    pub(super) fn paint(self, tone: Tone, word: &str) -> String {
        let Self::Terminal(Colour::Basic) = self else { return word.to_owned() };
        let attribute = match tone {
            Tone::Ordinary => return word.to_owned(),
            Tone::Head => 1,
            Tone::Wrong => 31,
            Tone::Good => 32,
            Tone::Doubtful => 33,
            Tone::Active => 36,
        };
        format!("\x1b[{attribute}m{word}\x1b[0m")
    }
}

impl From<Standing> for Tone {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Done | Standing::Released => Self::Good,
            Standing::Running | Standing::Held | Standing::Resting => Self::Active,
            Standing::Failed | Standing::Expired => Self::Doubtful,
            Standing::Interrupted | Standing::Orphaned => Self::Wrong,
            Standing::Forgotten | Standing::Absent => Self::Ordinary,
        }
    }
}

impl From<Grade> for Tone {
    fn from(grade: Grade) -> Self {
        match grade {
            Grade::Ok => Self::Good,
            Grade::Note => Self::Doubtful,
            Grade::Bad => Self::Wrong,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_how_far_away_an_instant_is_and_a_program_reads_it() {
        let (screen, now) = (Form::Terminal(Colour::Off), WallMs(200_000));
        assert_eq!(screen.instant(WallMs(20_000), now), "3m ago");
        assert_eq!(screen.instant(now, now), "0s ago");
        assert_eq!(screen.instant(WallMs(7_400_000), now), "in 2h");
        assert_eq!(Form::Plain.instant(WallMs(20_000), now), "1970-01-01T00:00:20.000Z");
    }

    #[test]
    fn a_colour_is_taken_back_after_its_word() {
        let coloured = Form::Terminal(Colour::Basic);
        assert_eq!(coloured.paint(Tone::Wrong, "bad"), "\x1b[31mbad\x1b[0m");
        for (form, tone) in [
            (coloured, Tone::Ordinary),
            (Form::Terminal(Colour::Off), Tone::Wrong),
            (Form::Plain, Tone::Wrong),
        ] {
            assert_eq!(form.paint(tone, "bad"), "bad");
        }
    }
}
