//! The common part of all investigations of one command: the model, the prompts, the guard, the records.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};

use proem_agents::risk::feedback::Meter;
use proem_agents::risk::investigation::InvestigationLimits;
use proem_agents::risk::report::Rate;
use proem_engine::prompt::book::Book;
use proem_engine::run::Time;
use proem_llm::endpoint::EndpointKey;

use super::assessing::{AssessedRepository, ChangeAssessment};
use super::change_versions::{ChangeInvestigator, ChangeVersions};
use super::feedback;
use super::options::{DiffChoice, RiskOptions};
use super::prompts::{DECISION, InvestigationPrompts, SYNTHESIS, WHOSE};
use super::recording::ReportSubject;
use crate::agents::access::{AccessOptions, ContractedPrompt, ModelAccess};
use crate::ask::disclosure::{Telling, disclosure};
use crate::calling;
use crate::error::Error;
use crate::message::{Hint, Note, WithNotes};
use crate::project::OpenProject;
use crate::records::booking::Booking;
use crate::records::learning::{FailureHistory, taught_profile};
use crate::records::writing::OpenRecords;
use crate::run::options::Carriage;
use crate::when;

/// For how many days verdicts of people count as false-positive rates.
const JUDGED_DAYS: i64 = 365;

/// The contents of the requests where a model sees lines of a change.
const SENT_WITH_DIFF: [&str; 4] =
    ["measurements", "paths and names", "the commit's title", "the riskiest lines of the change, without credentials"];

/// The common part of all investigations of one command.
#[derive(Debug)]
pub struct RiskSetting {
    pub(super) prompts: InvestigationPrompts,
    /// The investigator, or the reason that there is none.
    investigator: Result<ModelAccess, String>,
    pub(super) limits: InvestigationLimits,
    /// The most changes that are investigated at once.
    pub(super) concurrency: NonZeroUsize,
    /// Whether the model sees lines of the change.
    pub(super) diff: DiffChoice,
    /// How often a HIGH was said to be a false alarm.
    pub(super) false_positives: BTreeMap<Meter, Rate>,
}

/// A setting whose investigations are booked, or need not be: only this asks.
#[derive(Debug)]
pub struct OpenInvestigations {
    pub(super) setting: RiskSetting,
    /// The versions of the prompts that changes meet.
    pub(super) versions: ChangeVersions,
    /// The booking of investigations and the records of assessments.
    pub(super) booking: Booking,
}

impl OpenInvestigations {
    /// The investigator. `None` if there is none.
    #[must_use]
    pub fn investigator(&self) -> Option<&ModelAccess> {
        self.setting.investigator()
    }

    /// Closes the records, with what was learned of the model's server and what there is to say about the records.
    pub async fn end(self) -> Vec<Note> {
        let mut notes = self.investigator().map(ModelAccess::take_news).unwrap_or_default();
        notes.extend(self.booking.end().await);
        notes
    }
}

impl RiskSetting {
    /// The setting that options, configuration and the book's prompts give. Its notes go to the project's.
    ///
    /// # Errors
    ///
    /// If a prompt is missing or declares no output schema, or a model is named and can't be asked.
    pub fn new(options: &RiskOptions, project: &mut OpenProject) -> Result<Self, Error> {
        let diff = permitted_diff(options.investigation.diff, project)?;
        let book = project.book()?;
        let prompts = contracted_prompts(&book)?;
        let seconds = |seconds: NonZeroU32| seconds.get().saturating_mul(1_000);
        let limits = InvestigationLimits {
            total_ms: seconds(options.investigation.time.total),
            hop_ms: seconds(options.investigation.time.hop),
            ..InvestigationLimits::default()
        };
        let investigator = investigator(options, project, &book, &prompts)?;
        let concurrency = options.concurrency;
        Ok(Self { prompts, investigator, limits, concurrency, diff, false_positives: BTreeMap::new() })
    }

    /// Opens the records, and looks up the prompts' lessons and persons' opinions of earlier assessments. Messages go
    /// to `notes`, and hold also on failure.
    ///
    /// # Errors
    ///
    /// If the records that something depends on can't be kept, or a wish is none.
    pub async fn begin(
        mut self,
        options: &RiskOptions,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<OpenInvestigations, Error> {
        let RiskOptions { record, investigation, .. } = options;
        let booking = match &self.investigator {
            Ok(access) => access.book(project, *record, None, notes).await?,
            Err(_) if investigation.replay.is_some() => Booking::Unsent,
            // Without a model nothing is sent, so no cap binds.
            Err(_) => match OpenRecords::begin(project, *record, None).await?.collect(notes) {
                Some(records) => Booking::Recorded(Box::new(records)),
                None => Booking::Unsent,
            },
        };
        if let Some(records) = booking.records() {
            self.false_positives = false_positives(records, project).await?;
        }
        if let (Ok(access), DiffChoice::Show) = (&self.investigator, self.diff) {
            notes.extend(disclosure(
                &project.places,
                &access.asked.endpoint,
                &SENT_WITH_DIFF.map(str::to_owned),
                Telling::Always,
            ));
        }
        if self.investigator.is_ok() {
            teach(&mut self.prompts, booking.records(), options, project).await?.collect(notes);
        }
        Ok(OpenInvestigations { setting: self, versions: ChangeVersions::default(), booking })
    }

    /// The investigator. `None` if there is none.
    #[must_use]
    pub fn investigator(&self) -> Option<&ModelAccess> {
        self.investigator.as_ref().ok()
    }

    /// The investigator, or the reason that there is none.
    pub(super) fn investigator_or_why(&self) -> Result<&ModelAccess, &str> {
        self.investigator.as_ref().map_err(String::as_str)
    }

    /// A change with what its record and its report are made of.
    pub(super) fn subject<'k>(
        &'k self,
        met: &'k ChangeInvestigator<'k>,
        assessing: &'k AssessedRepository,
        looked: &'k ChangeAssessment,
    ) -> ReportSubject<'k> {
        let ChangeInvestigator { prompts, access, assigned } = met;
        let false_positives = &self.false_positives;
        ReportSubject { prompts, access: *access, assigned, false_positives, assessing, looked }
    }
}

/// The prompts of an investigation in a book.
///
/// # Errors
///
/// If one is missing or declares no output schema.
pub(super) fn contracted_prompts(book: &Book) -> Result<InvestigationPrompts, Error> {
    let of = |name| ContractedPrompt::new(book.prompt(name, None)?, WHOSE)?.with_value(WHOSE);
    Ok(InvestigationPrompts { decision: of(DECISION)?, synthesis: of(SYNTHESIS)? })
}

/// Looks up the lessons of these prompts.
///
/// # Errors
///
/// If a wish is none.
pub(super) async fn teach(
    prompts: &mut InvestigationPrompts,
    records: Option<&OpenRecords>,
    options: &RiskOptions,
    project: &OpenProject,
) -> Result<WithNotes<()>, Error> {
    let RiskOptions { record, investigation, adapting, .. } = options;
    let history = match records {
        _ if investigation.record.is_some() || investigation.replay.is_some() => FailureHistory::Fixed,
        records => OpenRecords::history(records, *record, project),
    };
    let mut notes = Vec::new();
    for shown in [&mut prompts.decision, &mut prompts.synthesis] {
        shown.taught = taught_profile(project, &shown.prompt, adapting, history).await?.collect(&mut notes);
    }
    Ok(WithNotes { value: (), notes })
}

/// Whether a model sees lines of a change. No project's file can permit it, since a change could permit its own.
///
/// # Errors
///
/// If it is wanted, and the user's own configuration doesn't permit it.
pub(super) fn permitted_diff(wanted: DiffChoice, project: &OpenProject) -> Result<DiffChoice, Error> {
    if wanted == DiffChoice::Show && project.config.risk.show_diff != Some(true) {
        let text = "your own configuration doesn't permit a model to see lines of a change; set `show_diff = true` under \
                    `[risk]` in your `config.toml`";
        return Err(Error::invalid(text));
    }
    Ok(wanted)
}

/// How often a HIGH was said to be a false alarm, by what persons said of earlier assessments.
pub(super) async fn false_positives(
    records: &OpenRecords,
    project: &OpenProject,
) -> Result<BTreeMap<Meter, Rate>, Error> {
    let since = Time(when::time_now().0.saturating_sub(JUDGED_DAYS.saturating_mul(when::DAY)));
    feedback::rates(records.store(), project, since).await
}

/// The investigator, or the reason that there is none: the caller's wish, or a missing key if none was asked for by
/// name.
fn investigator(
    options: &RiskOptions,
    project: &mut OpenProject,
    book: &Book,
    prompts: &InvestigationPrompts,
) -> Result<Result<ModelAccess, String>, Error> {
    let wished = &options.investigation;
    if let Some(why) = &wished.unasked {
        return Ok(Err(why.clone()));
    }
    let [decision, synthesis] = [&prompts.decision.prompt, &prompts.synthesis.prompt];
    let wanted = calling::WantedModel {
        model: wished.model.as_deref(),
        provider: wished.provider.as_deref(),
        prompt: synthesis.file.header.model.as_deref(),
    };
    let (asked, role) = ModelAccess::located(&wanted, project)?;
    if let (EndpointKey::Missing { .. }, None) = (&asked.endpoint.key, &wished.replay) {
        let variable = asked.endpoint.key.variable().unwrap_or("a key");
        if wished.model.is_some() || wished.provider.is_some() {
            let text = format!("`{}` needs a key in {variable}; set it", asked.endpoint.name);
            return Err(Error::invalid(text).hinting(Hint::DoWithoutModel));
        }
        return Ok(Err(format!("no model is asked: {variable} is not set")));
    }
    let access = AccessOptions {
        book,
        prompts: &[decision, synthesis],
        carriage: &Carriage::taped(wished.record.clone(), wished.replay.clone()),
        concurrency: Some(asked.endpoint.limits.concurrency.min(options.concurrency)),
        also: &[],
    };
    Ok(Ok(ModelAccess::new((asked, role), &access, project)?))
}
