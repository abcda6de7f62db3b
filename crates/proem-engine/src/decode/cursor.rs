//! A lenient reader's place in its text, and its result so far.
//!
//! Reading lists and objects is in `reader`, texts between quotes in `strings`, and values without quotes in `scalar`.

use proem_text::Span;

use super::repairs::Repairs;
use super::tree::{Id, JsonNode, JsonNodeKind};

/// A place in a text, and what was read up to there.
#[derive(Debug)]
pub(super) struct LenientReader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) depth: usize,
    pub(super) open_lists: usize,
    pub(super) open_objects: usize,
    pub(super) nodes: Vec<JsonNode>,
    pub(super) repairs: Repairs,
    /// How far was looked, which is further than [`Self::at`] if something was given back.
    pub(super) looked: usize,
    pub(super) cut: Option<usize>,
    /// Whether a text may have swallowed what is behind it.
    pub(super) torn: bool,
    /// Whether the last text ends with brackets that would close all that is open.
    pub(super) closed_inside: bool,
}

impl<'t> LenientReader<'t> {
    /// A reader of what `span` covers.
    pub(super) fn new(text: &'t str, span: Span) -> Self {
        Self {
            text,
            at: span.start,
            end: span.end,
            depth: 0,
            open_lists: 0,
            open_objects: 0,
            nodes: Vec::new(),
            repairs: Repairs::default(),
            looked: span.start,
            cut: None,
            torn: false,
            closed_inside: false,
        }
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Notes that the text ends inside of what started at `start`.
    pub(super) fn cut(&mut self, start: usize) {
        self.cut.get_or_insert(start);
    }

    /// A new node from `start` to here.
    pub(super) fn add(&mut self, kind: JsonNodeKind, start: usize) -> Id {
        self.nodes.push(JsonNode { kind, span: Span::new(start, self.at) });
        self.nodes.len().saturating_sub(1)
    }

    /// Whether only white space is before this place in its line.
    pub(super) fn starts_line(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default().trim_end_matches([' ', '\t', '\r']);
        before.is_empty() || before.ends_with('\n')
    }

    /// Whether a fence starts here, behind white space.
    pub(super) fn is_fence(&self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t']);
        rest.starts_with("```") || rest.starts_with("~~~")
    }
}
