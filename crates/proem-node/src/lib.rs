//! The module behind the npm package `proem-engine`: the library `proem`, with JavaScript's values.
//!
//! Everything here converts and nothing decides. Texts and JSON go in, JSON comes out. Work on texts is a [`job::Job`],
//! which JavaScript has done at once or by a thread of Node's pool. The package's JavaScript side in `typescript` has
//! the public types.

#![expect(clippy::needless_pass_by_value, unreachable_pub, reason = "napi wants public methods that own their texts")]

mod budget;
mod guard;
mod job;
mod prompt;
mod values;
