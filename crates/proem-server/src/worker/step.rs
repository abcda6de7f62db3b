//! One step in a process of its own.

use std::io;

use proem_guard::show;
use proem_runtime::schedule::own_process::{OwnProcess, OwnProgram};

/// The exit codes of a step that did what it should: everything is well, or it has something to say.
const DONE: [i32; 2] = [0, 1];

/// A step under way.
#[derive(Debug)]
pub(super) struct Step {
    process: OwnProcess,
}

/// How a step's process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// It did what it should.
    Done,
    /// Why it did not, in its own last words, fit for a screen.
    Failed(String),
}

impl Step {
    pub(super) fn start(program: &OwnProgram) -> io::Result<Self> {
        Ok(Self { process: program.start()? })
    }

    /// The number of its process.
    pub(super) const fn process(&self) -> u32 {
        self.process.id
    }

    /// Waits for its end.
    pub(super) async fn end(&mut self) -> StepOutcome {
        let end = match self.process.end().await {
            Ok(end) => end,
            Err(error) => return StepOutcome::Failed(error.to_string()),
        };
        if end.code.is_some_and(|code| DONE.contains(&code)) {
            return StepOutcome::Done;
        }
        let said = String::from_utf8_lossy(&end.error);
        let last = said.lines().rev().find(|line| line.starts_with("error: "));
        let last = last.or_else(|| said.lines().rev().find(|line| !line.trim().is_empty()));
        let words = last.map(|line| line.trim_start_matches("error: "));
        let words = words.map_or_else(|| "it said nothing".to_owned(), |words| show::terminal_str(words).into_string());
        StepOutcome::Failed(match end.code {
            Some(_) => words,
            None => format!("its process was ended from outside: {words}"),
        })
    }

    /// Asks its process to end, as a person would by `kill`.
    pub(super) fn stop(&self) {
        self.process.ask_to_end();
    }
}
