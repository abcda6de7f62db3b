//! One run: the value to standard output, its account to standard error.
//!
//! A prompt's fallback goes to standard output only where that is asked for: whoever reads a pipe can't tell it from an
//! answer.

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use proem_app::agents::access::{self, ModelAccess};
use proem_app::run::course::{AfterRefusal, FinishedRun, RunCourse, TimedRequest};
use proem_app::run::output::RunOutput;
use proem_app::run::setting::{OpenRun, RunSetting, cut_notes};
use proem_app::secrets;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::run::{ExchangeEnd, Outcome};
use proem_guard::show;
use proem_llm::caller::listener::TextListener;
use proem_llm::cassette::Replayer;
use proem_text::json;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::account;
use crate::failure::CommandFailure;
use crate::ui::{self, AnswerScreen, TerminalQuestions, WaitNotes};

/// How much is said of a run, and whether the prompt's fallback is printed.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct RunVerbosity {
    pub(in crate::commands) json: bool,
    pub(in crate::commands) explain: bool,
    pub(in crate::commands) fallback: bool,
}

#[derive(Debug)]
enum QuestionSource<'a> {
    /// The prompt with these inputs.
    Inputs(&'a OrderedJson),
    /// A request that is made.
    Made(MadeQuestion<'a>),
}

/// A request that is made.
#[derive(Debug)]
pub(in crate::commands) struct MadeQuestion<'a> {
    pub(in crate::commands) request: Box<TimedRequest>,
    /// The inputs, which name its parts.
    pub(in crate::commands) inputs: &'a OrderedJson,
    pub(in crate::commands) after: AfterRefusal,
}

/// Asks, and prints what came of it.
pub(in crate::commands) async fn ask_and_print(
    said: RunVerbosity,
    inputs: &OrderedJson,
    run: &OpenRun,
    stop: &CancellationToken,
) -> Result<ExitCode, CommandFailure> {
    let Some(ran) = ask_and_stream(said, QuestionSource::Inputs(inputs), run, stop).await? else {
        return Err(CommandFailure::bug("the question has no answer", "it was not asked"));
    };
    ui::print_notes(&cut_notes(&ran.prepared.report).collect::<Vec<_>>());
    report_run(said, run, &ran).await
}

/// Asks with a request that is made, and prints what came of it. `None` if the request is to be made anew for the
/// window that the server named.
pub(in crate::commands) async fn run_made(
    said: RunVerbosity,
    asked: MadeQuestion<'_>,
    run: &OpenRun,
    stop: &CancellationToken,
) -> Result<Option<ExitCode>, CommandFailure> {
    match ask_and_stream(said, QuestionSource::Made(asked), run, stop).await? {
        Some(ran) => report_run(said, run, &ran).await.map(Some),
        None => Ok(None),
    }
}

/// Asks, and prints an answer that is a text on a terminal while it arrives.
async fn ask_and_stream(
    said: RunVerbosity,
    asked: QuestionSource<'_>,
    run: &OpenRun,
    stop: &CancellationToken,
) -> Result<Option<FinishedRun>, CommandFailure> {
    let setting = run.setting();
    let waiting = waiting_bar(&setting.access);
    let secrets = secrets::loaded_secrets();
    let screen = AnswerScreen::new(&secrets, &waiting);
    let is_streamed = !said.json && setting.owes_text() && stdout().is_terminal();
    let waits = WaitNotes(&waiting);
    let listener: &dyn TextListener = if is_streamed { &screen } else { &waits };
    // The reader of an answer doesn't wait until its end is written. JSON says whether it was.
    let hand_on = |ran: &FinishedRun| {
        waiting.finish_and_clear();
        if is_streamed {
            screen.finish(answer_text(&ran.outcome.ended).as_deref()).map_err(CommandFailure::into_error)?;
        }
        match ran.outcome.ended {
            ExchangeEnd::Answered { .. } if is_streamed => Ok(()),
            _ if said.json => Ok(()),
            _ => print_run_value(setting, ran, said).map_err(CommandFailure::into_error),
        }
    };
    let person = TerminalQuestions { waiting: &waiting, stop };
    let course = RunCourse { line: None, stop, person: &person, listener: Some(listener), hand_on: &hand_on };
    let ran = match asked {
        QuestionSource::Inputs(inputs) => run.ask_and(inputs, &course).await.map(Some),
        QuestionSource::Made(made) => run.ask_made(*made.request, made.inputs, made.after, &course).await,
    };
    waiting.finish_and_clear();
    Ok(ran?)
}

/// Prints a run's value as JSON, if that is wanted, and what it took.
async fn report_run(said: RunVerbosity, run: &OpenRun, ran: &FinishedRun) -> Result<ExitCode, CommandFailure> {
    let setting = run.setting();
    if said.json {
        print_run_value(setting, ran, said)?;
    }
    account::print_run_account(setting, ran);
    if !said.json && !said.fallback && matches!(ran.outcome.ended, ExchangeEnd::FellBack { .. }) {
        ui::print_note("the fallback is not printed; --fallback prints it");
    }
    if said.explain {
        account::explain_run(run, ran).await;
    }
    run_exit_code(setting, ran)
}

/// The model's answer, if it is a text.
fn answer_text(ended: &ExchangeEnd) -> Option<String> {
    match ended {
        ExchangeEnd::Answered { value } => show::exact_value(value).as_str().map(str::to_owned),
        ExchangeEnd::FellBack { .. } | ExchangeEnd::Failed { .. } => None,
    }
}

/// Prints a run's value and what it took.
pub(in crate::commands) fn print_run(
    setting: &RunSetting,
    ran: &FinishedRun,
    json: bool,
) -> Result<ExitCode, CommandFailure> {
    print_run_value(setting, ran, RunVerbosity { json, explain: false, fallback: true })?;
    account::print_run_account(setting, ran);
    run_exit_code(setting, ran)
}

/// Prints what a run came to of which no more is known than its record has.
pub(in crate::commands) fn print_outcome(outcome: &Outcome) -> Result<ExitCode, CommandFailure> {
    if let Some(text) = printed_value(&outcome.ended) {
        ui::data(&text)?;
    }
    match &outcome.ended {
        ExchangeEnd::Answered { .. } => Ok(ExitCode::SUCCESS),
        ExchangeEnd::FellBack { because, .. } => {
            ui::print_note(&format!("the value is the prompt's fallback, because {}", because.in_words()));
            Ok(ExitCode::from(3))
        }
        ExchangeEnd::Failed { because } => Err(CommandFailure::outside(because.in_words())),
    }
}

/// Prints a run's value.
fn print_run_value(setting: &RunSetting, ran: &FinishedRun, said: RunVerbosity) -> Result<(), CommandFailure> {
    if said.json {
        let output = serde_json::to_value(RunOutput::new(setting, ran, None))
            .map_err(|e| CommandFailure::bug("could not write JSON", e))?;
        ui::print_published_document(ui::PublishedDocument::Pretty(output))?;
    } else if said.fallback || !matches!(ran.outcome.ended, ExchangeEnd::FellBack { .. }) {
        printed_value(&ran.outcome.ended).map_or(Ok(()), |text| ui::data(&text))?;
    }
    Ok(())
}

/// How a run ends the process, with what could not be written of it.
fn run_exit_code(setting: &RunSetting, ran: &FinishedRun) -> Result<ExitCode, CommandFailure> {
    note_unused_cassettes(setting.access.replayer());
    let ended = outcome_exit_code(ran);
    match &ran.trouble {
        None => ended,
        // The answer is there; that its record isn't must not be missed.
        Some(trouble) => match ended {
            Ok(_) => Err(CommandFailure::outside(trouble.clone())),
            Err(failure) => {
                ui::print_note(trouble);
                Err(failure)
            }
        },
    }
}

/// Says on a terminal who is asked and for how long.
pub(in crate::commands) fn waiting_bar(access: &ModelAccess) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ui::progress_target());
    if let Ok(style) = ProgressStyle::with_template("{spinner} asking {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(format!("{}/{}", access.asked.endpoint.name, access.asked.model.name));
    if access.replayer().is_none() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// The value as it is printed. A pipe gets a text as it is, a terminal gets it made safe to look at.
fn printed_value(ended: &ExchangeEnd) -> Option<String> {
    let value = match ended {
        ExchangeEnd::Answered { value } => show::exact_value(value),
        ExchangeEnd::FellBack { value, .. } => value.clone(),
        ExchangeEnd::Failed { .. } => return None,
    };
    Some(match value {
        Json::String(text) if stdout().is_terminal() => {
            text.lines().map(|line| format!("{}\n", show::terminal_str(line))).collect()
        }
        Json::String(text) if text.ends_with('\n') => text,
        Json::String(text) => text + "\n",
        value => format!("{}\n", json::pretty(&value)),
    })
}

/// Says which cassettes nobody asked for.
pub(in crate::commands) fn note_unused_cassettes(replayer: Option<&Replayer>) {
    ui::print_notes(&access::unused_cassettes_note(replayer));
}

fn outcome_exit_code(ran: &FinishedRun) -> Result<ExitCode, CommandFailure> {
    match (&ran.outcome.ended, ran.failure()) {
        (_, Some(failure)) => Err(failure.into()),
        (ExchangeEnd::FellBack { .. }, None) => Ok(ExitCode::from(3)),
        (ExchangeEnd::Answered { .. } | ExchangeEnd::Failed { .. }, None) => Ok(ExitCode::SUCCESS),
    }
}
