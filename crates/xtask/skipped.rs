//! The message of a test that can't run on this machine. Every crate with such tests includes this file by its path,
//! because they share no smaller crate, and this crate reads the same form.

use std::fmt::Display;
use std::io::Write as _;

/// Says that the running test is skipped, as `lacking` is missing on this machine. `permitted-skips.toml` beside this
/// file lists the tests that may say so where everything else has to run.
///
/// The harness keeps what a passed test prints to itself, so this is written past it.
pub(crate) fn skip(lacking: &str, why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed");
    let line = format!("SKIPPED {lacking} {test}: {why}\n");
    std::io::stderr().lock().write_all(line.as_bytes()).ok();
}
