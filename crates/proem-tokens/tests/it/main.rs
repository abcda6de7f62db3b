//! What `proem-tokens` does, seen from outside: one binary, one module for each subject.

mod corpus;
mod counts;
mod laws;
