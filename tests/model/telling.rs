//! How a counterexample is told: each step, and what there was after it.

use std::fmt::Write as _;

use stateright::Path;

use super::kernel::number_of;
use super::steps::Step;
use super::world::{Place, World};

/// The steps of a path, one a line, with the rows, the workers and the commands after it.
pub(super) fn told(path: &Path<World, Step>) -> String {
    let steps = path.clone().into_actions();
    let mut text = String::new();
    for (index, world) in path.clone().into_states().iter().enumerate() {
        let _ = match index.checked_sub(1).and_then(|before| steps.get(before)) {
            Some(step) => writeln!(text, "{step:?}"),
            None => writeln!(text, "in the beginning"),
        };
        for row in world.attempts() {
            let (fence, until) = (row.fence.0, row.until.at.0);
            let (number, operation) = (number_of(row), row.operation.0[0]);
            let _ = writeln!(
                text,
                "    row {}: fence {fence}, {:?}, command {number}, operation {operation}, until {until}, {:?}",
                row.generation, row.state, row.remains
            );
        }
        for (index, worker) in world.workers.iter().enumerate() {
            let place = match &worker.place {
                Place::Outside => continue,
                Place::Looked(_) => "has looked".to_owned(),
                Place::Unsure(sent) => format!("is unsure of {}", sent.number),
                Place::Holding(held) => {
                    let fence = held.attempt.fence.0;
                    format!("holds fence {fence} since {}: {:?}", held.since, held.command)
                }
            };
            let _ = writeln!(text, "    worker {index} {place}, locks {:?}", worker.locks);
        }
        for (number, child) in &world.children {
            let does = if child.running { "runs" } else { "waits" };
            let _ = writeln!(text, "    command {number} {does}, of {:?}", child.wrapper);
        }
    }
    text
}
