//! Nothing that is parsed makes the program fall over, whatever it is, and what is taken
//! means what it says. (That no text makes one parser alone panic is shown beside each,
//! in `src/claim/`.)

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use doubletap::claim::duration::{self, Limit, SHORTEST_CLAIM};
use doubletap::claim::fingerprint::{FieldDigest, Part};
use doubletap::claim::key::{Key, MAX_BYTES, Namespace};
use doubletap::claim::outcome::{Outcome, RecordPolicy};
use doubletap::claim::size::SizeLimit;
use doubletap::cli;
use doubletap::place::Place;
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
        prop_assert_eq!(Namespace::new(&text).is_ok(), fits);
    }

    #[test]
    fn a_duration_is_the_sum_of_its_parts(parts in prop::collection::vec((0..2_000_u64, span()), 1..5)) {
        let text = parts.iter().map(|(n, (unit, _))| format!("{n}{unit}")).collect::<Vec<_>>();
        let text = text.concat();
        let sum = parts.iter().map(|(n, (_, ms))| Duration::from_millis(n * ms)).sum::<Duration>();
        prop_assert_eq!(duration::parse(&text), Ok(sum), "{}", text);
        prop_assert_eq!(duration::parse_positive(&text).ok(), (!sum.is_zero()).then_some(sum));
        prop_assert_eq!(duration::parse_claim(&text).ok(), (sum >= SHORTEST_CLAIM).then_some(sum));
        let limit = Limit::After(sum);
        prop_assert_eq!(duration::parse_wait(&text), Ok(limit));
        prop_assert_eq!(duration::parse_ttl(&text).ok(), (!sum.is_zero()).then_some(limit));
    }

    #[test]
    fn a_size_is_its_number_times_its_unit_or_too_large(number in sized(), (unit, bytes) in unit()) {
        let text = format!("{number}{unit}");
        let counted = u128::from(number) * u128::from(bytes);
        let fits = i64::try_from(counted).ok().map(|count| SizeLimit::Bytes(count.unsigned_abs()));
        prop_assert_eq!(SizeLimit::parse(&text).ok(), fits, "{}", text);
    }

    #[test]
    fn a_list_of_codes_keeps_those_that_it_names(ranges in prop::collection::vec(any::<(u8, Option<u8>)>(), 1..6)) {
        let one = |(low, high): &(u8, Option<u8>)| match high {
            Some(high) => format!("{low}-{high}"),
            None => low.to_string(),
        };
        let text = ranges.iter().map(one).collect::<Vec<_>>().join(",");
        let bounds = || ranges.iter().map(|(low, high)| *low..=high.unwrap_or(*low));
        let Ok(policy) = RecordPolicy::parse(&text) else {
            prop_assert!(bounds().any(|range| range.is_empty()), "{} was refused", text);
            return Ok(());
        };
        for code in 0..=255 {
            let named = bounds().any(|range| range.contains(&code));
            prop_assert_eq!(policy.keeps(Outcome::Exited(code)), named, "{} of {}", code, text);
            prop_assert!(!policy.keeps(Outcome::Signaled(code)));
        }
    }

    #[test]
    fn a_part_of_a_fingerprint_is_named_up_to_its_first_colon(kind in "(env|file|json|text)", value: String) {
        let part = Part::parse(&format!("{kind}:{value}"));
        let taken = match kind.as_str() {
            "text" => Some(Part::Text(value)),
            _ if value.is_empty() => None,
            "file" => Some(Part::File(value.into())),
            "json" => Some(Part::Json(value.into())),
            _ => (!value.contains('=')).then_some(Part::Env(value)),
        };
        prop_assert_eq!(part.ok(), taken);
    }

    #[test]
    fn command_lines_that_differ_anywhere_have_other_digests(one: Vec<Vec<u8>>, other: Vec<Vec<u8>>) {
        let digest = |words: &[Vec<u8>]| {
            let mut digest = FieldDigest::new();
            for word in words {
                digest.item(word);
            }
            digest.finish()
        };
        prop_assert_eq!(digest(&one) == digest(&other), one == other);
        // What lies nearest: the same bytes, parted elsewhere.
        let joined = vec![one.concat()];
        prop_assert_eq!(digest(&one) == digest(&joined), one == joined);
    }

    #[test]
    fn the_name_of_a_file_is_taken_as_it_is(bytes in prop::collection::vec(1..=255_u8, 0..40)) {
        let name = OsString::from_vec(bytes);
        prop_assume!(!name.as_encoded_bytes().windows(3).any(|three| three == b"://"));
        let mut option = OsString::from("--store=");
        option.push(&name);
        match cli::parse(&["doubletap".into(), "list".into(), option]) {
            Ok(cli) => prop_assert_eq!(cli.global.store, Some(Place::File(name.into()))),
            Err(_) => prop_assert!(name.is_empty(), "{:?} was refused", name),
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

/// A unit of time and its milliseconds; months and years are no whole days.
fn span() -> impl Strategy<Value = (&'static str, u64)> {
    let units = [("ms", 1), ("s", 1000), ("min", 60_000), ("m", 60_000), ("h", 3_600_000)];
    prop::sample::select([&units[..], &[("d", 86_400_000), ("w", 604_800_000)]].concat())
}

/// A unit of size in any letters and its bytes.
fn unit() -> impl Strategy<Value = (String, u64)> {
    let powers = prop::sample::select(&[("", 0), ("k", 1), ("m", 2), ("g", 3), ("t", 4)][..]);
    let forms = prop::sample::select(&[("", 1024_u64), ("ib", 1024), ("b", 1000)][..]);
    (powers, forms, any::<bool>()).prop_map(|((letter, power), (form, base), capitals)| {
        // Bytes are bytes, however many a thousand has.
        let form = if power == 0 && form == "ib" { "" } else { form };
        let unit = format!("{letter}{form}");
        (if capitals { unit.to_uppercase() } else { unit }, base.pow(power))
    })
}

/// Numbers of all magnitudes.
fn sized() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
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
