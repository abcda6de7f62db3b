//! PTC-Lisp next to Clojure: expressions, Clojure's answers, and how far ours agree.

#[path = "../../../proem-lisp/tests/it/answers.rs"]
mod answers;
mod arguments;
mod clojure;
pub(crate) mod eval;
pub(crate) mod missions;
mod others;
