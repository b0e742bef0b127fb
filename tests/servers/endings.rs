//! Nothing of a server is left when its test is gone.

use std::env::current_exe;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use crate::support::processes::within;
use crate::support::servers::{Persistence, Postgres, Redis};
use crate::support::{Scene, until};

/// The variable that tells a copy of this program to start servers and be killed.
const VICTIM: &str = "SERVERS_OF_A_VICTIM";

/// Where a copy of this program is to say which folders its servers live in.
#[expect(clippy::disallowed_methods, reason = "the test calls itself")]
fn victims_list() -> Option<PathBuf> {
    std::env::var_os(VICTIM).map(PathBuf::from)
}

/// The folder of a server.
fn folder(authority: &Path) -> &Path {
    authority.parent().unwrap()
}

/// The shared memory that a PostgreSQL server holds in the kernel.
fn shared_memory(folder: &Path) -> String {
    let file = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    file.lines().nth(6).unwrap().split_whitespace().last().unwrap().to_owned()
}

/// Whether the kernel has shared memory of this id.
fn is_in_the_kernel(id: &str) -> bool {
    let all = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    all.lines().any(|line| line.split_whitespace().nth(1) == Some(id))
}

/// Starts servers, some of which run, one is stopped and one is dead, and says where.
fn be_a_victim(list: &Path) -> ! {
    let shared = [Postgres::shared().authority(), Redis::shared().authority()];
    let mut postgres = [Postgres::start(), Postgres::start()];
    let mut redis = Redis::start(Persistence::EveryWrite);
    let own = postgres.each_ref().map(Postgres::authority);
    let others = [shared[0].clone(), shared[1].clone(), redis.authority()];
    let dead = shared_memory(folder(&own[0]));
    postgres[0].kill();
    postgres[1].pause();
    redis.pause();
    let folders: Vec<String> = own
        .iter()
        .chain(&others)
        .map(|authority| folder(authority).display().to_string())
        .collect();
    let draft = list.with_extension("draft");
    fs::write(&draft, format!("{dead}\n{}\n", folders.join("\n"))).unwrap();
    fs::rename(draft, list).unwrap();
    loop {
        thread::park();
    }
}

#[test]
#[ignore = "needs postgresql and redis-server: cargo test --features full -- --ignored servers::"]
fn the_servers_of_a_killed_test_process_end_and_leave_nothing() {
    if let Some(list) = victims_list() {
        be_a_victim(&list);
    }
    let scene = Scene::new();
    let (_, place) = module_path!().split_once("::").unwrap();
    let myself = format!("{place}::the_servers_of_a_killed_test_process_end_and_leave_nothing");
    let call = scene.call("--ignored --exact").program(&current_exe().unwrap()).arg(myself);
    let victim = call.env(VICTIM, scene.path("list")).unchecked().spawn();
    until("the servers run", || scene.path("list").exists());
    let list = scene.read("list");
    let (dead, folders) = list.split_once('\n').unwrap();
    let folders: Vec<&Path> = folders.lines().map(Path::new).collect();
    assert!(folders.iter().skip(1).all(|folder| !within(folder).is_empty()));
    assert!(is_in_the_kernel(dead));
    victim.kill();
    until("all servers have ended", || folders.iter().all(|folder| within(folder).is_empty()));
    until("their folders are gone", || !folders.iter().any(|folder| folder.exists()));
    assert!(!is_in_the_kernel(dead));
}

#[test]
#[ignore = "needs postgresql and redis-server: cargo test --features full -- --ignored servers::"]
fn a_server_that_is_let_go_of_has_ended() {
    let postgres = Postgres::start();
    let redis = Redis::start(Persistence::EveryWrite);
    let authorities = [postgres.authority(), redis.authority()];
    let folders = authorities.each_ref().map(|authority| folder(authority));
    let memory = shared_memory(folders[0]);
    assert!(folders.iter().all(|folder| !within(folder).is_empty()));
    drop((postgres, redis));
    assert!(folders.iter().all(|folder| within(folder).is_empty() && !folder.exists()));
    assert!(!is_in_the_kernel(&memory));
}
