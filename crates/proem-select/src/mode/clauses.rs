//! A task, cut into clauses of words.
//!
//! Invariants: code, quoted words, paths and traces are no words, so they can't tell a mode. At most [`MOST`] bytes of
//! a task are looked at from its beginning and as many from its end, since what people paste is between their words.

use proem_text::first_bytes;

use super::phrases::fold_phrase;

/// How a clause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClauseEnd {
    /// With a question mark.
    Question,
    /// With any other end of a sentence.
    Sentence,
    /// Its sentence goes on.
    Comma,
    /// Its sentence goes on with what it is about.
    Colon,
}

impl ClauseEnd {
    /// Whether the sentence goes on.
    pub(super) const fn goes_on(self) -> bool {
        matches!(self, Self::Comma | Self::Colon)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClauseWord {
    /// Folded. [`CODE`] represents what is no word.
    pub(super) text: String,
    /// Whether it begins with a capital letter.
    pub(super) capital: bool,
}

/// Words between two marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) words: Vec<ClauseWord>,
    pub(super) end: ClauseEnd,
}

/// A task's clauses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClauseList {
    pub(super) clauses: Vec<Clause>,
    /// Whether the task shows what a program printed when it failed.
    pub(super) trace: bool,
    /// The words of the clause that is not closed yet.
    open: Vec<ClauseWord>,
}

/// The most bytes of a task that are looked at from either end.
const MOST: usize = 16 * 1024;

/// Stands for code, a name, a path, a number: anything that is no word.
pub(super) const CODE: &str = "`";

/// How Python names the file of a frame.
const TRACE_FILE: &str = "File \"";
/// Beginnings of a line that programs print when they fail.
const TRACE_LINES: [&str; 10] = [
    TRACE_FILE,
    "Traceback",
    "thread '",
    "Caused by",
    "goroutine ",
    "npm ERR",
    "error[",
    "panic:",
    "--> ",
    "note: run with",
];
/// Ends of the names of errors.
const ERROR_NAMES: [&str; 2] = ["Error", "Exception"];
/// Quotation marks that open and close.
const QUOTES: [(char, char); 6] = [('`', '`'), ('"', '"'), ('“', '”'), ('«', '»'), ('„', '“'), ('„', '”')];
/// Characters that no word has.
const CODE_MARKS: &str = "/\\_=<>@#$%{}|+*~`.";

impl ClauseList {
    pub(super) fn new(task: &str) -> Self {
        let mut cut = Self::default();
        if task.len() > MOST.saturating_mul(2) {
            let end = task.len().saturating_sub(MOST);
            for part in [task.get(..task.floor_char_boundary(MOST)), task.get(task.ceil_char_boundary(end)..)] {
                cut.lines(part.unwrap_or_default());
            }
        } else {
            cut.lines(task);
        }
        cut
    }

    fn lines(&mut self, task: &str) {
        let mut fenced = false;
        let mut source = false;
        for line in task.lines() {
            let trimmed = line.trim();
            // Python prints the line of source under the line that names the file.
            source = trimmed.starts_with(TRACE_FILE) || source && line.starts_with(char::is_whitespace);
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                fenced = !fenced;
            } else if source || is_trace(line) {
                self.trace = true;
                asked_behind(trimmed).split_whitespace().for_each(|chunk| self.chunk(chunk));
            } else if !fenced {
                mask_quotes(trimmed).split_whitespace().for_each(|chunk| self.chunk(chunk));
            }
            // An item of a list and a title end with their line. A wrapped sentence loses little.
            self.close(ClauseEnd::Sentence);
        }
    }

    /// One run of characters between spaces: marks, a word or several, marks.
    fn chunk(&mut self, chunk: &str) {
        if chunk.starts_with('@') {
            return;
        }
        let edge = |c: char| !c.is_alphanumeric() && !CODE_MARKS.contains(c) || c == '.' || c == '*';
        let begun = chunk.trim_start_matches(|c| edge(c) && c != '-');
        let core = name_of_call(begun, begun.trim_end_matches(edge));
        let aside =
            chunk.starts_with(['(', '[', '¿', '¡', '—', '–']) || matches!(chunk, "-" | "•" | "*" | "--" | "->" | "=>");
        if aside {
            self.close(ClauseEnd::Comma);
        }
        if !core.trim_matches('-').is_empty() {
            let quoted = chunk.starts_with('\'') && chunk.trim_end_matches(['.', ',', '?', '!', ':']).ends_with('\'');
            self.core(if quoted { CODE } else { core });
        }
        let marks = begun.get(core.len()..).unwrap_or(chunk);
        if marks.contains(['?', '？']) || core.is_empty() && chunk.contains(['?', '？']) {
            self.close(ClauseEnd::Question);
        } else if marks.contains(['.', '!', ';', '…']) {
            self.close(ClauseEnd::Sentence);
        } else if marks.starts_with(':') || chunk == ":" {
            self.close(ClauseEnd::Colon);
        } else if marks.contains([',', ':', ')', ']', '—', '–']) {
            self.close(ClauseEnd::Comma);
        }
    }

    fn core(&mut self, core: &str) {
        if is_code_run(core) || core.ends_with(')') {
            self.trace |= ERROR_NAMES.iter().any(|name| core.ends_with(name));
            self.open.push(ClauseWord { text: CODE.to_owned(), capital: false });
            return;
        }
        let capital = core.starts_with(char::is_uppercase);
        // `fix(parser)` is two clauses' words. `don't` and `peux-tu` are one's.
        for (place, part) in core.split([',', ':', ';', '(', ')', '!', '?', '…', '—', '–']).enumerate() {
            if place > 0 {
                self.close(ClauseEnd::Comma);
            }
            let folded = fold_phrase(part);
            let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            self.open.extend(words.map(|word| ClauseWord { text: word.to_owned(), capital }));
        }
    }

    fn close(&mut self, end: ClauseEnd) {
        if !self.open.is_empty() {
            let words = std::mem::take(&mut self.open);
            self.clauses.push(Clause { words, end });
        } else if let Some(last) = self.clauses.last_mut() {
            // In `why ?` and `why?!` the mark is apart.
            if last.end.goes_on() || end == ClauseEnd::Question {
                last.end = end;
            }
        }
    }
}

/// The question that somebody typed behind what a program printed, on the same line.
fn asked_behind(line: &str) -> &str {
    let question = line.rsplit_once(". ").filter(|_| line.ends_with('?'));
    question.map_or("", |(_, question)| question)
}

/// The core with the brackets of a call, "load()" and "load(path)", which end no clause; what is before a colon,
/// "fix(parser):", is no call.
fn name_of_call<'c>(begun: &'c str, core: &'c str) -> &'c str {
    let Some(behind) = begun.get(core.len()..) else { return core };
    let closes = if core.contains('(') { ")" } else { "()" };
    let named = core.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match behind.strip_prefix(closes) {
        Some(rest) if named && !rest.starts_with([':', '!']) => {
            begun.get(..core.len().saturating_add(closes.len())).unwrap_or(core)
        }
        _ => core,
    }
}

/// Whether a line is part of what a program printed when it failed.
fn is_trace(line: &str) -> bool {
    let trimmed = line.trim_start();
    let frame = trimmed.starts_with("at ") && (trimmed.len() < line.len() || trimmed.ends_with(')'));
    frame || TRACE_LINES.iter().any(|beginning| trimmed.starts_with(beginning))
}

/// Whether a run of characters is a path, a flag, a number with letters, a name in code.
fn is_code_run(core: &str) -> bool {
    let humps = core.chars().zip(core.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let digits = core.chars().filter(char::is_ascii_digit).count();
    core.starts_with('-')
        || core.contains("()")
        || core.contains(|c| CODE_MARKS.contains(c))
        || humps
        || digits > 0 && digits < core.chars().count()
}

/// The line with [`CODE`] for each quoted part. A line that is one quotation is what it quotes.
fn mask_quotes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((at, mark)) = rest.char_indices().find(|(_, c)| QUOTES.iter().any(|(opens, _)| opens == c)) {
        let (before, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let behind = behind.strip_prefix(mark).unwrap_or_default();
        let near = first_bytes(behind, LONGEST_QUOTE);
        let closers = QUOTES.iter().filter(|(opens, _)| *opens == mark);
        let closed = closers.filter_map(|(_, closes)| near.split_once(*closes)).min_by_key(|(inside, _)| inside.len());
        out.push_str(before);
        let Some((inside, _)) = closed else {
            out.push(mark);
            rest = behind;
            continue;
        };
        let after = behind.strip_prefix(inside).unwrap_or_default();
        let after = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        if mark == '"' && out.is_empty() && after.is_empty() {
            return inside.to_owned();
        }
        out.push_str(if before.ends_with(char::is_alphanumeric) { CODE } else { " ` " });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Longer than this, in bytes, nothing is taken for a quotation.
const LONGEST_QUOTE: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(task: &str, expected: &str) {
        let cut = ClauseList::new(task);
        let clauses = cut.clauses.iter().map(|clause| {
            let words: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).collect();
            let end = match clause.end {
                ClauseEnd::Question => "?",
                ClauseEnd::Sentence => ".",
                ClauseEnd::Comma => ",",
                ClauseEnd::Colon => ":",
            };
            format!("{}{end}", words.join(" "))
        });
        let trace = if cut.trace { " (trace)" } else { "" };
        assert_eq!(format!("{}{trace}", clauses.collect::<Vec<_>>().join(" ")), expected, "{task:?}");
    }

    #[test]
    fn sentences_are_cut_at_their_marks() {
        check("Fix it, then tell me why. OK?", "fix it, then tell me why. ok?");
        check("pourquoi ? ça marche !", "pourquoi? ca marche.");
        check("¿Qué hace? Don't—no", "quə hace? don t, no.");
        check("fix(parser): handle it", "fix, parser, handle it.");
        check("Ajouter un cache : où ? Fix: it", "ajouter un cache: ou? fix: it.");
        check("- add tests\n- Größe prüfen", "add tests. groesse pruefen.");
        check("why?!", "why?");
        check("", "");
        check("?", "");
        check("🙂 ...", "");
    }

    #[test]
    fn what_is_no_word_is_code() {
        check("rename `check` to \"verify it\" in src/review.rs", "rename ` to ` in `.");
        check("check_user and verifyUser, --review, v1.2, «revue»", "` and `, `, `, `.");
        check("does load() or load(path) fail", "does ` or ` fail.");
        check("(see load())? fix(parser)!", "see `? fix, parser.");
        check("rename 'check' in it's place", "rename ` in it s place.");
        check("\"fix the bug\"", "fix the bug.");
        check("a 404 on page", "a 404 on page.");
        check("@bot fix it", "fix it.");
        check("why?\n```\nfix the bug\n```", "why?");
    }

    #[test]
    fn traces_are_told_from_sentences() {
        check("TypeError: x is null\n    at run (a.js:1:2)", "`: x is null. (trace)");
        check("thread 'main' panicked at src/a.rs:1", " (trace)");
        check("at night it fails", "at night it fails.");
        check("  File \"a.py\", line 1\n    raise Stale()\n    ^^^^^\nwhy", "why. (trace)");
        check("thread 'main' panicked at a.rs:1: no entry. who calls it?", "who calls it? (trace)");
        check("error[E0425]: no such value, did you mean it?", " (trace)");
    }
}
