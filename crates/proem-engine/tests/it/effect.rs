//! The life of an action: the table, the machine, the keys and the page about them.

mod keys;
mod laws;
mod machine;
mod reference;
