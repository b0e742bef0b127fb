//! What `doctor` says, as a document.

use serde_json::Value;

use super::scene::Scene;

/// One examination.
pub(crate) struct Checkup {
    pub(crate) status: i32,
    pub(crate) document: Value,
}

impl Scene {
    /// Examines the store.
    #[track_caller]
    pub(crate) fn examined(&self) -> Checkup {
        self.examined_with("")
    }

    /// Examines the store, with more options.
    #[track_caller]
    pub(crate) fn examined_with(&self, words: &str) -> Checkup {
        let done = self.call(&format!("doctor --json {words}")).unchecked().run();
        assert_eq!(done.complaint(), "", "doctor says all on stdout");
        let document = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|why| panic!("doctor printed no JSON ({why}): {}", done.text()));
        Checkup { status: done.code(), document }
    }
}

impl Checkup {
    /// All checks of a name.
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let checks = self.document["checks"].as_array().expect("checks are an array");
        checks.iter().filter(|check| check["name"] == name).collect()
    }

    /// The first check of a name.
    #[track_caller]
    pub(crate) fn check(&self, name: &str) -> &Value {
        self.all(name).first().unwrap_or_else(|| panic!("no {name} in {}", self.document))
    }

    /// The names of the checks with a verdict.
    pub(crate) fn names(&self, verdict: &str) -> Vec<String> {
        let checks = self.document["checks"].as_array().expect("checks are an array");
        let named = checks.iter().filter(|check| check["verdict"] == verdict);
        named.map(|check| check["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// What a check found; it must have this verdict.
    #[track_caller]
    pub(crate) fn found(&self, name: &str, verdict: &str) -> String {
        let check = self.check(name);
        assert_eq!(check["verdict"], verdict, "{check}");
        check["found"].as_str().expect("what was found is text").to_owned()
    }

    /// The remedy of a check, which must have this verdict.
    #[track_caller]
    pub(crate) fn remedy(&self, name: &str, verdict: &str) -> String {
        self.found(name, verdict);
        let check = self.check(name);
        check["remedy"].as_str().unwrap_or_else(|| panic!("no remedy: {check}")).to_owned()
    }
}
