//! The cases asked of a model, several times each.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use proem_engine::prompt::cases::{AnswerExpectation, Case};
use proem_engine::run::{Attempt, ExchangeEnd};
use proem_guard::show;
use proem_text::json;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::test::{BookCaseResult, LiveCounts, Suite};
use crate::config::AdaptFile;
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;
use crate::run::options::{Carriage, RunOptions};
use crate::run::setting::RunSetting;

/// The least share of answers that are as expected, in percent.
const LEAST_EXPECTED: u32 = 90;

/// How a model is asked for cases.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// The folder whose project's book is meant.
    pub root: PathBuf,
    /// How often each case is asked.
    pub times: NonZeroU32,
    /// The model or role that is asked, instead of the prompt's own.
    pub model: Option<String>,
    /// Whose model it is.
    pub provider: Option<String>,
    /// What carries requests.
    pub carriage: Carriage,
    /// What shapes prompts beside their inputs. What was learned from failures never does here.
    pub adapting: Adapting,
    /// Whether the runs are recorded.
    pub record: RecordChoice,
}

impl LiveOptions {
    /// How the prompt of a suite is run.
    fn of(&self, suite: &Suite) -> RunOptions {
        RunOptions {
            model: self.model.clone(),
            provider: self.provider.clone(),
            carriage: self.carriage.clone(),
            adapting: self.adapting.clone(),
            record: self.record,
            ..RunOptions::of(format!("{}@{}", suite.name, suite.version))
        }
    }
}

/// A suite that a model is asked for.
#[derive(Debug)]
pub struct Asking<'a> {
    suite: &'a Suite,
    times: NonZeroU32,
    options: RunOptions,
    project: OpenProject,
    setting: RunSetting,
}

impl<'a> Asking<'a> {
    /// Makes everything that is needed to ask. What there is to say goes to `notes`, also where it fails.
    ///
    /// # Errors
    ///
    /// If the project can't be read, or nobody can be asked.
    pub fn new(options: &LiveOptions, suite: &'a Suite, places: &Places, notes: &mut Vec<Note>) -> Result<Self, Error> {
        let mut project = OpenProject::open(&options.root, places, BookReading::Trusted)?;
        // What failed on this machine must not change what a test sends.
        project.config.adapt = AdaptFile { enabled: Some(false), ..AdaptFile::default() };
        let run = options.of(suite);
        let setting = RunSetting::new(&run, &mut project);
        notes.extend(project.all_notes());
        Ok(Self { suite, times: options.times, options: run, setting: setting?, project })
    }

    /// Opens the records. What there is to say goes to `notes`, also where it fails.
    ///
    /// # Errors
    ///
    /// If the records that are on can't be kept, or a wish is none.
    pub async fn begin(&mut self, _places: &Places, notes: &mut Vec<Note>) -> Result<(), Error> {
        self.setting.begin(&self.options, &self.project, notes).await
    }

    /// Asks for every case that says what should be answered, of which `tested` came before.
    ///
    /// # Errors
    ///
    /// If a request can't be made. An answer that is not as it should be is a problem of its case.
    pub async fn ask(&self, tested: &mut [BookCaseResult], stop: &CancellationToken) -> Result<(), Error> {
        let mut line = 0_u32;
        for (case, tested) in self.suite.cases.cases.iter().zip(tested) {
            let (Some(live), Some(inputs)) = (&case.live, &tested.inputs) else { continue };
            let mut answers = LiveAnswers::default();
            for _ in 0..self.times.get() {
                line = line.saturating_add(1);
                let ran = self.setting.ask(inputs, Some(line), stop).await?;
                answers.take(live, &ran.outcome.attempts, &ran.outcome.ended);
            }
            answers.judge(case, tested);
        }
        Ok(())
    }

    /// Closes the records, with what there is to say about that.
    pub async fn end(self) -> Option<Note> {
        self.setting.end().await
    }
}

/// The answers to one case.
#[derive(Debug, Default)]
struct LiveAnswers {
    heard: LiveCounts,
    /// Each answer as far as the case speaks of it, with how often it came.
    seen: BTreeMap<String, u32>,
    problems: Vec<String>,
}

impl LiveAnswers {
    fn take(&mut self, live: &AnswerExpectation, attempts: &[Attempt], ended: &ExchangeEnd) {
        let more = |n: &mut u32, is_so: bool| *n = n.saturating_add(u32::from(is_so));
        let first = attempts.first().filter(|attempt| attempt.response.is_some());
        let broke = |rule: &str| first.is_some_and(|first| first.problems.iter().any(|broken| broken.rule == rule));
        let is_json = first.is_some() && !broke("json") && !broke("answer") && !broke("tool");
        more(&mut self.heard.times, true);
        more(&mut self.heard.json, is_json);
        more(&mut self.heard.schema, first.is_some_and(|first| first.problems.is_empty()));
        match ended {
            ExchangeEnd::Answered { value } => {
                let value = show::value(value);
                let differences = live.differences(&value);
                more(&mut self.heard.expected, differences.is_empty());
                let seen = json::compact(&projected(&live.answer, &value));
                let count = self.seen.entry(seen).or_default();
                *count = count.saturating_add(1);
                self.heard.same = self.heard.same.max(*count);
            }
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => {
                self.problems.push(format!("no usable answer: {}", because.in_words()));
            }
        }
    }

    fn judge(mut self, case: &Case, tested: &mut BookCaseResult) {
        let LiveCounts { times, expected, .. } = self.heard;
        if expected.saturating_mul(100) < times.saturating_mul(LEAST_EXPECTED) {
            let wanted = case.live.as_ref().map_or(String::new(), |live| json::compact(&live.answer));
            let others: Vec<&str> = self.seen.keys().map(String::as_str).filter(|seen| *seen != wanted).collect();
            let others = if others.is_empty() { String::new() } else { format!("; others were {}", others.join(", ")) };
            self.problems.push(format!("{expected} of {times} answers are {wanted}{others}"));
        }
        self.problems.dedup();
        tested.problems.append(&mut self.problems);
        tested.passed = tested.problems.is_empty();
        tested.live = Some(self.heard);
    }
}

/// An answer as far as a case speaks of it.
fn projected(expected: &Json, found: &Json) -> Json {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            let fields = expected
                .iter()
                .map(|(key, expected)| (key.clone(), projected(expected, found.get(key).unwrap_or(&Json::Null))));
            Json::Object(fields.collect())
        }
        (Json::Array(expected), Json::Array(found)) => {
            let form = expected.first().unwrap_or(&Json::Null);
            Json::Array(found.iter().map(|item| projected(form, item)).collect())
        }
        (_, found) => found.clone(),
    }
}
