//! The cases asked of a model, several times each.

use std::collections::BTreeMap;

use clap::Parser;
use proem_engine::prompt::cases::{Case, Live};
use proem_engine::run::{Attempt, Ended};
use proem_guard::show;
use proem_text::json;
use serde::Serialize;
use serde_json::Value as Json;

use super::{Suite, Tested};
use crate::args::{BookTest, Run};
use crate::commands::run::calling;
use crate::commands::run::setting::Setting;
use crate::failure::Failure;
use proem_app::config::AdaptFile;
use proem_app::project::{Project, Reading};

/// The least share of answers that are as expected, in percent.
const LEAST_EXPECTED: u32 = 90;

/// What a model answered to one case.
#[derive(Debug, Default, Serialize)]
pub(super) struct Heard {
    /// How often it was asked.
    times: u32,
    /// How often its first answer was JSON.
    json: u32,
    /// How often its first answer met the schema.
    schema: u32,
    /// How often its answer, the second try included, was as expected.
    expected: u32,
    /// How often it gave its most frequent answer, as far as the case speaks of it.
    same: u32,
}

impl Heard {
    /// The counts in words.
    pub(super) fn in_words(&self) -> String {
        let Self { times, json, schema, expected, same } = self;
        format!("of {times} answers {json} JSON, {schema} by the schema, {expected} as expected, {same} the same")
    }
}

/// Asks a model for every case of a suite that says what it should answer.
pub(super) fn ask(args: &BookTest, suite: &Suite, tested: &mut [Tested]) -> Result<(), Failure> {
    let places = crate::places()?;
    let mut project = Project::open(&args.place.root, &places, Reading::Trusted)?;
    // What failed on this machine must not change what a test sends.
    project.config.adapt = AdaptFile { enabled: Some(false), ..AdaptFile::default() };
    let run = as_run(args, suite)?;
    let setting = Setting::new(&run, &places, &mut project);
    crate::ui::notes(&project.all_notes());
    let mut setting = setting?;
    calling(async |stop| {
        setting.begin(&run, &places, &project).await?;
        let mut line = 0_u32;
        let mut done = Ok(());
        'cases: for (case, tested) in suite.cases.cases.iter().zip(tested) {
            let (Some(live), Some(inputs)) = (&case.live, &tested.inputs) else { continue };
            let mut answers = Answers::default();
            for _ in 0..args.times.get() {
                line = line.saturating_add(1);
                match setting.ask(inputs, Some(line), &stop).await {
                    Ok(ran) => answers.take(live, &ran.outcome.attempts, &ran.outcome.ended),
                    Err(failure) => {
                        done = Err(failure);
                        break 'cases;
                    }
                }
            }
            answers.judge(case, tested);
        }
        setting.end(&places).await;
        done
    })
}

/// The same as `proem run`.
fn as_run(args: &BookTest, suite: &Suite) -> Result<Run, Failure> {
    let mut words = vec!["run".to_owned(), format!("{}@{}", suite.name, suite.version)];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([format!("--{name}"), value]);
        }
    };
    option("model", args.model.clone());
    option("provider", args.provider.clone());
    option("preferred-format", args.preferred_format.clone());
    let flags = [
        ("--time-sensitive", args.time_sensitive),
        ("--compliance-required", args.compliance_required),
        ("--no-record", args.no_record),
    ];
    words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag.to_owned()));
    let mut run = Run::try_parse_from(words).map_err(|error| Failure::bug("a test can't be asked", error))?;
    run.root.clone_from(&args.place.root);
    run.record.clone_from(&args.record);
    run.replay.clone_from(&args.replay);
    Ok(run)
}

/// The answers to one case.
#[derive(Debug, Default)]
struct Answers {
    heard: Heard,
    /// Each answer as far as the case speaks of it, with how often it came.
    seen: BTreeMap<String, u32>,
    problems: Vec<String>,
}

impl Answers {
    fn take(&mut self, live: &Live, attempts: &[Attempt], ended: &Ended) {
        let more = |n: &mut u32, is_so: bool| *n = n.saturating_add(u32::from(is_so));
        let first = attempts.first().filter(|attempt| attempt.response.is_some());
        let broke = |rule: &str| first.is_some_and(|first| first.problems.iter().any(|broken| broken.rule == rule));
        let is_json = first.is_some() && !broke("json") && !broke("answer") && !broke("tool");
        more(&mut self.heard.times, true);
        more(&mut self.heard.json, is_json);
        more(&mut self.heard.schema, first.is_some_and(|first| first.problems.is_empty()));
        match ended {
            Ended::Answered { value } => {
                let value = show::value(value);
                let differences = live.differences(&value);
                more(&mut self.heard.expected, differences.is_empty());
                let seen = json::compact(&projected(&live.answer, &value));
                let count = self.seen.entry(seen).or_default();
                *count = count.saturating_add(1);
                self.heard.same = self.heard.same.max(*count);
            }
            Ended::FellBack { because, .. } | Ended::Failed { because } => {
                self.problems.push(format!("no answer that can be used: {}", because.in_words()));
            }
        }
    }

    fn judge(mut self, case: &Case, tested: &mut Tested) {
        let Heard { times, expected, .. } = self.heard;
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
