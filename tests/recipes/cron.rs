//! Lines of a crontab, fired as cron fires them.

use super::{TRACE, elsewhere, recipe};
use crate::support::Scene;
use crate::support::crontab::{Firing, firings};

/// The crontab of the first block and the one of the second.
fn crontabs(scene: &Scene) -> (String, String) {
    let [daily, overlap] = recipe("cron");
    let daily = elsewhere(&daily, "/usr/local/bin", &scene.bin());
    let path = daily.lines().next().unwrap().to_owned();
    (daily, format!("{path}\n{}", elsewhere(&overlap, "/usr/local/bin", &scene.bin())))
}

fn fired(crontab: &str, word: &str) -> Firing {
    let mut all = firings(crontab).into_iter();
    let found = all.find(|firing| firing.command.contains(word));
    found.unwrap_or_else(|| panic!("no line of the crontab runs {word}: {crontab}"))
}

#[test]
fn the_daily_line_runs_once_a_day_and_cron_has_nothing_to_mail() {
    let scene = Scene::new();
    let backup = fired(&crontabs(&scene).0, "backup");
    scene.stand_in("backup", &format!("{TRACE}; echo a report"));
    backup.call(&scene).stdout("a report\n").run();
    for _ in 0..3 {
        backup.call(&scene).run();
    }
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_daily_line_tries_again_after_a_failure() {
    let scene = Scene::new();
    let backup = fired(&crontabs(&scene).0, "backup");
    scene.stand_in("backup", &format!("{TRACE}; exit 3"));
    backup.call(&scene).status(3).run();
    scene.stand_in("backup", TRACE);
    backup.call(&scene).run();
    backup.call(&scene).run();
    assert_eq!(scene.runs(), 2);
}

#[test]
fn the_daily_line_is_silent_while_the_backup_of_before_still_runs() {
    let scene = Scene::new();
    let backup = fired(&crontabs(&scene).0, "backup");
    scene.stand_in("backup", &format!("{TRACE}; read x <gate"));
    let first = scene.begun(backup.call(&scene));
    backup.call(&scene).status(75).run();
    scene.gate().open();
    first.finish();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn a_percent_sign_in_a_crontab_breaks_the_line_unless_it_is_escaped() {
    let scene = Scene::new();
    let (crontab, _) = crontabs(&scene);
    scene.stand_in("backup", TRACE);
    let dated = |date: &str| {
        let line = crontab.replace("backup --per day", &format!("backup-$(date +{date})"));
        assert!(line.contains(date), "the line has no key to put a date into: {crontab}");
        fired(&line, "backup-")
    };
    let broken = dated("%F");
    assert!(broken.command.ends_with("backup-$(date +"), "{broken:?}");
    assert_ne!(broken.call(&scene).unchecked().run().code(), 0);
    assert_eq!(scene.runs(), 0, "the broken line ran the backup");
    dated(r"\%F").call(&scene).run();
    assert_eq!(scene.runs(), 1, "the escaped line did not run the backup");
}

#[test]
fn the_weekly_line_prunes_the_store_that_the_daily_one_fills() {
    let scene = Scene::new();
    let (crontab, _) = crontabs(&scene);
    scene.stand_in("backup", TRACE);
    fired(&crontab, "backup").call(&scene).run();
    let prune = fired(&crontab, "prune");
    prune.call(&scene).run();
    fired(&crontab, "backup").call(&scene).run();
    assert_eq!(scene.runs(), 1, "what is not old was pruned");
    let all = Firing { command: "doubletap prune --older-than 0s --force -v".to_owned(), ..prune };
    all.call(&scene).note(&["1 keys with 1 attempts removed"]).run();
}

#[test]
fn the_line_with_a_lease_never_overlaps_itself_and_survives_its_holder() {
    let scene = Scene::new();
    let sync = fired(&crontabs(&scene).1, "sync");
    scene.stand_in("sync", &format!("{TRACE}; exec cat <gate"));
    let first = scene.begun(sync.call(&scene));
    sync.call(&scene).status(75).run();
    scene.kill_everybody();
    drop(first);
    scene.stand_in("sync", TRACE);
    sync.call(&scene).run();
    sync.call(&scene).run();
    assert_eq!(scene.runs(), 3);
}
