//! Splits a source text into words and marks; comments and literals vanish.

/// One piece of a source text and the line that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A name, a keyword or a number.
    Word(String),
    /// `::`
    Colons,
    /// Any other character.
    Mark(char),
}

/// The pieces of a text, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut pieces = Vec::new();
    while let Some(first) = reader.rest.chars().next() {
        let line = reader.line;
        let rest = reader.rest;
        if rest.starts_with("//") {
            reader.skip_to(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            reader.skip_to(length_of_comment(rest));
        } else if let Some(length) = length_of_raw_text(rest) {
            reader.skip_to(length);
        } else if rest.starts_with('"') || rest.starts_with("b\"") || rest.starts_with("c\"") {
            reader.skip_to(length_of_text(rest));
        } else if let Some(length) = length_of_character(rest) {
            reader.skip_to(length);
        } else if rest.starts_with("::") {
            reader.skip_to(2);
            pieces.push(Piece { line, what: What::Colons });
        } else if is_of_word(first) {
            let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            reader.skip_to(length);
            pieces.push(Piece { line, what: What::Word(rest[..length].to_owned()) });
        } else {
            reader.skip_to(first.len_utf8());
            if !first.is_whitespace() {
                pieces.push(Piece { line, what: What::Mark(first) });
            }
        }
    }
    pieces
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn skip_to(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest.
fn length_of_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn length_of_text(text: &str) -> usize {
    let begin = text.find('"').map_or(0, |at| at + 1);
    let mut escaped = false;
    for (at, c) in text[begin..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return begin + at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#` and so on.
fn length_of_raw_text(text: &str) -> Option<usize> {
    let inner = ["r", "br", "cr"].iter().find_map(|start| {
        let rest = text.strip_prefix(start)?;
        (rest.starts_with('"') || rest.starts_with("#\"") || rest.starts_with("##")).then_some(rest)
    })?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = text.len() - inner.len() + hashes + 1;
    Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

/// `'a'` and `'\n'`, but not the lifetime `'a`.
fn length_of_character(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\'').or_else(|| text.strip_prefix("b'"))?;
    let begin = text.len() - rest.len();
    let mut inner = rest.chars();
    match inner.next()? {
        '\\' => {
            let escaped = 1 + inner.next()?.len_utf8();
            rest[escaped..].find('\'').map(|at| begin + escaped + at + 1)
        }
        c => (inner.next()? == '\'').then(|| begin + c.len_utf8() + 1),
    }
}

#[test]
fn words_are_found_and_literals_are_not() {
    let text = "a::b 'x 'c' '\\'' '\"' \"d\\\"\" r#\"e\"\"# b\"f\" /* /* g */ */ // h\n_i9";
    let words: Vec<(usize, String)> = pieces(text)
        .into_iter()
        .filter_map(|piece| match piece.what {
            What::Word(word) => Some((piece.line, word)),
            _ => None,
        })
        .collect();
    assert_eq!(words, [(1, "a".into()), (1, "b".into()), (1, "x".into()), (2, "_i9".into())]);
}
