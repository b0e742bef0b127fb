//! Gathers what a call came to, and writes its report line.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::claim::attempt::{Attempt, Extent};
use crate::claim::decide::{BusyWhy, UnresolvedWhy};
use crate::claim::fingerprint::Fingerprint;
use crate::claim::key::{Key, Kind, Subject};
use crate::claim::outcome::Outcome;
use crate::claim::time::Clock as _;
use crate::cli::LogPlace;
use crate::cli::values::ReportTarget;
use crate::exit::Refusal;
use crate::process::duplicate;
use crate::report::document::{exit_code, ms, signal, timestamp};
use crate::report::line::{CallOutcome, HolderLine, Line, Sink};

use super::super::Context;
#[cfg(feature = "otel")]
use super::environment::Variables;
#[cfg(feature = "otel")]
use super::trace::{Caller, Trace};

/// What a call came to, so far.
pub(in crate::commands) struct Account {
    sinks: Vec<(String, Sink)>,
    line: Line,
    outcome: Option<CallOutcome>,
    spoke: Spoke,
    busy_because: Option<BusyWhy>,
    unresolved_because: Option<UnresolvedWhy>,
    store: Duration,
    waited: Duration,
    #[cfg(feature = "otel")]
    trace: Option<Trace>,
}

/// Whether a command has written something to our standard output, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Spoke {
    Yes,
    No,
}

impl Account {
    /// Opens what the line will go to, before anything runs.
    pub(in crate::commands) fn open(
        context: &Context,
        report: Option<&ReportTarget>,
        subject: &Subject,
    ) -> anyhow::Result<Self> {
        let mut sinks = Vec::new();
        match report {
            Some(ReportTarget::File(path)) => {
                let name = format!("the report {}", path.display());
                let sink = Sink::replace(path)
                    .map_err(|why| Refusal::usage(format!("{name} cannot be opened: {why}")))?;
                sinks.push((name, sink));
            }
            Some(ReportTarget::Descriptor(number)) => {
                let descriptor = duplicate(*number).map_err(|why| {
                    Refusal::usage(format!("--report fd:{number}: {why}; open it for writing"))
                })?;
                let name = format!("the report on descriptor {number}");
                sinks.push((name, descriptor.into()));
            }
            None => {}
        }
        if let Some(LogPlace { path, .. }) = &context.log {
            let name = format!("the log {}", path.display());
            let sink = Sink::append(path).with_context(|| name.clone())?;
            sinks.push((name, sink));
        }
        Ok(Self {
            sinks,
            #[cfg(feature = "otel")]
            trace: Trace::begin(context.voice, Caller::of(subject)),
            ..Self::unwritten(context, subject)
        })
    }

    /// The same for a call of this kind that has no key.
    pub(in crate::commands) fn open_without_key(
        context: &Context,
        report: Option<&ReportTarget>,
        kind: Kind,
    ) -> anyhow::Result<Self> {
        let subject = Subject { kind, namespace: context.namespace()?, key: Key::new("-")? };
        let mut account = Self::open(context, report, &subject)?;
        account.line.key = None;
        Ok(account)
    }

    /// An account of a call that has no line.
    pub(in crate::commands) fn unwritten(context: &Context, subject: &Subject) -> Self {
        let (store, waited) = (Duration::ZERO, Duration::ZERO);
        Self {
            sinks: Vec::new(),
            line: blank(context, subject),
            outcome: None,
            spoke: Spoke::No,
            busy_because: None,
            unresolved_because: None,
            store,
            waited,
            #[cfg(feature = "otel")]
            trace: None,
        }
    }

    /// Notes that the line is about a request that a web server has handed on.
    pub(in crate::commands) fn of_cgi(&mut self) {
        self.line.verb = "cgi";
    }

    /// Notes that the command has written something, or may have: it runs.
    pub(in crate::commands) fn spoke(&mut self) {
        self.spoke = Spoke::Yes;
    }

    /// Notes that the command has ended and has not.
    pub(in crate::commands) fn kept_silent(&mut self) {
        self.spoke = Spoke::No;
    }

    /// Whether the command has written something.
    pub(in crate::commands) fn has_spoken(&self) -> Spoke {
        self.spoke
    }

    /// Notes that the line is about a step of what it names.
    pub(in crate::commands) fn of_step(&mut self, name: &Key) {
        self.line.verb = Kind::Step.as_str();
        self.line.step = Some(name.to_string());
    }

    /// Notes what was asked for.
    pub(in crate::commands) fn asked(&mut self, fingerprint: &Fingerprint) {
        self.line.fingerprint = Some(fingerprint.to_string());
    }

    /// Whether it is known what the call came to.
    pub(in crate::commands) fn is_settled(&self) -> bool {
        self.outcome.is_some()
    }

    /// What the call came to, as far as that is known.
    pub(in crate::commands) fn outcome(&self) -> Option<CallOutcome> {
        self.outcome
    }

    /// When it makes sense to ask again, if that is known.
    pub(in crate::commands) fn comes_free_after(&self) -> Option<Duration> {
        self.line.retry_after_ms.map(Duration::from_millis)
    }

    /// Notes what the call came to.
    pub(in crate::commands) fn settle(&mut self, outcome: CallOutcome) {
        self.outcome = Some(outcome);
    }

    /// Counts time spent in the store since `began`.
    pub(in crate::commands) fn in_store(&mut self, began: Instant) {
        self.store += began.elapsed();
    }

    /// Counts time spent waiting for the key since `began`.
    pub(in crate::commands) fn waiting(&mut self, began: Instant) {
        self.waited += began.elapsed();
    }

    /// Notes why what was asked for could not be had now.
    pub(in crate::commands) fn busy_because(&mut self, why: BusyWhy) {
        self.busy_because = Some(why);
    }

    /// Whether it could not be had because it rests.
    pub(in crate::commands) fn is_resting(&self) -> bool {
        self.busy_because == Some(BusyWhy::Resting)
    }

    /// Notes why only a person can go on.
    pub(in crate::commands) fn unresolved_because(&mut self, why: UnresolvedWhy) {
        self.unresolved_because = Some(why);
    }

    /// Whether there were as many attempts as are allowed.
    pub(in crate::commands) fn is_exhausted(&self) -> bool {
        self.unresolved_because == Some(UnresolvedWhy::Exhausted)
    }

    /// Notes when it makes sense to ask again.
    pub(in crate::commands) fn retry_after(&mut self, after: Option<Duration>) {
        self.line.retry_after_ms = after.map(ms);
    }

    /// Notes that an interrupted attempt was taken over.
    pub(in crate::commands) fn took_over(&mut self) {
        self.line.taken_over = true;
    }

    /// Notes which attempt the line is about.
    pub(in crate::commands) fn about(&mut self, attempt: &Attempt) {
        self.line.attempt = Some(attempt.number);
        self.line.generation = Some(attempt.generation);
        self.line.fence = Some(attempt.fence.0);
        self.line.holder = Some(HolderLine::of(&attempt.holder));
    }

    /// Notes which attempt is given again, and how it ended.
    pub(in crate::commands) fn replayed(&mut self, attempt: &Attempt) {
        self.about(attempt);
        let end = attempt.end.as_ref();
        let output = end.and_then(|end| end.output);
        self.line.run_ms = end.and_then(|end| end.run).map(ms);
        self.line.output_bytes = output.map(|output| output.bytes);
        self.line.truncated = output.is_some_and(|output| output.extent == Extent::Truncated);
        self.ended(attempt.outcome());
        self.settle(CallOutcome::Replayed);
    }

    /// Notes how the command ended.
    pub(in crate::commands) fn ended(&mut self, outcome: Option<Outcome>) {
        self.line.exit_code = exit_code(outcome);
        self.line.signal = signal(outcome);
    }

    /// Notes that nothing of the output is kept after all.
    pub(in crate::commands) fn output_was_shed(&mut self) {
        self.line.output_bytes = Some(0);
        self.line.truncated = true;
    }

    /// Notes how long the command ran, and what is kept of its output.
    pub(in crate::commands) fn ran(&mut self, run: Duration, output: Option<(u64, Extent)>) {
        self.line.run_ms = Some(ms(run));
        self.line.output_bytes = output.map(|(bytes, _)| bytes);
        self.line.truncated = output.is_some_and(|(_, extent)| extent == Extent::Truncated);
    }

    /// What the command finds of the trace that the call is part of, if that is ours to say.
    #[cfg(feature = "otel")]
    pub(in crate::commands) fn trace_variables(&self) -> Variables {
        self.trace.as_ref().map(Trace::variables).unwrap_or_default()
    }

    /// Whether somebody wants to know what the call came to.
    fn is_read(&self) -> bool {
        #[cfg(feature = "otel")]
        if self.trace.is_some() {
            return true;
        }
        !self.sinks.is_empty()
    }

    /// Writes the line, once. The command has had its effect, so a report that
    /// cannot be written is told and changes nothing.
    pub(in crate::commands) fn close(&mut self, context: &Context) {
        if !self.is_read() {
            return;
        }
        self.line.ts = timestamp(context.clock.now().wall);
        self.line.outcome = self.outcome.unwrap_or(CallOutcome::Error);
        self.line.store_ms = ms(self.store);
        self.line.wait_ms = ms(self.waited);
        for (name, mut sink) in self.sinks.drain(..) {
            if let Err(why) = sink.write(&self.line) {
                context.voice.warn(&format!("{name} could not be written: {why}"));
            }
        }
        #[cfg(feature = "otel")]
        if let Some(trace) = self.trace.take() {
            trace.send(context, &self.line);
        }
    }
}

fn blank(context: &Context, subject: &Subject) -> Line {
    Line {
        ts: String::new(),
        verb: subject.kind.as_str(),
        namespace: subject.namespace.to_string(),
        key: Some(subject.key.to_string()),
        step: None,
        outcome: CallOutcome::Error,
        exit_code: None,
        signal: None,
        attempt: None,
        generation: None,
        fence: None,
        taken_over: false,
        retry_after_ms: None,
        fingerprint: None,
        wait_ms: 0,
        store_ms: 0,
        run_ms: None,
        output_bytes: None,
        truncated: false,
        source: context.source.clone(),
        holder: None,
        version: env!("CARGO_PKG_VERSION"),
    }
}
