//! `proem improve`: another wording of a prompt, which a model writes and which has to prove itself.

use std::num::NonZeroU32;
use std::process::ExitCode;

use clap::Parser;
use proem_app::book::improve::{
    ImproveOptions, SearchPlan, SearchResult, SearchStart, VariantFate, VariantResult, improve_prompt, plan_search,
};
use proem_app::config::parse_dollars;
use proem_app::operator::account_name;
use proem_app::when::time_now;
use proem_engine::call::NanoDollars;
use proem_guard::show;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::args::models::with_models;
use crate::commands::book::experiment::ExperimentPlace;
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, GREEN, LEAD, PublishedDocument, YELLOW, style_text};

pub(crate) const IMPROVE_EXAMPLES: &str = with_models!(
    "the prompt file's `model:`, or `small`",
    "\
A model writes other wordings of a prompt from half of the cases that the prompt fails. The other half decides: the
model never sees them. The best wording becomes a proposal for you to review. The version in use stays.

Examples:
  proem improve reviews/triage --dry-run                 # the cases on each side; nothing is asked
  proem improve reviews/triage --max-cost 0.50
  proem improve reviews/triage --max-cost 2 --variants 8 --times 5"
);

#[derive(Debug, Parser)]
pub(crate) struct ImproveArgs {
    /// `agent/name`, or `agent/name@version`
    prompt: String,
    /// Maximum cost of all calls together, in US dollars; a run that could exceed it is not made
    #[arg(long, value_name = "DOLLARS", required_unless_present = "dry_run", value_parser = parse_dollars)]
    max_cost: Option<NanoDollars>,
    /// How many wordings are written; each more needs more proof of all
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=50))]
    variants: u32,
    /// How many times each test case is sent to the model
    #[arg(long, value_name = "N", default_value = "3")]
    times: NonZeroU32,
    #[command(flatten)]
    models: SearchModels,
    /// Show which test cases the model would see, and ask nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: ExperimentPlace,
}

#[derive(Debug, Parser)]
struct SearchModels {
    /// The model or role that answers the test cases, instead of the prompt's own
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The provider of both models: `anthropic`, `openai` or a name under `[providers]`
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
}

/// The output of `improve --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImproveOutput<'r> {
    /// The plan. With `--dry-run` nothing else.
    plan: &'r SearchPlan,
    /// The shown cases that the text in use fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<&'r [String]>,
    /// The variants, in the order that they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    variants: Option<&'r [VariantResult]>,
    /// The id of the proposal, if one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<&'r str>,
    /// The cost in billionths of a dollar. Absent if it is not known of all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    nano_dollars: Option<u64>,
}

impl<'r> ImproveOutput<'r> {
    const fn of_plan(plan: &'r SearchPlan) -> Self {
        Self { plan, failures: None, variants: None, proposal: None, nano_dollars: None }
    }

    fn of_result(result: &'r SearchResult) -> Self {
        Self {
            failures: Some(&result.failures),
            variants: Some(&result.variants),
            proposal: result.proposal.as_ref().map(|proposal| proposal.id.as_str()),
            nano_dollars: result.purse.known().map(|spent| spent.0),
            ..Self::of_plan(&result.plan)
        }
    }
}

pub(super) fn run_improve(args: &ImproveArgs) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let options = ImproveOptions {
        root: args.place.root.clone(),
        prompt: args.prompt.clone(),
        variants: NonZeroU32::new(args.variants).unwrap_or(NonZeroU32::MIN),
        times: args.times,
        model: args.models.model.clone(),
        provider: args.models.provider.clone(),
        most: args.max_cost.unwrap_or_default(),
    };
    let plan = plan_search(&options, &places)?;
    if args.dry_run {
        if args.place.json {
            ui::print_published_document(PublishedDocument::Pretty(json!(ImproveOutput::of_plan(&plan))))?;
        } else {
            ui::print_listing(&plan_listing(&plan))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    ui::aside(&plan_listing(&plan));
    let start = SearchStart { by: account_name(), at: time_now() };
    let result = calling(async |stop| {
        let mut notes = Vec::new();
        let result = Box::pin(improve_prompt(&options, &places, &start, &mut notes, &stop)).await;
        notes.sort();
        notes.dedup();
        ui::print_notes(&notes);
        Ok(result?)
    })?;
    if args.place.json {
        ui::print_published_document(PublishedDocument::Pretty(json!(ImproveOutput::of_result(&result))))?;
    } else {
        ui::print_listing(&result_table(&result))?;
    }
    Ok(ExitCode::from(u8::from(result.proposal.is_none() && !result.failures.is_empty())))
}

fn plan_listing(plan: &SearchPlan) -> String {
    let names = |names: &[String]| {
        let shown: Vec<String> = names.iter().map(|name| format!("`{}`", show::terminal_str(name))).collect();
        shown.join(", ")
    };
    let mut out = format!("{LEAD}{}\n", style_text(BOLD, show::terminal_str(&plan.prompt).as_str()));
    out.push_str(&format!("  the model sees failures of: {}\n", names(&plan.shown)));
    out.push_str(&format!("  held out: {}\n", names(&plan.held_out)));
    if !plan.judged_only.is_empty() {
        let judged = names(&plan.judged_only);
        out.push_str(&format!("  not used, because only a judge decides: {judged}; add `checks` beside it\n"));
    }
    if !plan.failing.is_empty() {
        out.push_str(&format!("  failing without a model: {}\n", names(&plan.failing)));
    }
    let needed = match plan.wins_needed {
        u32::MAX => "no wording can prove itself with so few held-out cases; add some".to_owned(),
        wins => format!("a wording must win {wins} held-out cases and lose none, or more if it loses some"),
    };
    out.push_str(&format!("  {needed}\n"));
    out
}

fn result_table(result: &SearchResult) -> String {
    let mut out = format!("{LEAD}{}\n", style_text(BOLD, show::terminal_str(&result.plan.prompt).as_str()));
    for variant in &result.variants {
        let style = if variant.fate == VariantFate::Proposed { GREEN } else { YELLOW };
        let fate = style_text(style, &format!("{:10}", variant.fate.as_str()));
        let because = style_text(DIM, show::terminal_str(&variant.because).as_str());
        out.push_str(&format!("  variant {:>2}  {fate}  {because}\n", variant.number));
    }
    let cost = result.purse.in_words();
    out.push_str(&match &result.proposal {
        Some(proposal) => format!("proposal {}; review it with `proem book proposals`; cost {cost}\n", proposal.id),
        None if result.failures.is_empty() => {
            format!("no shown case fails, so there is nothing to improve; cost {cost}\n")
        }
        None => format!("no wording is proven to be better; cost {cost}\n"),
    });
    out
}
