//! A cycle's calls: models are asked about the signals that are open, before anything is planned.

use proem_agents::triage::pipeline::{
    BudgetLadder, EarlierAction, LadderStep, PipelineEnd, PipelineSubject, StageRemark,
};
use proem_engine::call::NanoDollars;
use proem_engine::effect::ActionState;
use proem_engine::effect::key::SignalRevision;
use proem_engine::ledger::ModelMix;
use proem_engine::run::{Question, QuestionAnswer};
use proem_store::query::{ActionsWanted, CostsWanted, SpendLine};
use tokio_util::sync::CancellationToken;

use super::charter;
use super::cycle::{CycleReport, ReadSignal};
use super::desk::TriageDesk;
use super::models::TriageRun;
use crate::agents::running;
use crate::effects::policy;
use crate::error::Error;
use crate::records;
use crate::records::writing::OpenRecords;
use crate::when;

/// A day, in milliseconds.
const DAY: i64 = 86_400_000;
/// How the names of this agent's prompts begin.
const PROMPTS: &str = "triage/";
/// The most actions of a day that are told.
const MOST_ACTIONS: u64 = 100;

/// What asks models in a cycle.
#[derive(Debug)]
pub struct CycleModels<'m> {
    /// The run, which is about other signals in each cycle.
    pub run: &'m mut TriageRun,
    /// Where it is recorded; `None` where nothing is.
    pub records: Option<&'m OpenRecords>,
    /// Ends what is under way.
    pub stop: &'m CancellationToken,
    /// Which models there is money for.
    pub mix: ModelMix,
}

/// What models said about a cycle.
pub(super) struct AskedCycle {
    /// The signals that it is about, in order.
    pub(super) about: Vec<SignalRevision>,
    pub(super) end: PipelineEnd,
    run: Option<String>,
    trouble: Option<String>,
}

impl AskedCycle {
    /// Puts into a report what there is to say of it.
    pub(super) fn tell(&self, report: &mut CycleReport) {
        report.runs.extend(self.run.clone());
        let ids = self.about.iter().map(|about| about.id.clone());
        report.ways.extend(ids.zip(self.end.ways.iter().cloned()));
        report.problems.extend(self.end.notes.iter().cloned());
        report.problems.extend(self.trouble.iter().map(|trouble| format!("a run is not recorded whole: {trouble}")));
        let line = |remark: &StageRemark| {
            format!("{}: a part of an answer was not taken: {}", remark.stage.as_str(), remark.remark.in_words())
        };
        let mut lines: Vec<String> = self.end.remarks.iter().map(line).collect();
        lines.dedup();
        report.problems.extend(lines);
    }
}

impl TriageDesk<'_> {
    /// Where on the ladder of this agent a project stands: what its prompts took today and this month in this project, and
    /// what is reserved for calls that are open.
    ///
    /// # Errors
    ///
    /// If the records or the zone can't be read.
    pub async fn ladder(&self) -> Result<LadderStep, Error> {
        let (zone, now) = (records::zone(&self.desk.project.config.budget)?, when::now());
        let today = when::date(now, &zone);
        let month = today.get(..7).unwrap_or_default();
        let wanted = CostsWanted { project: Some(self.desk.owner.clone()), since: Some(format!("{month}-01")) };
        let costs = self.desk.store.costs(&wanted).await?;
        let own = |line: &&SpendLine| line.prompt.starts_with(PROMPTS) && line.day.starts_with(month);
        let sum = |lines: &mut dyn Iterator<Item = &SpendLine>| {
            lines.fold(costs.reserved, |sum, line| NanoDollars(sum.0.saturating_add(line.cost.0)))
        };
        let of_month = sum(&mut costs.lines.iter().filter(own));
        let of_day = sum(&mut costs.lines.iter().filter(own).filter(|line| line.day == today));
        Ok(BudgetLadder::default().step(of_day, of_month))
    }

    /// What a run is about that works on no signal yet.
    ///
    /// # Errors
    ///
    /// If the project's file or the artefacts can't be read.
    pub async fn subject(&self, mix: ModelMix) -> Result<PipelineSubject, Error> {
        Ok(PipelineSubject {
            charter_text: charter::text(self.desk.project)?,
            charter: self.charter.clone(),
            signals: Vec::new(),
            artefacts: self.artefacts().await?,
            level: self.desk.level(),
            gate: self.gate(),
            mix,
            policy: policy::texts(self.desk.project)?,
            actions: self.earlier_actions().await?,
            now: when::now().max(self.desk.status.last_seen),
        })
    }

    /// The actions of the last 24 hours, oldest first.
    async fn earlier_actions(&self) -> Result<Vec<EarlierAction>, Error> {
        let wanted = ActionsWanted {
            project: Some(self.desk.owner.clone()),
            states: ActionState::ALL.to_vec(),
            most: Some(MOST_ACTIONS),
        };
        let since = when::now().0.saturating_sub(DAY);
        let rows = self.desk.store.actions(&wanted).await?;
        let mut actions: Vec<EarlierAction> = rows
            .into_iter()
            .filter(|row| row.created.0 >= since)
            .map(|row| EarlierAction { at: row.created, action: row.scope.name.clone(), state: row.state })
            .collect();
        actions.sort_by_key(|action| action.at);
        Ok(actions)
    }

    /// Asks models about signals; `None` if rules alone decide about all of them.
    pub(super) async fn ask_models(
        &self,
        models: &mut CycleModels<'_>,
        read: &[ReadSignal],
        about: Vec<SignalRevision>,
    ) -> Result<Option<AskedCycle>, Error> {
        let signals = read.iter().map(|read| read.signal.clone()).collect();
        models.run.about(PipelineSubject { signals, ..self.subject(models.mix).await? })?;
        if !models.run.pipeline().asks() {
            return Ok(None);
        }
        // No stage asks a person: what a person decides is a question of the cycle.
        let nobody = async |_: &str, _: &[Question]| -> Result<Vec<QuestionAnswer>, Error> {
            Err(Error::bug("triage asked a person", "no stage does"))
        };
        let done = running::start::<Error>(models.run, models.records, nobody, models.stop).await?;
        let Ok(end) = done.output.downcast::<PipelineEnd>() else {
            return Err(Error::bug("triage failed", "its output is none of triage"));
        };
        let run = done.run.map(|run| run.short().to_owned());
        Ok(Some(AskedCycle { about, end: *end, run, trouble: done.trouble }))
    }
}
