//! The command line of `proem cost`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use proem_app::config::parse_dollars;
use proem_engine::call::NanoDollars;

use crate::args::place::RecordsPlace;

pub(crate) const COST_EXAMPLES: &str = "\
Examples:
  proem cost                      # this project, the last 30 days
  proem cost --all --since 2026-11-01 --json
  proem cost correct 4711 0.0123 --why \"the invoice says so\"
  proem cost fit                  # how far token estimates are from what providers report";

#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Cost {
    /// Start of the period: a day such as 2026-11-01, or 30d
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub(crate) since: String,
    #[command(flatten)]
    pub(crate) place: RecordsPlace,
    #[command(subcommand)]
    pub(crate) command: Option<CostCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CostCommand {
    /// Correct the recorded cost of an attempt; asks for confirmation
    #[command(after_help = "Example:\n  proem cost correct 4711 0.0123 --why \"the invoice says so\"")]
    Correct {
        /// The attempt, as `runs show` names it
        attempt: i64,
        /// Real cost, in dollars
        #[arg(value_parser = parse_dollars)]
        cost: NanoDollars,
        /// The reason, kept with the correction
        #[arg(long)]
        why: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Compare estimated token counts with those that providers reported
    #[command(after_help = "Example:\n  proem cost fit --apply")]
    Fit {
        /// Apply the factors found to all estimates from now on
        #[arg(long, conflicts_with = "revert")]
        apply: bool,
        /// Undo --apply: use the previous factors
        #[arg(long)]
        revert: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
