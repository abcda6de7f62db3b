//! Texts that an automatic action may carry whatever its request held: literal words and typed slots.

use core::fmt;

/// The most bytes of what is in a slot.
const MAX_SLOT: usize = 64;

/// A text with typed slots, as in `Moved to {date}: see {id}`.
///
/// A slot is `{id}` (letters, digits and `-_.`), `{number}` (digits with `.`, `,` and `%`) or `{date}`
/// (`YYYY-MM-DD`). None of them holds a sentence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextTemplate {
    written: String,
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum TemplatePiece {
    Words(String),
    Slot(SlotKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SlotKind {
    Id,
    Number,
    Date,
}

/// Why a text is no template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoTemplate;

impl fmt::Display for NoTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a template has words and the slots `{id}`, `{number}` and `{date}`, with words between two slots")
    }
}

impl TextTemplate {
    /// Reads a template. Two slots need words between them, so that there is one way to read a text by it.
    pub(super) fn parse(written: &str) -> Result<Self, NoTemplate> {
        let mut pieces = Vec::new();
        let mut rest = written;
        while let Some((words, behind)) = rest.split_once('{') {
            let (slot, after) = behind.split_once('}').ok_or(NoTemplate)?;
            let kind = match slot {
                "id" => SlotKind::Id,
                "number" => SlotKind::Number,
                "date" => SlotKind::Date,
                _ => return Err(NoTemplate),
            };
            if words.contains('}') || (words.is_empty() && !pieces.is_empty()) {
                return Err(NoTemplate);
            }
            pieces.push(TemplatePiece::Words(words.to_owned()));
            pieces.push(TemplatePiece::Slot(kind));
            rest = after;
        }
        if rest.contains('}') || written.is_empty() {
            return Err(NoTemplate);
        }
        pieces.push(TemplatePiece::Words(rest.to_owned()));
        Ok(Self { written: written.to_owned(), pieces })
    }

    /// The template as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether the text is the template with something of the right type in each slot.
    pub(super) fn matches(&self, text: &str) -> bool {
        pieces_match(&self.pieces, text)
    }
}

fn pieces_match(pieces: &[TemplatePiece], text: &str) -> bool {
    let Some((piece, pieces)) = pieces.split_first() else { return text.is_empty() };
    match piece {
        TemplatePiece::Words(words) => text.strip_prefix(words.as_str()).is_some_and(|rest| pieces_match(pieces, rest)),
        TemplatePiece::Slot(kind) => {
            // The next words end the slot where they first are. A slot's letters are few enough that none is cut.
            let next = match pieces.first() {
                Some(TemplatePiece::Words(words)) if !words.is_empty() => text.find(words.as_str()),
                _ => Some(text.len()),
            };
            let parts = next.and_then(|at| text.split_at_checked(at));
            parts.is_some_and(|(value, rest)| kind.holds(value) && pieces_match(pieces, rest))
        }
    }
}

impl SlotKind {
    fn holds(self, value: &str) -> bool {
        let all = |is: fn(u8) -> bool| value.bytes().all(is);
        let is_bounded = !value.is_empty() && value.len() <= MAX_SLOT;
        is_bounded
            && match self {
                Self::Id => all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
                Self::Number => {
                    all(|byte| byte.is_ascii_digit() || b".,%".contains(&byte))
                        && value.starts_with(|c: char| c.is_ascii_digit())
                }
                Self::Date => {
                    value.len() == 10
                        && value
                            .bytes()
                            .enumerate()
                            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_its_type_and_no_sentence() {
        let check = |template: &str, text: &str, expected: bool| {
            assert_eq!(TextTemplate::parse(template).unwrap().matches(text), expected, "{template} {text}");
        };
        check("Moved to {date}: see {id}.", "Moved to 2026-11-23: see RAID-7.", true);
        check("Moved to {date}: see {id}.", "Moved to tomorrow: see RAID-7.", false);
        check("Moved to {date}: see {id}.", "Moved to 2026-11-23: see RAID-7 and more.", false);
        check("{number} done", "85% done", true);
        check("{number} done", "done", false);
        check("See {id}", "See the whole log", false);
        check("as it is", "as it is", true);
    }

    #[test]
    fn two_slots_need_words_between_them() {
        let check = |template: &str| assert!(TextTemplate::parse(template).is_err(), "{template}");
        check("{id}{number}");
        check("{text}");
        check("{id");
        check("id}");
        check("");
    }
}
