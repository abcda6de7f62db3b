//! `proem cost correct`: a person puts right what is booked. Only here, and only at a terminal.

use std::process::ExitCode;

use proem_engine::call::NanoDollars;
use proem_store::record::AttemptId;
use proem_store::{Store, StoreAccess};

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, cut_to_width, style_text};
use proem_app::cost::{self, CostCorrection};
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::records;

/// The exit code of a negative answer.
const NO: u8 = 1;

/// The most that the records hold for one attempt: 2⁵⁰ billionths of a dollar, more than a million dollars.
const MOST: NanoDollars = NanoDollars(1 << 50);

pub(super) async fn run_cost_correct(
    project: &OpenProject,
    attempt: i64,
    cost: NanoDollars,
    why: &str,
) -> Result<ExitCode, CommandFailure> {
    if cost > MOST {
        return Err(CommandFailure::usage(format!("{cost} is too much for one attempt; the maximum is {MOST}")));
    }
    let store = records::open_records(project, StoreAccess::Write).await?.store;
    let done = correct_at_terminal(&store, AttemptId(attempt), cost, why).await;
    store.close().await;
    done
}

async fn correct_at_terminal(
    store: &Store,
    attempt: AttemptId,
    cost: NanoDollars,
    why: &str,
) -> Result<ExitCode, CommandFailure> {
    let run = store.run(&store.run_of(attempt).await?).await?;
    let row = run.calls.iter().flat_map(|call| &call.attempts).find(|row| row.id == attempt);
    let row =
        row.ok_or_else(|| CommandFailure::bug("cost correct", format!("attempt {} belongs to no call", attempt.0)))?;
    if row.state == "open" {
        let problem = format!("attempt {} is still in progress; correct it when it has ended", attempt.0);
        return Err(CommandFailure::usage(problem));
    }
    let before = row.booked.map_or_else(|| "an unknown price".to_owned(), |booked| booked.to_string());
    let about = format!("the cost of attempt {} is recorded as {before} and would become {cost}", attempt.0);
    let mut operator = ui::operator(&about, "leave it unchanged: only a person may change a recorded cost")?;
    let prompt = format!("{}/{}", run.row.prompt.agent, run.row.prompt.name);
    ui::aside(&format!(
        "{} of run {}, {}, {}\n  cost     {before}, state {}\n  new cost {cost}, reason: {}\n",
        style_text(BOLD, &format!("attempt {}", attempt.0)),
        run.row.id.short(),
        cut_to_width(&prompt, 32),
        cut_to_width(&run.row.model, 32),
        cut_to_width(&row.state, 12),
        cut_to_width(why, 80)
    ));
    if ui::confirm(&mut operator, "Record this cost?")? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    cost::correct_attempt(store, &operator, CostCorrection { attempt, cost, why }).await?;
    ui::aside("recorded; `proem cost` uses it from now on\n");
    Ok(ExitCode::SUCCESS)
}
