//! `proem lisp agent FILE --preview`: what the model would read, and how many tokens each part has.

use std::process::ExitCode;

use proem_agents::lisp::prompt::PreviewPart;
use proem_app::lisp::mission::{Mission, MissionPreview};
use proem_text::json;
use serde_json::{Value as Json, json};

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
        let parts: Vec<Json> = parts.iter().map(part_json).collect();
        let document = json!({
            "agent": mission.definition().name,
            "prompt": format!("{}/{}", prepared.request.assembly.prompt.agent, prepared.request.assembly.prompt.name),
            "version": prepared.request.assembly.prompt.version,
            "model": prepared.request.model,
            "parts": parts,
            "tokens": tokens,
            "cache": prepared.plan.sentence(),
        });
        ui::print_json_document(&json::compact(&document))?;
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

fn part_json(part: &PreviewPart) -> Json {
    json!({ "heading": part.heading, "text": part.text, "tokens": part.tokens, "specifiedTokens": part.figure })
}
