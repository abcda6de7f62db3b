//! The definition by the signs before a `{` or a `;`.

use core::ops::Range;

use super::super::{SymbolKind, kept_name};
use crate::dialect::Dialect;

/// The most signs of a head that are kept.
const MOST_SIGNS: usize = 512;

/// Words that are where the name of a function would and are none.
const NO_NAMES: [&[u8]; 34] = [
    b"if",
    b"for",
    b"while",
    b"switch",
    b"catch",
    b"return",
    b"sizeof",
    b"else",
    b"do",
    b"foreach",
    b"lock",
    b"using",
    b"fixed",
    b"when",
    b"throw",
    b"throws",
    b"new",
    b"await",
    b"alignas",
    b"decltype",
    b"noexcept",
    b"requires",
    b"explicit",
    b"asm",
    b"__asm__",
    b"__attribute__",
    b"__attribute",
    b"__declspec",
    b"_Alignas",
    b"typeof",
    b"__typeof__",
    b"static_assert",
    b"_Static_assert",
    b"defined",
];

/// Words that say how something is defined and not of which type it is.
const STORAGE: [&[u8]; 14] = [
    b"static",
    b"extern",
    b"inline",
    b"__inline",
    b"__inline__",
    b"virtual",
    b"friend",
    b"constexpr",
    b"register",
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"export",
];

/// Words that follow the parameters of a function.
const AFTER: [&[u8]; 8] = [b"const", b"noexcept", b"override", b"final", b"volatile", b"try", b"async", b"mutable"];

/// The contents of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Statements or values.
    Nothing,
    /// Definitions of a file or namespace.
    Definitions,
    Members,
    /// Members that need no body.
    Contract,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Word,
    /// `::`.
    Scope,
    Mark(u8),
}

#[derive(Debug, Clone)]
pub(super) struct HeadSign {
    pub(super) sign: Sign,
    pub(super) range: Range<usize>,
    pub(super) line: usize,
    /// How many brackets are open around it.
    pub(super) depth: usize,
}

/// The kind of a block.
pub(super) struct Opening {
    pub(super) holds: Holds,
    pub(super) definition: Option<HeadDefinition>,
    /// Whether the head goes on behind the block.
    pub(super) goes_on: bool,
}

/// A definition as its head says it; without a name if that may follow its block.
pub(super) struct HeadDefinition {
    pub(super) kind: SymbolKind,
    pub(super) name: String,
    pub(super) line: usize,
}

/// The signs since the last statement or block.
#[derive(Debug, Default)]
pub(super) struct Head {
    signs: Vec<HeadSign>,
    pub(super) indent: usize,
    /// The beginning of the signs behind the last declaration of a parameter in the style before ANSI C.
    waiting: Option<usize>,
}

impl Head {
    pub(super) fn push(&mut self, sign: HeadSign) {
        if self.signs.len() < MOST_SIGNS {
            self.signs.push(sign);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    pub(super) fn first_line(&self) -> Option<usize> {
        self.signs.first().map(|sign| sign.line)
    }

    fn word<'s>(&self, at: usize, source: &'s [u8]) -> Option<&'s [u8]> {
        let sign = self.signs.get(at).filter(|sign| sign.sign == Sign::Word)?;
        source.get(sign.range.clone())
    }

    fn is_mark(&self, at: usize, mark: u8) -> bool {
        self.signs.get(at).is_some_and(|sign| sign.sign == Sign::Mark(mark))
    }

    /// The places of the signs outside of brackets.
    fn outside(&self) -> impl Iterator<Item = usize> {
        self.signs.iter().enumerate().filter(|(_, sign)| sign.depth == 0).map(|(at, _)| at)
    }

    fn position(&self, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        self.outside().find(|at| is_wanted(*at))
    }

    /// Whether it ends in words that say who may see the members behind them, before their colon.
    pub(super) fn is_access(&self, source: &[u8]) -> bool {
        let last = self.signs.len().checked_sub(1).and_then(|at| self.word(at, source));
        last.is_some_and(|word| {
            matches!(word, b"public" | b"private" | b"protected" | b"slots" | b"signals" | b"default")
        })
    }

    /// Whether it is a function with the declarations of its parameters behind them: `f(a, b) int a; char *b;`.
    pub(super) fn is_old_style(&self, source: &[u8], dialect: Dialect) -> bool {
        if dialect != Dialect::C {
            return false;
        }
        let from = match self.waiting {
            Some(from) => from,
            None => {
                let Some((_, open)) = self.function(source, dialect) else { return false };
                let Some(close) = self.closing(open) else { return false };
                let mut inside = (open.saturating_add(1)..close).peekable();
                let are_names = inside.peek().is_some()
                    && inside.enumerate().all(|(number, at)| match number % 2 {
                        0 => self.word(at, source).is_some(),
                        _ => self.is_mark(at, b','),
                    });
                if !are_names {
                    return false;
                }
                close.saturating_add(1)
            }
        };
        // A declaration has a type and a name, and no value.
        let behind = self.signs.get(from..).unwrap_or_default();
        let words = behind.iter().filter(|sign| sign.sign == Sign::Word && sign.depth == 0).count();
        let is_plain = behind.iter().all(|sign| {
            sign.depth > 0 || matches!(sign.sign, Sign::Word | Sign::Mark(b'*' | b',' | b'[' | b']' | b'(' | b')'))
        });
        let begins = self.word(from, source).is_some_and(|word| !STORAGE.contains(&word) && word != b"typedef");
        words >= 2 && is_plain && begins && !self.is_attribute(from, source)
    }

    fn is_attribute(&self, at: usize, source: &[u8]) -> bool {
        self.word(at, source).is_some_and(|word| NO_NAMES.contains(&word)) || self.is_mark(at.saturating_add(1), b'(')
    }

    /// Waits for the next declaration of a parameter, or the body.
    pub(super) fn wait(&mut self) {
        self.waiting = Some(self.signs.len());
    }

    /// The bracket that closes the one at a place.
    fn closing(&self, open: usize) -> Option<usize> {
        let depth = self.signs.get(open)?.depth;
        let behind = self.signs.iter().enumerate().skip(open.saturating_add(1));
        behind
            .filter(|(_, sign)| sign.depth == depth && matches!(sign.sign, Sign::Mark(b')' | b']')))
            .map(|(at, _)| at)
            .next()
    }

    /// The signs without the parameters of templates before them, as the place where the rest begins.
    fn behind_templates(&self, source: &[u8]) -> usize {
        let mut at = 0;
        while self.word(at, source) == Some(b"template") && self.is_mark(at.saturating_add(1), b'<') {
            at = self.behind_angles(at.saturating_add(1));
        }
        at
    }

    /// The place behind `<…>`.
    fn behind_angles(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, sign) in self.signs.iter().enumerate().skip(open) {
            match sign.sign {
                Sign::Mark(b'<') => depth = depth.saturating_add(1),
                Sign::Mark(b'>') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at.saturating_add(1);
            }
        }
        self.signs.len()
    }

    /// The beginning of a value.
    fn equals(&self, source: &[u8], from: usize) -> Option<usize> {
        let operator = self.operator(source);
        self.position(|at| {
            at >= from && self.is_mark(at, b'=') && operator.is_none_or(|operator| at > operator.saturating_add(3))
        })
    }

    fn operator(&self, source: &[u8]) -> Option<usize> {
        self.position(|at| self.word(at, source) == Some(b"operator"))
    }

    /// The name of a function and the bracket that opens its parameters.
    fn function(&self, source: &[u8], dialect: Dialect) -> Option<(Range<usize>, usize)> {
        let from = self.behind_templates(source);
        if let Some(operator) = self.operator(source).filter(|_| dialect != Dialect::C) {
            let mut open = self.position(|at| at > operator && self.is_mark(at, b'('))?;
            // `operator()(int a)`.
            if open == operator.saturating_add(1) && self.is_mark(open.saturating_add(1), b')') {
                open = open.saturating_add(2);
            }
            return self.is_mark(open, b'(').then_some((operator..open, open));
        }
        let is_candidate = |at: usize| {
            let behind = at.saturating_add(1);
            at >= from
                && self.is_mark(behind, b'(')
                && self.word(at, source).is_some_and(|word| !NO_NAMES.contains(&word))
        };
        let mut candidates = self.outside().filter(|at| is_candidate(*at));
        let first = candidates.next()?;
        let has_type = (from..first).any(|at| {
            self.signs.get(at).is_some_and(|sign| sign.depth == 0)
                && match self.signs.get(at).map(|sign| sign.sign) {
                    Some(Sign::Word) => {
                        self.word(at, source).is_some_and(|word| !STORAGE.contains(&word) && !NO_NAMES.contains(&word))
                    }
                    Some(Sign::Scope | Sign::Mark(b'~')) => true,
                    _ => false,
                }
        });
        // `MACRO(x) int f(int a)` and `void printflike(1, 2) f(int a)`: another follows, which has its type before it or
        // directly behind the first. `int f(int a) MACRO(x)` is none of them.
        let close = self.closing(first.saturating_add(1)).map(|close| close.saturating_add(1));
        let next = candidates.next().zip(close).filter(|(next, behind)| match has_type {
            false => next > behind && self.word(*behind, source).is_some_and(|word| !AFTER.contains(&word)),
            true => {
                next == behind && self.word(*next, source).is_some_and(|word| word.iter().any(u8::is_ascii_lowercase))
            }
        });
        let name = next.map_or(first, |(next, _)| next);
        Some((self.qualified(name, source)..name.saturating_add(1), name.saturating_add(1)))
    }

    /// The beginning of the name that ends at a place: at `A` of `A::B<T>::f`, at `~` of `~A`.
    fn qualified(&self, name: usize, source: &[u8]) -> usize {
        let mut first = name;
        loop {
            let Some(before) = first.checked_sub(1) else { return first };
            let is_scope = self.signs.get(before).is_some_and(|sign| sign.sign == Sign::Scope);
            if self.is_mark(before, b'~') {
                first = before;
            } else if is_scope {
                let Some(mut owner) = before.checked_sub(1) else { return first };
                if self.is_mark(owner, b'>') {
                    let open = (0..owner).rev().take(64).find(|at| self.is_mark(*at, b'<'));
                    let Some(behind) = open.and_then(|open| open.checked_sub(1)) else { return first };
                    owner = behind;
                }
                if self.word(owner, source).is_none() {
                    return first;
                }
                first = owner;
            } else {
                return first;
            }
        }
    }

    /// The text of signs, without blanks and what is in angle brackets.
    fn text(&self, range: Range<usize>, source: &[u8]) -> String {
        let is_operator = self.word(range.start, source) == Some(b"operator");
        let mut depth = 0_usize;
        let mut text = Vec::new();
        for sign in self.signs.get(range).unwrap_or_default() {
            let bytes = source.get(sign.range.clone()).unwrap_or_default();
            match sign.sign {
                Sign::Mark(b'<') if !is_operator => depth = depth.saturating_add(1),
                Sign::Mark(b'>') if !is_operator => depth = depth.saturating_sub(1),
                Sign::Word if depth == 0 && text.ends_with(b"operator") => {
                    text.push(b' ');
                    text.extend(bytes);
                }
                _ if depth == 0 => text.extend(bytes),
                _ => {}
            }
        }
        kept_name(&text).unwrap_or_default()
    }

    /// The definition of a macro that is called like a function, from its first arguments: `TEST(Store, reopens)`.
    fn of_macro(&self, name: usize, source: &[u8]) -> Option<String> {
        let word = self.word(name, source)?;
        let is_macro = word.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
        if !is_macro || self.position(|_| true) != Some(name) {
            return None;
        }
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut at = name.saturating_add(2);
        while let Some(word) = self.word(at, source) {
            match self.signs.get(at.saturating_add(1)).map(|sign| sign.sign) {
                Some(Sign::Mark(b',')) => parts.push(word),
                Some(Sign::Mark(b')')) => {
                    parts.push(word);
                    break;
                }
                _ => break,
            }
            at = at.saturating_add(2);
        }
        Some(parts.join(&b'.')).filter(|name| !name.is_empty()).and_then(|name| kept_name(&name))
    }

    fn function_definition(&self, source: &[u8], dialect: Dialect, inside: Holds) -> Option<(HeadDefinition, usize)> {
        let (name, open) = self.function(source, dialect)?;
        let last = open.checked_sub(1)?;
        let line = self.signs.get(name.start).map(|sign| sign.line)?;
        let text = if name.len() == 1 { self.of_macro(last, source) } else { None };
        let is_member = matches!(inside, Holds::Members | Holds::Contract)
            || self.signs.get(name.clone()).unwrap_or_default().iter().any(|sign| sign.sign == Sign::Scope);
        let kind = if is_member { SymbolKind::Method } else { SymbolKind::Function };
        let name = text.unwrap_or_else(|| self.text(name, source));
        (!name.is_empty()).then_some((HeadDefinition { kind, name, line }, open))
    }

    /// A method of Objective-C: `- (void)draw:(int)x`.
    fn message(&self, source: &[u8]) -> Option<HeadDefinition> {
        let mark = self.position(|at| {
            (self.is_mark(at, b'-') || self.is_mark(at, b'+')) && self.is_mark(at.saturating_add(1), b'(')
        })?;
        let close = self.closing(mark.saturating_add(1))?;
        let at = close.saturating_add(1);
        let name = self.word(at, source).and_then(kept_name)?;
        Some(HeadDefinition { kind: SymbolKind::Method, name, line: self.signs.get(at)?.line })
    }

    /// A type or namespace: its kind, and where the word is that says so.
    fn container(&self, source: &[u8], dialect: Dialect) -> Option<(SymbolKind, usize)> {
        let from = self.behind_templates(source);
        self.outside().filter(|at| *at >= from).find_map(|at| {
            let kind = match (self.word(at, source)?, dialect) {
                (b"struct" | b"union" | b"enum", _) => SymbolKind::Type,
                (b"class", Dialect::Cpp | Dialect::CSharp | Dialect::Dart | Dialect::ObjectiveC) => SymbolKind::Type,
                // C has such names as well.
                (b"class", Dialect::C) if at == from => SymbolKind::Type,
                (b"namespace", Dialect::Cpp | Dialect::CSharp | Dialect::ObjectiveC) => SymbolKind::Module,
                (b"namespace", Dialect::C) if at == from => SymbolKind::Module,
                (b"concept", Dialect::Cpp) => SymbolKind::Interface,
                (b"interface", Dialect::CSharp | Dialect::Dart) => SymbolKind::Interface,
                (b"record", Dialect::CSharp) if self.word(at.saturating_add(1), source).is_some() => SymbolKind::Type,
                (b"mixin", Dialect::Dart) if self.word(at.saturating_add(1), source) != Some(b"class") => {
                    SymbolKind::Type
                }
                (b"extension", Dialect::Dart) => SymbolKind::Extension,
                _ => return None,
            };
            Some((kind, at))
        })
    }

    /// The name of a type behind the word that says what it is: the last before its bases, for macros may be before it.
    fn container_name(&self, keyword: usize, source: &[u8], dialect: Dialect) -> Option<(String, usize)> {
        let is_c = matches!(dialect, Dialect::C | Dialect::Cpp | Dialect::ObjectiveC);
        let mut found: Option<Range<usize>> = None;
        let mut at = keyword.saturating_add(1);
        while let Some(sign) = self.signs.get(at) {
            match (sign.sign, self.word(at, source)) {
                (_, Some(b"class" | b"struct")) if at == keyword.saturating_add(1) => {}
                (_, Some(b"final" | b"where" | b"extends" | b"implements" | b"with" | b"on")) if found.is_some() => {
                    break;
                }
                (_, Some(word)) if sign.depth == 0 && !NO_NAMES.contains(&word) => {
                    let goes_on = self
                        .signs
                        .get(at.saturating_sub(1))
                        .is_some_and(|sign| matches!(sign.sign, Sign::Scope | Sign::Mark(b'.')));
                    found = match found {
                        Some(found) if goes_on => Some(found.start..at.saturating_add(1)),
                        Some(found) if !is_c => return self.named(found, source),
                        _ => Some(at..at.saturating_add(1)),
                    };
                }
                (Sign::Mark(b'<'), _) => {
                    at = self.behind_angles(at);
                    continue;
                }
                (Sign::Mark(b':' | b'='), _) if sign.depth == 0 => break,
                (Sign::Mark(b'('), _) if !is_c => break,
                _ => {}
            }
            at = at.saturating_add(1);
        }
        self.named(found?, source)
    }

    fn named(&self, range: Range<usize>, source: &[u8]) -> Option<(String, usize)> {
        let line = self.signs.get(range.start)?.line;
        Some((self.text(range, source), line))
    }

    /// The block behind these signs.
    pub(super) fn opening(&self, source: &[u8], dialect: Dialect, inside: Holds) -> Opening {
        let value = |definition| Opening { holds: Holds::Nothing, definition, goes_on: true };
        // Declarations of parameters were before this block, and it isn't behind them: it is no body.
        if self.waiting.is_some_and(|from| from < self.signs.len()) {
            return value(None);
        }
        if dialect == Dialect::ObjectiveC
            && let Some(definition) = self.message(source)
        {
            return Opening { holds: Holds::Nothing, definition: Some(definition), goes_on: false };
        }
        let from = self.behind_templates(source);
        let function = self.function_definition(source, dialect, inside);
        let equals = self.equals(source, from);
        if let Some(equals) = equals {
            let is_before = function.as_ref().is_none_or(|(_, open)| *open > equals);
            let constant =
                if is_before && inside == Holds::Definitions { self.constant(equals, source, dialect) } else { None };
            return Opening { goes_on: constant.is_none(), ..value(constant) };
        }
        let container = self.container(source, dialect);
        let returns = |keyword: usize| function.as_ref().is_some_and(|(_, open)| *open > keyword.saturating_add(2));
        match container {
            Some((kind, keyword)) if !(dialect != Dialect::CSharp && returns(keyword)) => {
                self.type_opening(kind, keyword, source, dialect)
            }
            _ => match function {
                Some((definition, open)) => self.function_opening(definition, open, source, dialect),
                None => self.bare_opening(source, dialect, inside),
            },
        }
    }

    fn type_opening(&self, kind: SymbolKind, keyword: usize, source: &[u8], dialect: Dialect) -> Opening {
        let is_enum = self.word(keyword, source) == Some(b"enum") && dialect != Dialect::Dart;
        let holds = match kind {
            SymbolKind::Module => Holds::Definitions,
            SymbolKind::Interface => Holds::Contract,
            _ if is_enum => Holds::Nothing,
            _ => Holds::Members,
        };
        let line = self.signs.get(keyword).map_or(0, |sign| sign.line);
        let is_named_behind = self.position(|at| self.word(at, source) == Some(b"typedef")).is_some();
        let definition = match self.container_name(keyword, source, dialect) {
            Some((name, line)) => Some(HeadDefinition { kind, name, line }),
            None if is_named_behind => Some(HeadDefinition { kind, name: String::new(), line }),
            None => None,
        };
        Opening { holds, definition, goes_on: false }
    }

    fn function_opening(&self, definition: HeadDefinition, open: usize, source: &[u8], dialect: Dialect) -> Opening {
        let last = self.signs.len().checked_sub(1);
        let is_initialiser = dialect == Dialect::Cpp
            && self.position(|at| at > open && self.is_mark(at, b':')).is_some()
            && last.is_some_and(|last| {
                self.is_mark(last, b'>') || self.word(last, source).is_some_and(|word| !AFTER.contains(&word))
            });
        if is_initialiser {
            return Opening { holds: Holds::Nothing, definition: None, goes_on: true };
        }
        Opening { holds: Holds::Nothing, definition: Some(definition), goes_on: false }
    }

    /// A block behind neither a type nor parameters: a property, what `extern "C"` holds, or anything else.
    fn bare_opening(&self, source: &[u8], dialect: Dialect, inside: Holds) -> Opening {
        let is_linkage = self.word(0, source) == Some(b"extern")
            && self.signs.iter().skip(1).all(|sign| sign.sign == Sign::Mark(b'"'));
        let is_inline = self.word(0, source) == Some(b"export") && self.signs.len() == 1;
        if (is_linkage && self.signs.len() > 1) || is_inline {
            return Opening { holds: inside, definition: None, goes_on: false };
        }
        let words = self.outside().filter(|at| self.word(*at, source).is_some()).count();
        let is_property = dialect == Dialect::CSharp && inside != Holds::Definitions && words >= 2;
        let definition = if is_property { self.last_word(self.signs.len(), source, SymbolKind::Method) } else { None };
        Opening { holds: Holds::Nothing, definition, goes_on: false }
    }

    /// A definition with a value: a table of a file.
    fn constant(&self, equals: usize, source: &[u8], dialect: Dialect) -> Option<HeadDefinition> {
        let is_c = matches!(dialect, Dialect::C | Dialect::Cpp | Dialect::ObjectiveC);
        let before = self.outside().filter(|at| *at < equals && self.word(*at, source).is_some()).count();
        if !is_c || before < 2 {
            return None;
        }
        self.last_word(equals, source, SymbolKind::Constant)
    }

    fn last_word(&self, before: usize, source: &[u8], kind: SymbolKind) -> Option<HeadDefinition> {
        let at = self.outside().filter(|at| *at < before && self.word(*at, source).is_some()).last()?;
        let name = self.word(at, source).and_then(kept_name)?;
        Some(HeadDefinition { kind, name, line: self.signs.get(at)?.line })
    }

    /// The definition of these signs without a block of their own.
    pub(super) fn alone(&self, source: &[u8], dialect: Dialect, inside: Holds) -> Option<HeadDefinition> {
        if !matches!(dialect, Dialect::CSharp | Dialect::Dart) || inside == Holds::Nothing {
            return None;
        }
        let equals = self.equals(source, 0);
        let is_arrow = equals.is_some_and(|equals| self.is_mark(equals.saturating_add(1), b'>'));
        if let Some((kind, keyword)) = self.container(source, dialect).filter(|(kind, _)| *kind != SymbolKind::Module) {
            let (name, line) = self.container_name(keyword, source, dialect)?;
            return (equals.is_none()).then_some(HeadDefinition { kind, name, line });
        }
        let without_body = inside == Holds::Contract
            || self
                .position(|at| {
                    self.word(at, source).is_some_and(|word| matches!(word, b"abstract" | b"extern" | b"partial"))
                })
                .is_some();
        match self.function_definition(source, dialect, inside) {
            Some((definition, open)) if equals.is_none_or(|equals| equals > open) => {
                let is_bodied = is_arrow || (without_body && equals.is_none());
                (is_bodied && inside != Holds::Definitions || is_arrow).then_some(definition)
            }
            _ if is_arrow && inside != Holds::Definitions => self.last_word(equals?, source, SymbolKind::Method),
            _ => None,
        }
    }
}
