//! With a controlling terminal the command shares our process group.

use crate::support::processes::is_alive;
use crate::support::{Scene, Terminal, until};

#[test]
fn a_timeout_ends_all_that_came_from_the_command_and_not_its_neighbour_in_the_pipeline() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let terminal = Terminal::new();
    let script = r#"
        { "$BIN" once k --timeout 300ms --kill-after 100ms -- sh -c '
            trap "" TERM
            (trap "" TERM; read x <gate) & echo $! >child
            setsid sh -c "read x <gate" & echo $! >session
            read x <gate'
          echo $? >ended; } | { while ! test -s ended; do :; done; echo alive >neighbour; }"#;
    scene.script(&terminal, script).run();
    assert_eq!(scene.read("ended"), "124\n");
    assert_eq!(scene.read("neighbour"), "alive\n");
    for name in ["child", "session"] {
        let pid: i32 = scene.read(name).trim().parse().unwrap();
        assert!(!is_alive(pid), "the {name} is left");
    }
}

#[test]
fn orphans_of_the_command_do_not_pile_up_as_zombies_of_ours() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let terminal = Terminal::new();
    let script = r#""$BIN" once k -- sh -c '
        echo $PPID >wrapper
        for i in 1 2 3 4 5 6 7 8 9 10; do sh -c "(exec true) &"; done
        echo ready >ready; read x <gate'"#;
    let running = scene.script(&terminal, script).spawn();
    until("the orphans are made", || scene.path("ready").exists());
    let wrapper = scene.read("wrapper").trim().to_owned();
    let children = format!("/proc/{wrapper}/task/{wrapper}/children");
    until("only the command is left", || {
        std::fs::read_to_string(&children).is_ok_and(|pids| pids.split_whitespace().count() == 1)
    });
    gate.open();
    running.finish();
    assert_eq!(scene.state("k"), "done");
}
