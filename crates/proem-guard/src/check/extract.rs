//! The addresses, hosts and web addresses that a reader of a text could follow, and the amounts and
//! numbers in it.
//!
//! Generous on purpose: it finds too much rather than too little, and [`FieldRole`](super::FieldRole)'s canonical
//! forms decide strictly what each find is worth. Linear: what was read isn't read again, and what
//! is looked at ahead has a bound.

mod checksum;
mod codes;
mod figures;
mod link;
mod money;
mod money_words;
mod plain;
mod vanity;

use super::rule::ReferentKind;
use alloc::{borrow::Cow, vec::Vec};
use proem_text::Span;

/// The most tokens in one text.
pub(super) const MAX_TOKENS: usize = 4_096;
/// The most bytes of a link's destination that are read.
const MAX_LINK: usize = 2_048;

/// One find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueMention<'a> {
    pub(super) kind: ReferentKind,
    pub(super) span: Span,
    /// As it is followed: in a link's destination without tabs and line breaks.
    pub(super) text: Cow<'a, str>,
}

/// Everything in one text.
#[derive(Debug, Default)]
pub(super) struct ValueMentions<'a> {
    pub(super) found: Vec<ValueMention<'a>>,
    /// Whether there were more than [`MAX_TOKENS`].
    pub(super) too_many: bool,
}

impl<'a> ValueMentions<'a> {
    fn push(&mut self, kind: ReferentKind, span: Span, text: impl Into<Cow<'a, str>>) {
        if self.found.len() >= MAX_TOKENS {
            self.too_many = true;
        } else {
            self.found.push(ValueMention { kind, span, text: text.into() });
        }
    }
}

/// The values in running text, the larger find if one contains another.
///
/// `min_digits` is how many digits make a phone or account number.
pub(super) fn running(text: &str, min_digits: usize) -> ValueMentions<'_> {
    let mut tokens = ValueMentions::default();
    plain::add_plain_addresses(text, &mut tokens);
    figures::add_figures(text, min_digits, &mut tokens);
    tokens
}

/// The addresses in running text and the destinations of links in Markdown and HTML.
pub(super) fn find_addresses(text: &str) -> ValueMentions<'_> {
    let mut tokens = ValueMentions::default();
    plain::add_plain_addresses(text, &mut tokens);
    link::add_destinations(text, &mut tokens);
    tokens
}

/// The amounts and phone and account numbers.
pub(super) fn find_figures(text: &str, min_digits: usize) -> ValueMentions<'_> {
    let mut tokens = ValueMentions::default();
    figures::add_figures(text, min_digits, &mut tokens);
    tokens
}
