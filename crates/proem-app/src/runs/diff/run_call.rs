//! A recorded call as a cache saw it.

use proem_engine::cache::miss::{CacheMarking, CacheRequest, CacheSection};
use proem_engine::call::Usage;
use proem_engine::providers::{CacheControl, Model};
use proem_engine::run::Time;
use proem_store::query::{AttemptRow, CallRow, RunDetail};
use proem_store::record::SectionRow;
use proem_text::json;
use serde_json::Value as Json;

/// The parts of a body before all sections, in either protocol.
pub(super) const BEFORE: [&str; 3] = ["tools", "response_format", "output_config"];

/// A call of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunCall<'d> {
    /// The run.
    pub run: &'d RunDetail,
    /// Its place among the run's calls, from 0.
    pub number: usize,
    /// Its row.
    pub row: &'d CallRow,
}

/// The prompt that a call was made from, as `agent/name`.
#[must_use]
pub fn call_prompt_name(call: &CallRow) -> String {
    format!("{}/{}", call.prompt.agent, call.prompt.name)
}

/// The texts that [`RunCall`] borrows of a call.
#[derive(Debug)]
pub struct CallTexts<'d> {
    sections: Vec<CacheSection<'d>>,
    prompt: String,
    tools: Option<String>,
}

impl<'d> RunCall<'d> {
    /// Its run and, where there are several, its number: `3f2a9c01:1`.
    #[must_use]
    pub fn label(&self) -> String {
        let id = self.run.row.id.short();
        if self.run.calls.len() > 1 { format!("{id}:{}", self.number) } else { id.to_owned() }
    }

    /// Whether a provider may have seen it.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.row.attempts.iter().any(|attempt| attempt.state != "unsent")
    }

    /// When the attempt was made that used something, or else the last one.
    #[must_use]
    pub fn at(&self) -> Time {
        let attempt = self.reported().or_else(|| self.row.attempts.last());
        attempt.map_or(self.row.at, |attempt| attempt.at)
    }

    /// The tokens that are before all sections, by our count: the tools with their schemas, and the request's own
    /// frame.
    #[must_use]
    pub fn tokens_before(&self) -> u64 {
        let named = self.row.sections.iter().fold(0_u64, |sum, section| sum.saturating_add(section.tokens));
        self.row.tokens.saturating_sub(named)
    }

    /// The sections, with those up to the last boundary as stable.
    #[must_use]
    pub fn parts(&self) -> CallTexts<'d> {
        let sections = &self.row.sections;
        let stable = sections.iter().rposition(|section| section.boundary).map_or(0, |last| last.saturating_add(1));
        let part = |(index, section): (usize, &'d SectionRow)| CacheSection {
            name: &section.name,
            hash: &section.text,
            tokens: section.tokens,
            stable: index < stable,
        };
        let sections = sections.iter().enumerate().map(part).collect();
        CallTexts { sections, prompt: call_prompt_name(self.row), tools: self.tools() }
    }

    /// The part before them, as it was sent, with long texts as hashes. `None` if it is not kept.
    fn tools(&self) -> Option<String> {
        let body = self.row.pieces.as_object()?;
        let fields = BEFORE.iter().filter_map(|key| Some(format!("{key}={}", json::compact(body.get(*key)?))));
        Some(fields.collect::<Vec<_>>().join(" "))
    }

    pub(super) fn seen<'s>(&'s self, parts: &'s CallTexts<'s>, model: Option<&Model>) -> CacheRequest<'s> {
        let has_breakpoints =
            self.row.plan.get("breakpoints").and_then(Json::as_array).is_some_and(|all| !all.is_empty());
        let decides_itself = model.is_some_and(|model| model.caching.mode == CacheControl::Implicit);
        let marked = if !self.is_sent() {
            CacheMarking::Unsent
        } else if has_breakpoints || decides_itself {
            CacheMarking::Yes
        } else {
            CacheMarking::No
        };
        CacheRequest {
            at: self.at(),
            prompt: &parts.prompt,
            model: &self.row.model,
            endpoint: &self.row.endpoint,
            tools: parts.tools.as_deref(),
            sections: &parts.sections,
            stable_tokens: self.row.stable_tokens,
            marked,
            usage: self.usage(),
        }
    }

    /// The usage of the last attempt that reported it.
    #[must_use]
    pub fn usage(&self) -> Option<&'d Usage> {
        self.reported()?.usage.as_ref()
    }

    fn reported(&self) -> Option<&'d AttemptRow> {
        self.row.attempts.iter().rev().find(|attempt| attempt.usage.is_some())
    }
}

impl CallTexts<'_> {
    /// Whether what is before the sections is kept.
    #[must_use]
    pub const fn has_tools(&self) -> bool {
        self.tools.is_some()
    }
}
