//! `etcdctl lock`, the peer of a `lease` on a server, on an etcd of the row's own.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};

use crate::row::Measure;
use crate::run;
use crate::server::{Home, Server, free_port};

/// Runs `true` under the same name each round.
pub(crate) fn lock() -> Result<Measure> {
    let program = run::find("etcd")?.context("etcd: not installed (package etcd-server)")?;
    let etcdctl = run::need("etcdctl").context("package etcd-client")?;
    let home = Home::create("etcd", &[])?;
    let at = || Ok::<_, anyhow::Error>(format!("http://127.0.0.1:{}", free_port()?));
    let (clients, peers) = (at()?, at()?);
    let cluster = format!("default={peers}");
    let mut words: Vec<OsString> =
        vec![program.into(), "--data-dir".into(), home.at("data").into()];
    words.extend(["--initial-cluster", &cluster].map(OsString::from));
    for (option, url) in [
        ("--listen-client-urls", &*clients),
        ("--advertise-client-urls", &*clients),
        ("--listen-peer-urls", &*peers),
        ("--initial-advertise-peer-urls", &*peers),
    ] {
        words.extend([option, url].map(OsString::from));
    }
    let call = move |words: &[&str]| -> Command {
        let mut command = run::command(&etcdctl);
        command.env("ETCDCTL_API", "3").args(["--endpoints", &clients]).args(words);
        command
    };
    let ready = || Ok(call(&["endpoint", "health"]).status()?.success());
    let server = Server::start(home, &words, ready).context("starting etcd")?;
    Ok(Box::new(move || {
        let _running = &server;
        run::one(call(&["lock", "name", "true"]))
    }))
}
