//! What each command does.

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
pub(crate) mod find;
pub(crate) mod hook;
pub(crate) mod index;
pub(crate) mod init;
mod interrupt;
pub(crate) mod lisp;
pub(crate) mod policy;
pub(crate) mod queue;
pub(crate) mod reference;
pub(crate) mod risk;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod tokens;
pub(crate) mod triage;
pub(crate) mod trust;

use std::process::ExitCode;

use crate::args::{Command, CommandLine};
use crate::failure::CommandFailure;

/// Runs the command that was given.
pub(crate) fn run(args: CommandLine) -> Result<ExitCode, CommandFailure> {
    match args.command {
        Command::Adapt(args) => adapt::run(&args),
        Command::Artefacts(command) => artefacts::run(&command),
        Command::Ask(args) => ask::run(&args),
        Command::Assemble(args) => assemble::run(&args),
        Command::Book(command) => book::run(&command),
        Command::Catalogue(command) => catalogue::run(&command),
        Command::Cost(args) => cost::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Effects(command) => effects::run(&command),
        Command::Escalations(command) => escalations::run(&command),
        Command::Failures(command) => failures::run(&command),
        Command::Hook(args) => hook::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Lisp(command) => lisp::run(&command),
        Command::Policy(command) => policy::run(&command),
        Command::Queue(command) => queue::run(&command),
        Command::Risk(args) => risk::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Runs(command) => runs::run(&command),
        Command::Scan(args) => scan::run(&args),
        Command::Select(args) => select::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Store(command) => store::run(&command),
        Command::Tokens(args) => tokens::run(&args),
        Command::Triage(command) => triage::run(&command),
        Command::Trust(args) => trust::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Completions { shell } => completions::run(shell),
        Command::Reference { document } => reference::print(document),
    }
}
