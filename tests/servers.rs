//! The servers and hosts that the sentences about other stores play on.
//!
//! Every sentence that needs a server stands in a module called `servers` and is
//! ignored with the names of the packages it needs, so that a machine without them
//! says what was left out. `.ci/run` has them and runs them all.

#[cfg(any(feature = "postgres", feature = "redis"))]
#[macro_use]
mod engine;
mod apart;
mod cuts;
mod doctor;
mod endings;
#[cfg(feature = "redis")]
mod failover;
mod herds;
mod hosts;
mod outages;
#[cfg(feature = "postgres")]
mod pooled;
mod postgres;
mod redis;
mod refusals;
mod verbs;
mod waits;
mod zombies;

// The sentences that cannot even be compiled without a feature are told of here.

#[cfg(not(feature = "postgres"))]
#[test]
#[ignore = "the store needs its feature and postgresql: cargo test --features full -- --ignored servers::"]
fn whatever_is_about_the_store_on_postgresql() {
    panic!("it was left out: cargo test --features full -- --ignored servers::");
}

#[cfg(not(feature = "redis"))]
#[test]
#[ignore = "the store needs its feature and redis-server: cargo test --features full -- --ignored servers::"]
fn whatever_is_about_the_store_on_redis() {
    panic!("it was left out: cargo test --features full -- --ignored servers::");
}
