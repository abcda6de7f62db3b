//! `proem catalogue refresh`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use proem_select::catalogue::manifest::Changes;
use proem_text::json;
use serde_json::json;

use super::CataloguePlace;
use super::output::CatalogueRefreshOutput;
use super::{count_of_entries, open_catalogue};
use crate::failure::CommandFailure;
use crate::ui::{self, GREEN, RED, YELLOW, group_thousands, style_text};
use proem_app::catalogue::CatalogueRefresh;

/// How long embedding may take without a word.
const SILENCE: Duration = Duration::from_secs(1);
/// How many names of a kind are listed.
const MAX_LISTED: usize = 20;

pub(super) fn run_catalogue_refresh(place: &CataloguePlace) -> Result<ExitCode, CommandFailure> {
    let (project, _places, loaded) = open_catalogue(&place.root)?;
    let began = Instant::now();
    let mut progress = |done: usize, all: usize| {
        if began.elapsed() > SILENCE {
            ui::aside(&format!("computed vectors for {} of {} texts\n", group_thousands(done), group_thousands(all)));
        }
    };
    let refreshed = proem_app::catalogue::refresh(&project, &loaded.catalogue, &mut progress)?;
    let CatalogueRefresh { changes, vectors, entries, unread, notes } = refreshed;
    if place.json {
        ui::print_json_document(&json::pretty(&json!(CatalogueRefreshOutput::new(&changes, &vectors, entries))))?;
    } else {
        ui::print_listing(&change_listing(&changes))?;
    }
    unread.iter().for_each(|note| ui::print_note(note));
    ui::print_notes(&loaded.notes);
    notes.iter().for_each(|note| ui::print_note(note));
    let embedded = match vectors {
        Ok(vectors) => format!("vectors computed for {}", count_of_entries(vectors.made, "text")),
        Err(reason) => {
            ui::print_note(&format!("degraded: {reason}"));
            "no vectors were computed".to_owned()
        }
    };
    ui::aside(&format!(
        "{}: {} new, {} changed, {} removed; {embedded}\n",
        count_of_entries(entries, "definition"),
        group_thousands(changes.new.len()),
        group_thousands(changes.changed.len()),
        group_thousands(changes.gone.len())
    ));
    Ok(ExitCode::SUCCESS)
}

fn change_listing(changes: &Changes) -> String {
    let mut out = String::new();
    for (word, style, names) in
        [("new", GREEN, &changes.new), ("changed", YELLOW, &changes.changed), ("gone", RED, &changes.gone)]
    {
        for name in names.iter().take(MAX_LISTED) {
            out.push_str(&format!("{} {name}\n", style_text(style, &format!("{word:7}"))));
        }
        let more = names.len().saturating_sub(MAX_LISTED);
        if more > 0 {
            out.push_str(&format!("{} and {} more\n", style_text(style, &format!("{word:7}")), group_thousands(more)));
        }
    }
    out
}
