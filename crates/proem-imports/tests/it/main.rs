//! The behaviour of `proem-imports`, seen from outside: one binary, one module for each subject.

mod corpus;
mod dialects;
mod imports;
mod symbols;
