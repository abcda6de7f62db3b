//! Past matters for models: questions that a person decided, and actions that ended.
//!
//! Invariants: of a signal that something came of, no more is told than what guard lets through today, and nothing of one
//! that it suspects; what can't be read any more is told to nobody.

use proem_agents::screen::Screening;
use proem_engine::effect::key::SignalRevision;
use proem_engine::policy::ProposedAction;
use proem_engine::run::Time;
use proem_guard::{LabelTree, Untrusted, Verdict};
use proem_store::query::{ActionRow, EscalationRow, SignalRow};
use proem_triage::pipeline::{PastSituation, SituationQuery, most_alike};
use proem_triage::{ProjectSignal, SanitisedSignal, sanitise_signal};

use super::desk::TriageDesk;
use super::open_signals::ReadSignal;
use super::set_aside::LATE;
use crate::effects::escalations;
use crate::error::Error;

/// The most decisions, and the most actions, that are looked at, the last ones.
const MOST_LOOKED_AT: u64 = 100;
/// The most that a run is given of what is like its signals. A prompt is told of fewer.
const MOST_GIVEN: usize = 12;
/// The most signals by which something that is over is remembered.
const MOST_CAUSES: usize = 2;

/// Something that is over, before it is known what it was about.
struct EndedMatter {
    at: Time,
    causes: Vec<SignalRevision>,
    action: LabelTree,
    outcome: LabelTree,
}

/// The key for comparing a signal: its ticket, and its readable part.
fn query<'s>(
    signal: &'s ProjectSignal,
    sanitised: &SanitisedSignal,
    words: &'s Untrusted<String>,
) -> SituationQuery<'s> {
    let ticket = sanitised.name("ticket").and(signal.ticket.as_ref());
    SituationQuery { kind: signal.kind.as_str(), ticket, words }
}

impl TriageDesk<'_> {
    /// The past matters that are most like one of these signals.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub(super) async fn past_situations(&self, read: &[ReadSignal]) -> Result<Vec<PastSituation>, Error> {
        let (store, owner) = (&self.desk.store, &self.desk.owner);
        let decided = store.decided_escalations(owner, MOST_LOOKED_AT).await?;
        let ended = store.ended_actions(owner, MOST_LOOKED_AT).await?;
        let matters: Vec<EndedMatter> = decided
            .iter()
            .filter_map(decided_matter)
            .chain(ended.iter().filter_map(|row| self.ended(row)))
            .filter(|matter| !matter.causes.is_empty())
            .collect();
        let names: Vec<SignalRevision> =
            matters.iter().flat_map(|matter| matter.causes.iter().take(MOST_CAUSES)).cloned().collect();
        let rows = store.signals_named(owner, &names).await?;
        let screening = self.desk.guarding.screening()?;
        let past: Vec<PastSituation> =
            matters.iter().filter_map(|matter| self.told(matter, &rows, screening)).collect();
        let readable: Vec<(&ReadSignal, Untrusted<String>)> = read
            .iter()
            .filter(|read| read.sanitised.verdict <= Verdict::Flag)
            .map(|read| (read, read.sanitised.content()))
            .collect();
        let queries: Vec<SituationQuery<'_>> =
            readable.iter().map(|(read, words)| query(&read.signal, &read.sanitised, words)).collect();
        Ok(most_alike(&past, &queries, MOST_GIVEN).into_iter().cloned().collect())
    }

    fn ended(&self, row: &ActionRow) -> Option<EndedMatter> {
        let action = ProposedAction::stored(row.form.as_deref()?, &self.desk.policy).ok()?;
        let corrected = row.corrected.map(|_| "; a person said later that it should not have happened like this");
        Some(EndedMatter {
            at: row.ended?,
            causes: action.signals(),
            action: row.scope.name.as_str().into(),
            outcome: format!("{}{}", row.state.as_str(), corrected.unwrap_or_default()).into(),
        })
    }

    /// The account of it for models. `None` if the signals are gone, or one of them is suspected.
    fn told(&self, matter: &EndedMatter, rows: &[SignalRow], screening: Screening<'_>) -> Option<PastSituation> {
        let read = |cause: &SignalRevision| {
            let row = rows.iter().find(|row| row.id == *cause)?;
            // A signal that took too long once is not read again.
            let is_late = row.outcome.get(LATE).is_some();
            let text = row.text.as_deref().filter(|_| !is_late)?;
            let signal = ProjectSignal::read(text).ok()?;
            let sanitised = sanitise_signal(&signal, screening);
            (sanitised.verdict == Verdict::Allow).then_some((signal, sanitised))
        };
        let causes: Vec<_> = matter.causes.iter().take(MOST_CAUSES).map(read).collect::<Option<_>>()?;
        let contents: Vec<Untrusted<String>> = causes.iter().map(|(_, sanitised)| sanitised.content()).collect();
        let words = Untrusted::join(&contents.iter().collect::<Vec<_>>(), "\n").0;
        let (signal, sanitised) = causes.first()?;
        let SituationQuery { kind, ticket, .. } = query(signal, sanitised, &words);
        let (kind, ticket) = (kind.to_owned(), ticket.cloned());
        let (action, outcome) = (matter.action.clone(), matter.outcome.clone());
        Some(PastSituation { at: matter.at, kind, ticket, words, action, outcome }.cut())
    }
}

/// A question with what a person decided.
fn decided_matter(row: &EscalationRow) -> Option<EndedMatter> {
    let (decision, case) = (row.decision.as_ref()?, escalations::escalation_case(row)?);
    let chosen = row.options.iter().find(|option| option.id == decision.option)?;
    let words = decision.words.trim();
    let outcome = if words.is_empty() { "a person decided so, without a word" } else { words };
    Some(EndedMatter {
        at: decision.at,
        causes: case.causes,
        action: LabelTree::read(&chosen.label).ok()?,
        outcome: outcome.into(),
    })
}
