//! Output of any size: exact, in bounded memory, and a file where it is large.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use crate::support::processes::{peak_memory_kb, state};
use crate::support::{Scene, until};

/// What a wrapper may take up, whatever its command writes.
const MEMORY_KB: u64 = 16 << 10;

/// A file of the working folder with so many bytes, none like its neighbours.
fn big(scene: &Scene, name: &str, size: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..=255_u8).chain(0..=250).cycle().take(size).collect();
    scene.write(name, &bytes);
    bytes
}

/// The files beside the store that hold outputs.
pub(crate) fn spools(scene: &Scene) -> Vec<PathBuf> {
    let paths = scene.state_files().into_iter().map(|name| scene.state_folder().join(name));
    paths.filter(|path| path.extension().is_some_and(|end| end == "out")).collect()
}

#[test]
fn megabytes_on_both_streams_do_not_deadlock_and_replay_exactly() {
    let scene = Scene::new();
    let (out, err) = (big(&scene, "out", 5_000_017), big(&scene, "err", 3_000_011));
    for _ in 0..2 {
        let call = scene.once("k").sh("echo run >>runs; cat err >&2 & cat out; wait");
        call.stdout(&out).stderr(&err).run();
    }
    assert_eq!(scene.runs(), 1);
    assert_eq!(spools(&scene).len(), 1, "the record is a file");
}

#[test]
fn a_large_output_is_interleaved_in_a_replay_as_it_was_live() {
    let scene = Scene::new();
    let script = "echo run >>runs; i=0; while [ $i -lt 12000 ]; do
        echo out $i; echo error number $i >&2; i=$((i+1)); done";
    let live = scene.once("k").sh(script).merged().any_stdout().run().stdout;
    assert!(live.len() > 300_000);
    scene.once("k").sh(script).merged().stdout(live).run();
    assert_eq!(scene.runs(), 1);
}

#[test]
fn memory_stays_bounded_whatever_the_size_live_and_replayed() {
    let scene = Scene::new();
    let mut gate = scene.gate();
    let sixty_four = "dd if=/dev/zero bs=1M count=64 2>/dev/null";
    scene.behave(&format!("{sixty_four}; read x <gate"));
    let options = "k --max-output none";
    let running = scene.begun(scene.attempt(options).any_stdout());
    until("everything has come through", || running.stdout_so_far().len() == 64 << 20);
    let live = peak_memory_kb(running.pid());
    gate.open();
    running.finish();

    // Stopped in mid-replay by a reader that does not read.
    let (mut reader, writer) = std::io::pipe().unwrap();
    let replay = scene.attempt(options).stdout_into(std::os::fd::OwnedFd::from(writer).into());
    let replay = replay.spawn();
    reader.read_exact(&mut vec![0; 48 << 20]).unwrap();
    until("the replay waits for its reader", || state(replay.pid()) == Some('S'));
    let replayed = peak_memory_kb(replay.pid());
    drop(reader);
    replay.finish();
    assert!(live < MEMORY_KB && replayed < MEMORY_KB, "live {live} kB, replayed {replayed} kB");
    assert_eq!(scene.runs(), 1);
}

#[test]
fn the_file_of_an_output_is_only_for_its_owner_and_goes_with_its_record() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let out = big(&scene, "big", 2_000_000);
    scene.once("k").command(["cat", "big"]).through_sh(r#"umask 0; "$@""#).stdout(out).run();
    let [file] = &spools(&scene)[..] else { panic!("{:?}", scene.state_files()) };
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let prune = || scene.call("prune --older-than 0s --force").run();
    until("the record is older than that", || {
        prune();
        scene.state("k") == "absent"
    });
    assert_eq!(spools(&scene), Vec::<PathBuf>::new());
}

#[test]
fn a_large_output_of_a_command_that_ends_at_once_is_kept_like_any_other() {
    let scene = Scene::new();
    for size in [65_535, 65_536, 65_537, (1 << 20) - 200, (1 << 20) + 1] {
        let out = big(&scene, "big", size);
        let key = format!("k{size}");
        for _ in 0..2 {
            scene.once(&key).command(["cat", "big"]).stdout(&out).run();
        }
    }
    assert_eq!(spools(&scene).len(), 1, "what is small is taken into the store");
}

#[test]
fn an_output_whose_file_is_gone_or_cut_short_is_not_replayed_as_if_it_were_whole() {
    let scene = Scene::new();
    let out = big(&scene, "big", 2_000_000);
    scene.once("k").command(["cat", "big"]).stdout(out).run();
    let [file] = &spools(&scene)[..] else { panic!("{:?}", scene.state_files()) };
    let whole = fs::read(file).unwrap();
    let damages: [&dyn Fn(); 2] =
        [&|| fs::write(file, &whole[..1_000_000]).unwrap(), &|| fs::remove_file(file).unwrap()];
    for damage in damages {
        damage();
        for options in ["k", "k --fail-open"] {
            let call = scene.once(options).command(["cat", "big"]);
            call.status(125).note(&["k", "missing or damaged", "doubletap forget k"]).run();
        }
    }
}

#[test]
fn an_output_that_is_found_damaged_on_the_way_is_told() {
    let scene = Scene::new();
    let out = big(&scene, "big", 2_000_000);
    scene.once("k").command(["cat", "big"]).stdout(out).run();
    let [file] = &spools(&scene)[..] else { panic!("{:?}", scene.state_files()) };
    let mut bytes = fs::read(file).unwrap();
    // The head of the first frame.
    bytes[0] = 9;
    fs::write(file, bytes).unwrap();
    let call = scene.once("k").command(["cat", "big"]).status(73);
    call.note(&["k", "damaged", "0 of its 2000000 bytes", "forget"]).run();
}

#[test]
fn a_reader_that_leaves_an_endless_command_ends_it_as_it_would_without_us() {
    let scene = Scene::new();
    let call = scene.once("k --max-output none").command(["yes"]);
    call.through_sh(r#"{ "$@"; echo "ended with $?" >&2; } | head -n 1"#)
        .stdout("y\n")
        .stderr("ended with 141\n")
        .run();
    assert_eq!(scene.state("k"), "failed");
}

#[test]
fn a_command_that_succeeds_though_its_reader_has_left_is_recorded_and_marked() {
    let scene = Scene::new();
    let _gate = scene.gate();
    let script = r#"trap "" PIPE; echo run >>runs; echo first
        until ! echo more 2>/dev/null; do :; done; exit 0"#;
    let call = scene.once("k").sh(script);
    call.through_sh(r#"{ "$@"; echo "ended with $?" >&2; } | head -n 1"#)
        .stdout("first\n")
        .stderr("ended with 0\n")
        .run();
    let replay = scene.once("k").sh(script).any_stdout().note(&["only the first"]).run();
    assert!(replay.text().starts_with("first\nmore\n"), "{}", replay.text());
    assert_eq!(scene.runs(), 1);
}
