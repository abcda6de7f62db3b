//! The origin of a text, and its consequences.
//!
//! A label only grows: [`Label::join`] is a least upper bound (associative, commutative,
//! idempotent), and nothing here takes a source away.

use alloc::{borrow::Cow, collections::BTreeSet, string::String};
use core::fmt;

/// How many sources a label names before it says "many".
pub const MAX_NAMED_SOURCES: usize = 32;

/// The longest name of a source.
pub const MAX_SOURCE_BYTES: usize = 64;

/// The name of one untrusted source, such as `git/branch`.
///
/// Sources are named by code, never by the text they label: `[a-z0-9][a-z0-9/_.-]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(Cow<'static, str>);

impl Source {
    /// A source known when the code was written.
    ///
    /// A name outside the allowed form is replaced by `unnamed`, which is still untrusted.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        if is_source_name(name.as_bytes()) { Self(Cow::Borrowed(name)) } else { Self(Cow::Borrowed("unnamed")) }
    }

    /// Reads a source name. `None` if it isn't `[a-z0-9][a-z0-9/_.-]{0,63}`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        is_source_name(name.as_bytes()).then(|| Self(Cow::Owned(String::from(name))))
    }

    /// The source's name, such as `git/branch`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const fn is_source_name(bytes: &[u8]) -> bool {
    if bytes.is_empty() || bytes.len() > MAX_SOURCE_BYTES {
        return false;
    }
    let mut rest = bytes;
    let mut first = true;
    while let [byte, tail @ ..] = rest {
        let allowed =
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || (!first && matches!(byte, b'/' | b'_' | b'.' | b'-'));
        if !allowed {
            return false;
        }
        first = false;
        rest = tail;
    }
    true
}

/// The untrusted sources that a text derives from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sources {
    /// At most [`MAX_NAMED_SOURCES`] sources by name. None means trusted.
    Named(BTreeSet<Source>),
    /// More than that.
    Many,
}

/// Whether a text must stay hidden from prompts, screens and tools that don't declare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Secrecy {
    /// May be shown.
    Open,
    /// Must not be shown.
    Secret,
}

/// The widest circle that may read a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Anyone may read it.
    Public,
    /// Known people outside the organisation.
    External,
    /// People inside the organisation.
    Internal,
    /// Named people.
    Restricted,
}

impl Audience {
    /// The word used in reports and configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::External => "external",
            Self::Internal => "internal",
            Self::Restricted => "restricted",
        }
    }

    /// Reads the word. `None` if it is none.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Public, Self::External, Self::Internal, Self::Restricted];
        all.into_iter().find(|audience| audience.as_str() == word)
    }
}

/// The known origin of a text.
///
/// Labels have an order, so that they can be keys. It means nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    sources: Sources,
    secrecy: Secrecy,
    audience: Audience,
}

impl Label {
    /// No untrusted source, public, fit for anyone: the identity of [`Label::join`].
    #[must_use]
    pub const fn trusted() -> Self {
        Self { sources: Sources::Named(BTreeSet::new()), secrecy: Secrecy::Open, audience: Audience::Public }
    }

    /// Text from one untrusted source.
    #[must_use]
    pub fn from_source(source: Source) -> Self {
        Self { sources: Sources::Named(BTreeSet::from([source])), ..Self::trusted() }
    }

    /// Text from more sources than are named.
    #[must_use]
    pub const fn from_many() -> Self {
        Self { sources: Sources::Many, secrecy: Secrecy::Open, audience: Audience::Public }
    }

    /// The same label for a narrower audience.
    #[must_use]
    pub fn narrowed_to(mut self, audience: Audience) -> Self {
        self.audience = self.audience.max(audience);
        self
    }

    /// The same label, secret.
    #[must_use]
    pub fn made_secret(mut self) -> Self {
        self.secrecy = Secrecy::Secret;
        self
    }

    /// The least label that covers both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let sources = match (&self.sources, &other.sources) {
            (Sources::Named(a), Sources::Named(b)) => {
                let all: BTreeSet<Source> = a.union(b).cloned().collect();
                if all.len() > MAX_NAMED_SOURCES { Sources::Many } else { Sources::Named(all) }
            }
            _ => Sources::Many,
        };
        Self { sources, secrecy: self.secrecy.max(other.secrecy), audience: self.audience.max(other.audience) }
    }

    /// Whether joining `other` to this label would change nothing.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let has_sources = match (&self.sources, &other.sources) {
            (Sources::Many, _) => true,
            (Sources::Named(_), Sources::Many) => false,
            (Sources::Named(all), Sources::Named(some)) => all.is_superset(some),
        };
        has_sources && self.secrecy >= other.secrecy && self.audience >= other.audience
    }

    /// Whether it is that of text which nobody outside had a part in, and which anyone may read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.is_trusted() && self.secrecy == Secrecy::Open && self.audience == Audience::Public
    }

    /// Whether the text must stay hidden.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secrecy == Secrecy::Secret
    }

    /// Whether no untrusted source had a part in it.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        matches!(&self.sources, Sources::Named(named) if named.is_empty())
    }

    /// The untrusted sources.
    #[must_use]
    pub const fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether the text must stay hidden.
    #[must_use]
    pub const fn secrecy(&self) -> Secrecy {
        self.secrecy
    }

    /// The permitted readers.
    #[must_use]
    pub const fn audience(&self) -> Audience {
        self.audience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_name_outside_the_form_is_refused() {
        for (name, expected) in [
            ("git/branch", true),
            ("a", true),
            ("", false),
            ("/a", false),
            ("Git", false),
            ("a b", false),
            ("a\u{202e}", false),
            (&"a".repeat(64), true),
            (&"a".repeat(65), false),
        ] {
            assert_eq!(Source::parse(name).is_some(), expected, "{name:?}");
        }
        assert_eq!(Source::named("Not A Name").as_str(), "unnamed");
    }

    #[test]
    fn the_thirty_third_source_makes_many() {
        let mut label = Label::trusted();
        for n in 0..32 {
            label = label.join(&Label::from_source(Source::parse(&format!("s{n}")).unwrap()));
        }
        assert!(matches!(label.sources(), Sources::Named(named) if named.len() == 32));
        let more = label.join(&Label::from_source(Source::named("one-more")));
        assert!(more.covers(&label) && !label.covers(&more));
        assert_eq!(more.sources(), &Sources::Many);
        assert!(!more.is_trusted());
    }
}
