//! Says what a server promises, and what is wrong with a store on it.

use std::collections::BTreeMap;

use redis::{Cmd, FromRedisValue};

use super::RedisShelf;
use super::address::{Trust, Way};
use super::failure::Failure;
use super::setup::FORMAT;
use crate::claim::size;
use crate::store::shelf::Shelf as _;
use crate::store::unreadable::ROW;
use crate::store::{Finding, StoreError, Trouble};
use crate::text::escape;

/// The first release whose scripts write what they have read the clock for.
const OLDEST: u32 = 5;

/// One check: its name, and how it is made.
type Check = (&'static str, fn(&mut RedisShelf) -> Result<Finding, StoreError>);

impl RedisShelf {
    pub(super) fn findings(&mut self) -> Vec<Finding> {
        let checks: [Check; 7] = [
            ("server", Self::examine_server),
            ("format", Self::examine_format),
            ("rows", Self::examine_rows),
            ("durability", Self::examine_durability),
            ("replication", Self::examine_replication),
            ("eviction", Self::examine_eviction),
            ("tls", |shelf| Ok(shelf.examine_tls())),
        ];
        let mut findings = Vec::new();
        for (check, look) in checks {
            match look(self) {
                Ok(found) => findings.push(found),
                Err(why) => {
                    findings.push(Finding::of_error(check, &why));
                    // Of a server that does not answer there is no more to be known.
                    if why.trouble() == Trouble::Away {
                        return findings;
                    }
                }
            }
        }
        findings.extend(self.examine_each_row());
        findings
    }

    /// One finding for each row that cannot be read.
    fn examine_each_row(&mut self) -> Vec<Finding> {
        match self.look_for_unreadable() {
            Ok(unreadable) => unreadable.findings(&self.option()),
            Err(why) => vec![Finding::of_error(ROW, &why)],
        }
    }

    /// The answer to something that a server may not want to say: nothing then.
    fn told<T: FromRedisValue>(&mut self, cmd: &Cmd) -> Result<Option<T>, StoreError> {
        let deadline = self.deadline();
        match self.line.exchange(deadline, |connection| cmd.query(connection)) {
            Ok(answer) => Ok(Some(answer)),
            Err(Failure::Told(_)) => Ok(None),
            Err(_) => self.line.ask(cmd, deadline).map(Some),
        }
    }

    /// A section of what a server says of itself.
    fn info(&mut self, section: &str) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let text: Option<String> = self.told(redis::cmd("INFO").arg(section))?;
        Ok(text.map(|text| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
        }))
    }

    /// A setting, where it may be asked for.
    fn setting(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let told: Option<Vec<String>> = self.told(redis::cmd("CONFIG").arg("GET").arg(name))?;
        Ok(told.and_then(|pair| pair.into_iter().nth(1)))
    }

    fn examine_server(&mut self) -> Result<Finding, StoreError> {
        let shown = self.url.to_string();
        let deadline = self.deadline();
        self.line.ask::<String>(&redis::cmd("PING"), deadline)?;
        let info = self.info("server")?.unwrap_or_default();
        let Some(version) = info.get("redis_version") else {
            return Ok(Finding::ok("server", format!("{shown}, which does not say its release")));
        };
        let number = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
        let found = format!("{shown}, Redis {}", escape(version));
        Ok(if number.is_some_and(|number| number < OLDEST) {
            Finding::bad("server", found, format!("use Redis {OLDEST} or a later one"))
        } else {
            Finding::ok("server", found)
        })
    }

    fn examine_format(&mut self) -> Result<Finding, StoreError> {
        let deadline = self.deadline();
        let version: Option<String> =
            self.line.ask(redis::cmd("GET").arg(self.keys.version()), deadline)?;
        super::setup::check(&self.url, version.as_deref())?;
        let name = &self.line.address().name;
        Ok(Finding::ok("format", format!("version {FORMAT}, prefix {name}")))
    }

    fn examine_rows(&mut self) -> Result<Finding, StoreError> {
        let deadline = self.deadline();
        let mut asked = redis::pipe();
        asked.cmd("ZCARD").arg(self.keys.subjects());
        asked.cmd("ZCARD").arg(self.keys.fences());
        asked.cmd("ZCARD").arg(self.keys.running());
        let (chains, attempts, running): (u64, u64, u64) =
            self.line.ask_by(deadline, |connection| asked.query(connection))?;
        let found =
            format!("{attempts} attempts in {chains} chains, {running} begun and not ended");
        Ok(Finding::ok("rows", found))
    }

    fn examine_durability(&mut self) -> Result<Finding, StoreError> {
        let (check, persistence) = ("durability", self.info("persistence")?);
        let Some(info) = persistence else {
            let found = "the server does not say whether a restart forgets what was recorded";
            return Ok(Finding::note(check, found, "let this user ask: INFO persistence"));
        };
        let said = |name: &str| info.get(name).map(String::as_str);
        if said("aof_enabled") != Some("1") {
            let found = "best effort: a restart of the server forgets what its last snapshot has not, finished runs included, and they run again";
            let remedy = "redis-cli CONFIG SET appendonly yes, then CONFIG SET appendfsync always";
            return Ok(Finding::bad(check, found, remedy));
        }
        if said("aof_last_write_status").is_some_and(|status| status != "ok") {
            let found = "the server cannot write its append-only file";
            return Ok(Finding::bad(check, found, "make room on its disk, and see its log"));
        }
        let remedy = "redis-cli CONFIG SET appendfsync always";
        Ok(match self.setting("appendfsync")?.as_deref() {
            Some("always") => Finding::ok(check, "an append-only file, synced at every write"),
            Some("everysec") => Finding::note(
                check,
                "an append-only file, synced every second: power loss may undo the last second",
                remedy,
            ),
            Some(other) => Finding::note(
                check,
                format!(
                    "an append-only file, synced when the system likes (appendfsync {}): power loss may undo half a minute",
                    escape(other)
                ),
                remedy,
            ),
            None => Finding::note(
                check,
                "an append-only file; the server does not say when it is synced",
                remedy,
            ),
        })
    }

    fn examine_replication(&mut self) -> Result<Finding, StoreError> {
        let (check, asked) = ("replication", self.acknowledgements);
        let Some(info) = self.info("replication")? else {
            let found = "the server does not say whether it has replicas";
            return Ok(Finding::note(check, found, "let this user ask: INFO replication"));
        };
        let number = |name: &str| info.get(name).and_then(|text| text.parse::<u32>().ok());
        let replicas = number("connected_slaves").unwrap_or(0);
        if info.get("role").is_some_and(|role| role == "slave") {
            let found = "this server is a replica, which cannot be written";
            return Ok(Finding::bad(check, found, "name the server that it copies"));
        }
        Ok(if replicas < asked {
            let found = format!(
                "{asked} replicas are to acknowledge every write, and there are {replicas}"
            );
            Finding::bad(check, found, "start them, or ask for fewer with --redis-wait")
        } else if asked > 0 {
            let found = format!(
                "{replicas} replicas, of which {asked} acknowledge every claim and every record; a fail-over to another may still undo them"
            );
            Finding::ok(check, found)
        } else if replicas > 0 {
            let found = format!(
                "{replicas} replicas, which follow a little later: a fail-over may undo the last claims and records, and then two run"
            );
            Finding::note(check, found, "ask for acknowledgements: --redis-wait 1")
        } else {
            Finding::ok(check, "no replicas")
        })
    }

    fn examine_eviction(&mut self) -> Result<Finding, StoreError> {
        let check = "eviction";
        let Some(info) = self.info("memory")? else {
            let found = "the server does not say whether it evicts keys";
            return Ok(Finding::note(check, found, "let this user ask: INFO memory"));
        };
        let policy = match info.get("maxmemory_policy") {
            Some(policy) => policy.clone(),
            None => self.setting("maxmemory-policy")?.unwrap_or_default(),
        };
        let number = |name: &str| info.get(name).and_then(|text| text.parse::<u64>().ok());
        let limit = match number("maxmemory") {
            None | Some(0) => "memory without a limit".to_owned(),
            Some(most) => format!("at most {} of memory", size::for_people(most)),
        };
        Ok(match policy.as_str() {
            "noeviction" => Finding::ok(check, format!("nothing is evicted; {limit}")),
            "" => Finding::note(
                check,
                format!("the server does not say whether it evicts keys; {limit}"),
                "redis-cli CONFIG GET maxmemory-policy",
            ),
            other => Finding::bad(
                check,
                format!("{}: the server drops records when it runs short; {limit}", escape(other)),
                "redis-cli CONFIG SET maxmemory-policy noeviction",
            ),
        })
    }

    fn examine_tls(&self) -> Finding {
        let check = "tls";
        match &self.line.address().way {
            Way::Socket(_) => Finding::ok(check, "none: a socket of this machine"),
            Way::Tls(_, _, Trust::System) => {
                Finding::ok(check, "verified by the authorities of this machine")
            }
            Way::Tls(_, _, Trust::Authority(file)) => {
                Finding::ok(check, format!("verified by {}", escape(&file.to_string_lossy())))
            }
            Way::Tls(_, _, Trust::Anyone) => Finding::bad(
                check,
                "not verified: whoever is on the way can be the store",
                "name its authority with ?cacert=FILE in place of insecure",
            ),
            Way::Plain(host, _) if is_here(host) => Finding::ok(check, "none, on this machine"),
            Way::Plain(..) => Finding::note(
                check,
                "none: whoever is on the way reads tokens and outputs",
                "name it with rediss://, if the server speaks TLS",
            ),
        }
    }
}

fn is_here(host: &str) -> bool {
    let is_loopback =
        |host: &str| host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host == "localhost" || is_loopback(host)
}
