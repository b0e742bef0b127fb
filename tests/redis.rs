//! What only a store on Redis can show: what happens between its two scripts, what a server
//! in trouble comes to, and what is kept where. Everything else is in [`contract`](crate::contract).

mod servers;
