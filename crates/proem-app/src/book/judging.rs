//! Answers of cases that another prompt of the book judges.
//!
//! Nothing in a judge's inputs is trusted: the answer is a model's, and it may say how it wants to be judged.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proem_agents::prompt_call::InputAuthor;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::cases::JudgeExpectation;
use proem_engine::run::ExchangeEnd;
use proem_guard::show;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::interrupted_answers::{ChosenRun, ResumedRun};
use super::live::LiveOptions;
use super::test::Suite;
use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;
use crate::run::course::FinishedRun;
use crate::run::options::RunOptions;
use crate::run::setting::RunSetting;

/// The input of a judge that holds the answer.
const ANSWER: &str = "answer";
/// The field of a judge's answer that holds its verdict.
const VERDICT: &str = "verdict";

/// The prompts that judge the answers of a suite, before anything is asked.
#[derive(Debug)]
pub(super) struct ChosenJudges {
    graders: Vec<Grader>,
    runs: Vec<(String, ChosenRun)>,
}

/// A prompt that judged answers, so that its verdicts can be had again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Grader {
    /// `agent/name@version`.
    pub prompt: String,
    /// The hash of everything that the version consists of. `None` for a prompt file outside the book.
    pub closure: Option<String>,
}

/// The same, whose runs are booked.
#[derive(Debug)]
pub(super) struct Judges {
    /// The judges, in the order of the cases.
    pub(super) graders: Vec<Grader>,
    open: BTreeMap<String, ResumedRun>,
}

impl ChosenJudges {
    /// Those that the cases of a suite name.
    ///
    /// # Errors
    ///
    /// If one is missing, can't be asked, takes no `answer`, or gives no verdict of a closed list.
    pub(super) fn new(options: &LiveOptions, suite: &Suite, project: &mut OpenProject) -> Result<Self, Error> {
        let judges = suite.cases.cases.iter().filter_map(|case| case.live.as_ref()?.judge.as_ref());
        let expected = judges.flat_map(|judge| judge.graders().map(move |grader| (judge, grader)));
        let (mut runs, mut graders) = (Vec::<(String, ChosenRun)>::new(), Vec::new());
        for (judge, grader) in expected {
            if runs.iter().any(|(name, ..)| *name == *grader) {
                continue;
            }
            let part = format!("judge-{:02}", runs.len().saturating_add(1));
            let run = RunOptions {
                given: InputAuthor::FromOutside,
                carriage: options.carriage.within_part(&part),
                adapting: options.adapting.clone(),
                record: options.record,
                most: options.most,
                ..RunOptions::of(grader.to_owned())
            };
            let earlier: Vec<PathBuf> = options.earlier.iter().map(|folder| folder.join(&part)).collect();
            let chosen = ChosenRun::new(run, &earlier, |run| RunSetting::new(run, project))?;
            check_judge(grader, judge, &chosen.setting)?;
            graders.push(grader_version(&chosen.setting, project)?);
            runs.push((grader.to_owned(), chosen));
        }
        Ok(Self { graders, runs })
    }

    pub(super) async fn begin(self, project: &OpenProject, notes: &mut Vec<Note>) -> Result<Judges, Error> {
        let mut open = BTreeMap::new();
        for (name, chosen) in self.runs {
            open.insert(name, chosen.begin(project, notes).await?);
        }
        Ok(Judges { graders: self.graders, open })
    }
}

/// A verdict, with the run that gave it.
pub(super) struct Judgement {
    /// The unmet expectation, in words. `None` if the verdict is the expected one.
    pub(super) problem: Option<String>,
    /// The verdict. `None` if it gave none.
    pub(super) verdict: Option<String>,
    pub(super) ran: FinishedRun,
}

impl Judges {
    /// Lets one of the judges look at an answer to a case with these inputs.
    pub(super) async fn judge(
        &self,
        judge: &str,
        expected: &JudgeExpectation,
        case: JudgedCase<'_>,
        stop: &CancellationToken,
    ) -> Result<Option<Judgement>, Error> {
        let Some(run) = self.open.get(judge) else { return Ok(None) };
        let inputs = judge_inputs(run.setting(), expected, case);
        let ran = run.ask(&inputs, case.line, stop).await?;
        let wanted = json::compact(&expected.verdict);
        let (problem, verdict) = match &ran.outcome.ended {
            ExchangeEnd::Answered { value } => {
                let verdict = show::exact_value(value).get(VERDICT).cloned().unwrap_or_default();
                let found = json::compact(&verdict);
                let problem = format!("`{judge}` says {found}, expected {wanted}");
                ((verdict != expected.verdict).then_some(problem), Some(found))
            }
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => {
                (Some(format!("`{judge}` gave no usable verdict: {}", because.in_words())), None)
            }
        };
        Ok(Some(Judgement { problem, verdict, ran }))
    }

    pub(super) fn setting(&self, judge: &str) -> Option<&RunSetting> {
        self.open.get(judge).map(ResumedRun::setting)
    }

    /// Closes the records, with what there is to say about that.
    pub(super) async fn end(self) -> Vec<Note> {
        let mut notes = Vec::new();
        for run in self.open.into_values() {
            notes.extend(run.end().await);
        }
        notes
    }
}

/// An answer with what it answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct JudgedCase<'c> {
    /// The case's inputs.
    pub(super) inputs: &'c OrderedJson,
    pub(super) answer: &'c Json,
    /// The number of the run, by which records tell runs of one command apart.
    pub(super) line: u32,
}

/// The answer, the judge's own inputs, and those of the case's inputs that the judge takes.
pub(super) fn judge_inputs(judge: &RunSetting, expected: &JudgeExpectation, case: JudgedCase<'_>) -> OrderedJson {
    let inputs = case.inputs.to_json();
    let taken = inputs.as_object().into_iter().flatten().filter(|(name, _)| judge.prompt.file.has_input(name));
    let mut given: Map<String, Json> = taken.map(|(name, value)| (name.clone(), value.clone())).collect();
    let answer = match case.answer {
        Json::String(text) => text.clone(),
        other => json::compact(other),
    };
    given.extend(expected.inputs.clone());
    given.insert(ANSWER.to_owned(), Json::String(answer));
    Json::Object(given).into()
}

/// The version that judges, as the book has it.
fn grader_version(setting: &RunSetting, project: &OpenProject) -> Result<Grader, Error> {
    let id = &setting.prompt.id;
    let name = format!("{}/{}", id.agent, id.name);
    // The part behind the plus is a hash of text that nobody locked.
    let number = id.version.split('+').next().unwrap_or_default();
    let versions = project.book()?.versions()?;
    let found = versions.into_iter().find(|version| version.prompt == name && version.version == number);
    Ok(Grader { prompt: format!("{name}@{number}"), closure: found.map(|version| version.closure) })
}

/// Refuses a judge whose verdict could be anything.
fn check_judge(name: &str, judge: &JudgeExpectation, setting: &RunSetting) -> Result<(), Error> {
    if !setting.prompt.file.has_input(ANSWER) {
        return Err(Error::invalid(format!(
            "the judge `{name}` has no input `{ANSWER}`; declare one in its `input.schema`"
        )));
    }
    if let Some(unknown) = judge.inputs.keys().find(|input| !setting.prompt.file.has_input(input)) {
        return Err(Error::invalid(format!(
            "the judge `{name}` has no input `{unknown}`; declare it in its `input.schema`, or take it out of `live.judge.inputs`"
        )));
    }
    let contract = setting.prompt.contract()?;
    let schema = contract.value().map(|contract| contract.schema());
    let verdict = schema.and_then(|schema| schema.get("properties")?.get(VERDICT));
    let is_listed = |value: &Json| {
        let listed = value.get("enum").and_then(Json::as_array).is_some_and(|values| values.contains(&judge.verdict));
        listed || (value.get("type") == Some(&Json::String("boolean".to_owned())) && judge.verdict.is_boolean())
    };
    if verdict.is_some_and(is_listed) {
        return Ok(());
    }
    let wanted = json::compact(&judge.verdict);
    Err(Error::invalid(format!(
        "the judge `{name}` can't give the verdict {wanted}; its answer needs a field `{VERDICT}` that is a boolean or an `enum` \
         with that value"
    )))
}
