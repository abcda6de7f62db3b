//! Puts commits into their order and corrects their dates.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::header::CommitHeader;
use super::table::{JaggedTable, index_to_u32, index_to_usize};

/// The first second of 1990: CVS, the oldest tool whose histories live on in git, began in that year.
const FIRST: i64 = 631_152_000;

/// How far a committer's clock may be ahead of ours, in seconds.
const AHEAD: i64 = 86_400;

/// Whether a commit can have been made at `at`.
pub(super) fn can_be(at: i64, now: i64) -> bool {
    (FIRST..=now.saturating_add(AHEAD)).contains(&at)
}

/// Orders commits, parents before children and otherwise by corrected date and id: their places in `commits` with their
/// corrected dates. `parents` are places too. A commit that is its own ancestor is left out.
///
/// This is Kahn's algorithm (Communications of the ACM 5, 1962) with a heap of what is ready.
pub(super) fn order_commits(commits: &[CommitHeader], parents: &JaggedTable<u32>, now: i64) -> Vec<(u32, i64)> {
    let oldest = commits.iter().map(|commit| commit.date).filter(|&date| can_be(date, now)).min().unwrap_or(0);
    let children = parents
        .iter()
        .enumerate()
        .flat_map(|(child, row)| row.iter().map(move |&parent| (parent, index_to_u32(child))));
    let children = JaggedTable::grouped(index_to_u32(commits.len()), children);
    let mut waiting: Vec<usize> = parents.iter().map(<[u32]>::len).collect();
    let mut dates = vec![oldest; commits.len()];
    let mut ready = BinaryHeap::new();
    let make_ready = |place: u32, dates: &mut [i64], ready: &mut BinaryHeap<_>| {
        let Some(&CommitHeader { id, date, .. }) = commits.get(index_to_usize(place)) else { return };
        let corrected = if can_be(date, now) {
            date
        } else {
            parents
                .row(place)
                .iter()
                .filter_map(|&parent| dates.get(index_to_usize(parent)).copied())
                .max()
                .unwrap_or(oldest)
        };
        if let Some(date) = dates.get_mut(index_to_usize(place)) {
            *date = corrected;
        }
        ready.push(Reverse((corrected, id, place)));
    };
    for (place, _) in waiting.iter().enumerate().filter(|(_, parents)| **parents == 0) {
        make_ready(index_to_u32(place), &mut dates, &mut ready);
    }
    let mut order = Vec::with_capacity(commits.len());
    while let Some(Reverse((at, _, place))) = ready.pop() {
        order.push((place, at));
        for &child in children.row(place) {
            let Some(waits) = waiting.get_mut(index_to_usize(child)) else { continue };
            *waits = waits.saturating_sub(1);
            if *waits == 0 {
                make_ready(child, &mut dates, &mut ready);
            }
        }
    }
    order
}
