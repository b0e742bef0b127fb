//! The sentences about claims that are spent by their token.

use crate::claim::attempt::{Attempt, State};
use crate::claim::duration::for_people;
use crate::claim::holder::Tie;
use crate::store::LostWhy;

use super::sentences::Topic;

impl Topic<'_> {
    /// A token is good for nothing any more: what was to be done was not. `newest` is the
    /// newest attempt of the key, `own` the one that the token was drawn for.
    #[must_use]
    pub fn not_yours(
        &self,
        why: LostWhy,
        (newest, own): (Option<&Attempt>, Option<&Attempt>),
        searched: &str,
    ) -> String {
        let key = self.key();
        match why {
            LostWhy::Missing => format!("{key}: missing: nothing is known of it {searched}"),
            LostWhy::Superseded => {
                let by = match newest {
                    Some(newest) if newest.is_tombstone() => "it was forgotten".to_owned(),
                    Some(newest) if own.is_none() && newest.state != State::Running => format!(
                        "nothing is left of this token's claim, if it was for this key, whose newest attempt has ended ({})",
                        self.holder(newest)
                    ),
                    Some(newest) if own.is_none() => format!(
                        "somebody else has it ({}), and nothing is left of this token's claim, if it was for this key",
                        self.holder(newest)
                    ),
                    Some(newest) if own.is_some_and(|own| own.fence != newest.fence) => {
                        format!("another attempt took its place ({})", self.holder(newest))
                    }
                    Some(_) | None => "it was interrupted or forgotten".to_owned(),
                };
                format!("{key}: superseded: {by}; nothing was changed")
            }
            LostWhy::AlreadyDone => {
                let end = own.and_then(|own| own.end.as_ref());
                let how = end.map_or_else(String::new, |end| {
                    let with = end.outcome.map_or_else(String::new, |with| format!(" with {with}"));
                    format!(" {} ago{with}", for_people(end.at.age(self.now)))
                });
                format!("{key}: already_done: it ended{how}; nothing was changed")
            }
        }
    }

    /// A claim was good no more when it was spent, and nobody had taken it.
    #[must_use]
    pub fn late(&self, done: &str, attempt: &Attempt) -> String {
        let why = match attempt.tie {
            Tie::Process => "its process was gone",
            Tie::Time => "its time was over",
            Tie::Wrapper | Tie::Both => "its process was gone, or its time was over",
        };
        format!("{}: {done} late: {why}, but nobody had taken its place", self.key())
    }

    /// A claim is good no more, and nobody has taken it so far.
    #[must_use]
    pub fn is_over(&self, attempt: &Attempt) -> String {
        let why = match attempt.tie {
            Tie::Process => "its process is gone",
            Tie::Time => "its time is over",
            Tie::Wrapper | Tie::Both => "its process is gone, or its time is over",
        };
        format!("{}: expired: {why}, and anybody may take it now", self.key())
    }
}
