//! The lessons of a prompt: its own results and the caller's wishes, as a profile.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use jiff::tz::TimeZone;
use proem_agents::adapt::{Lessons, TaughtBy};
use proem_engine::assembly::PromptId;
use proem_engine::profile::{
    Adaptation, Ageing, Format, Profile, Profiles, Registry, ResultRecord, SignalDerivation, Signals, Wishes,
    adapt_with_grounds, contract_parts, derive,
};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::run::Time;
use proem_store::query::RunDetail;
use proem_store::{Store, StoreAccess};
use serde_json::Value as Json;

use super::{booking_zone, open_records, records_location, records_owner};
use crate::config::AdaptFile;
use crate::error::Error;
use crate::message::{Hint, Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::when;
use crate::words::count_with_noun;

/// The source of failures.
#[derive(Debug, Clone, Copy)]
pub enum FailureHistory<'h> {
    /// In these records.
    Open(&'h Store),
    /// In the records that there may be.
    Closed,
    /// In records that can't be written, which was said already.
    Unusable,
    /// Nowhere: a cassette is asked for the same in every process.
    Fixed,
}

/// The lessons and wishes that a prompt shows.
#[derive(Debug, Clone)]
pub struct PromptLessons {
    /// The profile, and what of it follows from which signals.
    pub adapted: Adaptation,
    /// The learned part. `None` if nothing was learned.
    pub lessons: Option<Lessons>,
    /// The same in one line: nobody finds learned words in a request unawares.
    pub said: Option<Note>,
}

impl PromptLessons {
    /// The lessons that a prompt of a recorded run showed.
    pub fn again(profile: Profile) -> Self {
        let (rules, signals) = (profile.rules(), Signals::default());
        Self { adapted: Adaptation { profile, signals, rules, notes: Vec::new() }, lessons: None, said: None }
    }

    /// The shown part. An empty profile shows nothing.
    pub fn shown(&self) -> Option<&Adaptation> {
        Some(&self.adapted).filter(|adapted| !adapted.profile.is_empty())
    }
}

/// Says that a run which goes on shows what was learned before it began.
#[must_use]
pub fn learned_before(run: &RunDetail) -> Option<Note> {
    let profiles = run.profiles.as_ref()?;
    let lines = profiles.all().map(|(_, profile)| profile.learned()).sum::<usize>();
    let (counted, id) = (count_with_noun(lines as u64, "line"), run.row.id.short());
    let text = format!("learned: {counted}, as at the start of run {id}");
    (lines > 0).then(|| Note::hinting(NoteKind::Learned, text, Hint::SeeRun { run: id.to_string() }))
}

/// The profile that a prompt shows. `None` where nothing is adapted.
///
/// # Errors
///
/// If a wish is none. Records that can't be read are noted and count as empty: they only advise.
pub async fn taught_profile(
    project: &OpenProject,
    prompt: &Prompt,
    adapting: &Adapting,
    history: FailureHistory<'_>,
) -> Result<WithNotes<Option<PromptLessons>>, Error> {
    let config = &project.config.adapt;
    let wishes = adapting.wishes.over(config)?;
    let is_off = config.enabled == Some(false);
    if adapting.is_off || (is_off && adapting.wishes.is_empty()) {
        return Ok(WithNotes::quiet(None));
    }
    let now = when::time_now();
    let ageing = ageing(config);
    let name = results_prompt_name(&prompt.id);
    let mut unread = None;
    let mut notes = Vec::new();
    let recorded = match history {
        // Nobody has shown that lessons help, so it takes a person who wants them.
        _ if config.enabled != Some(true) => Vec::new(),
        FailureHistory::Fixed => Vec::new(),
        FailureHistory::Open(store) => prompt_results(store, project, &name, &mut notes).await,
        FailureHistory::Closed | FailureHistory::Unusable
            if records_location(project).is_ok_and(|place| !place.may_hold_records()) =>
        {
            Vec::new()
        }
        FailureHistory::Closed | FailureHistory::Unusable => match open_records(project, StoreAccess::Read).await {
            Ok(opened) => prompt_results(&opened.store, project, &name, &mut notes).await,
            Err(error) => {
                let left_out = "the learned profile is left out of the prompt";
                match history {
                    FailureHistory::Unusable => unread = Some(format!("{left_out}: the records can't be read")),
                    _ => notes.push(Note::new(NoteKind::Prompt, format!("{left_out}: {error}"))),
                }
                Vec::new()
            }
        },
    };
    let derived = derive(&recorded, wishes, ageing, now);
    let schema = match derived.counted.is_empty() {
        true => None,
        false => prompt.contract()?.fallback().map(|contract| contract.schema().clone()),
    };
    let derived = teaching(derived, schema.as_ref());
    let baseline = prompt.file.strict.baseline;
    let tags = &derived.signals.risk_tags;
    let parts =
        schema.as_ref().map_or_else(|| Registry::Closed(BTreeSet::new()), |schema| contract_parts(schema, tags));
    let mut adapted = adapt_with_grounds(&derived.signals, &Registry::Closed(BTreeSet::new()), &parts, baseline);
    adapted.notes.splice(0..0, unread.into_iter().chain(derived.notes.iter().cloned()));
    let lessons = profile_lessons(&name, &derived, &adapted.profile, ageing);
    let said = match (&lessons, derived.until(ageing)) {
        (Some(lessons), Some(until)) => Some(lessons_note(lessons, until, &booking_zone(&project.config.budget)?)),
        _ => None,
    };
    Ok(WithNotes { value: Some(PromptLessons { adapted, lessons, said }), notes })
}

/// The part of a derivation that teaches a prompt anything: failures whose part the contract names now. A rating, or a
/// failure of another kind, names none, so a line about it could only repeat the contract. Steps to recover are for the
/// same input, and the second question of a run already has that input with its problems. A later run has another one.
fn teaching(mut derived: SignalDerivation, schema: Option<&Json>) -> SignalDerivation {
    let is_named = |risk: &String| {
        let part = schema.map(|schema| contract_parts(schema, [risk]));
        part.is_some_and(|part| part.admits(risk))
    };
    derived.counted.retain(|result| result.issue.risks.iter().any(is_named));
    let signals = &mut derived.signals;
    signals.risk_tags =
        derived.counted.iter().flat_map(|result| &result.issue.risks).filter(|risk| is_named(risk)).cloned().collect();
    signals.risk_tags.sort();
    signals.risk_tags.dedup();
    signals.needs_retry = false;
    signals.recent_failure_count = 0;
    signals.last_failure_subagents.clear();
    derived
}

/// The learned part of a profile, and its sources.
fn profile_lessons(prompt: &str, derived: &SignalDerivation, profile: &Profile, ageing: Ageing) -> Option<Lessons> {
    let taught_by = |recorded: &ResultRecord| TaughtBy {
        run: recorded.run.clone(),
        at: when::rfc3339(recorded.at),
        risks: recorded.issue.risks.iter().cloned().collect(),
    };
    let until = when::rfc3339(derived.until(ageing)?);
    let results = derived.counted.iter().map(taught_by).collect();
    Some(Lessons { prompt: prompt.to_owned(), lines: profile.learned(), results, until })
}

/// `learned: 2 lines from 1 result of me/ask, until 29 Nov; see proem adapt me/ask`.
fn lessons_note(lessons: &Lessons, until: Time, zone: &TimeZone) -> Note {
    let (lines, results) =
        (count_with_noun(lessons.lines as u64, "line"), count_with_noun(lessons.results.len() as u64, "result"));
    let (prompt, day) = (&lessons.prompt, when::day_and_month(until, zone));
    let text = format!("learned: {lines} from {results} of {prompt}, until {day}");
    Note::hinting(NoteKind::Learned, text, Hint::SeeLearned { prompt: prompt.clone() })
}

/// A prompt's name, under which its results are recorded.
fn results_prompt_name(id: &PromptId) -> String {
    format!("{}/{}", id.agent, id.name)
}

/// The recorded results of a prompt. The rules leave out old ones and say so.
async fn prompt_results(
    store: &Store,
    project: &OpenProject,
    prompt: &str,
    notes: &mut Vec<Note>,
) -> Vec<ResultRecord> {
    store.history(&records_owner(project), prompt, Time(0)).await.unwrap_or_else(|error| {
        notes.push(Note::new(NoteKind::Prompt, format!("the learned profile is left out of the prompt: {error}")));
        Vec::new()
    })
}

/// How failures age, by configuration.
pub fn ageing(config: &AdaptFile) -> Ageing {
    let usual = Ageing::default();
    Ageing {
        days: config.days.map_or(usual.days, NonZeroU32::get),
        records: config.failures.map_or(usual.records, NonZeroU32::get),
        retries: config.retries.unwrap_or(usual.retries),
    }
}

/// A caller's wishes for an answer, before configuration adds to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallerWishes {
    /// A short answer.
    pub time_sensitive: bool,
    /// That compliance is considered.
    pub compliance_required: bool,
    /// A format by its name, with what the caller calls that option.
    pub preferred_format: Option<(String, &'static str)>,
}

/// The influences on a prompt beside its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adapting {
    /// The caller's wishes.
    pub wishes: CallerWishes,
    /// Whether the model is shown no profile at all.
    pub is_off: bool,
}

impl CallerWishes {
    /// Whether nothing is wished for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.time_sensitive && !self.compliance_required && self.preferred_format.is_none()
    }

    /// These, and what the configuration wishes for where they are silent.
    ///
    /// # Errors
    ///
    /// If the format is none. Its option is named.
    pub fn over(&self, config: &AdaptFile) -> Result<Wishes, Error> {
        let own = self.preferred_format.as_ref().map(|(name, option)| (name, *option));
        let named = own.or_else(|| Some((config.preferred_format.as_ref()?, "adapt.preferred_format")));
        let format = named.map(|(name, by)| {
            let wrong = |why: String| Error::invalid(format!("{by}: {}", proem_guard::show::terminal_str(&why)));
            name.parse::<Format>().map_err(wrong)
        });
        Ok(Wishes {
            time_sensitive: self.time_sensitive || config.time_sensitive,
            compliance_required: self.compliance_required || config.compliance_required,
            preferred_format: format.transpose()?,
        })
    }
}

/// The lessons and wishes that one prompt, or all of a run, show, as a record keeps them.
pub fn profiles<'t>(all: impl IntoIterator<Item = (&'t PromptId, Option<&'t PromptLessons>)>) -> Option<Profiles> {
    let profile = |(id, taught): (&PromptId, Option<&PromptLessons>)| {
        Some((results_prompt_name(id), taught?.adapted.profile.clone()))
    };
    let prompts = all.into_iter().map(profile).collect::<Option<_>>()?;
    Some(Profiles::Each { prompts })
}
