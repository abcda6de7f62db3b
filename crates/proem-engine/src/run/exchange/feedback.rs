//! The feedback to a model on an answer that broke its contract.
//!
//! The rule, the place and what is expected there are ours and trusted; what was there is the model's own and goes back
//! contained, cut to [`crate::contract::Problem::MAX_FOUND_BYTES`].

use proem_guard::{ContainmentPart, InstallationKey, Tag, Untrusted, contain, credential};
use proem_text::first_bytes;

use super::BrokenRule;
use crate::assembly::{Appendix, Assembly};
use crate::tokens::TokenCounter;

/// The most problems that a model is told of.
const MAX_PROBLEMS: usize = 10;

/// The most bytes of one expectation.
const MAX_EXPECTED_BYTES: usize = 300;

/// A rule that was broken, and what was there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswerDefect {
    pub(super) broken: BrokenRule,
    pub(super) found: Option<Untrusted<String>>,
}

/// Puts the problems behind everything else that the model reads.
pub(super) fn append_feedback(
    assembly: &mut Assembly,
    problems: &[AnswerDefect],
    key: &InstallationKey,
    counter: &dyn TokenCounter,
) {
    let mut text = String::from(
        "The last answer broke its contract, so nothing was done with it. A new, complete answer is wanted that \
         keeps every rule:\n",
    );
    for (number, wrong) in (1_usize..).zip(problems.iter().take(MAX_PROBLEMS)) {
        let BrokenRule { rule, path, expected } = &wrong.broken;
        let place = if path.is_empty() { "the answer".to_owned() } else { format!("`{path}`") };
        text.push_str(&format!(
            "{number}. {place} breaks `{rule}`; expected: {}\n",
            first_bytes(expected, MAX_EXPECTED_BYTES)
        ));
    }
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        text.push_str(&format!("And {more} more.\n"));
    }
    let found = |(number, wrong): (usize, &AnswerDefect)| {
        Some((format!("{number}. "), shorten_found_text(wrong.found.as_ref()?)))
    };
    let found: Vec<_> = (1_usize..).zip(problems.iter().take(MAX_PROBLEMS)).filter_map(found).collect();
    assembly.append("feedback", Appendix::Ours(&text), counter);
    if found.is_empty() {
        return;
    }
    let mut parts = vec![ContainmentPart::Ours("What stood there, by the numbers above:\n")];
    for (number, text) in &found {
        parts.extend([ContainmentPart::Ours(number), ContainmentPart::Outside(text), ContainmentPart::Ours("\n")]);
    }
    let contained = contain(&parts, &Tag::UNTRUSTED_CONTEXT, key);
    assembly.append("found", Appendix::Outside(&contained), counter);
}

fn shorten_found_text(text: &Untrusted<String>) -> Untrusted<String> {
    text.clone().map(|text| credential::uncut_prefix(&text, crate::contract::Problem::MAX_FOUND_BYTES).to_owned())
}
