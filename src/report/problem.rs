//! Answers to an HTTP request that its handler does not give: problem documents (RFC 9457),
//! in the form in which a CGI handler hands an answer to its server.
//!
//! The statuses, titles and details for a missing, a reused and a busy key are those of
//! `draft-ietf-httpapi-idempotency-key-header`. Nothing in them says who holds a key, or
//! what is on record: the one who asks may be anybody.

use std::time::Duration;

use serde::Serialize;

/// Where the draft says what the three are.
const DRAFT: &str = "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07#section-2.7";

/// A problem whose title is the phrase of its status.
const BLANK: &str = "about:blank";

/// An answer that is not the handler's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    document: Document,
    phrase: &'static str,
    retry_after: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Document {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
}

impl Problem {
    fn new(
        (status, phrase): (u16, &'static str),
        (kind, title): (&'static str, &'static str),
        detail: impl Into<String>,
    ) -> Self {
        let document = Document { kind, title, status, detail: detail.into() };
        Self { document, phrase, retry_after: None }
    }

    fn blank(status: u16, phrase: &'static str, detail: impl Into<String>) -> Self {
        Self::new((status, phrase), (BLANK, phrase), detail)
    }

    /// The key is missing, and must not be.
    #[must_use]
    pub fn missing_key() -> Self {
        Self::new(
            (400, "Bad Request"),
            (DRAFT, "Idempotency-Key is missing"),
            "This operation is idempotent and it requires correct usage of Idempotency Key.",
        )
    }

    /// The key is there and cannot be used, for this reason.
    #[must_use]
    pub fn bad_key(why: &str) -> Self {
        Self::new(
            (400, "Bad Request"),
            (DRAFT, "Idempotency-Key is invalid"),
            format!("The Idempotency-Key of this request cannot be used: {why}."),
        )
    }

    /// The request itself is not as it should be.
    #[must_use]
    pub fn bad_request(detail: &str) -> Self {
        Self::blank(400, "Bad Request", detail)
    }

    /// Another request with the key is being handled.
    #[must_use]
    pub fn outstanding(retry_after: Option<Duration>) -> Self {
        let problem = Self::new(
            (409, "Conflict"),
            (DRAFT, "A request is outstanding for this Idempotency-Key"),
            "A request with the same Idempotency-Key for the same operation is being processed or is outstanding.",
        );
        problem.again_after(retry_after)
    }

    /// The key rests after a failure: nobody handles a request with it.
    #[must_use]
    pub fn resting(retry_after: Option<Duration>) -> Self {
        let detail = "An earlier request with this Idempotency-Key was handled without success, and may be repeated after a while; nothing was done now.";
        Self::blank(409, "Conflict", detail).again_after(retry_after)
    }

    /// The key was first used for another request.
    #[must_use]
    pub fn reused_key() -> Self {
        Self::new(
            (422, "Unprocessable Content"),
            (DRAFT, "Idempotency-Key is already used"),
            "This operation is idempotent and it requires correct usage of Idempotency Key. Idempotency Key MUST not be reused across different payloads of this operation.",
        )
    }

    /// The body is larger than is taken.
    #[must_use]
    pub fn too_large(most: u64) -> Self {
        let detail = format!("The body of this request has more than {most} bytes.");
        Self::blank(413, "Content Too Large", detail)
    }

    /// Nothing was done, because nothing could be done safely.
    #[must_use]
    pub fn unavailable() -> Self {
        let detail = "It cannot be found out now whether this request has been handled before, so nothing was done.";
        Self::blank(503, "Service Unavailable", detail).again_after(None)
    }

    /// Nothing was done, because it is not known what is asked for.
    #[must_use]
    pub fn incomparable() -> Self {
        let detail =
            "This request cannot be taken in and compared with others now, so nothing was done.";
        Self::blank(503, "Service Unavailable", detail).again_after(None)
    }

    /// An earlier attempt may have had its effect, and a person must find that out.
    #[must_use]
    pub fn unresolved() -> Self {
        let detail = "An earlier request with this Idempotency-Key did not come to its end, and what it came to is not known; nothing was done now.";
        Self::blank(500, "Internal Server Error", detail)
    }

    /// It was handled as often as it may be.
    #[must_use]
    pub fn exhausted() -> Self {
        let detail = "Earlier requests with this Idempotency-Key were handled without success, as often as is allowed; nothing was done now.";
        Self::blank(500, "Internal Server Error", detail)
    }

    /// The handler was not run.
    #[must_use]
    pub fn not_run() -> Self {
        Self::blank(500, "Internal Server Error", "The request could not be handled.")
    }

    /// The handler has done its work, and its answer is not to be had.
    #[must_use]
    pub fn answer_lost() -> Self {
        let detail = "This request was handled before, and its answer is not on record.";
        Self::blank(500, "Internal Server Error", detail)
    }

    /// The handler was stopped before it had answered.
    #[must_use]
    pub fn stopped() -> Self {
        let detail = "The request was not handled to its end.";
        Self::blank(503, "Service Unavailable", detail).again_after(None)
    }

    /// The handler took too long.
    #[must_use]
    pub fn too_slow() -> Self {
        Self::blank(504, "Gateway Timeout", "The request took too long, and was stopped.")
    }

    /// With the seconds after which it makes sense to ask again: one at least.
    fn again_after(mut self, after: Option<Duration>) -> Self {
        let after = after.unwrap_or_default();
        let begun = u64::from(after.subsec_nanos() > 0);
        self.retry_after = Some(after.as_secs().saturating_add(begun).max(1));
        self
    }

    /// The whole answer.
    ///
    /// # Errors
    /// Never: there is nothing in it that JSON could not hold.
    pub fn answer(&self) -> serde_json::Result<String> {
        let body = serde_json::to_string(&self.document)? + "\n";
        let again = self
            .retry_after
            .map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
        Ok(format!(
            "Status: {} {}\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{again}\r\n{body}",
            self.document.status,
            self.phrase,
            body.len(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_header_block_and_a_document() {
        let answer = Problem::outstanding(Some(Duration::from_millis(1001))).answer().unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("Status: 409 Conflict\r\nContent-Type: application/problem+json\r\n")
        );
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        assert!(head.ends_with("Retry-After: 2"), "{head}");
        let document: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(document["status"], 409);
        assert_eq!(document["title"], "A request is outstanding for this Idempotency-Key");
    }

    #[test]
    fn nobody_is_told_to_ask_again_at_once() {
        for after in [None, Some(Duration::ZERO), Some(Duration::from_millis(3))] {
            assert_eq!(Problem::outstanding(after).retry_after, Some(1));
        }
        assert_eq!(Problem::reused_key().retry_after, None);
    }
}
