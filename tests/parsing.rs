//! Nothing that is parsed makes the program fall over, whatever it is.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use doubletap::claim::key::{Key, MAX_BYTES};
use doubletap::cli;
use doubletap::report::log::LogTally;
use proptest::prelude::*;

/// Words that the command line knows, so that chance gets further than the first.
const KNOWN: [&str; 34] = [
    "once",
    "lease",
    "begin",
    "complete",
    "fail",
    "acquire",
    "release",
    "renew",
    "assert",
    "step",
    "show",
    "logs",
    "list",
    "forget",
    "prune",
    "stats",
    "doctor",
    "completions",
    "keygen",
    "--",
    "--key",
    "--ttl",
    "--per",
    "--wait",
    "--claim-ttl",
    "--pid",
    "--token",
    "--fingerprint",
    "--record",
    "--max-output",
    "--store",
    "--report",
    "--older-than",
    "--format",
];

fn word() -> impl Strategy<Value = OsString> {
    prop_oneof![
        3 => prop::sample::select(&KNOWN[..]).prop_map(OsString::from),
        1 => any::<String>().prop_map(OsString::from),
        1 => prop::collection::vec(any::<u8>(), 0..20).prop_map(OsString::from_vec),
        1 => "[0-9]{0,25}(s|m|h|d|M|KiB|,|-|:){0,3}[0-9]{0,3}".prop_map(OsString::from),
        1 => "(env|file|json|text|postgres|redis|fd|sqlite)(:|://)[a-z@/?=.%]{0,9}"
            .prop_map(OsString::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_line_makes_it_panic(mut words in prop::collection::vec(word(), 0..9)) {
        words.insert(0, "doubletap".into());
        if let Err(cli::Stop::Usage(message, _)) = cli::parse(&words) {
            let said = doubletap::text::escape(&message);
            prop_assert!(!said.contains('\n'), "{said:?}");
            prop_assert!(!message.is_empty());
        }
    }

    #[test]
    fn a_key_is_what_it_was_given_or_is_refused(text in any::<String>(), copies in 1..300_usize) {
        let text = text.repeat(copies);
        let fits = !text.is_empty() && text.len() <= MAX_BYTES && !text.chars().any(char::is_control);
        match Key::new(&text) {
            Ok(key) => prop_assert!(fits && key.as_str() == text),
            Err(_) => prop_assert!(!fits),
        }
    }

    #[test]
    fn a_log_of_anything_is_read_to_its_end(bytes: Vec<u8>, lines in prop::collection::vec(line(), 0..9)) {
        let mut log = lines.join("\n").into_bytes();
        log.extend(bytes);
        let tally = LogTally::read(&*log, None).unwrap();
        let all = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
        prop_assert!(tally.lines + tally.skipped_lines <= all + 1);
    }
}

/// What looks like a line of a log, more or less.
fn line() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string())
    ];
    let verb =
        prop_oneof![prop::sample::select(&KNOWN[..]).prop_map(str::to_owned), any::<String>()];
    let outcome = prop::sample::select(&["ran", "busy", "replayed", "", "RAN"][..]);
    (verb, outcome, number).prop_map(|(verb, outcome, number)| {
        format!(
            r#"{{"ts":"t","verb":{verb:?},"namespace":"n","key":"k","outcome":"{outcome}","store_ms":{number},"source":null,"version":"0"}}"#
        )
    })
}
