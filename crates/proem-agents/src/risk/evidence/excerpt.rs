//! The parts of a diff that a model may see where the user wants that: the hunks that findings name, then those of the
//! riskiest files.
//!
//! Invariants: the same change and assessment give the same parts. Credentials are removed from a hunk as a whole before
//! any of it is cut away, so that no half of one is left. The parts have a limit of bytes together, and what is
//! left out is counted. Each part is from outside, except for its first line, which holds an alias and a number.

use std::collections::BTreeMap;

use proem_guard::credential;
use proem_risk::assess::Assessment;
use proem_risk::change::Change;
use proem_risk::finding::Finding;
use proem_risk::patch::{AROUND, FilePatch, Hunk};
use proem_risk::path::RepoPath;
use serde::{Deserialize, Serialize};

use super::is_judged;
use super::words::{count_phrase, safe_on_one_line};

/// The most bytes of all parts together: about 1,000 tokens of code, a third of the request that they are in. A choice.
const MOST_BYTES: usize = 4_000;

/// The most bytes of one part, so that one hunk doesn't take all the room. A choice.
const PART_BYTES: usize = 1_500;

/// The most bytes of each side of a hunk that are looked at.
const SIDE_BYTES: usize = 16 * 1024;

/// Parts of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffExcerpt {
    /// The parts, the most telling first. From outside.
    pub parts: Vec<String>,
    /// The parts that are missing, counted in our words.
    pub left_out: Vec<String>,
}

/// A hunk with its place among all: the finding that names it, its file among the riskiest, and where it is in the file.
struct RankedHunk<'c> {
    rank: (usize, usize, usize),
    file: u32,
    hunk: &'c Hunk,
}

impl DiffExcerpt {
    /// Chooses parts of a change.
    #[must_use]
    pub fn choose(change: &Change, assessment: &Assessment) -> Self {
        let mut hunks = ranked_hunks(change, assessment);
        hunks.sort_by_key(|hunk| hunk.rank);
        let (mut parts, mut cut, mut missing) = (Vec::new(), 0_usize, 0_usize);
        let mut room = MOST_BYTES;
        for ranked in &hunks {
            let (part, lines) = hunk_part(ranked, room.min(PART_BYTES));
            if part.is_empty() {
                missing = missing.saturating_add(1);
                room = 0;
                continue;
            }
            cut = cut.saturating_add(lines);
            room = room.saturating_sub(part.len());
            parts.push(part);
        }
        let unread = change.patches.iter().filter(|patch| patch.is_cut).count();
        let counted = [
            (missing, "further part of the change is not shown", "further parts of the change are not shown"),
            (
                cut,
                "line of the shown parts of the change is left out",
                "lines of the shown parts of the change are left out",
            ),
            (unread, "file has too many or too long lines to show", "files have too many or too long lines to show"),
        ];
        let counted = counted.into_iter().filter(|(count, ..)| *count > 0);
        Self { parts, left_out: counted.map(|(count, one, many)| count_phrase(count, one, many)).collect() }
    }
}

/// The hunks of judged files and of files that a finding names.
fn ranked_hunks<'c>(change: &'c Change, assessment: &Assessment) -> Vec<RankedHunk<'c>> {
    let places: BTreeMap<&RepoPath, u32> =
        (0_u32..).zip(&change.files).map(|(place, file)| (&file.path, place)).collect();
    let judged: BTreeMap<u32, usize> = (0_usize..)
        .zip(&assessment.files)
        .filter(|(_, file)| is_judged(file))
        .map(|(risk, file)| (file.index, risk))
        .collect();
    let mut findings: BTreeMap<u32, Vec<(usize, &Finding)>> = BTreeMap::new();
    for (place, finding) in assessment.found.findings.iter().enumerate() {
        findings.entry(finding.file).or_default().push((place, finding));
    }
    let mut hunks = Vec::new();
    for patch in &change.patches {
        let Some(file) = places.get(&patch.path).copied() else { continue };
        let named = findings.get(&file).map_or(&[][..], Vec::as_slice);
        if named.is_empty() && !judged.contains_key(&file) {
            continue;
        }
        let risk = judged.get(&file).copied().unwrap_or(usize::MAX);
        hunks.extend(ranked_hunks_of_file(patch, file, risk, named));
    }
    hunks
}

fn ranked_hunks_of_file<'c>(
    patch: &'c FilePatch,
    file: u32,
    risk: usize,
    named: &[(usize, &Finding)],
) -> impl Iterator<Item = RankedHunk<'c>> {
    let of_file = named.iter().filter(|(_, finding)| finding.line.is_none()).map(|(place, _)| *place).min();
    (0_usize..).zip(&patch.hunks).map(move |(place, hunk)| {
        let of_line = named.iter().filter(|(_, finding)| finding.line.is_some_and(|line| is_at(hunk, line)));
        let finding = of_line.map(|(place, _)| *place).chain(of_file).min();
        RankedHunk { rank: (finding.unwrap_or(usize::MAX), risk, place), file, hunk }
    })
}

/// Whether a line that a finding names is one of a hunk, or beside it.
fn is_at(hunk: &Hunk, line: u32) -> bool {
    let around = u32::try_from(AROUND).unwrap_or(u32::MAX);
    [(hunk.old_start, &hunk.removed), (hunk.new_start, &hunk.added)].into_iter().any(|(start, lines)| {
        let end = start.saturating_add(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        (start.saturating_sub(around)..=end.saturating_add(around)).contains(&line)
    })
}

/// A hunk in at most so many bytes, and how many of its lines are left out. Empty if not even a line of it fits.
fn hunk_part(ranked: &RankedHunk<'_>, most: usize) -> (String, usize) {
    let RankedHunk { file, hunk, .. } = ranked;
    let head = format!("file {}, line {}:", u64::from(*file).saturating_add(1), hunk.new_start.max(1));
    if most <= head.len() {
        return (String::new(), 0);
    }
    let all = hunk.removed.len().saturating_add(hunk.added.len());
    let (mut part, mut shown) = (head, 0_usize);
    let sides = [('-', &hunk.removed), ('+', &hunk.added)];
    // Each side gets half of the room, and the second one whatever the first leaves.
    for (side, (sign, lines)) in sides.into_iter().enumerate() {
        let room = if side == 0 && !hunk.added.is_empty() { most.saturating_add(part.len()) / 2 } else { most };
        for line in lines_without_credentials(lines) {
            let line = format!("\n{sign}{}", safe_on_one_line(&line));
            if part.len().saturating_add(line.len()) > room {
                break;
            }
            part.push_str(&line);
            shown = shown.saturating_add(1);
        }
    }
    if shown == 0 { (String::new(), 0) } else { (part, all.saturating_sub(shown)) }
}

/// One side of a hunk, with every credential in it removed.
fn lines_without_credentials(lines: &[Vec<u8>]) -> Vec<String> {
    let mut side = String::new();
    for line in lines {
        side.push_str(&String::from_utf8_lossy(line));
        side.push('\n');
        // A credential that begins before the limit has to be seen to its end.
        if side.len() > SIDE_BYTES.saturating_mul(2) {
            break;
        }
    }
    let whole = credential::uncut_prefix(&side, SIDE_BYTES);
    let clean = credential::redact_credentials(whole).unwrap_or_else(|| whole.to_owned());
    clean.lines().map(str::to_owned).collect()
}
