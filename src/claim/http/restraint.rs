//! How much of an answer may go to a server before its handler has ended.
//!
//! A server may take an answer for whole long before that: when as much of a body has come
//! as its header block promises, or when that says that there is none. lighttpd then ends
//! a handler that still works with SIGTERM [measured, 1.4.69], as fcgiwrap does as soon as
//! nginx takes nothing more. So the last byte that is missing has to wait for the end.

use super::response::{field, said_in_status_line, without_end};

/// Headers in whose place a server gives something of its own, whatever body there is.
const INSTEAD: [&[u8]; 4] =
    [b"x-sendfile", b"x-sendfile2", b"x-lighttpd-send-file", b"x-accel-redirect"];

/// The longest line that is looked at.
const LONGEST: usize = 64 << 10;

/// Follows an answer as it comes.
#[derive(Debug)]
pub struct Restraint(At);

/// How far it has come.
#[derive(Debug)]
enum At {
    /// In its header block.
    Block(Block),
    /// In a body of which so many more bytes may go.
    Body(u64),
    /// In one whose end nobody can know.
    Anywhere,
}

/// What its header block has said so far.
#[derive(Debug, Default)]
struct Block {
    line: Vec<u8>,
    is_begun: bool,
    status: Option<u16>,
    /// The shortest body that it may be taken to promise.
    length: Option<u64>,
}

/// What a line of a header block says of the rest.
enum Line {
    /// That there are more.
    More,
    /// That the block was none, or has ended.
    Last(At),
}

impl Default for Restraint {
    fn default() -> Self {
        Self(At::Block(Block::default()))
    }
}

impl Restraint {
    /// Takes the next bytes, and says how many of them may go: the others, and all that
    /// come after them, are to wait.
    pub fn admit(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            match &mut self.0 {
                At::Anywhere => break,
                At::Body(left) => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len() - at);
                    *left -= count as u64;
                    return at + count;
                }
                At::Block(block) => {
                    let rest = &bytes[at..];
                    let end = rest.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
                    let line = &rest[..end.unwrap_or(rest.len())];
                    block.add(line);
                    at += line.len();
                    if let (Some(_), Line::Last(next)) = (end, block.end_line()) {
                        self.0 = next;
                        if let At::Body(left) = &mut self.0 {
                            if *left == 0 {
                                return at - 1;
                            }
                            *left -= 1;
                        }
                    }
                }
            }
        }
        bytes.len()
    }
}

impl Block {
    fn add(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Reads the line that has come, if its end has.
    fn end_line(&mut self) -> Line {
        if !self.line.ends_with(b"\n") && self.line.len() < LONGEST {
            return Line::More;
        }
        let line = std::mem::take(&mut self.line);
        let (text, _) = without_end(&line);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        match field(text) {
            Some((name, value)) => self.note(name, value),
            None if text.is_empty() && is_first => return Line::Last(At::Anywhere),
            None if text.is_empty() => return Line::Last(self.body()),
            // A line that is no header is passed over by those who do not refuse it.
            None if !is_first => {}
            None => match said_in_status_line(text) {
                Some(said) => self.status = number(&said),
                None => return Line::Last(At::Anywhere),
            },
        }
        Line::More
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"status") {
            self.status = number(&String::from_utf8_lossy(value));
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.promise(length(value));
        } else if INSTEAD.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            self.promise(Some(0));
        }
    }

    fn promise(&mut self, length: Option<u64>) {
        self.length = [self.length, length].into_iter().flatten().min();
    }

    /// What comes after the block.
    fn body(&mut self) -> At {
        match self.status {
            // Another block, that of the answer itself.
            Some(100..=199) => At::Block(Self::default()),
            Some(204 | 205 | 304) => At::Body(0),
            _ => self.length.map_or(At::Anywhere, At::Body),
        }
    }
}

/// The number of a status with its words.
fn number(said: &str) -> Option<u16> {
    said.get(..3)?.parse().ok()
}

/// A length, read as kindly as the kindest of servers do.
fn length(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What may go of an answer that comes in pieces of this size.
    fn admitted(answer: &[u8], size: usize) -> usize {
        let mut restraint = Restraint::default();
        answer.chunks(size).map(|piece| restraint.admit(piece)).sum()
    }

    #[track_caller]
    fn assert_held(answer: &str, held: &str) {
        for size in [1, 2, 3, 7, answer.len()] {
            let at = admitted(answer.as_bytes(), size);
            assert_eq!(&answer[at..], held, "{answer:?} in pieces of {size}");
        }
    }

    #[test]
    fn the_last_byte_of_a_body_waits_whose_length_is_known_and_all_behind_it() {
        assert_held("A: b\r\nContent-Length: 4\r\n\r\ndone", "e");
        assert_held("content-length:1\n\nd", "d");
        assert_held("Content-Length: 4\r\n\r\ndone and more", "e and more");
        assert_held("Content-Length: 5\r\n\r\ndone", "");
        assert_held("Content-Length: +4\r\n\r\ndone", "e");
        assert_held("A: b\nsome warning\nContent-Length: 4\n\ndone", "e");
        assert_held("Content-Length: 9\nContent-Length: 4\n\ndone", "e");
        assert_held("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone", "e");
        assert_held("Status: 103\nA: b\n\nContent-Length: 4\n\ndone", "e");
    }

    #[test]
    fn of_an_answer_without_a_body_the_end_of_its_header_block_waits() {
        for block in [
            "Content-Length: 0\r\n\r",
            "Status: 204 No Content\n",
            "Status: 304\n",
            "HTTP/1.1 204\r\nA: b\r\n\r",
            "A: b\nX-Sendfile: /a\n",
            "X-Accel-Redirect: /a\nContent-Length: 9\n",
        ] {
            assert_held(&format!("{block}\n"), "\n");
            assert_held(&format!("{block}\nnone"), "\nnone");
        }
    }

    #[test]
    fn nothing_waits_of_an_answer_whose_end_nobody_can_know() {
        for answer in [
            "A: b\r\n\r\nbody\n\nContent-Length: 4\n\ndone",
            "some text\nContent-Length: 4\n\ndone",
            "\nContent-Length: 4\n\ndone",
            "Content-Length: some\n\ndone",
            "Content-Length: 4",
            "Content-Length: 0\n",
            "Location: /there\n\n",
            "",
        ] {
            let at = admitted(answer.as_bytes(), answer.len().max(1));
            assert_eq!(at, answer.len(), "{answer:?}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_in_which_pieces_an_answer_comes(
            answer in "((Content-Length: [0-9]|A: b|Status: (103|200|204)|text)\r?\n){0,4}\r?\n.{0,12}",
            size in 1_usize..9,
        ) {
            let whole = admitted(answer.as_bytes(), answer.len());
            prop_assert_eq!(admitted(answer.as_bytes(), size), whole);
        }

        #[test]
        fn no_bytes_make_it_panic(answer: Vec<u8>, size in 1_usize..9) {
            prop_assert!(admitted(&answer, size) <= answer.len());
        }
    }
}
