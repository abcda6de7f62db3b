//! `proem cost fit`: how far our counts are from what providers report, and counting by that.

use std::process::ExitCode;

use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, YELLOW, style_text, table_cell};
use proem_app::cost::{FactorFit, MIN_CALLS, apply_factors, fit_factors, revert};
use proem_app::factors::Factors;
use proem_app::project::OpenProject;
use proem_app::records;

/// The factors that fit recorded calls.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FitOutput<'f> {
    /// The models that were called.
    models: &'f [FactorFit],
    /// The number of calls that a factor needs.
    min_calls: u64,
}

/// The action for the fitted factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FactorAction {
    /// It is shown.
    Show,
    /// From now on it is counted by.
    Apply,
    /// The factors before it count again.
    Revert,
}

pub(super) async fn run_cost_fit(
    project: &OpenProject,
    way: FactorAction,
    as_json: bool,
) -> Result<ExitCode, CommandFailure> {
    let factors = Factors::load(&project.places)?;
    if way == FactorAction::Revert {
        let changed = revert(factors, &project.places)?;
        ui::aside(&format!("estimates for {} use the previous factors again\n", ui::count_with_noun(changed, "model")));
        return Ok(ExitCode::SUCCESS);
    }
    let store = crate::ui::print_notes_of(records::look_at_records(project).await?);
    let fitted = fit_factors(&store.estimates().await?, &factors);
    if as_json {
        ui::print_json_document(&json::pretty(&json!(FitOutput { models: &fitted, min_calls: MIN_CALLS })))?;
    } else {
        ui::print_listing(&fit_table(&fitted))?;
    }
    if way == FactorAction::Show {
        return Ok(ExitCode::SUCCESS);
    }
    let changed = apply_factors(&fitted, factors, &project.places)?;
    if changed == 0 {
        ui::aside("nothing to change\n");
        return Ok(ExitCode::SUCCESS);
    }
    ui::aside(&format!(
        "estimates for {} changed; `proem cost fit --revert` undoes it\n",
        ui::count_with_noun(changed, "model")
    ));
    Ok(ExitCode::SUCCESS)
}

fn fit_table(fitted: &[FactorFit]) -> String {
    if fitted.is_empty() {
        return "nothing to compare: no recorded call has both an estimate and a token count from the provider\n"
            .to_owned();
    }
    let head =
        format!("{:32}  {:12}  {:>5}  {:>8}  {:>5}  {:>5}", "model", "counted by", "calls", "reported", "now", "fits");
    let mut out = format!("{}\n", style_text(DIM, &head));
    for one in fitted {
        let of = |percent: usize| format!("{}.{:02}", percent / 100, percent % 100);
        let fits = match one.fitted {
            None => style_text(DIM, &format!("{:>5}  too few calls; at least {MIN_CALLS} are needed", ui::UNKNOWN)),
            Some(percent) if percent == one.present => format!("{:>5}", of(percent)),
            Some(percent) => style_text(YELLOW, &format!("{:>5}", of(percent))),
        };
        out.push_str(&format!(
            "{}  {}  {:>5}  {:>8}  {:>5}  {fits}\n",
            style_text(BOLD, &table_cell(&one.model, 32)),
            table_cell(&one.base, 12),
            ui::short_number(one.calls),
            ui::short_number(one.reported),
            of(one.present),
        ));
    }
    out
}
