//! A file of source or documentation on the rungs of its ladder: whole, the parts that matter, an excerpt, its outline.
//!
//! Parts are the definitions that the task concerns, with the signatures of those around them, with the lines that call
//! the code to change, and without the most of long comments. The definition that a file was chosen for is whole unless
//! it is longer than any part may be. Another is whole or a signature. An excerpt is the few definitions that are among
//! the best of all files, and an outline signatures, or a document's headings. Omissions are marked in place, by lines
//! and definitions, so that nobody takes a part for the whole. One line in ten has its number before it, so that all
//! can be cited.
//!
//! Invariants: every line that is shown is the file's own and is in its order. Every rendering is bounded. The same
//! text and definitions give the same bytes. No input makes it panic or take longer than linear time.

mod comments;
mod listing;

use std::collections::BTreeSet;

use proem_select::context::LineSpan;
use proem_text::words::search_words;

use self::comments::without_licence;
use self::listing::{code_listing, signature_outline};

pub use self::comments::without_long_comments;

/// A file of at most so many lines is one part.
const SMALL_LINES: usize = 80;
/// So is one that is no longer than so many times what its parts may be: what parts would save is less than what their gaps
/// cost.
const NEARLY_WHOLE: usize = 2;
/// So many bytes each of those lines may have, the mean over the file: code has about forty, and data more.
const LINE_BYTES: usize = 64;
/// The largest file that is offered whole, in bytes.
const WHOLE_BYTES: usize = 64 * 1024;
/// The most lines of the definition that a file was chosen for which are shown whole: two thirds of what all files have
/// together at the default budget, by the fourteen tokens that a line of code has at most on average.
const CHOSEN_LINES: usize = 900;
/// As many in an excerpt.
const CHOSEN_EXCERPT_LINES: usize = 150;
/// Lines shown on each side of a place in what is longer, or in no definition.
const AROUND: u32 = 14;
/// The most places that are shown within one long definition.
const MAX_WITHIN: usize = 2;
/// The most definitions of which parts are made.
const MAX_NAMED: usize = 32;
/// Of how many of them is looked at what they use.
const MOST_FOLLOWED: usize = 1;
/// The most definitions that one is said to use.
const MOST_USED: usize = 8;
/// The number of lines up to which a used definition is shown whole.
const SHORT_LINES: usize = 25;
/// So few lines between two that are shown are shown as well: they cost little more than a note on them.
const SHORT_GAP: u32 = 6;
/// The shortest name that is looked for.
const SHORTEST_NAME: usize = 3;
/// The most places of a file that call what is to be changed.
const MAX_CALLS: usize = 4;
/// Lines shown on each side of such a place.
const AROUND_CALL: u32 = 2;
/// The most signatures of neighbours among the parts.
const MAX_NEIGHBOURS: usize = 10;
/// The most lines of an excerpt.
const EXCERPT_LINES: usize = 60;
/// The longest line that is shown, in characters. Longer ones are data.
const LONGEST_LINE: usize = 400;
/// The shortest word of a task that a line is looked at for.
const SHORTEST_WORD: usize = 4;

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The name by which the source defines it, without its scope.
    pub name: String,
    /// All of it.
    pub lines: LineSpan,
    /// The lines that show how it is used.
    pub signature: LineSpan,
    /// How well it fits the task, beside the others of its file: the best has 0. `None` if it doesn't.
    pub rank: Option<usize>,
    /// Whether it is one of those that fit best of all files together.
    pub is_among_best: bool,
}

/// A file on each of its rungs. `None` where there is nothing of that kind, or too much.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeRenderings {
    /// All of it.
    pub full: Option<String>,
    /// Its relevant parts. All of it if the file is small.
    pub parts: Option<String>,
    /// The definitions that are among the best of all files, and places that the task names. None where that is all of
    /// its parts.
    pub excerpt: Option<String>,
    /// Its definitions.
    pub outline: Option<String>,
}

/// The question that a task puts to a file.
#[derive(Debug, Clone, Copy)]
pub struct FileQuestion<'q> {
    /// The definitions of the file.
    pub definitions: &'q [Definition],
    /// The lines that speak for it, such as where a stack trace leads; without any, and without a definition that the
    /// task concerns, lines with the task's words represent them.
    pub places: &'q [LineSpan],
    /// The words of the person who wants something done.
    pub task: &'q str,
    /// Names of what is to be changed, here or elsewhere: who calls it has to follow.
    pub callees: &'q [String],
    /// How many lines the parts may have. The definition that the file was chosen for has its own room.
    pub room: usize,
}

/// Renders a file.
#[must_use]
pub fn code_renderings(text: &str, question: &FileQuestion<'_>) -> CodeRenderings {
    let FileQuestion { definitions, room, .. } = *question;
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() || lines.iter().any(|line| line.chars().count() > LONGEST_LINE.saturating_mul(8)) {
        return CodeRenderings::default();
    }
    let source = SourceFile { lines: &lines, question };
    let all = LineSpan { first: 1, last: last_line(&lines) };
    let whole = || source.listed(&BTreeSet::from([all]));
    let most = room.saturating_mul(NEARLY_WHOLE).max(SMALL_LINES);
    let is_one_part = lines.len() <= most && text.len() <= most.saturating_mul(LINE_BYTES).min(WHOLE_BYTES);
    let full = (text.len() <= WHOLE_BYTES).then(whole);
    let (parts, of_parts) = match full.clone().filter(|_| is_one_part) {
        Some(whole) => match without_licence(&lines, all) {
            behind if behind == all => (Some(whole), lines.len()),
            behind => (Some(source.listed(&BTreeSet::from([behind]))), lines_of_span(behind)),
        },
        None => {
            let spans = source.parts(room);
            let count = lines_in_spans(&spans);
            // Notes on what little is left out would cost as much as it does.
            let nearly_whole = full.clone().filter(|_| is_nearly_all(count, lines.len()));
            ((count > 0).then(|| nearly_whole.unwrap_or_else(|| source.listed(&spans))), count)
        }
    };
    let excerpt = source.excerpt();
    let count = lines_in_spans(&excerpt);
    let excerpt = (count > 0 && !is_nearly_all(count, of_parts)).then(|| source.listed(&excerpt));
    CodeRenderings { full, parts, excerpt, outline: signature_outline(&lines, definitions) }
}

/// Whether so many lines are nine tenths of those, or more.
const fn is_nearly_all(shown: usize, of: usize) -> bool {
    shown.saturating_mul(10) >= of.saturating_mul(9)
}

/// How many lines spans have that don't overlap.
fn lines_in_spans(spans: &BTreeSet<LineSpan>) -> usize {
    spans.iter().fold(0, |sum, span| sum.saturating_add(lines_of_span(*span)))
}

/// A file, and what the task has to do with it.
#[derive(Debug, Clone, Copy)]
struct SourceFile<'s> {
    lines: &'s [&'s str],
    question: &'s FileQuestion<'s>,
}

impl SourceFile<'_> {
    /// The lines that matter, none twice: the definitions that the task concerns, what the best of them uses, and the
    /// signatures around that.
    fn parts(&self, room: usize) -> BTreeSet<LineSpan> {
        let Self { lines, question: FileQuestion { definitions, places, task, .. } } = *self;
        let mut shown = ShownLines::new(last_line(lines), room);
        let found;
        let has_fitting = definitions.iter().any(|definition| definition.rank.is_some());
        let places = if places.is_empty() && !has_fitting {
            found = lines_about(lines, shown.all(), task);
            &found
        } else {
            *places
        };
        self.add_wanted(&mut shown, places, |_| true, Reach { chosen: CHOSEN_LINES, followed: MOST_FOLLOWED });
        self.add_calls(&mut shown);
        let Some(first) = shown.first else { return BTreeSet::new() };
        let mut neighbours: Vec<LineSpan> = definitions.iter().map(|definition| definition.signature).collect();
        neighbours.sort_by_key(|span| (span.first.abs_diff(first), span.first));
        shown.room = shown.room.max(room).saturating_add(MAX_NEIGHBOURS);
        neighbours.into_iter().take(MAX_NEIGHBOURS).for_each(|span| shown.add(span));
        shown.spans()
    }

    /// These lines as they are shown.
    fn listed(&self, spans: &BTreeSet<LineSpan>) -> String {
        code_listing(self.lines, spans, self.question.definitions)
    }

    /// The few lines that matter most: places that the task names, and those of its definitions that are among the best
    /// of all files.
    fn excerpt(&self) -> BTreeSet<LineSpan> {
        let mut shown = ShownLines::new(last_line(self.lines), EXCERPT_LINES);
        let reach = Reach { chosen: CHOSEN_EXCERPT_LINES, followed: 0 };
        self.add_wanted(&mut shown, self.question.places, |definition| definition.is_among_best, reach);
        shown.spans()
    }

    /// Adds the definitions that are wanted: the narrowest one around each place, then those that fit the task and
    /// `counts` holds for, the best first. Behind each of the first what it uses, as far as that reaches.
    fn add_wanted(
        &self,
        shown: &mut ShownLines,
        places: &[LineSpan],
        counts: impl Fn(&Definition) -> bool,
        reach: Reach,
    ) {
        let Self { lines, question: FileQuestion { definitions, .. } } = *self;
        let mut wanted: Vec<(&Definition, Option<LineSpan>)> = Vec::new();
        for place in places {
            let inside = definitions.iter().filter(|definition| definition.lines.overlaps(*place));
            match inside.min_by_key(|definition| definition.lines.len()) {
                Some(definition) => wanted.push((definition, Some(*place))),
                None => shown.add(lines_around(*place, shown.all())),
            }
        }
        let mut fitting: Vec<(usize, &Definition)> =
            definitions.iter().filter_map(|definition| Some((definition.rank?, definition))).collect();
        fitting.sort_by_key(|(rank, _)| *rank);
        wanted.extend(fitting.into_iter().filter(|(_, fits)| counts(fits)).map(|(_, definition)| (definition, None)));
        wanted.truncate(MAX_NAMED);
        for (at, (definition, place)) in wanted.into_iter().enumerate() {
            let is_chosen = shown.first.is_none();
            let body = without_long_comments(lines, definition.lines);
            if is_chosen && lines_in_spans(&body) <= reach.chosen {
                shown.make_room(&body);
            }
            if shown.has_room(&body) {
                body.into_iter().for_each(|span| shown.add(span));
                // A place may be in a comment that is not shown.
                if let Some(hidden) = place.filter(|place| !shown.lines.contains(&place.first)) {
                    shown.add(lines_around(hidden, definition.lines));
                }
            } else {
                shown.add(definition.signature);
                if is_chosen || place.is_some() {
                    self.add_within(shown, definition, place);
                }
            }
            // The enclosing definition shows where it belongs.
            for outer in *definitions {
                if outer.lines.contains(definition.lines) && outer.lines != definition.lines {
                    shown.add(outer.signature);
                }
            }
            // Of what the best needs, what is short is shown, and how the rest is called.
            if at < reach.followed {
                for used in used_in(lines, definition.lines, definitions) {
                    shown.add(if lines_of_span(used.lines) <= SHORT_LINES { used.lines } else { used.signature });
                }
            }
        }
    }

    /// Adds of a definition that has no room the place that speaks for it, or those that have the task's words.
    fn add_within(&self, shown: &mut ShownLines, definition: &Definition, place: Option<LineSpan>) {
        let begins = LineSpan { first: definition.lines.first, last: definition.lines.first };
        let about = || lines_about(self.lines, definition.lines, self.question.task);
        let within = place.map_or_else(about, |place| vec![place]);
        // It begins with what it needs; what the task is about may stand hundreds of lines behind that.
        let within = if within.is_empty() { vec![begins] } else { within };
        within.into_iter().take(MAX_WITHIN).for_each(|place| shown.add(lines_around(place, definition.lines)));
    }

    /// Adds the places that call what is to be changed, each with the signature of what it is in.
    fn add_calls(&self, shown: &mut ShownLines) {
        let Self { lines, question: FileQuestion { definitions, callees, .. } } = *self;
        if callees.is_empty() {
            return;
        }
        let is_call = |line: &str| called_names(line).any(|name| callees.iter().any(|callee| callee == name));
        let is_own =
            |number: u32| definitions.iter().any(|own| own.signature.holds(number) && callees.contains(&own.name));
        let found: Vec<u32> = numbered_lines(lines, shown.all())
            .filter(|(number, line)| is_call(line) && !shown.lines.contains(number) && !is_own(*number))
            .map(|(number, _)| number)
            .take(MAX_CALLS)
            .collect();
        for number in found {
            let around = definitions.iter().filter(|definition| definition.lines.holds(number));
            let inner = around.min_by_key(|definition| definition.lines.len());
            let within = inner.map_or(shown.all(), |definition| definition.lines);
            if let Some(definition) = inner {
                shown.add(definition.signature);
            }
            shown.add(LineSpan {
                first: number.saturating_sub(AROUND_CALL).max(within.first).max(1),
                last: number.saturating_add(AROUND_CALL).min(within.last),
            });
        }
    }
}

/// The names that a line calls: those before a bracket.
fn called_names(line: &str) -> impl Iterator<Item = &str> {
    line.split('(').rev().skip(1).filter_map(|before| {
        let name = before.trim_end();
        let start = name.char_indices().rev().take_while(|(_, c)| c.is_alphanumeric() || *c == '_').last();
        start.and_then(|(start, _)| name.get(start..))
    })
}

/// How far a definition reaches that is wanted.
#[derive(Debug, Clone, Copy)]
struct Reach {
    /// The most lines of the first that are shown whole.
    chosen: usize,
    /// Behind how many of the first what they use is shown.
    followed: usize,
}

/// A place with lines on each side, within a span.
fn lines_around(place: LineSpan, within: LineSpan) -> LineSpan {
    LineSpan {
        first: place.first.saturating_sub(AROUND).max(within.first).max(1),
        last: place.last.min(place.first.saturating_add(AROUND)).saturating_add(AROUND).min(within.last),
    }
}

/// The definitions outside of these lines whose names are in them, in the order of the source.
fn used_in<'d>(lines: &[&str], span: LineSpan, definitions: &'d [Definition]) -> Vec<&'d Definition> {
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let names: BTreeSet<&str> = numbered_lines(lines, span)
        .flat_map(|(_, line)| line.split(|c: char| !is_in_name(c)))
        .filter(|name| name.len() >= SHORTEST_NAME)
        .collect();
    definitions
        .iter()
        .filter(|definition| names.contains(definition.name.as_str()) && !definition.lines.overlaps(span))
        .take(MOST_USED)
        .collect()
}

/// The lines that are shown, up to the most; what is added first goes before.
#[derive(Debug)]
struct ShownLines {
    /// The last line of the file.
    end: u32,
    /// How many lines there may be.
    room: usize,
    /// The start of the first added one.
    first: Option<u32>,
    lines: BTreeSet<u32>,
}

impl ShownLines {
    const fn new(end: u32, room: usize) -> Self {
        Self { end, room, first: None, lines: BTreeSet::new() }
    }

    /// All lines of the file.
    const fn all(&self) -> LineSpan {
        LineSpan { first: 1, last: self.end }
    }

    /// Whether all of these lines can be added.
    fn has_room(&self, spans: &BTreeSet<LineSpan>) -> bool {
        let new = spans.iter().flat_map(|span| self.inside(*span)).filter(|line| !self.lines.contains(line)).count();
        self.lines.len().saturating_add(new) <= self.room
    }

    /// Makes room for these lines, whatever is shown already.
    fn make_room(&mut self, spans: &BTreeSet<LineSpan>) {
        self.room = self.room.max(self.lines.len().saturating_add(lines_in_spans(spans)));
    }

    /// Adds lines, if there is room for all of them.
    fn add(&mut self, span: LineSpan) {
        if self.has_room(&BTreeSet::from([span])) {
            let span = self.inside(span);
            self.first = self.first.or(Some(*span.start()));
            self.lines.extend(span);
        }
    }

    /// The lines of a span that the file has.
    fn inside(&self, span: LineSpan) -> core::ops::RangeInclusive<u32> {
        span.first.max(1)..=span.last.min(self.end)
    }

    /// The lines as spans, in order, those that touch joined.
    fn spans(self) -> BTreeSet<LineSpan> {
        let mut spans: Vec<LineSpan> = Vec::new();
        for line in self.lines {
            match spans.last_mut() {
                Some(last) if line.saturating_sub(last.last) <= SHORT_GAP.saturating_add(1) => last.last = line,
                _ => spans.push(LineSpan { first: line, last: line }),
            }
        }
        spans.into_iter().collect()
    }
}

/// Up to three of these lines that hold most of the task's words.
fn lines_about(lines: &[&str], within: LineSpan, task: &str) -> Vec<LineSpan> {
    let wanted: BTreeSet<String> = search_words(task).filter(|word| word.chars().count() >= SHORTEST_WORD).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let score = |line: &&str| match may_have(line, &wanted) {
        true => search_words(line).filter(|word| wanted.contains(word)).collect::<BTreeSet<_>>().len(),
        false => 0,
    };
    let mut scored: Vec<(usize, u32)> = numbered_lines(lines, within)
        .map(|(number, line)| (score(line), number))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by(|(a, one), (b, other)| b.cmp(a).then(one.cmp(other)));
    let mut found: Vec<LineSpan> = Vec::new();
    for (_, line) in scored {
        // Lines near each other are shown together anyway.
        if found.iter().all(|span| span.first.abs_diff(line) > AROUND) {
            found.push(LineSpan { first: line, last: line });
        }
        if found.len() == 3 {
            break;
        }
    }
    found
}

/// Whether a line may have one of these words, which are in lower case: in plain letters each is there as it is, so
/// that most lines need not be taken apart.
fn may_have(line: &str, wanted: &BTreeSet<String>) -> bool {
    !line.is_ascii() || {
        let lower = line.to_ascii_lowercase();
        wanted.iter().any(|word| lower.contains(word.as_str()))
    }
}

/// Lines of a span with their numbers.
fn numbered_lines<'l>(lines: &'l [&'l str], span: LineSpan) -> impl Iterator<Item = (u32, &'l &'l str)> {
    (span.first..).zip(lines.iter().skip(place_of(span.first)).take(lines_of_span(span)))
}

/// The number of the last line; 0 of none.
fn last_line(lines: &[&str]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}

/// How many lines a span has.
fn lines_of_span(span: LineSpan) -> usize {
    usize::try_from(span.len()).unwrap_or(usize::MAX)
}

/// The place of a line in the list of all.
fn place_of(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
