//! Comments that take more room than they are worth beside code: long ones, and the licence at a file's head.
//!
//! Lines are looked at without a grammar: comments of lines (`//`, `#`), blocks that begin a line (`/* … */`), and the texts in
//! three quotes that document Python.
//!
//! Invariants: what is left are lines of the span, in order. A comment or text that is cut off in the span is none.
//! Linear time.

use std::collections::BTreeSet;

use proem_select::context::LineSpan;

use super::numbered_lines;

/// The most lines of a comment that are shown whole within a definition.
const LONG_COMMENT: u32 = 8;
/// How many lines of a longer one are shown: what it begins with says what is described.
const COMMENT_HEAD: u32 = 3;
/// The most lines of a licence.
const MAX_LICENCE: u32 = 60;
/// The words of a licence, in lower case.
const LICENCE_WORDS: [&str; 3] = ["copyright", "licence", "license"];
/// The quotes of a text of many lines in Python.
const QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// The lines of a span without what follows on the first lines of its long comments. Lines are counted from 1.
#[must_use]
pub fn without_long_comments(lines: &[&str], span: LineSpan) -> BTreeSet<LineSpan> {
    let mut left = BTreeSet::new();
    let mut next = span.first;
    for comment in comments(lines, span) {
        if comment.len() > LONG_COMMENT {
            left.insert(LineSpan { first: next, last: comment.first.saturating_add(COMMENT_HEAD).saturating_sub(1) });
            next = comment.last.saturating_add(1);
        }
    }
    left.insert(LineSpan { first: next, last: span.last });
    left
}

/// The lines of a file behind the licence at its head. All of them if it has none, or begins with something else.
pub(super) fn without_licence(lines: &[&str], all: LineSpan) -> LineSpan {
    let head = LineSpan { first: all.first, last: all.last.min(MAX_LICENCE) };
    let is_licence = |comment: &LineSpan| {
        comment.first == all.first
            && numbered_lines(lines, *comment).any(|(_, line)| {
                let line = line.to_lowercase();
                LICENCE_WORDS.into_iter().any(|word| line.contains(word))
            })
    };
    let found = comments(lines, head);
    let Some(licence) = found.first().filter(|first| is_licence(first)) else { return all };
    let behind = LineSpan { first: licence.last.saturating_add(1), last: all.last };
    let text = numbered_lines(lines, behind).find(|(_, line)| !line.trim().is_empty());
    text.map_or(all, |(first, _)| LineSpan { first, last: all.last })
}

/// The comments of a span, each with the lines that it alone fills. None that reaches to its end.
fn comments(lines: &[&str], span: LineSpan) -> Vec<LineSpan> {
    let mut found = Vec::new();
    let mut first = None;
    let mut open = Open::Nothing;
    let mut before = "";
    for (number, line) in numbered_lines(lines, span).map(|(number, line)| (number, line.trim())) {
        if open.is_comment(line, before) {
            first.get_or_insert(number);
        } else if let Some(first) = first.take() {
            found.push(LineSpan { first, last: number.saturating_sub(1) });
        }
        before = if line.is_empty() { before } else { line };
    }
    found
}

/// The construct that an earlier line opened and none closed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// A block of comment.
    Block,
    /// A text in such quotes, and whether it is documentation and not a value.
    Text(&'static str, bool),
}

impl Open {
    /// Whether this line, without its indentation, is one of a comment. Goes on to the next one. `before` is the last
    /// line that wasn't blank.
    fn is_comment(&mut self, line: &str, before: &str) -> bool {
        match *self {
            Self::Block => {
                if line.contains("*/") {
                    *self = Self::Nothing;
                }
                true
            }
            Self::Text(quote, is_documentation) => {
                if line.contains(quote) {
                    *self = Self::Nothing;
                }
                is_documentation
            }
            Self::Nothing => self.begins(line, before),
        }
    }

    fn begins(&mut self, line: &str, before: &str) -> bool {
        if line.starts_with("//") || line == "#" || ["# ", "#!", "#:"].into_iter().any(|start| line.starts_with(start))
        {
            return true;
        }
        if line.starts_with("/*") {
            let end = line.find("*/");
            if end.is_none() {
                *self = Self::Block;
            }
            // Code may be behind its end.
            return end.is_none_or(|end| line.len() == end.saturating_add(2));
        }
        let Some(quote) = QUOTES.into_iter().find(|quote| line.contains(quote)) else { return false };
        // The first statement of a body. Behind anything else it is a value, such as a query that is an argument.
        let is_first = before.is_empty() || before.ends_with(':');
        let is_documentation = is_first && line.trim_start_matches(['r', 'R', 'u', 'U']).starts_with(quote);
        if line.matches(quote).count() % 2 == 1 {
            *self = Self::Text(quote, is_documentation);
        }
        is_documentation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remaining lines, given with `|` between them, as ranges.
    fn left(text: &str) -> Vec<(u32, u32)> {
        let lines: Vec<&str> = text.split('|').collect();
        let span = LineSpan { first: 1, last: u32::try_from(lines.len()).unwrap() };
        without_long_comments(&lines, span).into_iter().map(|span| (span.first, span.last)).collect()
    }

    #[test]
    fn of_a_long_comment_the_first_lines_are_left() {
        let slashes = "/// a|".repeat(12);
        assert_eq!(left(&format!("{slashes}fn f() {{|}}")), [(1, 3), (13, 14)]);
        assert_eq!(left(&format!("fn f() {{|{slashes}x|}}")), [(1, 4), (14, 15)]);
        let block = format!("/**|{} */|", " anything|".repeat(10));
        assert_eq!(left(&format!("{block}void f();")), [(1, 3), (13, 13)]);
        let documentation = format!("def f():|  \"\"\"Does.|{}  \"\"\"|  x()", "  more|".repeat(9));
        assert_eq!(left(&documentation), [(1, 4), (13, 13)]);
    }

    #[test]
    fn what_is_short_or_no_comment_is_left_as_it_is() {
        let check =
            |text: &str| assert_eq!(left(text), [(1, u32::try_from(text.split('|').count()).unwrap())], "{text}");
        check(&format!("{}fn f() {{}}", "// a|".repeat(8)));
        check(&format!("{}int x;", "#define A 1|".repeat(20)));
        // A text that is a value, with what follows on its end.
        check(&format!("sql = \"\"\"|{}\"\"\"|{}x()", "select|".repeat(20), "y()|".repeat(20)));
        check(&format!("def f():|run(|\"\"\"|{}\"\"\"|)|x()", "select|".repeat(20)));
        // Comments that don't end in the span.
        check(&format!("f()|{}", "// a|".repeat(20).trim_end_matches('|')));
        check(&format!("f()|/*|{}", "a|".repeat(20)));
        check("/* a */ f()|x|y");
        check("");
    }

    #[test]
    fn a_licence_at_the_head_of_a_file_is_left_out() {
        let check = |text: &str, first: u32| {
            let lines: Vec<&str> = text.split('|').collect();
            let all = LineSpan { first: 1, last: u32::try_from(lines.len()).unwrap() };
            assert_eq!(without_licence(&lines, all), LineSpan { first, ..all }, "{text}");
        };
        check("/*| * Licensed to the ASF| */|package a;", 4);
        check("# Copyright 2024|# and others|||import os", 5);
        check("# Copyright 2024|", 1);
        check("// Package a is about copyright.|package a", 2);
        check("// Package a does things.|package a", 1);
        check("package a|// Copyright|x", 1);
        check("# Copyright", 1);
    }
}
