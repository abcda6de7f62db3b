//! Cuts a page into text, tags and comments.
//!
//! It differs from the standard if a text isn't a page: a name that no tag can have, and a tag or an element of raw
//! text without an end, are text. The cost of looking for such ends is limited, so that the time grows with the length.

use proem_text::Span;

/// A part of a page. Places are in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlToken {
    Text(Span),
    /// The contents of an element that holds no tags (13.2.5.2 to 13.2.5.4), `name`.
    Raw {
        name: Span,
        place: Span,
    },
    Start {
        name: Span,
        attributes: Span,
        /// Whether it ends with `/>`.
        is_closed: bool,
        place: Span,
    },
    End {
        name: Span,
        place: Span,
    },
    Comment {
        content: Span,
        place: Span,
    },
    /// `<!DOCTYPE …>`, `<?xml …>`.
    Declaration(Span),
}

/// Elements whose content is no markup. `plaintext` is left out: nobody means it.
const RAW: [&str; 8] = ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"];

pub(super) struct HtmlTokeniser<'a> {
    text: &'a str,
    at: usize,
    /// The start of the text that is not yet given.
    given: usize,
    /// A token that waits behind the text before it.
    waiting: Option<HtmlToken>,
    /// The element of raw text that has just been opened, and where its content ends.
    raw: Option<(Span, usize)>,
    /// For each of [`RAW`], whether no end is to come.
    endless: [bool; RAW.len()],
    /// How many bytes may still be looked at in vain.
    budget: usize,
    unread: Option<Span>,
}

impl<'a> HtmlTokeniser<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        let budget = text.len().saturating_mul(8).saturating_add(64 * 1024);
        Self { text, at: 0, given: 0, waiting: None, raw: None, endless: [false; RAW.len()], budget, unread: None }
    }

    /// The part that was left as text because looking for the ends of tags cost too much.
    pub(super) const fn unread(&self) -> Option<Span> {
        self.unread
    }

    fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The tag, comment or declaration at a `<`.
    fn markup(&mut self, start: usize) -> Option<HtmlToken> {
        let behind = self.rest(start.saturating_add(1));
        let next = start.saturating_add(2);
        match behind.as_bytes() {
            [b'!', b'-', b'-', ..] => Some(comment_token(self.text, start)),
            [b'!' | b'?', ..] => {
                let place = Span::new(start, self.end_of_declaration(next)?);
                let is_declaration = behind.starts_with('?') || starts_with_name(behind, "!doctype");
                let content = Span::new(next, place.end.saturating_sub(1));
                Some(if is_declaration { HtmlToken::Declaration(place) } else { HtmlToken::Comment { content, place } })
            }
            [b'/', first, ..] if first.is_ascii_alphabetic() => {
                let name = self.name(next)?;
                let place = Span::new(start, self.end_of_tag(name.end)?);
                Some(HtmlToken::End { name, place })
            }
            // `</ text>` is a comment (13.2.5.7).
            [b'/', first, ..] if !first.is_ascii_alphanumeric() && *first != b'>' => {
                let place = Span::new(start, self.end_of_declaration(next)?);
                Some(HtmlToken::Comment { content: Span::new(next, place.end.saturating_sub(1)), place })
            }
            [first, ..] if first.is_ascii_alphabetic() => {
                let name = self.name(start.saturating_add(1))?;
                let place = Span::new(start, self.end_of_tag(name.end)?);
                let inner = self.text.get(name.end..place.end.saturating_sub(1)).unwrap_or_default();
                let trimmed = inner.trim();
                let is_closed = trimmed.ends_with('/');
                let attributes = Span::new(name.end, name.end.saturating_add(inner.len()));
                let attributes = if trimmed.trim_matches('/').is_empty() { Span::default() } else { attributes };
                Some(HtmlToken::Start { name, attributes, is_closed, place })
            }
            _ => None,
        }
    }

    /// The name of a tag. `None` for addresses and what else is in angle brackets.
    fn name(&self, start: usize) -> Option<Span> {
        const LONGEST: usize = 64;
        let bytes = self.rest(start).as_bytes();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
        let length = bytes.iter().take(LONGEST).position(is_end)?;
        let name = bytes.get(..length)?;
        let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_'));
        (is_name && !name.ends_with(b":")).then(|| Span::new(start, start.saturating_add(length)))
    }

    fn end_of_declaration(&mut self, from: usize) -> Option<usize> {
        let rest = self.rest(from);
        let found = rest.find('>');
        if found.is_none() {
            self.spend(rest.len(), from);
        }
        found.map(|at| from.saturating_add(at).saturating_add(1))
    }

    /// Behind the `>` that ends a tag: a quote hides one only as the start of a value.
    fn end_of_tag(&mut self, from: usize) -> Option<usize> {
        let bytes = self.rest(from).as_bytes();
        let mut at = 0usize;
        let mut after_equals = false;
        while let Some(byte) = bytes.get(at) {
            at = at.saturating_add(1);
            match byte {
                b'>' => return Some(from.saturating_add(at)),
                b'"' | b'\'' if after_equals => {
                    let value = bytes.get(at..).unwrap_or_default();
                    let Some(length) = value.iter().position(|other| other == byte) else { break };
                    at = at.saturating_add(length).saturating_add(1);
                    after_equals = false;
                }
                b'=' => after_equals = true,
                byte if byte.is_ascii_whitespace() => {}
                _ => after_equals = false,
            }
        }
        self.spend(bytes.len(), from);
        None
    }

    /// Counts what was looked at in vain. Beyond the limit, the rest is text.
    fn spend(&mut self, bytes: usize, from: usize) {
        self.budget = self.budget.saturating_sub(bytes);
        if self.budget == 0 && self.unread.is_none() {
            self.unread = Some(Span::new(from, self.text.len()));
        }
    }

    /// The end of the content of an element of raw text. `None` if it is no such element, or has no end.
    fn end_of_raw(&mut self, name: Span, from: usize) -> Option<usize> {
        let written = self.text.get(name.start..name.end)?;
        let index = RAW.iter().position(|raw| raw.eq_ignore_ascii_case(written))?;
        let endless = self.endless.get_mut(index).filter(|endless| !**endless)?;
        let mut at = from;
        while let Some(found) = self.text.get(at..).and_then(|rest| rest.find("</")) {
            let start = at.saturating_add(found);
            at = start.saturating_add(2);
            let behind = self.text.get(at..).unwrap_or_default();
            let after = behind.as_bytes().get(written.len());
            if starts_with_name(behind, written)
                && after.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-')
            {
                return Some(start);
            }
        }
        *endless = true;
        None
    }
}

impl Iterator for HtmlTokeniser<'_> {
    type Item = HtmlToken;

    fn next(&mut self) -> Option<HtmlToken> {
        if let Some(token) = self.waiting.take() {
            return Some(token);
        }
        if let Some((name, end)) = self.raw.take()
            && end > self.at
        {
            let place = Span::new(self.at, end);
            (self.at, self.given) = (end, end);
            return Some(HtmlToken::Raw { name, place });
        }
        while self.unread.is_none()
            && let Some(found) = self.rest(self.at).find('<')
        {
            let start = self.at.saturating_add(found);
            let Some(token) = self.markup(start) else {
                self.at = start.saturating_add(1);
                continue;
            };
            let place = token.place();
            let before = Span::new(self.given, place.start);
            (self.at, self.given) = (place.end, place.end);
            if let HtmlToken::Start { name, .. } = token {
                self.raw = self.end_of_raw(name, place.end).map(|end| (name, end));
            }
            if before.is_empty() {
                return Some(token);
            }
            self.waiting = Some(token);
            return Some(HtmlToken::Text(before));
        }
        let text = Span::new(self.given, self.text.len());
        (self.at, self.given) = (text.end, text.end);
        (!text.is_empty()).then_some(HtmlToken::Text(text))
    }
}

impl HtmlToken {
    const fn place(self) -> Span {
        match self {
            Self::Text(place)
            | Self::Raw { place, .. }
            | Self::Start { place, .. }
            | Self::End { place, .. }
            | Self::Comment { place, .. }
            | Self::Declaration(place) => place,
        }
    }
}

/// The comment that starts with `<!--` there (13.2.5.43 to 13.2.5.51). One without an end goes to the end of the page.
fn comment_token(text: &str, start: usize) -> HtmlToken {
    let from = start.saturating_add(4);
    let rest = text.get(from..).unwrap_or_default();
    let empty = if rest.starts_with('>') { Some(1) } else { rest.starts_with("->").then_some(2) };
    if let Some(length) = empty {
        return HtmlToken::Comment {
            content: Span::new(from, from),
            place: Span::new(start, from.saturating_add(length)),
        };
    }
    let mut at = 0usize;
    while let Some(found) = rest.get(at..).and_then(|rest| rest.find("--")) {
        let dashes = at.saturating_add(found);
        let behind = rest.get(dashes.saturating_add(2)..).unwrap_or_default();
        let length = if behind.starts_with('>') { Some(3) } else { behind.starts_with("!>").then_some(4) };
        if let Some(length) = length {
            let end = from.saturating_add(dashes);
            return HtmlToken::Comment {
                content: Span::new(from, end),
                place: Span::new(start, end.saturating_add(length)),
            };
        }
        at = dashes.saturating_add(1);
    }
    HtmlToken::Comment { content: Span::new(from, text.len()), place: Span::new(start, text.len()) }
}

fn starts_with_name(text: &str, name: &str) -> bool {
    text.as_bytes().get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}

/// An attribute. Places are in the page, the value's without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: Span,
    pub(super) value: Span,
}

/// The attributes of a tag (13.2.5.32 to 13.2.5.39).
pub(super) struct TagAttributes<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl<'a> TagAttributes<'a> {
    pub(super) const fn new(text: &'a str, place: Span) -> Self {
        Self { text, at: place.start, end: place.end }
    }

    /// Moves over what the predicate takes. Gives the span.
    fn skip(&mut self, takes: impl Fn(u8) -> bool) -> Span {
        let start = self.at;
        let bytes = self.text.as_bytes().get(start..self.end).unwrap_or_default();
        self.at = start.saturating_add(bytes.iter().take_while(|byte| takes(**byte)).count());
        Span::new(start, self.at)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at..self.end).and_then(|bytes| bytes.first()).copied()
    }
}

impl Iterator for TagAttributes<'_> {
    type Item = Attribute;

    fn next(&mut self) -> Option<Attribute> {
        self.skip(|byte| byte.is_ascii_whitespace() || byte == b'/');
        let start = self.at;
        self.byte()?;
        // An equals sign belongs to the name if the name starts with it.
        self.at = self.at.saturating_add(usize::from(self.byte() == Some(b'=')));
        self.skip(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'='));
        let name = Span::new(start, self.at);
        self.skip(|byte| byte.is_ascii_whitespace());
        if self.byte() != Some(b'=') {
            return Some(Attribute { name, value: Span::new(self.at, self.at) });
        }
        self.at = self.at.saturating_add(1);
        self.skip(|byte| byte.is_ascii_whitespace());
        let value = match self.byte() {
            Some(quote @ (b'"' | b'\'')) => {
                self.at = self.at.saturating_add(1);
                let value = self.skip(|byte| byte != quote);
                self.at = self.at.saturating_add(1).min(self.end);
                value
            }
            _ => self.skip(|byte| !byte.is_ascii_whitespace()),
        };
        Some(Attribute { name, value })
    }
}
