//! The arguments of the commands that decide about versions.

use std::path::PathBuf;

use clap::Parser;

/// The book that is decided about.
#[derive(Debug, Parser)]
pub(crate) struct DecidedPlace {
    /// A folder in the project whose book is meant
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) root: PathBuf,
    /// Decide about your own book, although the project has one
    #[arg(long)]
    pub(super) user: bool,
}

#[derive(Debug, Parser)]
pub(crate) struct PromoteArgs {
    /// `agent/name@version`
    pub(super) prompt: String,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: Option<String>,
    /// Promote a version that takes other inputs or owes another answer
    #[arg(long)]
    pub(super) although_interface_differs: bool,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct DemoteArgs {
    /// `agent/name`
    pub(super) prompt: String,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: Option<String>,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct ProposeArgs {
    /// A prompt file, or `agent/name@version` of a version that the book has
    #[arg(value_name = "FILE")]
    pub(super) what: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(super) because: String,
    /// The prompt, `agent/name`, if the file's folder does not say it
    #[arg(long, value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct ProposalsArgs {
    /// The beginning of an id, to show one proposal as a whole
    pub(super) id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct ApproveArgs {
    /// The beginning of the proposal's id
    pub(super) id: String,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: Option<String>,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct RejectArgs {
    /// The beginning of the proposal's id
    pub(super) id: String,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: String,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}
