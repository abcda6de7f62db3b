//! The behaviour of `proem-engine`, seen from outside: one binary, one module for each subject.

mod assemble;
mod book;
mod contained;
mod contract;
mod contract_prompt;
mod corpus;
mod decode;
mod decode_corpus;
mod decode_envelopes;
mod decode_laws;
mod decode_meant;
mod decode_readings;
mod dotprompt;
mod effect;
mod experiment;
mod handlebars;
mod history;
mod import;
mod items;
mod laws;
mod media;
mod policy;
mod section_budgets;
#[expect(clippy::disallowed_methods, reason = "a skipped test has to be heard")]
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod strict;
