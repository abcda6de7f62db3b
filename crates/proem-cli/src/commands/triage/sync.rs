//! `proem triage sync`: reads the configured sources.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use jiff::tz::TimeZone;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::signals::period_start;
use proem_app::triage::sync::{FeedCounts, FeedReport, SyncKeeping, SyncOptions, SyncReport};
use proem_app::when;
use proem_guard::show;
use proem_store::StoreAccess;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, YELLOW, count_with_noun, style_text};

pub(super) const SYNC_EXAMPLES: &str = "\
Reads the sources that `[sources]` in your own configuration declares: issues of Jira, mails of
Microsoft Graph, tasks of Asana. Each reading goes on where the last one ended. What was read before
a failure is kept, and the next reading begins behind it; other sources are read all the same. Then
`proem triage run` or `watch` works on the signals. Nothing is written to a source.

The exit code is 3 if a source failed.

Examples:
  proem triage sync
  proem triage sync --source tickets --dry-run
  proem triage sync --since 2d                          # again, whatever was read before";

#[derive(Debug, Parser)]
pub(crate) struct Sync {
    /// Only this source, by its name under `[sources]`; all of the project without it
    #[arg(long, value_name = "NAME")]
    source: Vec<String>,
    /// Read again what changed since a time, such as 2d or 2026-11-30, whatever was read before
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Read, and keep nothing
    #[arg(long)]
    dry_run: bool,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_triage_sync(args: &Sync) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let report = calling(async |stop| {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let report = sync_sources(args, &desk, &stop).await;
        desk.close().await;
        report
    })?;
    if args.json {
        ui::print_published_document(ui::PublishedDocument::Pretty(json!(report)))?;
    } else {
        ui::print_listing(&sync_page(args, &report))?;
    }
    Ok(if report.has_failed() { ExitCode::from(3) } else { ExitCode::SUCCESS })
}

async fn sync_sources(
    args: &Sync,
    desk: &TriageDesk<'_>,
    stop: &CancellationToken,
) -> Result<SyncReport, CommandFailure> {
    let zone = TimeZone::get(&desk.charter.time_zone).unwrap_or(TimeZone::UTC);
    let since = args.since.as_deref().map(|text| period_start(text, when::time_now(), &zone)).transpose()?;
    let options = SyncOptions {
        only: args.source.clone(),
        since,
        keeping: if args.dry_run { SyncKeeping::Nothing } else { SyncKeeping::Kept },
        ..SyncOptions::default()
    };
    let bar = ui::working("reading sources");
    let mut tell = |feed: &FeedReport| {
        let (pages, signals) = (count_with_noun(feed.pages, "page"), count_with_noun(feed.read, "signal"));
        bar.set_message(format!("{}: {pages}, {signals}", feed_name(feed)));
    };
    let report = desk.sync(&options, stop, &mut tell).await;
    bar.finish_and_clear();
    Ok(report?)
}

/// A feed, fit for a screen.
fn feed_name(feed: &FeedReport) -> String {
    show::terminal_str(&format!("{}/{}", feed.source, feed.part)).into_string()
}

fn sync_page(args: &Sync, report: &SyncReport) -> String {
    let mut out = String::new();
    for feed in &report.feeds {
        out.push_str(&format!("{}  {}\n", style_text(BOLD, &format!("{:8}", feed.system)), feed_name(feed)));
        let pages = count_with_noun(feed.pages, "page");
        let counts = if args.dry_run {
            format!("{} in {pages}; nothing is kept", count_with_noun(feed.read, "signal"))
        } else {
            let FeedCounts { new, changed, unchanged, deleted, .. } = feed.counts;
            format!("{new} new, {changed} changed, {unchanged} unchanged in {pages}; {deleted} of them deletions")
        };
        out.push_str(&format!("{:8}  {}\n", "", style_text(DIM, &counts)));
        if feed.counts.malformed > 0 {
            let count = count_with_noun(feed.counts.malformed, "part");
            out.push_str(&format!("{:8}  {count} could not be read; `proem queue quarantine`\n", ""));
        }
        if feed.counts.missing > 0 {
            let count = count_with_noun(feed.counts.missing, "object");
            out.push_str(&format!("{:8}  {count} that the server no longer gives\n", ""));
        }
        if let Some(failure) = &feed.failure {
            let failure = show::terminal_str(failure).into_string();
            out.push_str(&format!("{}  {failure}; the next reading goes on there\n", style_text(YELLOW, "failed  ")));
        }
    }
    out
}
