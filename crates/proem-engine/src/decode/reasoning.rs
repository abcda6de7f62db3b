//! Finds the reasoning that some models write before their answer.

/// Elements that hold reasoning (the tags of DeepSeek, Qwen, Magistral, Granite and prompts that ask for a scratchpad).
const ELEMENTS: [&str; 9] =
    ["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad", "seed:think"];

/// Where reasoning is found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// It starts within the part that was searched; here is its end.
    Block(usize),
    /// It started earlier; here is its end.
    End(usize),
}

/// The first mark of reasoning within `part`, which `whole` begins with.
pub(super) fn next_reasoning(part: &str, whole: &str) -> Option<Reasoning> {
    part.match_indices('<').find_map(|(at, _)| {
        let tag = whole.get(at..)?;
        let (closes, name) = match tag.get(1..)?.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, tag.get(1..)?),
        };
        let name = ELEMENTS.iter().copied().find(|element| {
            name.get(..element.len()).is_some_and(|start| start.eq_ignore_ascii_case(element))
                && name.get(element.len()..).is_some_and(|rest| rest.starts_with('>'))
        })?;
        let after = at.saturating_add(name.len()).saturating_add(if closes { 3 } else { 2 });
        if closes {
            return Some(Reasoning::End(after));
        }
        // Reasoning that never ends is all that was written.
        let end = closing_tag(whole.get(after..)?, name).map_or(whole.len(), |len| after.saturating_add(len));
        Some(Reasoning::Block(end))
    })
}

/// The end of the first closing tag of `name` in `text`.
pub(super) fn closing_tag(text: &str, name: &str) -> Option<usize> {
    text.match_indices("</").find_map(|(at, _)| {
        let rest = text.get(at.saturating_add(2)..)?;
        let is_name = rest.get(..name.len())?.eq_ignore_ascii_case(name) && rest.get(name.len()..)?.starts_with('>');
        is_name.then(|| at.saturating_add(name.len()).saturating_add(3))
    })
}
