//! What the store has, key by key, and what it comes to.

use crate::claim::key::{Kind, Namespace, Subject};
use crate::claim::standing::Standing;
use crate::claim::survey::{KeyText, Ranking, Survey};
use crate::store::{Chain, Liveness, StoreError, with_lives};

use super::{MemoryStore, Rows};

/// Whether a chain is a key's, and in the namespace that was asked for.
pub(super) fn is_asked_for(subject: &Subject, namespace: Option<&Namespace>) -> bool {
    subject.kind != Kind::Step && namespace.is_none_or(|asked| *asked == subject.namespace)
}

impl Rows {
    /// Chains, the newest claim first.
    pub(super) fn chains_where(&self, asked: impl Fn(&Subject) -> bool) -> Vec<Chain> {
        let found = self.chains.iter().filter(|(subject, _)| asked(subject));
        let mut chains: Vec<Chain> = found
            .map(|(subject, attempts)| Chain {
                subject: subject.clone(),
                attempts: attempts.iter().rev().cloned().collect(),
            })
            .collect();
        chains.sort_by_key(|chain| std::cmp::Reverse(chain.attempts.first().map(|a| a.fence)));
        chains
    }
}

impl MemoryStore {
    pub(super) fn survey_all(
        &self,
        namespace: Option<&Namespace>,
        liveness: &mut dyn Liveness,
    ) -> Result<Survey, StoreError> {
        let rows = self.lock();
        let chains = || {
            let all = rows.chains.iter();
            all.filter(|(subject, _)| is_asked_for(subject, namespace)).map(|(subject, chain)| {
                let (namespace, key) = (subject.namespace.as_str(), subject.key.as_str());
                (KeyText { kind: subject.kind, namespace, key }, chain)
            })
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
