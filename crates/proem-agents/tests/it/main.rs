//! What `proem-agents` does, seen from outside: one binary, one module for each subject.

mod adapt_corpus;
mod assemble;
mod prompted;
mod risk;
