//! `proem runs export --otlp`: runs as spans, for tools that show them.

use std::process::ExitCode;

use proem_app::message::{Note, NoteKind};
use proem_app::records;
use proem_app::telemetry::{SpanContent, SpanExport, export_rest};
use proem_guard::show;
use proem_store::StoreAccess;

use super::args::SpanArgs;
use super::export::ExportedRuns;
use super::{CommandFailure, OpenProject};
use crate::ui::{self, CountLine, count_with_noun};

pub(super) async fn run_span_export(
    project: &OpenProject,
    url: Option<&str>,
    args: &SpanArgs,
    runs: &ExportedRuns<'_>,
) -> Result<ExitCode, CommandFailure> {
    let content = if args.content { SpanContent::Texts } else { SpanContent::Figures };
    let export = match url {
        Some(url) => {
            let headers = args.header.iter().map(|pair| named_header(pair)).collect::<Result<Vec<_>, _>>()?;
            SpanExport::to_address(project, url, &headers, content)?
        }
        None if !args.header.is_empty() => {
            let problem = "`--header` needs the URL of an endpoint; that of the configuration has its own headers";
            return Err(CommandFailure::usage(problem));
        }
        None => SpanExport::configured(project, content)?,
    };
    let host = show::terminal_str(export.host()).into_string();
    if export.content() == SpanContent::Texts {
        let text = format!("`{host}` receives the texts of prompts, answers and calls of tools, without credentials");
        ui::print_notes(&[Note::new(NoteKind::Privacy, text)]);
    }
    let rest = url.is_none() && !runs.are_chosen();
    let wanted = runs.wanted(project)?;
    let mut line = CountLine::of_few_results("spans");
    let mut tell = |spans: u64| line.tell(usize::try_from(spans).unwrap_or(usize::MAX), 0);
    let sent = if rest {
        let opened = records::open_records(project, StoreAccess::Write).await?;
        let sent = export_rest(project, &opened.store, &export, &mut tell).await;
        opened.store.close().await;
        sent
    } else {
        let store = ui::print_notes_of(records::look_at_records(project).await?);
        let sent = export.send(&store, &wanted, &mut tell).await;
        store.close().await;
        sent
    };
    line.clear();
    let sent = sent?;
    if let Some(words) = &sent.words {
        ui::print_notes(&[Note::new(NoteKind::Command, format!("`{host}` says: {words}"))]);
    }
    if sent.runs == 0 {
        let what =
            if rest { "no run waits; `--since 30d` sends those of a period again" } else { "no recorded run matches" };
        ui::aside(&format!("{what}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let (spans, runs) = (count_with_noun(sent.delivered, "span"), count_with_noun(sent.runs, "run"));
    ui::print_report(&format!("exported {runs} as {spans} to `{host}`\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The header and the credential of `HEADER=CREDENTIAL`.
fn named_header(pair: &str) -> Result<(String, String), CommandFailure> {
    match pair.split_once('=') {
        Some((header, name)) if !header.is_empty() && !name.is_empty() => Ok((header.to_owned(), name.to_owned())),
        _ => {
            // The text behind the sign may be a credential that was written by mistake.
            let problem = "`--header` is written as HEADER=CREDENTIAL, with the name of a credential, not its value";
            Err(CommandFailure::usage(problem))
        }
    }
}
