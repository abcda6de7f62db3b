//! How the white space of a prompt file reaches the request, and in which order its sections may be.

use serde_json::Value as Json;

use super::file::section::Section;
use super::header::{Diagnostics, expect_word};
use super::template::{Statement, Template};
use super::yaml::YamlNode;
use crate::message::Role;
use crate::section::{SectionGroup, SectionSpec, Trust};

/// The layout of a prompt, `proem.layout` in its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// Each section loses the white space around it and ends with a blank line.
    #[default]
    Spaced,
    /// Each section is sent byte for byte: only the one line break beside a marker belongs to the marker. Sections that
    /// no cache keeps are in the author's order, since an imported text may mix its words and its inputs.
    Exact,
}

const WORDS: [(&str, Layout); 2] = [("spaced", Layout::Spaced), ("exact", Layout::Exact)];

impl Layout {
    /// The text that the engine puts behind every section.
    pub(crate) const fn section_end(self) -> &'static str {
        match self {
            Self::Spaced => "\n",
            Self::Exact => "",
        }
    }

    /// Whether a section of the group `after` may follow one of the group `before`.
    ///
    /// Sections that a cache keeps come first in either layout, so that nothing volatile is above a boundary.
    pub(crate) fn allows(self, before: SectionGroup, after: SectionGroup) -> bool {
        before <= after || (self == Self::Exact && after >= SectionGroup::Capabilities)
    }
}

/// Reads `proem.layout`; without the key a file is spaced.
pub(crate) fn parse_layout(node: Option<&YamlNode>, problems: &mut Diagnostics) -> Layout {
    let node = node.filter(|node| node.to_json() != Json::Null);
    node.and_then(|node| expect_word(node, "proem.layout", &WORDS, problems)).unwrap_or_default()
}

/// Takes one line break from the start and one from the end of a section's template: those beside its markers.
pub(crate) fn trim_marker_breaks(template: &mut Template) {
    if let Some(Statement::Text(text)) = template.nodes.first_mut().map(|node| &mut node.element) {
        let rest = text.shown.strip_prefix("\r\n").or_else(|| text.shown.strip_prefix('\n'));
        if let Some(rest) = rest.map(str::to_owned) {
            text.shown = rest;
        }
    }
    if let Some(Statement::Text(text)) = template.nodes.last_mut().map(|node| &mut node.element) {
        let rest = text.shown.strip_suffix("\r\n").or_else(|| text.shown.strip_suffix('\n'));
        if let Some(rest) = rest.map(str::to_owned) {
            text.shown = rest;
        }
    }
}

/// The problem of a section in a turn of the model's: an example of an answer, which a user's turn must precede.
pub(crate) fn turn_fault(spec: &SectionSpec, role: Role, before: &[Section]) -> Option<String> {
    if role != Role::Model {
        return None;
    }
    let name = &spec.name;
    if spec.trust == Trust::Task {
        return Some(format!("section `{name}` is the task; put it into a user message"));
    }
    let has_user = before.iter().any(|section| section.role == Role::User);
    (!has_user).then(|| format!("section `{name}` is under the model role before any user message; put one before it"))
}
