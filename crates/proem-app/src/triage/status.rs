//! The state of a project that is triaged.

use std::collections::BTreeMap;

use proem_engine::effect::ActionState;
use proem_store::query::{CycleRow, EscalationRow};
use proem_store::record::{EscalationState, SignalStanding, WHOLE_BACKLOG};
use proem_triage::artefact::{BacklogExtent, FigureSources, ProjectFigures, count_figures};
use proem_triage::plan::ArtefactSet;
use proem_triage::{ProjectSignal, SignalLog};

use super::desk::TriageDesk;
use crate::effects::EffectsObstacle;
use crate::error::Error;
use crate::when;

/// How many signals are read at once.
pub(super) const TOGETHER: u64 = 1_000;
/// How many cycles are shown.
const CYCLES: u64 = 5;

/// Reads the state of triage.
#[derive(Debug)]
pub struct TriageStatus {
    /// How many signals, by what they are at.
    pub signals: BTreeMap<SignalStanding, u64>,
    /// The last cycles, the newest first.
    pub cycles: Vec<CycleRow>,
    /// Questions that wait for a person.
    pub questions: Vec<EscalationRow>,
    /// How many actions, by state.
    pub actions: BTreeMap<ActionState, u64>,
    /// How many texts are in quarantine.
    pub quarantined: u64,
    /// The obstacles to effects.
    pub obstacles: Vec<EffectsObstacle>,
    /// Each as it is, or as it was when it could be read last.
    pub artefacts: ArtefactSet,
}

impl TriageDesk<'_> {
    /// Reads the state of triage.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn status(&self) -> Result<TriageStatus, Error> {
        let store = &self.desk.store;
        Ok(TriageStatus {
            signals: store.signal_counts(&self.desk.owner).await?,
            cycles: store.cycles(&self.desk.owner, CYCLES).await?,
            questions: self.desk.escalations(Some(EscalationState::Open)).await?,
            actions: self.desk.status.actions.clone(),
            quarantined: self.desk.status.quarantined,
            obstacles: self.desk.obstacles(),
            artefacts: self.artefacts().await?,
        })
    }

    /// The figures of the project, as its signals and artefacts have them. `Unknown` where they don't say.
    ///
    /// # Errors
    ///
    /// If the records can't be read.
    pub async fn figures(&self, artefacts: &ArtefactSet) -> Result<ProjectFigures, Error> {
        let (log, coverage) = self.signal_log().await?;
        let signals: Vec<&ProjectSignal> = log.current().collect();
        let artefacts: Vec<_> = artefacts.iter().collect();
        Ok(count_figures(&FigureSources {
            now: when::time_now(),
            signals: &signals,
            coverage,
            places: &self.charter.places(),
            artefacts: &artefacts,
        }))
    }

    /// Every signal that counts, and whether a whole backlog is among them.
    pub(super) async fn signal_log(&self) -> Result<(SignalLog, BacklogExtent), Error> {
        let mut extent = BacklogExtent::Part;
        let mut log = SignalLog::default();
        let mut after = 0;
        loop {
            let page = self.desk.store.signals(&self.desk.owner, after, TOGETHER).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for row in page {
                if row.kind == WHOLE_BACKLOG {
                    extent = BacklogExtent::Whole;
                }
                let is_counted = matches!(row.standing, SignalStanding::Open | SignalStanding::Handled);
                // Purged or unreadable signals are not counted. The figures name their basis.
                let signal = row.text.filter(|_| is_counted).and_then(|text| ProjectSignal::read(&text).ok());
                if let Some(signal) = signal {
                    log.add(signal);
                }
            }
        }
        Ok((log, extent))
    }
}
