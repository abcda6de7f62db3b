//! `proem queue edit`: a person's own words in place of an agent's.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::queue::QueueVerdict;
use proem_app::operator::{ApprovalPage, Consent};
use proem_store::record::ApprovalBreadth;

use super::opening::{at_desk, short_effect_key};
use crate::failure::CommandFailure;
use crate::ui;

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn run_queue_edit(
    id: &str,
    changes: &BTreeMap<String, String>,
    root: &Path,
) -> Result<ExitCode, CommandFailure> {
    at_desk(root, async |desk| {
        let item = desk.item(&desk.find(id).await?).await?;
        let Some(action) = &item.action else {
            return Err(CommandFailure::finding("its texts are gone, so there is nothing to change"));
        };
        let edited = desk.edited(action, changes)?;
        let id = short_effect_key(&item.detail.row.key);
        let about = format!("{id} would say something else");
        let mut operator = ui::operator(&about, "look at it with `proem queue show`")?;
        let mut changes = ApprovalPage::new();
        changes.changes(action, &edited)?;
        changes.beside("\nAn approval that was given for it is void then.\n");
        let Some(displayed) = ui::display_pages(&mut operator, &[changes])? else { return Ok(ExitCode::from(NO)) };
        if ui::confirm(&mut operator, "Change it like this?")? == Consent::No {
            return Ok(ExitCode::from(NO));
        }
        let verdict = QueueVerdict::Edit(Box::new(edited), displayed);
        let made = desk.say(&operator, &item.detail.row, verdict, ApprovalBreadth::Single).await?;
        ui::aside(&format!(
            "{id} is changed and {}; `proem queue approve {id}` says yes to it\n",
            made.after.state.as_str()
        ));
        Ok(ExitCode::SUCCESS)
    })
}
