//! `proem effects on` and `proem effects off`.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::ActionDesk;
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::records;
use proem_engine::effect::ActionState;
use proem_store::StoreAccess;
use proem_store::record::EffectsPower;

use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn turn_effects(root: &Path, position: EffectsPower) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(root, &crate::user_places()?)?;
    records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let turned = turn(&desk, position).await;
        desk.close().await;
        turned
    })
}

async fn turn(desk: &ActionDesk<'_>, position: EffectsPower) -> Result<ExitCode, CommandFailure> {
    // Nobody has to switch effects on for tools, so they are off for those only once somebody has said so.
    let is_said = position == EffectsPower::On || desk.status.switch.is_some();
    if desk.status.power() == position && is_said {
        ui::aside(&format!("nothing to do: effects are {} already\n", position.as_str()));
        return Ok(ExitCode::SUCCESS);
    }
    let about = format!("effects would be {} in this project", position.as_str());
    let mut operator = ui::operator(&about, "leave them as they are; `proem effects status` shows what they are")?;
    let count = |state| desk.status.actions.get(&state).copied().unwrap_or(0);
    let open = [ActionState::Proposed, ActionState::Held, ActionState::Approved].into_iter().map(count).sum();
    let (question, consequence) = match position {
        EffectsPower::On => (
            "Let effects happen in this project?",
            format!(
                "From then on `proem effects sweep` performs what is approved, and what is held when its time has come. \
                 {} of this project {} for that.\n",
                count_with_noun(open, "action"),
                if open == 1 { "waits" } else { "wait" }
            ),
        ),
        EffectsPower::Off => (
            "Stop all effects in this project?",
            "No action is performed until they are on again; none is lost. Programs call no tool that may change \
             something.\n"
                .to_owned(),
        ),
    };
    ui::aside(&consequence);
    if ui::confirm(&mut operator, question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    desk.switch_to(&operator, position).await?;
    ui::aside(&format!("effects are {}\n", position.as_str()));
    Ok(ExitCode::SUCCESS)
}
