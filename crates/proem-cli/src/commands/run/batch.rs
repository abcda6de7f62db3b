//! Many runs: their results to a file or to standard output, and what they came to to standard error.

use std::cell::OnceCell;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use proem_app::run::batch::{self, Batch, BatchEvent, BatchTally, Watcher};
use proem_app::run::setting::OpenRun;
use proem_text::json;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::RunArgs;
use super::{account, single};
use crate::failure::CommandFailure;
use crate::ui::{self, group_thousands};

pub(super) async fn run_prompt_batch(
    args: &RunArgs,
    batch: Batch<'_>,
    run: &OpenRun,
    stop: &CancellationToken,
) -> Result<ExitCode, CommandFailure> {
    let setting = run.setting();
    if args.dry_run {
        let print = |request| {
            ui::print_json_document(&json::compact_in_order(&ui::print_notes_of(request)))
                .map_err(CommandFailure::into_error)
        };
        batch::batch_requests(run, batch, &print)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bar = OnceCell::new();
    let form = |result: &Json| ui::document_text(&json::compact(result));
    let tell = |happened: BatchEvent<'_>| show_batch_event(&bar, &happened).map_err(CommandFailure::into_error);
    let over = batch::run_batch(run, batch, Watcher { form: &form, tell: &tell }, stop).await;
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    let over = over?;
    single::note_unused_cassettes(setting.access.replayer());
    let kept = over.kept;
    if over.is_interrupted {
        let again = if over.goes_on() {
            "; run the same command again to continue"
        } else {
            "; with --out it could be continued"
        };
        let why = over.tally.fatal.clone().unwrap_or_else(|| "interrupted".to_owned());
        ui::aside(&format!("{}\n", batch_summary(&over.tally, kept)));
        return Err(CommandFailure::outside(format!("{why}{again}")));
    }
    let mut tally = over.finish()?;
    ui::aside(&format!("{}\n", batch_summary(&tally, kept)));
    match tally.trouble.take() {
        None => Ok(batch_exit_code(&tally)),
        Some(trouble) => Err(CommandFailure::outside(trouble)),
    }
}

/// Shows what happens, where a bar was begun above it.
fn show_batch_event(bar: &OnceCell<ProgressBar>, happened: &BatchEvent<'_>) -> Result<(), CommandFailure> {
    match happened {
        BatchEvent::Kept(lines) => {
            ui::print_note(&format!("{} lines were answered before and are kept", group_thousands(*lines)));
        }
        BatchEvent::Begins(total) => _ = bar.set(batch_bar(*total)),
        BatchEvent::Unasked { line, why } => {
            above(bar, || ui::print_note(&format!("line {line}: {why}")));
        }
        BatchEvent::Counted(tally) => {
            if let Some(bar) = bar.get() {
                bar.set_message(batch_cost(tally));
                bar.inc(1);
            }
        }
        BatchEvent::Result(text) => return above(bar, || ui::print_json_document(text)),
        // Other events are for code that knows them.
        _ => {}
    }
    Ok(())
}

/// Writes while the bar is out of the way.
fn above<T>(bar: &OnceCell<ProgressBar>, write: impl FnOnce() -> T) -> T {
    match bar.get() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn batch_bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ui::progress_target());
    let template = match total {
        Some(_) => "{pos}/{len} {wide_bar} {msg}  {eta} left",
        None => "{pos} {spinner} {msg}  {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

fn batch_cost(tally: &BatchTally) -> String {
    let all = [tally.answered, tally.fell_back, tally.failed, tally.cancelled].iter().sum::<usize>();
    match tally.unpriced {
        0 => account::cost_words(Some(tally.spent)),
        unpriced if unpriced == all => account::cost_words(None),
        unpriced => format!("{} and {} of unknown cost", tally.spent, group_thousands(unpriced)),
    }
}

fn batch_summary(tally: &BatchTally, kept: usize) -> String {
    let mut parts = vec![format!("{} answered", group_thousands(tally.answered))];
    for (count, what) in [
        (kept, "kept from before"),
        (tally.cut, "with sections cut, listed under `cut`"),
        (tally.fell_back, "fell back"),
        (tally.failed, "failed"),
        (tally.unasked, "could not be sent"),
        (tally.cancelled, "cancelled"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", group_thousands(count)));
        }
    }
    format!("{}  {}", parts.join(", "), batch_cost(tally))
}

fn batch_exit_code(tally: &BatchTally) -> ExitCode {
    match (tally.fell_back.saturating_add(tally.failed), tally.unasked) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(2),
        _ => ExitCode::from(3),
    }
}
