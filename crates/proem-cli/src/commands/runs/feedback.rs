//! `proem runs feedback`

use std::process::ExitCode;

use proem_store::Access;
use proem_store::record::{NewFeedback, RunId};

use super::{Failure, Listed, Places, Project, RecordsPlace, found};
use crate::args::records::VerdictArg;
use crate::{records, ui, when};

pub(super) async fn run(
    places: &Places,
    project: &Project,
    (run, verdict, note): (&str, VerdictArg, &str),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let store = records::open(places, project, Access::Write).await?.store;
    let written = write(&store, project, (run, place), (verdict, note)).await;
    store.close().await;
    let (run, verdict) = written?;
    if place.json {
        let said = serde_json::json!({ "run": run.0, "verdict": verdict, "note": note });
        ui::document(&proem_text::json::pretty(&said))?;
    } else {
        ui::aside(&format!("run {}: {verdict}\n", run.short()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn write(
    store: &proem_store::Store,
    project: &Project,
    (run, place): (&str, &RecordsPlace),
    (verdict, note): (VerdictArg, &str),
) -> Result<(RunId, &'static str), Failure> {
    let run = found(store, project, (run, place), Listed::Any).await?;
    let verdict = match verdict {
        VerdictArg::Good => "good",
        VerdictArg::Bad => "bad",
    };
    let actor = records::actor(&proem_runtime::Environment::inherited());
    let feedback =
        NewFeedback { run: run.clone(), actor, at: when::now(), verdict: verdict.to_owned(), note: note.to_owned() };
    store.feedback(feedback).await?;
    Ok((run, verdict))
}
