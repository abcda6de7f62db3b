//! The binary as its users meet it: arguments in, both outputs and the exit code out.
//!
//! Every run has a home, a configuration and a key of its own. Git runs with fixed names and dates. Snapshots are read
//! like a terminal session: they are the documents of what is printed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may stop the test; clippy's exceptions cover test functions only"
)]

/// Compares a text with the snapshot named after the test.
macro_rules! snapshot {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
    ($name:expr, $text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($name, $text) })
    };
}

mod adapt;
mod agent;
mod answer_forms;
mod approvals;
mod ask;
mod assemble;
mod book;
mod book_compared;
mod browser;
mod catalogue;
mod ci_jobs;
mod completion;
mod conversation;
mod credentials;
mod database;
mod diagnosed;
mod doctor;
mod effects;
mod embedding;
mod experiment;
mod exported;
mod figures;
mod find;
mod first_hour;
mod first_look;
mod fixture;
mod found_ways;
mod gallery;
mod golden;
mod guide;
mod hostile;
mod imported;
mod improving;
mod in_process;
mod incident;
mod init;
mod learning;
mod lisp;
mod lisp_agent;
mod lisp_calls;
mod lisp_children;
mod lisp_compiled;
mod lisp_kills;
mod lisp_models;
mod lisp_tools;
mod local_models;
mod mcp;
mod mcp_tools;
mod notes;
mod older;
mod otlp;
mod own_server;
mod promotion;
mod records;
mod reference;
mod risk;
mod run;
mod runner;
mod scan;
mod scan_project;
mod scan_reasons;
mod schema;
mod select;
mod selection;
mod send;
mod serve;
#[path = "../../../xtask/skipped.rs"]
mod skipped;
mod small_inputs;
#[path = "../../../proem-app/tests/it/source_server.rs"]
#[expect(dead_code, reason = "the tests of the use case need more of it")]
mod source_server;
#[path = "../../../proem-app/tests/it/source_worlds.rs"]
#[expect(dead_code, reason = "the tests of the use case need more of it")]
mod source_worlds;
mod special;
mod stored;
mod syncing;
mod team;
mod terminal;
#[path = "../../../proem-store/tests/it/test_server.rs"]
mod test_server;
mod tokens;
mod triage;
#[path = "../../../proem-app/tests/it/triage_scene.rs"]
mod triage_scene;
#[path = "../../../proem-app/tests/it/triage_signals.rs"]
mod triage_signals;
mod triaged;
mod trust;
mod views;
mod weekly_batch;
