//! Reads one value leniently, in one pass.
//!
//! Every byte is looked at a bounded number of times: nothing is read again, and looking ahead never
//! goes past what is consumed next. Recursion goes as deep as [`MAX_DEPTH`].

use std::collections::BTreeMap;
use std::mem;

use proem_text::{Span, first_bytes};

use super::around::is_space_between_values;
use super::cursor::LenientReader;
use super::strings::{StringPosition, is_quote};
use super::tree::{Id, JsonNodeKind, JsonTree, ObjectMember};
use super::turns::is_template_token;
use super::{MAX_DEPTH, RepairKind};

/// The longest key without quotes.
const MAX_BARE_KEY_BYTES: usize = 256;

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text here is no value.
    NoValue,
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
}

impl LenientReader<'_> {
    /// The value that starts here.
    pub(super) fn tree(&mut self) -> Result<JsonTree, Stop> {
        let root = self.value()?.ok_or(Stop::NoValue)?;
        if let Some(start) = self.cut {
            self.repairs.push(RepairKind::OpenEnd, Span::new(start, self.at));
        }
        Ok(JsonTree {
            nodes: mem::take(&mut self.nodes),
            root,
            repairs: mem::take(&mut self.repairs),
            cut: self.cut.is_some(),
            torn: self.torn,
            turn: 0,
            lead: 0,
        })
    }

    /// Whether nothing but white space and comments is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.space();
        self.at >= self.end
    }

    fn value(&mut self) -> Result<Option<Id>, Stop> {
        let start = self.at;
        match self.char() {
            None => Ok(None),
            Some('{') => self.object().map(Some),
            Some('[') => self.list().map(Some),
            Some(c) if is_quote(c) => {
                let Some(quoted) = self.quoted(StringPosition::Value) else { return Ok(None) };
                if quoted.open {
                    self.cut(start);
                    self.repairs.push(RepairKind::OpenText, Span::new(start, self.at));
                }
                let kind = match quoted.open {
                    // The end of a text could be read in two ways, and a value that is half another's is worse than
                    // none.
                    _ if quoted.ambiguous => JsonNodeKind::Unread,
                    true => JsonNodeKind::OpenText(quoted.text),
                    false => JsonNodeKind::Text(quoted.text),
                };
                Ok(Some(self.add(kind, start)))
            }
            Some(_) => Ok(self.unquoted()),
        }
    }

    fn enter(&mut self) -> Result<usize, Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::TooDeep);
        }
        self.depth = self.depth.saturating_add(1);
        let start = self.at;
        self.at = self.at.saturating_add(1);
        Ok(start)
    }

    fn list(&mut self) -> Result<Id, Stop> {
        let start = self.enter()?;
        self.open_lists = self.open_lists.saturating_add(1);
        let mut elements = Vec::new();
        let mut comma = None;
        loop {
            self.space();
            match self.char() {
                None if self.opens_nothing(elements.is_empty()) => return Err(Stop::NoValue),
                Some(']' | '}') | None => {
                    // Nobody knows how long a list without an end was to be.
                    if self.char().is_none() && self.cut.is_none() && comma.is_none() {
                        self.repairs.push(RepairKind::CutOff, Span::new(start, self.at));
                    }
                    if self.closes(']', comma) {
                        break;
                    }
                }
                Some(',') => self.extra_comma(),
                // At the end of a list that has elements they displace none.
                Some('.' | '…') if !elements.is_empty() && self.ellipsis(']') => comma = None,
                Some(_) => {
                    self.expect_comma(comma, elements.is_empty());
                    let from = self.at;
                    match self.value()? {
                        Some(element) => elements.push(element),
                        None => self.repairs.push(RepairKind::CutOff, Span::new(from, self.at)),
                    }
                    comma = self.comma();
                }
            }
        }
        self.open_lists = self.open_lists.saturating_sub(1);
        self.depth = self.depth.saturating_sub(1);
        // A hole would put every later element into another's place.
        let has = |kind: fn(&JsonNodeKind) -> bool| {
            elements.iter().any(|id| self.nodes.get(*id).is_some_and(|node| kind(&node.kind)))
        };
        let hole = has(|kind| matches!(kind, JsonNodeKind::Unread));
        // Words among texts are a remark, such as `and more`.
        let remark =
            has(|kind| matches!(kind, JsonNodeKind::Bare)) && has(|kind| matches!(kind, JsonNodeKind::Text(_)));
        let kind = if hole || remark { JsonNodeKind::Unread } else { JsonNodeKind::List(elements) };
        Ok(self.add(kind, start))
    }

    fn object(&mut self) -> Result<Id, Stop> {
        let start = self.enter()?;
        self.open_objects = self.open_objects.saturating_add(1);
        let mut members: Vec<ObjectMember> = Vec::new();
        let (mut comma, mut junk) = (None, false);
        loop {
            self.space();
            match self.char() {
                None if self.opens_nothing(members.is_empty() && !junk) => return Err(Stop::NoValue),
                Some(']' | '}') | None => {
                    if self.closes('}', comma) {
                        break;
                    }
                }
                Some(',') => self.extra_comma(),
                Some('.' | '…') if !members.is_empty() && self.ellipsis('}') => comma = self.comma(),
                Some(_) => {
                    let from = self.at;
                    self.expect_comma(comma, members.is_empty());
                    match self.member()? {
                        MemberReading::Member(member) => members.push(member),
                        MemberReading::Cut => {
                            self.cut(from);
                            self.repairs.push(RepairKind::CutOff, Span::new(from, self.at));
                        }
                        // Text that doesn't even start like an object is prose between brackets.
                        MemberReading::Junk if self.depth == 1 && members.is_empty() && !junk => {
                            return Err(Stop::NoValue);
                        }
                        MemberReading::Junk => {
                            junk = true;
                            self.skip_junk(from)?;
                            self.doubt(members.last(), Span::new(from, self.at));
                        }
                    }
                    comma = self.comma();
                }
            }
        }
        self.open_objects = self.open_objects.saturating_sub(1);
        self.depth = self.depth.saturating_sub(1);
        self.keep_last(&mut members);
        let kind = if junk && members.is_empty() { JsonNodeKind::Unread } else { JsonNodeKind::Object(members) };
        Ok(self.add(kind, start))
    }

    /// Whether the text ends behind a bracket that nothing follows.
    const fn opens_nothing(&self, empty: bool) -> bool {
        empty && self.depth == 1 && self.cut.is_none()
    }

    /// Whether what is here ends a list or object that ends with `closer`.
    fn closes(&mut self, closer: char, comma: Option<Span>) -> bool {
        let found = self.char();
        let here = Span::new(self.at, self.at.saturating_add(1));
        let elsewhere = if closer == ']' { self.open_objects } else { self.open_lists };
        match found {
            None => {
                self.cut(self.at);
                // The brackets that are missing may be those that the text swallowed.
                self.torn |= self.closed_inside;
                // Something was to follow.
                if let Some(comma) = comma {
                    self.repairs.push(RepairKind::CutOff, comma);
                }
                return true;
            }
            Some(c) if c == closer => self.at = here.end,
            // The bracket belongs to a list or object further out, so that this one was never closed. It is left for
            // that one to read.
            Some(_) if elsewhere > 0 => {
                self.repairs.push(RepairKind::MissingBracket, Span::new(self.at, self.at));
            }
            Some(_) => {
                self.at = here.end;
                self.repairs.push(RepairKind::Stray, here);
                return false;
            }
        }
        if let Some(comma) = comma {
            self.repairs.push(RepairKind::ExtraComma, comma);
        }
        true
    }

    fn member(&mut self) -> Result<MemberReading, Stop> {
        let start = self.at;
        let (key, bare) = match self.quoted(StringPosition::Key) {
            Some(key) if key.ambiguous => return Ok(MemberReading::Junk),
            Some(key) if key.open => return Ok(MemberReading::Cut),
            Some(key) => (key.text, false),
            None => {
                let key = self.bare_key();
                // Its closing quote may be there without the opening one.
                if !key.is_empty() && self.rest().strip_prefix('"').is_some_and(|rest| rest.starts_with(':')) {
                    self.at = self.at.saturating_add(1);
                }
                (key, true)
            }
        };
        let key_span = Span::new(start, self.at);
        self.space();
        match self.char() {
            _ if bare && key.is_empty() => return Ok(MemberReading::Junk),
            Some(':') => self.at = self.at.saturating_add(1),
            None => return Ok(MemberReading::Cut),
            Some(_) => return Ok(MemberReading::Junk),
        }
        if bare {
            self.repairs.push(RepairKind::UnquotedKey, key_span);
        }
        self.space();
        let value = match self.char() {
            None => None,
            Some(',' | '}' | ']') => Some(self.add(JsonNodeKind::Unread, self.at)),
            Some(_) => self.value()?,
        };
        if let Some(value) = value {
            self.doubt_variable(&key, value);
        }
        Ok(value.map_or(MemberReading::Cut, |value| MemberReading::Member(ObjectMember { key, key_span, value })))
    }

    /// A word without quotes that is its key's own name represents a value in a piece of code.
    fn doubt_variable(&mut self, key: &str, value: Id) {
        let Some(node) = self.nodes.get_mut(value).filter(|node| matches!(node.kind, JsonNodeKind::Bare)) else {
            return;
        };
        let word = self.text.get(node.span.start..node.span.end).unwrap_or_default();
        if word.eq_ignore_ascii_case(key) || (word.contains('_') && !word.contains(' ')) {
            node.kind = JsonNodeKind::Unread;
        }
    }

    fn bare_key(&mut self) -> String {
        let rest = self.rest();
        let rest = first_bytes(rest, MAX_BARE_KEY_BYTES);
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.');
        let key = rest.trim_start_matches(is_part);
        let key = rest.get(..rest.len().saturating_sub(key.len())).unwrap_or_default();
        self.at = self.at.saturating_add(key.len());
        key.to_owned()
    }

    /// Leaves out what is no member, up to the next one.
    fn skip_junk(&mut self, from: usize) -> Result<(), Stop> {
        while let Some(c) = self.char() {
            match c {
                ',' | '}' | ']' | '\n' if self.at > from => break,
                '{' | '[' => _ = self.value()?,
                _ => self.at = self.at.saturating_add(c.len_utf8()),
            }
        }
        self.repairs.push(RepairKind::Stray, Span::new(from, self.at));
        Ok(())
    }

    /// A value before junk may go on in that junk. One with brackets, if they were closed too early.
    fn doubt(&mut self, member: Option<&ObjectMember>, junk: Span) {
        if member.is_none() {
            self.repairs.push(RepairKind::LeftOut, junk);
        }
        if let Some(node) = member.and_then(|member| self.nodes.get_mut(member.value)) {
            self.torn |= matches!(node.kind, JsonNodeKind::List(_) | JsonNodeKind::Object(_));
            node.kind = JsonNodeKind::Unread;
        }
    }

    /// Of members with one key the last counts. One with another value is a loss.
    fn keep_last(&mut self, members: &mut Vec<ObjectMember>) {
        let mut last: BTreeMap<&str, &str> = BTreeMap::new();
        let mut twice: BTreeMap<usize, bool> = BTreeMap::new();
        for (at, member) in members.iter().enumerate().rev() {
            let value = self.nodes.get(member.value).map_or(Span::default(), |node| node.span);
            let value = self.text.get(value.start..value.end).unwrap_or_default();
            match last.get(member.key.as_str()) {
                Some(other) => _ = twice.insert(at, *other == value),
                None => _ = last.insert(&member.key, value),
            }
        }
        let mut at = 0_usize;
        members.retain(|member| {
            let same = twice.get(&at);
            if let Some(same) = same {
                let end = self.nodes.get(member.value).map_or(member.key_span.end, |node| node.span.end);
                let span = Span::new(member.key_span.start, end);
                self.repairs.push(RepairKind::DuplicateKey, span);
                if !same {
                    self.repairs.push(RepairKind::LeftOut, span);
                }
            }
            at = at.saturating_add(1);
            same.is_none()
        });
    }

    /// Leaves out dots that are here for more. In a list (`closer` is `]`) only if it ends behind them.
    fn ellipsis(&mut self, closer: char) -> bool {
        let rest = self.rest();
        let Some(after) = rest.strip_prefix("...").or_else(|| rest.strip_prefix('…')) else { return false };
        let after = after.trim_start_matches(|c| c == '.' || is_space_between_values(c));
        let ends = match closer {
            ']' => after.starts_with(']'),
            _ => after.starts_with([',', closer]),
        };
        if ends {
            let start = self.at;
            self.at = start.saturating_add(rest.len().saturating_sub(after.len()));
            self.repairs.push(RepairKind::Ellipsis, Span::new(start, self.at));
        }
        ends
    }

    /// The comma that is here, if one does.
    fn comma(&mut self) -> Option<Span> {
        self.space();
        (self.char() == Some(',')).then(|| {
            let start = self.at;
            self.at = self.at.saturating_add(1);
            Span::new(start, self.at)
        })
    }

    fn expect_comma(&mut self, comma: Option<Span>, first: bool) {
        if comma.is_none() && !first {
            // The comma that is missing may be the one that the text before it ends with.
            let last = self.nodes.last().map(|node| &node.kind);
            self.torn |= matches!(last, Some(JsonNodeKind::Text(text)) if text.trim_end().ends_with(','));
            self.repairs.push(RepairKind::MissingComma, Span::new(self.at, self.at));
        }
    }

    fn extra_comma(&mut self) {
        let start = self.at;
        self.at = self.at.saturating_add(1);
        self.repairs.push(RepairKind::ExtraComma, Span::new(start, self.at));
    }

    /// Skips white space and comments. A line that ends a fence, and the end of an element, are the
    /// end of the text.
    fn space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(is_space_between_values);
            self.at = self.at.saturating_add(rest.len().saturating_sub(trimmed.len()));
            let len = match trimmed.as_bytes() {
                [b'/', b'/', ..] => line_len(trimmed),
                [b'#', ..] if self.starts_line() => line_len(trimmed),
                [b'/', b'*', ..] => trimmed.find("*/").map_or(trimmed.len(), |at| at.saturating_add(2)),
                [b'`' | b'~', ..] if self.starts_line() && self.is_fence() => return self.end = self.at,
                [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => return self.end = self.at,
                [b'<', ..] if is_template_token(trimmed) => return self.end = self.at,
                _ => return,
            };
            let end = self.at.saturating_add(len);
            self.repairs.push(RepairKind::Comment, Span::new(self.at, end));
            self.at = end;
        }
    }
}

/// The reading at the place of a member.
enum MemberReading {
    Member(ObjectMember),
    /// The text ends inside of it.
    Cut,
    /// No member.
    Junk,
}

/// The length of the first line without its end.
fn line_len(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}
