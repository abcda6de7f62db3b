//! The words that introduce a definition, by dialect, and the name behind them.

use super::super::SymbolKind;
use super::super::mask::is_name_character;
use super::definition_name;
use crate::dialect::Dialect;

/// The definition that a line begins.
pub(super) struct Introduction {
    pub(super) kind: SymbolKind,
    pub(super) name: String,
}

type Words = &'static [(&'static [u8], SymbolKind)];

const KOTLIN: Words = &[
    (b"class", SymbolKind::Type),
    (b"object", SymbolKind::Type),
    (b"typealias", SymbolKind::Type),
    (b"interface", SymbolKind::Interface),
    (b"fun", SymbolKind::Function),
    (b"constructor", SymbolKind::Function),
    (b"init", SymbolKind::Function),
];
const SWIFT: Words = &[
    (b"class", SymbolKind::Type),
    (b"struct", SymbolKind::Type),
    (b"enum", SymbolKind::Type),
    (b"actor", SymbolKind::Type),
    (b"typealias", SymbolKind::Type),
    (b"protocol", SymbolKind::Interface),
    (b"extension", SymbolKind::Extension),
    (b"func", SymbolKind::Function),
    (b"init", SymbolKind::Function),
    (b"deinit", SymbolKind::Function),
    (b"subscript", SymbolKind::Function),
    (b"macro", SymbolKind::Macro),
];
const SCALA: Words = &[
    (b"class", SymbolKind::Type),
    (b"object", SymbolKind::Type),
    (b"enum", SymbolKind::Type),
    (b"type", SymbolKind::Type),
    (b"trait", SymbolKind::Interface),
    (b"def", SymbolKind::Function),
    (b"given", SymbolKind::Constant),
];
const PHP: Words = &[
    (b"class", SymbolKind::Type),
    (b"enum", SymbolKind::Type),
    (b"trait", SymbolKind::Type),
    (b"interface", SymbolKind::Interface),
    (b"function", SymbolKind::Function),
];
const RUBY: Words = &[(b"class", SymbolKind::Type), (b"module", SymbolKind::Module), (b"def", SymbolKind::Function)];
const ELIXIR: Words = &[
    (b"defmodule", SymbolKind::Module),
    (b"defprotocol", SymbolKind::Interface),
    (b"defimpl", SymbolKind::Extension),
    (b"defmacro", SymbolKind::Macro),
    (b"defmacrop", SymbolKind::Macro),
    (b"def", SymbolKind::Function),
    (b"defp", SymbolKind::Function),
];
const JULIA: Words = &[
    (b"struct", SymbolKind::Type),
    (b"type", SymbolKind::Type),
    (b"module", SymbolKind::Module),
    (b"macro", SymbolKind::Macro),
    (b"function", SymbolKind::Function),
];
const FUNCTION: Words = &[(b"function", SymbolKind::Function)];
const PERL: Words = &[(b"sub", SymbolKind::Function)];
const NOTEBOOK: Words = &[(b"class", SymbolKind::Type), (b"def", SymbolKind::Function)];
const OTHER: Words = &[
    (b"class", SymbolKind::Type),
    (b"struct", SymbolKind::Type),
    (b"enum", SymbolKind::Type),
    (b"union", SymbolKind::Type),
    (b"record", SymbolKind::Type),
    (b"object", SymbolKind::Type),
    (b"message", SymbolKind::Type),
    (b"service", SymbolKind::Interface),
    (b"interface", SymbolKind::Interface),
    (b"trait", SymbolKind::Interface),
    (b"protocol", SymbolKind::Interface),
    (b"namespace", SymbolKind::Module),
    (b"module", SymbolKind::Module),
    (b"def", SymbolKind::Function),
    (b"fun", SymbolKind::Function),
    (b"func", SymbolKind::Function),
    (b"function", SymbolKind::Function),
    (b"sub", SymbolKind::Function),
    (b"proc", SymbolKind::Function),
    (b"fn", SymbolKind::Function),
    (b"rpc", SymbolKind::Function),
    (b"macro", SymbolKind::Macro),
];

/// Words that may be before such a word, or before a type and a name.
const MODIFIERS: [&[u8]; 54] = [
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"fileprivate",
    b"package",
    b"static",
    b"final",
    b"abstract",
    b"override",
    b"open",
    b"sealed",
    b"data",
    b"value",
    b"inner",
    b"annotation",
    b"companion",
    b"enum",
    b"async",
    b"export",
    b"default",
    b"inline",
    b"noinline",
    b"crossinline",
    b"infix",
    b"operator",
    b"tailrec",
    b"external",
    b"expect",
    b"actual",
    b"virtual",
    b"extern",
    b"suspend",
    b"local",
    b"case",
    b"implicit",
    b"lazy",
    b"opaque",
    b"transparent",
    b"synchronized",
    b"native",
    b"partial",
    b"unsafe",
    b"pub",
    b"readonly",
    b"mutable",
    b"mutating",
    b"nonmutating",
    b"nonisolated",
    b"indirect",
    b"convenience",
    b"required",
    b"dynamic",
    b"reified",
];

/// Words that begin a statement, so that what looks like a call is one.
const STATEMENTS: [&[u8]; 22] = [
    b"if", b"else", b"for", b"while", b"switch", b"return", b"catch", b"do", b"throw", b"new", b"case", b"try", b"in",
    b"sizeof", b"defer", b"using", b"when", b"assert", b"elif", b"until", b"await", b"yield",
];

const fn introducing_words(dialect: Dialect) -> Words {
    match dialect {
        Dialect::Kotlin => KOTLIN,
        Dialect::Swift => SWIFT,
        Dialect::Scala => SCALA,
        Dialect::Php => PHP,
        Dialect::Ruby => RUBY,
        Dialect::Elixir => ELIXIR,
        Dialect::Julia => JULIA,
        Dialect::Lua | Dialect::Shell => FUNCTION,
        Dialect::Perl => PERL,
        Dialect::Notebook => NOTEBOOK,
        Dialect::R => &[],
        _ => OTHER,
    }
}

/// The definition that a line begins. `text` is the line as it is written and `masked` without its strings, at the same
/// places.
pub(super) fn introduction(masked: &[u8], text: &[u8], indent: usize, dialect: Dialect) -> Option<Introduction> {
    let rest = behind_annotations(masked);
    let mut rest = rest;
    let mut found: Option<SymbolKind> = None;
    // `enum class`, `fun interface`, `case object`: the last of them is what it is.
    loop {
        let (word, behind) = leading_word(rest);
        let introduced = introducing_words(dialect).iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind);
        let is_modifier = MODIFIERS.contains(&word) && found.is_none();
        match (introduced, found) {
            (Some(kind), None) => found = Some(kind),
            (Some(kind), Some(SymbolKind::Type | SymbolKind::Function)) if is_two_words(word, dialect) => {
                found = Some(kind);
            }
            _ if is_modifier => {}
            _ => break,
        }
        if is_modifier
            && introduced.is_none()
            && word == b"companion"
            && !behind.trim_ascii_start().starts_with(b"object")
        {
            return None;
        }
        let is_companion = word == b"object" && masked.windows(9).any(|window| window == b"companion");
        if is_companion && !behind.trim_ascii_start().first().is_some_and(|&byte| is_name_character(byte)) {
            return definition_name(b"Companion").map(|name| Introduction { kind: SymbolKind::Type, name });
        }
        if is_own_name(word, dialect) && introduced.is_some() {
            let is_called = matches!(behind.trim_ascii_start().first(), Some(b'(' | b'{' | b'?' | b'!' | b'<' | b'['));
            return is_called
                .then(|| definition_name(word))
                .flatten()
                .map(|name| Introduction { kind: SymbolKind::Function, name });
        }
        rest = behind_scope(behind);
    }
    let Some(kind) = found else { return by_shape(masked, text, indent, dialect) };
    let name = name_behind(rest.trim_ascii_start(), kind, dialect)?;
    definition_name(name).map(|name| Introduction { kind, name })
}

/// Words that are the name of what they introduce.
fn is_own_name(word: &[u8], dialect: Dialect) -> bool {
    match dialect {
        Dialect::Kotlin => matches!(word, b"constructor" | b"init"),
        Dialect::Swift => matches!(word, b"init" | b"deinit" | b"subscript"),
        _ => false,
    }
}

/// Words that may follow another that introduces something.
fn is_two_words(word: &[u8], dialect: Dialect) -> bool {
    match dialect {
        Dialect::Kotlin => matches!(word, b"class" | b"interface"),
        Dialect::Scala => matches!(word, b"class" | b"object"),
        Dialect::Julia => word == b"struct",
        _ => false,
    }
}

/// The word at the start of a line, and what follows it.
fn leading_word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_start();
    let end = line.iter().position(|&byte| !is_name_character(byte)).unwrap_or(line.len());
    line.split_at_checked(end).unwrap_or_default()
}

/// The text after `[core]` or `(set)` behind a word.
fn behind_scope(line: &[u8]) -> &[u8] {
    let close = match line.first() {
        Some(b'[') => b']',
        Some(b'(') => b')',
        _ => return line,
    };
    let end = line.iter().position(|&byte| byte == close);
    end.and_then(|end| line.get(end.saturating_add(1)..)).unwrap_or(line)
}

/// The text behind the annotations at the start of a line.
fn behind_annotations(line: &[u8]) -> &[u8] {
    let mut rest = line;
    while rest.first() == Some(&b'@') || rest.starts_with(b"#[") {
        let name = rest.get(1..).unwrap_or_default();
        let end = name
            .iter()
            .position(|&byte| !is_name_character(byte) && !matches!(byte, b'.' | b':'))
            .unwrap_or(name.len());
        rest = behind_brackets(name.get(end..).unwrap_or_default()).trim_ascii_start();
        if end == 0 && !line.starts_with(b"#[") {
            break;
        }
    }
    rest
}

/// The text behind the brackets that it begins with. All of it if it begins with none or they don't end in it.
fn behind_brackets(text: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'<' => depth = depth.saturating_add(1),
            // An arrow closes nothing.
            b'>' if at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'-') => {}
            b')' | b']' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let end = if matches!(byte, b')' | b']' | b'>') { at.saturating_add(1) } else { at };
            return text.get(end..).unwrap_or(text);
        }
    }
    text
}

/// The name that a line begins with, behind what its dialect lets are before it.
fn name_behind(text: &[u8], kind: SymbolKind, dialect: Dialect) -> Option<&[u8]> {
    let text = match dialect {
        Dialect::Kotlin if text.starts_with(b"<") => behind_brackets(text).trim_ascii_start(),
        Dialect::Php => text.strip_prefix(b"&").unwrap_or(text),
        _ => text,
    };
    if let Some(quoted) = text.strip_prefix(b"`") {
        return quoted.get(..quoted.iter().position(|&byte| byte == b'`')?);
    }
    let is_part = |byte: u8| match dialect {
        Dialect::Ruby => is_name_character(byte) || matches!(byte, b'.' | b':'),
        Dialect::Elixir if kind == SymbolKind::Function || kind == SymbolKind::Macro => is_name_character(byte),
        Dialect::Elixir | Dialect::Kotlin | Dialect::Julia => is_name_character(byte) || byte == b'.',
        Dialect::Lua => is_name_character(byte) || matches!(byte, b'.' | b':'),
        Dialect::Shell => is_name_character(byte) || matches!(byte, b'-' | b'.' | b':'),
        Dialect::Perl => is_name_character(byte) || byte == b':',
        Dialect::Swift if kind == SymbolKind::Extension => is_name_character(byte) || byte == b'.',
        _ => is_name_character(byte),
    };
    let mut end = text.iter().position(|&byte| !is_part(byte)).unwrap_or(text.len());
    let mut name = text.get(..end)?;
    // `fun List<Int>.sum()`, `fun (() -> Unit).run()`: the receiver is no part of the name.
    if dialect == Dialect::Kotlin && kind == SymbolKind::Function {
        let mut rest = text.get(end..)?;
        if rest.starts_with(b"<") || (end == 0 && rest.starts_with(b"(")) || rest.starts_with(b"?.") {
            rest = behind_brackets(rest.strip_prefix(b"?").unwrap_or(rest));
            let behind = rest.strip_prefix(b"?").unwrap_or(rest).strip_prefix(b".")?;
            end = behind.iter().position(|&byte| !is_part(byte)).unwrap_or(behind.len());
            name = behind.get(..end)?;
            rest = behind.get(end..)?;
        }
        let is_function = matches!(rest.trim_ascii_start().first(), Some(b'(')) || name.is_empty();
        name = name.rsplit(|&byte| byte == b'.').next().filter(|_| is_function)?;
        if name.is_empty() {
            let quoted = rest.strip_prefix(b"`")?;
            return quoted.get(..quoted.iter().position(|&byte| byte == b'`')?);
        }
        return Some(name);
    }
    match dialect {
        Dialect::Ruby if kind == SymbolKind::Function => ruby_name(text, name),
        Dialect::Elixir => with_mark(text, name, b"?!"),
        Dialect::Lua => name.rsplit(|byte| matches!(byte, b'.' | b':')).next(),
        Dialect::Swift | Dialect::Scala if name.is_empty() => {
            let end =
                text.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'(' | b'[' | b'{' | b'<'))?;
            // `func <(a, b)`.
            let end = if end == 0 { text.iter().position(|&byte| byte == b'(')? } else { end };
            text.get(..end).filter(|name| kind == SymbolKind::Function && !name.is_empty())
        }
        Dialect::Php if kind == SymbolKind::Function => Some(name)
            .filter(|name| text.get(name.len()..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"("))),
        _ => Some(name),
    }
}

/// `save!`, `name=`, `==`, `[]=`, behind `self.`.
fn ruby_name<'t>(text: &'t [u8], name: &'t [u8]) -> Option<&'t [u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.').map_or(0, |dot| dot.saturating_add(1));
    let (own, text) = (name.get(dot..)?, text.get(dot..)?);
    if own.is_empty() {
        let end = text.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'(').unwrap_or(text.len());
        return text.get(..end);
    }
    let with = with_mark(text, own, b"?!=")?;
    // `def name = value` has a blank before its sign.
    Some(with)
}

fn with_mark<'t>(text: &'t [u8], name: &'t [u8], marks: &[u8]) -> Option<&'t [u8]> {
    match text.get(name.len()) {
        Some(byte) if marks.contains(byte) && !name.is_empty() => text.get(..name.len().saturating_add(1)),
        _ => Some(name),
    }
}

/// A definition that no word introduces: `name() {` of a shell, `name <- function(` of R, `name = function(` of Lua, and
/// elsewhere a type before a name with parameters.
fn by_shape(masked: &[u8], text: &[u8], indent: usize, dialect: Dialect) -> Option<Introduction> {
    let is_of = |name: &[u8]| definition_name(name).map(|name| Introduction { kind: SymbolKind::Function, name });
    match dialect {
        Dialect::Shell => {
            let end =
                masked.iter().position(|&byte| !(is_name_character(byte) || matches!(byte, b'-' | b'.' | b':')))?;
            let (name, rest) = masked.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
            let rest = rest.trim_ascii_start().strip_prefix(b"(")?.trim_ascii_start().strip_prefix(b")")?;
            let rest = rest.trim_ascii_start();
            (rest.is_empty() || matches!(rest.first(), Some(b'{' | b'('))).then(|| is_of(name)).flatten()
        }
        Dialect::R | Dialect::Lua => {
            let signs: &[&[u8]] = if dialect == Dialect::R { &[b"<-", b"="] } else { &[b"="] };
            let masked = masked.strip_prefix(b"local ").unwrap_or(masked);
            let end = masked.iter().position(|&byte| !(is_name_character(byte) || matches!(byte, b'.' | b':')))?;
            let (name, rest) = masked.split_at_checked(end)?;
            let rest = rest.trim_ascii_start();
            let rest = signs.iter().find_map(|sign| rest.strip_prefix(*sign))?.trim_ascii_start();
            let is_function =
                rest.strip_prefix(b"function").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"("));
            let name =
                if dialect == Dialect::R { name } else { name.rsplit(|byte| matches!(byte, b'.' | b':')).next()? };
            is_function.then(|| is_of(name)).flatten()
        }
        Dialect::Slashes | Dialect::Hash => member_introduction(masked, text, indent),
        _ => None,
    }
}

/// `int main(void) {` at the beginning of a line, or a member with a type before its name.
fn member_introduction(line: &[u8], _text: &[u8], indent: usize) -> Option<Introduction> {
    let (words, rest) = words_before_sign(line);
    let name = *words.last()?;
    let is_definition = words.len() >= 2
        && rest.starts_with(b"(")
        && !rest.ends_with(b";")
        && !words.iter().any(|word| STATEMENTS.contains(word))
        && (indent == 0 || rest.ends_with(b"{"));
    let name = is_definition.then(|| definition_name(name)).flatten()?;
    Some(Introduction { kind: SymbolKind::Function, name })
}

/// The words of a line up to the first sign that is neither one nor a blank; with what follows.
fn words_before_sign(line: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut words, mut rest) = (Vec::new(), line);
    loop {
        let (next, behind) = leading_word(rest);
        if next.is_empty() {
            return (words, rest.trim_ascii_start());
        }
        words.push(next);
        rest = behind;
        // A type may be a pointer, a reference, generic or an array.
        if words.len() > 8 {
            return (words, rest);
        }
        while let [b'*' | b'&', after @ ..] = rest.trim_ascii_start() {
            rest = after;
        }
        if matches!(rest.first(), Some(b'<' | b'[')) {
            rest = behind_brackets(rest);
        }
    }
}
