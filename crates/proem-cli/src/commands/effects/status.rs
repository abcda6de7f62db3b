//! `proem effects status`.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::output::EffectsStatusOutput;
use proem_app::effects::{ActionDesk, EffectsObstacle};
use proem_app::project::OpenProject;
use proem_app::triage::charter;
use proem_app::{records, when};
use proem_engine::effect::ActionState;
use proem_store::StoreAccess;
use proem_text::json;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, DIM, GREEN, YELLOW, count_with_noun, cut_to_width, style_text};

pub(super) fn run_effects_status(root: &Path, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    let zone = charter::project_zone(&project)?;
    records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let shown = if as_json {
            ui::print_json_document(&json::pretty(&json!(EffectsStatusOutput::new(&desk))))
        } else {
            ui::print_listing(&effects_status_page(&desk, &zone))
        };
        desk.close().await;
        shown
    })?;
    Ok(ExitCode::SUCCESS)
}

fn effects_status_page(desk: &ActionDesk<'_>, zone: &jiff::tz::TimeZone) -> String {
    let mut out = String::new();
    let mut fact =
        |name: &str, what: &str| out.push_str(&format!("{}  {what}\n", style_text(DIM, &format!("{name:12}"))));
    let obstacles = desk.obstacles();
    if obstacles.is_empty() {
        fact("effects", &style_text(GREEN, "on"));
    }
    for obstacle in &obstacles {
        fact("effects", &style_text(YELLOW, &format!("{obstacle}; {}", remedy(obstacle))));
    }
    if let Some(switch) = &desk.status.switch {
        fact(
            "switched",
            &format!(
                "{} by {}, {}",
                switch.power.as_str(),
                cut_to_width(&switch.actor, 60),
                when::date_and_clock(switch.at, zone)
            ),
        );
    }
    fact("level", desk.level().as_str());
    if let Some(performer) = &desk.status.performer {
        fact("last sweep", &format!("{} (number {})", when::date_and_clock(performer.at, zone), performer.epoch.0));
    }
    for state in ActionState::ALL {
        let Some(count) = desk.status.actions.get(&state).copied().filter(|count| *count > 0) else { continue };
        let next = match state {
            ActionState::Waiting => "; `proem queue approve ID` or `proem queue cancel ID`",
            ActionState::Unknown => "; look whether they happened, then `proem queue resolve ID`",
            _ => "",
        };
        fact(state.as_str(), &format!("{}{next}", count_with_noun(count, "action")));
    }
    if desk.status.escalations > 0 {
        let open = count_with_noun(desk.status.escalations, "question");
        fact("escalations", &format!("{open} to decide; `proem escalations list`"));
    }
    if desk.status.quarantined > 0 {
        fact("quarantine", &format!("{}; `proem queue quarantine`", count_with_noun(desk.status.quarantined, "field")));
    }
    out
}

fn remedy(obstacle: &EffectsObstacle) -> &'static str {
    match obstacle {
        EffectsObstacle::NothingKept => "set `records.keep = \"content\"`",
        EffectsObstacle::ForeignRecords => "`proem store adopt` takes them over",
        EffectsObstacle::Parked(_) => "`proem store adopt` shows what was sent and takes the records over",
        EffectsObstacle::ReadOnlyFolder(_) => "set XDG_STATE_HOME to a folder that can be written",
        EffectsObstacle::SharedDisk { .. } => "move Proem's state folder to a local disk with XDG_STATE_HOME",
        EffectsObstacle::SwitchedOff => "`proem effects on` switches them on",
        _ => "mend that first",
    }
}
