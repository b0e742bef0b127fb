//! What `stats`, `doctor` and the verbs for scripts print for programs, and their pages:
//! the fields of the documents, the words, the metrics, and the names of the checks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::{bold_words, both_ways};
use super::page::plain;
use super::{assert_nothing_in, entries, pages, set};
use crate::support::damage::DAMAGES;
use crate::support::{Metrics, Scene};
use crate::unreadable::spoil;

const STATS: &str = "man/doubletap-stats.1";
const DOCTOR: &str = "man/doubletap-doctor.1";
const BEGIN: &str = "man/doubletap-begin.1";
const COMPLETE: &str = "man/doubletap-complete.1";

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
    spoil(&scene, "once", "k");
    checkups.push(scene.examined());
    let checks = checkups.iter().flat_map(|of| of.document["checks"].as_array().unwrap());
    let names = set(checks.map(|check| check["name"].as_str().unwrap()));
    assert_nothing_in(&both_ways(DOCTOR, "check", &subjects(DOCTOR, "CHECKS"), &names));
}

/// The words in quotes of the entry about a document's status.
fn documented_words(file: &str) -> BTreeSet<String> {
    let pages = pages();
    let entries = entries(&pages[file], "JSON");
    let status = entries.iter().find(|entry| plain(&entry.tag) == "status").unwrap();
    let body = plain(&status.body);
    let words = body.split('\u{201c}').skip(1);
    set(words.map(|rest| rest.split('\u{201d}').next().unwrap()))
}

/// What a verb with a document says, however it ends.
fn document(scene: &Scene, words: &str) -> Value {
    let printed = scene.call(words).unchecked().run();
    serde_json::from_slice(&printed.stdout)
        .unwrap_or_else(|why| panic!("{words}: {why}: {}", printed.complaint()))
}

/// The token of a claim, made with the words of a line.
fn token(scene: &Scene, words: &str) -> String {
    let done = scene.call(words).any_stdout().any_stderr().run();
    done.text().trim_end().to_owned()
}

/// A claim whose process is gone.
fn gone(scene: &Scene, words: &str) -> String {
    let call = format!(r#""$BIN" {words} --pid $$"#);
    let done = scene.shell(&call).any_stdout().run();
    done.text().trim_end().to_owned()
}

#[test]
fn every_field_and_word_of_a_claim_is_in_the_page_of_begin_and_no_other() {
    let scene = Scene::new();
    scene.once("done").command(["true"]).run();
    token(&scene, "begin held --claim-ttl 1h");
    gone(&scene, "begin gone");
    let answers = [
        "begin new --claim-ttl 1h",
        "begin held --claim-ttl 1h",
        "begin done --claim-ttl 1h",
        "begin gone --claim-ttl 1h --on-crash stop",
        "acquire name --ttl 1h",
    ];
    let mut documents: Vec<Value> =
        answers.map(|words| document(&scene, &format!("{words} --format json"))).to_vec();
    let claim = token(&scene, "begin settled --claim-ttl 1h");
    scene.call(&format!("complete settled --token {claim}")).run();
    documents.push(document(&scene, "begin settled --claim-ttl 1h --format json"));
    let words = set(documents.iter().map(|document| document["status"].as_str().unwrap()));
    assert_nothing_in(&both_ways(BEGIN, "status", &documented_words(BEGIN), &words));
    for document in &documents {
        let documented = documented_fields(BEGIN);
        assert_nothing_in(&both_ways(BEGIN, "field", &documented, &fields_of(document)));
    }
}

#[test]
fn every_field_and_word_of_what_became_of_a_claim_is_in_the_page_of_complete_and_no_other() {
    let scene = Scene::new();
    let claims: Vec<String> = ["a", "b", "c", "d"]
        .map(|key| token(&scene, &format!("begin {key} --claim-ttl 1h")))
        .to_vec();
    let [a, b, c, d] = &claims[..] else { unreachable!() };
    let lease = token(&scene, "acquire l --ttl 1h");
    let over = gone(&scene, "begin e");
    scene.call("forget d --force").run();
    scene.write("result", "");
    let documents = [
        format!("renew --token {a}"),
        format!("assert --token {a}"),
        format!("complete a --token {a}"),
        format!("fail a --token {a}"),
        format!("fail b --token {b}"),
        format!("complete c --token {c} --result result --validate false"),
        format!("complete d --token {d}"),
        format!("release l --token {lease}"),
        format!("assert --token {over}"),
        format!("complete nothing --token {over}"),
    ]
    .map(|words| document(&scene, &format!("{words} --json")));
    let words = set(documents.iter().map(|document| document["status"].as_str().unwrap()));
    assert_nothing_in(&both_ways(COMPLETE, "status", &documented_words(COMPLETE), &words));
    for document in &documents {
        let documented = documented_fields(COMPLETE);
        assert_nothing_in(&both_ways(COMPLETE, "field", &documented, &fields_of(document)));
    }
}
