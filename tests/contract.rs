//! The contract of a store (`src/store.rs`, DESIGN section 4): every sentence
//! runs against every store, with a clock and a liveness made by hand.
//!
//! A sentence is a function of a [`Stage`](stage::Stage); `every_store!` at the
//! end of a file turns the ones it names into a test for each store. What only
//! a file can show is in [`sqlite`], [`sqlite_file`], [`sqlite_lease`],
//! [`sqlite_spool`], [`sqlite_steps`], [`sqlite_survey`], [`sqlite_sweep`] and
//! [`sqlite_v2`].

/// Makes one test for each store of each sentence. A new store needs a line
/// here and a constructor of [`Stage`](stage::Stage) of that name.
macro_rules! every_store {
    ($($sentence:ident),* $(,)?) => {
        every_store!(in memory: $($sentence)*);
        every_store!(in sqlite: $($sentence)*);
        mod servers {
            #[cfg(feature = "postgres")]
            every_store!(on postgres "needs postgresql and openssl: cargo test --features full -- --ignored servers::": $($sentence)*);
            #[cfg(feature = "redis")]
            every_store!(on redis "needs redis-server and openssl: cargo test --features full -- --ignored servers::": $($sentence)*);
        }
    };
    (on $store:ident $why:literal: $($sentence:ident)*) => {
        mod $store {
            use crate::contract::stage::Stage;
            $(
                #[test]
                #[ignore = $why]
                fn $sentence() {
                    super::super::$sentence(&mut Stage::$store());
                }
            )*
        }
    };
    (in $store:ident: $($sentence:ident)*) => {
        mod $store {
            use crate::contract::stage::Stage;
            $(
                #[test]
                fn $sentence() {
                    super::$sentence(&mut Stage::$store());
                }
            )*
        }
    };
}

mod claiming;
pub(crate) mod completion;
mod examining;
mod fences;
mod forgetting;
mod leases;
mod owning;
mod people;
mod records;
mod rerunning;
mod resuming;
mod settling;
mod sqlite;
mod sqlite_file;
mod sqlite_lease;
mod sqlite_spool;
mod sqlite_steps;
mod sqlite_survey;
mod sqlite_sweep;
mod sqlite_v2;
pub(crate) mod stage;
mod step_sweeping;
mod steps;
mod surveying;
mod sweeping;
mod sweeping_alike;
mod taking_over;
mod thinning;
mod ties;
mod upserting;
