//! The arguments of the commands that decide about versions.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Parser;
use proem_app::config::parse_dollars;
use proem_engine::call::NanoDollars;

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
    pub(super) trial: TrialArgs,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

/// How a proposed version is tried.
#[derive(Debug, Parser)]
pub(crate) struct TrialArgs {
    /// Also ask a model for the prompt's test cases, with the proposed version and with the one in use
    #[arg(long, requires = "max_cost", conflicts_with = "replay")]
    pub(super) live: bool,
    /// Maximum cost of all calls together, in US dollars; a run that could exceed it is not made
    #[arg(long, value_name = "DOLLARS", requires = "live", value_parser = parse_dollars)]
    pub(super) max_cost: Option<NanoDollars>,
    /// Take a model's answers from a folder that `proem book test --live` recorded with `--record`; the file
    /// must have been called like the prompt
    #[arg(long, value_name = "DIR")]
    pub(super) replay: Option<PathBuf>,
    /// How many times each test case is sent to the model, or was when it was recorded
    #[arg(long, value_name = "N", default_value = "3")]
    pub(super) times: NonZeroU32,
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
    /// The beginning of the proposal's id, if there are several
    pub(super) id: Option<String>,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: Option<String>,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}

#[derive(Debug, Parser)]
pub(crate) struct RejectArgs {
    /// The beginning of the proposal's id, if there are several
    pub(super) id: Option<String>,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    pub(super) because: String,
    #[command(flatten)]
    pub(super) place: DecidedPlace,
}
