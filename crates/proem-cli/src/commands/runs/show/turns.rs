//! The turns of a mission, as a tree: programs, what they printed, their calls, and what came of them.
//!
//! Programs are a model's, and the rest may be an attacker's: each line is escaped and cut, behind a mark of ours.

use proem_agents::lisp::turns::record::{TurnCall, TurnKind, TurnRecord};
use proem_guard::show;
use serde_json::{Value as Json, json};

use crate::ui::{BOLD, DIM, GREEN, RED, YELLOW, count_with_noun, cut_to_width, style_text, width};

/// The cells of a line of somebody's text.
const CELLS: usize = 64;
/// The lines of a program that are shown unless all are asked for.
const LINES: usize = 8;

/// The tree. Empty for a run without turns.
pub(super) fn turn_tree(turns: &[TurnRecord], full: bool) -> String {
    if turns.is_empty() {
        return String::new();
    }
    let number = count_with_noun(u64::try_from(turns.len()).unwrap_or(u64::MAX), "turn");
    let mut out = format!("\n{}\n", style_text(BOLD, &number));
    for (index, turn) in turns.iter().enumerate() {
        push_mission_turn(turn, (index.saturating_add(1) == turns.len(), full), &mut out);
    }
    out
}

fn push_mission_turn(turn: &TurnRecord, (is_last, full): (bool, bool), out: &mut String) {
    let (fork, stem) = if is_last { ("└─", "  ") } else { ("├─", "│ ") };
    let style = match (turn.kind, &turn.problem) {
        (TurnKind::Ran, None) => GREEN,
        (TurnKind::Ran, Some(_)) => RED,
        _ => YELLOW,
    };
    let took = turn.ended.0.saturating_sub(turn.began.0);
    let kind = style_text(style, turn.kind.as_str());
    out.push_str(&format!("{fork} turn {}  {kind}  {}\n", turn.number, style_text(DIM, &format!("{took} ms"))));
    let mut leaf = |name: &str, text: &str| {
        let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        let most = if full { lines.len() } else { LINES };
        for (at, line) in lines.iter().take(most).enumerate() {
            let name = if at == 0 { name } else { "" };
            let line = show::terminal_str(line).into_string();
            let line = if full { line } else { cut_to_width(&line, CELLS) };
            out.push_str(&format!("{stem}   {}  {line}\n", style_text(DIM, &format!("{name:8}"))));
        }
        if lines.len() > most {
            let left = u64::try_from(lines.len().saturating_sub(most)).unwrap_or(u64::MAX);
            let more = format!("{}; --full shows all", count_with_noun(left, "more line"));
            out.push_str(&format!("{stem}   {:8}  {}\n", "", style_text(DIM, &more)));
        }
    };
    leaf("program", &turn.program);
    for call in &turn.calls {
        leaf("call", &call_words(call));
    }
    leaf("printed", &turn.printed);
    if let Some(result) = &turn.result {
        leaf("value", result);
    }
    if let Some(problem) = &turn.problem {
        let line = problem.place.map_or_else(String::new, |(line, _)| format!(", line {line}"));
        // Its end may be the remedy.
        let words = format!("{}{line}: {}", problem.reason, problem.message);
        let lines = words.lines().flat_map(|line| width::wrap_at_words(&show::terminal_str(line).into_string(), CELLS));
        leaf("problem", &lines.collect::<Vec<_>>().join("\n"));
    }
}

fn call_words(call: &TurnCall) -> String {
    let outcome = call.outcome.as_deref().unwrap_or("under way");
    let line = |text: &str| text.replace('\n', " ");
    format!("{} {} {outcome} {}", call.tool, line(&call.arguments), line(&call.result))
}

/// The turns for programs.
pub(super) fn turn_rows(turns: &[TurnRecord]) -> Vec<Json> {
    turns.iter().map(|turn| json!(turn)).collect()
}
