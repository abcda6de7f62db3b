//! `proem runs diff`: what changed between two requests, and why the cache missed.
//!
//! Two requests are two runs' first calls, any two calls by their numbers, or each call of one run with the
//! one before it that its cache could have been written by.

mod draw;
mod named;
mod output;
mod seen;
mod texts;

use std::collections::BTreeSet;
use std::process::ExitCode;

use proem_engine::cache::miss::{Change, Compared, compare};
use proem_engine::providers::Providers;
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_text::json;

use self::draw::Row;
use self::named::Named;
use self::seen::Call;
use self::texts::Texts;
use super::{Failure, Listed, Places, Project, RecordsPlace};
use crate::ui;
use proem_app::records;

/// Two requests with what was found out about them.
struct Pair<'d> {
    first: Call<'d>,
    second: Call<'d>,
    compared: Compared,
    rows: Vec<Row<'d>>,
    /// The texts of what changed first, as far as they are kept.
    texts: Option<Texts>,
}

/// What is compared.
pub(super) struct Wanted<'w> {
    pub(super) first: &'w str,
    pub(super) second: Option<&'w str>,
    /// Which runs `last` counts.
    pub(super) listed: Listed,
}

pub(super) async fn run(
    places: &Places,
    project: &Project,
    wanted: &Wanted<'_>,
    place: &RecordsPlace,
) -> Result<ExitCode, Failure> {
    let (first, second) = (Named::parse(wanted.first)?, wanted.second.map(Named::parse).transpose()?);
    let store = crate::ui::tell(records::look(places, project).await?);
    let detail = async |named: &Named<'_>| -> Result<RunDetail, Failure> {
        Ok(store.run(&super::found(&store, project, (named.run, place), wanted.listed).await?).await?)
    };
    let former = detail(&first).await?;
    let latter = match &second {
        Some(named) => Some(detail(named).await?),
        None => None,
    };
    let calls = match (&second, &latter, first.call) {
        (Some(second), Some(latter), _) => {
            vec![(named::call(&former, first.call.unwrap_or(0))?, named::call(latter, second.call.unwrap_or(0))?)]
        }
        (_, _, Some(number)) => vec![named::with_the_one_before(&former, number)?],
        (_, _, None) => named::each(&former)?,
    };
    let providers = prices(&store, latter.as_ref().unwrap_or(&former)).await?;
    let mut pairs = Vec::with_capacity(calls.len());
    for (first, second) in calls {
        pairs.push(Pair::of(&store, &providers, (first, second)).await?);
    }
    without_tools(&pairs);
    let whole = second.is_none() && first.call.is_none();
    if place.json {
        let json = if whole { output::whole(&former, &pairs) } else { output::one(&pairs) };
        ui::document(&json::pretty(&json?))?;
    } else {
        let zone = records::zone(&project.config.budget)?;
        let pages: Vec<String> = pairs.iter().map(|pair| draw::page(pair, &zone)).collect();
        ui::listing(&pages.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

impl<'d> Pair<'d> {
    async fn of(store: &Store, providers: &Providers, (first, second): (Call<'d>, Call<'d>)) -> Result<Self, Failure> {
        let model = providers.model(&second.row.model).ok();
        let (before, after) = (first.parts(), second.parts());
        let compared = compare(&first.seen(&before, model), &second.seen(&after, model), model);
        let texts = Texts::of(store, &first, &second, &compared).await?;
        let rows = draw::rows(&first.row.sections, &second.row.sections);
        Ok(Self { first, second, compared, rows, texts })
    }

    /// What the cache did, in a sentence; of prompts that nobody was sent, what it could not do.
    fn words(&self) -> String {
        if self.second.is_sent() {
            return self.compared.in_words();
        }
        let prefix = match self.compared.first_change.as_ref().map(Change::is_in_prefix) {
            None => "both prompts are the same",
            Some(true) => "the stable prefix changed, so a cache would miss",
            Some(false) => "the stable prefix is the same",
        };
        format!("nobody was asked, so no cache was read; {prefix}")
    }
}

/// Says of which requests only the sections could be compared.
fn without_tools(pairs: &[Pair<'_>]) {
    let calls = pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
    let without = calls.filter(|call| call.is_sent() && !call.parts().has_tools());
    let labels: BTreeSet<String> = without.map(Call::label).collect();
    if !labels.is_empty() {
        let labels: Vec<String> = labels.into_iter().collect();
        ui::note(&format!("the tools of {} are not kept, so they are not compared", labels.join(" and ")));
    }
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
