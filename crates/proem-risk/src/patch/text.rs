//! Single changed lines: which of them say something, and how to recognise one again.

use alloc::vec::Vec;

/// The fewest letters and digits of a line that is recognised: `return false;` stands in every file.
const TELLING: usize = 14;

/// Whether a line is telling: long enough to be recognised, with a sign of code, and no comment or import. Prose of a
/// docstring is neither.
pub(crate) fn is_telling_line(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let solid = text.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count();
    let imports: [&[u8]; 6] = [b"import ", b"from ", b"use ", b"#include", b"using ", b"require("];
    let has_sign = text.iter().any(|byte| b"=(){}[];".contains(byte));
    solid >= TELLING
        && has_sign
        && !is_prose(text)
        && !has_comment_mark(text)
        && !imports.iter().any(|start| text.starts_with(start))
}

/// The plain words in a row from which a line is prose.
const PROSE: usize = 4;

/// Words that stand beside others in code.
const KEYWORDS: [&[u8]; 42] = [
    b"if",
    b"not",
    b"and",
    b"or",
    b"in",
    b"is",
    b"for",
    b"else",
    b"elif",
    b"return",
    b"while",
    b"static",
    b"const",
    b"unsigned",
    b"signed",
    b"long",
    b"int",
    b"char",
    b"short",
    b"void",
    b"struct",
    b"enum",
    b"union",
    b"inline",
    b"public",
    b"private",
    b"protected",
    b"internal",
    b"final",
    b"abstract",
    b"override",
    b"async",
    b"await",
    b"new",
    b"function",
    b"class",
    b"let",
    b"var",
    b"mut",
    b"pub",
    b"typedef",
    b"extern",
];

/// Whether a line is a sentence, as of a docstring: some plain words in a row before the first sign of code. A line with
/// a bracket in it, such as "the result (see below)", would be code otherwise.
fn is_prose(text: &[u8]) -> bool {
    let head = text.split(|byte| b"={}[];\"'`".contains(byte)).next().unwrap_or_default();
    let words = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_plain = |word: &[u8]| {
        let word = word.strip_suffix(b",").or_else(|| word.strip_suffix(b".")).unwrap_or(word);
        !word.is_empty()
            && word.iter().all(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
            && !KEYWORDS.contains(&word)
    };
    let mut row = 0_usize;
    words.into_iter().any(|word| {
        row = if is_plain(word) { row.saturating_add(1) } else { 0 };
        row >= PROSE
    })
}

/// The print of a line: 64 bits of FNV-1a (Fowler, Noll and Vo 1991) over its text without space at its ends. Runs of
/// space count as one, so that indenting anew changes nothing.
pub(crate) fn line_print(line: &[u8]) -> u64 {
    let mut print = 0xcbf2_9ce4_8422_2325_u64;
    let mut is_space = false;
    for &byte in line.trim_ascii() {
        let byte = if byte.is_ascii_whitespace() { b' ' } else { byte };
        if byte != b' ' || !is_space {
            print = (print ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        is_space = byte == b' ';
    }
    print
}

/// Whether a trimmed line begins as comments do. `#` alone is a directive in C and an attribute in Rust, and `*` alone
/// follows a pointer, so both need a space or an end behind them.
fn has_comment_mark(text: &[u8]) -> bool {
    let marks: [&[u8]; 6] = [b"//", b"/*", b"*/", b"<!--", b"--", b"\"\"\""];
    let spaced: [&[u8]; 4] = [b"#", b"*", b";", b"%"];
    let is_spaced = |mark: &&[u8]| text.strip_prefix(*mark).is_some_and(|rest| matches!(rest, [] | [b' ', ..]));
    marks.iter().any(|mark| text.starts_with(mark)) || spaced.iter().any(is_spaced)
}

/// Whether a line of a file is blank or only a comment, by the marks of the file's language. A language that is not
/// known here has none.
pub(crate) fn is_comment_or_blank(line: &[u8], path: &[u8]) -> bool {
    let text = line.trim_ascii();
    let extension = path.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    let is_one = match extension {
        b"c" | b"h" | b"cc" | b"cpp" | b"hpp" | b"cxx" | b"java" | b"js" | b"ts" | b"tsx" | b"jsx" | b"go" | b"rs"
        | b"swift" | b"cs" | b"kt" | b"scala" | b"php" => is_slash_comment(line, text),
        b"py" | b"rb" | b"sh" | b"tcl" | b"yml" | b"yaml" | b"toml" | b"pl" | b"ex" | b"exs" | b"conf" => {
            text.starts_with(b"#") && !text.starts_with(b"#!") && !is_magic_comment(text)
        }
        _ => false,
    };
    text.is_empty() || is_one
}

/// `//`, `/* … */` with nothing behind it, and ` * ` inside of such, which a pointer's `*` is not.
fn is_slash_comment(line: &[u8], text: &[u8]) -> bool {
    let is_inside = line.starts_with(b" ") && text.starts_with(b"* ") && !text.contains(&b';');
    let ends = text.windows(2).position(|two| two == b"*/");
    let is_all = ends.is_none_or(|at| at.saturating_add(2) == text.len());
    // `//go:build ignore` and `//export f` are no comments to a compiler: a mark before a letter may be a directive.
    let is_directive = text.strip_prefix(b"//").and_then(<[u8]>::first).is_some_and(u8::is_ascii_alphabetic);
    (text.starts_with(b"//") && !is_directive)
        || (is_all && (is_inside || text.starts_with(b"/*") || text.starts_with(b"*/")))
}

/// Comments that an interpreter obeys: the encoding of a file, and the switches of Ruby and Python.
fn is_magic_comment(text: &[u8]) -> bool {
    let words: [&[u8]; 4] = [b"coding", b"frozen_string_literal", b"shareable_constant_value", b"warn_indent"];
    words.iter().any(|word| text.windows(word.len()).any(|part| part == *word))
}

/// Whether two lines are equal but for version numbers, such as `1.2.3-rc.1` or the id of a commit, and differ there.
pub(crate) fn is_equal_but_versions(old: &[u8], new: &[u8]) -> bool {
    let (old_rest, new_rest) = (without_versions(old), without_versions(new));
    old_rest.is_some() && old_rest == new_rest
}

/// A line with each version replaced by one mark. `None` if it has none.
fn without_versions(line: &[u8]) -> Option<Vec<u8>> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+' | b'_');
    let mut rest = Vec::new();
    let mut found = false;
    for word in line.chunk_by(|one, other| is_part(*one) == is_part(*other)) {
        if is_version_word(word) {
            found = true;
            rest.push(0);
        } else {
            rest.extend_from_slice(word);
        }
    }
    found.then_some(rest)
}

/// `1.2`, `v1.2.3-rc.1`, `globset-0.4.20`'s number only where it stands alone, or forty hexadecimal digits.
fn is_version_word(word: &[u8]) -> bool {
    let number = word.strip_prefix(b"v").unwrap_or(word);
    let mut parts = number.split(|&byte| byte == b'.');
    let is_number =
        |part: Option<&[u8]>| part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    let is_dotted =
        is_number(parts.next()) && parts.next().and_then(|part| part.first()).is_some_and(u8::is_ascii_digit);
    let is_id = matches!(word.len(), 40 | 64) && word.iter().all(u8::is_ascii_hexdigit);
    // `v4` of an action is one, and `8` alone is not.
    let is_major = word.len() > 1 && word.starts_with(b"v") && number.iter().all(u8::is_ascii_digit);
    is_dotted || is_id || is_major
}
