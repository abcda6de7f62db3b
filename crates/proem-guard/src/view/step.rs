//! The steps from one reading of a text to another.

/// One step from a reading to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadingStep {
    /// Hidden characters inside words count as spaces.
    Parted,
    /// Look-alikes of Latin letters are replaced by them (UTS #39).
    Skeleton,
    /// Digits and signs are replaced by the letters that they represent in `1gn0re`.
    Leet,
    /// Letters that are apart are joined: `i g n o r e`.
    Spaced,
    /// The text is read backwards.
    Reversed,
    /// Letters are moved by thirteen places.
    Rot13,
    /// Base64 (RFC 4648), both alphabets.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// Percent-encoding (RFC 3986).
    Percent,
    /// Character references of HTML.
    Entities,
    /// Escapes of string literals: `\u0069`, `\x69`.
    Escapes,
    /// Invisible copies of ASCII characters (U+E0000 to U+E007F).
    Tags,
    /// Bytes written as variation selectors.
    VariationSelectors,
    /// The text that a reader of an HTML page sees.
    Markup,
    /// The text that an HTML page has and doesn't show.
    HiddenMarkup,
    /// A comment of HTML.
    Comment,
    /// The value of an attribute that is text for people: `alt`, `title`, `aria-label`.
    Attribute,
}

proem_text::word_table! {
    pub ReadingStep {
        Parted = "parted",
        Skeleton = "skeleton",
        Leet = "leet",
        Spaced = "spaced",
        Reversed = "reversed",
        Rot13 = "rot13",
        Base64 = "base64",
        Hex = "hex",
        Percent = "percent",
        Entities = "entities",
        Escapes = "escapes",
        Tags = "tags",
        VariationSelectors = "variation-selectors",
        Markup = "markup",
        HiddenMarkup = "hidden-markup",
        Comment = "comment",
        Attribute = "attribute",
    }
}

impl ReadingStep {
    /// Whether words that are found only after this step were hidden on purpose. Text that a page or a link encodes by
    /// its own rules was not.
    #[must_use]
    pub const fn hides(self) -> bool {
        !matches!(self, Self::Entities | Self::Percent | Self::Markup | Self::Attribute)
    }
}
