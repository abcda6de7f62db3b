//! Lines that were fixed or reverted before.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::scene::{EarlierLines, SceneFile, fixed_lines, lines_beside_fix, reverted_lines};
use super::{Advice, Raw, Search, age_in_days, counted_noun};
use crate::history::Mends;
use crate::metric::{Sentence, SentencePart};
use crate::metrics::decides_level;
use crate::patch::{Hunk, line_print};
use crate::signal::{LineMemory, SignalName};

pub(super) fn earlier_findings(search: Search<'_>, memory: &LineMemory) -> Vec<Raw> {
    let counted = search.scene.files.iter().filter(|file| decides_level(file.role));
    let of = |file: &SceneFile<'_>| {
        let fixed = fixed_lines(file, memory).and_then(|lines| fixed_finding(search, file, &lines));
        let reverted = reverted_lines(file, memory).and_then(|lines| reverted_finding(search, file, &lines));
        // The lines of a fix that are gone say more than those beside them.
        let beside = if fixed.is_some() { None } else { beside_fix_finding(search, file, memory) };
        [reverted, fixed, beside, often_fixed_finding(search, file)]
    };
    counted.flat_map(of).flatten().collect()
}

fn fixed_finding(search: Search<'_>, file: &SceneFile<'_>, lines: &EarlierLines) -> Option<Raw> {
    let (commit, days) = search.commit(lines.origin.commit)?;
    let first = first_line(search, file, &lines.prints, |hunk| (&hunk.removed, hunk.old_start));
    let number = counted_noun(lines.prints.len(), "line");
    let evidence = Sentence::default()
        .then(SentencePart::Path(search.path(file.index)))
        .and(format!(
            " loses {number} of the {} {commit}{}, made {}: ",
            mend_noun(lines),
            place_words(first),
            age_in_days(days)
        ))
        .then(earlier_subject(search, lines));
    let advice = Advice {
        sentence: Sentence::ours("make sure that what this fixed stays fixed: ").then(earlier_subject(search, lines)),
        command: Some(format!("git show {commit}")),
    };
    let raw = Raw::new(SignalName::FixedLines, file.index, evidence);
    Some(Raw { line: first, count: lines.prints.len(), commit: Some((commit, days)), advice: Some(advice), ..raw })
}

fn beside_fix_finding(search: Search<'_>, file: &SceneFile<'_>, memory: &LineMemory) -> Option<Raw> {
    let changed = search.facts.change.files.get(usize::try_from(file.index).ok()?)?;
    let around = &search.facts.change.patch(&changed.path)?.around;
    let lines = lines_beside_fix(search.scene, file, around, memory)?;
    let (commit, days) = search.commit(lines.origin.commit)?;
    let first = around.iter().find(|kept| lines.prints.contains(&kept.print))?.line;
    let evidence = Sentence::default()
        .then(SentencePart::Path(search.path(file.index)))
        .and(format!(
            " changes what is around line {first}, where the {} {commit} was made {}: ",
            mend_noun(&lines),
            age_in_days(days)
        ))
        .then(earlier_subject(search, &lines));
    let advice = Advice {
        sentence: Sentence::ours(format!("check at line {first} that the fix still holds: "))
            .then(earlier_subject(search, &lines)),
        command: Some(format!("git show {commit}")),
    };
    let raw = Raw::new(SignalName::NearFix, file.index, evidence);
    Some(Raw {
        line: Some(first),
        count: lines.prints.len(),
        commit: Some((commit, days)),
        advice: Some(advice),
        ..raw
    })
}

fn often_fixed_finding(search: Search<'_>, file: &SceneFile<'_>) -> Option<Raw> {
    let fixes = search.scene.frequent_fixes(file)?;
    let newest = *fixes.first()?;
    let (commit, days) = search.commit(newest)?;
    let subject = SentencePart::Message(search.facts.past.history().subject(newest).to_string());
    let evidence = Sentence::default()
        .then(SentencePart::Path(search.path(file.index)))
        .and(format!(" was fixed {} times in the year before, the last time {}: ", fixes.len(), age_in_days(days)))
        .then(subject);
    let raw = Raw::new(SignalName::FixedOften, file.index, evidence);
    Some(Raw { count: fixes.len(), commit: Some((commit, days)), ..raw })
}

fn reverted_finding(search: Search<'_>, file: &SceneFile<'_>, lines: &EarlierLines) -> Option<Raw> {
    let (commit, days) = search.commit(lines.origin.commit)?;
    let first = first_line(search, file, &lines.prints, |hunk| (&hunk.added, hunk.new_start));
    let number = counted_noun(lines.prints.len(), "line");
    let evidence = Sentence::default()
        .then(SentencePart::Path(search.path(file.index)))
        .and(format!(" gets {number} back that {commit} reverted {}: ", age_in_days(days)))
        .then(earlier_subject(search, lines));
    let advice = Advice {
        sentence: Sentence::ours("check that the reason for the revert is gone: ").then(earlier_subject(search, lines)),
        command: Some(format!("git show {commit}")),
    };
    let raw = Raw::new(SignalName::RevertedLines, file.index, evidence);
    Some(Raw { line: first, count: lines.prints.len(), commit: Some((commit, days)), advice: Some(advice), ..raw })
}

fn earlier_subject(search: Search<'_>, lines: &EarlierLines) -> SentencePart {
    SentencePart::Message(search.facts.past.history().subject(lines.origin.commit).to_string())
}

const fn mend_noun(lines: &EarlierLines) -> &'static str {
    if matches!(lines.origin.mends, Mends::Revert) { "revert" } else { "fix" }
}

/// ` at line 5`.
fn place_words(line: Option<u32>) -> String {
    line.map(|line| format!(" at line {line}")).unwrap_or_default()
}

/// The number of the first of some lines.
fn first_line(
    search: Search<'_>,
    file: &SceneFile<'_>,
    prints: &[u64],
    side: fn(&Hunk) -> (&Vec<Vec<u8>>, u32),
) -> Option<u32> {
    let changed = search.facts.change.files.get(usize::try_from(file.index).ok()?)?;
    let hunks = &search.facts.change.patch(&changed.path)?.hunks;
    let mut numbered = hunks.iter().flat_map(|hunk| {
        let (lines, start) = side(hunk);
        (start..).zip(lines)
    });
    numbered.find(|(_, line)| prints.contains(&line_print(line))).map(|(number, _)| number)
}
