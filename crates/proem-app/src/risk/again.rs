//! Recorded investigations: replayed from their record alone, and gone on with where their change is still
//! what it was.

mod difference;

use std::path::Path;

use proem_agents::risk::investigation::Investigation;
use proem_agents::risk::report::RiskReport;
use proem_engine::ordered::OrderedJson;
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_runtime::Environment;
use proem_runtime::records::{Recording, ReplayReport, ResumableRun, ResumeIdentity, replay, resumable, resume};
use proem_runtime::risk::AssessorProgress;
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_store::record::{RunId, hash};
use serde_json::Value as Json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::investigating::subject;
use super::made::{InvestigationStart, policy};
use super::recording::{EarlierAttempts, InvestigationOpening, InvestigationRun, ReportSubject, inputs, outcome};
use super::setting::RiskSetting;
use crate::calling::{self as endpoints, ModelEndpoint};
use crate::error::Error as Failure;
use crate::guarding::GuardFiles;
use crate::message::{Hint, Message, Note};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records;
use crate::records::writing::{NONE_TO_GO_ON_IN, OpenRecords, RecordChoice};
use crate::run::setting::CallUse;

/// Makes the requests of an investigation anew and compares them with its record; nothing is sent, and no
/// repository is looked at.
///
/// # Errors
///
/// If something of the record is missing or damaged.
pub async fn replayed(
    remade: InvestigationStart,
    detail: &RunDetail,
    (places, endpoint): (&Places, Endpoint),
    store: &Store,
) -> Result<ReplayReport, Failure> {
    let subject = remade.subject.clone();
    let setting = RiskSetting::again(remade, detail, places, (endpoint, CallUse::NoCalls))?;
    let investigator = setting.asked()?;
    let mut machine = Investigation::new(setting.terms(investigator), subject);
    let model = &investigator.asked.model;
    Ok(replay(store, detail, model, &mut machine, outcome).await?)
}

/// An investigation that can be gone on with: its change is what it was, and there is a key.
#[derive(Debug)]
pub struct Resuming {
    run: RunId,
    setting: RiskSetting,
    assessing: AssessedRepository,
    looked: ChangeAssessment,
    inputs: OrderedJson,
    settings: Json,
    policy: String,
}

impl Resuming {
    /// Before an investigation is taken over, its change is looked at as it is today, in the repository around
    /// `root`.
    ///
    /// # Errors
    ///
    /// If it can't go on: it has ended, there is no key, or the change is not what it was.
    pub fn new(
        (places, project): (&Places, &OpenProject),
        (detail, mut remade): (&RunDetail, InvestigationStart),
        root: &Path,
        progress: &dyn Fn(AssessorProgress),
    ) -> Result<Self, Failure> {
        let refused = |why: Message| {
            let failure = Failure::usage(format!("run {} can't go on: {}", detail.row.id.short(), why.text));
            why.hint.into_iter().fold(failure, Failure::hinting)
        };
        resumable(detail, &records::owner(project)).map_err(|error| Failure::usage(error.to_string()))?;
        let endpoint = endpoints::located(&project.config, &detail.row.endpoint, &Environment::inherited())?;
        if let EndpointKey::Missing { variable } = &endpoint.key {
            return Err(refused(format!("`{}` needs a key in {variable}; set it", endpoint.name).into()));
        }
        let same = same((places, project), (detail, &remade), (root, progress));
        let (assessing, looked) = same.map_err(refused)?;
        let (inputs, settings) = (remade.inputs.clone(), remade.settings.clone());
        // The state opens under the rules of today only, so these are the recorded ones.
        remade.guard = GuardFiles::load(places)?;
        let policy = policy(&remade.guard.rules(), &settings);
        let setting = RiskSetting::again(remade, detail, places, (endpoint, CallUse::Calls))?;
        Ok(Self { run: detail.row.id.clone(), setting, assessing, looked, inputs, settings, policy })
    }

    /// Opens the records. What there is to say goes to `notes`, and holds also where it fails.
    ///
    /// # Errors
    ///
    /// If they can't be kept.
    pub async fn begin(
        &mut self,
        (places, project): (&Places, &OpenProject),
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        self.setting.record((places, project), RecordChoice::Needed, notes).await
    }

    /// Who is asked.
    ///
    /// # Errors
    ///
    /// If nobody is, which is a bug.
    pub fn asked(&self) -> Result<&ModelEndpoint, Failure> {
        Ok(&self.setting.asked()?.asked)
    }

    /// Goes on under its own id or apart, to its end, and reports its change.
    ///
    /// # Errors
    ///
    /// If the run can't be taken over, or its state is none of an investigation.
    pub async fn on(&self, going: ResumeIdentity, stop: &CancellationToken) -> Result<Resumption, Failure> {
        let Self { run, setting, assessing, looked, .. } = self;
        let Some(records) = &setting.records else { return Err(Failure::usage(NONE_TO_GO_ON_IN)) };
        let Some(look) = assessing.look_at(looked.change).transpose()? else {
            return Err(Failure::bug("a change is missing", looked.change));
        };
        let common = records.kept();
        let resumed = resume(common.store, common.seal, common.project, (run, going), &self.policy).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Failure::usage(error.to_string()))?;
        let began = Instant::now();
        let (id, parent) = match going {
            ResumeIdentity::On => (run.clone(), None),
            ResumeIdentity::Apart => (OpenRecords::id()?, Some(run.clone())),
        };
        let (investigator, steps) = (setting.asked()?, resumed.step);
        let (inputs, settings, policy) = (self.inputs.clone(), self.settings.clone(), self.policy.clone());
        let begins = InvestigationOpening { id, parent, steps, setting, investigator, inputs, settings, policy };
        let recording = Recording::new(&common, &begins.start());
        let known = (&look, &looked.full);
        let (investigated, made) = setting.go_on(investigator, known, (&resumed, &recording), stop).await?;
        let done = InvestigationRun { investigated, made, earlier: earlier(&resumed, going), began };
        let (report, trouble) = ReportSubject { setting, assessing, looked }.ended(&recording, &done).await?;
        Ok(Resumption { report, trouble })
    }

    /// Closes the records.
    pub async fn end(self, places: &Places) -> Option<Note> {
        self.setting.end(places).await
    }
}

/// An investigation that was gone on with to its end.
#[derive(Debug)]
pub struct Resumption {
    /// The report of its change.
    pub report: RiskReport,
    /// What could not be recorded after a model was asked.
    pub trouble: Option<String>,
}

/// The change as it is today, if that is what was assessed.
fn same(
    (places, project): (&Places, &OpenProject),
    (detail, remade): (&RunDetail, &InvestigationStart),
    (root, progress): (&Path, &dyn Fn(AssessorProgress)),
) -> Result<(AssessedRepository, ChangeAssessment), Message> {
    let anew = |text: String| Message { text, hint: Some(Hint::AssessAnew) };
    let assessing =
        AssessedRepository::again(&remade.kept.assessed, root, (places, project), progress).map_err(anew)?;
    let looked =
        assessing.look_one(0).ok_or("its change is missing from the record")?.map_err(|failure| failure.to_string())?;
    let look =
        assessing.look_at(0).ok_or("its change is missing from the record")?.map_err(|failure| failure.to_string())?;
    let today = subject(&look, &looked.first);
    let written = inputs(&today).map_err(|failure| failure.to_string())?;
    if hash(written.compact().as_bytes()) == detail.inputs {
        return Ok((assessing, looked));
    }
    // Where the rules of before are meant, metrics were counted otherwise too; the change itself must be the same.
    let different = if remade.kept.assessed.grounds.level_rules.are_of_before() {
        difference::of_change(&remade.subject, &today)
    } else {
        Some(difference::first(&remade.subject, &today))
    };
    match different {
        Some(different) => Err(anew(format!("the change differs from the recorded one: {different}"))),
        None => Ok((assessing, looked)),
    }
}

/// What was asked before.
fn earlier(resumed: &ResumableRun, going: ResumeIdentity) -> EarlierAttempts {
    let attempts = resumed.detail.calls.iter().map(|call| call.attempts.len()).sum();
    let lost = match going {
        ResumeIdentity::On => resumed.lost(),
        // It belongs to the run that lost it.
        ResumeIdentity::Apart => 0,
    };
    EarlierAttempts { attempts, lost }
}
