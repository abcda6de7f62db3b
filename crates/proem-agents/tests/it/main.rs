//! The behaviour of `proem-agents`, seen from outside: one binary, one module for each subject.

mod adapt_corpus;
mod assemble;
mod lisp_files;
mod lisp_programs;
mod lisp_prompt;
mod lisp_turns;
mod prompted;
mod risk;
