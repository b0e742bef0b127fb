//! A strict reader of the text format that Prometheus reads.

use std::collections::{BTreeMap, BTreeSet};

/// A text in that format. Reading it is a test: whatever is not as the format has
/// it fails with a sentence.
pub(crate) struct Metrics {
    samples: BTreeMap<String, f64>,
}

impl Metrics {
    /// Reads a text.
    #[track_caller]
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end: {text}");
        let mut samples = BTreeMap::new();
        let mut families: Vec<(String, String)> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').expect("a help has a text");
                assert!(is_name(name) && !help.is_empty(), "{line}");
                assert!(families.iter().all(|(known, _)| known != name), "{name} comes twice");
                let kind = lines.next().unwrap_or_default();
                let kind = kind.strip_prefix(&format!("# TYPE {name} ")).expect("a type follows");
                assert!(["gauge", "counter", "histogram"].contains(&kind), "{name}: {kind}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
                families.push((name.to_owned(), kind.to_owned()));
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let (name, labels) = labels_of(series);
            let (family, kind) = families.last().unwrap_or_else(|| panic!("no type: {line}"));
            let suffix = name.strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line}"));
            let suffixes: &[&str] = match kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(suffixes.contains(&suffix), "{name} is a {kind}");
            let names: BTreeSet<_> = labels.iter().map(|(label, _)| label).collect();
            assert_eq!(names.len(), labels.len(), "a label comes twice: {line}");
            assert_eq!(names.contains(&"le".to_owned()), suffix == "_bucket", "{line}");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
        let names: Vec<_> = families.iter().map(|(name, _)| name).collect();
        assert!(names.is_sorted(), "{names:?}");
        Self { samples }
    }

    /// The names of the series, each with those of its labels: `name{label,label}`.
    pub(crate) fn shapes(&self) -> BTreeSet<String> {
        let shape = |series: &String| {
            let (name, labels) = labels_of(series);
            let labels: Vec<_> = labels.into_iter().map(|(label, _)| label).collect();
            match labels.as_slice() {
                [] => name.to_owned(),
                labels => format!("{name}{{{}}}", labels.join(",")),
            }
        };
        self.samples.keys().map(shape).collect()
    }

    /// The value of a series, written as the text has it.
    #[track_caller]
    pub(crate) fn value(&self, series: &str) -> f64 {
        let known = || self.samples.keys().cloned().collect::<Vec<_>>().join("\n");
        *self.samples.get(series).unwrap_or_else(|| panic!("no {series} in\n{}", known()))
    }

    /// The series whose names begin so, and their values.
    pub(crate) fn all(&self, start: &str) -> Vec<(&str, f64)> {
        let all = self.samples.iter().filter(|(series, _)| series.starts_with(start));
        all.map(|(series, value)| (series.as_str(), *value)).collect()
    }
}

fn is_name(name: &str) -> bool {
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_of_one)
}

/// The name and the labels of a series.
#[track_caller]
fn labels_of(series: &str) -> (&str, Vec<(String, String)>) {
    let Some((name, rest)) = series.split_once('{') else {
        assert!(is_name(series), "{series}");
        return (series, Vec::new());
    };
    assert!(is_name(name), "{series}");
    let mut labels = Vec::new();
    let mut rest = rest;
    loop {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{series}"));
        assert!(is_name(label), "{series}");
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next().unwrap_or_else(|| panic!("no end: {series}")) {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(match characters.next() {
                    Some((_, 'n')) => '\n',
                    Some((_, c @ ('\\' | '"'))) => c,
                    other => panic!("\\ before {other:?}: {series}"),
                }),
                (_, c) => value.push(c),
            }
        };
        labels.push((label.to_owned(), value));
        match &after[end..] {
            "}" => return (name, labels),
            more => rest = more.strip_prefix(',').unwrap_or_else(|| panic!("{series}")),
        }
    }
}
