//! `proem-lab eval lisp-agent`: missions of program agents with scripted models, and the tokens that they take.

mod measured;

use std::path::PathBuf;

use clap::Args;

use self::measured::{measure_missions, missions_table};

/// Runs the missions of `evals/lisp/missions` with a scripted model in three tempers, and counts tokens.
#[derive(Debug, Args)]
pub(crate) struct EvalLispAgent {
    /// The workspace's folder, whose missions are read and whose `evals/lisp/missions.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const RESULTS: &str = "evals/lisp/missions.md";

pub(crate) fn run_eval_lisp_agent(args: &EvalLispAgent) -> Result<String, String> {
    let table = missions_table(&measure_missions(&args.to)?);
    let path = args.to.join(RESULTS);
    std::fs::write(&path, &table).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(table)
}
