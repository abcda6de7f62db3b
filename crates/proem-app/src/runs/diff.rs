//! The changes between two requests and their answers, and the reason that the cache missed.
//!
//! Two requests are two runs' first calls, any two calls by their numbers, or each call of one run with the
//! one before it that its cache could have been written by.

pub mod output;
pub mod provider_diagnosis;
mod references;
pub mod run_call;
pub mod sections;
pub mod texts;

use std::collections::BTreeSet;

use proem_engine::cache::miss::{CacheComparison, RequestDifference, compare_requests};
use proem_engine::providers::Providers;
use proem_store::Store;
use proem_store::query::{RunDetail, RunScope};

use self::provider_diagnosis::ProviderDiagnosis;
use self::references::CallReference;
use self::run_call::RunCall;
use self::texts::{AnswerDifference, FirstDifference};
use super::find_run;
use crate::error::Error;
use crate::message::{Note, NoteKind};
use crate::project::OpenProject;
use crate::records::{self, Whose};

/// Two requests with what was found out about them.
#[derive(Debug)]
pub struct Pair<'d> {
    /// The earlier one.
    pub first: RunCall<'d>,
    /// The later one.
    pub second: RunCall<'d>,
    /// The changes, and the cache's behaviour.
    pub compared: CacheComparison,
    /// The texts of what changed first, as far as they are kept.
    pub texts: Option<FirstDifference>,
    /// The answers of the two runs. `None` if they are one, or one of them gave no answer.
    pub answers: Option<AnswerDifference>,
}

/// The calls to compare.
#[derive(Debug, Clone, Copy)]
pub struct DiffOptions<'w> {
    /// A run, or one of its calls, such as `last:1`.
    pub first: &'w str,
    /// The later one; without it each call of a run is compared with one before it.
    pub second: Option<&'w str>,
    /// The scope of runs.
    pub whose: Whose,
    /// The runs that `last` counts.
    pub listed: RunScope,
}

/// The runs whose requests are compared.
#[derive(Debug)]
pub struct Runs<'w> {
    store: Store,
    first: CallReference<'w>,
    second: Option<CallReference<'w>>,
    /// The run that is named first.
    pub former: RunDetail,
    latter: Option<RunDetail>,
}

impl<'w> Runs<'w> {
    /// Looks them up. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If one is not there, or is unreadable.
    pub async fn look(project: &OpenProject, options: &DiffOptions<'w>, notes: &mut Vec<Note>) -> Result<Self, Error> {
        let (first, second) =
            (CallReference::parse(options.first)?, options.second.map(CallReference::parse).transpose()?);
        let store = records::look_at_records(project).await?.collect(notes);
        let detail = async |named: &CallReference<'_>| -> Result<RunDetail, Error> {
            Ok(store.run(&find_run(&store, project, named.run, options.whose, options.listed).await?).await?)
        };
        let former = detail(&first).await?;
        let latter = match &second {
            Some(named) => Some(detail(named).await?),
            None => None,
        };
        Ok(Self { store, first, second, former, latter })
    }

    /// Whether every call of one run is compared with one before it.
    #[must_use]
    pub const fn are_one(&self) -> bool {
        self.second.is_none() && self.first.call.is_none()
    }

    /// The requests, compared. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If there is no such call, or its texts are unreadable.
    pub async fn pairs(&self, notes: &mut Vec<Note>) -> Result<Vec<Pair<'_>>, Error> {
        let (first, former) = (&self.first, &self.former);
        let calls = match (&self.second, &self.latter, first.call) {
            (Some(second), Some(latter), _) => {
                vec![(
                    references::numbered_call(former, first.call.unwrap_or(0))?,
                    references::numbered_call(latter, second.call.unwrap_or(0))?,
                )]
            }
            (_, _, Some(number)) => vec![references::with_the_one_before(former, number)?],
            (_, _, None) => references::consecutive_calls(former)?,
        };
        let providers = prices(&self.store, self.latter.as_ref().unwrap_or(former), notes).await?;
        let mut pairs = Vec::with_capacity(calls.len());
        for (first, second) in calls {
            pairs.push(Pair::of(&self.store, &providers, first, second).await?);
        }
        notes.extend(without_tools(&pairs));
        Ok(pairs)
    }
}

/// The finding here about two requests that a provider compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFinding {
    /// The earlier request: its run and, where there are several, its number.
    pub first: String,
    /// The cache's behaviour, in a sentence.
    pub words: String,
    /// The provider's account, and whether it agrees.
    pub theirs: ProviderDiagnosis,
}

/// For each call of a run, in their order, our own finding beside its provider's. `None` where no provider was asked,
/// or the request that it was asked about is in none of: this run, the run before of the same prompt.
///
/// # Errors
///
/// If the store can't be read.
pub async fn compare_cache_findings(
    store: &Store,
    run: &RunDetail,
    notes: &mut Vec<Note>,
) -> Result<Vec<Option<CacheFinding>>, Error> {
    if run.calls.iter().all(|row| provider_diagnosis::asked_about(row).is_none()) {
        return Ok(run.calls.iter().map(|_| None).collect());
    }
    let before = match store.before(&run.row.id).await? {
        Some(id) => Some(store.run(&id).await?),
        None => None,
    };
    let providers = prices(store, run, notes).await?;
    let mut found = Vec::with_capacity(run.calls.len());
    for (number, row) in run.calls.iter().enumerate() {
        let earlier = before.iter().flat_map(numbered_calls).chain(numbered_calls(run).take(number));
        let first = provider_diagnosis::asked_about(row)
            .and_then(|asked| earlier.into_iter().find(|call| call.answered_as(asked)));
        let Some(first) = first else {
            found.push(None);
            continue;
        };
        let pair = Pair::of(store, &providers, first, RunCall { run, number, row }).await?;
        let own = |theirs| CacheFinding { first: first.label(), words: pair.words(), theirs };
        found.push(pair.diagnosis().map(own));
    }
    Ok(found)
}

/// The calls of a run.
fn numbered_calls(run: &RunDetail) -> impl Iterator<Item = RunCall<'_>> {
    run.calls.iter().enumerate().map(move |(number, row)| RunCall { run, number, row })
}

impl<'d> Pair<'d> {
    async fn of(store: &Store, providers: &Providers, first: RunCall<'d>, second: RunCall<'d>) -> Result<Self, Error> {
        let model = providers.model(&second.row.model).ok();
        let (before, after) = (first.parts(), second.parts());
        let compared = compare_requests(&first.seen(&before, model), &second.seen(&after, model), model);
        let texts = FirstDifference::of(store, &first, &second, &compared).await?;
        let answers = AnswerDifference::of(store, &first, &second).await?;
        Ok(Self { first, second, compared, texts, answers })
    }

    /// The cache's behaviour, in a sentence; for prompts that were sent to nobody, its possible behaviour.
    #[must_use]
    pub fn words(&self) -> String {
        if self.second.is_sent() {
            return self.compared.in_words();
        }
        let prefix = match self.compared.first_change.as_ref().map(RequestDifference::is_in_prefix) {
            None => "both prompts are the same",
            Some(true) => "the stable prefix changed, so a cache would miss",
            Some(false) => "the stable prefix is the same",
        };
        format!("no model was asked, so no cache was read; {prefix}")
    }
}

/// Says of which requests only the sections could be compared.
fn without_tools(pairs: &[Pair<'_>]) -> Option<Note> {
    let calls = pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
    let without = calls.filter(|call| call.is_sent() && !call.parts().has_tools());
    let labels: BTreeSet<String> = without.map(RunCall::label).collect();
    if labels.is_empty() {
        return None;
    }
    let labels: Vec<String> = labels.into_iter().collect();
    let words = format!("the tools of {} are not kept, so they are not compared", labels.join(" and "));
    Some(Note::new(NoteKind::Records, words))
}

/// The models as the run knew them, or as they are known here.
async fn prices(store: &Store, detail: &RunDetail, notes: &mut Vec<Note>) -> Result<Providers, Error> {
    if let Some(hash) = detail.files.get("providers.toml") {
        let contents = store.contents(std::slice::from_ref(hash)).await?;
        let text = contents.get(hash).and_then(|bytes| std::str::from_utf8(bytes).ok());
        if let Some(providers) = text.and_then(|text| Providers::parse(text).ok()) {
            return Ok(providers);
        }
        let words = "the models that the run knew are not kept; prices and cache rules are those of this version";
        notes.push(Note::new(NoteKind::Records, words));
    }
    Providers::load().map_err(|e| Error::bug("could not read the models", e))
}
