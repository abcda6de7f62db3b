//! What `proem-agents` does, seen from outside: one binary, one module for each subject.

mod adapt_corpus;
mod assemble;
mod prompted;
mod risk;
#[expect(clippy::disallowed_methods, reason = "a skipped test has to be heard")]
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod triage;
