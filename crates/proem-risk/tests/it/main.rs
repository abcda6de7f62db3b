//! What `proem-risk` does, seen from outside: one binary, one module for each subject.

mod assess;
