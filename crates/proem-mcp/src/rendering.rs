//! A prompt of the book, rendered as it would be sent.
//!
//! Invariants: only prompts of the book are rendered, never a file that a client names. Inputs are text from outside:
//! they are contained, and a prompt's declaration that one is trusted doesn't hold for them.

use proem_agents::prompt_call::{InputAuthor, PreparedRequest};
use proem_app::Error;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;
use proem_engine::assembly::PlacedSection;
use proem_engine::message::Role;
use proem_engine::ordered_json::OrderedJson;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::McpSetting;

/// A prompt with its inputs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenderedPrompt {
    #[serde(flatten)]
    identity: RenderedIdentity,
    /// The model whose window and tokeniser counted.
    model: String,
    /// The text of the system message.
    pub(crate) system: String,
    /// The texts of the user's message, with inputs between delimiters.
    pub(crate) user: String,
    /// Its sections, in the request's order.
    sections: Vec<RenderedSection>,
    /// The tokens of all sections, by the model's counter.
    tokens: usize,
    /// The cuts of limits and the guard's effects, a sentence each.
    notes: Vec<String>,
}

/// The prompt that was rendered.
#[derive(Debug, Serialize, JsonSchema)]
struct RenderedIdentity {
    /// The prompt, as `agent/name`.
    prompt: String,
    /// Three numbers; the version in use if none is given.
    version: String,
    /// The hash of everything that it was made of.
    closure: String,
}

/// One part of the prompt, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
struct RenderedSection {
    /// As the prompt file names it.
    name: String,
    /// `system`, `user` or `model`.
    role: &'static str,
    /// `constitution`, `rules`, `trusted`, `untrusted` or `task`.
    trust: &'static str,
    /// Its tokens, by the model's counter.
    tokens: usize,
}

/// The request that a prompt and its inputs make, with the model that it is made for.
#[derive(Debug)]
pub(crate) struct PreparedPrompt {
    /// The request with its report.
    pub(crate) prepared: PreparedRequest,
    model: String,
}

/// Makes the request that `proem run` would send. Nothing is sent, and no key is read.
///
/// # Errors
///
/// If the book has no such prompt, or the inputs don't suit it.
pub(crate) fn prepare_prompt(
    setting: &McpSetting,
    prompt: &str,
    inputs: Json,
    model: Option<String>,
) -> Result<PreparedPrompt, Error> {
    let mut project = OpenProject::open(&setting.root, &setting.places, BookReading::Trusted)?;
    let name = prompt.split('@').next().unwrap_or_default();
    if !project.book()?.prompts().contains(name) {
        return Err(Error::invalid("the book has no prompt of that name; `prompts/list` lists them"));
    }
    let options = RunOptions {
        model,
        given: InputAuthor::FromOutside,
        carriage: Carriage::Nobody,
        record: RecordChoice::No,
        ..RunOptions::of(prompt.to_owned())
    };
    let run = RunSetting::new(&options, &mut project)?;
    run.takes_inputs_from_callers()?;
    let prepared = run.prepare(&OrderedJson::from(inputs))?;
    let model = prepared.request.model.clone();
    Ok(PreparedPrompt { prepared, model })
}

/// Renders a prompt with inputs.
///
/// # Errors
///
/// Those of [`prepare_prompt`].
pub(crate) fn render_prompt(
    setting: &McpSetting,
    prompt: &str,
    inputs: Json,
    model: Option<String>,
) -> Result<RenderedPrompt, Error> {
    let PreparedPrompt { prepared, model } = prepare_prompt(setting, prompt, inputs, model)?;
    let assembly = &prepared.request.assembly;
    let not_system = |section: &&PlacedSection| section.role != Role::System;
    Ok(RenderedPrompt {
        identity: RenderedIdentity {
            prompt: format!("{}/{}", assembly.prompt.agent, assembly.prompt.name),
            version: assembly.prompt.version.clone(),
            closure: assembly.prompt.closure.clone(),
        },
        model,
        system: assembly.system(),
        user: assembly.sections.iter().filter(not_system).map(|section| section.text.as_str()).collect(),
        sections: assembly.sections.iter().map(RenderedSection::new).collect(),
        tokens: assembly.tokens(),
        notes: request_notes(&prepared),
    })
}

/// The cuts of limits, and the guard's effects.
pub(crate) fn request_notes(prepared: &PreparedRequest) -> Vec<String> {
    let guard = prepared.noted.iter().map(|noted| format!("guard: {}", noted.in_words()));
    guard.chain(prepared.report.cuts()).collect()
}

impl RenderedPrompt {
    /// The prompt in a sentence.
    pub(crate) fn summary(&self) -> String {
        let Self { identity: RenderedIdentity { prompt, version, .. }, tokens, notes, .. } = self;
        let notes = if notes.is_empty() { String::new() } else { format!(" Notes: {}.", notes.join("; ")) };
        format!("{prompt}@{version}, {tokens} tokens.{notes}")
    }
}

impl RenderedSection {
    fn new(section: &PlacedSection) -> Self {
        let role = match section.role {
            Role::System => "system",
            Role::User => "user",
            Role::Model => "model",
        };
        Self { name: section.name.clone(), role, trust: section.trust.as_str(), tokens: section.tokens }
    }
}
