//! What only a server can show of the store on PostgreSQL. The contract of a store is
//! shown in `contract`, and the program on it in `servers`.
//!
//! A sentence that does nothing to its server takes a database of its own on the one that
//! all share.

mod people;

mod servers {
    //! Each needs a server.

    mod access;
    mod breaking;
    mod chains;
    mod examining;
    mod lasting;
    mod outputs;
    mod racing;
    mod setting_up;
    mod telling;
    mod trouble;
}
