//! Signals that can't be worked on, because they take too long to be read, can't be read, or lead to what can't be
//! written: they are kept for a person and asked about, and no cycle takes them up again.

use std::collections::BTreeMap;
use std::time::Duration;

use proem_agents::screen::Screening;
use proem_engine::effect::key::SignalRevision;
use proem_guard::{LabelTree, Untrusted, Verdict};
use proem_store::query::SignalRow;
use proem_store::record::{
    CycleFinish, EscalationId, EscalationOption, HandledSignal, HashedContent, NewEscalation, NewQuarantine,
    QuarantineId,
};
use proem_store::{CycleAnswer, EscalationAnswer};
use proem_text::{Audience, Label, Source, hex};
use proem_triage::contract::TimeSensitivity;
use proem_triage::plan::{OptionReasons, SignalOutcomeKind, question_case};
use proem_triage::{ProjectSignal, SignalFormError, sanitise_signal};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::attempt::overtaken_attempt;
use super::cycle_report::{AskedQuestion, CycleReport, MOST_CAUSES, cycle_cause_tree};
use super::desk::{MAX_MALFORMED, TriageDesk};
use super::read_signal::ReadSignal;
use super::time_limit::{in_time, late_reason};
use crate::effects::escalations::{ABOUT, BECAUSE, CAUSES};
use crate::error::Error;
use crate::when;

/// The question about a signal that took too long.
const LATE_QUESTION: &str = "A signal took too long to be read, so nothing was done because of it. Who looks at it?";
/// The question about a signal whose record can't be read.
const UNREADABLE_QUESTION: &str =
    "A signal of the records can't be read, so nothing was done because of it. Who looks at its source?";
/// The question about signals whose cycle can't be written.
const UNWRITABLE_QUESTION: &str =
    "The consequences of these signals can't be written down, so nothing was done because of them. Who looks at them?";
/// The question about answers that can't be written.
const UNUSED_QUESTION: &str = "The models' answers about these signals can't be written down, so rules alone decided. Who looks at \
                               them?";

/// The question about signals whose mail or comment can't be proposed.
const UNPROPOSED_QUESTION: &str = "The policy lets no agent propose what would answer these signals. Who answers them? `proem policy print` shows what it allows.";

/// The arguments for and against the options of a question about signals that were set aside.
const SET_ASIDE_REASONS: [(&str, OptionReasons); 2] = [
    ("A", OptionReasons { pro: "a person sees its important parts", con: "it takes time" }),
    ("B", OptionReasons { pro: "nothing has to be done", con: "its important parts are overlooked" }),
];

/// The name of the outcome's part that says that a signal took too long.
pub(super) const LATE: &str = "late";
/// The name of the outcome's part that says that a signal's record can't be read.
pub(super) const UNREADABLE: &str = "unreadable";
/// The name of the outcome's part that says that nothing that follows from a signal can be written.
pub(super) const UNWRITABLE: &str = "unwritable";

/// Open signals as they were read.
pub(super) enum OpenSignals {
    /// All of them, with what of them may go on.
    Read(Vec<ReadSignal>),
    /// Those that can't be read. Of the others nothing is kept, since reading them again is cheap.
    Unread(Vec<UnreadSignal>),
}

/// An open signal that can't be read.
pub(super) struct UnreadSignal {
    row: SignalRow,
    why: UnreadReason,
}

/// Why an open signal can't be read.
enum UnreadReason {
    /// It takes longer than the limit.
    Late,
    /// Its text is not in the records.
    Gone,
    /// Its text is none that a signal is written as.
    Malformed(String),
}

impl UnreadReason {
    /// The question about it, and the name of the outcome's part that says so.
    const fn question(&self) -> (&'static str, &'static str) {
        match self {
            Self::Late => (LATE, LATE_QUESTION),
            Self::Gone | Self::Malformed(_) => (UNREADABLE, UNREADABLE_QUESTION),
        }
    }

    fn in_words(&self, limit: Duration) -> String {
        match self {
            Self::Late => late_reason(limit),
            Self::Gone => "has no text in the records".to_owned(),
            Self::Malformed(problem) => format!("can't be read ({problem})"),
        }
    }
}

impl TriageDesk<'_> {
    /// Signals of the records with what of them may go on.
    pub(super) fn read(&self, open: Vec<SignalRow>) -> Result<OpenSignals, Error> {
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        for row in open {
            match self.read_in_time(&row)? {
                Ok(signal) => read.push(signal),
                Err(why) => unread.push(UnreadSignal { row, why }),
            }
        }
        Ok(if unread.is_empty() { OpenSignals::Read(read) } else { OpenSignals::Unread(unread) })
    }

    /// One signal, or why it can't be read.
    fn read_in_time(&self, row: &SignalRow) -> Result<Result<ReadSignal, UnreadReason>, Error> {
        let Some(text) = row.text.clone() else { return Ok(Err(UnreadReason::Gone)) };
        let (guard, policy) = (self.desk.guarding.shared_guard()?, self.desk.guarding.policy.clone());
        let read = move || {
            let signal = ProjectSignal::read(&text)?;
            let sanitised = sanitise_signal(&signal, Screening { guard: &guard, policy: &policy });
            Ok::<_, SignalFormError>(ReadSignal { signal, sanitised })
        };
        let read = in_time(self.reading_limit, move |give| _ = give(read()))?.next().flatten();
        Ok(match read {
            None => Err(UnreadReason::Late),
            Some(read) => read.map_err(|problem| UnreadReason::Malformed(problem.to_string())),
        })
    }

    /// Keeps signals that can't be read for a person, and asks about each.
    pub(super) async fn set_aside(&self, unread: &[UnreadSignal], report: &mut CycleReport) -> Result<(), Error> {
        for UnreadSignal { row, why } in unread {
            let reason = why.in_words(self.reading_limit);
            report.problems.push(format!("{} {reason} and was set aside", row.id.id));
            self.keep_unread(row, reason).await?;
            let (word, title) = why.question();
            let about = LabelTree::map([
                ("source", LabelTree::from(row.source.as_str())),
                ("kept out", "all of it, see the quarantine".into()),
            ]);
            let causes = std::slice::from_ref(&row.id);
            report.questions.extend(self.ask_about_set_aside(SetAside { word, title, about, causes }).await?);
        }
        let named = unread.iter().map(|unread| (&unread.row.id, unread.why.question().0));
        self.finish_set_aside(named.collect(), report).await
    }

    /// Asks about signals of which nothing can be written, and works on them no more.
    pub(super) async fn set_aside_unwritable(
        &self,
        signals: &[SignalRevision],
        report: &mut CycleReport,
    ) -> Result<(), Error> {
        let (word, title) = (UNWRITABLE, UNWRITABLE_QUESTION);
        let about = ids_of(signals);
        let asked = self.ask_about_set_aside(SetAside { word, title, about, causes: signals }).await?;
        report.questions.extend(asked);
        report.problems.extend(signals.iter().map(|signal| format!("{} was set aside", signal.id)));
        self.finish_set_aside(signals.iter().map(|signal| (signal, word)).collect(), report).await
    }

    /// Asks about signals that rules alone decided about, since nothing that models answered can be written.
    pub(super) async fn ask_about_unused_answers(
        &self,
        signals: &[SignalRevision],
    ) -> Result<Option<AskedQuestion>, Error> {
        let about = ids_of(signals);
        self.ask_about_set_aside(SetAside { word: "unused", title: UNUSED_QUESTION, about, causes: signals }).await
    }

    /// Asks about signals whose mail or comment can't be proposed as the policy is.
    pub(super) async fn ask_about_unproposed(
        &self,
        signals: &[SignalRevision],
    ) -> Result<Option<AskedQuestion>, Error> {
        let (word, title) = ("unproposed", UNPROPOSED_QUESTION);
        self.ask_about_set_aside(SetAside { word, title, about: ids_of(signals), causes: signals }).await
    }

    /// Writes that signals are handled, each with the word that says why nothing was done because of it.
    async fn finish_set_aside(
        &self,
        signals: Vec<(&SignalRevision, &'static str)>,
        report: &mut CycleReport,
    ) -> Result<(), Error> {
        let mut counts = BTreeMap::from([("signals", signals.len())]);
        for (_, word) in &signals {
            let count = counts.entry(word).or_default();
            *count = count.saturating_add(1);
        }
        let handled = signals.iter().map(|(id, word)| HandledSignal {
            id: (*id).clone(),
            outcome: json!({ "outcome": SignalOutcomeKind::Escalated.as_str(), *word: true }),
        });
        let finish = CycleFinish {
            project: self.desk.owner.clone(),
            actor: self.system(),
            began: when::time_now(),
            at: when::time_now(),
            artefacts: Vec::new(),
            handled: handled.collect(),
            counts: json!(counts),
        };
        match self.desk.store.finish_cycle(finish).await? {
            CycleAnswer::Written { cycle } => report.cycles.push(cycle),
            CycleAnswer::Overtaken => return Err(overtaken_attempt()),
        }
        Ok(())
    }

    /// Keeps a signal's written form, as far as a person would read on.
    async fn keep_unread(&self, row: &SignalRow, reason: String) -> Result<(), Error> {
        let Some(text) = &row.text else { return Ok(()) };
        let text: String = text.chars().take(MAX_MALFORMED).collect();
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
            at: when::time_now(),
            text: HashedContent::new(in_writing(&text)?),
            findings: json!([reason]),
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
        let about =
            LabelTree::map([("source", LabelTree::from(source)), ("kept out", "all of it, see the quarantine".into())]);
        let causes = std::slice::from_ref(signal);
        self.ask_about_set_aside(SetAside { word: LATE, title: LATE_QUESTION, about, causes }).await
    }

    /// Asks about signals that were set aside, unless that was asked before.
    pub(super) async fn ask_about_set_aside(&self, aside: SetAside<'_>) -> Result<Option<AskedQuestion>, Error> {
        let title = aside.title.to_owned();
        let question = self.set_aside_question(aside)?;
        let asked = AskedQuestion { id: question.id.clone(), title, heading: LabelTree::Null };
        Ok((self.desk.store.escalate(question).await? == EscalationAnswer::Done).then_some(asked))
    }

    fn set_aside_question(&self, aside: SetAside<'_>) -> Result<NewEscalation, Error> {
        let SetAside { word, title, about, causes } = aside;
        let names: Vec<String> = causes.iter().map(|cause| format!("{}\n{}", cause.id, cause.revision)).collect();
        let subject = format!("{word}\n{}\n{}", self.charter.id, names.join("\n"));
        let signals = if causes.len() == 1 { "1 signal".to_owned() } else { format!("{} signals", causes.len()) };
        let background = match causes.len() {
            0 => [
                format!("It is about the project {}.", self.charter.name),
                "Nothing is deleted, and the other artefacts go on.".to_owned(),
            ],
            _ => [
                format!("It is about {signals} of {}.", self.charter.name),
                "Nothing of it is lost: the records have what came, and no cycle works on it again by itself."
                    .to_owned(),
            ],
        };
        let causes = LabelTree::list(causes.iter().take(MOST_CAUSES).map(cycle_cause_tree));
        let about = question_case(&background, &about, SET_ASIDE_REASONS.into_iter());
        let reason = LabelTree::map([(BECAUSE, title.into()), (CAUSES, causes), (ABOUT, about)]);
        let option = |id: &str, label: &str| {
            Ok::<_, Error>(EscalationOption { id: id.to_owned(), label: in_writing(&label.into())?, action: None })
        };
        Ok(NewEscalation {
            id: EscalationId(hex::encode_hex(Sha256::digest(subject))),
            project: self.desk.owner.clone(),
            actor: self.system(),
            at: when::time_now(),
            action: None,
            reason: in_writing(&reason)?,
            sensitivity: TimeSensitivity::Today.as_str().to_owned(),
            deadline: None,
            options: vec![
                option("A", "taken: whoever decides looks at it")?,
                option("B", "it is an attack or of no use: nothing more is needed")?,
            ],
        })
    }
}

/// Signals that were set aside together, and what is asked about them.
pub(super) struct SetAside<'s> {
    /// The name of the outcome's part that says so, or of what is set aside where that is no signal.
    pub(super) word: &'s str,
    pub(super) title: &'static str,
    pub(super) about: LabelTree,
    pub(super) causes: &'s [SignalRevision],
}

/// The ids of signals as a question shows them.
fn ids_of(signals: &[SignalRevision]) -> LabelTree {
    LabelTree::map([("signals", LabelTree::list(signals.iter().map(|signal| LabelTree::from(signal.id.as_str()))))])
}

fn in_writing(tree: &LabelTree) -> Result<String, Error> {
    tree.write().map_err(|error| Error::bug("a question of triage can't be written down", error))
}
