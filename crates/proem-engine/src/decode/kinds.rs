//! The kinds of repair, and why a text has no value.

/// The kinds of repair.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RepairKind {
    /// A fence around the value was left out.
    Fence,
    /// Prose before or after the value was left out.
    Prose,
    /// An element around the value, such as `<answer>`, or the call, object or list that holds nothing else was left out.
    Wrapper,
    /// A list became the only field of its contract.
    BareList,
    /// There were several values. The span is that of the one taken.
    Candidates,
    /// There were more values than are looked at. The span is that of the earlier ones.
    CandidatesUnread,
    /// A comment was left out.
    Comment,
    /// Dots that represent more, at the end of a list or among members, were left out.
    Ellipsis,
    /// A comma with nothing behind it was left out.
    ExtraComma,
    /// A comma was missing.
    MissingComma,
    /// A bracket was missing before the one that ends what surrounds it.
    MissingBracket,
    /// Something that belongs to no value, such as a bracket too many, was left out.
    Stray,
    /// Single or typographic quotes around a text or key were read as `"`.
    Quotes,
    /// A quote inside a text was not escaped.
    InnerQuote,
    /// A key had no quotes.
    UnquotedKey,
    /// A text had no quotes.
    UnquotedText,
    /// `True`, `False` or `None` was read as JSON's literal.
    PythonLiteral,
    /// A control character, such as a line break, was not escaped.
    ControlCharacter,
    /// An escape that JSON doesn't have was read as what it represents, or kept as it is.
    InvalidEscape,
    /// Half a surrogate pair became U+FFFD.
    LoneSurrogate,
    /// A number such as `+1`, `.5` or `5.` was read.
    NumberSpelling,
    /// The text ended inside the value: what was open was closed, half a number or word left out.
    OpenEnd,
    /// The text ended inside a text, which may be half of what was meant.
    OpenText,
    /// A member whose value can't be read in one way only was left out.
    LeftOut,
    /// A member or an element at the end, of which only a part was written, was left out, or a list has no end.
    CutOff,
    /// A key occurred twice. The last value counts.
    DuplicateKey,
    /// A text that holds JSON was read as that JSON.
    Encoded,
    /// A text became the number that it spells.
    NumberFromText,
    /// A text became the boolean that it spells.
    BooleanFromText,
    /// An empty text or `"null"` became null.
    NullFromText,
    /// A number became a text in the same spelling.
    TextFromNumber,
    /// A number such as `3.0` became an integer.
    WholeNumber,
    /// A text became the member of an enumeration that differs only in case or white space.
    EnumSpelling,
    /// There were more repairs than are listed. The span is that of the others.
    More,
}

proem_text::word_table! {
    pub RepairKind {
        Fence = "fence",
        Prose = "prose",
        Wrapper = "wrapper",
        BareList = "bare-list",
        Candidates = "candidates",
        CandidatesUnread = "candidates-unread",
        Comment = "comment",
        Ellipsis = "ellipsis",
        ExtraComma = "extra-comma",
        MissingComma = "missing-comma",
        MissingBracket = "missing-bracket",
        Stray = "stray",
        Quotes = "quotes",
        InnerQuote = "inner-quote",
        UnquotedKey = "unquoted-key",
        UnquotedText = "unquoted-text",
        PythonLiteral = "python-literal",
        ControlCharacter = "control-character",
        InvalidEscape = "invalid-escape",
        LoneSurrogate = "lone-surrogate",
        NumberSpelling = "number-spelling",
        OpenEnd = "open-end",
        OpenText = "open-text",
        LeftOut = "left-out",
        CutOff = "cut-off",
        DuplicateKey = "duplicate-key",
        Encoded = "encoded",
        NumberFromText = "number-from-text",
        BooleanFromText = "boolean-from-text",
        NullFromText = "null-from-text",
        TextFromNumber = "text-from-number",
        WholeNumber = "whole-number",
        EnumSpelling = "enum-spelling",
        More = "more",
    }
}

impl RepairKind {
    /// Whether something of the answer is missing, so that the value is not all that was meant.
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::OpenText | Self::LeftOut | Self::CutOff)
    }

    /// The repair, in a short sentence without its full stop.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Fence => "a code fence around the value was removed",
            Self::Prose => "text around the value was removed",
            Self::Wrapper => "an element, object or list around the value was removed",
            Self::BareList => "a list was read as the only field",
            Self::Candidates => "one of several values was taken",
            Self::CandidatesUnread => "earlier values were ignored",
            Self::Comment => "a comment was removed",
            Self::Ellipsis => "dots that stand for more were removed",
            Self::ExtraComma => "an extra comma was removed",
            Self::MissingComma => "a missing comma was added",
            Self::MissingBracket => "a missing bracket was added",
            Self::Stray => "text that belongs to no value was removed",
            Self::Quotes => "other quotes were read as double quotes",
            Self::InnerQuote => "a quote inside a text was not escaped",
            Self::UnquotedKey => "a key had no quotes",
            Self::UnquotedText => "a text had no quotes",
            Self::PythonLiteral => "a Python literal was read as JSON",
            Self::ControlCharacter => "a control character inside a text was not escaped",
            Self::InvalidEscape => "an escape sequence that is not valid JSON was accepted",
            Self::LoneSurrogate => "half a surrogate pair was replaced",
            Self::NumberSpelling => "a number in a format that is not valid JSON was accepted",
            Self::OpenEnd => "the answer ended inside the value; the missing end was added",
            Self::OpenText => "a text had no end",
            Self::LeftOut => "an ambiguous value was left out",
            Self::CutOff => "the last part, of which only the beginning was written, was left out",
            Self::DuplicateKey => "a key appeared twice; the last value was used",
            Self::Encoded => "a text that holds JSON was read as that JSON",
            Self::NumberFromText => "a text became the number that it spells",
            Self::BooleanFromText => "a text became the boolean that it spells",
            Self::NullFromText => "a string that means no value, such as `none`, became null",
            Self::TextFromNumber => "a number became a text in the same spelling",
            Self::WholeNumber => "a number without a fraction became an integer",
            Self::EnumSpelling => "a text became the permitted word that differs only in case or white space",
            Self::More => "there were more repairs than those listed",
        }
    }
}

/// Why nothing could be read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DecodeFailure {
    /// The text is empty, or white space.
    Empty,
    /// There is no JSON value in the text.
    NoValue,
    /// It is nested deeper than is read.
    TooDeep,
    /// There are several values, or one whose parts can be put together in several ways.
    Ambiguous,
    /// A value is in the text, and the text doesn't give it as its answer.
    Mentioned,
    /// The value is a form that nobody filled in, such as `{"name": "<name>"}`.
    Unfilled,
}

proem_text::word_table! {
    pub DecodeFailure {
        Empty = "empty",
        NoValue = "no-value",
        TooDeep = "too-deep",
        Ambiguous = "ambiguous",
        Mentioned = "mentioned",
        Unfilled = "unfilled",
    }
}

impl DecodeFailure {
    /// The problem and the remedy, in a short sentence without its full stop.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Empty => "the answer is empty; send one JSON value",
            Self::NoValue => "there is no JSON value in the answer; send one and nothing else",
            Self::TooDeep => "lists and objects nest deeper than 128 levels; send a flatter value",
            Self::Mentioned => "the answer mentions a value without giving it; send one JSON value and nothing else",
            Self::Unfilled => "the answer repeats the form; send one JSON value with the form filled in",
            Self::Ambiguous => "the answer can be read in more than one way; send one JSON value and nothing else",
        }
    }
}
