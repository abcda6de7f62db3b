//! Chooses the signals that are asked about together.
//!
//! Invariants: a batch has no more signals than its stage allows and no more than its answer can hold. A flagged signal
//! is alone, so that its label and verdict touch no other. Every signal is in one batch or is said to be too long.

use serde::{Deserialize, Serialize};

use super::stage::{AnswerRoom, PipelineModel, PipelineStage, StageLimits};

/// Signals that are asked about in one call, by their places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageBatch {
    pub(super) members: Vec<usize>,
    pub(super) model: PipelineModel,
    /// How often its call failed.
    pub(super) failures: u32,
    /// How much is kept free for its answer.
    #[serde(default)]
    pub(super) room: AnswerRoom,
}

/// A signal that is to be asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchCandidate {
    pub(super) place: usize,
    pub(super) bytes: usize,
    pub(super) is_flagged: bool,
    pub(super) model: PipelineModel,
}

/// The batches of a stage, and the places of signals whose answer would be too long.
pub(super) fn stage_batches(
    candidates: &[BatchCandidate],
    stage: PipelineStage,
    limits: StageLimits,
) -> (Vec<StageBatch>, Vec<usize>) {
    // Answers run longer than they are thought to.
    let room = |model| limits.output_tokens(model).saturating_mul(4) / 5;
    let (mut done, mut too_long): (Vec<StageBatch>, Vec<usize>) = (Vec::new(), Vec::new());
    // One that is still open for each model, with what its answer takes.
    let mut open: Vec<(StageBatch, usize)> = Vec::new();
    for candidate in candidates {
        let tokens = stage.answer_tokens(candidate.bytes);
        let new = StageBatch {
            members: vec![candidate.place],
            model: candidate.model,
            failures: 0,
            room: AnswerRoom::BySize,
        };
        if tokens > room(candidate.model) {
            too_long.push(candidate.place);
            continue;
        }
        if candidate.is_flagged {
            done.push(new);
            continue;
        }
        let fits = open.iter_mut().find(|(batch, taken)| {
            batch.model == candidate.model
                && batch.members.len() < limits.batch
                && taken.saturating_add(tokens) <= room(batch.model)
        });
        match fits {
            Some((batch, taken)) => {
                batch.members.push(candidate.place);
                *taken = taken.saturating_add(tokens);
            }
            None => open.push((new, tokens)),
        }
    }
    done.extend(open.into_iter().map(|(batch, _)| batch));
    // The order of the signals, whoever came to which batch first.
    done.sort_by_key(|batch| batch.members.first().copied());
    (done, too_long)
}

impl StageBatch {
    /// Two halves. `None` for what can't be halved.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let middle = self.members.len() / 2;
        let (first, second) = self.members.split_at_checked(middle).filter(|_| middle > 0)?;
        let half =
            |members: &[usize]| Self { members: members.to_vec(), model: self.model, failures: 0, room: self.room };
        Some([half(first), half(second)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals as bytes, `!` for a flagged one and `L` for the large model.
    fn check(signals: &str, stage: PipelineStage, limits: StageLimits, expected: &str) {
        let candidates: Vec<BatchCandidate> = signals
            .split_whitespace()
            .enumerate()
            .map(|(place, signal)| BatchCandidate {
                place,
                bytes: signal.trim_end_matches(['!', 'L']).parse().unwrap(),
                is_flagged: signal.contains('!'),
                model: if signal.contains('L') { PipelineModel::Large } else { PipelineModel::Small },
            })
            .collect();
        let (done, too_long) = stage_batches(&candidates, stage, limits);
        let words = |batch: &StageBatch| {
            let members: Vec<String> = batch.members.iter().map(ToString::to_string).collect();
            format!("{}{}", members.join(","), if batch.model == PipelineModel::Large { "L" } else { "" })
        };
        let long: Vec<String> = too_long.iter().map(|place| format!("-{place}")).collect();
        let shown: Vec<String> = done.iter().map(words).chain(long).collect();
        assert_eq!(shown.join(" "), expected, "{signals}");
        let all: usize = done.iter().map(|batch| batch.members.len()).sum();
        assert_eq!(all + too_long.len(), candidates.len());
    }

    #[test]
    fn a_batch_holds_what_its_answer_can_hold() {
        let limits =
            |output_tokens, batch| StageLimits { seconds: 1, retries: 0, pause_seconds: 0, output_tokens, batch };
        use PipelineStage::{Classify, Reasoning, Sanitise};
        for (signals, stage, limits, expected) in [
            ("", Classify, limits(4_096, 50), ""),
            ("9 9 9", Classify, limits(4_096, 50), "0,1,2"),
            ("9 9 9", Classify, limits(4_096, 2), "0,1 2"),
            ("9 9 9", Classify, limits(600, 50), "0,1 2"),
            ("9 9! 9", Classify, limits(4_096, 50), "0,2 1"),
            ("9L 9 9L 9", Reasoning, limits(8_192, 50), "0,2L 1,3"),
            // Five times as many tokens as there are to write.
            ("300 60000 300", Sanitise, limits(4_096, 50), "0,2 -1"),
            ("3000 3000 3000 3000", Sanitise, limits(4_096, 50), "0,1 2,3"),
            ("9", Reasoning, limits(100, 50), "-0"),
        ] {
            check(signals, stage, limits, expected);
        }
    }

    #[test]
    fn halves_are_all_of_it() {
        let of = |members: &[usize]| StageBatch {
            members: members.to_vec(),
            model: PipelineModel::Small,
            failures: 2,
            room: AnswerRoom::BySize,
        };
        assert_eq!(
            of(&[4, 5, 6]).halves().unwrap().map(|half| (half.members, half.failures)),
            [(vec![4], 0), (vec![5, 6], 0)]
        );
        assert_eq!((of(&[4]).halves(), of(&[]).halves()), (None, None));
    }
}
