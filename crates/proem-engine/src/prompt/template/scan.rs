//! Reads a template's characters: where a tag starts, and the words in it.
//!
//! Source: the lexer of handlebars.js 4.7, `src/handlebars.l`.

use super::LineColumn;
use super::error::TemplateSyntaxError;

/// A place in a template's text. It only moves on.
#[derive(Debug)]
pub(super) struct TemplateScanner<'t> {
    text: &'t str,
    at: usize,
    place: LineColumn,
    /// The start of the current tag.
    tag: LineColumn,
}

/// A tag's first characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagOpener {
    /// `{{{{`.
    Raw,
    Comment,
    Print,
    /// `{{{`.
    PrintBraces,
    /// `{{*`.
    Decorator,
    Block,
    /// `{{#*`.
    Inline,
    Partial,
    PartialBlock,
    Close,
    /// `{{^` before a name.
    Inverted,
    /// `{{^}}` and `{{else}}`, read to the end.
    Else,
    /// `{{else` before a name.
    Chain,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TagWord {
    Text(String),
    Number(String),
    True,
    False,
    Null,
    Undefined,
    /// A name, `.`, `..` or, with brackets around it, any text.
    Name {
        name: String,
        is_bracketed: bool,
    },
}

/// As JavaScript's `\s`.
pub(super) fn is_javascript_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

fn is_tag_name_character(c: char) -> bool {
    !is_javascript_space(c)
        && !matches!(c, '!' | '"' | '#' | '%'..=',' | '.' | '/' | ';'..='>' | '@' | '['..='^' | '`' | '{'..='~')
}

/// Whether a character may follow a name.
fn can_follow_name(c: char) -> bool {
    is_javascript_space(c) || matches!(c, '=' | '~' | '}' | '/' | '.' | ')' | '|')
}

/// Whether a character may follow a literal.
fn ends_literal(c: char) -> bool {
    is_javascript_space(c) || matches!(c, '~' | '}' | ')')
}

impl<'t> TemplateScanner<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0, place: LineColumn::START, tag: LineColumn::START }
    }

    pub(super) const fn place(&self) -> LineColumn {
        self.place
    }

    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Result<T, TemplateSyntaxError> {
        TemplateSyntaxError::at(self.place, message)
    }

    /// Takes the next `bytes`.
    pub(super) fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, _) = self.rest().split_at_checked(bytes).unwrap_or((self.rest(), ""));
        self.place = self.place.behind(taken);
        self.at = self.at.saturating_add(taken.len());
        taken
    }

    /// Takes `what` if it is here.
    pub(super) fn eat(&mut self, what: &str) -> bool {
        let stands = self.rest().starts_with(what);
        if stands {
            self.take(what.len());
        }
        stands
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        self.take(rest.len().saturating_sub(rest.trim_start_matches(is_javascript_space).len()));
    }

    /// The text up to the next tag, and the text that a backslash before a tag makes of it.
    ///
    /// A tag behind one backslash is text. Behind two, the tag is one and a backslash is before it.
    pub(super) fn content(&mut self) -> (&'t str, Option<&'t str>) {
        let rest = self.rest();
        let Some(tag) = rest.find("{{") else { return (self.take(rest.len()), None) };
        let text = self.take(tag);
        match text.strip_suffix('\\') {
            Some(before) if before.ends_with('\\') => (before, None),
            Some(before) => (before, Some(self.escaped())),
            None => (text, None),
        }
    }

    /// The tag that is text, up to the next tag with the backslashes before it.
    fn escaped(&mut self) -> &'t str {
        let rest = self.rest();
        let behind = rest.get(2..).unwrap_or_default();
        let length = behind.find("{{").map_or(rest.len(), |tag| {
            let text = behind.get(..tag).unwrap_or_default();
            let slashes = text.len().saturating_sub(text.trim_end_matches('\\').len()).min(2);
            tag.saturating_add(2).saturating_sub(slashes)
        });
        self.take(length)
    }

    /// Takes the first characters of the tag that is here, and whether it takes the white space before it.
    pub(super) fn opening(&mut self) -> (TagOpener, bool) {
        self.tag = self.place;
        if self.eat("{{{{") {
            return (TagOpener::Raw, false);
        }
        self.eat("{{");
        let strips = self.eat("~");
        if self.is_else() {
            return (TagOpener::Else, strips);
        }
        // handlebars.js wants the sign right behind the braces. Files that were read before need not have it so.
        let rest = self.rest().trim_start_matches(is_javascript_space);
        if rest.starts_with(['#', '^', '/', '>', '&']) || is_word_else(rest) {
            self.skip_space();
        }
        let openings = [
            (">", TagOpener::Partial),
            ("#>", TagOpener::PartialBlock),
            ("#*", TagOpener::Inline),
            ("#", TagOpener::Block),
            ("/", TagOpener::Close),
            ("^", TagOpener::Inverted),
            ("{", TagOpener::PrintBraces),
            ("&", TagOpener::Print),
            ("!", TagOpener::Comment),
            ("*", TagOpener::Decorator),
        ];
        for (sign, opening) in openings {
            if self.eat(sign) {
                return (opening, strips);
            }
        }
        if is_word_else(self.rest()) {
            self.take("else".len());
            return (TagOpener::Chain, strips);
        }
        (TagOpener::Print, strips)
    }

    /// Whether an `{{else}}` or `{{^}}` is here, behind its first braces.
    fn is_else(&self) -> bool {
        let rest = self.rest().trim_start_matches(is_javascript_space);
        let behind = rest.strip_prefix('^').or_else(|| rest.strip_prefix("else"));
        behind.is_some_and(|behind| {
            let behind = behind.trim_start_matches(is_javascript_space);
            behind.strip_prefix('~').unwrap_or(behind).starts_with("}}")
        })
    }

    /// Takes what `{{else}}` and `{{^}}` have before their end.
    pub(super) fn pass_else(&mut self) {
        self.skip_space();
        if !self.eat("^") {
            self.eat("else");
        }
    }

    /// Takes the tag's end. Whether it takes the white space behind it.
    pub(super) fn closing(&mut self, end: &str) -> Result<bool, TemplateSyntaxError> {
        self.skip_space();
        // Three braces have the mark between the first and the others.
        let (first, braces) = if end == "}}}" { ("}", "}}") } else { ("", end) };
        if !self.eat(first) {
            return self.unreadable();
        }
        let strips = self.eat("~");
        if self.eat(braces) { Ok(strips) } else { self.unreadable() }
    }

    pub(super) fn unreadable<T>(&self) -> Result<T, TemplateSyntaxError> {
        match self.rest().is_empty() {
            true => TemplateSyntaxError::at(self.tag, "this tag is not closed"),
            false => self.fault("this can't be read as a template"),
        }
    }

    /// Whether the tag ends here.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_space();
        let rest = self.rest();
        rest.strip_prefix('~').unwrap_or(rest).starts_with('}') || rest.is_empty()
    }

    /// Whether `as |` is here.
    pub(super) fn is_at_parameters(&self) -> bool {
        let behind = self.rest().strip_prefix("as").filter(|behind| behind.starts_with(is_javascript_space));
        behind.is_some_and(|behind| behind.trim_start_matches(is_javascript_space).starts_with('|'))
    }

    /// Takes `as |` if it is here.
    pub(super) fn opens_parameters(&mut self) -> bool {
        self.skip_space();
        let opens = self.is_at_parameters();
        if opens {
            self.eat("as");
            self.skip_space();
            self.eat("|");
        }
        opens
    }

    /// The name of a named argument whose `=` is behind it, both taken.
    pub(super) fn argument_name(&mut self) -> Result<Option<String>, TemplateSyntaxError> {
        self.skip_space();
        let rest = self.rest();
        let length = match rest.strip_prefix('[') {
            Some(inside) => inside.find(']').map_or(0, |end| end.saturating_add(2)),
            None => rest.find(|c| !is_tag_name_character(c)).unwrap_or(rest.len()),
        };
        let behind = rest.get(length..).unwrap_or_default();
        if length == 0 || !behind.trim_start_matches(is_javascript_space).starts_with('=') {
            return Ok(None);
        }
        let TagWord::Name { name, .. } = self.word()? else { return self.unreadable() };
        self.skip_space();
        self.eat("=");
        Ok(Some(name))
    }

    /// Takes the word that is here.
    pub(super) fn word(&mut self) -> Result<TagWord, TemplateSyntaxError> {
        self.skip_space();
        let rest = self.rest();
        match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some('[') => self.bracketed(),
            Some('.') => self.dots().map_or_else(|| self.unreadable(), Ok),
            _ => self.plain(),
        }
    }

    /// Takes the name that is behind a separator. There a number is one, too.
    pub(super) fn segment(&mut self) -> Result<TagWord, TemplateSyntaxError> {
        match self.rest().chars().next() {
            Some('[') => self.bracketed(),
            Some('.') => self.dots().map_or_else(|| self.unreadable(), Ok),
            _ => self.name(),
        }
    }

    fn dots(&mut self) -> Option<TagWord> {
        let name = if self.rest().starts_with("..") { ".." } else { "." };
        let behind = self.rest().get(name.len()..).unwrap_or_default();
        if name == "." && !behind.starts_with(can_follow_name) {
            return None;
        }
        self.take(name.len());
        Some(TagWord::Name { name: name.to_owned(), is_bracketed: false })
    }

    fn plain(&mut self) -> Result<TagWord, TemplateSyntaxError> {
        let rest = self.rest();
        if let Some(number) = number_at_start(rest) {
            self.take(number.len());
            return Ok(TagWord::Number(number.to_owned()));
        }
        let literals = [
            ("true", TagWord::True),
            ("false", TagWord::False),
            ("null", TagWord::Null),
            ("undefined", TagWord::Undefined),
        ];
        for (text, word) in literals {
            if rest.strip_prefix(text).is_some_and(|behind| behind.starts_with(ends_literal)) {
                self.take(text.len());
                return Ok(word);
            }
        }
        self.name()
    }

    fn name(&mut self) -> Result<TagWord, TemplateSyntaxError> {
        let rest = self.rest();
        let length = rest.find(|c| !is_tag_name_character(c)).unwrap_or(rest.len());
        let behind = rest.get(length..).unwrap_or_default();
        if length == 0 || !behind.starts_with(can_follow_name) {
            self.take(length);
            return self.unreadable();
        }
        let name = self.take(length).to_owned();
        Ok(TagWord::Name { name, is_bracketed: false })
    }

    /// A text in quotes. A backslash is before quotes of its kind inside.
    fn quoted(&mut self, quote: char) -> Result<TagWord, TemplateSyntaxError> {
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            if c == quote && !escaped {
                self.take(offset.saturating_add(1));
                return Ok(TagWord::Text(text));
            }
            if c == quote {
                text.pop();
            }
            text.push(c);
            escaped = c == '\\';
        }
        self.fault("these quotes are not closed")
    }

    /// Any name in brackets. A backslash is before a bracket or backslash inside.
    fn bracketed(&mut self) -> Result<TagWord, TemplateSyntaxError> {
        let mut name = String::new();
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            if escaped {
                if c != ']' && c != '\\' {
                    name.push('\\');
                }
                name.push(c);
                escaped = false;
            } else if c == ']' {
                self.take(offset.saturating_add(1));
                return Ok(TagWord::Name { name, is_bracketed: true });
            } else if c == '\\' {
                escaped = true;
            } else {
                name.push(c);
            }
        }
        self.fault("this bracket is not closed")
    }

    /// The sign between two names of a path, taken if a name is behind it.
    pub(super) fn separator(&mut self) -> Option<char> {
        let rest = self.rest();
        let sign = rest.chars().next().filter(|c| matches!(c, '.' | '/'))?;
        let behind = rest.get(1..)?;
        (behind.starts_with(is_tag_name_character) || behind.starts_with(['[', '.'])).then(|| {
            self.take(1);
            sign
        })
    }
}

/// Whether the word `else` is at the start, with something behind it.
fn is_word_else(rest: &str) -> bool {
    rest.strip_prefix("else")
        .is_some_and(|behind| behind.starts_with(|c: char| is_javascript_space(c) || c == '"' || c == '\''))
}

/// The number at the start, if nothing but a number is there.
fn number_at_start(rest: &str) -> Option<&str> {
    let digits = |text: &str| text.len().saturating_sub(text.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    let sign = usize::from(rest.starts_with('-'));
    let whole = digits(rest.get(sign..)?);
    let mut length = sign.saturating_add(whole);
    if whole == 0 {
        return None;
    }
    if let Some(fraction) = rest.get(length..)?.strip_prefix('.').map(digits).filter(|count| *count > 0) {
        length = length.saturating_add(fraction).saturating_add(1);
    }
    rest.get(length..)?.starts_with(ends_literal).then(|| rest.get(..length)).flatten()
}
