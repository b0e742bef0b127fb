//! The values of options: what one text is to each of them, and that what reads back as
//! itself does. `cargo +nightly fuzz run values`
#![no_main]

use doubletap::claim::fingerprint::Part;
use doubletap::claim::id::Token;
use doubletap::claim::key::Key;
use doubletap::claim::outcome::RecordPolicy;
use doubletap::claim::size::SizeLimit;
use doubletap::claim::duration;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = duration::parse(text);
    let _ = duration::parse_claim(text);
    let _ = duration::parse_ttl(text);
    let _ = duration::parse_wait(text);
    let _ = SizeLimit::parse(text);
    let _ = RecordPolicy::parse(text);
    let _ = Part::parse(text);
    if let Ok(key) = Key::new(text) {
        assert_eq!(key.as_str(), text);
    }
    if let Some(token) = Token::parse(text) {
        assert_eq!(token.to_string(), text.to_ascii_lowercase());
    }
});
