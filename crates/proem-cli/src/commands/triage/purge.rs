//! `proem triage purge`: deletes the texts of old signals, versions and cycles.

use std::path::Path;
use std::process::ExitCode;

use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::triage::TriageDesk;
use proem_app::{records, when};
use proem_store::{StoreAccess, TriagePurgeCounts};

use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

pub(super) fn run_triage_purge(before: &str, root: &Path) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    let zone = records::booking_zone(&project.config.budget)?;
    let before = when::since(before, when::time_now(), &zone)?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let purged = async {
            let about = format!(
                "the texts of signals, of older versions of artefacts and of cycles from before {} would be deleted",
                when::date_and_clock(before, &zone)
            );
            let mut operator = ui::operator(&about, "leave them; they are deleted by nothing else")?;
            ui::aside(&format!("{about}; open things stay, with everything that they rest on\n"));
            if ui::confirm(&mut operator, "Delete them?")? == Consent::No {
                return Ok(None);
            }
            Ok::<_, CommandFailure>(Some(desk.purge(&operator, before).await?))
        };
        let purged = purged.await;
        desk.close().await;
        Ok(match purged? {
            None => ExitCode::from(1),
            Some(counts) => {
                ui::aside(&triage_purge_summary(&counts));
                ExitCode::SUCCESS
            }
        })
    })
}

fn triage_purge_summary(counts: &TriagePurgeCounts) -> String {
    if counts.is_nothing() {
        return "there was nothing to delete\n".to_owned();
    }
    let parts = [
        count_with_noun(counts.signals, "signal"),
        count_with_noun(counts.versions, "version"),
        count_with_noun(counts.cycles, "cycle"),
    ];
    let held = if counts.held {
        "; another process has the records open, so they remain in the files until it ends"
    } else {
        ""
    };
    format!("deleted the texts of {}{held}\n", parts.join(", "))
}
