//! The servers and hosts that the sentences about other stores play on.
//!
//! Every sentence that needs a server stands in a module called `servers` and is
//! ignored with the names of the packages it needs, so that a machine without them
//! says what was left out. `.ci/run` has them and runs them all.

#[cfg(any(feature = "postgres", feature = "redis"))]
#[macro_use]
mod engine;
#[cfg(feature = "redis")]
mod acknowledgements;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod apart;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod cuts;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod doctor;
#[cfg(feature = "redis")]
mod failover;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod held_up;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod herds;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod lost_answers;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod outages;
#[cfg(feature = "postgres")]
mod pooled;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod pruning;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod refusals;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod silence;
#[cfg(feature = "postgres")]
mod too_late;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod unreadable;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod verbs;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod waits;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod zombies;

mod endings;
mod hosts;
mod postgres;
mod redis;

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
