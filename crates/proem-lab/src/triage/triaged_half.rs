//! Labelled signals with what triage says of them, and how often it is right.

use std::path::Path;

use proem_agents::screen::Screening;
use proem_guard::{Guard, Policy};
use proem_triage::{
    ClassificationBasis, ClassificationContext, SanitisedSignal, SignalClassification, SignalInBatch, TriageLexicon,
    classify_signals, sanitise_signal,
};

use super::labelled_signals::{LabelledKind, LabelledSignal, SignalLabels, labelled_project, read_half};

/// One half with what became of it.
pub(super) struct TriagedHalf {
    pub(super) signals: Vec<LabelledSignal>,
    pub(super) sanitised: Vec<SanitisedSignal>,
    pub(super) told: Vec<SignalClassification>,
}

impl TriagedHalf {
    pub(super) fn new(workspace: &Path, name: &str) -> Result<Self, String> {
        let lexicon = TriageLexicon::shipped().map_err(|error| error.to_string())?;
        Self::with(workspace, name, &lexicon)
    }

    /// The same with another lexicon.
    pub(super) fn with(workspace: &Path, name: &str, lexicon: &TriageLexicon) -> Result<Self, String> {
        Self::of_signals(workspace, read_half(workspace, name)?, lexicon)
    }

    /// These signals.
    pub(super) fn of_signals(
        workspace: &Path,
        signals: Vec<LabelledSignal>,
        lexicon: &TriageLexicon,
    ) -> Result<Self, String> {
        let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
        let policy = Policy::shipped().map_err(|error| error.to_string())?;
        let screening = Screening { guard: &guard, policy: &policy };
        let sanitised: Vec<SanitisedSignal> =
            signals.iter().map(|labelled| sanitise_signal(&labelled.signal, screening)).collect();
        let project = labelled_project(workspace)?;
        let batch = signals.iter().zip(&sanitised);
        let batch: Vec<SignalInBatch<'_>> =
            batch.map(|(labelled, sanitised)| SignalInBatch { signal: &labelled.signal, sanitised }).collect();
        let told = classify_signals(&batch, ClassificationContext { lexicon, project: &project });
        Ok(Self { signals, sanitised, told })
    }

    /// Leaves out those whose place is not kept.
    pub(super) fn keep(&mut self, is_kept: impl Fn(usize) -> bool) {
        fn those<T>(of: &mut Vec<T>, is_kept: impl Fn(usize) -> bool) {
            let mut place = 0..;
            of.retain(|_| place.next().is_some_and(&is_kept));
        }
        those(&mut self.signals, &is_kept);
        those(&mut self.sanitised, &is_kept);
        those(&mut self.told, &is_kept);
    }

    pub(super) fn ours(&self) -> Vec<SignalLabels> {
        self.told.iter().map(labels_of_classification).collect()
    }

    pub(super) fn of(&self, kind: LabelledKind) -> impl Iterator<Item = (&LabelledSignal, &SanitisedSignal)> {
        self.signals.iter().zip(&self.sanitised).filter(move |(labelled, _)| labelled.kind == kind)
    }
}

/// How many are right in each dimension.
pub(super) fn counts(signals: &[LabelledSignal], told: &[SignalLabels]) -> [u64; 4] {
    let mut counts = [0; 4];
    for (labelled, told) in signals.iter().zip(told) {
        let right = right(&labelled.labels, told);
        counts.iter_mut().zip(right).for_each(|(count, right)| *count += u64::from(right));
    }
    counts
}

/// Which dimensions are right.
pub(super) fn right(meant: &SignalLabels, told: &SignalLabels) -> [bool; 4] {
    [
        meant.category == told.category,
        meant.importance == told.importance,
        meant.action == told.action,
        meant.time == told.time,
    ]
}

/// How many types are right on a basis, of how many.
pub(super) fn right_on(half: &TriagedHalf, basis: ClassificationBasis) -> (u64, u64) {
    let of = half.signals.iter().zip(&half.told).filter(|(_, told)| told.basis == basis);
    of.fold((0, 0), |(right, all), (labelled, told)| {
        (right + u64::from(labelled.labels.category == told.answer.category), all + 1)
    })
}

pub(super) fn share_of_signals(of: u64, all: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a count of signals")]
    let percent = of as f64 * 100.0 / all.max(1) as f64;
    if all == 0 { "–".to_owned() } else { format!("{of} of {all} ({percent:.1} %)") }
}

const fn labels_of_classification(told: &SignalClassification) -> SignalLabels {
    SignalLabels {
        category: told.answer.category,
        importance: told.answer.importance,
        action: told.answer.recommended_action,
        time: told.answer.time_sensitivity,
    }
}
