//! Finds the reasoning that some models write before their answer.

use proem_text::first_bytes;

/// Elements that hold reasoning (the tags of DeepSeek, Qwen, Magistral, Granite and prompts that ask for a scratchpad).
const ELEMENTS: [&str; 9] =
    ["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad", "seed:think"];

/// Those of them that close each other.
const THOUGHTS: [&str; 4] = ["think", "thinking", "thought", "thoughts"];

/// How the tags of such elements are written: what opens one, what closes one, and their ends (Magistral writes
/// brackets, Kimi triangles).
const TAGS: [TagSpelling; 3] = [
    TagSpelling { open: "<", close: "</", end: ">" },
    TagSpelling { open: "[", close: "[/", end: "]" },
    TagSpelling { open: "◁", close: "◁/", end: "▷" },
];

#[derive(Debug, Clone, Copy)]
struct TagSpelling {
    open: &'static str,
    close: &'static str,
    end: &'static str,
}

/// The kind of mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// It starts within the part that was searched.
    Block,
    /// It started earlier.
    End,
}

/// A mark of reasoning in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundReasoning {
    pub(super) kind: Reasoning,
    /// The start of its mark.
    pub(super) start: usize,
    /// The end of the reasoning.
    pub(super) end: usize,
}

/// The first mark of reasoning that starts in `text` at `until` at the latest.
pub(super) fn next_reasoning(text: &str, until: usize) -> Option<FoundReasoning> {
    let part = first_bytes(text, until.saturating_add(3));
    part.match_indices(['<', '[', '◁']).find_map(|(at, _)| reasoning_at(text, at))
}

fn reasoning_at(text: &str, at: usize) -> Option<FoundReasoning> {
    let tag = text.get(at..)?;
    let spelling = TAGS.into_iter().find(|spelling| tag.starts_with(spelling.open))?;
    let (closes, rest) = match tag.strip_prefix(spelling.close) {
        Some(rest) => (true, rest),
        None => (false, tag.strip_prefix(spelling.open)?),
    };
    let name = ELEMENTS.iter().copied().find(|element| {
        rest.get(..element.len()).is_some_and(|start| start.eq_ignore_ascii_case(element))
            && rest.get(element.len()..).is_some_and(|rest| rest.starts_with(spelling.end))
    })?;
    let head = if closes { spelling.close } else { spelling.open };
    let after = at.saturating_add(head.len()).saturating_add(name.len()).saturating_add(spelling.end.len());
    if closes {
        return Some(FoundReasoning { kind: Reasoning::End, start: at, end: after });
    }
    // Reasoning that never ends is all that was written.
    let end = closing_tag(text.get(after..)?, name, spelling).map_or(text.len(), |len| after.saturating_add(len));
    Some(FoundReasoning { kind: Reasoning::Block, start: at, end })
}

/// The end of the first closing tag of `name` in `text`, or of a name that a small model takes for it.
fn closing_tag(text: &str, name: &str, spelling: TagSpelling) -> Option<usize> {
    let names = if THOUGHTS.contains(&name) { THOUGHTS.as_slice() } else { &[name] };
    text.match_indices(spelling.close).find_map(|(at, head)| {
        let name_at = at.saturating_add(head.len());
        let rest = text.get(name_at..)?;
        let closes = |name: &&&str| {
            rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
                && rest.get(name.len()..).is_some_and(|rest| rest.starts_with(spelling.end))
        };
        let name = names.iter().find(closes)?;
        Some(name_at.saturating_add(name.len()).saturating_add(spelling.end.len()))
    })
}
