//! The behaviour of `proem-select`, seen from outside: one binary, one module for each subject.

mod catalogue;
mod catalogue_laws;
mod context_abstain;
mod context_familiar;
mod context_laws;
mod corpus;
mod hashed;
mod select;
mod select_laws;
