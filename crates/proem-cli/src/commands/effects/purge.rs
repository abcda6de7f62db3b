//! `proem effects purge`: deletes the texts of actions that have ended.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::ActionDesk;
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::{records, when};
use proem_engine::effect::ActionState;
use proem_store::ActionPurgeCounts;
use proem_store::StoreAccess;
use proem_store::query::LineDepth;

use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn run_effects_purge(before: &str, root: &Path) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    let zone = records::booking_zone(&project.config.budget)?;
    let before = when::since(before, when::time_now(), &zone)?;
    records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let purged = async {
            let ended: Vec<ActionState> = ActionState::ALL.into_iter().filter(|state| state.is_end()).collect();
            let rows = desk.queue(&ended, None, LineDepth::Standing).await?;
            let is_meant = |ended: Option<proem_engine::run::Time>| ended.is_some_and(|at| at < before);
            let count = rows.iter().filter(|row| is_meant(row.ended) && row.purged.is_none()).count();
            let count = count_with_noun(u64::try_from(count).unwrap_or(u64::MAX), "action");
            let about = format!(
                "the texts of {count} that ended before {} would be deleted",
                when::date_and_clock(before, &zone)
            );
            let mut operator = ui::operator(&about, "leave them; they are deleted by nothing else")?;
            ui::aside(&format!("{about}; their keys stay, so that none of them happens again\n"));
            if ui::confirm(&mut operator, "Delete them?")? == Consent::No {
                return Ok(None);
            }
            Ok::<_, CommandFailure>(Some(desk.purge(&operator, before).await?))
        };
        let purged = purged.await;
        desk.close().await;
        Ok(match purged? {
            None => ExitCode::from(NO),
            Some(counts) => {
                ui::aside(&action_purge_summary(&counts));
                ExitCode::SUCCESS
            }
        })
    })
}

fn action_purge_summary(counts: &ActionPurgeCounts) -> String {
    if counts.is_nothing() {
        return "there was nothing to delete\n".to_owned();
    }
    let by_state = counts.actions.iter().map(|(state, count)| format!("{count} {}", state.as_str()));
    let others = [(counts.escalations, "escalation"), (counts.quarantined, "quarantined field")];
    let others = others.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| count_with_noun(count, what));
    let all: Vec<String> = by_state.chain(others).collect();
    let held = if counts.held {
        "; another process has the records open, so they remain in the files until it ends"
    } else {
        ""
    };
    format!("deleted the texts of {}{held}\n", all.join(", "))
}
