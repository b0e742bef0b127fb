//! What the store comes to, told from all that it has.

use crate::claim::key::Namespace;
use crate::claim::standing::Standing;
use crate::claim::survey::{KeyText, Ranking, Survey};
use crate::store::{Liveness, StoreError, with_lives};

use super::MemoryStore;

impl MemoryStore {
    pub(super) fn survey_all(
        &self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        let rows = self.lock();
        let chains = || {
            let all = rows.chains.iter();
            all.filter(|(subject, _)| namespace.is_none_or(|ns| *ns == subject.namespace)).map(
                |(subject, chain)| {
                    let (namespace, key) = (subject.namespace.as_str(), subject.key.as_str());
                    (KeyText { kind: subject.kind, namespace, key }, chain)
                },
            )
        };
        let mut ranking = Ranking::default();
        for (key, chain) in chains() {
            for _ in chain {
                ranking.attempt(key);
            }
        }
        let mut survey = Survey::default();
        survey.tell_apart(ranking);
        for (key, chain) in chains() {
            for attempt in chain.iter().filter(|attempt| !attempt.is_tombstone()) {
                let output = attempt.output().map_or(0, |output| output.bytes);
                survey.attempt(attempt.started, output);
                if let Some(run) = attempt.end.as_ref().and_then(|end| end.run) {
                    survey.run(key, run);
                }
            }
            let seen = with_lives(chain.iter().rev().cloned().collect(), liveness)?;
            survey.key(key.kind, Standing::of_key(&seen, key.kind, &self.clock.now()));
        }
        Ok(survey)
    }
}
