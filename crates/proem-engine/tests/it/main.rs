//! What `proem-engine` does, seen from outside: one binary, one module for each subject.

mod assemble;
mod book;
mod contract;
mod contract_prompt;
mod corpus;
mod decode;
mod decode_laws;
mod dotprompt;
mod effect;
mod handlebars;
mod items;
mod laws;
mod policy;
mod strict;
