//! `proem triage status`: what stands and what waits.

use std::path::Path;
use std::process::ExitCode;

use jiff::tz::TimeZone;
use proem_app::effects::escalations;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::triage::output::TriageStatusOutput;
use proem_app::triage::status::TriageStatus;
use proem_app::{records, when};
use proem_guard::show;
use proem_store::StoreAccess;
use proem_store::record::SignalStanding;
use proem_triage::artefact::{ArtefactField, ArtefactItemKind, ArtefactKind};
use serde_json::{Value as Json, json};

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, count_with_noun, style_text};

pub(super) fn run_triage_status(root: &Path, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let status = desk.status().await;
        let shown = status.map_err(CommandFailure::from).and_then(|status| {
            let zone = TimeZone::get(&desk.charter.time_zone).unwrap_or(TimeZone::UTC);
            if as_json {
                ui::print_published_document(ui::PublishedDocument::Pretty(json!(TriageStatusOutput::new(
                    &desk, &status
                ))))
            } else {
                ui::print_listing(&triage_status_page(&desk, &status, &zone))
            }
        });
        desk.close().await;
        shown
    })?;
    Ok(ExitCode::SUCCESS)
}

fn triage_status_page(desk: &TriageDesk<'_>, status: &TriageStatus, zone: &TimeZone) -> String {
    let mut out = String::new();
    let mut fact =
        |name: &str, what: &str| out.push_str(&format!("{}  {what}\n", style_text(DIM, &format!("{name:10}"))));
    let name = show::terminal_str(&desk.charter.name).into_string();
    let level = desk.desk.level().as_str();
    fact("project", &format!("{name} ({}), level {level}", show::terminal_str(&desk.charter.key)));
    fact("health", &health_line(status));
    let sprint = status.artefacts.get(ArtefactKind::DeliveryState).and_then(|delivery| {
        let (_, sprint) = delivery.open(ArtefactItemKind::Sprint).next()?;
        Some(ui::on_line(sprint.text(ArtefactField::Name)?.words(), 60))
    });
    fact("sprint", sprint.as_deref().unwrap_or("none that a signal told of"));
    let of = |standing: SignalStanding| status.signals.get(&standing).copied().unwrap_or_default();
    fact(
        "signals",
        &format!(
            "{} handled, {} open, {} of other projects, {} unreadable",
            of(SignalStanding::Handled),
            of(SignalStanding::Open),
            of(SignalStanding::SetAside),
            of(SignalStanding::Malformed)
        ),
    );
    match status.cycles.first() {
        None => fact("last cycle", "none yet; `proem triage run FILE…` takes signals in"),
        Some(cycle) => {
            let signals = cycle.counts.get("signals").and_then(Json::as_u64).unwrap_or_default();
            fact(
                "last cycle",
                &format!(
                    "number {}, {}, {}",
                    cycle.cycle,
                    when::date_and_clock(cycle.at, zone),
                    count_with_noun(signals, "signal")
                ),
            );
        }
    }
    let open = u64::try_from(status.questions.len()).unwrap_or(u64::MAX);
    if open > 0 {
        fact("waits", &format!("{} to decide; `proem escalations list`", count_with_noun(open, "question")));
        for row in status.questions.iter().take(5) {
            let case = escalations::escalation_case(row);
            let why = case.as_ref().map(|case| ui::on_line(&case.because, 100)).unwrap_or_default();
            let heading = case.and_then(|case| case.heading).map(|heading| ui::on_line(&heading, 100));
            let id = escalations::short_escalation_id(&row.id);
            match heading.filter(|heading| !heading.is_empty()) {
                None => fact("", &format!("{id}  {why}")),
                Some(heading) => {
                    fact("", &format!("{id}  {heading}"));
                    fact("", &format!("          {why}"));
                }
            }
        }
    }
    let waiting: u64 = status.actions.iter().filter(|(state, _)| !state.is_end()).map(|(_, count)| *count).sum();
    if waiting > 0 {
        fact("actions", &format!("{} not ended; `proem queue list`", count_with_noun(waiting, "action")));
    }
    if status.quarantined > 0 {
        fact("kept out", &format!("{}; `proem queue quarantine`", count_with_noun(status.quarantined, "text")));
    }
    for obstacle in &status.obstacles {
        fact("effects", &obstacle.to_string());
    }
    out
}

fn health_line(status: &TriageStatus) -> String {
    let delivery = status.artefacts.get(ArtefactKind::DeliveryState);
    let health = delivery.and_then(|delivery| delivery.of_kind(ArtefactItemKind::Health).next());
    health
        .and_then(|(_, item)| {
            let colour = item.word(ArtefactField::OverallStatus)?;
            Some(format!("{colour}: {}", ui::on_line(item.text(ArtefactField::StatusSummary)?.words(), 160)))
        })
        .unwrap_or_else(|| "unknown: no signal has said anything yet".to_owned())
}
