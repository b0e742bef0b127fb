//! The command line: words with a zero byte between them.
//! `cargo +nightly fuzz run arguments`
#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use doubletap::cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let words = bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let words: Vec<OsString> = std::iter::once("doubletap".into()).chain(words).collect();
    let _ = cli::parse(&words);
});
