//! `proem queue approve`, `cancel`, `release` and `resolve`: what a person says to an action.

use std::path::Path;
use std::process::ExitCode;

use proem_app::effects::ActionDesk;
use proem_app::effects::drafting::DraftRefusal;
use proem_app::effects::queue::{QueueVerdict, QueuedAction};
use proem_app::operator::{ApprovalPage, Consent, Displayed};
use proem_app::triage::charter;
use proem_engine::effect::ActionState;
use proem_guard::show::TreeCap;
use proem_store::record::ApprovalBreadth;

use super::opening::{at_desk, short_effect_key};
use super::{Resolution, page};
use crate::failure::CommandFailure;
use crate::ui;

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn approve(ids: &[String], root: &Path) -> Result<ExitCode, CommandFailure> {
    at_desk(root, async |desk| {
        let mut items = Vec::new();
        for id in ids {
            let key = desk.find(id).await?;
            if !items.iter().any(|item: &QueuedAction| item.detail.row.key == key) {
                items.push(performable(desk.item(&key).await?)?);
            }
        }
        let (question, breadth) = match items.as_slice() {
            [_] => ("Approve it as it is shown?".to_owned(), ApprovalBreadth::Single),
            all => (format!("Approve all {} as they are shown?", all.len()), ApprovalBreadth::Bulk),
        };
        say_after_approval(desk, &items, &question, breadth, &Saying::Displayed(QueueVerdict::Approve)).await
    })
}

/// Refuses an action that would only come back: a yes to it would be wasted.
fn performable(item: QueuedAction) -> Result<QueuedAction, CommandFailure> {
    let id = short_effect_key(&item.detail.row.key);
    match &item.draft {
        Some(Err(DraftRefusal::Action(problem))) => Err(CommandFailure::finding(format!(
            "{id} can't be performed as it is: {problem}; change it with `proem queue edit {id}`, or cancel it"
        ))),
        _ => Ok(item),
    }
}

pub(super) fn release(id: &str, root: &Path) -> Result<ExitCode, CommandFailure> {
    say_to_action(id, root, "Release it at once, as it is shown?", &Saying::Displayed(QueueVerdict::Release))
}

pub(super) fn cancel(id: &str, because: &str, root: &Path) -> Result<ExitCode, CommandFailure> {
    say_to_action(id, root, "Cancel it?", &Saying::Plain(QueueVerdict::Cancel { why: because.to_owned() }))
}

pub(super) fn resolve_action(
    id: &str,
    answer: Resolution,
    because: &str,
    root: &Path,
) -> Result<ExitCode, CommandFailure> {
    let why = because.to_owned();
    let (question, saying) = match answer {
        Resolution::Sent => ("Write down that it happened?", Saying::Plain(QueueVerdict::Sent { why })),
        Resolution::NotSent => {
            ("Write down that it did not happen, and shall not?", Saying::Plain(QueueVerdict::NotSent { why }))
        }
        Resolution::Resend => (
            "Send the same bytes once more? Whoever has them already gets them twice.",
            Saying::Displayed(QueueVerdict::Resend),
        ),
    };
    say_to_action(id, root, question, &saying)
}

/// A person's planned answer.
enum Saying {
    /// It needs nothing more than a look.
    Plain(QueueVerdict),
    /// It covers what is displayed to its end.
    Displayed(fn(Displayed) -> QueueVerdict),
}

fn say_to_action(id: &str, root: &Path, question: &str, saying: &Saying) -> Result<ExitCode, CommandFailure> {
    at_desk(root, async |desk| {
        let item = desk.item(&desk.find(id).await?).await?;
        say_after_approval(desk, &[item], question, ApprovalBreadth::Single, saying).await
    })
}

/// Shows the actions, asks once, and writes what the person says.
async fn say_after_approval(
    desk: &ActionDesk<'_>,
    items: &[QueuedAction],
    question: &str,
    breadth: ApprovalBreadth,
    saying: &Saying,
) -> Result<ExitCode, CommandFailure> {
    let names: Vec<String> = items.iter().map(|item| short_effect_key(&item.detail.row.key)).collect();
    let about = format!("{} would be decided", names.join(", "));
    let mut operator = ui::operator(&about, "look at them with `proem queue show`")?;
    let zone = charter::project_zone(desk.project)?;
    let verdict = match saying {
        Saying::Plain(verdict) => {
            let shown = items.iter().map(|item| page::action_page(item, &desk.policy, &zone, TreeCap::default()));
            shown.for_each(|page| ui::aside(&format!("{page}\n")));
            verdict.clone()
        }
        Saying::Displayed(verdict) => {
            let pages = items.iter().map(|item| page::action_approval_page(item, &desk.policy, &zone));
            let pages: Vec<ApprovalPage> = pages.collect::<Result<_, _>>()?;
            let Some(displayed) = ui::display_pages(&mut operator, &pages)? else { return Ok(ExitCode::from(NO)) };
            verdict(displayed)
        }
    };
    if ui::confirm(&mut operator, question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    for item in items {
        let made = desk.say(&operator, &item.detail.row, verdict.clone(), breadth).await?;
        let becomes = match made.after.state {
            ActionState::Approved => "is approved and goes with the next sweep",
            ActionState::Resend => "goes once more with the next sweep",
            ended => &format!("is {}", ended.as_str()),
        };
        ui::aside(&format!("{} {becomes}\n", short_effect_key(&item.detail.row.key)));
    }
    Ok(ExitCode::SUCCESS)
}
