//! `proem lisp agent FILE --preview`: what the model would read, and how many tokens each part has.

use std::process::ExitCode;

use proem_agents::lisp::prompt::PreviewPart;
use proem_app::lisp::mission::{Mission, MissionPreview};
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::failure::CommandFailure;
use crate::ui;

/// Prints the first request of a mission to standard output and its account to standard error.
pub(super) fn print_preview(mission: &Mission, as_json: bool) -> Result<ExitCode, CommandFailure> {
    let MissionPreview { parts, prepared } = mission.preview()?;
    for noted in &prepared.noted {
        ui::print_note(&format!("guard: {}", noted.in_words()));
    }
    let tokens = prepared.request.assembly.tokens();
    if as_json {
        let prompt = &prepared.request.assembly.prompt;
        let output = PreviewOutput {
            agent: &mission.definition().name,
            prompt: format!("{}/{}", prompt.agent, prompt.name),
            version: &prompt.version,
            model: &prepared.request.model,
            parts: parts.iter().map(PreviewPartOutput::new).collect(),
            tokens,
            cache: prepared.plan.sentence(),
        };
        ui::print_json_document(&json::compact(&json!(output)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: String = parts.iter().map(|part| part.text.as_str()).collect();
    let lines: String = text.trim_end().lines().map(|line| format!("{}\n", ui::terminal_safe(line))).collect();
    ui::print_listing(&lines)?;
    let widest = parts.iter().map(|part| part.heading.len()).max().unwrap_or(0);
    let mut lines = String::from("\n");
    for PreviewPart { heading, tokens, figure, .. } in &parts {
        let figure = figure.map_or_else(String::new, |figure| format!(", specified about {figure}"));
        lines.push_str(&format!("{heading:widest$}  {tokens:>6} tokens{figure}\n"));
    }
    for section in &prepared.report.sections {
        let words = section.state.cut_in_words(&section.name, section.reason.as_deref());
        words.iter().for_each(|words| lines.push_str(&format!("{words}\n")));
    }
    lines.push_str(&format!("{:widest$}  {tokens:>6} tokens; {}\n", "All", prepared.plan.sentence()));
    ui::aside(&lines);
    Ok(ExitCode::SUCCESS)
}

/// The first request of a mission.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PreviewOutput<'p> {
    /// The agent's name.
    agent: &'p str,
    /// `agent/name` of its prompt.
    prompt: String,
    /// The version of its prompt.
    version: &'p str,
    /// The model that is asked.
    model: &'p str,
    parts: Vec<PreviewPartOutput<'p>>,
    /// The tokens of all parts.
    tokens: usize,
    /// The expectation of the provider's cache, in a sentence.
    cache: String,
}

/// A part of a request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PreviewPartOutput<'p> {
    heading: &'static str,
    /// Its text as it is sent.
    text: &'p str,
    tokens: usize,
    /// The tokens that the specification names for it. Null if it names none.
    specified_tokens: Option<usize>,
}

impl<'p> PreviewPartOutput<'p> {
    fn new(part: &'p PreviewPart) -> Self {
        Self { heading: part.heading, text: &part.text, tokens: part.tokens, specified_tokens: part.figure }
    }
}
