//! The calls of tools of a run, as a tree.
//!
//! Arguments and results may be an attacker's: each is JSON on one line, escaped and cut_to_width, behind a mark.

use proem_engine::run::{ToolLabels, ToolOutcome};
use proem_guard::show;
use proem_store::query::{CallRow, ToolCallRow};
use proem_store::record::{CallState, ToolCallState};
use serde_json::{Value as Json, json};

use super::RunView;
use crate::ui::{self, BOLD, DIM, GREEN, RED, YELLOW, count_with_noun, cut_to_width, style_text};
use proem_app::when;

/// The cells of a line of arguments or of a result, unless all of it is asked for.
const CELLS: usize = 64;
/// The lines of a failed tool's own words, unless all of them are asked for.
const LINES: usize = 3;

/// The tree. Empty for a run without calls of tools.
pub(super) fn tree(shown: &RunView<'_>, full: bool) -> String {
    let calls = &shown.run.tools;
    if calls.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n{}\n",
        style_text(BOLD, &count_with_noun(u64::try_from(calls.len()).unwrap_or(u64::MAX), "tool call"))
    );
    for (index, call) in calls.iter().enumerate() {
        let is_last = index.saturating_add(1) == calls.len();
        branch(shown, call, (is_last, full), &mut out);
    }
    out
}

fn branch(shown: &RunView<'_>, call: &ToolCallRow, (is_last, full): (bool, bool), out: &mut String) {
    let (fork, stem) = if is_last { ("└─", "  ") } else { ("├─", "│ ") };
    let style = match call.state {
        ToolCallState::Answered => GREEN,
        ToolCallState::Failed | ToolCallState::Denied => RED,
        ToolCallState::Pending | ToolCallState::Unknown => YELLOW,
    };
    let attempts = if call.attempts > 1 {
        format!(", {}", count_with_noun(call.attempts.into(), "attempt"))
    } else {
        String::new()
    };
    let state = style_text(style, state_words(call.state));
    let took = format!("{} ms{attempts}, {}", call.took_ms, call.power.as_str());
    out.push_str(&format!(
        "{fork} {} {}  {state}  {}\n",
        call.effect.0,
        cut_to_width(&call.tool, 40),
        style_text(DIM, &took)
    ));
    let mut leaf = |name: &str, text: &str| out.push_str(&format!("{stem}   {}  {text}\n", style_text(DIM, name)));
    if let Some(arguments) = shown.texts.get(&call.arguments) {
        leaf("arguments", &one_line_text(arguments, full));
    }
    leaf("from     ", &ui::terminal_safe(&label_sources(&call.labels)));
    let outcome = outcome(shown, call);
    match outcome.as_ref().map(ToolOutcome::own) {
        Some(ToolOutcome::Answered { result }) => leaf("result   ", &one_line_text(result, full)),
        Some(
            ToolOutcome::Failed { message, .. }
            | ToolOutcome::Denied { message }
            | ToolOutcome::Unknown { message, .. }
            | ToolOutcome::Unavailable { message, .. },
        ) => leaf("why      ", &one_line_text(message, full)),
        Some(ToolOutcome::OfAgent { .. }) | None => {}
    }
    for line in outcome.as_ref().map_or_else(Vec::new, |outcome| last_lines(outcome.wrote(), full)) {
        leaf("it wrote ", &one_line_text(line, full));
    }
    for (index, asked) in calls_within(shown, call) {
        leaf("model    ", &model_words(index, asked));
    }
    if let Some(child) = &call.child {
        leaf("run      ", child.short());
    }
}

/// The calls of models that a call of a tool made, with their places among all calls of the run.
fn calls_within<'r>(shown: &RunView<'r>, call: &ToolCallRow) -> impl Iterator<Item = (usize, &'r CallRow)> {
    let caller = Some(call.effect);
    shown.run.calls.iter().enumerate().filter(move |(_, asked)| asked.effect.caller() == caller)
}

/// A call of a model on one line.
fn model_words(index: usize, asked: &CallRow) -> String {
    let state = match asked.state {
        CallState::Answered => "answered",
        CallState::Failed => "failed",
        CallState::Pending => "under way",
        CallState::Unknown => "may have been made",
    };
    let attempts = u64::try_from(asked.attempts.len()).unwrap_or(u64::MAX);
    format!("call {index}, {}  {state}, {}", cut_to_width(&asked.model, 32), count_with_noun(attempts, "attempt"))
}

const fn state_words(state: ToolCallState) -> &'static str {
    match state {
        ToolCallState::Pending => "under way",
        ToolCallState::Answered => "answered",
        ToolCallState::Failed => "failed",
        ToolCallState::Denied => "not made",
        ToolCallState::Unknown => "may have happened",
    }
}

/// The origin of a call, in words.
fn label_sources(labels: &ToolLabels) -> String {
    let hidden = if labels.decision.secret { ", and something hidden" } else { "" };
    let named = |(name, label): (&String, &proem_engine::run::CallLabel)| {
        (label != &labels.decision).then(|| format!("; `{name}` from {}", label.in_words()))
    };
    let others: String = labels.arguments.iter().filter_map(named).collect();
    format!("{}{others}{hidden}", labels.decision.in_words())
}

/// The last lines of a tool's words, where a program says why it gave up.
fn last_lines(wrote: &str, full: bool) -> Vec<&str> {
    let lines: Vec<&str> = wrote.lines().filter(|line| !line.trim().is_empty()).collect();
    let earlier = if full { 0 } else { lines.len().saturating_sub(LINES) };
    lines.into_iter().skip(earlier).collect()
}

/// Somebody's text on one line.
fn one_line_text(text: &str, full: bool) -> String {
    let text = show::terminal_str(text).into_string();
    if full { text } else { cut_to_width(&text, CELLS) }
}

fn outcome(shown: &RunView<'_>, call: &ToolCallRow) -> Option<ToolOutcome> {
    let text = shown.texts.get(call.result.as_deref()?)?;
    serde_json::from_str(text).ok()
}

/// The calls for programs.
pub(super) fn tool_rows(shown: &RunView<'_>) -> Vec<Json> {
    let row = |call: &ToolCallRow| {
        json!({
            "effect": call.effect,
            "at": when::rfc3339(call.at),
            "tool": call.tool,
            "power": call.power,
            "key": call.key,
            "arguments": shown.texts.json(&call.arguments),
            "labels": call.labels,
            "state": call.state,
            "outcome": outcome(shown, call),
            "tookMs": call.took_ms,
            "attempts": call.attempts,
            "child": call.child,
            "calls": calls_within(shown, call).map(|(index, _)| index).collect::<Vec<_>>(),
        })
    };
    shown.run.tools.iter().map(row).collect()
}
