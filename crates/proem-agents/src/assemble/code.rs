//! A file of source or documentation on the rungs of its ladder: whole, the parts that matter, an excerpt, its outline.
//!
//! Parts are the definitions that the task concerns, whole where they are short, with the signatures of those around
//! them; an excerpt is the few definitions that are among the best of all files, and an outline signatures, or a document's
//! headings. What is left out is said where it was, by lines and definitions, so that nobody takes a part for the whole; a line
//! in ten has its number before it, so that all can be cited.
//!
//! Invariants: every line that is shown is the file's own and stands in its order; every rendering is bounded; the
//! same text and definitions give the same bytes; no input makes it panic or take longer than linear time.

use std::collections::BTreeSet;

use proem_select::context::LineSpan;
use proem_text::words::words;

/// A file of at most so many lines is one part.
const SMALL_LINES: usize = 80;
/// So is one that is no longer than so many times what its parts may be: what parts would save is less than what their gaps
/// cost.
const NEARLY_WHOLE: usize = 2;
/// So many bytes each of those lines may have, the mean over the file: code has about forty, and data more.
const LINE_BYTES: usize = 64;
/// The largest file that is offered whole, in bytes.
const WHOLE_BYTES: usize = 64 * 1024;
/// The most lines of one definition that are shown whole.
const LONG_LINES: usize = 90;
/// Lines shown on each side of a place in what is longer, or in no definition.
const AROUND: u32 = 14;
/// The most places that are shown within one long definition.
const MAX_WITHIN: usize = 2;
/// The most definitions of which parts are made.
const MAX_NAMED: usize = 12;
/// Of how many of them is looked at what they use.
const MOST_FOLLOWED: usize = 1;
/// The most definitions that one is said to use.
const MOST_USED: usize = 8;
/// What is used and has at most so many lines is shown whole.
const SHORT_LINES: usize = 25;
/// The shortest name that is looked for.
const SHORTEST_NAME: usize = 3;
/// The most signatures of neighbours among the parts.
const MAX_NEIGHBOURS: usize = 10;
/// The most lines of an outline.
const MAX_OUTLINE: usize = 60;
/// The most lines of an excerpt.
const EXCERPT_LINES: usize = 60;
/// Of how many lines one has its number before it.
const NUMBERED_LINES: u32 = 10;
/// The longest line that is shown, in characters; longer ones are data.
const LONGEST_LINE: usize = 400;
/// The shortest word of a task that a line is looked at for.
const SHORTEST_WORD: usize = 4;

/// A definition in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it is called.
    pub name: String,
    /// All of it.
    pub lines: LineSpan,
    /// What says how it is used.
    pub signature: LineSpan,
    /// How well it fits the task, beside the others of its file: the best has 0; `None` if it doesn't.
    pub rank: Option<usize>,
    /// Whether it is one of those that fit best of all files together.
    pub is_among_best: bool,
}

/// A file on each of its rungs; `None` where there is nothing of that kind, or too much.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeRenderings {
    /// All of it.
    pub full: Option<String>,
    /// What matters of it; all of it where the file is small.
    pub parts: Option<String>,
    /// The definitions that are among the best of all files, and places that the task names; none where that is all of
    /// its parts.
    pub excerpt: Option<String>,
    /// What it defines.
    pub outline: Option<String>,
}

/// Renders a file.
///
/// `places` are the lines that speak for it, such as where a stack trace leads; without any, and without a
/// definition that the task concerns, lines with the task's words stand for them. `room` is how many lines the parts may
/// have.
#[must_use]
pub fn renderings(
    text: &str,
    definitions: &[Definition],
    places: &[LineSpan],
    task: &str,
    room: usize,
) -> CodeRenderings {
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() || lines.iter().any(|line| line.chars().count() > LONGEST_LINE.saturating_mul(8)) {
        return CodeRenderings::default();
    }
    let source = SourceFile { lines: &lines, definitions, places, task };
    let whole = || source.shown(&BTreeSet::from([LineSpan { first: 1, last: last_line(&lines) }]));
    let most = room.saturating_mul(NEARLY_WHOLE).max(SMALL_LINES);
    let is_one_part = lines.len() <= most && text.len() <= most.saturating_mul(LINE_BYTES).min(WHOLE_BYTES);
    let full = (text.len() <= WHOLE_BYTES).then(whole);
    let (parts, of_parts) = match full.clone().filter(|_| is_one_part) {
        Some(whole) => (Some(whole), lines.len()),
        None => {
            let spans = source.parts(room);
            let count = lines_in(&spans);
            // Notes on what little is left out would cost as much as it does.
            let nearly_whole = full.clone().filter(|_| is_nearly_all(count, lines.len()));
            ((count > 0).then(|| nearly_whole.unwrap_or_else(|| source.shown(&spans))), count)
        }
    };
    let excerpt = source.excerpt();
    let count = lines_in(&excerpt);
    let excerpt = (count > 0 && !is_nearly_all(count, of_parts)).then(|| source.shown(&excerpt));
    CodeRenderings { full, parts, excerpt, outline: outline(&lines, definitions) }
}

/// Whether so many lines are nine tenths of those, or more.
const fn is_nearly_all(shown: usize, of: usize) -> bool {
    shown.saturating_mul(10) >= of.saturating_mul(9)
}

/// How many lines spans have that don't overlap.
fn lines_in(spans: &BTreeSet<LineSpan>) -> usize {
    spans.iter().fold(0, |sum, span| sum.saturating_add(lines_of(*span)))
}

/// A file, and what the task has to do with it.
#[derive(Debug, Clone, Copy)]
struct SourceFile<'s> {
    lines: &'s [&'s str],
    definitions: &'s [Definition],
    /// Lines that speak for it.
    places: &'s [LineSpan],
    task: &'s str,
}

impl SourceFile<'_> {
    /// The lines that matter, none twice: the definitions that the task concerns, what the best of them uses, and the
    /// signatures around that.
    fn parts(&self, room: usize) -> BTreeSet<LineSpan> {
        let Self { lines, definitions, places, task } = *self;
        let mut shown = ShownLines::new(last_line(lines), room);
        let found;
        let has_fitting = definitions.iter().any(|definition| definition.rank.is_some());
        let places = if places.is_empty() && !has_fitting {
            found = lines_about(lines, shown.all(), task);
            &found
        } else {
            places
        };
        self.add_wanted(&mut shown, places, |_| true, MOST_FOLLOWED);
        let Some(first) = shown.first else { return BTreeSet::new() };
        let mut neighbours: Vec<LineSpan> = definitions.iter().map(|definition| definition.signature).collect();
        neighbours.sort_by_key(|span| (span.first.abs_diff(first), span.first));
        shown.room = room.saturating_add(MAX_NEIGHBOURS);
        neighbours.into_iter().take(MAX_NEIGHBOURS).for_each(|span| shown.add(span));
        shown.spans()
    }

    /// The few lines that matter most: places that the task names, and those of its definitions that are among the best
    /// of all files.
    fn excerpt(&self) -> BTreeSet<LineSpan> {
        let mut shown = ShownLines::new(last_line(self.lines), EXCERPT_LINES);
        self.add_wanted(&mut shown, self.places, |definition| definition.is_among_best, 0);
        shown.spans()
    }

    /// Adds the definitions that are wanted: the narrowest one around each place, then those that fit the task and
    /// `counts` holds for, the best first; behind each of the first `followed` what it uses.
    fn add_wanted(
        &self,
        shown: &mut ShownLines,
        places: &[LineSpan],
        counts: impl Fn(&Definition) -> bool,
        followed: usize,
    ) {
        let Self { lines, definitions, task, .. } = *self;
        let mut wanted: Vec<(&Definition, Option<LineSpan>)> = Vec::new();
        for place in places {
            let inside = definitions.iter().filter(|definition| definition.lines.overlaps(*place));
            match inside.min_by_key(|definition| definition.lines.len()) {
                Some(definition) => wanted.push((definition, Some(*place))),
                None => shown.add(around(*place, shown.all())),
            }
        }
        let mut fitting: Vec<(usize, &Definition)> =
            definitions.iter().filter_map(|definition| Some((definition.rank?, definition))).collect();
        fitting.sort_by_key(|(rank, _)| *rank);
        wanted.extend(fitting.into_iter().filter(|(_, fits)| counts(fits)).map(|(_, definition)| (definition, None)));
        wanted.truncate(MAX_NAMED);
        for (at, (definition, place)) in wanted.into_iter().enumerate() {
            // For the best there is always room for some of it; another is shown whole or by its signature.
            let is_first = shown.first.is_none();
            if lines_of(definition.lines) <= LONG_LINES && (!is_first || shown.has_room(definition.lines)) {
                shown.add(definition.lines);
            } else {
                shown.add(definition.signature);
                let begins = LineSpan { first: definition.lines.first, last: definition.lines.first };
                let within = place.map_or_else(|| lines_about(lines, definition.lines, task), |place| vec![place]);
                // It begins with what it needs; what the task is about may stand hundreds of lines behind that.
                let within = if within.is_empty() { vec![begins] } else { within };
                within.into_iter().take(MAX_WITHIN).for_each(|place| shown.add(around(place, definition.lines)));
            }
            // What it stands in says what it belongs to.
            for outer in definitions {
                if outer.lines.contains(definition.lines) && outer.lines != definition.lines {
                    shown.add(outer.signature);
                }
            }
            // Of what the best needs, what is short is shown, and how the rest is called.
            if at < followed {
                for used in used_in(lines, definition.lines, definitions) {
                    shown.add(if lines_of(used.lines) <= SHORT_LINES { used.lines } else { used.signature });
                }
            }
        }
    }

    /// These lines, each behind a tab, and behind its number where a span begins and then in every tenth line: in front of
    /// each, numbers took a sixth of the tokens (evals/context). Between them stands what is not shown, behind no tab.
    /// An underline has its number as well: behind space alone, containment breaks it as that of a heading.
    fn shown(&self, spans: &BTreeSet<LineSpan>) -> String {
        let mut out = String::new();
        let mut next = 1;
        for span in spans {
            self.elision(next, span.first.saturating_sub(1), &mut out);
            for (number, line) in numbered_lines(self.lines, *span) {
                if number == span.first || number.is_multiple_of(NUMBERED_LINES) || is_underline(line) {
                    out.push_str(&format!("{number}\t"));
                } else if !line.is_empty() {
                    out.push('\t');
                }
                push_line(line, &mut out);
            }
            next = span.last.saturating_add(1);
        }
        self.elision(next, last_line(self.lines), &mut out);
        out
    }

    /// Says what stands between two lines and is not shown.
    fn elision(&self, first: u32, last: u32, out: &mut String) {
        if first > last {
            return;
        }
        let lines = last.saturating_sub(first).saturating_add(1);
        let inside = |definition: &&Definition| (first..=last).contains(&definition.lines.first);
        let s = |is_one: bool| if is_one { "" } else { "s" };
        let defined = self.definitions.iter().filter(inside).count();
        let defined = if defined == 0 { String::new() } else { format!(", {defined} definition{}", s(defined == 1)) };
        out.push_str(&format!("[{lines} line{}{defined} not shown]\n", s(lines == 1)));
    }
}

/// A place with lines on each side, within a span.
fn around(place: LineSpan, within: LineSpan) -> LineSpan {
    LineSpan {
        first: place.first.saturating_sub(AROUND).max(within.first).max(1),
        last: place.last.min(place.first.saturating_add(AROUND)).saturating_add(AROUND).min(within.last),
    }
}

/// The definitions outside of these lines whose names stand in them, in the order of the source.
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
    /// Where the first that was added begins.
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
    fn has_room(&self, span: LineSpan) -> bool {
        let new = self.inside(span).filter(|line| !self.lines.contains(line)).count();
        self.lines.len().saturating_add(new) <= self.room
    }

    /// Adds lines, if there is room for all of them.
    fn add(&mut self, span: LineSpan) {
        if self.has_room(span) {
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
                // Two lines cost less than a note on them.
                Some(last) if line <= last.last.saturating_add(3) => last.last = line,
                _ => spans.push(LineSpan { first: line, last: line }),
            }
        }
        spans.into_iter().collect()
    }
}

/// Up to three of these lines that hold most of the task's words.
fn lines_about(lines: &[&str], within: LineSpan, task: &str) -> Vec<LineSpan> {
    let wanted: BTreeSet<String> = words(task).filter(|word| word.chars().count() >= SHORTEST_WORD).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let score = |line: &&str| match may_have(line, &wanted) {
        true => words(line).filter(|word| wanted.contains(word)).collect::<BTreeSet<_>>().len(),
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

/// Whether a line may have one of these words, which are in lower case: in plain letters each stands there as it is, so
/// that most lines need not be taken apart.
fn may_have(line: &str, wanted: &BTreeSet<String>) -> bool {
    !line.is_ascii() || {
        let lower = line.to_ascii_lowercase();
        wanted.iter().any(|word| lower.contains(word.as_str()))
    }
}

/// Lines of a span with their numbers.
fn numbered_lines<'l>(lines: &'l [&'l str], span: LineSpan) -> impl Iterator<Item = (u32, &'l &'l str)> {
    (span.first..).zip(lines.iter().skip(place_of(span.first)).take(lines_of(span)))
}

/// The number of the last line; 0 of none.
fn last_line(lines: &[&str]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}

/// How many lines a span has.
fn lines_of(span: LineSpan) -> usize {
    usize::try_from(span.len()).unwrap_or(usize::MAX)
}

/// Where a line stands in the list of all.
fn place_of(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// Whether a line underlines the one above it, as titles of reStructuredText and of documentation in Python are.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '-' | '='))
}

fn push_line(line: &str, out: &mut String) {
    let cut: String = line.chars().take(LONGEST_LINE).collect();
    out.push_str(&cut);
    if cut.len() < line.len() {
        out.push('…');
    }
    out.push('\n');
}

/// The signatures of a file's definitions, or a document's headings.
fn outline(lines: &[&str], definitions: &[Definition]) -> Option<String> {
    let mut starts: Vec<u32> = definitions.iter().map(|definition| definition.signature.first).collect();
    if starts.is_empty() {
        let is_heading = |line: &&str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
        starts = (1..).zip(lines).filter(|(_, line)| is_heading(line)).map(|(number, _)| number).collect();
    }
    starts.sort_unstable();
    starts.dedup();
    if starts.is_empty() {
        return None;
    }
    let mut out = String::new();
    for start in starts.iter().take(MAX_OUTLINE) {
        let Some(line) = lines.get(place_of(*start)) else { continue };
        out.push_str(&format!("{start}\t"));
        push_line(line.trim_end_matches(['{', ' ']), &mut out);
    }
    let more = starts.len().saturating_sub(MAX_OUTLINE);
    if more > 0 {
        out.push_str(&format!("[{more} more not shown]\n"));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proem_guard::contain::{ContainmentPart, contain};
    use proem_guard::{InstallationKey, Tag, Untrusted};
    use proem_text::{Label, Source};

    use super::*;

    const ROOM: usize = 90;

    const fn span(first: u32, last: u32) -> LineSpan {
        LineSpan { first, last }
    }

    fn definition(first: u32, last: u32) -> Definition {
        Definition {
            name: String::new(),
            lines: span(first, last),
            signature: span(first, first),
            rank: None,
            is_among_best: false,
        }
    }

    /// A rendering with the number of each line before it: what its reader can work out.
    fn numbered(rendering: &str) -> String {
        let (mut out, mut next) = (String::new(), 1_u32);
        for line in rendering.lines() {
            if let Some(note) = line.strip_prefix('[') {
                next += note.split(' ').next().unwrap().parse::<u32>().unwrap();
                out.push_str(&format!("{line}\n"));
                continue;
            }
            let (number, text) = line.split_once('\t').unwrap_or(("", line));
            assert!(number.is_empty() || number.parse() == Ok(next), "{rendering}");
            out.push_str(&format!("{next}\t{text}\n"));
            next += 1;
        }
        out
    }

    /// A file of ten functions of twenty lines each.
    fn file() -> (String, Vec<Definition>) {
        let function = |n: usize| format!("fn part_{n}() {{\n{}}}\n", "    work();\n".repeat(18));
        ((0..10).map(function).collect(), (0..10).map(|n| definition(n * 20 + 1, n * 20 + 20)).collect())
    }

    #[test]
    fn a_small_file_is_one_part() {
        let rendered = renderings("fn a() {}\n\nfn b() {}\n", &[definition(1, 1), definition(3, 3)], &[], "", ROOM);
        assert_eq!(rendered.full.as_deref(), Some("1\tfn a() {}\n\n\tfn b() {}\n"));
        assert_eq!(rendered.parts, rendered.full);
        assert_eq!(rendered.outline.as_deref(), Some("1\tfn a() {}\n3\tfn b() {}\n"));
    }

    /// A comment at a line's beginning would be a heading to containment, and behind a tab it is none; an underline is one
    /// behind anything but a number.
    #[test]
    fn containment_leaves_comments_and_underlines_as_they_are() {
        let full = renderings("import os\n# Clock\n\nx\n  ---\n", &[], &[], "", ROOM).full.unwrap();
        assert_eq!(full, "1\timport os\n\t# Clock\n\n\tx\n5\t  ---\n");
        let broken = |text: &str| {
            let text = Untrusted::new(text.to_owned(), Label::from_source(Source::named("repository")));
            let key = InstallationKey::new([7; 32]);
            !contain(&[ContainmentPart::Outside(&text)], &Tag::UNTRUSTED_CONTEXT, &key).findings().is_empty()
        };
        assert!(!broken(&full) && broken(&full.replace('\t', "")));
    }

    #[test]
    fn a_file_that_is_not_much_longer_than_its_parts_may_be_is_whole() {
        let (text, mut definitions) = file();
        definitions[3].rank = Some(0);
        let whole = renderings(&text, &definitions, &[], "", 100);
        assert_eq!(whole.parts, whole.full);
        let full = whole.full.unwrap();
        assert_eq!(full.lines().count(), 200);
        assert!(full.starts_with("1\tfn part_0") && full.contains("\n\t    work();\n10\t    work();\n"), "{full}");
        assert!(numbered(&full).ends_with("200\t}\n"));
        let parts = renderings(&text, &definitions, &[], "", 99);
        assert_ne!(parts.parts, parts.full);
        // Long lines take the room of more.
        let wide = text.replace("work();", &format!("work({:?});", "x".repeat(80)));
        let parts = renderings(&wide, &definitions, &[], "", 100);
        assert_ne!(parts.parts, parts.full);
    }

    #[test]
    fn parts_are_definitions_that_matter_with_the_signatures_around_them() {
        let (text, mut definitions) = file();
        definitions[3].rank = Some(0);
        let parts = renderings(&text, &definitions, &[], "", ROOM).parts.unwrap();
        assert!(parts.starts_with("1\tfn part_0() {\n[19 lines not shown]\n21\tfn part_1() {\n"), "{parts}");
        let parts = numbered(&parts);
        assert!(parts.starts_with("1\tfn part_0() {\n[19 lines not shown]\n21\tfn part_1() {\n"), "{parts}");
        assert!(
            parts.contains("61\tfn part_3() {\n62\t    work();\n") && parts.contains("80\t}\n81\tfn part_4"),
            "{parts}"
        );
        assert!(parts.ends_with("181\tfn part_9() {\n[19 lines not shown]\n"), "{parts}");
        let by_place = renderings(&text, &definitions[..2], &[span(70, 70)], "", ROOM).parts.unwrap();
        let by_place = numbered(&by_place);
        assert!(by_place.contains("56\t") && by_place.contains("84\t") && !by_place.contains("90\t"), "{by_place}");
        assert!(by_place.ends_with("[116 lines not shown]\n"), "{by_place}");
    }

    /// A file of forty functions in two types: the best of those that fit goes first, and has its neighbours beside it.
    #[test]
    fn the_best_goes_before_what_stands_first() {
        let function = |n: usize| format!("    fn part_{n}() {{\n{}    }}\n", "        work();\n".repeat(58));
        let types: String = (0..2)
            .map(|kind| {
                format!("impl Type{kind} {{\n{}}}\n", (0..20).map(|n| function(kind * 20 + n)).collect::<String>())
            })
            .collect();
        // Each type takes 1,202 lines, and each function 60.
        let mut definitions = vec![definition(1, 1_202), definition(1_203, 2_404)];
        definitions.extend((0..40).map(|n| {
            let first = n * 60 + 2 + n / 20 * 2;
            definition(first, first + 59)
        }));
        for (rank, at) in [2, 4, 6, 8, 39].into_iter().enumerate() {
            definitions[at].rank = Some(4 - rank);
        }
        let parts = numbered(&renderings(&types, &definitions, &[], "", 260).parts.unwrap());
        let shown: Vec<&str> =
            parts.lines().filter(|line| line.contains("fn part_") || line.contains("impl")).collect();
        assert!(parts.contains("fn part_37() {\n2225\t        work();"), "the best is whole: {shown:#?}");
        assert!(shown[0].contains("impl Type0") && parts.contains("\timpl Type1 {"), "{shown:#?}");
        let neighbours =
            shown.iter().filter(|line| ["part_30", "part_35", "part_39"].iter().any(|name| line.contains(name)));
        assert_eq!(neighbours.count(), 3, "{shown:#?}");
        assert!(!parts.contains("fn part_0() {\n3\t        work();"), "the fifth has no room: {shown:#?}");
    }

    #[test]
    fn a_definition_for_which_there_is_no_room_is_shown_by_the_lines_about_the_task() {
        let line = |n: usize| if n == 50 { "restart(env)\n".to_owned() } else { format!("line {n}\n") };
        let text: String = (1..=120).map(line).collect();
        let best = Definition { rank: Some(0), ..definition(1, 80) };
        let parts = numbered(&renderings(&text, &[best], &[], "restart it", 50).parts.unwrap());
        assert!(parts.starts_with("1\tline 1\n[34 lines not shown]\n36\tline 36\n"), "{parts}");
        assert!(
            parts.contains("50\trestart(env)\n") && parts.ends_with("64\tline 64\n[56 lines not shown]\n"),
            "{parts}"
        );
    }

    /// What the best calls is shown whole if it is short, else by its signature; what nothing calls is not.
    #[test]
    fn what_the_best_uses_is_shown() {
        let body = |lines: usize| "    work();\n".repeat(lines);
        let text = format!(
            "fn best() {{\n    short();\n    long();\n}}\n{}fn short() {{\n{}}}\nfn long() {{\n{}}}\nfn other() {{\n{}}}\n",
            "// nothing\n".repeat(200),
            body(10),
            body(40),
            body(10)
        );
        let named = |name: &str, first, last| Definition { name: name.to_owned(), ..definition(first, last) };
        let best = Definition { rank: Some(0), ..named("best", 1, 4) };
        let all = [best, named("short", 205, 216), named("long", 217, 258), named("other", 259, 270)];
        let parts = numbered(&renderings(&text, &all, &[], "", 30).parts.unwrap());
        assert!(parts.contains("205\tfn short() {\n206\t    work();\n"), "{parts}");
        assert!(parts.contains("217\tfn long() {\n[41 lines not shown]\n"), "{parts}");
        assert!(parts.contains("259\tfn other() {\n[11 lines not shown]\n"), "a neighbour by its signature: {parts}");
    }

    /// An excerpt is the best of all files and nothing around it; where that is as much as the parts there is none.
    #[test]
    fn an_excerpt_is_what_is_among_the_best_of_all() {
        let (text, mut definitions) = file();
        definitions[3] = Definition { rank: Some(0), is_among_best: true, ..definitions[3].clone() };
        definitions[7].rank = Some(1);
        let rendered = renderings(&text, &definitions, &[], "", ROOM);
        assert!(rendered.parts.is_some_and(|parts| numbered(&parts).contains("159\t    work();\n160\t}\n")));
        let excerpt = rendered.excerpt.unwrap();
        let ends =
            ["[60 lines, 3 definitions not shown]\n61\tfn part_3() {\n\t", "}\n[120 lines, 6 definitions not shown]\n"];
        assert!(excerpt.starts_with(ends[0]) && excerpt.ends_with(ends[1]), "{excerpt}");
        // A file that is shown whole has one as well: it is what is left where the budget is small.
        let whole = renderings(&text, &definitions, &[], "", 100);
        assert_eq!((&whole.parts, whole.excerpt.as_ref()), (&whole.full, Some(&excerpt)));
        definitions[3].is_among_best = false;
        assert_eq!(renderings(&text, &definitions, &[], "", ROOM).excerpt, None);
        let place = renderings(&text, &definitions, &[span(190, 190)], "", ROOM).excerpt.unwrap();
        assert!(place.starts_with("[180 lines, 9 definitions not shown]\n181\tfn part_9() {\n"), "{place}");
        let few: String = text.lines().take(22).map(|line| format!("{line}\n")).collect();
        definitions[0] = Definition { rank: Some(0), is_among_best: true, ..definitions[0].clone() };
        assert_eq!(renderings(&few, &definitions[..2], &[], "", ROOM).excerpt, None);
    }

    #[test]
    fn a_long_definition_is_shown_around_its_place() {
        let text: String = (1..=400).map(|n| format!("line {n}\n")).collect();
        let parts = numbered(&renderings(&text, &[definition(1, 400)], &[span(300, 300)], "", ROOM).parts.unwrap());
        assert!(parts.starts_with("1\tline 1\n[284 lines not shown]\n286\t"), "{parts}");
        assert!(parts.ends_with("314\tline 314\n[86 lines not shown]\n"), "{parts}");
    }

    #[test]
    fn within_a_long_definition_lines_with_the_tasks_words_are_shown() {
        let text: String =
            (1..=400).map(|n| if n == 320 { "restart(env)\n".to_owned() } else { format!("line {n}\n") }).collect();
        let fitting = |task: &str| {
            let long = Definition { rank: Some(0), ..definition(1, 400) };
            numbered(&renderings(&text, &[long], &[], task, ROOM).parts.unwrap())
        };
        let parts = fitting("restart when the env changes");
        assert!(parts.starts_with("1\tline 1\n[304 lines not shown]\n306\t"), "{parts}");
        assert!(parts.contains("320\trestart(env)\n") && parts.ends_with("[66 lines not shown]\n"), "{parts}");
        let begins = fitting("nothing of this");
        assert!(
            begins.starts_with("1\tline 1\n2\tline 2\n") && begins.ends_with("[385 lines not shown]\n"),
            "{begins}"
        );
    }

    #[test]
    fn without_a_place_lines_with_the_tasks_words_are_shown() {
        let mut text = "nothing here\n".repeat(100);
        text.push_str("the multiline printer\n");
        text.push_str(&"nothing there\n".repeat(100));
        let parts = numbered(&renderings(&text, &[], &[], "fix the multiline printer", ROOM).parts.unwrap());
        assert!(parts.contains("101\tthe multiline printer\n"), "{parts}");
        assert_eq!(renderings(&text, &[], &[], "fix it", ROOM).parts, None);
    }

    #[test]
    fn no_line_with_a_word_is_passed_over() {
        let wanted: BTreeSet<String> = ["restart", "http", "größe"].map(str::to_owned).into();
        for line in [
            "let x = httpServer.restart();",
            "HTTPServer2",
            "RESTART_ALL",
            "die Größe",
            "ｒｅｓｔａｒｔ",
            "re-start",
            "x",
        ] {
            let has = words(line).any(|word| wanted.contains(&word));
            assert!(!has || may_have(line, &wanted), "{line}");
        }
        assert!(!may_have("re-start", &wanted) && may_have("HTTPServer2", &wanted));
    }

    #[test]
    fn documents_have_headings_and_data_has_nothing() {
        let text = format!("# One\n{}## Two\n#no\n", "text\n".repeat(100));
        assert_eq!(renderings(&text, &[], &[], "", ROOM).outline.as_deref(), Some("1\t# One\n102\t## Two\n"));
        assert_eq!(renderings(&"x".repeat(9000), &[], &[], "", ROOM), CodeRenderings::default());
        assert_eq!(renderings("", &[], &[], "", ROOM), CodeRenderings::default());
    }
}
