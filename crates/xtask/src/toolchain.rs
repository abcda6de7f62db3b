//! The toolchain that does everything: the one that runs this program.

use std::{env, ffi::OsString};

/// The cargo that runs this program.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
