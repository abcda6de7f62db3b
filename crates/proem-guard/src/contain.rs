//! The door into a prompt: text from outside between delimiters that it can't contain.
//!
//! Each outside part is replaced by its clean view, in the requested [`ContainmentMode`], the parts are joined, and the
//! *joined* text is scanned, because an attack may be cut in two where parts meet. Text that would end the containment
//! is cut out, text that would pass for structure is escaped with a backslash.
//!
//! Invariants: text from outside is only between the delimiters. Both delimiters are there exactly once. Words of ours
//! are never changed. Scanning the result finds nothing that touches outside text, unless that is kept exact: then it
//! finds no delimiter in it. A [`model_turn`] has no delimiters, because it is in a message of the model's own.

mod body;
mod comparison;
mod delimiter;
mod line;
mod marker;
pub(crate) mod matches;
mod mode;
mod reader;
pub(crate) mod scan;
mod tree;

pub use self::{
    comparison::without_ids,
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

/// The placeholder for the id in places where the key must not matter.
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
    /// The index of the part it is in, among all parts that were given.
    pub part: usize,
    /// The place in the original text of that part.
    pub span: Span,
    /// Its kind.
    pub kind: FindingKind,
}

/// A run of contained text that was copied from outside.
///
/// Containment's own insertions (`\`, `[removed]`) are in no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRange {
    /// The place in [`ContainedText::text`].
    pub output: Span,
    /// The index of the part, among all parts that were given.
    pub part: usize,
    /// The place in the original text of that part.
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
    /// The text with its delimiters. Ends with a line break.
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

    /// The findings, by part and place.
    #[must_use]
    pub fn findings(&self) -> &[Neutralisation] {
        &self.findings
    }

    /// The join of the labels of the parts from outside.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// The origin of each run from outside, in the order of the text.
    #[must_use]
    pub fn source_map(&self) -> &[SourceRange] {
        &self.source_map
    }
}

/// Puts text from outside between delimiters that it can't contain.
///
/// The delimiters' id is computed with the key from the tag and the contained text, so that nobody without the key can
/// write the end of the containment. The opening delimiter says what [`ContainmentMode`]s did: `mark=ˆ` names the sign
/// that represents spaces, `encoding=base64` the encoding.
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

/// A text as the model said it, for a message under the model's own role and for nothing else: there the role keeps it
/// apart, and delimiters around it would be words that the model never wrote. Invisible characters and imitations of
/// delimiters are cut out. All else stays to the letter.
#[must_use]
pub fn model_turn(text: &Untrusted<String>, tag: &Tag) -> (String, Label) {
    let joined = ContainmentBody::join(&[ContainmentPart::Kept(text, ContainmentMode::Exact)]);
    let mut matches = find_patterns(&joined.text, &joined.spans(), tag);
    matches.retain(|found| joined.is_changed_by(found));
    let body = joined.neutralise(&matches);
    let mut turn = body.text;
    // The body ends a line that the text may not end.
    if !text.value().ends_with('\n') {
        let end = turn.trim_end_matches('\n').len();
        turn.truncate(end);
    }
    (turn, body.label)
}

/// The body between its delimiters, and where it is.
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
