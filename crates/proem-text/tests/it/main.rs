//! The behaviour of `proem-text`, seen from outside: one binary, one module for each subject.

mod corpus;
mod laws;
