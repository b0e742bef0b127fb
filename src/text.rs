//! Text from outside, made safe to show and to type.

/// Makes the control characters of a text from outside visible.
#[must_use]
pub fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// Writes a word so that a shell reads it back as it is.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "@%_+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Why `%` escapes cannot be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEscape {
    /// A `%` that no two hexadecimal digits follow.
    Digits,
    /// What they stand for is not UTF-8.
    NotUtf8,
}

/// Takes the `%` escapes of a URL back.
///
/// # Errors
/// [`BadEscape`], which shows nothing of the text: it may be a password.
pub fn percent_decoded(text: &str) -> Result<String, BadEscape> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let value = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or(BadEscape::Digits)?);
    }
    String::from_utf8(bytes).map_err(|_| BadEscape::NotUtf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_percent_encoded_is_decoded_and_what_is_cut_off_is_nothing() {
        assert_eq!(percent_decoded("Basic%20abc%3D").as_deref(), Ok("Basic abc="));
        for cut_off in ["100%", "%f", "%+1", "%é"] {
            assert_eq!(percent_decoded(cut_off), Err(BadEscape::Digits), "{cut_off}");
        }
        assert_eq!(percent_decoded("%ff"), Err(BadEscape::NotUtf8));
    }

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(escape("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
    }

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        assert_eq!(quote("deploy-42"), "deploy-42");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
