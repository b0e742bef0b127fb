//! `stats`: what the store comes to, and the log where one is named.

use std::fs::File;
use std::io::{self, BufReader};

use anyhow::Context as _;

use crate::claim::key::Namespace;
use crate::claim::survey::Survey;
use crate::cli::{LogPlace, SaidBy, StatsArgs};
use crate::exit::Ending;
use crate::report::log::LogTally;
use crate::report::metrics;
use crate::report::stats::{Stats, document, table};

use super::context::{Context, form, print_answer, print_document};

/// Sums up all namespaces, unless one is named.
pub(super) fn run(context: &Context, args: &StatsArgs) -> anyhow::Result<Ending> {
    let log = match &context.log {
        Some(place) => Some((place.path.as_path(), read_log(context, place)?)),
        None => None,
    };
    let survey = match context.open_to_read()? {
        Some(mut store) => store.survey(context.named_namespace(), &mut context.witness())?,
        None => Survey::default(),
    };
    let stats = Stats {
        survey: &survey,
        namespace: context.named_namespace(),
        store: context.place(),
        log: log.as_ref().map(|(path, tally)| (*path, tally)),
        now: &context.now(),
    };
    if args.json {
        return print_document(&document(&stats));
    }
    print_answer(&if args.prometheus { metrics::exposition(&stats) } else { table(&stats, form()) })
}

/// Reads the log. One that is named by a variable may be there only after the first
/// call that is logged; one that is named in the call itself is there, or misspelt.
fn read_log(context: &Context, log: &LogPlace) -> anyhow::Result<LogTally> {
    let name = || format!("the log {}", log.path.display());
    let file = match File::open(&log.path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound && log.said_by == SaidBy::Variable => {
            return Ok(LogTally::default());
        }
        other => other.with_context(name)?,
    };
    let namespace = context.named_namespace().map(Namespace::as_str);
    LogTally::read(BufReader::with_capacity(1 << 16, file), namespace).with_context(name)
}
