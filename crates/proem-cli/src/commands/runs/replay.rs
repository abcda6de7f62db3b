//! `proem runs replay`: makes a run's requests anew from its record, and compares every byte.

use std::process::ExitCode;

use proem_app::records::blocking;
use proem_app::risk::{again, made as investigation};
use proem_app::run::made::Remade;
use proem_app::runs::replay::{Kind, blamed, kind, nowhere, prompt, refused};
use proem_app::runs::{found, versions};
use proem_engine::versions::Changed;
use proem_guard::show::terminal_str;
use proem_runtime::installation_key;
use proem_runtime::records::{Difference, Replayed};
use proem_store::query::{Listed, RunDetail};
use proem_store::record::{Replayable, RunId};
use proem_text::json;
use serde_json::json;

use super::{Failure, Places, Project, RecordsPlace};
use crate::hints::in_words as message_in_words;
use crate::ui::{self, grouped};
use proem_app::records;

pub(super) fn run(
    places: &Places,
    project: &mut Project,
    run: &str,
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
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
            Anew::Prompt(remade) => prompt(*remade, &detail, places, (&store, &versions)).await.map_err(Failure::from),
            Anew::Investigation(remade) => {
                let endpoint = nowhere(&detail.row.endpoint, remade.provider());
                again::replayed(*remade, &detail, (places, endpoint), &store).await.map_err(Failure::from)
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
pub(super) enum Anew {
    /// A prompt's.
    Prompt(Box<Remade>),
    /// An investigation's.
    Investigation(Box<investigation::Remade>),
}

impl Anew {
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
    project: &Project,
    (run, place): (&str, &RecordsPlace),
) -> Result<(RunDetail, Result<Anew, String>), Failure> {
    let store = crate::ui::tell(records::look(places, project).await?);
    let id = found(&store, project, (run, place.whose()), Listed::Acted).await?;
    let detail = store.run(&id).await?;
    let key = installation_key(&places.key())?.id();
    let remade = match kind(&detail) {
        Err(why) => Err(why),
        Ok(Kind::Prompt) => Remade::read(&store, &detail, &key).await.map(|remade| Anew::Prompt(Box::new(remade))),
        Ok(Kind::Investigation) => {
            let remade = investigation::Remade::read(&store, &detail, &key).await;
            remade.map(|remade| Anew::Investigation(Box::new(remade))).map_err(|why| message_in_words(&why))
        }
    };
    store.close().await;
    Ok((detail, remade))
}

fn say(
    detail: &RunDetail,
    (replayed, versions): (&Replayed, &[Changed]),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let Replayed { calls, bytes, difference, .. } = replayed;
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
