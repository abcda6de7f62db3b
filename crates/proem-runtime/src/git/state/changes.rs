//! Puts what status, diffs and the list of untracked files say about each path together.

use std::collections::BTreeMap;

use proem_agents::assemble::place_facts::{ChangedPath, DiffStat, Gap, PathStatus};
use proem_guard::Untrusted;
use proem_text::{Label, Source};

use super::DiffSide;
use crate::{
    gaps::gap,
    git::{StatusKind, StatusListing},
};

/// Lines added and removed by path. `None` for a binary file.
pub(super) type LinesByPath = BTreeMap<Vec<u8>, Option<(u64, u64)>>;

/// Whether a change of this kind is one on `side`.
pub(super) const fn is_on(side: DiffSide, kind: StatusKind) -> bool {
    match (kind, side) {
        (StatusKind::Tracked { staged, .. }, DiffSide::Staged) => staged != b'.',
        (StatusKind::Tracked { unstaged, .. }, DiffSide::Unstaged) => unstaged != b'.',
        _ => false,
    }
}

/// The sums over one side.
pub(super) fn diff_stat(lines: &LinesByPath) -> DiffStat {
    lines.values().fold(DiffStat::default(), |sum, lines| {
        let (insertions, deletions) = lines.unwrap_or_default();
        DiffStat {
            files: sum.files.saturating_add(1),
            insertions: sum.insertions.saturating_add(insertions),
            deletions: sum.deletions.saturating_add(deletions),
            binary: sum.binary.saturating_add(u64::from(lines.is_none())),
        }
    })
}

/// The first `cap` changed and untracked paths by bytes, with a gap if there are more.
pub(super) fn changes(
    status: &StatusListing,
    untracked: &[Vec<u8>],
    sides: [Option<&LinesByPath>; 2],
    cap: usize,
    gaps: &mut Vec<Gap>,
) -> Vec<ChangedPath> {
    let tracked = status.entries.iter().filter_map(|entry| Some((entry.path.as_slice(), status_of(entry.kind)?)));
    let mut paths: Vec<(&[u8], PathStatus)> =
        tracked.chain(untracked.iter().map(|path| (path.as_slice(), PathStatus::Untracked))).collect();
    paths.sort_unstable();
    if paths.len() > cap {
        gaps.push(gap("changed paths", format!("only the first {cap} of {} are listed", paths.len())));
    }
    paths.truncate(cap);
    let change = |(path, status): (&[u8], PathStatus)| ChangedPath {
        path: Untrusted::new(proem_text::path_as_text(path), Label::from_source(Source::named("git/paths"))),
        status,
        lines: lines_on_both_sides(path, status, sides),
    };
    paths.into_iter().map(change).collect()
}

/// Lines on both sides together. `None` if one of them is unknown or isn't counted.
fn lines_on_both_sides(path: &[u8], status: PathStatus, sides: [Option<&LinesByPath>; 2]) -> Option<(u64, u64)> {
    if matches!(status, PathStatus::Untracked | PathStatus::Unmerged) {
        return None;
    }
    sides.into_iter().try_fold((0_u64, 0_u64), |(added, removed), side| {
        let (more, less) = side?.get(path).copied().unwrap_or(Some((0, 0)))?;
        Some((added.saturating_add(more), removed.saturating_add(less)))
    })
}

/// The combined change of both sides. `None` if there is none.
const fn status_of(kind: StatusKind) -> Option<PathStatus> {
    match kind {
        StatusKind::Unmerged => Some(PathStatus::Unmerged),
        StatusKind::Untracked => Some(PathStatus::Untracked),
        StatusKind::Ignored => None,
        StatusKind::Tracked { unstaged: b'D', .. } => Some(PathStatus::Deleted),
        StatusKind::Tracked { staged, unstaged } => match if staged == b'.' { unstaged } else { staged } {
            b'A' => Some(PathStatus::Added),
            b'M' => Some(PathStatus::Modified),
            b'D' => Some(PathStatus::Deleted),
            b'R' | b'C' => Some(PathStatus::Renamed),
            b'T' => Some(PathStatus::TypeChanged),
            _ => None,
        },
    }
}
