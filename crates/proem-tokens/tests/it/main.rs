//! The behaviour of `proem-tokens`, seen from outside: one binary, one module for each subject.

mod corpus;
mod counts;
mod laws;
