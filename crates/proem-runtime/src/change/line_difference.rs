//! Finds the lines in which two versions of a file differ.
//!
//! The answer is always a right one, and the shortest unless the versions differ in thousands of lines: those are
//! matched by lines that each version has once, and what is between two matches counts as replaced if it is still long.

use std::collections::HashMap;
use std::ops::Range;

use proem_risk::change::LineCounts;
use proem_risk::patch::Hunk;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::blobs::{count_line_ends, is_binary};

/// The most lines of both versions that are compared by Myers's algorithm, which may need their product in steps.
const COMPARED: usize = 6_000;

/// How many bytes are compared at a time to find where two versions begin to differ.
const BLOCK: usize = 4 << 10;

/// The lines in which two versions of a file differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineDifference {
    pub(super) counts: LineCounts,
    /// How many lines the older version has.
    pub(super) before: u32,
    /// The changed lines, in order, without their ends.
    pub(super) hunks: Vec<Hunk>,
}

/// Compares two versions. `None` if git takes one of them for binary.
pub(super) fn compare_versions(old: &[u8], new: &[u8]) -> Option<LineDifference> {
    if is_binary(old) || is_binary(new) {
        return None;
    }
    let (start, end) = equal_ends(old, new);
    let middle = |text: &'_ [u8]| start..text.len().saturating_sub(end);
    let old_lines: Vec<&[u8]> = lines_within(old, middle(old));
    let new_lines: Vec<&[u8]> = lines_within(new, middle(new));
    let first = count_line_ends(old.get(..start).unwrap_or_default());
    let hunks = hunks_between(&matched_lines(&old_lines, &new_lines), &old_lines, &new_lines, first);
    let changed = |side: fn(&Hunk) -> &Vec<Vec<u8>>| short_count(hunks.iter().map(|hunk| side(hunk).len()).sum());
    let counts = LineCounts { added: changed(|hunk| &hunk.added), removed: changed(|hunk| &hunk.removed) };
    let rest = old.get(old.len().saturating_sub(end)..).unwrap_or_default();
    // A last line without an end is in the middle, or in what both versions have.
    let is_shared = end > 0 || start == old.len();
    let open = usize::from(is_shared && old.last().is_some_and(|&last| last != b'\n'));
    let before = short_count(first + old_lines.len() + count_line_ends(rest) + open);
    Some(LineDifference { counts, before, hunks })
}

fn short_count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn lines_within(text: &[u8], range: Range<usize>) -> Vec<&[u8]> {
    text.get(range).unwrap_or_default().split_inclusive(|&byte| byte == b'\n').collect()
}

/// How many bytes at the beginning and at the end are whole lines that both versions have.
fn equal_ends(old: &[u8], new: &[u8]) -> (usize, usize) {
    let blocks = old.chunks(BLOCK).zip(new.chunks(BLOCK)).take_while(|(one, other)| one == other);
    let whole = blocks.fold(0, |sum, (block, _)| sum + block.len());
    let rest = |text: &'_ [u8]| text.len().min(whole)..;
    let (old_rest, new_rest) = (old.get(rest(old)).unwrap_or_default(), new.get(rest(new)).unwrap_or_default());
    let equal = whole + old_rest.iter().zip(new_rest).take_while(|(one, other)| one == other).count();
    // A line that one version goes on with is not equal, so a beginning ends behind a line's end.
    let is_all = old.len() == new.len() && equal == old.len();
    let begun = old.get(..equal).unwrap_or_default().iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let start = if is_all { equal } else { begun };
    let (old_rest, new_rest) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let blocks = old_rest.rchunks(BLOCK).zip(new_rest.rchunks(BLOCK)).take_while(|(one, other)| one == other);
    let whole = blocks.fold(0, |sum, (block, _)| sum + block.len());
    let front = |text: &'_ [u8]| ..text.len().saturating_sub(whole);
    let (old_front, new_front) =
        (old_rest.get(front(old_rest)).unwrap_or_default(), new_rest.get(front(new_rest)).unwrap_or_default());
    let backwards = old_front.iter().rev().zip(new_front.iter().rev());
    let end = whole + backwards.take_while(|(one, other)| one == other).count();
    let begins_line = |text: &[u8]| text.len() == end || text.iter().rev().nth(end) == Some(&b'\n');
    if begins_line(old_rest) && begins_line(new_rest) {
        return (start, end);
    }
    let tail = old_rest.get(old_rest.len().saturating_sub(end)..).unwrap_or_default();
    (start, tail.iter().position(|&byte| byte == b'\n').map_or(0, |at| end.saturating_sub(at + 1)))
}

/// A line of one version that the other has too: its place, and a number that only equal lines have.
#[derive(Debug, Clone, Copy)]
struct SharedLine {
    place: usize,
    number: usize,
}

/// Pairs of places of equal lines, ascending on both sides.
type Matches = Vec<(usize, usize)>;

fn matched_lines<'l>(old: &[&'l [u8]], new: &[&'l [u8]]) -> Matches {
    let mut numbers: HashMap<&'l [u8], usize> = HashMap::new();
    let mut number_of = |line: &&'l [u8]| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(&mut number_of).collect();
    let new: Vec<usize> = new.iter().map(&mut number_of).collect();
    // By number: how often each version has the line.
    let mut tallies = vec![(0_usize, 0_usize); numbers.len()];
    old.iter().for_each(|&number| tallies.get_mut(number).into_iter().for_each(|tally| tally.0 += 1));
    new.iter().for_each(|&number| tallies.get_mut(number).into_iter().for_each(|tally| tally.1 += 1));
    let tally = |number: usize| tallies.get(number).copied().unwrap_or_default();
    // A line that only one version has changed for certain, and whole rewrites are made of such.
    let shared = |lines: &[usize]| -> Vec<SharedLine> {
        let all = lines.iter().enumerate().map(|(place, &number)| SharedLine { place, number });
        all.filter(|line| tally(line.number).0 > 0 && tally(line.number).1 > 0).collect()
    };
    let (old, new) = (shared(&old), shared(&new));
    let mut matches = Matches::new();
    if old.len() + new.len() <= COMPARED {
        match_block(&old, &new, &mut matches);
        return matches;
    }
    let (mut old_rest, mut new_rest) = (old.as_slice(), new.as_slice());
    for (old_place, new_place) in anchors(&old, &new, &|number| tally(number) == (1, 1)) {
        match_block(lines_before(&mut old_rest, old_place), lines_before(&mut new_rest, new_place), &mut matches);
        matches.push((old_place, new_place));
    }
    match_block(old_rest, new_rest, &mut matches);
    matches
}

/// Takes the lines before a place off, and the line at it.
fn lines_before<'s>(rest: &mut &'s [SharedLine], place: usize) -> &'s [SharedLine] {
    let at = rest.partition_point(|line| line.place < place);
    let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
    *rest = after.get(1..).unwrap_or_default();
    before
}

/// Matches the lines of a block, or none of one that is too long.
fn match_block(old: &[SharedLine], new: &[SharedLine], matches: &mut Matches) {
    if old.is_empty() || new.is_empty() || old.len() + new.len() > COMPARED {
        return;
    }
    let numbers = |lines: &[SharedLine]| -> Vec<usize> { lines.iter().map(|line| line.number).collect() };
    for operation in capture_diff_slices(Algorithm::Myers, &numbers(old), &numbers(new)) {
        if let DiffOp::Equal { old_index, new_index, len } = operation {
            let (old, new) = (old.iter().skip(old_index), new.iter().skip(new_index));
            matches.extend(old.zip(new).take(len).map(|(old, new)| (old.place, new.place)));
        }
    }
}

/// The longest row of lines that both versions have once and in the same order (Fredman 1975), as pairs of places.
fn anchors(old: &[SharedLine], new: &[SharedLine], is_single: &dyn Fn(usize) -> bool) -> Matches {
    let places: HashMap<usize, usize> = new.iter().map(|line| (line.number, line.place)).collect();
    let single = old.iter().filter(|line| is_single(line.number));
    let pairs: Matches = single.filter_map(|line| Some((line.place, *places.get(&line.number)?))).collect();
    // By the length of a row: the pair that ends the best one. And of each pair the one before it.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    let new_place = |at: &usize| pairs.get(*at).map_or(0, |pair| pair.1);
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| new_place(end) < pair.1);
        before.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter)).copied());
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row = Matches::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        row.extend(pairs.get(at));
        next = before.get(at).copied().flatten();
    }
    row.reverse();
    row
}

/// The lines between the matches. `first` is how many lines precede both.
fn hunks_between(matches: &[(usize, usize)], old: &[&[u8]], new: &[&[u8]], first: usize) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    let (mut old_from, mut new_from) = (0, 0);
    for &(old_to, new_to) in matches.iter().chain([&(old.len(), new.len())]) {
        let lines = |lines: &[&[u8]], range: Range<usize>| -> Vec<Vec<u8>> {
            let text = |line: &&[u8]| line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            lines.get(range).unwrap_or_default().iter().map(text).collect()
        };
        let (removed, added) = (lines(old, old_from..old_to), lines(new, new_from..new_to));
        // The number of a line, or of the one before where a side has none.
        let start = |from: usize, lines: &[Vec<u8>]| short_count(first + from + usize::from(!lines.is_empty()));
        if !removed.is_empty() || !added.is_empty() {
            let (old_start, new_start) = (start(old_from, &removed), start(new_from, &added));
            hunks.push(Hunk { old_start, removed, new_start, added });
        }
        (old_from, new_from) = (old_to + 1, new_to + 1);
    }
    hunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn difference(old: &str, new: &str) -> LineDifference {
        compare_versions(old.as_bytes(), new.as_bytes()).unwrap()
    }

    /// Each hunk as `START-removed,…+START+added,…`.
    fn hunk_words(old: &str, new: &str) -> Vec<String> {
        let text = |lines: &[Vec<u8>]| {
            lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>().join(",")
        };
        let hunks = difference(old, new).hunks;
        let words = hunks
            .iter()
            .map(|hunk| format!("{}-{} {}+{}", hunk.old_start, text(&hunk.removed), hunk.new_start, text(&hunk.added)));
        words.collect()
    }

    #[test]
    fn hunks_are_those_of_git_without_context() {
        for (old, new, expected) in [
            ("", "", &[][..]),
            ("a\nb\n", "a\nb\n", &[]),
            ("", "a\nb\n", &["0- 1+a,b"]),
            ("a\nb\n", "", &["1-a,b 0+"]),
            ("a\nb\nc\n", "a\nx\nc\n", &["2-b 2+x"]),
            ("a\nc\n", "a\nb\nc\n", &["1- 2+b"]),
            ("a\nb\nc\nd\ne\n", "a\nc\nd\nx\ne\n", &["2-b 1+", "4- 4+x"]),
            // The end of a file without a line feed is another line.
            ("a\nb", "a\nb\n", &["2-b 2+b"]),
            ("a\nb\n", "a\nb", &["2-b 2+b"]),
            // A beginning and an end that overlap, and lines that are beginnings and ends of others.
            ("a\na\n", "a\na\na\n", &["2- 3+a"]),
            ("ab\n", "b\n", &["1-ab 1+b"]),
            ("b\n", "ab\n", &["1-b 1+ab"]),
            ("x\nab\ny\n", "x\nb\ny\n", &["2-ab 2+b"]),
        ] {
            assert_eq!(hunk_words(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn long_rewrites_are_matched_by_lines_that_each_version_has_once() {
        let version = |step: usize| -> String {
            (0..9_000).map(|line| if line % step == 0 { "}\n".to_owned() } else { format!("line {line}\n") }).collect()
        };
        let LineDifference { counts, before, .. } = difference(&version(7), &version(11));
        assert_eq!(before, 9_000);
        // Lines whose number 7 divides but not 11 are new, and the other way round. A bracket may stay another's.
        let only = |one: usize, other: usize| (0..9_000).filter(|line| line % one == 0 && line % other != 0).count();
        let most = u32::try_from(only(7, 11) + only(11, 7)).unwrap();
        assert_eq!(counts.added, counts.removed);
        assert!((most / 2..=most).contains(&counts.added), "{counts:?} {most}");
        let turned: String = version(7).lines().rev().map(|line| format!("{line}\n")).collect();
        assert!(difference(&version(7), &turned).counts.added < 9_000);
    }

    #[test]
    fn equal_versions_have_all_their_lines() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2)] {
            assert_eq!(difference(text, text).before, lines, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn old_with_its_hunks_is_new(old in "([ab}]\n){0,30}[a]?", new in "([ab}]\n){0,30}[a]?") {
            let LineDifference { counts, before, hunks } = difference(&old, &new);
            let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
            let (old, new) = (lines(&old), lines(&new));
            prop_assert_eq!(before as usize, old.len());
            prop_assert_eq!(old.len() + counts.added as usize, new.len() + counts.removed as usize);
            let text = |line: &String| line.trim_end_matches('\n').as_bytes().to_vec();
            let (mut at, mut made) = (0, Vec::new());
            for hunk in &hunks {
                let start = hunk.old_start as usize - usize::from(!hunk.removed.is_empty());
                made.extend(old[at..start].iter().map(text));
                prop_assert_eq!(made.len(), hunk.new_start as usize - usize::from(!hunk.added.is_empty()));
                made.extend(hunk.added.iter().cloned());
                at = start + hunk.removed.len();
            }
            made.extend(old[at..].iter().map(text));
            prop_assert_eq!(made, new.iter().map(text).collect::<Vec<_>>());
        }
    }
}
