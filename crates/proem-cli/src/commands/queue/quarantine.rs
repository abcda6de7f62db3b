//! `proem queue quarantine`: fields of signals that are kept out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::effects::ActionDesk;
use proem_app::effects::output::QuarantinedOutput;
use proem_app::effects::queue::QuarantineVerdict;
use proem_app::operator::{ApprovalPage, Consent};
use proem_guard::LabelTree;
use proem_guard::show::{self, TreeCap};
use proem_store::query::{QuarantinedItem, SenderRow};
use proem_store::record::QuarantineState;
use proem_text::json;
use serde_json::json;

use super::opening::at_desk;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, count_with_noun, cut_to_width, style_text};

pub(super) const QUARANTINE_EXAMPLES: &str = "\
Examples:
  proem queue quarantine
  proem queue quarantine 3 --release
  proem queue quarantine 3 --dismiss";

/// The exit code of a negative answer.
const NO: u8 = 1;

#[derive(Debug, Parser)]
pub(crate) struct Quarantine {
    /// The number of a field in the list
    #[arg(requires = "verdict")]
    number: Option<usize>,
    /// Let it in, as text from outside like any other
    #[arg(long, group = "verdict", requires = "number")]
    release: bool,
    /// Keep it out for good
    #[arg(long, group = "verdict", requires = "number")]
    dismiss: bool,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_queue_quarantine(args: &Quarantine) -> Result<ExitCode, CommandFailure> {
    at_desk(&args.root, async |desk| {
        let (senders, items) = desk.quarantine().await?;
        match args.number {
            Some(number) => review_quarantined(args, desk, &items, number).await,
            None if args.json => {
                let items: Vec<QuarantinedOutput> = items.iter().map(QuarantinedOutput::new).collect();
                ui::print_json_document(&json::pretty(&json!(items)))?;
                Ok(ExitCode::SUCCESS)
            }
            None if items.is_empty() => {
                ui::print_note("nothing is in quarantine");
                Ok(ExitCode::SUCCESS)
            }
            None => {
                ui::print_listing(&quarantine_page(&senders, &items))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    })
}

fn quarantine_page(senders: &[SenderRow], items: &[QuarantinedItem]) -> String {
    let mut out = String::new();
    for sender in senders.iter().filter(|sender| sender.quarantined > 0) {
        out.push_str(&format!(
            "- {}: {}\n",
            cut_to_width(&sender.sender, 80),
            count_with_noun(sender.quarantined, "field")
        ));
    }
    out.push('\n');
    for (index, item) in items.iter().enumerate() {
        out.push_str(&format!("{}\n", quarantined_text(index.saturating_add(1), item)));
    }
    out
}

/// A field with its place before and after its whole text.
fn release_page(number: usize, item: &QuarantinedItem) -> Result<ApprovalPage, CommandFailure> {
    let mut page = ApprovalPage::new();
    page.words(&format!("{}\n", quarantined_heading(number, item)));
    if let Some(tree) = item.text.as_deref().and_then(|written| LabelTree::read(written).ok()) {
        page.tree(&tree)?;
    }
    page.beside(&format!("\n{}\n", quarantined_heading(number, item)));
    Ok(page)
}

fn quarantined_heading(number: usize, item: &QuarantinedItem) -> String {
    format!(
        "{}  {}  `{}` of signal {}, from {}",
        style_text(BOLD, &number.to_string()),
        item.verdict.as_str(),
        cut_to_width(&item.id.field, 60),
        cut_to_width(&item.id.signal, 60),
        cut_to_width(&item.sender, 60)
    )
}

fn quarantined_text(number: usize, item: &QuarantinedItem) -> String {
    let text = item.text.as_deref().and_then(|written| LabelTree::read(written).ok());
    let cap = TreeCap { characters: 400, lines: 12 };
    let text = text.map_or_else(|| "its text is gone".to_owned(), |tree| show::tree(&tree, cap).into_string());
    format!("{}\n{text}\n", quarantined_heading(number, item))
}

async fn review_quarantined(
    args: &Quarantine,
    desk: &ActionDesk<'_>,
    items: &[QuarantinedItem],
    number: usize,
) -> Result<ExitCode, CommandFailure> {
    let Some(item) = number.checked_sub(1).and_then(|index| items.get(index)) else {
        let problem = format!("no field has the number {number}; `proem queue quarantine` lists them");
        return Err(CommandFailure::usage(problem));
    };
    let mut operator =
        ui::operator("a field in quarantine would be decided", "look at it with `proem queue quarantine`")?;
    let (question, verdict, state) = if args.release {
        let Some(displayed) = ui::display_pages(&mut operator, &[release_page(number, item)?])? else {
            return Ok(ExitCode::from(NO));
        };
        let question = "Let it in, as text from outside like any other?";
        (question, QuarantineVerdict::Release(displayed), QuarantineState::Released)
    } else {
        ui::aside(&format!("{}\n", quarantined_text(number, item)));
        ("Keep it out for good?", QuarantineVerdict::Dismiss, QuarantineState::Dismissed)
    };
    if ui::confirm(&mut operator, question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    desk.review(&operator, item, verdict).await?;
    ui::aside(&format!("it is {}\n", state.as_str()));
    Ok(ExitCode::SUCCESS)
}
