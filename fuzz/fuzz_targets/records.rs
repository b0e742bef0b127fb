//! What is read back from disk: frames of output, lines of a log, JSON to be made
//! canonical. `cargo +nightly fuzz run records`
#![no_main]

use doubletap::claim::canonical_json::canonical;
use doubletap::process::frames::{FrameReader, output_bytes};
use doubletap::report::log::LogTally;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = FrameReader::new(bytes);
    let mut count = 0;
    while let Ok(Some((_, piece))) = reader.next_piece() {
        count += piece.len() as u64;
    }
    assert_eq!(count, output_bytes(bytes));
    let _ = LogTally::read(bytes, None);
    if let Ok(once) = canonical(bytes) {
        assert_eq!(canonical(&once).expect("what is canonical is JSON"), once);
    }
});
