//! The behaviour of `proem-llm`, seen from outside: one binary, one module for each subject.

mod caller;
mod cassette;
mod codec;
mod once;
mod scripted;
