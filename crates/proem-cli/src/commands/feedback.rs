//! `proem feedback`: the proposals that follow from recorded outcomes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use proem_app::book::batch::{
    BatchBook, BatchOptions, BatchProposal, BatchProposalState, BatchSubject, BatchWriting, FeedbackBatch,
    run_feedback_batch,
};
use proem_app::operator::account_name;
use proem_app::records;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, LEAD, count_with_noun, style_text};

pub(crate) const FEEDBACK_EXAMPLES: &str = "\
Examples:
  proem feedback batch --dry-run
  proem feedback batch
  proem doctor --timers           # a timer that runs it every week";

pub(crate) const BATCH_EXAMPLES: &str = "\
Outcomes count since the last decision about their subject: verdicts on assessments, answers that broke their contract,
and runs that people called good or bad. Silence is no verdict. Nothing changes before you approve a proposal.

Examples:
  proem feedback batch --dry-run
  proem feedback batch --json
  proem book approve ID --user    # a threshold, which is in your own book";

#[derive(Debug, Subcommand)]
pub(crate) enum FeedbackCommand {
    /// Propose thresholds and prompts to improve, from the outcomes in the records
    #[command(after_help = BATCH_EXAMPLES)]
    Batch(BatchArgs),
}

#[derive(Debug, Parser)]
pub(crate) struct BatchArgs {
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Show the proposals, and write none
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run_feedback(command: &FeedbackCommand) -> Result<ExitCode, CommandFailure> {
    let FeedbackCommand::Batch(args) = command;
    let places = crate::user_places()?;
    let writing = if args.dry_run { BatchWriting::Show } else { BatchWriting::Write };
    let by = account_name();
    let options = BatchOptions { root: &args.root, by: &by, writing };
    let working = ui::working("reading the records");
    let found = records::blocking(run_feedback_batch(&options, &places));
    working.finish_and_clear();
    let batch = ui::print_notes_of(found?);
    if args.json {
        ui::print_published_document(ui::PublishedDocument::Pretty(json!(batch)))?;
    } else {
        ui::print_listing(&batch_page(&batch, writing))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn batch_page(batch: &FeedbackBatch, writing: BatchWriting) -> String {
    if batch.subjects.is_empty() {
        return "no outcome is recorded of this project since the last decisions, so there is nothing to propose; \
                `proem risk feedback` and `proem runs feedback` record verdicts\n"
            .to_owned();
    }
    let mut out = format!("{}\n", style_text(BOLD, "outcomes since the last decisions"));
    for BatchSubject { name, n, is_shown, finding } in &batch.subjects {
        let name = if *is_shown { style_text(GREEN, name) } else { name.clone() };
        out.push_str(&format!("  {name} {}: {finding}\n", style_text(DIM, &format!("n={n}"))));
    }
    for proposal in &batch.proposals {
        out.push_str(&proposal_block(proposal));
    }
    if !batch.removed.is_empty() {
        let verb = if writing == BatchWriting::Write { "removed" } else { "would be removed" };
        out.push_str(&format!("\nno longer shown and {verb}: {}\n", batch.removed.join(", ")));
    }
    let number = u64::try_from(batch.proposals.len()).unwrap_or(u64::MAX);
    let end = match (number, writing) {
        (0, _) => "nothing to propose\n".to_owned(),
        (_, BatchWriting::Show) => format!("{}, not written (--dry-run)\n", count_with_noun(number, "proposal")),
        (_, BatchWriting::Write) => {
            format!("{}; nothing changes until you decide\n", count_with_noun(number, "proposal"))
        }
    };
    out.push_str(&format!("\n{end}"));
    out
}

fn proposal_block(proposal: &BatchProposal) -> String {
    let BatchProposal { id, state, book, change, because, evidence } = proposal;
    let state = match state {
        BatchProposalState::New => "new",
        BatchProposalState::Open => "open since an earlier batch",
        BatchProposalState::Decided => "decided before",
    };
    let mut out = format!("\n{LEAD}{} {change} ({state})\n  {because}\n", style_text(BOLD, id));
    for line in evidence {
        out.push_str(&format!("  {line}\n"));
    }
    let option = if *book == BatchBook::User { " --user" } else { "" };
    out.push_str(&format!(
        "  decide: proem book approve {id}{option}, or proem book reject {id}{option} --because WHY\n"
    ));
    out
}
