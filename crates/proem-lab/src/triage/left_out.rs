//! How much is right of what a writer wrote where nothing of it was learned from, by what decided: `left-out.md`.
//!
//! It takes minutes, so it is written down, with the digest of the weights that it belongs to.

use std::fmt::Write as _;

use proem_text::hex;
use proem_triage::ClassificationBasis;
use sha2::{Digest as _, Sha256};

use super::triaged_half::{TriagedHalf, counts, right_on};

pub(super) const LEFT_OUT: &str = "evals/triage/left-out.md";

const BASES: usize = ClassificationBasis::ALL.len();

/// How many are right, of how many.
pub(super) type RightOf = (u64, u64);

/// A writer whose messages were left out, and what is right of them.
pub(super) struct WriterLeftOut {
    name: &'static str,
    /// Types and importances.
    right: [RightOf; 2],
    /// Types, by what decided.
    by_basis: [RightOf; BASES],
}

impl WriterLeftOut {
    pub(super) fn new(name: &'static str, told: &TriagedHalf) -> Self {
        let all = told.signals.len() as u64;
        let [category, importance, ..] = counts(&told.signals, &told.ours());
        let by_basis = ClassificationBasis::ALL.map(|basis| right_on(told, basis));
        Self { name, right: [(category, all), (importance, all)], by_basis }
    }
}

/// The whole of `left-out.md`.
pub(super) fn left_out_report(words: &str, each: &[WriterLeftOut], all: &[WriterLeftOut]) -> String {
    let mut out = format!(
        "# Triage: writers left out\n\nWritten by `cargo lab train triage --cross-validate` beside the weights with the SHA-256\n\
         `{}`. How many types and importances are right of\n\
         what a writer wrote where it was learned from all others, and, by what decided, how many types; below, where it was\n\
         learned from none of them. The confidences of the lexicon come from the first sums (`cargo lab eval triage --calibrate`).\n",
        weights_digest(words)
    );
    for (title, of) in [("Each left out", each), ("All left out", all)] {
        _ = writeln!(out, "\n## {title}\n");
        let bases = ClassificationBasis::ALL.map(|basis| format!("by {}", basis.as_str()));
        _ = writeln!(out, "| writer | type | importance | {} |", bases.join(" | "));
        out.push_str("|---|---:|---:|---:|---:|---:|---:|\n");
        let cells = |of: &[RightOf]| of.iter().map(|(right, all)| format!("{right} of {all}")).collect::<Vec<_>>();
        let mut sums = ([(0, 0); 2], [(0, 0); BASES]);
        for writer in of {
            add_right_counts(&mut sums.0, &writer.right);
            add_right_counts(&mut sums.1, &writer.by_basis);
            let (right, by_basis) = (cells(&writer.right), cells(&writer.by_basis));
            _ = writeln!(out, "| {} | {} | {} |", writer.name, right.join(" | "), by_basis.join(" | "));
        }
        _ = writeln!(out, "| **sum** | {} | {} |", cells(&sums.0).join(" | "), cells(&sums.1).join(" | "));
    }
    out
}

fn add_right_counts(sums: &mut [RightOf], more: &[RightOf]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = (sum.0 + more.0, sum.1 + more.1);
    }
}

/// The digest of weights, as `left-out.md` has it.
pub(super) fn weights_digest(words: &str) -> String {
    hex::encode_hex(Sha256::digest(words))
}

/// How many types are right where each writer was left out, by what decided, as `left-out.md` says.
pub(super) fn left_out_sums(report: &str) -> Result<[RightOf; BASES], String> {
    let of_line = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| **sum** |")?.split('|').map(str::trim).collect();
        let read = |cell: &&str| {
            let (right, all) = cell.split_once(" of ")?;
            Some((right.parse().ok()?, all.parse().ok()?))
        };
        let read: Option<Vec<RightOf>> = cells.get(2..2 + BASES)?.iter().map(read).collect();
        <[RightOf; BASES]>::try_from(read?).ok()
    };
    report
        .lines()
        .find_map(of_line)
        .ok_or_else(|| format!("`{LEFT_OUT}` has no sums; run `cargo lab train triage --cross-validate`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sums_are_read_back() {
        let writer = |name, right| WriterLeftOut {
            name,
            right: [(right, 10), (5, 10)],
            by_basis: [(1, 1), (right, 6), (2, 3), (0, 0)],
        };
        let report = left_out_report("words", &[writer("a", 4), writer("b", 6)], &[writer("a", 1), writer("b", 1)]);
        assert_eq!(left_out_sums(&report).unwrap(), [(2, 2), (10, 12), (4, 6), (0, 0)]);
        assert!(report.contains(&weights_digest("words")), "{report}");
        assert!(left_out_sums("nothing").is_err());
    }
}
