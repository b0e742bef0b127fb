//! What the store has, key by key, and what it comes to.

use crate::claim::key::Namespace;
use crate::claim::standing::Standing;
use crate::claim::survey::{KeyText, Ranking, Survey};
use crate::store::shelf::{Asked, Shelf};
use crate::store::{Chain, Liveness, Store as _, StoreError, with_lives};

use super::ChainStore;

impl<S: Shelf> ChainStore<S> {
    /// Chains, the newest claim first.
    pub(super) fn chains_of(&mut self, asked: Asked<'_>) -> Result<Vec<Chain>, StoreError> {
        let mut chains = Vec::new();
        self.shelf.walk(asked, &mut |chain| {
            chains.push(chain);
            Ok(())
        })?;
        chains.sort_by_key(|chain| std::cmp::Reverse(chain.attempts.first().map(|a| a.fence)));
        Ok(chains)
    }

    pub(super) fn survey_all(
        &mut self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        let now = self.now()?;
        let mut ranking = Ranking::default();
        self.shelf.walk(Asked::Keys(namespace), &mut |chain| {
            for _ in &chain.attempts {
                ranking.attempt(key_of(&chain));
            }
            Ok(())
        })?;
        let mut survey = Survey::default();
        survey.tell_apart(ranking);
        self.shelf.walk(Asked::Keys(namespace), &mut |chain| {
            let key = key_of(&chain);
            for attempt in chain.attempts.iter().filter(|attempt| !attempt.is_tombstone()) {
                let output = attempt.output().map_or(0, |output| output.bytes);
                survey.attempt(attempt.started, output);
                if let Some(run) = attempt.end.as_ref().and_then(|end| end.run) {
                    survey.run(key, run);
                }
            }
            let kind = chain.subject.kind;
            let seen = with_lives(chain.attempts.clone(), liveness)?;
            survey.key(kind, Standing::of_key(&seen, kind, &now));
            Ok(())
        })?;
        survey.sizes = self.shelf.sizes()?;
        Ok(survey)
    }
}

fn key_of(chain: &Chain) -> KeyText<'_> {
    let subject = &chain.subject;
    let (namespace, key) = (subject.namespace.as_str(), subject.key.as_str());
    KeyText { kind: subject.kind, namespace, key }
}
