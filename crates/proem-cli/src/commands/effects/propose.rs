//! `proem effects propose`: the door for an action that is nobody's of this program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::effects::ActionDesk;
use proem_app::effects::output::ProposalOutput;
use proem_app::effects::propose::{Proposal, ProposalFate, read_action};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_engine::effect::ActionState;
use proem_engine::policy::{ProposedAction, Ruling};
use proem_store::StoreAccess;
use proem_text::json;
use serde_json::json;

use crate::commands::queue::{page, short_effect_key};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, style_text};

pub(super) const PROPOSE_EXAMPLES: &str = "\
Examples:
  proem effects propose action.json
  proem effects propose action.json --json
  proem effects propose --schema        # what an action has to be

The exit code is 1 for an action that is refused.";

/// The exit code of a negative answer.
const NO: u8 = 1;

#[derive(Debug, Parser)]
pub(crate) struct Propose {
    /// The action, as JSON
    #[arg(value_name = "ACTION.json", required_unless_present = "schema")]
    action: Option<PathBuf>,
    /// Print the schema of an action
    #[arg(long, conflicts_with = "action")]
    schema: bool,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_effects_propose(args: &Propose) -> Result<ExitCode, CommandFailure> {
    let Some(file) = &args.action else {
        ui::print_json_document(ProposedAction::schema_text().trim_end())?;
        return Ok(ExitCode::SUCCESS);
    };
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let given = read_action(file)?;
    let proposal = records::blocking(async {
        let desk = ui::print_notes_of(ActionDesk::open(&project, StoreAccess::Write).await?);
        let proposed = desk.propose(&given).await;
        desk.close().await;
        proposed.map_err(CommandFailure::from)
    })?;
    if args.json {
        ui::print_json_document(&json::pretty(&json!(ProposalOutput::new(&proposal))))?;
    } else {
        ui::print_listing(&proposal_words(&proposal))?;
    }
    Ok(ExitCode::from(if is_refused(&proposal) { NO } else { 0 }))
}

fn is_refused(proposal: &Proposal) -> bool {
    matches!(proposal.decision.ruling, Ruling::Refusal(_))
        || matches!(
            proposal.fate,
            ProposalFate::Known(ActionState::Refused) | ProposalFate::Written(ActionState::Refused)
        )
}

fn proposal_words(proposal: &Proposal) -> String {
    let id = proposal.key.as_ref().map(short_effect_key).unwrap_or_default();
    let next = |what: &str| format!("`proem {what}`");
    let fate = match proposal.fate {
        ProposalFate::Written(ActionState::Proposed) => {
            let why: Vec<String> = proposal.obstacles.iter().map(ToString::to_string).collect();
            let why = if why.is_empty() { "nothing was decided yet".to_owned() } else { why.join("; ") };
            format!("{id} stays a proposal: {why}; {} shows what is missing", next("effects status"))
        }
        ProposalFate::Written(state) => written_proposal_words(&id, state, proposal),
        ProposalFate::Known(state) => {
            format!("{id} is known already and {}; {} shows it", state.as_str(), next(&format!("queue show {id}")))
        }
        ProposalFate::Duplicate(of) => {
            let of = short_effect_key(&of);
            format!("nothing was written: {of} has one of its signals; {} shows it", next(&format!("queue show {of}")))
        }
        ProposalFate::Unwritten if is_refused(proposal) => "it is refused; nothing was written".to_owned(),
        ProposalFate::Unwritten => {
            let why: Vec<String> = proposal.obstacles.iter().map(ToString::to_string).collect();
            format!("nothing was written: {}", why.join("; "))
        }
    };
    let fate = style_text(BOLD, &fate);
    let escalation = match &proposal.escalation {
        Some(id) => {
            let id = proem_app::effects::escalations::short_escalation_id(id);
            format!("a person has to decide: {}\n", next(&format!("escalations show {id}")))
        }
        None => String::new(),
    };
    // The policy's present ruling is not the decision about an action that exists already.
    let decided = match proposal.fate {
        ProposalFate::Known(_) | ProposalFate::Duplicate(_) => String::new(),
        ProposalFate::Written(_) | ProposalFate::Unwritten => page::decision_text(&proposal.decision),
    };
    format!("{fate}\n{escalation}{decided}")
}

fn written_proposal_words(id: &str, state: ActionState, proposal: &Proposal) -> String {
    match (state, proposal.decision.hold) {
        (ActionState::Held, Some(minutes)) if minutes.0 > 0 => {
            format!("{id} is held for {} min, then it goes by itself; `proem queue show {id}` shows it", minutes.0)
        }
        (ActionState::Held, _) => format!("{id} goes with the next sweep, `proem effects sweep`"),
        (ActionState::Waiting, _) => format!("{id} waits for an approval: `proem queue approve {id}`"),
        (ActionState::Refused, _) => format!("{id} is refused, and kept as such"),
        (state, _) => format!("{id} is {}", state.as_str()),
    }
}
