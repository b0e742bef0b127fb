//! What verbs ask for, made of their arguments: what they share.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Context as _;

use crate::claim::canonical_json::canonical;
use crate::claim::decide::{OnCrash, OnceTerms};
use crate::claim::fingerprint::{Digest, Field, FieldDigest, Fingerprint, Part};
use crate::cli::once::{HistoryArgs, OnCrashArg};
use crate::process::stdin::{read_pieces, spool_stdin};

/// Terms that say what to do after earlier attempts, and nothing else.
pub(super) fn past(args: &HistoryArgs) -> OnceTerms {
    OnceTerms {
        on_crash: match args.on_crash() {
            OnCrashArg::Rerun => OnCrash::Rerun,
            OnCrashArg::Stop => OnCrash::Stop,
        },
        max_attempts: args.max_attempts,
        ..OnceTerms::default()
    }
}

/// The digest of what is asked for: of the command, if there is one, and of these parts.
pub(super) fn fingerprint(
    command: Option<&[OsString]>,
    parts: &[Part],
) -> anyhow::Result<Fingerprint> {
    fields(command, parts).map(Fingerprint::of)
}

/// The fields of such a digest.
pub(super) fn fields(command: Option<&[OsString]>, parts: &[Part]) -> anyhow::Result<Vec<Field>> {
    let mut fields = Vec::new();
    if let Some(command) = command
        && (!parts.contains(&Part::None) || parts.contains(&Part::Argv))
    {
        fields.push(field("argv", |digest| {
            for word in command {
                digest.item(word.as_bytes());
            }
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
    Ok(fields)
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
