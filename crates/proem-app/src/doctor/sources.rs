//! The live sources of signals: which are configured, when each was last read, and what failed.

use proem_guard::show;
use proem_store::query::SyncSourceRow;

use super::{CheckupLine, CheckupState, CheckupSubject};
use crate::error::Error;
use crate::project::OpenProject;
use crate::records;
use crate::triage::charter;
use crate::triage::sync::{SyncFeed, project_feeds};
use crate::when;

/// Looks at the sources that the user's configuration declares. Nothing where it declares none, or the folder has no
/// project that is triaged. No server is asked.
pub(super) fn live_source_lines(project: &OpenProject) -> Vec<CheckupLine> {
    let subject = CheckupSubject::Source;
    if project.config.sources.is_empty() {
        return Vec::new();
    }
    let Ok(charter) = charter::read_charter(project) else {
        let text = "sources are configured, and this folder has no project that reads them";
        return vec![CheckupLine::new(subject, CheckupState::Good, text)];
    };
    let found = project_feeds(project, &charter).and_then(|feeds| Ok((feeds, read_rows(project)?)));
    match found {
        Err(failure) => vec![CheckupLine::failed(subject, failure)],
        Ok((feeds, rows)) => feeds.iter().map(|feed| feed_line(feed, &rows)).collect(),
    }
}

fn read_rows(project: &OpenProject) -> Result<Vec<SyncSourceRow>, Error> {
    if !records::records_location(project)?.may_hold_records() {
        return Ok(Vec::new());
    }
    records::blocking(async {
        let store = records::look_at_records(project).await?.value;
        let rows = store.sync_sources(&records::records_owner(project)).await;
        store.close().await;
        Ok::<_, Error>(rows?)
    })
}

fn feed_line(feed: &SyncFeed, rows: &[SyncSourceRow]) -> CheckupLine {
    let name = feed.name();
    let shown = show::terminal_str(&name).into_string();
    let row = rows.iter().find(|row| row.source == name);
    let ended = row.and_then(|row| row.ended).map(|ended| format!("read to its end at {}", when::rfc3339(ended)));
    let (state, text) = match (row.and_then(|row| row.failure.as_deref()), ended) {
        (Some(why), ended) => {
            let before = ended.unwrap_or_else(|| "never read to its end".to_owned());
            let why = show::terminal_str(why);
            (CheckupState::Wrong, format!("`{shown}`: {before}; the last reading broke off: {why}"))
        }
        (None, Some(ended)) => (CheckupState::Good, format!("`{shown}`: {ended}")),
        (None, None) => (CheckupState::Missing, format!("`{shown}`: never read to its end; run `proem triage sync`")),
    };
    CheckupLine::new(CheckupSubject::Source, state, text)
}
