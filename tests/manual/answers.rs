//! What `stats` and `doctor` print for programs, and their pages: the fields of the
//! documents, the metrics, and the names of the checks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::{bold_words, both_ways};
use super::page::plain;
use super::{assert_nothing_in, entries, pages, set};
use crate::support::damage::DAMAGES;
use crate::support::{Metrics, Scene};

const STATS: &str = "man/doubletap-stats.1";
const DOCTOR: &str = "man/doubletap-doctor.1";

/// More namespaces, prefixes and sources than are told apart.
fn crowd() -> Scene {
    let scene = Scene::new();
    for name in 'a'..='u' {
        let words = format!("{name} --namespace {name} --source {name} --log log");
        scene.once(&words).command(["true"]).run();
    }
    scene
}

/// The fields of a document; and of each that has fields of its own, wherever it is,
/// these as `field.its`.
fn fields_of(document: &Value) -> BTreeSet<String> {
    let mut fields = set(document.as_object().unwrap().keys());
    let mut left = vec![document];
    while let Some(value) = left.pop() {
        left.extend(value.as_array().into_iter().flatten());
        for (field, value) in value.as_object().into_iter().flatten() {
            left.push(value);
            let inner = value.as_array().map_or(vec![value], |values| values.iter().collect());
            for its in inner.into_iter().filter_map(Value::as_object).flat_map(|its| its.keys()) {
                fields.extend([field.clone(), format!("{field}.{its}")]);
            }
        }
    }
    fields
}

/// The same as a page has them: an entry is about a field, and has the fields of that
/// in bold.
fn documented_fields(file: &str) -> BTreeSet<String> {
    let mut documented = BTreeSet::new();
    for entry in entries(&pages()[file], "JSON") {
        for field in bold_words(&entry.tag) {
            let its = bold_words(&entry.body);
            documented.extend(its.iter().map(|its| format!("{field}.{its}")));
            documented.insert(field);
        }
    }
    documented
}

/// What the entries of a section are about.
fn subjects(file: &str, heading: &str) -> BTreeSet<String> {
    let pages = pages();
    let tags = entries(&pages[file], heading).into_iter().map(|entry| plain(&entry.tag));
    set(tags.collect::<Vec<_>>().join(", ").split(", "))
}

#[test]
fn every_field_of_stats_is_in_its_page_and_no_other() {
    let mut document = crowd().json("stats --json --log log");
    // By state: those are in the overview.
    for states in document["keys"].as_object_mut().unwrap().values_mut() {
        *states = Value::Null;
    }
    let documented = documented_fields(STATS);
    assert_nothing_in(&both_ways(STATS, "field", &documented, &fields_of(&document)));
}

#[test]
fn every_metric_is_in_the_page_of_stats_with_its_labels_and_no_other() {
    let scene = crowd();
    let text = scene.call("stats --prometheus --log log").any_stdout().run().text();
    let printed = Metrics::read(&text).shapes();
    assert_nothing_in(&both_ways(STATS, "metric", &subjects(STATS, "METRICS"), &printed));
}

#[test]
fn every_field_and_every_check_of_doctor_is_in_its_page_and_no_other() {
    let scene = Scene::new();
    scene.once("k").command(["true"]).run();
    let mut checkups = vec![scene.examined_with("--race 2")];
    let fields = fields_of(&checkups[0].document);
    assert_nothing_in(&both_ways(DOCTOR, "field", &documented_fields(DOCTOR), &fields));
    for damage in &DAMAGES {
        let scene = Scene::new();
        damage.inflict(&scene);
        checkups.push(scene.examined());
    }
    let checks = checkups.iter().flat_map(|of| of.document["checks"].as_array().unwrap());
    let names = set(checks.map(|check| check["name"].as_str().unwrap()));
    assert_nothing_in(&both_ways(DOCTOR, "check", &subjects(DOCTOR, "CHECKS"), &names));
}
