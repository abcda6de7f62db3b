//! A recorded call as a cache saw it.

use proem_engine::cache::miss::{Marked, Part, Seen};
use proem_engine::call::Usage;
use proem_engine::providers::{Mode, Model};
use proem_guard::show;
use proem_store::query::{CallRow, RunDetail};
use proem_text::json;
use serde_json::Value as Json;

use crate::failure::Failure;

/// What of a body stands before all sections, in either protocol.
const BEFORE: [&str; 3] = ["tools", "response_format", "output_config"];

/// The first call of a run.
pub(super) struct Call<'d> {
    pub(super) row: &'d CallRow,
}

impl<'d> Call<'d> {
    pub(super) fn of(detail: &'d RunDetail) -> Result<Self, Failure> {
        let row = detail.calls.first().ok_or_else(|| {
            let id = detail.row.id.short();
            Failure::usage(format!("run `{id}` has no request to compare; name one that `proem runs list` shows"))
        })?;
        Ok(Self { row })
    }

    /// The sections, with those up to the last boundary as stable.
    pub(super) fn parts(&self) -> Vec<Part<'d>> {
        let sections = &self.row.sections;
        let stable = sections.iter().rposition(|section| section.boundary).map_or(0, |last| last.saturating_add(1));
        let part = |(index, section): (usize, &'d proem_store::record::SectionRow)| Part {
            name: &section.name,
            hash: &section.text,
            tokens: section.tokens,
            stable: index < stable,
        };
        sections.iter().enumerate().map(part).collect()
    }

    /// What stands before them, as it was sent; long texts are hashes there.
    pub(super) fn tools(&self) -> String {
        let fields =
            BEFORE.iter().filter_map(|key| Some(format!("{key}={}", json::compact(self.row.pieces.get(key)?))));
        fields.collect::<Vec<_>>().join(" ")
    }

    pub(super) fn seen<'s>(&'s self, sections: &'s [Part<'s>], tools: &'s str, model: Option<&Model>) -> Seen<'s> {
        let has_breakpoints =
            self.row.plan.get("breakpoints").and_then(Json::as_array).is_some_and(|all| !all.is_empty());
        let decides_itself = model.is_some_and(|model| model.caching.mode == Mode::Implicit);
        let first = self.row.attempts.first();
        Seen {
            at: first.map_or(self.row.at, |attempt| attempt.at),
            model: &self.row.model,
            endpoint: &self.row.endpoint,
            tools,
            sections,
            stable_tokens: self.row.stable_tokens,
            marked: if has_breakpoints || decides_itself { Marked::Yes } else { Marked::No },
            usage: self.usage(),
        }
    }

    /// What the last attempt that said so used.
    fn usage(&self) -> Option<&Usage> {
        self.row.attempts.iter().rev().find_map(|attempt| attempt.usage.as_ref())
    }
}

/// A name as a terminal may show it.
pub(super) fn shown(name: &str) -> String {
    show::terminal_str(name).into_string()
}
