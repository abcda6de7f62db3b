//! Investigations, as one agent among the others: replayed from their record alone, and gone on with where their
//! change is still what it was.

mod difference;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use proem_agents::risk::feedback::{self, Meter};
use proem_agents::risk::investigation::{Investigation, InvestigationEnd, InvestigationLimits, Subject};
use proem_agents::risk::report::Rate;
use proem_engine::ordered_json::OrderedJson;
use proem_runtime::driver::ObjectPerform;
use proem_runtime::records::{Recording, Start};
use proem_runtime::risk::{AssessorProgress, Measures};
use proem_store::record::{RunId, RunOutcome, content_hash};
use serde_json::Value as Json;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::grounds::AssessmentRecord;
use super::investigating::{complete_tier_two, investigation_subject};
use super::investigation_settings::{InvestigationStart, investigation_policy_hash};
use super::options::DiffChoice;
use super::prompts::{DECISION, InvestigationPrompts, SYNTHESIS};
use super::recording::{InvestigationRun, ReportSubject, evaluations, investigation_outcome, subject_inputs};
use super::setting::{false_positives, permitted_diff};
use crate::agents::access::{ModelAccess, RunTerms};
use crate::agents::record::RunRecord;
use crate::agents::{
    Agent, AgentEnd, AgentMachine, AgentRun, EndedRun, OutcomeAdapter, ReadBack, RunResult, Today, WorldParts,
};
use crate::error::Error;
use crate::message::{Hint, Message};
use crate::project::OpenProject;
use crate::records::writing::OpenRecords;

/// How risky a change is.
#[derive(Debug, Clone, Copy)]
pub struct RiskAgent;

impl Agent for RiskAgent {
    fn kind(&self) -> &'static str {
        feedback::KIND
    }

    fn prompts(&self) -> &'static [&'static str] {
        &[SYNTHESIS, DECISION]
    }

    /// The level is the rules': what people think of that is said by feedback of its own.
    fn is_result(&self, _: RunOutcome) -> bool {
        false
    }

    fn read_back<'r>(&'r self, record: &'r RunRecord<'r>) -> BoxFuture<'r, Result<ReadBack, Message>> {
        Box::pin(async move {
            let start = InvestigationStart::read(record).await?;
            let InvestigationStart { prompts, changed, access, subject, limits, assessed, inputs } = start;
            let run = RecordedInvestigation {
                prompts,
                policy: investigation_policy_hash(&access.guarding.rules, &record.detail.settings),
                access,
                subject,
                limits,
                assessed,
                inputs,
                settings: record.detail.settings.clone(),
                false_positives: BTreeMap::new(),
                today: None,
            };
            Ok(ReadBack { run: Box::new(run), changed })
        })
    }
}

/// An investigation that was read back from its record.
#[derive(Debug)]
struct RecordedInvestigation {
    prompts: InvestigationPrompts,
    access: ModelAccess,
    subject: Subject,
    limits: InvestigationLimits,
    assessed: AssessmentRecord,
    inputs: OrderedJson,
    settings: Json,
    policy: String,
    /// How often a HIGH was said to be a false alarm.
    false_positives: BTreeMap<Meter, Rate>,
    /// Its change as it is today. `None` where nobody looked.
    today: Option<(AssessedRepository, ChangeAssessment)>,
}

impl RecordedInvestigation {
    fn told(&self, investigated: InvestigationEnd) -> AgentEnd {
        AgentEnd {
            outcome: investigation_outcome(&investigated),
            evaluations: evaluations(&self.prompts, &investigated),
            detail: Some(Box::new(investigated)),
        }
    }

    /// Its change as it is today.
    fn today(&self) -> Result<(&AssessedRepository, &ChangeAssessment), Error> {
        let today = self.today.as_ref().map(|(assessing, looked)| (assessing, looked));
        today.ok_or_else(|| Error::bug("the change was not looked at", "an investigation measures it"))
    }

    /// The change as it is today, if that is what was assessed.
    fn same(
        &self,
        recorded: &str,
        root: &Path,
        project: &OpenProject,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<(AssessedRepository, ChangeAssessment), Message> {
        let anew = |why: Message| Message { hint: why.hint.or(Some(Hint::AssessAnew)), ..why };
        let missing = "its change is missing from the record";
        let assessing = AssessedRepository::again(&self.assessed, root, project, progress).map_err(anew)?;
        let looked = assessing.look_one(0).ok_or(missing)??;
        let diff = if self.subject.diff.is_some() { DiffChoice::Show } else { DiffChoice::Hide };
        permitted_diff(diff, project)?;
        let mut today = investigation_subject(&assessing.look_at(0).ok_or(missing)??, &looked.first, diff);
        // Older records have no measures, and their requests go on without them.
        today.yardsticks = today.yardsticks.filter(|_| self.subject.yardsticks.is_some());
        if content_hash(subject_inputs(&today)?.compact().as_bytes()) == recorded {
            return Ok((assessing, looked));
        }
        // The older rules counted metrics otherwise, too. The change itself must be the same.
        let different = if self.assessed.grounds.level_rules.are_of_before() {
            difference::change_difference(&self.subject, &today)
        } else {
            Some(difference::first_subject_difference(&self.subject, &today))
        };
        match different {
            Some(different) => Err(anew(format!("the change differs from the recorded one: {different}").into())),
            None => Ok((assessing, looked)),
        }
    }
}

impl AgentRun for RecordedInvestigation {
    fn access(&self) -> &ModelAccess {
        &self.access
    }

    fn access_mut(&mut self) -> &mut ModelAccess {
        &mut self.access
    }

    fn start(&self, id: RunId) -> Start<'_> {
        let terms = RunTerms {
            kind: feedback::KIND,
            prompt: &self.prompts.synthesis.prompt.id,
            inputs: &self.inputs,
            settings: &self.settings,
            policy: &self.policy,
            profiles: self.prompts.profiles(),
        };
        self.access.start(id, terms)
    }

    fn time(&self) -> Duration {
        Duration::from_millis(u64::from(self.limits.total_ms))
    }

    fn policy(&self, rules: &str) -> String {
        investigation_policy_hash(rules, &self.settings)
    }

    fn machine(&self) -> AgentMachine<'_> {
        let investigation = Investigation::new(self.prompts.terms(&self.access, self.limits), self.subject.clone());
        Box::new(OutcomeAdapter::new(investigation, |investigated| self.told(investigated)))
    }

    fn restore(&self, state: &Json) -> Result<AgentMachine<'_>, proem_engine::Error> {
        let investigation = Investigation::restore(self.prompts.terms(&self.access, self.limits), state)?;
        Ok(Box::new(OutcomeAdapter::new(investigation, |investigated| self.told(investigated))))
    }

    fn renew(&mut self, today: &Today<'_>) -> Result<(), Message> {
        let progress = |progress: AssessorProgress| (today.progress)(progress.in_words());
        self.today = Some(self.same(&today.detail.inputs, today.root, today.project, &progress)?);
        Ok(())
    }

    fn consult<'r>(
        &'r mut self,
        records: &'r OpenRecords,
        project: &'r OpenProject,
    ) -> BoxFuture<'r, Result<(), Error>> {
        Box::pin(async move {
            self.false_positives = false_positives(records, project).await?;
            Ok(())
        })
    }

    fn world<'w>(&'w self, tied: WorldParts<'w>) -> Result<Box<dyn ObjectPerform + 'w>, Error> {
        let (assessing, looked) = self.today()?;
        let Some(look) = assessing.look_at(looked.change).transpose()? else {
            return Err(Error::bug("a change is missing", looked.change));
        };
        Ok(Box::new(Measures::new(look, tied.calls, Duration::from_millis(u64::from(self.limits.hop_ms)))))
    }

    fn finish<'r>(
        &'r self,
        ended: EndedRun,
        recording: Option<&'r Recording<'r>>,
    ) -> BoxFuture<'r, Result<RunResult, Error>> {
        Box::pin(async move {
            let EndedRun { end, traces, earlier, began, .. } = ended;
            let (assessing, looked) = self.today()?;
            let detail = end.detail.and_then(|detail| detail.downcast::<InvestigationEnd>().ok());
            let Some(investigated) = detail else {
                return Err(Error::bug("the investigation failed", "its end is none of an investigation"));
            };
            let investigated = complete_tier_two(*investigated, &looked.full);
            let done = InvestigationRun { investigated, made: traces, earlier, began };
            let (prompts, false_positives) = (&self.prompts, &self.false_positives);
            let access = Ok(&self.access);
            let kept = ReportSubject { prompts, access, assigned: &[], false_positives, assessing, looked };
            let (report, trouble) = match recording {
                Some(recording) => kept.ended(recording, &done).await?,
                None => (kept.report(None, Some(&done))?, None),
            };
            let run = recording.map(|recording| recording.id().clone());
            Ok(RunResult { run, trouble, output: Box::new(report) })
        })
    }
}
