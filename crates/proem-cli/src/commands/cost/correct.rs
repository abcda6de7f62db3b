//! `proem cost correct`: a person puts right what is booked. Only here, and only at a terminal.

use std::process::ExitCode;

use proem_engine::call::NanoDollars;
use proem_store::record::AttemptId;
use proem_store::{Access, Correction, Store};

use crate::commands::trust::{ask, on_terminal};
use crate::failure::Failure;
use crate::ui::{self, BOLD, cut, styled};
use proem_app::places::Places;
use proem_app::project::Project;
use proem_app::{records, when};

/// The exit code of a negative answer.
const NO: u8 = 1;

/// The most that the records hold for one attempt: 2⁵⁰ billionths of a dollar, more than a million dollars.
const MOST: NanoDollars = NanoDollars(1 << 50);

pub(super) async fn run(
    places: &Places,
    project: &Project,
    (attempt, cost): (i64, NanoDollars),
    why: &str,
) -> Result<ExitCode, Failure> {
    if cost > MOST {
        return Err(Failure::usage(format!("{cost} is more than is booked for one attempt; the most is {MOST}")));
    }
    let store = records::open(places, project, Access::Write).await?.store;
    let done = correct(&store, (AttemptId(attempt), cost), why).await;
    store.close().await;
    done
}

async fn correct(store: &Store, (attempt, cost): (AttemptId, NanoDollars), why: &str) -> Result<ExitCode, Failure> {
    let run = store.run(&store.run_of(attempt).await?).await?;
    let row = run.calls.iter().flat_map(|call| &call.attempts).find(|row| row.id == attempt);
    let row = row.ok_or_else(|| Failure::bug("cost correct", format!("attempt {} has no call", attempt.0)))?;
    if row.state == "open" {
        let problem = format!("attempt {} is still open; correct it when it is settled", attempt.0);
        return Err(Failure::usage(problem));
    }
    let before = row.booked.map_or_else(|| "a price that is not known".to_owned(), |booked| booked.to_string());
    let about = format!("attempt {} is booked at {before} and would be at {cost}", attempt.0);
    on_terminal(&about, "leave it as it is: only a person changes what is booked")?;
    let prompt = format!("{}/{}", run.row.prompt.agent, run.row.prompt.name);
    ui::aside(&format!(
        "{} of run {}, {}, {}\n  booked {before}, state {}\n  then   {cost}, since: {}\n",
        styled(BOLD, &format!("attempt {}", attempt.0)),
        run.row.id.short(),
        cut(&prompt, 32),
        cut(&run.row.model, 32),
        cut(&row.state, 12),
        cut(why, 80)
    ));
    if !ask("Book it so?")? {
        return Ok(ExitCode::from(NO));
    }
    let actor = crate::actor();
    store.correct(Correction { attempt, nanos: cost, why: why.to_owned(), actor, at: when::now() }).await?;
    ui::aside("booked; `proem cost` counts it from now on\n");
    Ok(ExitCode::SUCCESS)
}
