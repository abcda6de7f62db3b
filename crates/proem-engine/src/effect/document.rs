//! The table of transitions as people read it: the generated part of `docs/design/0014-effects.md`.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use super::{
    event::ActionEventKind,
    state::{ActionState, NAMES},
    table::{ApprovalChange, TRANSITIONS, TransitionRule},
};

/// The beginning of the page's generated part.
pub const BEGIN: &str = "<!-- generated from proem_engine::effect by `cargo xtask docs`: begin -->";
/// The end of the page's generated part.
pub const END: &str = "<!-- end -->";

/// The generated part: the diagram, the states, the events and the transitions.
#[must_use]
pub fn markdown() -> String {
    let mut out = format!("{}\n", diagram());
    push_document_line(&mut out, format_args!("### States\n\n| state | what it means | ends |\n|---|---|---|"));
    for state in ActionState::ALL {
        let ends = if state.is_end() { "yes" } else { "" };
        push_document_line(&mut out, format_args!("| `{}` | {} | {ends} |", state.as_str(), state.meaning()));
    }
    push_document_line(
        &mut out,
        format_args!("\n### Events\n\n| event | what happens | who causes it | epoch |\n|---|---|---|---|"),
    );
    for event in ActionEventKind::ALL {
        let (authority, epoch) = (event.authority().as_str(), event.epoch().as_str());
        push_document_line(
            &mut out,
            format_args!("| `{}` | {} | {authority} | {epoch} |", event.as_str(), event.meaning()),
        );
    }
    push_document_line(
        &mut out,
        format_args!(
            "\n### Transitions\n\nForm {NAMES} of the names. Each is refused unless the version is the one that it was decided on.\n\n\
             | from | event | to | what has to hold | approval | what is recorded beside |\n|---|---|---|---|---|---|"
        ),
    );
    TRANSITIONS.iter().for_each(|rule| push_transition_row(&mut out, rule));
    out
}

fn push_transition_row(out: &mut String, rule: &TransitionRule) {
    let requires: Vec<&str> = rule.requires.iter().map(|requirement| requirement.meaning()).collect();
    let approval = match rule.approval {
        ApprovalChange::Absent => "",
        ApprovalChange::Given => "given",
        ApprovalChange::Void => "void",
        ApprovalChange::Spent => "spent",
    };
    let (from, on, to) = (rule.from.as_str(), rule.on.as_str(), rule.to.as_str());
    push_document_line(
        out,
        format_args!("| `{from}` | `{on}` | `{to}` | {} | {approval} | {} |", requires.join("; "), rule.records),
    );
}

/// The states and what leads from one to another, in Mermaid.
fn diagram() -> String {
    let mut arrows: BTreeMap<(ActionState, ActionState), Vec<&str>> = BTreeMap::new();
    for rule in TRANSITIONS {
        arrows.entry((rule.from, rule.to)).or_default().push(rule.on.as_str());
    }
    let mut out = String::from("```mermaid\nstateDiagram-v2\n    [*] --> proposed\n");
    for ((from, to), events) in arrows {
        push_document_line(&mut out, format_args!("    {} --> {} : {}", from.as_str(), to.as_str(), events.join(", ")));
    }
    for state in ActionState::ALL.into_iter().filter(|state| state.is_end()) {
        push_document_line(&mut out, format_args!("    {} --> [*]", state.as_str()));
    }
    out.push_str("```\n");
    out
}

fn push_document_line(out: &mut String, line: core::fmt::Arguments<'_>) {
    // Writing into a string can't fail.
    _ = writeln!(out, "{line}");
}
