//! `proem escalations`: questions that people decide.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use jiff::tz::TimeZone;
use proem_app::effects::ActionDesk;
use proem_app::effects::escalations::{self, DecisionResult, OptionChoice, short_escalation_id};
use proem_app::effects::output::EscalationOutput;
use proem_app::operator::{ApprovalPage, Consent};
use proem_app::triage::charter;
use proem_app::when;
use proem_engine::policy::ProposedAction;
use proem_guard::LabelTree;
use proem_guard::show::{self, TreeCap};
use proem_store::query::EscalationRow;
use proem_store::record::EscalationState;
use proem_text::json;
use serde_json::json;

use super::queue::{at_desk, page};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, cut_to_width, style_text};

pub(crate) const ESCALATIONS_EXAMPLES: &str = "\
Examples:
  proem escalations list
  proem escalations show 1a2b3c4d
  proem escalations decide 1a2b3c4d A --because \"the sponsor agreed\"";

/// The exit code of a negative answer.
const NO: u8 = 1;

#[derive(Debug, Subcommand)]
pub(crate) enum EscalationsCommand {
    /// List what a person has to decide
    #[command(after_help = "Example:\n  proem escalations list --all --json")]
    List {
        /// Those that were decided or withdrawn, too
        #[arg(long)]
        all: bool,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an escalation with its options and what each of them does
    #[command(after_help = "Example:\n  proem escalations show 1a2b3c4d")]
    Show {
        /// The escalation's id, or the beginning of it
        id: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Choose an option
    #[command(after_help = "Example:\n  proem escalations decide 1a2b3c4d A --because \"the sponsor agreed\"")]
    Decide {
        /// The escalation's id, or the beginning of it
        id: String,
        /// The option's id
        option: String,
        /// Why, in your own words, which are kept and count as yours
        #[arg(long, value_name = "TEXT", default_value = "")]
        because: String,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
}

pub(super) fn run_escalations(args: &EscalationsCommand) -> Result<ExitCode, CommandFailure> {
    match args {
        EscalationsCommand::List { all, root, json } => at_desk(root, async |desk| {
            let state = if *all { None } else { Some(EscalationState::Open) };
            let rows = desk.escalations(state).await?;
            if *json {
                let rows: Vec<EscalationOutput> = rows.iter().map(EscalationOutput::new).collect();
                ui::print_json_document(&json::pretty(&json!(rows)))?;
            } else if rows.is_empty() {
                ui::print_note("nobody has to decide anything in this project");
            } else {
                let zone = charter::project_zone(desk.project)?;
                ui::print_listing(&rows.iter().map(|row| escalation_line(row, &zone)).collect::<String>())?;
            }
            Ok(ExitCode::SUCCESS)
        }),
        EscalationsCommand::Show { id, root, json } => at_desk(root, async |desk| {
            let row = desk.escalation(id).await?;
            if *json {
                ui::print_json_document(&json::pretty(&json!(EscalationOutput::new(&row))))?;
            } else {
                let zone = charter::project_zone(desk.project)?;
                ui::print_listing(&escalation_text(desk, &row, &zone))?;
            }
            Ok(ExitCode::SUCCESS)
        }),
        EscalationsCommand::Decide { id, option, because, root } => {
            at_desk(root, async |desk| decide_escalation(desk, id, option, because).await)
        }
    }
}

/// A written form on a screen.
fn on_screen(written: &str) -> String {
    LabelTree::read(written).map_or_else(|_| GONE.to_owned(), |tree| our_words_or_barred(&tree))
}

/// Our own words as they are, anything else between bars.
fn our_words_or_barred(tree: &LabelTree) -> String {
    match tree {
        LabelTree::Text(text) => show::terminal_str(text).into_string(),
        tree => show::tree(tree, TreeCap { characters: 400, lines: 20 }).into_string(),
    }
}

fn because(row: &EscalationRow) -> String {
    escalations::escalation_case(row).map_or_else(|| GONE.to_owned(), |case| our_words_or_barred(&case.because))
}

/// The proposer's name for an action that is on no list.
fn unlisted_action_name(row: &EscalationRow) -> Option<String> {
    let Some(LabelTree::Map(fields)) = escalations::escalation_case(row)?.about else { return None };
    match fields.get("action")? {
        LabelTree::Outside(name) | LabelTree::Flagged(name) => {
            Some(show::terminal_capped(name, MAX_NAME).into_string())
        }
        _ => None,
    }
}

/// The most characters of a foreign name in a list.
const MAX_NAME: usize = 60;
/// The words for a text that is gone.
const GONE: &str = "its text is gone";

fn escalation_line(row: &EscalationRow, zone: &TimeZone) -> String {
    let decided = row.decision.as_ref().map(|made| format!(", decided for {}", cut_to_width(&made.option, 8)));
    let heading =
        escalations::escalation_case(row).and_then(|case| case.heading).map(|heading| ui::on_line(&heading, 100));
    let heading = heading.filter(|heading| !heading.is_empty());
    format!(
        "{}  {}  {}{}{}{}\n",
        short_escalation_id(&row.id),
        when::date_and_clock(row.at, zone),
        heading.map(|heading| format!("{heading}\n          ")).unwrap_or_default(),
        cut_to_width(&because(row), 100),
        unlisted_action_name(row).map(|name| format!("; it calls itself {name}")).unwrap_or_default(),
        decided.unwrap_or_default()
    )
}

fn escalation_heading(row: &EscalationRow, zone: &TimeZone) -> String {
    format!(
        "{}  asked {} by {}\n",
        style_text(BOLD, short_escalation_id(&row.id)),
        when::date_and_clock(row.at, zone),
        cut_to_width(&row.actor, 60)
    )
}

fn escalation_text(desk: &ActionDesk<'_>, row: &EscalationRow, zone: &TimeZone) -> String {
    let mut out = escalation_heading(row, zone);
    let about = escalations::escalation_case(row).and_then(|case| case.about);
    let (about, reasons) = about.map_or((None, Vec::new()), |about| escalations::split_option_sides(&about));
    if let Some(about) = about {
        out.push_str(&format!("{}\n", show::tree(&about, TreeCap::default())));
    }
    out.push_str(&format!("{}  {}\n\n", style_text(DIM, "because"), because(row)));
    for option in &row.options {
        let label = on_screen(&option.label);
        out.push_str(&format!("{}  {label}\n", style_text(BOLD, &cut_to_width(&option.id, 8))));
        for (side, reason) in reasons.iter().filter(|(id, _)| *id == option.id).flat_map(|(_, sides)| sides) {
            out.push_str(&format!("   {} {}\n", style_text(DIM, &format!("{side}:")), ui::on_line(reason, MAX_LABEL)));
        }
        let action = option.action.as_deref().map(|form| ProposedAction::stored(form, &desk.policy));
        match action {
            None => {}
            Some(Ok(action)) => out.push_str(&format!("{}\n", page::action_text(&action))),
            Some(Err(_)) => out.push_str("its action can't be read under the policy in force\n"),
        }
    }
    if let Some(made) = &row.decision {
        let words = if made.words.is_empty() { String::new() } else { format!(": {}", cut_to_width(&made.words, 200)) };
        out.push_str(&format!(
            "decided for {} by {} {}{words}\n",
            cut_to_width(&made.option, 8),
            cut_to_width(&made.actor, 60),
            when::date_and_clock(made.at, zone)
        ));
    }
    out
}

/// An escalation as a whole, with what the chosen option does beside the question.
async fn escalation_page(
    desk: &ActionDesk<'_>,
    row: &EscalationRow,
    chosen: &str,
) -> Result<ApprovalPage, CommandFailure> {
    let zone = charter::project_zone(desk.project)?;
    let mut page = ApprovalPage::new();
    page.words(&escalation_heading(row, &zone));
    if let Some(case) = escalations::escalation_case(row) {
        if let Some(about) = &case.about {
            page.tree(about)?;
        }
        page.words(&format!("{}\n", style_text(DIM, "because")));
        page.tree(&case.because)?;
    }
    for option in &row.options {
        let id = style_text(BOLD, &cut_to_width(&option.id, 8));
        page.words(&format!("\n{id}\n"));
        if let Ok(label) = LabelTree::read(&option.label) {
            page.tree(&label)?;
            if option.id == chosen {
                page.beside(&format!("\n{id}  {}\n", ui::on_line(&label, MAX_LABEL)));
            }
        }
        let Some(form) = option.action.as_deref() else { continue };
        let Ok(action) = ProposedAction::stored(form, &desk.policy) else {
            page.words("its action can't be read under the policy in force\n");
            continue;
        };
        page.words(&format!("{}\n", page::action_name(&action)));
        page.action(&action)?;
        if option.id == chosen {
            let about = match &row.action {
                Some(key) => Some(desk.item(key).await?),
                None => None,
            };
            let same = about.filter(|item| item.detail.row.content == action.content());
            page.beside(&same.map_or_else(|| page::aim(&action), |item| page::consequence(&item, &desk.policy)));
        }
    }
    Ok(page)
}

/// The most characters of an option's label beside the question.
const MAX_LABEL: usize = 200;

async fn decide_escalation(
    desk: &ActionDesk<'_>,
    id: &str,
    option: &str,
    because: &str,
) -> Result<ExitCode, CommandFailure> {
    let row = desk.escalation(id).await?;
    let ended = match row.state {
        EscalationState::Open => None,
        EscalationState::Decided => Some("was decided"),
        EscalationState::Withdrawn => Some("was taken back"),
    };
    if let Some(ended) = ended {
        let what = format!(
            "{} {ended}, so nothing is decided; `proem escalations list` shows what is open",
            short_escalation_id(&row.id)
        );
        return Err(CommandFailure::finding(what));
    }
    let mut operator = ui::operator("an escalation would be decided", "look at it with `proem escalations show`")?;
    let page = escalation_page(desk, &row, option).await?;
    let Some(displayed) = ui::display_pages(&mut operator, &[page])? else { return Ok(ExitCode::from(NO)) };
    if ui::confirm(&mut operator, &format!("Decide for {}?", cut_to_width(option, 8)))? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    let made = desk.decide(&operator, &row, OptionChoice { option, words: because, displayed: &displayed }).await?;
    let said = match made.result {
        DecisionResult::Nothing => "decided; nothing follows from it".to_owned(),
        DecisionResult::Approved => "decided; the action goes with the next sweep".to_owned(),
        DecisionResult::Cancelled => "decided; the action is cancelled".to_owned(),
        DecisionResult::Changed(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("decided; changed {}", items.join(", "))
        }
        DecisionResult::Proposed(proposal) => {
            format!("decided; its action was proposed\n{}", page::decision_text(&proposal.decision))
        }
    };
    ui::aside(&format!("{said}\n"));
    if let Some(item) = made.log {
        ui::aside(&format!("written into the decision log as {item}\n"));
    }
    Ok(ExitCode::SUCCESS)
}
