//! `proem runs replay`: makes a run's requests anew from its record, and compares every byte.

use std::process::ExitCode;

use proem_app::records::blocking;
use proem_app::risk::{again, made as investigation};
use proem_app::run::made::RunStart;
use proem_app::runs::replay::{ExitKind, blamed, kind, nowhere, prompt, refused};
use proem_app::runs::{found, versions};
use proem_engine::versions::VersionChange;
use proem_guard::show::terminal_str;
use proem_runtime::installation_key;
use proem_runtime::records::{Difference, ReplayReport};
use proem_store::query::{RunDetail, RunScope};
use proem_store::record::{Replayable, RunId};
use proem_text::json;
use serde_json::json;

use super::{CommandFailure, OpenProject, Places, RecordsPlace};
use crate::hints::in_words as message_in_words;
use crate::ui::{self, grouped};
use proem_app::records;

pub(super) fn run(
    places: &Places,
    project: &mut OpenProject,
    run: &str,
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    ui::notes(&project.all_notes());
    let project = &*project;
    blocking(async {
        let (detail, remade) = remade(places, project, (run, place)).await?;
        if let Replayable::No(why) = &detail.replayable {
            return Err(refused(&detail, why).into());
        }
        let unknown = || refused(&detail, "the versions that made it are unknown");
        let versions = versions(&detail).ok_or_else(unknown)?.changed();
        let remade = remade.map_err(|why| refused(&detail, &blamed(&versions, why)))?;
        let changed = remade.changed().map(str::to_owned);
        let store = crate::ui::tell(records::look(places, project).await?);
        let replayed = match remade {
            RebuildSource::Prompt(remade) => {
                prompt(*remade, &detail, places, (&store, &versions)).await.map_err(CommandFailure::from)
            }
            RebuildSource::Investigation(remade) => {
                let endpoint = nowhere(&detail.row.endpoint, remade.provider());
                again::replayed(*remade, &detail, (places, endpoint), &store).await.map_err(CommandFailure::from)
            }
        };
        store.close().await;
        let replayed = replayed?.between(&versions);
        match changed {
            // What was changed and shows in no request is no less changed.
            Some(why) if replayed.difference.is_none() => Err(refused(&detail, &why).into()),
            _ => say(&detail, (&replayed, &versions), place),
        }
    })
}

/// What a run's requests are rebuilt from.
#[derive(Debug)]
pub(super) enum RebuildSource {
    /// A prompt's.
    Prompt(Box<RunStart>),
    /// An investigation's.
    Investigation(Box<investigation::InvestigationStart>),
}

impl RebuildSource {
    /// Why its prompts are not those that the run used, if they aren't.
    pub(super) fn changed(&self) -> Option<&str> {
        match self {
            Self::Prompt(remade) => remade.changed.as_deref(),
            Self::Investigation(remade) => remade.changed.as_deref(),
        }
    }
}

/// A run with what it was made from, or why that can't be rebuilt.
pub(super) async fn remade(
    places: &Places,
    project: &OpenProject,
    (run, place): (&str, &RecordsPlace),
) -> Result<(RunDetail, Result<RebuildSource, String>), CommandFailure> {
    let store = crate::ui::tell(records::look(places, project).await?);
    let id = found(&store, project, (run, place.whose()), RunScope::Acted).await?;
    let detail = store.run(&id).await?;
    let key = installation_key(&places.key())?.id();
    let remade = match kind(&detail) {
        Err(why) => Err(why),
        Ok(ExitKind::Prompt) => {
            RunStart::read(&store, &detail, &key).await.map(|remade| RebuildSource::Prompt(Box::new(remade)))
        }
        Ok(ExitKind::Investigation) => {
            let remade = investigation::InvestigationStart::read(&store, &detail, &key).await;
            remade.map(|remade| RebuildSource::Investigation(Box::new(remade))).map_err(|why| message_in_words(&why))
        }
    };
    store.close().await;
    Ok((detail, remade))
}

fn say(
    detail: &RunDetail,
    (replayed, versions): (&ReplayReport, &[VersionChange]),
    place: &RecordsPlace,
) -> Result<ExitCode, CommandFailure> {
    let ReplayReport { calls, bytes, difference, .. } = replayed;
    if place.json {
        let output = json!({
            "run": detail.row.id,
            "calls": calls,
            "bytes": bytes,
            "equal": difference.is_none(),
            "difference": difference,
        });
        ui::document(&json::pretty(&output))?;
    } else {
        let bytes = grouped(usize::try_from(*bytes).unwrap_or(usize::MAX));
        let calls = if *calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        let made = format!("run {}: {calls} rebuilt, {bytes} bytes of requests", detail.row.id.short());
        match difference {
            None => ui::listing(&format!("{made}, all as recorded\n"))?,
            Some(difference) => {
                let why = if difference.what == "outcome" || versions.is_empty() {
                    seen(difference)
                } else {
                    made_by(&detail.row.id, difference)
                };
                ui::listing(&format!("{made} as recorded\n{why}"))?;
            }
        }
    }
    Ok(ExitCode::from(u8::from(difference.is_some())))
}

/// A difference that is another version's doing.
fn made_by(run: &RunId, difference: &Difference) -> String {
    let Difference { call, what, recorded, found, .. } = difference;
    format!(
        "it was made with {recorded}, but this Proem has {found}: the bytes differ from call {call}, {} on\n  what was \
         sent: proem runs show {} --body --call {call}\n",
        terminal_str(what),
        run.short()
    )
}

fn seen(difference: &Difference) -> String {
    let Difference { call, what, byte, recorded, found } = difference;
    let at = byte.map_or_else(String::new, |byte| format!(", byte {byte}"));
    format!(
        "the first difference: call {call}, {}{at}\n  recorded  {}\n  found     {}\n",
        terminal_str(what),
        terminal_str(recorded),
        terminal_str(found)
    )
}
