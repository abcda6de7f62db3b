//! An assembled prompt: the sections of one request, in the order a model reads them.

use proem_guard::ContainedText;
use proem_text::{Label, span::Span};
use serde::{Deserialize, Serialize};

use crate::call::state_form;
use crate::media::MediaSource;
use crate::message::Role;
use crate::section::{CacheClass, Layer, SectionGroup, Trust};
use crate::tokens::TokenCounter;

/// Which prompt an assembly was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PromptId {
    /// The agent's folder in the book, such as `assemble`.
    pub agent: String,
    /// The prompt's folder, such as `task`.
    pub name: String,
    /// Its version. An unlocked one carries its closure's hash, as in `1.3.0+0f3a9c…`.
    pub version: String,
    /// SHA-256 of the file with its partials and schemas, hexadecimal.
    pub closure: String,
}

/// A section with its text, where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedSection {
    /// Its name in the prompt file.
    pub name: String,
    /// The role of its message.
    pub role: Role,
    /// How much it may bind the model.
    pub trust: Trust,
    /// How long its bytes stay the same.
    pub cache: CacheClass,
    /// Which cap it counts towards.
    pub layer: Layer,
    /// Its class in the request's order.
    pub rank: SectionGroup,
    /// Its text. Words of ours end with a blank line.
    pub text: String,
    /// The label of its untrusted parts.
    #[serde(with = "state_form::label")]
    pub label: Label,
    /// Its tokens, by the assembly's counter.
    pub tokens: usize,
    /// Its bytes in [`Assembly::text`].
    #[serde(with = "state_form::span")]
    pub range: Span,
    /// Its kind, if it is no words. [`Self::text`] then has the part's contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SectionPart>,
}

/// A part of a message that is no words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SectionPart {
    /// A picture or file. The section's text is its bytes in Base64, or its address.
    Media {
        /// The file and its place.
        source: MediaSource,
        /// The most tokens that it can count.
        most_tokens: usize,
    },
    /// A tool that the model called before. The section's text is the arguments, as JSON.
    Call {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// The result of a call. The section's text has it.
    CallResult {
        /// The id of the call.
        id: String,
        /// The tool's name.
        name: String,
    },
}

/// A prompt ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assembly {
    /// The prompt it was made from.
    pub prompt: PromptId,
    /// The sections in request order. Empty and dropped ones are only in the report.
    pub sections: Vec<PlacedSection>,
    /// Indices into `sections` after which the request's bytes are stable for longer than what
    /// follows: where a provider's cache may be told to stop. At most four, ascending.
    pub boundaries: Vec<usize>,
    /// The tokens kept free for the answer.
    pub output_tokens: usize,
}

/// An appendix to everything that an assembly holds.
#[derive(Debug, Clone, Copy)]
pub enum Appendix<'a> {
    /// Words of ours.
    Ours(&'a str),
    /// Text from outside, contained.
    Outside(&'a ContainedText),
}

impl Assembly {
    /// Puts a section behind all others, in the user's message and below every boundary. It ends
    /// with a blank line.
    pub fn append(&mut self, name: &str, what: Appendix<'_>, counter: &dyn TokenCounter) {
        let start = self.sections.last().map_or(0, |last| last.range.end);
        let (trust, rank, text, label) = match what {
            Appendix::Ours(text) => (Trust::Trusted, SectionGroup::TrustedVolatile, text, Label::trusted()),
            Appendix::Outside(contained) => {
                (Trust::Untrusted, SectionGroup::UntrustedVolatile, contained.text(), contained.label().clone())
            }
        };
        let text = format!("{}\n\n", text.trim_end_matches('\n'));
        self.sections.push(PlacedSection {
            name: name.to_owned(),
            role: Role::User,
            trust,
            cache: CacheClass::Never,
            layer: Layer::Context,
            rank,
            label,
            tokens: counter.count(&text),
            range: Span::new(start, start.saturating_add(text.len())),
            part: None,
            text,
        });
    }

    /// All sections' text in request order.
    #[must_use]
    pub fn text(&self) -> String {
        self.sections.iter().map(|section| section.text.as_str()).collect()
    }

    /// The text of the system message. Empty if there is none.
    #[must_use]
    pub fn system(&self) -> String {
        self.sections.iter().filter(|s| s.role == Role::System).map(|s| s.text.as_str()).collect()
    }

    /// How many bytes of the sections are pictures and files, and how many tokens those count at most.
    #[must_use]
    pub fn media_size(&self) -> (usize, usize) {
        let sizes = self.sections.iter().filter_map(|section| match &section.part {
            Some(SectionPart::Media { most_tokens, .. }) => Some((section.text.len(), *most_tokens)),
            _ => None,
        });
        sizes.fold((0, 0), |(bytes, tokens), (more, most)| (bytes.saturating_add(more), tokens.saturating_add(most)))
    }

    /// The sections whose bytes may be cached.
    #[must_use]
    pub fn prefix(&self) -> &[PlacedSection] {
        let end = self.boundaries.last().map_or(0, |last| last.saturating_add(1));
        self.sections.get(..end).unwrap_or_default()
    }

    /// The sections behind the last boundary.
    #[must_use]
    pub fn suffix(&self) -> &[PlacedSection] {
        let end = self.boundaries.last().map_or(0, |last| last.saturating_add(1));
        self.sections.get(end..).unwrap_or_default()
    }

    /// The tokens of all sections, by the assembly's counter.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.sections.iter().fold(0, |sum, section| sum.saturating_add(section.tokens))
    }
}
