//! `proem effects`: actions in, effects on and off, and the sweep that performs what is due.

mod log;
mod propose;
mod purge;
mod status;
mod sweep;
mod turn;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use proem_store::record::EffectsPower;

use crate::failure::CommandFailure;

pub(crate) const EFFECTS_EXAMPLES: &str = "\
Examples:
  proem effects propose action.json
  proem effects status
  proem effects on
  proem effects sweep               # from a timer, each minute
  proem effects log --limit 20
  proem effects off
  proem effects purge --before 90d";

#[derive(Debug, Subcommand)]
pub(crate) enum EffectsCommand {
    /// Take an action as an agent gives it, and decide about it
    #[command(after_help = propose::PROPOSE_EXAMPLES)]
    Propose(propose::Propose),
    /// Let effects happen in this project; asks for confirmation
    #[command(after_help = "Example:\n  proem effects on")]
    On {
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Let no effect happen in this project, from this moment on; asks for confirmation
    #[command(after_help = "Example:\n  proem effects off")]
    Off {
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Show whether effects happen, what keeps them from it, and how many actions there are
    #[command(after_help = "Example:\n  proem effects status --json")]
    Status {
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Perform what is due: approved actions, and held ones whose time has come
    #[command(after_help = sweep::SWEEP_EXAMPLES)]
    Sweep(sweep::Sweep),
    /// Show what happened to actions, the newest first
    #[command(after_help = "Example:\n  proem effects log --limit 20 --json")]
    Log(log::Log),
    /// Delete the texts of actions that have ended; asks for confirmation
    #[command(after_help = "Example:\n  proem effects purge --before 90d")]
    Purge {
        /// Those that ended before: a date, or an age such as 90d
        #[arg(long, value_name = "TIME")]
        before: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

pub(super) fn run_effects(args: &EffectsCommand) -> Result<ExitCode, CommandFailure> {
    match args {
        EffectsCommand::Propose(args) => propose::run_effects_propose(args),
        EffectsCommand::On { root } => turn::turn_effects(root, EffectsPower::On),
        EffectsCommand::Off { root } => turn::turn_effects(root, EffectsPower::Off),
        EffectsCommand::Status { root, json } => status::run_effects_status(root, *json),
        EffectsCommand::Sweep(args) => sweep::run_effects_sweep(args),
        EffectsCommand::Log(args) => log::run_effects_log(args),
        EffectsCommand::Purge { before, root } => purge::run_effects_purge(before, root),
    }
}
