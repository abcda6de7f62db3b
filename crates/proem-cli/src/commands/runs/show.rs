//! `proem runs show`: what was sent, section by section, what came back, and what it cost.

mod account;
mod body;
mod output;
mod profile;
mod width;

use std::collections::BTreeMap;
use std::process::ExitCode;

use proem_store::Store;
use proem_store::query::RunDetail;
use proem_text::json;

pub(super) use self::body::exact;
use super::{Failure, Places, Project, RecordsPlace, found};
use crate::{records, ui};

/// What is shown of which run.
pub(super) struct Wanted<'w> {
    pub(super) run: &'w str,
    pub(super) body: bool,
    pub(super) call: u32,
    pub(super) full: bool,
}

/// A run with its texts.
struct Shown<'s> {
    run: &'s RunDetail,
    texts: &'s Texts,
}

/// Texts by their hashes, as far as they are kept.
struct Texts(BTreeMap<String, Vec<u8>>);

impl Texts {
    async fn load(store: &Store, hashes: Vec<String>) -> Result<Self, Failure> {
        Ok(Self(store.contents(&hashes).await?))
    }

    fn get(&self, hash: &str) -> Option<&str> {
        std::str::from_utf8(self.0.get(hash)?).ok()
    }

    fn json(&self, hash: &str) -> Option<serde_json::Value> {
        serde_json::from_str(self.get(hash)?).ok()
    }
}

pub(super) async fn run(
    places: &Places,
    project: &Project,
    wanted: &Wanted<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let zone = records::zone(&project.config.budget)?;
    let store = records::look(places, project).await?;
    let id = found(&store, project, (wanted.run, place)).await?;
    let run = store.run(&id).await?;
    if wanted.body {
        ui::data(&body::exact(&store, &run, wanted.call).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let texts = Texts::load(&store, hashes(&run)).await?;
    let shown = Shown { run: &run, texts: &texts };
    if place.json {
        ui::data(&format!("{}\n", json::pretty(&output::output(&shown))))?;
    } else {
        ui::listing(&account::account(&shown, &zone, wanted.full))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The texts that are shown.
fn hashes(run: &RunDetail) -> Vec<String> {
    let sections = run.calls.iter().flat_map(|call| call.sections.iter().map(|section| section.text.clone()));
    let results = run.calls.iter().filter_map(|call| call.result.clone());
    sections.chain(results).chain(run.value.clone()).collect()
}
