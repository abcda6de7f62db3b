//! Writes the changed lines of a file as git's patch has them, for what reads such.

use proem_risk::patch::Hunk;
use proem_risk::path::RepoPath;

/// A hunk with the lines that precede it in both versions.
struct PlacedHunk<'h> {
    hunk: &'h Hunk,
    old_at: usize,
    new_at: usize,
}

impl<'h> PlacedHunk<'h> {
    fn of(hunk: &'h Hunk) -> Self {
        // The number of the first line, or of the one before where a side has none.
        let at = |start: u32, lines: &[Vec<u8>]| {
            usize::try_from(start).unwrap_or(usize::MAX).saturating_sub(usize::from(!lines.is_empty()))
        };
        Self { hunk, old_at: at(hunk.old_start, &hunk.removed), new_at: at(hunk.new_start, &hunk.added) }
    }

    const fn new_end(&self) -> usize {
        self.new_at.saturating_add(self.hunk.added.len())
    }
}

/// The patch of a file whose version after the change is `new`, with at most `around` lines before and behind each
/// change. Nothing without hunks. Git quotes an unusual path. Here it is as it is.
pub(super) fn patch_text(path: &RepoPath, new: &[u8], hunks: &[Hunk], around: usize) -> Vec<u8> {
    let mut text = Vec::new();
    if hunks.is_empty() {
        return text;
    }
    for (mark, side) in [("diff --git a/", " b/"), ("--- a/", "\n+++ b/")] {
        for piece in [mark.as_bytes(), path.as_bytes(), side.as_bytes(), path.as_bytes(), b"\n"] {
            text.extend_from_slice(piece);
        }
    }
    let lines: Vec<&[u8]> = match around {
        0 => Vec::new(),
        _ => new.split_inclusive(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect(),
    };
    let placed: Vec<PlacedHunk<'_>> = hunks.iter().map(PlacedHunk::of).collect();
    let joins = |one: &PlacedHunk<'_>, next: &PlacedHunk<'_>| next.new_at.saturating_sub(one.new_end()) <= 2 * around;
    for group in placed.chunk_by(joins) {
        push_group(group, &lines, around, &mut text);
    }
    text
}

fn push_group(group: &[PlacedHunk<'_>], lines: &[&[u8]], around: usize, text: &mut Vec<u8>) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let lead = around.min(first.new_at);
    let end = last.new_end().saturating_add(around).min(lines.len().max(last.new_end()));
    let (old_from, new_from) = (first.old_at.saturating_sub(lead), first.new_at.saturating_sub(lead));
    let new_count = end.saturating_sub(new_from);
    let count = |side: fn(&Hunk) -> &Vec<Vec<u8>>| group.iter().map(|placed| side(placed.hunk).len()).sum::<usize>();
    let old_count = (new_count + count(|hunk| &hunk.removed)).saturating_sub(count(|hunk| &hunk.added));
    let start = |from: usize, count: usize| from + usize::from(count > 0);
    let head =
        format!("@@ -{},{old_count} +{},{new_count} @@\n", start(old_from, old_count), start(new_from, new_count));
    text.extend_from_slice(head.as_bytes());
    let mut push = |sign: u8, line: &[u8]| {
        text.push(sign);
        text.extend_from_slice(line);
        text.push(b'\n');
    };
    let mut at = new_from;
    for placed in group {
        lines.get(at..placed.new_at).unwrap_or_default().iter().for_each(|line| push(b' ', line));
        placed.hunk.removed.iter().for_each(|line| push(b'-', line));
        placed.hunk.added.iter().for_each(|line| push(b'+', line));
        at = placed.new_end();
    }
    lines.get(at..end).unwrap_or_default().iter().for_each(|line| push(b' ', line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::line_difference::compare_versions;

    fn check(old: &str, new: &str, around: usize, expected: &str) {
        let hunks = compare_versions(old.as_bytes(), new.as_bytes()).unwrap().hunks;
        let text = String::from_utf8(patch_text(&RepoPath::new("f"), new.as_bytes(), &hunks, around)).unwrap();
        let body: String = text.lines().skip(3).map(|line| format!("{line}|")).collect();
        assert_eq!(body, expected, "{old:?} {new:?} {around}");
    }

    #[test]
    fn a_patch_is_that_of_git() {
        let (old, new) = ("a\nb\nc\nd\ne\nf\ng\n", "a\nB\nc\nd\ne\ng\nh\n");
        check(old, new, 0, "@@ -2,1 +2,1 @@|-b|+B|@@ -6,1 +5,0 @@|-f|@@ -7,0 +7,1 @@|+h|");
        check(old, new, 1, "@@ -1,3 +1,3 @@| a|-b|+B| c|@@ -5,3 +5,3 @@| e|-f| g|+h|");
        check(old, new, 2, "@@ -1,7 +1,7 @@| a|-b|+B| c| d| e|-f| g|+h|");
        check("", "a\n", 3, "@@ -0,0 +1,1 @@|+a|");
        check("a\n", "", 3, "@@ -1,1 +0,0 @@|-a|");
        check("a\n", "a\n", 3, "");
    }
}
