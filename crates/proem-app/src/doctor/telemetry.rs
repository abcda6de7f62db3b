//! The endpoint that runs are exported to: what waits for it, and what was dropped.

use super::{CheckupLine, CheckupState, CheckupSubject};
use crate::error::Error;
use crate::message::Hint;
use crate::project::OpenProject;
use crate::records;
use crate::telemetry::{ExportProgress, SpanContent, SpanExport, export_progress};
use crate::when;
use crate::words::count_with_noun;

/// Looks at the endpoint of the configuration, without asking it. Nothing if there is none.
pub(super) fn telemetry_line(project: &OpenProject) -> Option<CheckupLine> {
    project.config.telemetry.otlp.as_ref()?;
    let found = SpanExport::configured(project, SpanContent::Figures).and_then(|export| {
        let progress = read_progress(project, &export)?;
        Ok((export, progress))
    });
    Some(match found {
        Err(failure) => CheckupLine::failed(CheckupSubject::Telemetry, failure),
        Ok((export, progress)) => progress_line(export.host(), progress.as_ref()),
    })
}

fn read_progress(project: &OpenProject, export: &SpanExport) -> Result<Option<ExportProgress>, Error> {
    if !records::records_location(project)?.may_hold_records() {
        return Ok(None);
    }
    records::blocking(async {
        let store = records::look_at_records(project).await?.value;
        let progress = export_progress(&store, project, export).await;
        store.close().await;
        progress
    })
}

fn progress_line(host: &str, progress: Option<&ExportProgress>) -> CheckupLine {
    let subject = CheckupSubject::Telemetry;
    let mut text = format!("runs are exported to `{host}`");
    let Some(progress) = progress else {
        return CheckupLine::new(subject, CheckupState::Good, format!("{text}; none of this project was sent yet"));
    };
    if let Some(complete) = progress.complete {
        text.push_str(&format!("; all were sent at {}", when::rfc3339(complete)));
    }
    if progress.waiting > 0 {
        let verb = if progress.waiting == 1 { "waits" } else { "wait" };
        text.push_str(&format!("; {} {verb}", count_with_noun(progress.waiting, "run")));
    }
    if progress.dropped > 0 {
        let verb = if progress.dropped == 1 { "was" } else { "were" };
        let dropped = count_with_noun(progress.dropped, "run");
        text.push_str(&format!("; {dropped} {verb} dropped after waiting for a week or behind too many others"));
    }
    if progress.rejected > 0 {
        text.push_str(&format!("; it refused {}", count_with_noun(progress.rejected, "span")));
    }
    match &progress.failure {
        Some(why) => {
            let why = proem_guard::show::terminal_str(why);
            CheckupLine::new(subject, CheckupState::Wrong, format!("{text}; the last export failed: {why}"))
                .hinting(Hint::ExportRest)
        }
        None if progress.dropped > 0 => CheckupLine::new(subject, CheckupState::Missing, text),
        None => CheckupLine::new(subject, CheckupState::Good, text),
    }
}
