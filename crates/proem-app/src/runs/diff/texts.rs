//! The texts of what changed first, as they were and as they are.

use proem_engine::cache::miss::{CacheComparison, RequestDifference};
use proem_store::Store;
use proem_text::json;
use serde_json::{Map, Value as Json};

use super::run_call::{BEFORE, RunCall, call_prompt_name};
use crate::error::Error;
use crate::runs::body::exact_body;

/// The first change. `None` for a text that is not kept.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstDifference {
    /// The changed part, such as `section role`.
    pub what: String,
    /// The place of the whole text.
    pub whole: Whole,
    /// The text as it was.
    pub before: Option<String>,
    /// The text as it is.
    pub after: Option<String>,
}

/// The place of a whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// Among the sections.
    Sections,
    /// In the body that was sent.
    Body,
}

impl FirstDifference {
    /// The texts of the first change, if it is one of a text: a section's, or the tools'. Two prompts that
    /// differ from the start are not compared line by line.
    pub(super) async fn of(
        store: &Store,
        first: &RunCall<'_>,
        second: &RunCall<'_>,
        compared: &CacheComparison,
    ) -> Result<Option<Self>, Error> {
        let is_at_the_start = compared.first_change.as_ref().is_some_and(RequestDifference::is_at_the_start);
        if is_at_the_start && call_prompt_name(first.row) != call_prompt_name(second.row) {
            return Ok(None);
        }
        Ok(match &compared.first_change {
            Some(RequestDifference::Section { name, .. }) => Some(Self {
                what: format!("section {name}"),
                whole: Whole::Sections,
                before: call_section_text(store, first, name).await?,
                after: call_section_text(store, second, name).await?,
            }),
            Some(RequestDifference::Tools) => Some(Self {
                what: "tools".to_owned(),
                whole: Whole::Body,
                before: call_tools_text(store, first).await,
                after: call_tools_text(store, second).await,
            }),
            _ => None,
        })
    }
}

/// The answers of two runs, as their values were kept.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerDifference {
    /// Whether both gave the same value.
    pub is_same: bool,
    /// The earlier one as a person reads it. `None` if it is not kept.
    pub before: Option<String>,
    /// The later one.
    pub after: Option<String>,
}

impl AnswerDifference {
    /// The answers of two calls' runs. `None` if it is one run, or one of them gave no answer.
    pub(super) async fn of(store: &Store, first: &RunCall<'_>, second: &RunCall<'_>) -> Result<Option<Self>, Error> {
        let (Some(before), Some(after)) = (&first.run.value, &second.run.value) else { return Ok(None) };
        if first.run.row.id == second.run.row.id {
            return Ok(None);
        }
        let contents = store.contents(&[before.clone(), after.clone()]).await?;
        let text = |hash: &String| {
            let value: Json = serde_json::from_slice(contents.get(hash)?).ok()?;
            Some(match value {
                Json::String(text) => text,
                other => format!("{}\n", json::pretty(&other)),
            })
        };
        Ok(Some(Self { is_same: before == after, before: text(before), after: text(after) }))
    }
}

async fn call_section_text(store: &Store, call: &RunCall<'_>, name: &str) -> Result<Option<String>, Error> {
    let Some(section) = call.row.sections.iter().find(|section| section.name == name) else { return Ok(None) };
    let mut contents = store.contents(std::slice::from_ref(&section.text)).await?;
    Ok(contents.remove(&section.text).and_then(|bytes| String::from_utf8(bytes).ok()))
}

/// The part before the sections, as a person reads JSON. `None` if the body is not kept in full.
async fn call_tools_text(store: &Store, call: &RunCall<'_>) -> Option<String> {
    let bytes = exact_body(store, call.run, u32::try_from(call.number).ok()?).await.ok()?;
    let mut body: Map<String, Json> = serde_json::from_str(&bytes).ok()?;
    let fields = BEFORE.iter().filter_map(|key| Some(((*key).to_owned(), body.remove(*key)?))).collect();
    Some(format!("{}\n", json::pretty(&Json::Object(fields))))
}
