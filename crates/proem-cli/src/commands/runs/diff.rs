//! `proem runs diff`: what changed between two requests, and why the cache missed.

mod draw;
mod seen;

use std::collections::BTreeMap;
use std::process::ExitCode;

use proem_engine::cache::miss::{Change, Compared, compare};
use proem_engine::providers::Providers;
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_text::json;
use serde_json::json;

use self::draw::Row;
use self::seen::Call;
use super::{Failure, Places, Project, RecordsPlace};
use crate::commands::trust::review::difference;
use crate::records;
use crate::ui;

pub(super) async fn run(
    places: &Places,
    project: &Project,
    (first, second): (&str, &str),
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let store = records::look(places, project).await?;
    let details = (
        store.run(&super::found(&store, project, first).await?).await?,
        store.run(&super::found(&store, project, second).await?).await?,
    );
    let calls = (Call::of(&details.0)?, Call::of(&details.1)?);
    let providers = prices(&store, &details.1).await?;
    let model = providers.model(&calls.1.row.model).ok();
    let (parts, tools) = ((calls.0.parts(), calls.1.parts()), (calls.0.tools(), calls.1.tools()));
    let compared = compare(&calls.0.seen(&parts.0, &tools.0, model), &calls.1.seen(&parts.1, &tools.1, model), model);
    let rows = draw::rows(&calls.0.row.sections, &calls.1.row.sections);
    if place.json {
        let json = to_json((&details.0, &details.1), &compared, (&rows, &words(&compared, &calls.1)))?;
        ui::data(&format!("{}\n", json::pretty(&json)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = draw::heads(&details.0, &details.1, &records::zone(&project.config.budget)?);
    out.push_str(&draw::table(&rows));
    out.push_str(&changed_text(&store, &calls, compared.first_change.as_ref()).await?);
    out.push_str(&format!("\n{}\n", words(&compared, &calls.1)));
    ui::listing(&out)?;
    Ok(ExitCode::SUCCESS)
}

/// The models as the run knew them, or as they are known here.
async fn prices(store: &Store, detail: &RunDetail) -> Result<Providers, Failure> {
    if let Some(hash) = detail.files.get("providers.toml") {
        let contents = store.contents(std::slice::from_ref(hash)).await?;
        let text = contents.get(hash).and_then(|bytes| std::str::from_utf8(bytes).ok());
        if let Some(providers) = text.and_then(|text| Providers::parse(text).ok()) {
            return Ok(providers);
        }
        ui::note("the models that the run knew are not kept; prices and cache rules are those of this version");
    }
    Providers::load().map_err(|e| Failure::bug("could not read the models", e))
}

/// The first changed section's text, as it was and as it is.
async fn changed_text(store: &Store, calls: &(Call<'_>, Call<'_>), change: Option<&Change>) -> Result<String, Failure> {
    let Some(Change::Section { name, .. }) = change else { return Ok(String::new()) };
    let hash = |call: &Call<'_>| {
        let mut sections = call.row.sections.iter();
        sections.find(|section| section.name == *name).map(|section| section.text.clone())
    };
    let (Some(before), Some(after)) = (hash(&calls.0), hash(&calls.1)) else { return Ok(String::new()) };
    let contents: BTreeMap<String, Vec<u8>> = store.contents(&[before.clone(), after.clone()]).await?;
    let text = |hash: &str| contents.get(hash).and_then(|bytes| std::str::from_utf8(bytes).ok());
    Ok(match (text(&before), text(&after)) {
        (Some(before), Some(after)) => draw::difference(name, &difference(before, after)),
        _ => draw::no_text(name),
    })
}

/// What the cache did, in a sentence; of prompts that nobody was sent, what it could not do.
fn words(compared: &Compared, second: &Call<'_>) -> String {
    if !second.row.attempts.is_empty() {
        return compared.in_words();
    }
    let prefix = match compared.first_change.as_ref().map(Change::is_in_prefix) {
        None => "both prompts are the same",
        Some(true) => "the stable prefix changed, so a cache would miss",
        Some(false) => "the stable prefix is the same",
    };
    format!("nobody was asked, so no cache was read; {prefix}")
}

fn to_json(
    (first, second): (&RunDetail, &RunDetail),
    compared: &Compared,
    (rows, words): (&[Row<'_>], &str),
) -> Result<serde_json::Value, Failure> {
    let mut json = serde_json::to_value(compared).map_err(|e| Failure::bug("could not write JSON", e))?;
    if let Some(fields) = json.as_object_mut() {
        fields.insert("first".to_owned(), json!(first.row.id));
        fields.insert("second".to_owned(), json!(second.row.id));
        fields.insert("words".to_owned(), json!(words));
        fields.insert("sections".to_owned(), rows.iter().map(Row::json).collect());
    }
    Ok(json)
}
