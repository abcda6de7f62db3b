//! `proem runs replay`: makes a run's requests anew from its record, and compares every byte.

use std::process::ExitCode;

use proem_engine::providers::Provider;
use proem_engine::run::{Exchange, Outcome};
use proem_engine::versions::{Changed, in_words};
use proem_guard::show::terminal_str;
use proem_llm::endpoint::{Endpoint, EndpointLimits, Key};
use proem_runtime::installation_key;
use proem_runtime::records::{ASSEMBLED_ONLY, Difference, Replayed, replay};
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_store::record::{Replayable, RunId};
use proem_text::json;
use serde_json::json;

use super::{Failure, Listed, Places, Project, RecordsPlace, found, versions};
use crate::commands::risk;
use crate::commands::run::made::Remade;
use crate::commands::run::setting::{Setting, Wanted};
use crate::ui::{self, grouped};
use proem_app::records;
use proem_app::records::blocking;

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
        let id = detail.row.id.clone();
        let not = |why: String| Failure::finding(format!("run {} can't be replayed: {why}", id.short()));
        if let Replayable::No(why) = &detail.replayable {
            return Err(not(why.clone()));
        }
        let versions = versions(&detail).ok_or_else(|| not("which versions made it is not known here".to_owned()))?;
        let versions = versions.changed();
        let by_versions = |why: String| not(blamed(&versions, why));
        let remade = remade.map_err(by_versions)?;
        let changed = remade.changed().map(str::to_owned);
        let store = crate::ui::tell(records::look(places, project).await?);
        let replayed = match remade {
            Anew::Prompt(remade) => prompt(*remade, &detail, places, (&store, &by_versions)).await,
            Anew::Investigation(remade) => {
                let endpoint = nowhere(&detail.row.endpoint, remade.provider());
                risk::replayed(*remade, &detail, (places, endpoint), &store).await
            }
        };
        store.close().await;
        let replayed = replayed?.between(&versions);
        match changed {
            // What was changed and shows in no request is no less changed.
            Some(why) if replayed.difference.is_none() => Err(not(why)),
            _ => say(&detail, (&replayed, &versions), place),
        }
    })
}

/// Why a record made with other versions can't be read or rebuilt.
fn blamed(versions: &[Changed], why: String) -> String {
    if versions.is_empty() {
        return why;
    }
    let (recorded, today) = in_words(versions);
    format!("it was made with {recorded}, and this Proem has {today}: {why}")
}

/// Replays the run of a prompt; `failed` says why its request can't be made.
async fn prompt(
    remade: Remade,
    detail: &RunDetail,
    places: &Places,
    (store, failed): (&Store, &dyn Fn(String) -> Failure),
) -> Result<Replayed, Failure> {
    let inputs = remade.inputs.clone();
    let endpoint = nowhere(&detail.row.endpoint, remade.model.provider());
    let setting = Setting::again(remade, detail, places, (endpoint, Wanted::NoCalls))?;
    let prepared = setting.prepare(&inputs).map_err(|failure| failed(failure.to_string()))?;
    let mut exchange = Exchange::new(setting.terms(), prepared.request);
    Ok(replay(store, detail, setting.model(), &mut exchange, Outcome::clone).await?)
}

/// What a run's requests are rebuilt from.
#[derive(Debug)]
pub(super) enum Anew {
    /// A prompt's.
    Prompt(Box<Remade>),
    /// An investigation's.
    Investigation(Box<risk::Remade>),
}

impl Anew {
    /// Why its prompts are not those that it was made from, if they aren't.
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
    let id = found(&store, project, (run, place), Listed::Acted).await?;
    let detail = store.run(&id).await?;
    let key = installation_key(&places.key())?.id();
    let remade = match detail.row.kind.as_str() {
        _ if detail.settings.is_null() => Err("only hashes are kept of it (`records.keep`)".to_owned()),
        "prompt" => Remade::read(&store, &detail, &key).await.map(|remade| Anew::Prompt(Box::new(remade))),
        "assemble" => Err(ASSEMBLED_ONLY.to_owned()),
        "risk" => {
            let remade = risk::Remade::read(&store, &detail, &key).await;
            remade.map(|remade| Anew::Investigation(Box::new(remade)))
        }
        kind => Err(format!("it is a run of kind `{kind}`, which this Proem doesn't know")),
    };
    store.close().await;
    Ok((detail, remade))
}

/// An endpoint that nothing is sent to.
fn nowhere(name: &str, provider: Provider) -> Endpoint {
    let (name, base_url) = (name.to_owned(), String::new());
    Endpoint { name, provider, base_url, key: Key::None, limits: EndpointLimits::default() }
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
        "it was made with {recorded}, and this Proem has {found}: other bytes from call {call}, {} on\n  \
         what was sent: proem runs show {} --body --call {call}\n",
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
