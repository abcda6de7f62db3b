//! A project whose signals are taken in and worked on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use proem_engine::effect::key::SignalRevision;
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted, Verdict, show};
use proem_store::record::{
    Actor, HashedContent, NewQuarantine, NewSignal, NewTriageProject, QuarantineId, SignalIntake, SignalStanding,
    WHOLE_BACKLOG, content_hash,
};
use proem_store::{IntakeAnswer, StoreAccess, TriagePurge, TriagePurgeCounts};
use proem_triage::artefact::Artefact;
use proem_triage::charter::{CharterStatus, ProjectCharter};
use proem_triage::plan::ArtefactSet;
use proem_triage::{
    MalformedSignal, NormalisedSignals, ProjectSignal, SearchExtent, SignalKind, SignalTime, TriageLexicon,
    TriageProject,
};
use serde_json::json;

use super::charter;
use super::standing_artefacts::StandingArtefacts;
use super::time_limit::{NORMALISE, SANITISE, late_reason};
use crate::config::KeepRecords;
use crate::effects::ActionDesk;
use crate::error::Error;
use crate::guarding::get_or_make;
use crate::message::WithNotes;
use crate::operator::Operator;
use crate::project::OpenProject;
use crate::when;

/// How many signals share a transaction as they come in.
const TOGETHER: usize = 500;
/// The most characters of a malformed signal that are kept.
pub(super) const MAX_MALFORMED: usize = 16_384;

/// A project whose signals are taken in and worked on.
#[derive(Debug)]
pub struct TriageDesk<'p> {
    /// Its actions and records.
    pub desk: ActionDesk<'p>,
    /// The project as its file says.
    pub charter: ProjectCharter,
    /// Made when the first signal is classified.
    lexicon: OnceLock<TriageLexicon>,
    pub(super) people: TriageProject,
    /// How long a signal may take to be looked through.
    pub(super) reading_limit: Duration,
    /// The time that cycles are of, where that is not the clock's.
    moment: Option<Time>,
}

/// The numbers of signals that came, were known, or could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    /// Signals that were not known.
    pub new: u64,
    /// Signals that were known and say something else.
    pub revised: u64,
    /// Signals that were there already.
    pub same: u64,
    /// Those of the first two that are another project's.
    pub set_aside: u64,
    /// The signals that could not be read, and were unknown.
    pub malformed: u64,
}

impl IntakeCounts {
    /// The sums of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            new: self.new.saturating_add(other.new),
            revised: self.revised.saturating_add(other.revised),
            same: self.same.saturating_add(other.same),
            set_aside: self.set_aside.saturating_add(other.set_aside),
            malformed: self.malformed.saturating_add(other.malformed),
        }
    }
}

impl<'p> TriageDesk<'p> {
    /// Opens a project for triage.
    ///
    /// # Errors
    ///
    /// If its file is missing, not trusted or wrong, records keep no texts, or the records can't be used.
    pub async fn open(project: &'p OpenProject, access: StoreAccess) -> Result<WithNotes<Self>, Error> {
        let charter = charter::read_charter(project)?;
        if project.config.records.keep != KeepRecords::Content {
            let problem = "`records.keep` is not \"content\", so signals and artefacts would not be kept; set it in your \
                           own configuration";
            return Err(Error::invalid(problem));
        }
        let WithNotes { value: desk, notes } = ActionDesk::open(project, access).await?;
        if access == StoreAccess::Write {
            let known = NewTriageProject {
                project: desk.owner.clone(),
                id: charter.id.clone(),
                name: charter.name.clone(),
                actor: desk.system(),
                at: when::time_now(),
            };
            desk.store.register_triage_project(known).await?;
        }
        let people = charter.people();
        let value = Self { desk, charter, lexicon: OnceLock::new(), people, reading_limit: SANITISE, moment: None };
        Ok(WithNotes { value, notes })
    }

    /// The lexicon for signals.
    ///
    /// # Errors
    ///
    /// If the data inside the program are damaged.
    pub(super) fn lexicon(&self) -> Result<&TriageLexicon, Error> {
        get_or_make(&self.lexicon, || {
            TriageLexicon::shipped().map_err(|error| Error::bug("the lexicon of triage is damaged", error))
        })
    }

    /// Ends the use of the records.
    pub async fn close(self) {
        self.desk.close().await;
    }

    /// The same with another limit on how long a signal may take to be looked through. It is 120 seconds otherwise.
    #[must_use]
    pub fn with_reading_limit(self, reading_limit: Duration) -> Self {
        Self { reading_limit, ..self }
    }

    /// The same with cycles at a given time, for evaluations: conclusions from dates are the same on every day.
    /// Records, holds and bookings keep the clock's time.
    #[must_use]
    pub fn at_moment(self, moment: Time) -> Self {
        Self { moment: Some(moment), ..self }
    }

    /// The time of a cycle that begins.
    pub(super) fn moment(&self) -> Time {
        self.moment.unwrap_or_else(|| when::time_now().max(self.desk.status.last_seen))
    }

    /// Whether signals are worked on, or only taken in.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.charter.status == CharterStatus::Active
    }

    /// Keeps what was read. Once this returns, it is on the disk. A search that says that it is whole makes figures of
    /// the backlog known.
    ///
    /// # Errors
    ///
    /// If the records can't be written.
    pub async fn take_in(&self, found: &NormalisedSignals) -> Result<IntakeCounts, Error> {
        let mut counts = IntakeCounts::default();
        for signals in found.signals.chunks(TOGETHER) {
            let lines: Vec<NewSignal> = signals.iter().map(|signal| self.line(signal)).collect();
            let standings: Vec<SignalStanding> = lines.iter().map(|line| line.standing).collect();
            let answers = self.desk.store.take_signals(self.intake(lines)).await?;
            if answers.len() != standings.len() {
                let (taken, given) = (answers.len(), standings.len());
                return Err(Error::bug("signals were not all taken in", format!("{taken} answers for {given}")));
            }
            for (answer, standing) in answers.into_iter().zip(standings) {
                counts = counts.and(intake_count(answer, standing));
            }
        }
        for malformed in &found.malformed {
            counts = counts.and(self.refuse(malformed).await?);
        }
        // An unreadable part may have been a ticket.
        if found.search == Some(SearchExtent::Whole) && found.malformed.is_empty() {
            self.mark_whole(&found.signals).await?;
        }
        Ok(counts)
    }

    async fn mark_whole(&self, signals: &[ProjectSignal]) -> Result<(), Error> {
        let listed = signals
            .iter()
            .filter(|signal| signal.kind == SignalKind::TicketListed && !self.charter.is_of_other_project(signal));
        self.backlog_is_whole(&listed.map(SignalRevision::from).collect::<Vec<_>>()).await
    }

    /// Keeps that these are all tickets of the backlog, as whoever fetched them knows. The same ones a second time say
    /// nothing new.
    ///
    /// # Errors
    ///
    /// If the records can't be written.
    pub async fn backlog_is_whole(&self, listed: &[SignalRevision]) -> Result<(), Error> {
        if listed.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = listed.iter().map(|listed| format!("{} {}", listed.id, listed.revision)).collect();
        let line = NewSignal {
            id: SignalRevision { id: WHOLE_BACKLOG.to_owned(), revision: content_hash(names.join("\n").as_bytes()) },
            source: "search".to_owned(),
            kind: WHOLE_BACKLOG.to_owned(),
            time: None,
            text: HashedContent::new(format!("{{\"tickets\":{}}}", listed.len())),
            standing: SignalStanding::SetAside,
        };
        self.desk.store.take_signals(self.intake(vec![line])).await?;
        Ok(())
    }

    fn intake(&self, signals: Vec<NewSignal>) -> SignalIntake {
        SignalIntake { project: self.desk.owner.clone(), actor: self.desk.system(), at: when::time_now(), signals }
    }

    fn line(&self, signal: &ProjectSignal) -> NewSignal {
        let written = signal.write();
        let standing = match &written {
            // A signal that is too large to be recorded literally can't be worked on either.
            Err(_) => SignalStanding::Malformed,
            Ok(_) if self.charter.is_of_other_project(signal) => SignalStanding::SetAside,
            Ok(_) => SignalStanding::Open,
        };
        let time = if let SignalTime::Known(time) = signal.time { Some(time) } else { None };
        NewSignal {
            id: SignalRevision::from(signal),
            source: signal.source.as_str().to_owned(),
            kind: signal.kind.as_str().to_owned(),
            time,
            text: HashedContent::new(
                written.unwrap_or_else(|error| json!({ "unwritten": error.to_string() }).to_string()),
            ),
            standing,
        }
    }

    /// Keeps what could not be read, for a person to look at.
    async fn refuse(&self, malformed: &MalformedSignal) -> Result<IntakeCounts, Error> {
        let exact = show::exact_json(&malformed.text);
        let revision = content_hash(exact.as_str().unwrap_or_default().as_bytes());
        let id = SignalRevision { id: format!("malformed:{}", revision.get(..16).unwrap_or_default()), revision };
        let unwritten = |error| Error::bug("what could not be read can't be written down", error);
        let text = LabelTree::Flagged(cap_malformed(&malformed.text)).write().map_err(unwritten)?;
        let line = NewSignal {
            id: id.clone(),
            source: "unknown".to_owned(),
            kind: "malformed".to_owned(),
            time: None,
            text: HashedContent::new(&text),
            standing: SignalStanding::Malformed,
        };
        let answers = self.desk.store.take_signals(self.intake(vec![line])).await?;
        if answers == [IntakeAnswer::Same] {
            return Ok(IntakeCounts { same: 1, ..IntakeCounts::default() });
        }
        let item = NewQuarantine {
            id: QuarantineId { signal: id.id.clone(), revision: id.revision.clone(), field: "whole".to_owned() },
            project: self.desk.owner.clone(),
            actor: self.desk.system(),
            at: when::time_now(),
            text: HashedContent::new(text),
            findings: json!([malformed.reason]),
            verdict: Verdict::Quarantine,
            sender: "unreadable".to_owned(),
        };
        self.desk.store.quarantine(item).await?;
        if malformed.reason == late_reason(NORMALISE) {
            self.ask_about_late(&id, "unknown").await?;
        }
        Ok(IntakeCounts { malformed: 1, ..IntakeCounts::default() })
    }

    /// The artefacts as they are.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn artefacts(&self) -> Result<ArtefactSet, Error> {
        self.desk.stored_artefacts(&self.charter.id).await
    }

    /// The same with those that can't be read.
    pub(super) async fn standing_artefacts(&self) -> Result<StandingArtefacts, Error> {
        self.desk.standing_artefacts(&self.charter.id).await
    }

    /// Deletes the texts of what came, was made and ran before a time, except what something open is on.
    ///
    /// # Errors
    ///
    /// If the records can't be read or written.
    pub async fn purge(&self, operator: &Operator, before: Time) -> Result<TriagePurgeCounts, Error> {
        let artefacts = self.artefacts().await?;
        let mut keep = BTreeSet::new();
        for (_, item) in artefacts.iter().flat_map(Artefact::items).filter(|(_, item)| !item.status.is_over()) {
            for (_, statement) in item.statements() {
                keep.extend(statement.origins().iter().filter_map(|origin| origin.signal().cloned()));
            }
        }
        keep.extend(self.desk.open_causes().await?);
        let purge = TriagePurge {
            project: self.desk.owner.clone(),
            before,
            keep: keep.into_iter().collect(),
            actor: operator.actor().clone(),
            at: when::time_now(),
        };
        Ok(self.desk.store.purge_triage(purge).await?)
    }

    pub(super) fn system(&self) -> Actor {
        self.desk.system()
    }
}

const fn intake_count(answer: IntakeAnswer, standing: SignalStanding) -> IntakeCounts {
    let mut counts = IntakeCounts { new: 0, revised: 0, same: 0, set_aside: 0, malformed: 0 };
    match answer {
        IntakeAnswer::Same => counts.same = 1,
        IntakeAnswer::New => counts.new = 1,
        IntakeAnswer::Revised => counts.revised = 1,
    }
    match (answer, standing) {
        (IntakeAnswer::Same, _) => {}
        (_, SignalStanding::SetAside) => counts.set_aside = 1,
        (_, SignalStanding::Malformed) => counts.malformed = 1,
        (_, SignalStanding::Open | SignalStanding::Handled) => {}
    }
    counts
}

fn cap_malformed(text: &Untrusted<String>) -> Untrusted<String> {
    text.clone().map(|text| text.chars().take(MAX_MALFORMED).collect())
}

/// The signals that were kept out, by sender.
pub(super) type BySender = BTreeMap<String, u64>;
