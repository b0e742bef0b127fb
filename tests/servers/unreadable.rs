//! An attempt on a server that no doubletap wrote as it is. The sentences are those of
//! `unreadable.rs`.

use super::engine::Engine;
use crate::support::Scene;
use crate::unreadable::{self, Spoil};

every_server!(
    an_attempt_that_cannot_be_read_is_named_however_it_was_spoilt,
    an_attempt_that_cannot_be_read_is_not_passed_over_for_an_older_one,
    an_attempt_that_cannot_be_read_is_found_by_doctor_however_many_there_are,
    an_attempt_that_cannot_be_read_is_dropped_by_what_is_to_be_typed,
    an_attempt_that_cannot_be_read_is_nobodys_any_more_once_it_is_dropped,
    an_attempt_that_cannot_be_read_is_spared_by_prune_and_in_nobodys_way,
);

/// Plays a sentence on stores that are spoilt in each of these ways.
fn played<E: Engine>(ways: impl IntoIterator<Item = usize>, sentence: fn(&Scene, &Spoil<'_>)) {
    for way in ways {
        let scene = E::shared().scene();
        let place = scene.place().into_string().unwrap();
        sentence(&scene, &|kind, key| E::shared().spoil(&place, (kind, key), way));
    }
}

fn an_attempt_that_cannot_be_read_is_named_however_it_was_spoilt<E: Engine>() {
    played::<E>(0..E::WAYS_TO_SPOIL, unreadable::is_named_by_whoever_meets_it);
}

fn an_attempt_that_cannot_be_read_is_not_passed_over_for_an_older_one<E: Engine>() {
    played::<E>(0..E::WAYS_TO_SPOIL, unreadable::is_not_passed_over_for_an_older_one);
}

fn an_attempt_that_cannot_be_read_is_found_by_doctor_however_many_there_are<E: Engine>() {
    played::<E>([0], unreadable::is_found_by_doctor_however_many_there_are);
}

fn an_attempt_that_cannot_be_read_is_dropped_by_what_is_to_be_typed<E: Engine>() {
    played::<E>(0..E::WAYS_TO_SPOIL, unreadable::is_dropped_by_what_is_to_be_typed);
}

fn an_attempt_that_cannot_be_read_is_nobodys_any_more_once_it_is_dropped<E: Engine>() {
    played::<E>([0], unreadable::is_nobodys_any_more_once_it_is_dropped);
}

fn an_attempt_that_cannot_be_read_is_spared_by_prune_and_in_nobodys_way<E: Engine>() {
    played::<E>([0, E::WAYS_TO_SPOIL - 1], unreadable::is_spared_by_prune_and_in_nobodys_way);
}
