//! `proem lisp repl`: expressions as a person types them.
//!
//! Invariants: ^C ends the expression, never the session; what programs keep stays until `:reset`. Lines of earlier
//! sessions are in the user's state folder, and nothing else is written unless a memory is named.

mod assistant;

use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use proem_app::lisp::{DelimiterRepair, LineHistory, LispSource, ProgramEnd};
use proem_lisp::documentation::entry;
use rustyline::error::ReadlineError;
use rustyline::history::{History as _, MemHistory};
use rustyline::{CompletionType, Config, Editor};

use self::assistant::LineAssistant;
use super::{KeptSession, PrintedLines, ProgramArgs, doc, refusal_text};
use crate::commands::interrupt;
use crate::failure::CommandFailure;
use crate::ui::{self, group_thousands};

/// The prompt before each expression.
const PROMPT: &str = "=> ";

const HELP: &str = "\
  :doc NAME   what a form or function does
  :fuel N     let each expression use at most N units of fuel; without N, show the limit
  :memory     what the expressions have kept
  :reset      forget what they have kept, and the last results
  *1 *2 *3    the last three results
  ^C ends the expression, ^D the session
";

#[derive(Debug, Parser)]
pub(crate) struct LispReplArgs {
    #[command(flatten)]
    program: ProgramArgs,
}

/// A session at a terminal.
struct Repl {
    kept: KeptSession,
    stop: Arc<AtomicBool>,
    /// Units of fuel that the last expression used.
    last_fuel: Option<u64>,
}

pub(super) fn run_lisp_repl(args: &LispReplArgs) -> Result<ExitCode, CommandFailure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CommandFailure::usage(
            "this needs a terminal; run it in an interactive shell, or a program with `proem lisp run -`",
        ));
    }
    let places = crate::user_places()?;
    let kept = args.program.session(&places)?;
    let stop = interrupt::flag().map_err(|error| CommandFailure::outside(format!("can't listen for ^C: {error}")))?;
    let mut repl = Repl { kept, stop, last_fuel: Some(0) };
    let history = LineHistory::of_user(&places);
    let mut editor = editor(&history)?;
    loop {
        if let Some(assistant) = editor.helper_mut() {
            assistant.learn_names(repl.kept.session.memory_names());
        }
        match editor.readline(PROMPT) {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                editor.add_history_entry(line.as_str()).map_err(unread_line)?;
                if let Err(error) = history.add(&line) {
                    ui::print_note(&format!("this line is not kept for later sessions: {error}"));
                }
                repl.answer(&line)?;
                if repl.kept.session.is_over() {
                    ui::print_note("two problems with secrets end the session: each may tell a little about them");
                    return Ok(ExitCode::FAILURE);
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(error) => return Err(unread_line(error)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are handed over by value where they are converted")]
fn unread_line(error: ReadlineError) -> CommandFailure {
    CommandFailure::outside(format!("could not read a line: {error}"))
}

fn editor(history: &LineHistory) -> Result<Editor<LineAssistant, MemHistory>, CommandFailure> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .max_history_size(1_000)
        .map_err(unread_line)?
        .build();
    let mut lines = MemHistory::with_config(&config);
    match history.entries() {
        Ok(entries) => {
            for entry in entries {
                lines.add_owned(entry).map_err(unread_line)?;
            }
        }
        Err(error) => ui::print_note(&format!("lines of earlier sessions are left out: {error}")),
    }
    let mut editor = Editor::with_history(config, lines).map_err(unread_line)?;
    editor.set_helper(Some(LineAssistant::default()));
    Ok(editor)
}

impl Repl {
    /// Carries out a command, or evaluates an expression. Only a closed output is a failure.
    fn answer(&mut self, line: &str) -> Result<(), CommandFailure> {
        let (command, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        match (command, rest.trim()) {
            (":help", _) => ui::aside(HELP),
            (":doc", name) => match entry(name) {
                Some(entry) => ui::print_listing(&doc::entry_text(&entry))?,
                None => ui::print_note(&doc::absence(name)),
            },
            (":fuel", "") => ui::print_note(&format!(
                "{} units of fuel for each expression; the last one used {}",
                fuel_text(self.kept.session.limits.fuel),
                self.last_fuel.map_or_else(|| "[Hidden]".to_owned(), fuel_text)
            )),
            (":fuel", number) => match number.replace(['_', ','], "").parse() {
                Ok(fuel) => self.kept.session.limits.fuel = fuel,
                Err(_) => ui::print_note("`:fuel` takes a whole number, such as `:fuel 1000000`"),
            },
            (":memory", "") => self.show_memory()?,
            (":reset", "") => {
                self.kept.session.reset();
                self.store();
            }
            _ => self.evaluate(line)?,
        }
        Ok(())
    }

    fn show_memory(&self) -> Result<(), CommandFailure> {
        let session = &self.kept.session;
        match proem_lisp::print_readable(session.memory(), &mut proem_lisp::Meter::new(session.limits)) {
            Ok(text) => ui::print_lisp_value(&text),
            Err(fault) => {
                ui::print_note(fault.message());
                Ok(())
            }
        }
    }

    fn evaluate(&mut self, line: &str) -> Result<(), CommandFailure> {
        let Ok(source) = LispSource::of_expression(line) else { return Ok(()) };
        let checked = match self.kept.session.check(source, DelimiterRepair::Offer) {
            Ok(checked) => checked,
            Err(refusal) => {
                ui::aside(&refusal_text(&refusal));
                return Ok(());
            }
        };
        checked.warnings.iter().for_each(|warning| ui::aside(warning));
        self.stop.store(false, Ordering::Relaxed);
        let mut lines = PrintedLines::default();
        let run = self.kept.session.run(&checked, |printed| {
            lines.push(printed);
            if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        lines.finish();
        self.last_fuel = run.fuel;
        match &run.end {
            ProgramEnd::Value(_) => {
                ui::print_lisp_value(&run.text)?;
                self.store();
            }
            // A session without a signature has none of these.
            ProgramEnd::Mismatch(_) => {}
            ProgramEnd::Fail(_) => {
                ui::print_failure(&CommandFailure::finding(format!("the program ended with `fail`: {}", run.text)));
            }
            ProgramEnd::Problem(problem) => ui::aside(&problem.excerpt),
            ProgramEnd::Stopped => ui::print_note("the expression was stopped; memory is as before"),
        }
        Ok(())
    }

    fn store(&mut self) {
        if let Err(failure) = self.kept.store() {
            ui::print_failure(&failure);
        }
    }
}

fn fuel_text(fuel: u64) -> String {
    group_thousands(usize::try_from(fuel).unwrap_or(usize::MAX))
}
