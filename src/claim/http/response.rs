//! What an answer says of itself in its header block, as a handler writes it for its
//! server (RFC 3875, section 6): lines that end in a line feed, with or without a carriage
//! return, and an empty line at the end.
//!
//! A handler that speaks to the client itself (NPH) writes no such block, but a status line.

use std::ops::Range;

/// How much of an answer is looked at. A header block that is longer is not found whole.
pub const BEGINNING: usize = 64 << 10;

/// The header by which an answer that is given again is told from the first.
const REPLAYED: &str = "Idempotent-Replayed: true";

/// Its name, as a handler may write it that hands on what it was given itself.
const MARK: &[u8] = b"idempotent-replayed";

/// What takes the place of some bytes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes.
    pub at: Range<usize>,
    /// What is there instead.
    pub text: String,
}

/// What an answer says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    status: Status,
    block: Option<Block>,
}

/// Where an answer has its status from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Status {
    /// It says so, in these words.
    Said(String),
    /// It only says where to go.
    Elsewhere,
    /// It says nothing.
    Silent,
}

/// A header block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// Where its end is, before the empty line; nothing where that has not come.
    end: Option<usize>,
    /// How its lines end.
    line_end: &'static str,
    /// Marks of the handler's own, which say nothing of this answer.
    marks: Vec<Range<usize>>,
}

impl Response {
    /// Reads the beginning of an answer. A line that is none of a header block makes that
    /// none, and the server decides what to make of it; a status is one all the same
    /// [measured: lighttpd hands it on, Apache and nginx answer with 5xx].
    #[must_use]
    pub fn read(answer: &[u8]) -> Self {
        let mut found = Self { status: Status::Silent, block: None };
        let (mut at, mut is_block, mut is_mark) = (0, true, false);
        for line in answer.split_inclusive(|byte| *byte == b'\n') {
            let (text, line_end) = without_end(line);
            if text.is_empty() && line.ends_with(b"\n") {
                if let Some(block) = &mut found.block {
                    (block.end, block.line_end) = (Some(at), line_end);
                }
                break;
            }
            match field(text) {
                Some((name, value)) => {
                    found.status.note(name, value);
                    is_mark = name.eq_ignore_ascii_case(MARK) && line.ends_with(b"\n");
                }
                // What begins like this has no header block at all.
                None if at == 0 => {
                    if let Some(said) = said_in_status_line(text) {
                        found.status = Status::Said(said);
                    }
                    return found;
                }
                // A field may go on in the next line.
                None if text.starts_with(b" ") || text.starts_with(b"\t") => {}
                // What has been cut in the middle of a name is no other thing yet.
                None if !line.ends_with(b"\n") && answer.len() >= BEGINNING => {}
                None => is_block = false,
            }
            let block = found.block.get_or_insert(Block { end: None, line_end, marks: Vec::new() });
            if is_mark {
                block.marks.push(at..at + line.len());
            }
            at += line.len();
        }
        found.block = found.block.filter(|_| is_block);
        found
    }

    /// Whether it says anything of itself.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.block.is_some() || self.status != Status::Silent
    }

    /// Its status: what it says, else 302 for one that says where to go, else 200. What
    /// it says and cannot be read is no success.
    #[must_use]
    pub fn status(&self) -> u16 {
        match &self.status {
            Status::Said(text) => {
                let digits = text.split(' ').next().unwrap_or_default();
                let number = digits.parse().ok().filter(|_| digits.len() == 3);
                number.filter(|status| (100..=599).contains(status)).unwrap_or(500)
            }
            Status::Elsewhere => 302,
            Status::Silent => 200,
        }
    }

    /// Its status with words, as a handler writes it.
    #[must_use]
    pub fn status_line(&self) -> &str {
        match &self.status {
            Status::Said(text) => text,
            Status::Elsewhere => "302 Found",
            Status::Silent => "200 OK",
        }
    }

    /// An answer that has only its status, and no body.
    #[must_use]
    pub fn without_body(&self) -> Vec<u8> {
        format!("Status: {}\r\n\r\n", self.status_line()).into_bytes()
    }

    /// What tells an answer that is given again from the first, in the order of the bytes;
    /// nothing for one that has no header block.
    #[must_use]
    pub fn replayed(&self) -> Vec<Edit> {
        let Some(block) = &self.block else { return Vec::new() };
        let at = block.end.unwrap_or(0);
        let mark = Edit { at: at..at, text: format!("{REPLAYED}{}", block.line_end) };
        let drop = |at: &Range<usize>| Edit { at: at.clone(), text: String::new() };
        let mut edits: Vec<Edit> = block.marks.iter().map(drop).chain([mark]).collect();
        edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
        edits
    }

    /// Whether its header block is there, up to the empty line.
    #[must_use]
    pub fn has_whole_block(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.end.is_some())
    }
}

impl Status {
    fn note(&mut self, name: &[u8], value: &[u8]) {
        let is_said = matches!(self, Self::Said(_));
        if name.eq_ignore_ascii_case(b"status") && !is_said {
            *self = Self::Said(String::from_utf8_lossy(value).into_owned());
        } else if name.eq_ignore_ascii_case(b"location") && !is_said {
            *self = Self::Elsewhere;
        }
    }
}

/// What a status line says, which is how an answer begins that is for the client (NPH).
pub(super) fn said_in_status_line(line: &[u8]) -> Option<String> {
    let line = line.strip_prefix(b"HTTP/")?;
    let (version, said) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
    let is_version = version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let said = String::from_utf8_lossy(said.trim_ascii()).into_owned();
    is_version.then_some(said)
}

/// A line without what ends it, and that.
pub(super) fn without_end(line: &[u8]) -> (&[u8], &'static str) {
    match line.strip_suffix(b"\r\n") {
        Some(text) => (text, "\r\n"),
        None => (line.strip_suffix(b"\n").unwrap_or(line), "\n"),
    }
}

/// The name and the value of a header field.
pub(super) fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    (!name.is_empty() && name.iter().all(is_token)).then(|| (name, value.trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn given_again(answer: &str) -> String {
        let mut answer = answer.to_owned();
        for Edit { at, text } in Response::read(answer.as_bytes()).replayed().into_iter().rev() {
            answer.replace_range(at, &text);
        }
        answer
    }

    #[test]
    fn the_status_is_what_the_answer_says_or_what_the_rfc_says_of_it() {
        for (answer, status) in [
            ("Status: 201 Created\r\nContent-Type: text/plain\r\n\r\nmade", 201),
            ("Content-Type: text/plain\nstatus:404\n\n", 404),
            ("Location: /there\r\n\r\n", 302),
            ("Location: /there\r\nStatus: 303 See Other\r\n\r\n", 303),
            ("Status: 301 Moved Permanently\r\nLocation: /there\r\n\r\n", 301),
            ("Content-Type: text/plain\n\nStatus: 500\n", 200),
            ("Status: no number\n\n", 500),
            ("Status: 2000\n\n", 500),
            ("Status: 204 No Content\n", 204),
            ("Status: 204", 204),
            ("Status: 503\nsome warning\nA: b\n\nsorry", 503),
            ("A: b\nsome warning\nStatus: 503\n\nsorry", 503),
            ("Location: /there\nsome warning\n\n", 302),
            ("A: b\nsome warning\n\nStatus: 503\n", 200),
            ("HTTP/1.1 500 Oops\r\nA: b\r\n\r\nsorry", 500),
            ("HTTP/1.0 404\n\n", 404),
            ("HTTP/1.1 201 Created\r\nStatus: 500\r\n\r\n", 201),
            ("HTTP/1.1 no number\n\n", 500),
            ("HTTP/x 500 is no status line\n", 200),
            ("just text\nStatus: 500\n\n", 200),
            ("just text\n", 200),
            ("", 200),
        ] {
            assert_eq!(Response::read(answer.as_bytes()).status(), status, "{answer:?}");
        }
    }

    #[test]
    fn the_mark_is_the_last_header_and_its_line_ends_as_the_handler_ends_lines() {
        for (answer, marked) in [
            ("A: b\r\n\r\nbody\n\n", "A: b\r\nIdempotent-Replayed: true\r\n\r\nbody\n\n"),
            ("A: b\n\nbody", "A: b\nIdempotent-Replayed: true\n\nbody"),
            ("A: b\n c\n\n", "A: b\n c\nIdempotent-Replayed: true\n\n"),
            ("Status: 204\r\n", "Idempotent-Replayed: true\r\nStatus: 204\r\n"),
            ("Status: 204", "Idempotent-Replayed: true\nStatus: 204"),
            (
                "idempotent-replayed: true\nA: b\nIdempotent-Replayed:\n 1\n\nbody",
                "A: b\nIdempotent-Replayed: true\n\nbody",
            ),
            ("Idempotent-Replayed: 1\nA: b", "Idempotent-Replayed: true\nA: b"),
        ] {
            assert_eq!(given_again(answer), marked);
        }
    }

    #[test]
    fn an_answer_without_a_header_block_is_left_as_it_is() {
        for answer in [
            "",
            "\n",
            "\r\n\r\nbody",
            "body\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
            "A: b\nbody\n\n",
        ] {
            assert_eq!(given_again(answer), answer);
            assert!(!Response::read(answer.as_bytes()).has_whole_block());
        }
    }

    #[test]
    fn a_header_block_that_is_too_long_is_marked_at_its_beginning() {
        let answer = "A: b\r\n".repeat(BEGINNING / 6 + 1);
        let beginning = Response::read(&answer.as_bytes()[..BEGINNING]);
        let text = "Idempotent-Replayed: true\r\n".to_owned();
        assert_eq!(beginning.replayed(), [Edit { at: 0..0, text }]);
    }

    #[test]
    fn an_answer_without_its_body_keeps_the_words_of_its_status() {
        let only = |answer: &str| Response::read(answer.as_bytes()).without_body();
        assert_eq!(only("Status: 201 Made\nA: b\n\nbody"), b"Status: 201 Made\r\n\r\n");
        assert_eq!(only("A: b\n\nbody"), b"Status: 200 OK\r\n\r\n");
        assert_eq!(only("Location: /\n\n"), b"Status: 302 Found\r\n\r\n");
        assert_eq!(only("HTTP/1.1 201 Made\r\n\r\nbody"), b"Status: 201 Made\r\n\r\n");
    }

    #[test]
    fn text_and_silence_are_no_answers() {
        for (answer, is_one) in [
            ("", false),
            ("\n\nA: b", false),
            ("just text\n", false),
            ("A: b\n\n", true),
            ("Status: 503\nsome warning\n", true),
            ("HTTP/1.1 200 OK\r\n\r\n", true),
        ] {
            assert_eq!(Response::read(answer.as_bytes()).is_one(), is_one, "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_the_mark_is_within_them(answer: Vec<u8>) {
            let response = Response::read(&answer);
            prop_assert!((100..=599).contains(&response.status()));
            let mut last = 0;
            for Edit { at, .. } in response.replayed() {
                prop_assert!(last <= at.start && at.start <= at.end && at.end <= answer.len());
                last = at.end;
            }
        }

        #[test]
        fn an_answer_with_the_mark_says_the_same_of_itself(answer in "((Status: [0-9]{3}|A: b|Location: /)\r?\n){1,4}\r?\nbody") {
            let marked = given_again(&answer);
            let (before, after) = (Response::read(answer.as_bytes()), Response::read(marked.as_bytes()));
            prop_assert_eq!(before.status(), after.status());
            prop_assert_eq!(marked.len() - answer.len(), before.replayed()[0].text.len());
        }
    }
}
