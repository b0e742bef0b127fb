//! Says what the server promises, and what is wrong with the store on it.
//!
//! Every check stands alone: what one may not look at is no reason to leave out the
//! others.

use std::collections::BTreeMap;

use super::PostgresShelf;
use super::failure::Fault;
use super::rows::{Reader, Value};
use super::schema::NEWEST;
use super::setting_up;
use super::transaction::rows_in_time;
use crate::claim::duration::for_people;
use crate::store::Finding;
use crate::store::unreadable::ROW;
use crate::text::quote;

/// More than so many records that have lost something are as bad as all of them.
const ENOUGH: usize = 100;

/// The oldest server that all statements are known to work on.
const OLDEST: i64 = 120_000;

type Check = (&'static str, fn(&mut PostgresShelf) -> Result<Finding, Fault>);

impl PostgresShelf {
    pub(super) fn examine_all(&mut self) -> Vec<Finding> {
        let checks: [Check; 9] = [
            ("server", Self::examine_server),
            ("schema", Self::examine_schema),
            ("rows", Self::examine_rows),
            ("outputs", Self::examine_outputs),
            ("durability", Self::examine_durability),
            ("standby", Self::examine_standby),
            ("replication", Self::examine_replication),
            ("collation", Self::examine_collation),
            ("tls", Self::examine_tls),
        ];
        let mut look = |(check, look): Check| {
            look(self).unwrap_or_else(|fault| Finding::of_error(check, &self.server.told(&fault)))
        };
        let mut findings: Vec<Finding> = checks.into_iter().map(&mut look).collect();
        findings.extend(self.examine_each_row());
        findings
    }

    /// One finding for each row that cannot be read.
    fn examine_each_row(&mut self) -> Vec<Finding> {
        let found = self.look_for_unreadable();
        let option = &self.server.address.option;
        match found {
            Ok(unreadable) => unreadable.findings(option),
            Err(fault) if fault.is_of_time() => {
                let limit = for_people(self.server.limit);
                let found = format!("not every row could be looked at within {limit} for some");
                let remedy =
                    format!("give it more time: doubletap doctor --store-timeout 1m {option}");
                vec![Finding::note(ROW, found, remedy)]
            }
            Err(fault) => vec![Finding::of_error(ROW, &self.server.told(&fault))],
        }
    }

    fn texts(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<String>>, Fault> {
        let rows = rows_in_time(&mut self.server, "", statement, values)?;
        let rows = rows.iter().map(|row| {
            let mut from = Reader::at(row, 0);
            let texts = row.columns().iter().map(|_| Ok(from.next::<Option<String>>()?));
            let texts: Result<Vec<_>, Fault> = texts.collect();
            Ok(texts?.into_iter().map(Option::unwrap_or_default).collect())
        });
        rows.collect()
    }

    /// The only row of a statement, whose columns are texts.
    fn words<const N: usize>(&mut self, statement: &str) -> Result<[String; N], Fault> {
        let row = self.texts(statement, &[])?.into_iter().next();
        let words = row.and_then(|row| <[String; N]>::try_from(row).ok());
        words.ok_or_else(|| Fault::Unreadable("answer".to_owned()))
    }

    fn examine_server(&mut self) -> Result<Finding, Fault> {
        let [version, number] = self.words(
            "SELECT current_setting('server_version'), current_setting('server_version_num')",
        )?;
        let told = format!("PostgreSQL {version}, {}", self.server.address.places());
        Ok(if number.parse::<i64>().is_ok_and(|number| number >= OLDEST) {
            Finding::ok("server", told)
        } else {
            Finding::bad(
                "server",
                format!("{told}, which is too old"),
                "use PostgreSQL 12 or newer",
            )
        })
    }

    fn examine_schema(&mut self) -> Result<Finding, Fault> {
        let deadline = self.server.deadline();
        let version = setting_up::version(&mut self.server, deadline)?;
        setting_up::check(&self.server, version).map_err(Fault::Said)?;
        let name = &self.server.address.schema_name;
        Ok(Finding::ok("schema", format!("version {NEWEST}, in the schema {name}")))
    }

    fn examine_rows(&mut self) -> Result<Finding, Fault> {
        let statement = format!(
            "SELECT kind, state, count(*)::text FROM {}.attempt GROUP BY kind, state
            ORDER BY kind DESC, state",
            self.server.address.schema
        );
        let mut kinds: BTreeMap<std::cmp::Reverse<String>, Vec<String>> = BTreeMap::new();
        let rows = match self.texts(&statement, &[]) {
            Err(fault) if fault.is_of_time() => {
                return Ok(Finding::ok("rows", self.estimate("attempt")?));
            }
            rows => rows?,
        };
        for row in rows {
            if let [kind, state, count] = &*row {
                let told = kinds.entry(std::cmp::Reverse(kind.clone())).or_default();
                told.push(format!(
                    "{count} {}",
                    if state == "running" { "not ended" } else { state }
                ));
            }
        }
        let kinds =
            kinds.into_iter().map(|(kind, told)| format!("{}: {}", kind.0, told.join(", ")));
        let told = kinds.collect::<Vec<_>>().join("; ");
        Ok(Finding::ok("rows", if told.is_empty() { "none".to_owned() } else { told }))
    }

    /// What is said of a table that is too large to be looked at row by row: its server
    /// estimates now and then how many rows it has.
    fn estimate(&mut self, table: &str) -> Result<String, Fault> {
        let [number] = self.words(&format!(
            "SELECT greatest(reltuples, 0)::bigint::text FROM pg_class WHERE oid = {}",
            self.table(table)
        ))?;
        let about = if number == "0" { "very many".to_owned() } else { format!("about {number}") };
        Ok(format!("{about}, too many to be counted within {}", for_people(self.server.limit)))
    }

    /// A table, as a value.
    fn table(&self, name: &str) -> String {
        format!("'{}.{name}'::regclass", self.server.address.schema.replace('\'', "''"))
    }

    /// Outputs that are gone of records that are there, and those of nobody.
    fn examine_outputs(&mut self) -> Result<Finding, Fault> {
        let schema = &self.server.address.schema;
        let lost = format!(
            "SELECT namespace, key FROM {schema}.attempt AS record
            WHERE state = 'done' AND kind = 'once' AND output_bytes IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM {schema}.output WHERE fence = record.fence)
            LIMIT {ENOUGH}"
        );
        match self.look_for_outputs(&lost) {
            Err(fault) if fault.is_of_time() => {
                Ok(Finding::note("outputs", self.estimate("output")?, lost))
            }
            found => found,
        }
    }

    fn look_for_outputs(&mut self, lost: &str) -> Result<Finding, Fault> {
        let lost = self.texts(lost, &[])?;
        let schema = self.server.address.schema.clone();
        let [kept, strays] = self.words(&format!(
            "SELECT count(*)::text, (count(*) FILTER (WHERE NOT EXISTS
                (SELECT 1 FROM {schema}.attempt WHERE fence = kept.fence)))::text
            FROM {schema}.output AS kept WHERE part = 0"
        ))?;
        let or_more = if lost.len() < ENOUGH { "" } else { " or more" };
        let option = &self.server.address.option;
        Ok(match lost.first().map(Vec::as_slice) {
            Some([namespace, key]) => Finding::bad(
                "outputs",
                format!(
                    "{kept} are kept; {}{or_more} records have lost theirs, one of them {key}",
                    lost.len()
                ),
                format!(
                    "doubletap forget --key={} --namespace {} {option}",
                    quote(key),
                    quote(namespace)
                ),
            ),
            _ if strays == "0" => Finding::ok("outputs", format!("{kept} are kept")),
            _ => Finding::note(
                "outputs",
                format!("{kept} are kept; {strays} of them belong to no attempt"),
                format!(
                    "DELETE FROM {schema}.output WHERE fence NOT IN (SELECT fence FROM {schema}.attempt)"
                ),
            ),
        })
    }

    fn examine_durability(&mut self) -> Result<Finding, Fault> {
        let [fsync, pages, commit] = self.words(
            "SELECT current_setting('fsync'), current_setting('full_page_writes'),
                current_setting('synchronous_commit')",
        )?;
        // Each change says itself what it needs of `synchronous_commit`.
        Ok(if fsync != "on" {
            Finding::bad(
                "durability",
                "fsync is off: a power cut can lose every record and damage the database",
                "set fsync = on in postgresql.conf, and start the server again",
            )
        } else if pages != "on" {
            Finding::bad(
                "durability",
                "full_page_writes is off: a power cut can damage pages, records among them",
                "set full_page_writes = on in postgresql.conf (a file system that writes whole pages needs it not)",
            )
        } else {
            Finding::ok(
                "durability",
                format!(
                    "what is recorded survives a power cut (synchronous_commit is {commit} for others, and on for us)"
                ),
            )
        })
    }

    fn examine_standby(&mut self) -> Result<Finding, Fault> {
        let [standby, read_only] = self.words(
            "SELECT pg_is_in_recovery()::text, current_setting('default_transaction_read_only')",
        )?;
        Ok(if standby == "true" {
            let found = "it is a standby: nothing can be claimed or recorded here";
            Finding::bad("standby", found, "name the primary in the URL")
        } else if read_only == "on" {
            Finding::bad(
                "standby",
                "it is a primary whose default_transaction_read_only is on",
                "ALTER DATABASE … SET default_transaction_read_only = off",
            )
        } else {
            Finding::ok("standby", "it is a primary")
        })
    }

    fn examine_replication(&mut self) -> Result<Finding, Fault> {
        let [names, replicas, hidden, waited_for] = self.words(
            "SELECT current_setting('synchronous_standby_names'), count(*)::text,
                (count(*) FILTER (WHERE sync_state IS NULL))::text,
                (count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')))::text
            FROM pg_stat_replication",
        )?;
        let needed = needed(&names);
        Ok(if !names.is_empty() && waited_for.parse().is_ok_and(|there: usize| there >= needed) {
            Finding::ok("replication", format!("a commit waits for {names}"))
        } else if !names.is_empty() && hidden != "0" {
            Finding::note(
                "replication",
                format!(
                    "a commit waits for {names}, and this role may not see whether they are there"
                ),
                format!("GRANT pg_read_all_stats TO {}", self.server.address.role()),
            )
        } else if !names.is_empty() {
            Finding::bad(
                "replication",
                format!(
                    "a commit waits for {names}, of which {waited_for} are there, and {needed} must be: whatever is recorded waits for ever"
                ),
                "start the standby again, or take it out of synchronous_standby_names in postgresql.conf",
            )
        } else if replicas == "0" {
            Finding::ok("replication", "there is no replica")
        } else {
            Finding::note(
                "replication",
                format!(
                    "{replicas} replicas, and no commit waits for one: after a fail-over the last claims and records may be gone, and what they are about is run again"
                ),
                "set synchronous_standby_names in postgresql.conf",
            )
        })
    }

    fn examine_collation(&mut self) -> Result<Finding, Fault> {
        let table = self.table("attempt");
        let [others, encoding] = self.words(&format!(
            "SELECT (SELECT coalesce(string_agg(attname, ', '), '') FROM pg_attribute
                JOIN pg_collation ON pg_collation.oid = attcollation
                WHERE attrelid = {table} AND attname IN ('kind', 'namespace', 'key')
                AND collname <> 'C'), current_setting('server_encoding')"
        ))?;
        Ok(if others.is_empty() {
            Finding::ok("collation", format!("names are compared by their bytes, in {encoding}"))
        } else {
            Finding::bad(
                "collation",
                format!(
                    "{others} are not compared by their bytes, so that one key may be taken for another"
                ),
                format!(
                    "ALTER TABLE {}.attempt ALTER COLUMN … TYPE text COLLATE \"C\"",
                    self.server.address.schema
                ),
            )
        })
    }

    fn examine_tls(&mut self) -> Result<Finding, Fault> {
        let found = self.texts(
            "SELECT ssl::text, coalesce(version, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            &[],
        )?;
        Ok(match found.first().map(Vec::as_slice) {
            Some([on, version]) if on == "true" => Finding::ok("tls", version.clone()),
            _ if self.server.address.is_local() => Finding::ok("tls", "none, on a socket"),
            _ => Finding::note(
                "tls",
                "none: passwords' proofs, keys and outputs can be read on the way",
                "add sslmode=verify-full to the URL",
            ),
        })
    }
}

/// How many standbys a commit waits for: `FIRST 2 (a, b)`, `ANY 2 (a, b)`, `2 (a, b)`, and of
/// names alone for one.
fn needed(names: &str) -> usize {
    let number = names.split_once('(').and_then(|(before, _)| before.split_whitespace().last());
    number.and_then(|number| number.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_standbys_are_needed_as_the_setting_says() {
        for (names, number) in [
            ("one", 1),
            ("one, other", 1),
            ("*", 1),
            ("FIRST 2 (one, other)", 2),
            ("any 3(one, other, third)", 3),
            ("2 (one, other)", 2),
        ] {
            assert_eq!(needed(names), number, "{names}");
        }
    }
}
