//! The door into a prompt: text from outside between delimiters that it can't contain.
//!
//! Each outside part is replaced by its clean view, in the [`ContainmentMode`] that is asked for, the parts are joined, and the *joined* text is
//! scanned, because an attack may be cut in two where parts meet. What would end the containment
//! is cut out, what would pass for structure is escaped with a backslash.
//!
//! Invariants: text from outside stands only between the delimiters; both delimiters stand there
//! exactly once; words of ours are never changed; scanning the result finds nothing that touches
//! outside text, unless that is kept exact: then it finds no delimiter in it.

mod body;
mod compared;
mod delimiter;
pub(crate) mod found;
mod line;
mod marker;
mod mode;
mod reader;
pub(crate) mod scan;
mod tree;

pub use self::{
    compared::without_ids,
    delimiter::{InstallationKey, Tag},
    mode::ContainmentMode,
    tree::contain_tree,
};

use self::{body::ContainmentBody, scan::find_patterns};
use crate::{finding::FindingKind, untrusted::Untrusted};
use alloc::{format, string::String, vec::Vec};
use proem_text::{Label, Span};

/// The version of containment: it is raised with every change that contains the same text in other bytes, so that a
/// record can name the one that it was made with.
///
/// 1 broke roles, tags, claims and headings with `#`; 2 also breaks every underlined heading, `<h1>`
/// to `<h6>`, lines in bold that are a heading of ours, and delimiters in look-alike letters, in
/// other brackets or broken by lines; 3 leaves `<S>` as it is.
pub const VERSION: u32 = 3;

/// What stands for the id where the key must not matter.
const NO_ID: &str = "0000000000000000";

/// One part of a text that is to be contained.
#[derive(Debug, Clone, Copy)]
pub enum ContainmentPart<'a> {
    /// Words of ours around it, such as bullets and names of fields. Never changed.
    Ours(&'a str),
    /// Text from outside, between delimiters as it is.
    Outside(&'a Untrusted<String>),
    /// Text from outside, kept apart more strongly.
    Kept(&'a Untrusted<String>, ContainmentMode),
}

/// A place that didn't stay as it was: cut out, or taken apart by a backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neutralisation {
    /// The index of the part it stands in, among all parts that were given.
    pub part: usize,
    /// Where, in the original text of that part.
    pub span: Span,
    /// What it was.
    pub kind: FindingKind,
}

/// A run of contained text that was copied from outside.
///
/// What containment inserted (`\`, `[removed]`) is in no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRange {
    /// Where, in [`ContainedText::text`].
    pub output: Span,
    /// The index of the part, among all parts that were given.
    pub part: usize,
    /// Where, in the original text of that part.
    pub original: Span,
}

/// Text from outside, fit for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainedText {
    text: String,
    id: String,
    tag: Tag,
    attributes: String,
    body: Span,
    findings: Vec<Neutralisation>,
    label: Label,
    source_map: Vec<SourceRange>,
}

impl ContainedText {
    /// The text with its delimiters; ends with a line break.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The delimiters' id: sixteen hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The text with the ids replaced by sixteen zeros: the same under every key, and as long.
    #[must_use]
    pub fn keyless_text(&self) -> String {
        let body = self.text.get(self.body.start..self.body.end).unwrap_or_default();
        wrap(&self.tag, NO_ID, &self.attributes, body).0
    }

    /// What was noticed, by part and place.
    #[must_use]
    pub fn findings(&self) -> &[Neutralisation] {
        &self.findings
    }

    /// The join of the labels of the parts from outside.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// Where each run from outside came from, in the order of the text.
    #[must_use]
    pub fn source_map(&self) -> &[SourceRange] {
        &self.source_map
    }
}

/// Puts text from outside between delimiters that it can't contain.
///
/// The delimiters' id is computed with the key from the tag and the contained text, so that
/// nobody without the key can write the end of the containment. The opening delimiter says what
/// [`ContainmentMode`]s did: `mark=ˆ` names the sign that stands for spaces, `encoding=base64` the encoding.
#[must_use]
pub fn contain(parts: &[ContainmentPart<'_>], tag: &Tag, key: &InstallationKey) -> ContainedText {
    let joined = ContainmentBody::join(parts);
    let mut matches = find_patterns(&joined.text, &joined.spans(), tag);
    matches.retain(|found| joined.is_changed_by(found));
    let mut findings = joined.findings(&matches);
    let body = joined.neutralise(&matches);
    findings.sort_unstable();
    findings.dedup();

    let id = key.sign(tag, &body.text);
    let attributes = body.attributes();
    let (text, span) = wrap(tag, &id, &attributes, &body.text);
    let source_map = body.source_map(span.start);
    ContainedText { text, id, tag: tag.clone(), attributes, body: span, findings, label: body.label, source_map }
}

/// The body between its delimiters, and where it stands.
fn wrap(tag: &Tag, id: &str, attributes: &str, body: &str) -> (String, Span) {
    let name = tag.as_str();
    let mut text = format!("<{name} id={id}{attributes}>\n");
    let start = text.len();
    text.push_str(body);
    let span = Span::new(start, text.len());
    text.push_str(&format!("</{name} id={id}>\n"));
    (text, span)
}

#[cfg(test)]
mod tests;
