//! What a command finds of the trace that its call is part of.

use super::super::PARENT;
use super::super::collector::Collector;
use crate::support::Scene;

/// What a command prints of its environment that is named like this.
fn find(name: &str) -> String {
    format!("env | grep '^{name}=' || true")
}

#[test]
fn a_command_finds_one_trace_and_not_that_of_its_caller_too() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for verb in ["once k", "lease k", "once --key-env NONE --if-key"] {
        // No shell, which would take one of them for its own.
        let call = collector.known_to(scene.call(verb).command(["env"])).any_stderr();
        let found = call.env("TRACEPARENT", PARENT).any_stdout().run().text();
        let found: Vec<_> = found.lines().filter(|line| line.starts_with("TRACEPARENT")).collect();
        assert_eq!(found, [format!("TRACEPARENT={}", collector.span().handed_on())], "{verb}");
    }
}

#[test]
fn what_the_systems_above_say_of_no_trace_is_not_handed_on() {
    let (scene, collector) = (Scene::new(), Collector::start());
    for (number, parent) in ["", "nonsense", "00-0-0-01"].into_iter().enumerate() {
        let call = scene.once(&format!("k{number}")).sh(&find("TRACESTATE"));
        let call = collector.known_to(call).env("TRACEPARENT", parent);
        call.env("TRACESTATE", "a=1").stdout("").run();
        let span = collector.span();
        assert_eq!((span.parent(), span.state()), (None, ""), "{parent}");
    }
    let call = collector.known_to(scene.once("good").sh(&find("TRACESTATE")));
    let call = call.env("TRACEPARENT", PARENT).env("TRACESTATE", "a=1");
    call.stdout("TRACESTATE=a=1\n").run();
}
