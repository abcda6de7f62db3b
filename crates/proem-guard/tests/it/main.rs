//! The behaviour of `proem-guard`, seen from outside: one binary, one module for each subject.

mod check;
mod check_laws;
mod corpus;
mod disguised;
mod golden;
mod indirect;
mod label_tree;
mod label_tree_laws;
mod laws;
mod memories;
mod scan;
mod scanners;
mod views;
