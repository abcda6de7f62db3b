//! The behaviour of `proem-risk`, seen from outside: one binary, one module for each subject.

mod assess;
