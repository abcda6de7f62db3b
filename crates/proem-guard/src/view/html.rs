//! The shown and the hidden text of an HTML page, a mail or a Markdown file.
//!
//! Tokens follow section 13.2.5 of the WHATWG HTML standard where they decide what is seen. Of the tree construction
//! (13.2.6) only what decides which element a text is in. It never recurses, and its time grows with the text: see
//! [`tokens`] and [`MOST_OPEN`].

mod elements;
mod style;
mod tokens;

use self::{
    elements::{ElementDisplay, HtmlElement},
    style::{Colours, ElementStyle},
    tokens::{HtmlToken, HtmlTokeniser, TagAttributes},
};
use super::{
    draft::{ApartTexts, DerivedReading, ReadingDraft, ReadingSource},
    entities,
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use proem_text::Span;

/// How many elements may be open inside each other. Browsers stop at the same number.
const MOST_OPEN: usize = 512;

/// How many elements may be open before an unknown one without attributes counts as words: `<duration>` in a manual is
/// never closed, and some hundreds of such placeholders would leave the rest of the manual unread.
const MOST_OPEN_BEFORE_PLACEHOLDERS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct PageReadings {
    pub(super) is_page: bool,
    /// The text that is seen, with block elements on lines of their own.
    pub(super) markup: Option<DerivedReading>,
    /// The text of hidden elements, and code.
    pub(super) hidden: Option<DerivedReading>,
    pub(super) comments: Option<DerivedReading>,
    /// The values of attributes that are text for people.
    pub(super) attributes: Option<DerivedReading>,
    /// The part that is nested too deep, or written too badly, to be read.
    pub(super) unread: Option<Span>,
}

/// Reads the text as a page, if anything in it says that it is one.
pub(super) fn read_page(source: ReadingSource<'_>) -> PageReadings {
    let mut walk = PageWalk::new(source);
    let mut tokens = HtmlTokeniser::new(source.text);
    for token in &mut tokens {
        walk.take(token);
    }
    if !walk.is_page || !walk.is_fresh {
        return PageReadings::default();
    }
    walk.unread.extend(tokens.unread());
    let unread = walk.unread.iter().copied().reduce(|a, b| Span::new(a.start.min(b.start), a.end.max(b.end)));
    PageReadings {
        is_page: true,
        markup: walk.markup.finish().filter(|made| !made.view.text.trim().is_empty()),
        hidden: walk.hidden.finish_copies(),
        comments: walk.comments.finish_copies(),
        attributes: walk.attributes.finish_copies(),
        unread,
    }
}

struct OpenElement {
    name: String,
    is_block: bool,
    /// Whether it and all in it are hidden.
    is_hidden: bool,
    colours: Colours,
}

struct PageWalk<'a> {
    text: &'a str,
    source: ReadingSource<'a>,
    markup: ReadingDraft<'a>,
    hidden: ApartTexts,
    comments: ApartTexts,
    attributes: ApartTexts,
    open: Vec<OpenElement>,
    /// How many elements of each name are open.
    counts: BTreeMap<String, usize>,
    /// How many more than [`MOST_OPEN`] are open.
    beyond: usize,
    /// How many placeholders of each name wait for their end.
    placeholders: BTreeMap<String, usize>,
    unread: Vec<Span>,
    is_page: bool,
    is_fresh: bool,
}

impl<'a> PageWalk<'a> {
    fn new(source: ReadingSource<'a>) -> Self {
        Self {
            text: source.text,
            source,
            markup: ReadingDraft::new(source),
            hidden: ApartTexts::default(),
            comments: ApartTexts::default(),
            attributes: ApartTexts::default(),
            open: Vec::new(),
            counts: BTreeMap::new(),
            beyond: 0,
            placeholders: BTreeMap::new(),
            unread: Vec::new(),
            is_page: false,
            is_fresh: false,
        }
    }

    fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    fn take(&mut self, token: HtmlToken) {
        match token {
            HtmlToken::Text(place) => self.characters(place, true),
            HtmlToken::Raw { name, place } => match self.slice(name).to_ascii_lowercase().as_str() {
                "title" | "textarea" => self.characters(place, true),
                "xmp" => self.characters(place, false),
                _ => self.code(place),
            },
            HtmlToken::Comment { content, place } => {
                self.sees(place, true);
                self.markup.write(place, "");
                if !self.slice(content).trim().is_empty() {
                    self.comments.begin(self.text, content);
                    self.comments.copy(self.text, content);
                    self.comments.end();
                }
            }
            HtmlToken::Declaration(place) => {
                self.sees(place, false);
                self.markup.write(place, "");
            }
            HtmlToken::Start { name, attributes, is_closed, place } => self.start(name, attributes, is_closed, place),
            HtmlToken::End { name, place } => self.end(name, place),
        }
    }

    /// Notes something that isn't text.
    fn sees(&mut self, place: Span, is_sign_of_page: bool) {
        self.is_fresh |= self.source.is_fresh(place);
        let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
        let bytes = self.text.as_bytes();
        let before = place.start.checked_sub(1).and_then(|before| bytes.get(before));
        self.is_page |= is_sign_of_page || (letter(before) && letter(bytes.get(place.end)));
    }

    fn is_hidden(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.is_hidden || frame.colours.hide())
    }

    fn characters(&mut self, place: Span, has_references: bool) {
        let text = self.slice(place);
        let is_hidden = self.is_hidden();
        if is_hidden {
            self.markup.write(place, "");
            self.hidden.begin(self.text, place);
        }
        let mut at = place.start;
        let references = has_references.then(|| entities::references(text, place.start));
        for (reference, c) in references.into_iter().flatten() {
            let mut buffer = [0; 4];
            let c = c.encode_utf8(&mut buffer);
            if is_hidden {
                self.hidden.copy(self.text, Span::new(at, reference.start));
                self.hidden.insert(c, reference);
            } else {
                self.markup.write(reference, c);
            }
            at = reference.end;
        }
        if is_hidden {
            self.hidden.copy(self.text, Span::new(at, place.end));
        }
    }

    /// Text that is run or laid out and not shown.
    fn code(&mut self, place: Span) {
        self.markup.write(place, "");
        self.hidden.end();
        self.hidden.begin(self.text, place);
        self.hidden.copy(self.text, place);
        self.hidden.end();
    }

    fn start(&mut self, name: Span, attributes: Span, is_closed: bool, place: Span) {
        let name = self.slice(name).to_ascii_lowercase();
        let element = HtmlElement::named(&name);
        self.sees(place, element.is_known || !attributes.is_empty());
        let mut look = ElementStyle::default();
        let mut values: Vec<Span> = Vec::new();
        for attribute in TagAttributes::new(self.text, attributes) {
            let value = self.slice(attribute.value);
            look.read(&self.slice(attribute.name).to_ascii_lowercase(), value);
            if elements::is_read_aloud(&name, self.slice(attribute.name), value) {
                values.push(attribute.value);
            }
        }
        for value in values {
            self.attribute(value);
        }
        if element.kind == ElementDisplay::Block {
            self.close_before(&name);
        }
        self.border(&element, place);
        let is_placeholder = !element.is_known && attributes.is_empty();
        if is_placeholder && !is_closed && self.open.len() >= MOST_OPEN_BEFORE_PLACEHOLDERS {
            let waiting = self.placeholders.entry(name).or_default();
            *waiting = waiting.saturating_add(1);
        } else if element.kind != ElementDisplay::Void && (element.is_known || !is_closed) {
            self.push(name, &element, &look, place);
        }
    }

    fn attribute(&mut self, value: Span) {
        self.attributes.begin(self.text, value);
        let mut at = value.start;
        for (reference, c) in entities::references(self.slice(value), value.start) {
            self.attributes.copy(self.text, Span::new(at, reference.start));
            self.attributes.insert(c.encode_utf8(&mut [0; 4]), reference);
            at = reference.end;
        }
        self.attributes.copy(self.text, Span::new(at, value.end));
        self.attributes.end();
    }

    /// Replaces a tag by what it means for the lines.
    fn border(&mut self, element: &HtmlElement, place: Span) {
        let border = element.border();
        let is_left_out = self.open.last().is_some_and(|frame| frame.is_hidden);
        self.markup.write(place, if is_left_out { "" } else { border });
        if self.hidden.is_open() && !border.is_empty() {
            self.hidden.insert(border, place);
        }
    }

    /// Closes what ends by itself before the element: a paragraph before a block, an item before
    /// the next.
    fn close_before(&mut self, name: &str) {
        let ends = |open: &OpenElement| {
            open.name == "p"
                || (open.name == name && matches!(name, "li" | "dt" | "dd" | "option" | "tr" | "td" | "th"))
        };
        if self.open.last().is_some_and(ends) {
            self.pop();
        }
    }

    fn push(&mut self, name: String, element: &HtmlElement, look: &ElementStyle, place: Span) {
        if self.open.len() >= MOST_OPEN {
            self.beyond = self.beyond.saturating_add(1);
            self.unread.push(place);
            self.shorten_unread();
            return;
        }
        let (is_hidden, colours) =
            self.open.last().map_or((false, Colours::default()), |frame| (frame.is_hidden, frame.colours));
        let count = self.counts.entry(name.clone()).or_default();
        *count = count.saturating_add(1);
        self.open.push(OpenElement {
            name,
            is_block: element.kind == ElementDisplay::Block,
            is_hidden: is_hidden || element.is_hidden || look.is_hidden(),
            colours: colours.with(look),
        });
    }

    /// Keeps one span for all that is too deep.
    fn shorten_unread(&mut self) {
        if let [first, .., last] = self.unread.as_slice() {
            let all = Span::new(first.start, last.end);
            self.unread.clear();
            self.unread.push(all);
        }
    }

    fn pop(&mut self) {
        let was_hidden = self.is_hidden();
        if let Some(frame) = self.open.pop()
            && let Some(count) = self.counts.get_mut(&frame.name)
        {
            *count = count.saturating_sub(1);
        }
        if was_hidden && !self.is_hidden() {
            self.hidden.end();
        }
    }

    fn end(&mut self, name: Span, place: Span) {
        let name = self.slice(name).to_ascii_lowercase();
        let element = HtmlElement::named(&name);
        self.sees(place, element.is_known);
        if let Some(waiting) = self.placeholders.get_mut(&name).filter(|waiting| **waiting > 0) {
            *waiting = waiting.saturating_sub(1);
        } else if self.beyond > 0 {
            self.beyond = self.beyond.saturating_sub(1);
            self.unread.push(place);
            self.shorten_unread();
        } else if self.counts.get(&name).is_some_and(|count| *count > 0) {
            self.close(&name, element.kind == ElementDisplay::Block);
        }
        self.border(&element, place);
    }

    /// Closes the innermost element of the name and what is open in it. An element inside a line
    /// doesn't close a block in it (the adoption agency, 13.2.6.4.7).
    fn close(&mut self, name: &str, is_block: bool) {
        let index = self.open.iter().rposition(|frame| frame.name == name);
        let Some(index) = index else { return };
        let inside = self.open.get(index.saturating_add(1)..).unwrap_or_default();
        if !is_block && inside.iter().any(|frame| frame.is_block) {
            if let Some(frame) = self.open.get_mut(index) {
                frame.name.clear();
            }
            if let Some(count) = self.counts.get_mut(name) {
                *count = count.saturating_sub(1);
            }
            return;
        }
        while self.open.len() > index {
            self.pop();
        }
    }
}

/// The comments that Markdown makes of link definitions nobody refers to: `[//]: # (text)`,
/// `[comment]: <> (text)`.
pub(super) fn markdown_comments(source: ReadingSource<'_>) -> Option<DerivedReading> {
    let mut gathered = ApartTexts::default();
    let mut start = 0usize;
    for line in source.text.split_inclusive('\n') {
        let comment = markdown_comment(line);
        if let Some(comment) = comment
            && source.is_fresh(Span::new(start, start.saturating_add(line.len())))
        {
            let content = Span::new(start.saturating_add(comment.start), start.saturating_add(comment.end));
            gathered.begin(source.text, content);
            gathered.copy(source.text, content);
            gathered.end();
        }
        start = start.saturating_add(line.len());
    }
    gathered.finish_copies()
}

fn markdown_comment(line: &str) -> Option<Span> {
    let rest = line.trim_start().strip_prefix('[')?;
    let (label, rest) = rest.split_once("]:")?;
    let rest = rest.trim_start();
    let target = rest.split_whitespace().next()?;
    let is_comment =
        matches!(label.to_ascii_lowercase().as_str(), "//" | "comment" | "" | "_") || matches!(target, "#" | "<>");
    let content = rest.strip_prefix(target)?.trim();
    let content = is_comment.then(|| content.get(1..content.len().checked_sub(1)?)).flatten()?;
    let end = line.rfind(content)?;
    Some(Span::new(end, end.saturating_add(content.len())))
}
