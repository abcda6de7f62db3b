//! The laboratory: what makes the data that Proem ships, and measures it.
//!
//! Not part of the product. One file for each command; what a command says goes to standard
//! output, why one failed to standard error. Exit codes: 0 done, 2 usage, 3 failed.

mod context;
mod credentials;
mod decoding;
mod guard;
mod handlebars;
mod import;
mod lifecycle;
mod linear;
mod lisp;
mod mode;
mod npy;
mod pack;
mod risk;
mod selection;
#[cfg(test)]
#[path = "../../xtask/skipped.rs"]
mod skipped;
mod stopwatch;
mod triage;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Makes and measures the data that Proem ships.
#[derive(Debug, Parser)]
#[command(name = "proem-lab", disable_version_flag = true)]
struct DataCommandLine {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// Packs raw data into the files that crates embed.
    #[command(subcommand)]
    Pack(pack::Pack),
    /// Learns what ships, from public sets.
    #[command(subcommand)]
    Train(Train),
    /// Measures what ships, and writes the tables under `evals/`.
    #[command(subcommand)]
    Eval(Eval),
}

#[derive(Debug, Subcommand)]
enum Train {
    /// Recognise tasks that are about no code.
    Abstention(context::abstention::TrainAbstention),
    /// The ranking of a repository's files for a task.
    Context(context::train::TrainContext),
    /// The learned scorer of the guard.
    Guard(guard::train::TrainGuard),
    /// The score of a change's risk.
    Risk(risk::train::TrainRisk),
    /// The selection of tools.
    Select(selection::train::TrainSelect),
    /// The joint meaning of signals' words.
    Triage(triage::train::TrainTriage),
}

#[derive(Debug, Subcommand)]
enum Eval {
    /// The ranking of a repository's files for a task.
    Context(context::eval::EvalContext),
    /// The first prompt in a repository.
    ContextCold(context::cold::EvalCold),
    /// Credentials by shape, in folders that should hold none.
    Credentials(credentials::EvalCredentials),
    /// The value that is read of judged answers.
    Decoding(decoding::eval::EvalDecoding),
    /// The guard against prompt injections.
    Guard(guard::eval::EvalGuard),
    /// The guard on files of source and documentation.
    GuardFiles(guard::files::EvalGuardFiles),
    /// Templates beside handlebars.js.
    Handlebars(handlebars::eval::EvalHandlebars),
    /// Prompts of other tools beside the requests that `book import` makes of them.
    Import(import::EvalImport),
    /// The sequential test of experiments with prompts, simulated.
    Lifecycle(lifecycle::EvalLifecycle),
    /// The time that hostile texts take, by length, at everything that reads text from outside.
    Linear(linear::EvalLinear),
    /// The language beside Clojure.
    Lisp(lisp::eval::EvalLisp),
    /// Missions of program agents, with scripted models.
    LispAgent(lisp::missions::EvalLispAgent),
    /// The mode in which a task is to be done.
    Mode(mode::eval::EvalMode),
    /// The prompts for past commits.
    Prompts(context::prompts::EvalPrompts),
    /// The score of a change's risk.
    Risk(risk::eval::EvalRisk),
    /// The levels of the commits of real clones.
    RiskLevels(risk::levels::EvalLevels),
    /// Scores learned from the assessments of clones, on clones that they didn't see.
    RiskTraining(risk::training::EvalTraining),
    /// The selection of tools.
    Selection(selection::eval::EvalSelection),
    /// The triage of signals without a model.
    Triage(triage::eval::EvalTriage),
}

fn main() -> ExitCode {
    let args = match DataCommandLine::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help is an answer. It goes to standard output with code 0.
            _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match report_data_command(args.command) {
        Ok(report) => {
            // A closed pipe is the reader's choice.
            _ = std::io::stdout().write_all(report.as_bytes());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            _ = std::io::stderr().write_all(format!("error: {problem}\n").as_bytes());
            ExitCode::from(3)
        }
    }
}

/// The result of a command, or the reason that there is none.
fn report_data_command(command: DataCommand) -> Result<String, String> {
    match command {
        DataCommand::Pack(pack) => pack::run_pack(&pack),
        DataCommand::Train(Train::Abstention(args)) => context::abstention::run_train_abstention(&args),
        DataCommand::Train(Train::Context(args)) => context::train::run_train_context(&args),
        DataCommand::Train(Train::Guard(args)) => guard::train::run_train_guard(&args),
        DataCommand::Train(Train::Risk(args)) => risk::train::run_train_risk(&args),
        DataCommand::Train(Train::Select(args)) => selection::train::run_train_select(&args),
        DataCommand::Train(Train::Triage(args)) => triage::train::run_train_triage(&args),
        DataCommand::Eval(Eval::Context(args)) => context::eval::run_eval_context(&args),
        DataCommand::Eval(Eval::ContextCold(args)) => context::cold::run_eval_cold(&args),
        DataCommand::Eval(Eval::Credentials(args)) => credentials::run_eval_credentials(&args),
        DataCommand::Eval(Eval::Decoding(args)) => decoding::eval::run_eval_decoding(&args),
        DataCommand::Eval(Eval::Guard(args)) => guard::eval::run_eval_guard(&args),
        DataCommand::Eval(Eval::GuardFiles(args)) => guard::files::run_eval_guard_files(&args),
        DataCommand::Eval(Eval::Handlebars(args)) => handlebars::eval::run_eval_handlebars(&args),
        DataCommand::Eval(Eval::Import(args)) => import::run_eval_import(&args),
        DataCommand::Eval(Eval::Lifecycle(args)) => lifecycle::run_eval_lifecycle(&args),
        DataCommand::Eval(Eval::Linear(args)) => linear::run_eval_linear(&args),
        DataCommand::Eval(Eval::Lisp(args)) => lisp::eval::run_eval_lisp(&args),
        DataCommand::Eval(Eval::LispAgent(args)) => lisp::missions::run_eval_lisp_agent(&args),
        DataCommand::Eval(Eval::Mode(args)) => mode::eval::run_eval_mode(&args),
        DataCommand::Eval(Eval::Prompts(args)) => context::prompts::run_eval_prompts(&args),
        DataCommand::Eval(Eval::Risk(args)) => risk::eval::run_eval_risk(&args),
        DataCommand::Eval(Eval::RiskLevels(args)) => risk::levels::run_eval_levels(&args),
        DataCommand::Eval(Eval::RiskTraining(args)) => risk::training::run_eval_training(&args),
        DataCommand::Eval(Eval::Selection(args)) => selection::eval::run_eval_selection(&args),
        DataCommand::Eval(Eval::Triage(args)) => triage::eval::run_eval_triage(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_data_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let args = ["proem-lab", "pack", "embed", "--to", "x", "--from", folder.path().to_str().unwrap()];
        let error = report_data_command(DataCommandLine::try_parse_from(args).unwrap().command).unwrap_err();
        assert!(error.starts_with("could not read `") && error.contains("table-256-int8.npy"), "{error}");
    }
}
