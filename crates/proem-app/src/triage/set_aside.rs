//! Signals that take too long to be read: they are kept for a person and asked about, and no cycle reads them again.

use proem_agents::screen::Screening;
use proem_agents::triage::contract::TimeSensitivity;
use proem_agents::triage::plan::SignalOutcomeKind;
use proem_agents::triage::{ProjectSignal, SignalFormError, sanitise};
use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted, Verdict};
use proem_store::query::SignalRow;
use proem_store::record::{
    CycleFinish, EscalationId, EscalationOption, HandledSignal, HashedContent, NewEscalation, NewQuarantine,
    QuarantineId,
};
use proem_store::{CycleAnswer, EscalationAnswer};
use proem_text::{Audience, Label, Source, hex};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::cycle::{AskedQuestion, CycleReport, cause_tree, overtaken};
use super::desk::{MAX_MALFORMED, TriageDesk};
use super::judged::ReadSignal;
use super::time_limit::{in_time, late_reason};
use crate::effects::escalations::{ABOUT, BECAUSE, CAUSES};
use crate::error::Error;
use crate::when;

/// What is asked about a signal that took too long.
const QUESTION: &str = "A signal took too long to be read, so nothing was done because of it. Who looks at it?";

/// The name of the outcome's part that says that a signal took too long.
pub(super) const LATE: &str = "late";

/// Open signals as they were read.
pub(super) enum OpenSignals {
    /// All of them, with what of them may go on.
    Read(Vec<ReadSignal>),
    /// Those that took too long. Of the others nothing is kept, since reading them again is cheap.
    Late(Vec<SignalRow>),
}

impl TriageDesk<'_> {
    /// Signals of the records with what of them may go on.
    pub(super) fn read(&self, open: Vec<SignalRow>) -> Result<OpenSignals, Error> {
        let (mut read, mut late) = (Vec::new(), Vec::new());
        for row in open {
            match self.read_in_time(&row)? {
                Some(signal) => read.push(signal),
                None => late.push(row),
            }
        }
        Ok(if late.is_empty() { OpenSignals::Read(read) } else { OpenSignals::Late(late) })
    }

    /// One signal; `None` if reading it takes longer than the limit.
    fn read_in_time(&self, row: &SignalRow) -> Result<Option<ReadSignal>, Error> {
        let text = open_text(row)?.to_owned();
        let (guard, policy) = (self.desk.guarding.shared_guard()?, self.desk.guarding.policy.clone());
        let read = move || {
            let signal = ProjectSignal::read(&text)?;
            let sanitised = sanitise(&signal, Screening { guard: &guard, policy: &policy });
            Ok::<_, SignalFormError>(ReadSignal { signal, sanitised })
        };
        let read = in_time(self.reading_limit, move |give| _ = give(read()))?.next().flatten();
        read.transpose()
            .map_err(|error| Error::outside(format!("the signal {} of the records can't be read: {error}", row.id.id)))
    }

    /// Keeps signals that took too long for a person, and asks about each.
    pub(super) async fn set_aside(&self, late: &[SignalRow], report: &mut CycleReport) -> Result<(), Error> {
        let began = when::now();
        for row in late {
            report.problems.push(format!("{} {} and was set aside", row.id.id, late_reason(self.reading_limit)));
            self.keep_late(row).await?;
            report.questions.extend(self.ask_about_late(&row.id, &row.source).await?);
        }
        let handled = late.iter().map(|row| HandledSignal {
            id: row.id.clone(),
            outcome: json!({ "outcome": SignalOutcomeKind::Escalated.as_str(), LATE: true }),
        });
        let finish = CycleFinish {
            project: self.desk.owner.clone(),
            actor: self.system(),
            began,
            at: when::now(),
            artefacts: Vec::new(),
            handled: handled.collect(),
            counts: json!({ "signals": late.len(), LATE: late.len() }),
        };
        match self.desk.store.finish_cycle(finish).await? {
            CycleAnswer::Written { cycle } => report.cycles.push(cycle),
            CycleAnswer::Overtaken => return Err(overtaken()),
        }
        Ok(())
    }

    /// Keeps a signal's written form, as far as a person would read on.
    async fn keep_late(&self, row: &SignalRow) -> Result<(), Error> {
        let text: String = open_text(row)?.chars().take(MAX_MALFORMED).collect();
        let label = Label::from_source(Source::named("signal/late")).narrowed_to(Audience::Internal);
        let text = LabelTree::Flagged(Untrusted::new(text, label));
        let item = NewQuarantine {
            id: QuarantineId {
                signal: row.id.id.clone(),
                revision: row.id.revision.clone(),
                field: "whole".to_owned(),
            },
            project: self.desk.owner.clone(),
            actor: self.system(),
            at: when::now(),
            text: HashedContent::new(in_writing(&text)?),
            findings: json!([late_reason(self.reading_limit)]),
            verdict: Verdict::Quarantine,
            sender: format!("nobody read, {}", row.source),
        };
        self.desk.store.quarantine(item).await?;
        Ok(())
    }

    /// Asks who looks at a signal that took too long, unless that was asked before.
    pub(super) async fn ask_about_late(
        &self,
        signal: &SignalRevision,
        source: &str,
    ) -> Result<Option<AskedQuestion>, Error> {
        let question = self.late_question(signal, source)?;
        let asked = AskedQuestion { id: question.id.clone(), title: QUESTION.to_owned(), heading: LabelTree::Null };
        Ok((self.desk.store.escalate(question).await? == EscalationAnswer::Done).then_some(asked))
    }

    fn late_question(&self, signal: &SignalRevision, source: &str) -> Result<NewEscalation, Error> {
        let SignalRevision { id, revision } = signal;
        let about =
            LabelTree::map([("source", LabelTree::from(source)), ("kept out", "all of it, see the quarantine".into())]);
        let causes = LabelTree::list([cause_tree(signal)]);
        let reason = LabelTree::map([(BECAUSE, QUESTION.into()), (CAUSES, causes), (ABOUT, about)]);
        let option = |id: &str, label: &str| {
            Ok::<_, Error>(EscalationOption { id: id.to_owned(), label: in_writing(&label.into())?, action: None })
        };
        Ok(NewEscalation {
            id: EscalationId(hex::encode(Sha256::digest(format!("late\n{}\n{id}\n{revision}", self.charter.id)))),
            project: self.desk.owner.clone(),
            actor: self.system(),
            at: when::now(),
            action: None,
            reason: in_writing(&reason)?,
            sensitivity: TimeSensitivity::Today.as_str().to_owned(),
            deadline: None,
            options: vec![
                option("A", "taken: whoever decides looks at it in the quarantine")?,
                option("B", "it is an attack and nothing else: nothing more is needed")?,
            ],
        })
    }
}

/// The written form of an open signal.
fn open_text(row: &SignalRow) -> Result<&str, Error> {
    let gone = || {
        let id = &row.id.id;
        Error::outside(format!("the text of the open signal {id} is not in the records; hand the signal in again"))
    };
    row.text.as_deref().ok_or_else(gone)
}

fn in_writing(tree: &LabelTree) -> Result<String, Error> {
    tree.write().map_err(|error| Error::bug("a question of triage can't be written down", error))
}
