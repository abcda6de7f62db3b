//! An assembly as providers see it: turns of blocks of text, pictures, calls and their results.

use proem_engine::assembly::{Assembly, PlacedSection, SectionPart};
use proem_engine::cache::CachePlan;
use proem_engine::message::Role;

use crate::Error;

/// Consecutive sections of one role.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageTurn {
    pub(crate) role: Role,
    /// At least one.
    pub(crate) blocks: Vec<TurnBlock>,
}

/// Consecutive sections of words without a breakpoint between them, or one that is no words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TurnBlock {
    /// Their text, never only white space. Of a part, what is in it.
    pub(crate) text: String,
    /// Its kind, if it is no words.
    pub(crate) part: Option<SectionPart>,
    pub(crate) end: BlockEnd,
}

impl TurnBlock {
    /// Whether it is the result of a call.
    pub(crate) const fn is_result(&self) -> bool {
        matches!(self.part, Some(SectionPart::CallResult { .. }))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    Plain,
    Breakpoint,
}

/// Joins sections into as few blocks as the plan's breakpoints allow.
///
/// A section of white space only says nothing and is left out, because Anthropic refuses such a block. A breakpoint
/// after it moves to the block before.
///
/// # Errors
///
/// [`Error::NoUserMessage`] if the user doesn't speak first after the operator.
pub(crate) fn turns(assembly: &Assembly, plan: &CachePlan) -> Result<Vec<MessageTurn>, Error> {
    let mut turns: Vec<MessageTurn> = Vec::new();
    for (index, section) in assembly.sections.iter().enumerate() {
        if section.part.is_some() || !section.text.trim().is_empty() {
            add_to_turns(&mut turns, section);
        }
        let last = turns.last_mut().and_then(|turn| turn.blocks.last_mut());
        if let Some(block) = last.filter(|_| plan.breakpoints.iter().any(|breakpoint| breakpoint.after == index)) {
            block.end = BlockEnd::Breakpoint;
        }
    }
    match turns.iter().find(|turn| turn.role != Role::System) {
        Some(turn) if turn.role == Role::User => Ok(turns),
        _ => Err(Error::NoUserMessage),
    }
}

fn add_to_turns(turns: &mut Vec<MessageTurn>, section: &PlacedSection) {
    let block = || TurnBlock { text: section.text.clone(), part: section.part.clone(), end: BlockEnd::Plain };
    match turns.last_mut() {
        Some(turn) if turn.role == section.role => match turn.blocks.last_mut() {
            Some(last) if last.end == BlockEnd::Plain && last.part.is_none() && section.part.is_none() => {
                last.text.push_str(&section.text);
            }
            _ => turn.blocks.push(block()),
        },
        _ => turns.push(MessageTurn { role: section.role, blocks: vec![block()] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Sections as `role:text`, `|` after a breakpoint. Blocks the same way, `/` between turns.
    #[track_caller]
    fn check(sections: &str, expected: &str) {
        let (assembly, plan) = sample::parse_sample(sections);
        let show = |turn: MessageTurn| {
            let blocks = turn.blocks.into_iter().map(|block| match block.end {
                BlockEnd::Plain => block.text,
                BlockEnd::Breakpoint => block.text + "|",
            });
            format!("{}:{}", turn.role.as_str(), blocks.collect::<Vec<_>>().join("+"))
        };
        let found = turns(&assembly, &plan).map(|turns| turns.into_iter().map(show).collect::<Vec<_>>().join(" / "));
        assert_eq!(found.unwrap_or_else(|error| format!("{error:?}")), expected, "{sections:?}");
    }

    #[test]
    fn sections_are_joined_up_to_breakpoints() {
        check("system:a system:b user:c user:d", "system:ab / user:cd");
        check("system:a| system:b user:c| user:d", "system:a|+b / user:c|+d");
        check("system:a system:b| user:c|", "system:ab| / user:c|");
        check("user:a model:b user:c", "user:a / model:b / user:c");
    }

    #[test]
    fn white_space_is_left_out() {
        check("system:a system:_| system:b user:c", "system:a|+b / user:c");
        check("system:a user:_| user:c", "system:a| / user:c");
        check("system:_| user:_ user:c", "user:c");
        check("user:a user:_ user:c", "user:ac");
    }

    #[test]
    fn the_user_speaks_first() {
        check("", "NoUserMessage");
        check("system:a", "NoUserMessage");
        check("system:a user:_", "NoUserMessage");
        check("system:a model:b user:c", "NoUserMessage");
    }
}
