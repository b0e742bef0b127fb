//! Value parsers: a text becomes a value of the domain, or a reason why not.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, Command};

use crate::claim::duration::{self, Limit};
use crate::claim::fingerprint::{BadPart, Part};
use crate::claim::http::statuses::{BadStatuses, Statuses};
use crate::claim::id::Token;
use crate::claim::key::{self, Key, Namespace};
use crate::claim::outcome::{BadCodes, RecordPolicy};
use crate::claim::size::{self, SizeLimit};
use crate::claim::standing::Standing;
use crate::place::{self, Engine, Place, without_password};

pub(super) fn key() -> impl TypedValueParser<Value = Key> {
    OsStringValueParser::new().try_map(|text| Key::from_os(&text))
}

pub(super) fn namespace() -> impl TypedValueParser<Value = Namespace> {
    OsStringValueParser::new().try_map(|text: OsString| {
        text.to_str().ok_or(key::Refused::NotUtf8).and_then(Namespace::new)
    })
}

pub(super) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text: OsString| {
        if text.is_empty() {
            return Err("it is empty (is a shell variable unset?)");
        }
        Ok(PathBuf::from(text))
    })
}

/// What a shell makes of nothing is success.
pub(super) fn shell_command() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|text: OsString| {
        if text.as_encoded_bytes().trim_ascii().is_empty() {
            return Err("it is empty (is a shell variable unset?)");
        }
        Ok(text)
    })
}

/// Where calls are logged. The empty path means that there is no log: a variable
/// that switches logging off is set to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlace {
    /// The file.
    pub path: PathBuf,
    /// Who says so.
    pub said_by: SaidBy,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidBy {
    /// The command line.
    Option,
    /// The environment.
    Variable,
}

pub(super) fn log() -> impl TypedValueParser<Value = LogPlace> {
    LogParser
}

#[derive(Clone)]
struct LogParser;

impl TypedValueParser for LogParser {
    type Value = LogPlace;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        text: &OsStr,
    ) -> Result<LogPlace, clap::Error> {
        Ok(LogPlace { path: text.into(), said_by: SaidBy::Option })
    }

    fn parse_ref_(
        &self,
        _: &Command,
        _: Option<&Arg>,
        text: &OsStr,
        source: ValueSource,
    ) -> Result<LogPlace, clap::Error> {
        let said_by = match source {
            ValueSource::EnvVariable => SaidBy::Variable,
            _ => SaidBy::Option,
        };
        Ok(LogPlace { path: text.into(), said_by })
    }
}

pub(super) fn store() -> impl TypedValueParser<Value = Place> {
    StoreParser
}

#[derive(Clone)]
struct StoreParser;

impl TypedValueParser for StoreParser {
    type Value = Place;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        text: &OsStr,
    ) -> Result<Place, clap::Error> {
        store_at(text).map_err(|why| {
            // Not what clap says by itself: a password may be in it.
            let shown = without_password(&text.to_string_lossy());
            let message = format!("invalid value '{shown}' for '--store <PATH|URL>': {why}");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// The store of this name.
fn store_at(text: &OsStr) -> Result<Place, String> {
    if text.is_empty() {
        return Err("it is empty (is a shell variable unset?)".to_owned());
    }
    match place::url(&text.to_string_lossy())? {
        None => Ok(Place::File(text.into())),
        Some(_) if text.to_str().is_none() => Err("it is not UTF-8".to_owned()),
        Some(url) if is_built_in(url.engine()) => Ok(Place::Server(url)),
        Some(url) => Err(format!(
            "this build has no {} store; one that has: cargo install --path . --features {}",
            url.engine().name(),
            url.engine().feature()
        )),
    }
}

fn is_built_in(engine: Engine) -> bool {
    match engine {
        Engine::Postgres => cfg!(feature = "postgres"),
        Engine::Redis => cfg!(feature = "redis"),
    }
}

pub(super) fn report() -> impl TypedValueParser<Value = ReportTarget> {
    path().try_map(|path| {
        // A stream of ours under another name is not to be emptied.
        let number = match path.to_str() {
            Some("/dev/stdout") => "1",
            Some("/dev/stderr") => "2",
            Some(text) => match text.strip_prefix("fd:").or(text.strip_prefix("/dev/fd/")) {
                Some(number) => number,
                None => return Ok(ReportTarget::File(path)),
            },
            None => return Ok(ReportTarget::File(path)),
        };
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| number.parse().ok()).flatten();
        number.map(ReportTarget::Descriptor).ok_or("a descriptor is written fd:3")
    })
}

pub(super) fn positive(text: &str) -> Result<Duration, duration::Refused> {
    duration::parse_positive(text)
}

pub(super) fn any_duration(text: &str) -> Result<Duration, duration::Refused> {
    duration::parse(text)
}

pub(super) fn claim_ttl(text: &str) -> Result<Duration, duration::Refused> {
    duration::parse_claim(text)
}

pub(super) fn ttl(text: &str) -> Result<Limit, duration::Refused> {
    duration::parse_ttl(text)
}

pub(super) fn wait(text: &str) -> Result<Limit, duration::Refused> {
    duration::parse_wait(text)
}

pub(super) fn size_limit(text: &str) -> Result<SizeLimit, size::Refused> {
    SizeLimit::parse(text)
}

pub(super) fn record(text: &str) -> Result<RecordPolicy, BadCodes> {
    RecordPolicy::parse(text)
}

pub(super) fn standing() -> impl TypedValueParser<Value = Standing> {
    PossibleValuesParser::new(Standing::KNOWN.map(Standing::as_str)).try_map(|word: String| {
        Standing::KNOWN.into_iter().find(|known| known.as_str() == word).ok_or("not a state")
    })
}

pub(super) fn part(text: &str) -> Result<Part, BadPart> {
    Part::parse(text)
}

/// A part of a fingerprint where there is no command, and no standard input that could
/// be handed on.
pub(super) fn part_without_command(text: &str) -> Result<Part, String> {
    match Part::parse(text).map_err(|why| why.to_string())? {
        Part::Argv | Part::None => Err("there is no command to compare".to_owned()),
        Part::Stdin => {
            Err("it would take the input away from the script; use file:PATH".to_owned())
        }
        part => Ok(part),
    }
}

/// What is compared of a request, beyond what always is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestPart {
    /// The body is compared as a JSON document.
    Json,
    /// This too.
    Also(Part),
}

pub(super) fn request_part(text: &str) -> Result<RequestPart, String> {
    if text == "json" {
        return Ok(RequestPart::Json);
    }
    match Part::parse(text) {
        Ok(Part::Stdin) => Err("the body is compared in any case".to_owned()),
        Ok(Part::None) => Err("what is asked for is compared in any case".to_owned()),
        Ok(part) => Ok(RequestPart::Also(part)),
        Err(_) => Err(format!(
            "{text:?} is none of json, argv, cwd, env:NAME, file:PATH, json:PATH, text:STRING"
        )),
    }
}

pub(super) fn statuses(text: &str) -> Result<Statuses, BadStatuses> {
    Statuses::parse(text)
}

/// The name of an environment variable.
pub(super) fn variable(text: &str) -> Result<String, &'static str> {
    match text {
        "" => Err("it is empty (is a shell variable unset?)"),
        name if name.contains(['=', '$']) || name.contains(char::is_control) => {
            Err("it is no name of a variable; write HTTP_X_KEY, without $ and value")
        }
        name if name.len() > 255 => Err("it is longer than 255 bytes"),
        name => Ok(name.to_owned()),
    }
}

pub(super) fn token(text: &str) -> Result<Token, &'static str> {
    Token::parse(text).ok_or(BAD_TOKEN)
}

/// What is said of a text that is no token.
pub const BAD_TOKEN: &str =
    "it is not what begin or acquire printed, 32 hexadecimal digits (is a shell variable unset?)";

/// `--report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// A file, whose contents are replaced.
    File(PathBuf),
    /// A descriptor that the caller opened.
    Descriptor(i32),
}
