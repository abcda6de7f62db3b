//! Repairs miscounted brackets where the indentation leaves one way only.
//!
//! Models indent well and count badly. A repair is offered if exactly one text both reads and agrees
//! with the indentation: what starts a line is to the right of every bracket that is open there, and
//! what is inside none is where the first form is.

use crate::{limits::Limits, reader::read_source};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use proem_text::line_column;

/// So many bytes are read again at most to try repairs.
const MOST_BYTES_TRIED: usize = 4 << 20;

/// How the reader's messages about what is open at the end of a source end.
const NEVER_CLOSED: &str = "is never closed";

/// A repair that changes more brackets than this is no correction of a miscount.
const MOST_EDITS: usize = 20;

/// A source with other brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The source that reads.
    pub text: String,
    /// The additions and removals, each with its place in the given source.
    pub changes: Vec<String>,
}

/// The one repair of a source that doesn't read because of its brackets.
#[must_use]
pub fn repair_delimiters(source: &str, limits: &Limits) -> Option<Repair> {
    if source.len() > limits.source_bytes || read_source(source, limits).problems.is_empty() {
        return None;
    }
    let marks = bracket_marks(source);
    let mut candidates: BTreeMap<String, Repair> = BTreeMap::new();
    let mut offer = |edits: Vec<Edit>| {
        let repair = apply_edits(source, edits);
        candidates.entry(repair.text.clone()).or_insert(repair);
    };
    for lines in [LineStarts::Count, LineStarts::AreIgnored] {
        if let Some(edits) = close_brackets(&marks, lines, source.len(), limits.nesting) {
            offer(edits);
        }
    }
    let closers: Vec<Edit> = marks.iter().filter_map(Mark::removal).collect();
    let tries = MOST_BYTES_TRIED.checked_div(source.len()).unwrap_or(0).min(closers.len());
    for removal in closers.into_iter().rev().take(tries) {
        offer(alloc::vec![removal]);
    }
    let mut fitting = candidates.into_values().filter(|repair| fits_indentation(&repair.text, limits));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Whether the source only lacks its end: more of it could close every bracket and string that is open.
#[must_use]
pub fn is_unfinished(source: &str, limits: &Limits) -> bool {
    let problems = read_source(source, limits).problems;
    !problems.is_empty() && problems.iter().all(|problem| problem.diagnostic.message.ends_with(NEVER_CLOSED))
}

/// Something in the source that a repair looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Open {
        bracket: char,
        column: usize,
    },
    Close {
        bracket: char,
        at: usize,
    },
    /// Something starts a line here. `end` is where the text before it ended.
    LineStart {
        column: usize,
        end: usize,
    },
}

impl Mark {
    fn removal(&self) -> Option<Edit> {
        match self {
            Self::Close { bracket, at } => Some(Edit { at: *at, bracket: *bracket, is_removal: true }),
            _ => None,
        }
    }
}

/// One bracket added or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    at: usize,
    bracket: char,
    is_removal: bool,
}

impl Edit {
    const fn adding(bracket: char, at: usize) -> Self {
        Self { at, bracket, is_removal: false }
    }
}

const fn closing(bracket: char) -> char {
    match bracket {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// The brackets and line starts outside strings, comments and characters.
fn bracket_marks(source: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut chars = source.char_indices().peekable();
    let mut column: usize = 0;
    let mut is_line_start = true;
    let mut end: usize = 0;
    while let Some((at, c)) = chars.next() {
        let here = column;
        column = if c == '\n' { 0 } else { column.saturating_add(1) };
        if c == '\n' {
            is_line_start = true;
            continue;
        }
        if c.is_whitespace() || c == ',' {
            continue;
        }
        if c == ';' {
            while chars.next_if(|(_, c)| *c != '\n').is_some() {}
            continue;
        }
        // A closing bracket may stand anywhere.
        if core::mem::take(&mut is_line_start) && !matches!(c, ')' | ']' | '}') {
            marks.push(Mark::LineStart { column: here, end });
        }
        end = at.saturating_add(c.len_utf8());
        match c {
            '(' | '[' | '{' => marks.push(Mark::Open { bracket: c, column: here }),
            ')' | ']' | '}' => marks.push(Mark::Close { bracket: c, at }),
            '\\' => {
                if let Some((at, c)) = chars.next() {
                    column = column.saturating_add(1);
                    end = at.saturating_add(c.len_utf8());
                }
            }
            '"' => {
                let mut is_escaped = false;
                for (at, c) in chars.by_ref() {
                    column = if c == '\n' { 0 } else { column.saturating_add(1) };
                    end = at.saturating_add(c.len_utf8());
                    if c == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = c == '\\' && !is_escaped;
                }
            }
            _ => {}
        }
    }
    marks
}

/// Whether a line that isn't to the right of an open bracket closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineStarts {
    Count,
    AreIgnored,
}

/// Closes what is open before a line that isn't to its right, or else at the end, and drops what closes nothing. `None`
/// if that is too much.
fn close_brackets(marks: &[Mark], lines: LineStarts, length: usize, nesting: usize) -> Option<Vec<Edit>> {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut edits = Vec::new();
    for mark in marks {
        match *mark {
            Mark::LineStart { .. } if lines == LineStarts::AreIgnored => {}
            Mark::LineStart { column, end: before } => {
                while let Some((bracket, _)) = open.pop_if(|(_, opened)| *opened >= column) {
                    edits.push(Edit::adding(closing(bracket), before));
                }
            }
            Mark::Open { bracket, column } => open.push((bracket, column)),
            Mark::Close { bracket, at } => close_bracket(bracket, at, &mut open, &mut edits),
        }
        // Checked at each step, since a bracket looks through all that are open.
        if open.len() > nesting || edits.len() > MOST_EDITS {
            return None;
        }
    }
    edits.extend(open.into_iter().rev().map(|(bracket, _)| Edit::adding(closing(bracket), length)));
    (edits.len() <= MOST_EDITS).then_some(edits)
}

fn close_bracket(bracket: char, at: usize, open: &mut Vec<(char, usize)>, edits: &mut Vec<Edit>) {
    if !open.iter().any(|(opened, _)| closing(*opened) == bracket) {
        edits.push(Edit { at, bracket, is_removal: true });
        return;
    }
    while let Some((opened, _)) = open.pop() {
        if closing(opened) == bracket {
            return;
        }
        edits.push(Edit::adding(closing(opened), at));
    }
}

fn apply_edits(source: &str, mut edits: Vec<Edit>) -> Repair {
    edits.sort_by_key(|edit| edit.at);
    // At the end brackets go behind the last thing, not behind its line break or comment.
    let trimmed = source.trim_end().len();
    let mut text = String::new();
    let mut changes = Vec::new();
    let mut from = 0;
    for edit in edits {
        let at = if edit.is_removal || is_comment_line(source, trimmed) { edit.at } else { edit.at.min(trimmed) };
        text.push_str(source.get(from..at).unwrap_or_default());
        from = at.max(from);
        let (line, column) = line_column(source, at);
        if edit.is_removal {
            from = from.saturating_add(edit.bracket.len_utf8());
            changes.push(format!("`{}` taken out at {line}:{column}", edit.bracket));
        } else {
            if is_comment_line(source, at) {
                text.push('\n');
            }
            text.push(edit.bracket);
            changes.push(format!("`{}` added at {line}:{column}", edit.bracket));
        }
    }
    text.push_str(source.get(from..).unwrap_or_default());
    Repair { text, changes }
}

/// Whether what is before an offset on its line may be a comment.
fn is_comment_line(source: &str, at: usize) -> bool {
    let before = source.get(..at).unwrap_or_default();
    before.rsplit('\n').next().is_some_and(|line| line.contains(';'))
}

/// Whether a text reads and its indentation agrees with its brackets.
fn fits_indentation(text: &str, limits: &Limits) -> bool {
    if !read_source(text, limits).problems.is_empty() {
        return false;
    }
    let mut open: Vec<usize> = Vec::new();
    let mut first = None;
    for mark in bracket_marks(text) {
        match mark {
            Mark::LineStart { column, .. } => {
                let fits = match open.last() {
                    Some(opened) => *opened < column,
                    None => *first.get_or_insert(column) == column,
                };
                if !fits {
                    return false;
                }
            }
            Mark::Open { column, .. } => open.push(column),
            Mark::Close { .. } => {
                open.pop();
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: Option<(&str, &str)>) {
        let repair = repair_delimiters(source, &Limits::default());
        let found = repair.map(|repair| (repair.text, repair.changes.join(", ")));
        let found = found.as_ref().map(|(text, changes)| (text.as_str(), changes.as_str()));
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn one_way_is_offered() {
        check("(+ 1 (* 2 3)", Some(("(+ 1 (* 2 3))", "`)` added at 1:13")));
        check("(+ 1 2))", Some(("(+ 1 2)", "`)` taken out at 1:8")));
        check("(let [x 1\n  (+ x 1))", Some(("(let [x 1]\n  (+ x 1))", "`]` added at 1:10")));
        check("(defn f [x]\n  (+ x 1)\n\n(f 2)\n", Some(("(defn f [x]\n  (+ x 1))\n\n(f 2)\n", "`)` added at 2:10")));
        check("(let [x 1])\n  (+ x 1))", Some(("(let [x 1]\n  (+ x 1))", "`)` taken out at 1:11")));
        check("(map inc [1 2)", Some(("(map inc [1 2])", "`]` added at 1:14")));
        check("(f 1 ; why\n", Some(("(f 1 ; why\n)", "`)` added at 2:1")));
    }

    #[test]
    fn nothing_is_offered_where_there_are_two_ways_or_none() {
        check("(+ 1 2)", None);
        check("(str \"a)", None);
        check("(f (g 1)) 2)", None);
        check("", None);
    }

    #[test]
    fn a_source_without_its_end_is_unfinished() {
        for (source, expected) in [
            ("(a", true),
            ("(let [x {:a #{1 \n", true),
            ("(str \"a", true),
            ("#\"a", true),
            ("(a #_", false),
            ("(a)", false),
            ("", false),
            ("; (", false),
            ("(a]", false),
            (")", false),
            ("\"\\q", false),
        ] {
            assert_eq!(is_unfinished(source, &Limits::default()), expected, "{source}");
        }
    }

    #[test]
    fn a_source_of_brackets_alone_is_given_up_at_once() {
        let limits = Limits::default();
        for source in ["(".repeat(250_000), ")".repeat(250_000), "(]".repeat(120_000), "(\n".repeat(120_000)] {
            assert_eq!(repair_delimiters(&source, &limits), None);
        }
        let twenty = "(f ".repeat(20);
        assert_eq!(repair_delimiters(&twenty, &limits).map(|repair| repair.changes.len()), Some(20));
        assert_eq!(repair_delimiters(&format!("{twenty}(f"), &limits), None);
    }

    #[test]
    fn a_long_source_is_tried_within_bounds() {
        let source = format!("{}\n(", "(f 1)\n".repeat(20_000));
        assert!(repair_delimiters(&source, &Limits::default()).is_some());
    }
}
