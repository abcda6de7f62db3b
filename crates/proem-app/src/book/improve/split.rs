//! The split of cases: a model sees some while it improves a prompt, and the others are held out.

use std::collections::BTreeSet;

use proem_engine::prompt::cases::{AnswerExpectation, Case};

use crate::trust::sha256_hex;

/// The cases of a prompt, by their part in an improvement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseSplit {
    /// Failures in these are shown to the model that writes variants.
    pub shown: BTreeSet<String>,
    /// The model never sees these. They decide.
    pub held_out: BTreeSet<String>,
    /// Cases that prove nothing: only a judge decides them, and a prompt can be written to please a judge.
    pub judged_only: BTreeSet<String>,
}

/// Splits the cases in two halves, by a hash of `seed` and their names. Of an odd number, one more is held out.
pub(super) fn split_cases(cases: &[Case], seed: &str) -> CaseSplit {
    let mut split = CaseSplit::default();
    let mut ranked: Vec<(String, &str)> = Vec::new();
    for case in cases {
        match &case.live {
            None => {}
            Some(live) if is_checked(live) => {
                ranked.push((sha256_hex(format!("{seed}\0{}", case.name).as_bytes()), &case.name));
            }
            Some(_) => _ = split.judged_only.insert(case.name.clone()),
        }
    }
    ranked.sort();
    let shown = ranked.len() / 2;
    for (index, (_, name)) in ranked.into_iter().enumerate() {
        let part = if index < shown { &mut split.shown } else { &mut split.held_out };
        part.insert(name.to_owned());
    }
    split
}

/// Whether code checks the answer, with or without a judge beside it.
fn is_checked(live: &AnswerExpectation) -> bool {
    !live.answer.is_null() || !live.checks.is_empty()
}

#[cfg(test)]
mod tests {
    use proem_engine::prompt::cases::Cases;

    use super::*;

    fn cases(count: usize) -> Vec<Case> {
        let one = |n| format!("  - {{ name: c{n}, inputs: {{}}, live: {{ contains: [x] }} }}\n");
        let judged = "  - { name: j, inputs: {}, live: { judge: { prompt: a/b, verdict: good } } }\n";
        let text =
            format!("cases:\n{}{judged}  - {{ name: n, inputs: {{}} }}\n", (0..count).map(one).collect::<String>());
        Cases::parse("c", &text).unwrap().cases
    }

    #[test]
    fn a_case_stays_on_its_side_and_a_judge_alone_decides_nothing() {
        let split = split_cases(&cases(9), "a/b@1.0.0");
        assert_eq!((split.shown.len(), split.held_out.len()), (4, 5));
        assert!(split.shown.is_disjoint(&split.held_out));
        assert_eq!(split.judged_only.iter().collect::<Vec<_>>(), ["j"]);
        let mut reversed = cases(9);
        reversed.reverse();
        assert_eq!(split_cases(&reversed, "a/b@1.0.0"), split);
        assert_ne!(split_cases(&cases(9), "a/b@1.1.0"), split);
    }
}
