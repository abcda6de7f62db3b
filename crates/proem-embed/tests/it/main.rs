//! The behaviour of `proem-embed`, seen from outside: one binary, one module for each subject.

mod corpus;
mod golden;
mod hostile;
mod small;
mod wordpiece;
