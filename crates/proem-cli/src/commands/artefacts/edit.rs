//! `proem artefacts edit`: a person changes an item, or adds one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::triage::TriageDesk;
use proem_app::triage::edit::{EditRequest, EditedItem};
use proem_store::StoreAccess;
use proem_triage::artefact::{ArtefactField, ArtefactItemId, ArtefactItemKind, ItemStatus};

use crate::failure::CommandFailure;
use crate::ui;

pub(super) const EDIT_EXAMPLES: &str = "\
What you write is yours and trusted from then on; the same rules hold as for everybody. An item is named by its
id, or by its kind if it is new: risk, assumption, issue, dependency, blocker, milestone, sprint, next_action,
health, backlog, highlight, refinement_candidate, decision. Days are written as 2026-12-24, items of the RAID
log as R001,I002, options of a decision with | between them. It asks at a terminal.

Examples:
  proem artefacts edit R001 --set owner=\"Sam Okoro\" --reason \"agreed in the review\"
  proem artefacts edit I002 --status closed --reason \"the vendor delivered\"
  proem artefacts edit risk --set title=\"Late audit\" --set description=\"The auditor is booked out\" \\
    --set severity=high --set mitigation=\"Ask for another one\"";

#[derive(Debug, Parser)]
pub(crate) struct Edit {
    /// The item's id, such as R001, or the kind of a new one, such as risk
    #[arg(value_parser = parse_edited_item)]
    item: EditedItem,
    /// New value of a field; may be given several times
    #[arg(long, value_name = "FIELD=TEXT", value_parser = parse_field_text)]
    set: Vec<(ArtefactField, String)>,
    /// New status of the item
    #[arg(long, value_parser = parse_item_status)]
    status: Option<ItemStatus>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

fn parse_edited_item(text: &str) -> Result<EditedItem, String> {
    let kind = ArtefactItemKind::parse(text).map(EditedItem::New);
    ArtefactItemId::parse(text)
        .map(EditedItem::Known)
        .or(kind)
        .ok_or_else(|| "give an id such as R001, or a kind such as risk, issue, milestone or decision".to_owned())
}

fn parse_field_text(text: &str) -> Result<(ArtefactField, String), String> {
    let (name, value) = text.split_once('=').ok_or("write FIELD=TEXT, such as owner=Sam")?;
    let field = ArtefactField::parse(name).ok_or("no item has such a field; `proem artefacts show --json` has them")?;
    Ok((field, value.to_owned()))
}

fn parse_item_status(text: &str) -> Result<ItemStatus, String> {
    ItemStatus::parse(text).ok_or_else(|| {
        let words: Vec<&str> = ItemStatus::ALL.iter().map(|status| status.as_str()).collect();
        format!("write one of {}", words.join(", "))
    })
}

pub(super) fn run_artefact_edit(args: &Edit) -> Result<ExitCode, CommandFailure> {
    if args.set.is_empty() && args.status.is_none() {
        return Err(CommandFailure::usage("nothing is to change; give --set FIELD=TEXT or --status"));
    }
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let mut operator = ui::operator("an artefact would be changed in your words", "leave it as it is")?;
    let request =
        EditRequest { item: args.item, fields: args.set.clone(), status: args.status, reason: args.reason.clone() };
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let edited = async {
            let planned = desk.plan_edit(&operator, &request).await?;
            ui::aside(&format!("{}\n", planned.lines().join("\n")));
            if ui::confirm(&mut operator, "Write this?")? == Consent::No {
                ui::aside("nothing was written\n");
                return Ok(ExitCode::from(1));
            }
            desk.write_edit(&operator, &planned).await?;
            let items: Vec<String> = planned.items().iter().map(ToString::to_string).collect();
            ui::print_listing(&format!("{} is written\n", items.join(", ")))?;
            Ok::<_, CommandFailure>(ExitCode::SUCCESS)
        };
        let edited = edited.await;
        desk.close().await;
        edited
    })
}
