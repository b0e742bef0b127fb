//! Telling of all chains, batch by batch: no statement is long, and none is open while
//! somebody is told.

use super::PostgresShelf;
use super::failure::Fault;
use super::reading::chain_values;
use super::rows::{Value, int8, text};
use crate::claim::attempt::Attempt;
use crate::claim::key::{Kind, Namespace, Subject};
use crate::store::shelf::Asked;
use crate::store::{Chain, StoreError};

/// So many rows are fetched at once.
const BATCH: usize = 500;

/// The chains of one kind, of one namespace or of all.
struct Aisle<'a> {
    kind: Kind,
    namespace: Option<&'a Namespace>,
}

impl PostgresShelf {
    pub(super) fn walk_along(
        &mut self,
        asked: Asked<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match asked {
            Asked::Keys(namespace) => {
                for kind in [Kind::Once, Kind::Lease] {
                    self.walk_aisle(&Aisle { kind, namespace }, told)?;
                }
                Ok(())
            }
            Asked::Steps(operation) => {
                let namespace = Subject::steps_of(operation);
                let aisle = Aisle { kind: Kind::Step, namespace: Some(&namespace) };
                self.walk_aisle(&aisle, told)
            }
        }
    }

    fn walk_aisle(
        &mut self,
        aisle: &Aisle<'_>,
        told: &mut dyn FnMut(Chain) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let batch = self.batch(aisle, after.as_ref());
            let (chains, rest) = batch.map_err(|fault| self.server.told(&fault))?;
            after = chains.last().map(|chain| chain.subject.clone());
            for chain in chains {
                told(chain)?;
            }
            if rest == Rest::Nothing || after.is_none() {
                return Ok(());
            }
        }
    }

    /// The next chains, whole.
    fn batch(
        &mut self,
        aisle: &Aisle<'_>,
        after: Option<&Subject>,
    ) -> Result<(Vec<Chain>, Rest), Fault> {
        let (condition, mut values) = aisle.condition(after);
        values.push(int8(i64::try_from(BATCH).unwrap_or(i64::MAX)));
        let condition = format!(
            "{condition} ORDER BY kind, namespace, key, generation LIMIT ${}",
            values.len()
        );
        let found = self.read_all(&condition, &values)?;
        let rest = if found.len() < BATCH { Rest::Nothing } else { Rest::Possible };
        let mut chains = chains(found);
        // More of the last one may follow: it is read again, at one moment.
        if rest == Rest::Possible
            && let Some(last) = chains.pop()
            && chains.is_empty()
        {
            let whole = self.read_whole(&last.subject)?;
            // It may have gone meanwhile.
            chains.push(whole.unwrap_or(last));
        }
        Ok((chains, rest))
    }

    fn read_whole(&mut self, subject: &Subject) -> Result<Option<Chain>, Fault> {
        let condition = "kind = $1 AND namespace = $2 AND key = $3 ORDER BY generation";
        Ok(chains(self.read_all(condition, &chain_values(subject))?).pop())
    }
}

/// What may come after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Possible,
}

impl Aisle<'_> {
    fn condition(&self, after: Option<&Subject>) -> (String, Vec<Value>) {
        let mut values = vec![text(self.kind.as_str())];
        let mut condition = "kind = $1".to_owned();
        match (self.namespace, after) {
            (Some(namespace), None) => {
                condition += " AND namespace = $2";
                values.push(text(namespace.as_str()));
            }
            (Some(namespace), Some(after)) => {
                condition += " AND namespace = $2 AND key > $3";
                values.push(text(namespace.as_str()));
                values.push(text(after.key.as_str()));
            }
            (None, None) => {}
            (None, Some(after)) => {
                condition += " AND (namespace, key) > ($2, $3)";
                values.push(text(after.namespace.as_str()));
                values.push(text(after.key.as_str()));
            }
        }
        (condition, values)
    }
}

/// Attempts by their chains, each newest first.
fn chains(found: Vec<(Subject, Attempt)>) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    for (subject, attempt) in found {
        match chains.last_mut() {
            Some(chain) if chain.subject == subject => chain.attempts.push(attempt),
            _ => chains.push(Chain { subject, attempts: vec![attempt] }),
        }
    }
    for chain in &mut chains {
        chain.attempts.reverse();
    }
    chains
}
