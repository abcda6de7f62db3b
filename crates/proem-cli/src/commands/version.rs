//! `proem --version --json`: this program, for scripts that choose or upgrade it.

use std::env::consts::{ARCH, OS};

use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui;

/// This program.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VersionOutput {
    /// Its version, by Semantic Versioning.
    version: &'static str,
    /// The operating system that it was built for, as Rust names it.
    os: &'static str,
    /// The processor that it was built for, as Rust names it.
    architecture: &'static str,
    /// The form of the records that it writes. It upgrades older forms, and can't open newer ones.
    records_form: i64,
    /// Whether it can keep records in PostgreSQL.
    postgres: bool,
}

/// Whether a command line asks for the version as JSON.
pub(crate) fn wants_version_document(error: &clap::Error, mut arguments: impl Iterator<Item = String>) -> bool {
    error.kind() == clap::error::ErrorKind::DisplayVersion && arguments.any(|argument| argument == "--json")
}

pub(crate) fn print_version_document() -> Result<(), CommandFailure> {
    let output = VersionOutput {
        version: env!("CARGO_PKG_VERSION"),
        os: OS,
        architecture: ARCH,
        records_form: proem_store::newest_form(),
        postgres: cfg!(feature = "postgres"),
    };
    ui::print_json_document(&json::pretty(&json!(output)))
}
