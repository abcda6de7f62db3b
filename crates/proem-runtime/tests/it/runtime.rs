//! Git, files and keys as they behave on real repositories, friendly and hostile.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise, and says out loud what it skips"
)]

mod entries;
mod errors;
mod files;
mod hostile;
mod key;
mod parse;
mod readers;
mod readers_corpus;
mod readers_mail;
mod rules;
mod states;
mod uncommitted;
