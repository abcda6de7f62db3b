//! The commands.

pub(crate) mod adapt;
pub(crate) mod artefacts;
pub(crate) mod ask;
pub(crate) mod assemble;
pub(crate) mod book;
pub(crate) mod catalogue;
pub(crate) mod completions;
pub(crate) mod cost;
pub(crate) mod doctor;
pub(crate) mod effects;
pub(crate) mod escalations;
mod explain;
pub(crate) mod failures;
pub(crate) mod feedback;
pub(crate) mod find;
pub(crate) mod hook;
pub(crate) mod improve;
pub(crate) mod index;
pub(crate) mod init;
mod interrupt;
pub(crate) mod lisp;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod queue;
mod reference;
pub(crate) mod risk;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod select;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod tokens;
pub(crate) mod triage;
pub(crate) mod trust;
pub(crate) mod version;
pub(crate) mod worker;

use std::process::ExitCode;

use crate::args::{Command, CommandLine};
use crate::failure::CommandFailure;

/// Runs the command that was given.
pub(crate) fn run_command(args: CommandLine) -> Result<ExitCode, CommandFailure> {
    match args.command {
        Command::Adapt(args) => adapt::run_adapt(&args),
        Command::Artefacts(command) => artefacts::run_artefacts(&command),
        Command::Ask(args) => ask::run_ask(&args),
        Command::Assemble(args) => assemble::run_assemble(&args),
        Command::Book(command) => book::run_book(&command),
        Command::Catalogue(command) => catalogue::run_catalogue(&command),
        Command::Cost(args) => cost::run_cost(&args),
        Command::Doctor(args) => doctor::run_doctor(&args),
        Command::Effects(command) => effects::run_effects(&command),
        Command::Escalations(command) => escalations::run_escalations(&command),
        Command::Failures(command) => failures::run_failures(&command),
        Command::Feedback(command) => feedback::run_feedback(&command),
        Command::Hook(args) => hook::run_hook(&args),
        Command::Find(args) => find::run_find(&args),
        Command::Improve(args) => improve::run_improve(&args),
        Command::Index(args) => index::run_index(&args),
        Command::Lisp(command) => lisp::run_lisp(&command),
        Command::Mcp(args) => mcp::run_mcp(&args),
        Command::Policy(command) => policy::run_policy(&command),
        Command::Queue(command) => queue::run_queue(&command),
        Command::Risk(args) => risk::run_risk(&args),
        Command::Run(args) => run::run_prompt(&args),
        Command::Runs(command) => runs::run_runs(&command),
        Command::Scan(args) => scan::run_scan(&args),
        Command::Schema(args) => schema::run_schema(&args),
        Command::Select(args) => select::run_select(&args),
        Command::Serve(args) => serve::run_serve(&args),
        Command::Stats(args) => stats::run_stats(&args),
        Command::Store(command) => store::run_store(&command),
        Command::Tokens(args) => tokens::run_tokens(&args),
        Command::Triage(command) => triage::run_triage(&command),
        Command::Trust(args) => trust::run_trust(&args),
        Command::Worker(args) => worker::run_worker(&args),
        Command::Workers(args) => worker::run_workers(&args),
        Command::Init(args) => init::run_init(&args),
        Command::Completions { shell } => completions::run_completions(shell),
        Command::Man { dir } => completions::run_man(&dir),
        Command::Reference => reference::print_configuration_reference(),
    }
}
