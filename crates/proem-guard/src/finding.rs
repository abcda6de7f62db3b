//! What was noticed in a text from outside.

use proem_text::Span;

/// One thing that was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The index of the part it stands in, among all parts that were given.
    pub part: usize,
    /// Where, in the original text of that part.
    pub span: Span,
    /// What it is.
    pub kind: FindingKind,
}

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A character that a reader doesn't see.
    Invisible,
    /// A character that steers the direction of text.
    BidiControl,
    /// An invisible copy of an ASCII character.
    Tag,
    /// A control character or a noncharacter.
    Control,
    /// One of our own delimiters.
    Delimiter,
    /// An opening or closing tag that gives a prompt its structure.
    ClosingTag,
    /// The start of somebody else's turn.
    RoleMarker,
    /// A line that claims to come from the system.
    SystemLine,
    /// A heading that outranks or repeats one of ours.
    Heading,
}

impl FindingKind {
    /// The word used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invisible => "invisible",
            Self::BidiControl => "bidi-control",
            Self::Tag => "tag",
            Self::Control => "control",
            Self::Delimiter => "delimiter",
            Self::ClosingTag => "closing-tag",
            Self::RoleMarker => "role-marker",
            Self::SystemLine => "system-line",
            Self::Heading => "heading",
        }
    }
}
