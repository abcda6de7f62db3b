//! The findings in a text from outside.

use crate::view::step::ReadingStep;
use alloc::vec::Vec;
use proem_text::Span;

/// One thing that was noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The sort of attack.
    pub kind: FindingKind,
    /// The rule that found it, as documentation and configuration name it: `override/ignore`.
    pub rule: &'static str,
    /// Its place, in bytes of the original text.
    pub span: Span,
    /// How the reading that it was found in was made from the clean view, outermost step first. Empty for the clean
    /// view itself.
    pub steps: Vec<ReadingStep>,
    /// Whether the place reads differently once hidden characters, look-alikes or an encoding are
    /// undone, which nobody does to harmless words.
    pub hidden: bool,
    /// How much harm it could do.
    pub severity: Severity,
    /// How sure the rule is, 0 to 1.
    pub score: f32,
}

/// How much harm a finding could do, were it believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: it counts towards the score and nothing else.
    Low,
    /// Suspicious by itself.
    Medium,
    /// An attempt to steer whoever reads it.
    High,
    /// An attempt with the means to succeed: hidden on purpose, or aimed at an effect.
    Critical,
}

proem_text::word_table! {
    pub Severity {
        // The mildest first.
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

impl Severity {
    /// The next worse one. The worst is its own.
    #[must_use]
    pub const fn worse(self) -> Self {
        match self {
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }
}

/// The sorts of attack that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A character that a reader doesn't see.
    Invisible,
    /// A character that changes the direction of text.
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
    /// Words that revoke or replace the reader's instructions.
    Override,
    /// Words that give the reader another role.
    Persona,
    /// A request for the reader's instructions.
    Extraction,
    /// A way for text to leave: an address, an image, a link that carries data.
    Exfiltration,
    /// A request to use a tool that the agent has.
    ToolRequest,
    /// Borrowed authority, urgency, secrecy or reward.
    SocialEngineering,
    /// An order to whoever reads it, as people give each other too.
    Order,
    /// An order that would hold in every later task: to drop a control, to act unasked, to keep quiet.
    StandingOrder,
    /// A payload that only a decoder reads.
    Encoded,
    /// Likeness to known attacks.
    Similar,
    /// The learned score of a sentence or two.
    Learned,
    /// A command that an agent or an editor runs by itself.
    AutoRun,
    /// A download that is run.
    Download,
    /// A right that an agent is given.
    Permission,
    /// A setting that changes where requests go, or which code programs load.
    Redirect,
    /// A server or a list of tools that an agent is offered.
    Offer,
    /// A name that something else has already.
    Shadowing,
    /// Settings that can't be read.
    Unclear,
}

proem_text::word_table! {
    pub FindingKind {
        Invisible = "invisible",
        BidiControl = "bidi-control",
        Tag = "tag",
        Control = "control",
        Delimiter = "delimiter",
        ClosingTag = "closing-tag",
        RoleMarker = "role-marker",
        SystemLine = "system-line",
        Heading = "heading",
        Override = "override",
        Persona = "persona",
        Extraction = "extraction",
        Exfiltration = "exfiltration",
        ToolRequest = "tool-request",
        SocialEngineering = "social-engineering",
        Order = "order",
        StandingOrder = "standing-order",
        Encoded = "encoded",
        Similar = "similar",
        Learned = "learned",
        AutoRun = "auto-run",
        Download = "download",
        Permission = "permission",
        Redirect = "redirect",
        Offer = "offer",
        Shadowing = "shadowing",
        Unclear = "unclear",
    }
}

impl FindingKind {
    /// Its name, as the start of a sentence about it.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Invisible => "invisible characters",
            Self::BidiControl => "characters that change the direction of text",
            Self::Tag => "invisible copies of letters",
            Self::Control => "control characters",
            Self::Delimiter => "a delimiter of Proem's own",
            Self::ClosingTag => "a tag that gives a prompt its structure",
            Self::RoleMarker => "the start of another speaker's turn in a conversation",
            Self::SystemLine => "a line that claims to come from the system",
            Self::Heading => "a heading that imitates Proem's own",
            Self::Override => "words that revoke or replace instructions",
            Self::Persona => "words that give the model another role",
            Self::Extraction => "a request for the model's instructions",
            Self::Exfiltration => "a way to send data out",
            Self::ToolRequest => "a request to use a tool",
            Self::SocialEngineering => "an appeal to authority, urgency, secrecy or reward",
            Self::Order => "an instruction to the model that reads it",
            Self::StandingOrder => "an instruction to drop a control, act unasked or keep quiet from now on",
            Self::Encoded => "encoded content",
            Self::Similar => "similarity to known attacks",
            Self::Learned => "sentences similar to known attacks",
            Self::AutoRun => "a command that runs by itself",
            Self::Download => "a command that runs what it downloads",
            Self::Permission => "a permission that lets an agent act without asking",
            Self::Redirect => "a setting that changes where requests go or which code runs",
            Self::Offer => "tools that an agent is offered",
            Self::Shadowing => "a name that something else has already",
            Self::Unclear => "settings that can't be read",
        }
    }
}
