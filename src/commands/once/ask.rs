//! Turns the arguments of a call into a request.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::claim::attempt::CommandSummary;
use crate::claim::canonical_json::canonical;
use crate::claim::decide::{Of, OnCrash, OnceTerms, Request, Rerun, Terms};
use crate::claim::fingerprint::{Digest, Field, FieldDigest, Fingerprint, Part};
use crate::claim::id::{OperationId, Token};
use crate::claim::key::Kind;
use crate::claim::period::{Calendar, Per};
use crate::claim::time::WallMs;
use crate::cli::once::{OnCrashArg, PerArg};
use crate::cli::{OnceArgs, first_word};
use crate::exit::Refusal;
use crate::process::stdin::{read_pieces, spool_stdin};
use anyhow::Context as _;
use jiff::tz::TimeZone;

use super::super::context::{Context, random};

/// What this call asks for.
pub(super) fn request(context: &Context, args: &OnceArgs) -> anyhow::Result<Request> {
    Ok(Request {
        subject: context.subject(Kind::Once, args.key.key())?,
        token: Token(random()?),
        new_operation: OperationId(random()?),
        fingerprint: fingerprint(args).with_context(|| args.key.key().to_string())?,
        command: CommandSummary {
            word: first_word(&args.run.command).to_string_lossy().into_owned(),
            words: u32::try_from(args.run.command.len()).unwrap_or(u32::MAX),
        },
        lease: args.claim_ttl(),
        parent: None,
        terms: Terms::Once(terms(args, None)),
    })
}

/// How the operation is to run once, in the calendar period that began then.
pub(super) fn terms(args: &OnceArgs, since: Option<WallMs>) -> OnceTerms {
    OnceTerms {
        rerun: if args.rerun { Rerun::Yes } else { Rerun::No },
        on_crash: match args.on_crash() {
            OnCrashArg::Rerun => OnCrash::Rerun,
            OnCrashArg::Stop => OnCrash::Stop,
        },
        max_attempts: args.max_attempts,
        since,
        of: Of::All,
    }
}

/// The calendar that the key follows, if it does.
pub(super) fn calendar(args: &OnceArgs) -> anyhow::Result<Option<Calendar>> {
    let Some(per) = args.per else { return Ok(None) };
    let per = match per {
        PerArg::Hour => Per::Hour,
        PerArg::Day => Per::Day,
        PerArg::Week => Per::Week,
        PerArg::Month => Per::Month,
        PerArg::Year => Per::Year,
    };
    let zone = match &args.tz {
        Some(name) => TimeZone::get(name)
            .map_err(|_| Refusal::usage(format!("--tz {name}: this system knows no such zone")))?,
        None => TimeZone::system(),
    };
    Ok(Some(Calendar { per, zone }))
}

fn fingerprint(args: &OnceArgs) -> anyhow::Result<Fingerprint> {
    let parts = &args.fingerprint;
    let mut fields = Vec::new();
    if !parts.contains(&Part::None) || parts.contains(&Part::Argv) {
        fields.push(field("argv", |digest| {
            args.run.command.iter().for_each(|word| digest.item(word.as_bytes()));
            Ok(())
        })?);
    }
    let mut texts = 0;
    for part in parts {
        match part {
            Part::None | Part::Argv => {}
            Part::Cwd => fields.push(field("cwd", cwd)?),
            Part::Env(name) => fields.push(field(&format!("env:{name}"), |digest| {
                variable(name, digest);
                Ok(())
            })?),
            Part::File(path) => {
                let name = format!("file:{}", path.display());
                fields.push(field(&name, |digest| contents(path, digest))?);
            }
            Part::Json(path) => {
                let name = format!("json:{}", path.display());
                fields.push(field(&name, |digest| json(path, digest))?);
            }
            // Read once, however often it is named.
            Part::Stdin if fields.iter().any(|field| field.name == "stdin") => {}
            Part::Stdin => fields.push(field("stdin", |digest| {
                Ok(spool_stdin(&env::temp_dir(), |piece| digest.stream(piece))?)
            })?),
            Part::Text(text) => {
                texts += 1;
                let name = if texts == 1 { "text".to_owned() } else { format!("text {texts}") };
                fields.push(field(&name, |digest| {
                    digest.item(text.as_bytes());
                    Ok(())
                })?);
            }
        }
    }
    Ok(Fingerprint::of(fields))
}

fn field(
    name: &str,
    fill: impl FnOnce(&mut FieldDigest) -> anyhow::Result<()>,
) -> anyhow::Result<Field> {
    let mut digest = FieldDigest::new();
    fill(&mut digest).with_context(|| format!("--fingerprint {name}"))?;
    let digest: Digest = digest.finish();
    Ok(Field { name: name.to_owned(), digest })
}

fn cwd(digest: &mut FieldDigest) -> anyhow::Result<()> {
    digest.item(env::current_dir()?.as_os_str().as_bytes());
    Ok(())
}

/// An unset variable differs from an empty one.
#[expect(clippy::disallowed_methods, reason = "the caller names the variable to be compared")]
fn variable(name: &str, digest: &mut FieldDigest) {
    match env::var_os(OsStr::new(name)) {
        Some(value) => {
            digest.item(b"set");
            digest.item(value.as_bytes());
        }
        None => digest.item(b"unset"),
    }
}

fn contents(path: &Path, digest: &mut FieldDigest) -> anyhow::Result<()> {
    Ok(read_pieces(&File::open(path)?, |piece| {
        digest.stream(piece);
        Ok(())
    })?)
}

fn json(path: &Path, digest: &mut FieldDigest) -> anyhow::Result<()> {
    let canonical = canonical(&std::fs::read(path)?).context("it is not usable as JSON")?;
    digest.item(&canonical);
    Ok(())
}
