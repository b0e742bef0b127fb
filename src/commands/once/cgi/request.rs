//! What a web server says of a request, in the environment of its handler (RFC 3875,
//! section 4), and what of it makes two requests the same.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;

use anyhow::Context as _;

use crate::claim::canonical_json::canonical;
use crate::claim::fingerprint::{Field, FieldDigest, Fingerprint, Part};
use crate::claim::http::content_length;
use crate::cli::values::RequestPart;
use crate::process::stdin::{Bounds, Spooled, drop_stdin, spool_within};
use crate::report::problem::Problem;

use super::super::super::asking::fields;

/// The variable without which there is no request.
pub(super) const METHOD: &str = "REQUEST_METHOD";

/// A variable of the server; the empty text where there is none.
#[expect(clippy::disallowed_methods, reason = "the server speaks to us in variables")]
pub(super) fn variable(name: &str) -> Vec<u8> {
    env::var_os(OsStr::new(name)).unwrap_or_default().into_vec()
}

/// Why a request cannot be told from others.
pub(super) enum Unusable {
    /// It is not as it should be.
    Bad(Problem, String),
    /// Something failed here.
    Failed(anyhow::Error),
}

/// Reads the body of a request that is answered without a look at it. A server may hand on
/// no answer before it has got rid of the body: fcgiwrap makes a 502 of one that comes too
/// early, and Apache breaks it off.
pub(super) fn drop_body() {
    drop_rest(content_length(&variable("CONTENT_LENGTH")).ok().flatten(), 0);
}

/// The same for a body of which so much has been read. What cannot be read is no worse than
/// what nobody has read.
fn drop_rest(length: Option<u64>, read: u64) {
    let _ = drop_stdin(length.map(|length| length.saturating_sub(read)));
}

/// Reads the body, which the handler then finds again, and digests what is asked for. Of
/// one that cannot be used nothing is left.
pub(super) fn fingerprint(
    most: Option<u64>,
    parts: &[RequestPart],
    command: &[OsString],
) -> Result<Fingerprint, Unusable> {
    let (path, query) = split(&variable("REQUEST_URI"));
    let mut all = vec![
        field("method", &[&variable(METHOD)]),
        field("path", &[&variable("SCRIPT_NAME"), &variable("PATH_INFO"), &path]),
        field("query", &[&variable("QUERY_STRING"), &query]),
        field("content type", &[&variable("CONTENT_TYPE")]),
        body(most, parts.contains(&RequestPart::Json))?,
    ];
    let also: Vec<Part> = parts
        .iter()
        .filter_map(|part| match part {
            RequestPart::Json => None,
            RequestPart::Also(part) => Some(part.clone()),
        })
        .collect();
    let command = also.contains(&Part::Argv).then_some(command);
    all.extend(fields(command, &also).map_err(Unusable::Failed)?);
    Ok(Fingerprint::of(all))
}

/// The path and the query of what the client asked for. Where a server rewrites paths, only
/// that tells two of them apart.
fn split(uri: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mark = uri.iter().position(|byte| *byte == b'?').unwrap_or(uri.len());
    let (path, query) = uri.split_at(mark);
    (path.to_owned(), query.to_owned())
}

fn field(name: &str, items: &[&[u8]]) -> Field {
    let mut digest = FieldDigest::new();
    for item in items {
        digest.item(item);
    }
    Field { name: name.to_owned(), digest: digest.finish() }
}

/// What the fingerprint says of a body that is no JSON, or is compared byte by byte.
const BYTES: &[u8] = b"bytes";
const JSON: &[u8] = b"json";

fn body(most: Option<u64>, is_json: bool) -> Result<Field, Unusable> {
    let bad = |problem, why: &str| Unusable::Bad(problem, why.to_owned());
    let length = content_length(&variable("CONTENT_LENGTH")).map_err(|_| {
        drop_body();
        let problem = Problem::bad_request("The length of this request is not a number of bytes.");
        bad(problem, "its CONTENT_LENGTH is no number of bytes")
    })?;
    let mut digest = FieldDigest::new();
    digest.item(BYTES);
    let (mut text, mut read) = (Vec::new(), 0);
    let see = |piece: &[u8]| {
        read += piece.len() as u64;
        digest.stream(piece);
        if is_json {
            text.extend_from_slice(piece);
        }
    };
    let spooled = spool_within(&env::temp_dir(), Bounds { length, most }, see);
    if !matches!(spooled, Ok(Spooled::Whole)) {
        drop_rest(length, read);
    }
    match spooled.context("the body of the request").map_err(Unusable::Failed)? {
        Spooled::Whole => {}
        Spooled::TooLarge => {
            let most = most.unwrap_or(u64::MAX);
            let why = format!("its body is larger than the {most} bytes of --max-body");
            return Err(bad(Problem::too_large(most), &why));
        }
        Spooled::CutShort => {
            let problem = Problem::bad_request("The body of this request is not complete.");
            return Err(bad(problem, "its body ended before its CONTENT_LENGTH"));
        }
    }
    // What is no JSON is the handler's to refuse.
    let document = is_json.then(|| canonical(&text).ok()).flatten();
    Ok(match document {
        Some(document) => field("body", &[JSON, &document]),
        None => Field { name: "body".to_owned(), digest: digest.finish() },
    })
}
