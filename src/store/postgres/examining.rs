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
use crate::store::Finding;
use crate::text::quote;

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
        checks.into_iter().map(&mut look).collect()
    }

    fn texts(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<String>>, Fault> {
        let deadline = self.server.deadline();
        let rows = self.server.rows(deadline, statement, values)?;
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
        for row in self.texts(&statement, &[])? {
            if let [kind, state, count] = &*row {
                let told = kinds.entry(std::cmp::Reverse(kind.clone())).or_default();
                told.push(format!("{count} {state}"));
            }
        }
        let kinds =
            kinds.into_iter().map(|(kind, told)| format!("{}: {}", kind.0, told.join(", ")));
        let told = kinds.collect::<Vec<_>>().join("; ");
        Ok(Finding::ok("rows", if told.is_empty() { "none".to_owned() } else { told }))
    }

    /// Outputs that are gone of records that are there, and those of nobody.
    fn examine_outputs(&mut self) -> Result<Finding, Fault> {
        let schema = self.server.address.schema.clone();
        let lost = self.texts(
            &format!(
                "SELECT namespace, key FROM {schema}.attempt AS record
                WHERE state = 'done' AND kind = 'once' AND output_bytes IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM {schema}.output WHERE fence = record.fence)"
            ),
            &[],
        )?;
        let [kept, strays] = self.words(&format!(
            "SELECT count(*)::text, (count(*) FILTER (WHERE NOT EXISTS
                (SELECT 1 FROM {schema}.attempt WHERE fence = kept.fence)))::text
            FROM {schema}.output AS kept WHERE part = 0"
        ))?;
        let option = &self.server.address.option;
        Ok(match lost.first().map(Vec::as_slice) {
            Some([namespace, key]) => Finding::bad(
                "outputs",
                format!(
                    "{kept} are kept; {} records have lost theirs, the first {key}",
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
        let [names, replicas] = self.words(
            "SELECT current_setting('synchronous_standby_names'),
                (SELECT count(*) FROM pg_stat_replication)::text",
        )?;
        Ok(if !names.is_empty() {
            Finding::ok("replication", format!("a commit waits for {names}"))
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
        let table =
            format!("'{}.attempt'::regclass", self.server.address.schema.replace('\'', "''"));
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
