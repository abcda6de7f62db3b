//! The cases asked of a model, several times each.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

use proem_engine::call::{NanoDollars, ResponsePart};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::cases::{AnswerCheck, AnswerExpectation, Case, JudgeExpectation};
use proem_engine::run::{Attempt, ExchangeEnd, FallbackReason};
use proem_guard::show;
use proem_text::json;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::compare::most_of_run;
use super::interrupted_answers::{ChosenRun, ResumedRun};
use super::judging::{self, ChosenJudges, Grader, JudgedCase, Judgement, Judges};
use super::test::{BookCaseResult, LiveCounts, Suite};
use crate::config::AdaptFile;
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;
use crate::project::{BookReading, OpenProject};
use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;
use crate::run::course::FinishedRun;
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
    /// The model's provider.
    pub provider: Option<String>,
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The influences on prompts beside their inputs. Lessons from failures are never among them here.
    pub adapting: Adapting,
    /// Whether the runs are recorded.
    pub record: RecordChoice,
    /// The most that one run may cost.
    pub most: Option<NanoDollars>,
    /// Recordings of an interrupted process that asked the same: answers in them are not asked for again.
    pub earlier: Vec<PathBuf>,
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
            most: self.most,
            ..RunOptions::of(format!("{}@{}", suite.name, suite.version))
        }
    }
}

/// The shared budget of runs, and their spending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LivePurse {
    /// The most. `None` leaves it to the budgets.
    most: Option<NanoDollars>,
    /// The known spending, and the bound of the rest.
    booked: u64,
    /// Runs of which nobody said what they took.
    unknown: u64,
}

impl LivePurse {
    /// One that holds so much.
    #[must_use]
    pub const fn of(most: Option<NanoDollars>) -> Self {
        Self { most, booked: 0, unknown: 0 }
    }

    /// The spending since an earlier state.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            most: self.most,
            booked: self.booked.saturating_sub(before.booked),
            unknown: self.unknown.saturating_sub(before.unknown),
        }
    }

    /// The spending. `None` if it is unknown for one of the runs.
    #[must_use]
    pub const fn known(&self) -> Option<NanoDollars> {
        if self.unknown == 0 { Some(NanoDollars(self.booked)) } else { None }
    }

    /// The spending, in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let dollars = |nanos: u64| format!("${}.{:05}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 10_000);
        match self.known() {
            Some(spent) => dollars(spent.0),
            None => "unknown".to_owned(),
        }
    }

    /// Whether a run that takes so much at most may be made.
    pub(super) fn has_room(&self, most_of_run: Option<NanoDollars>) -> bool {
        let Some(most) = self.most else { return true };
        most_of_run.is_some_and(|run| self.booked.saturating_add(run.0) <= most.0)
    }

    pub(super) fn book(&mut self, spent: Option<NanoDollars>, most_of_run: Option<NanoDollars>) {
        self.booked = self.booked.saturating_add(spent.or(most_of_run).map_or(0, |amount| amount.0));
        self.unknown = self.unknown.saturating_add(u64::from(spent.is_none()));
    }
}

/// A suite that a model is asked for.
#[derive(Debug)]
pub struct Asking<'a> {
    suite: &'a Suite,
    times: NonZeroU32,
    chosen: ChosenRun,
    project: OpenProject,
    judges: ChosenJudges,
}

/// A suite whose runs are booked, or need not be: only this asks.
#[derive(Debug)]
pub struct OpenSuite<'a> {
    suite: &'a Suite,
    times: NonZeroU32,
    attempts: NonZeroU32,
    run: ResumedRun,
    judges: Judges,
}

impl<'a> Asking<'a> {
    /// Makes everything that is needed to ask with a suite of `book`, which may be a single file's. Messages go to
    /// `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If the project is unreadable, or nobody can be asked.
    pub fn new(
        options: &LiveOptions,
        suite: &'a Suite,
        book: &Book,
        places: &Places,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        let project = OpenProject::open(&options.root, places, BookReading::Trusted)?;
        Self::of_book(options, suite, book, project, notes)
    }

    /// The same within an open project.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(super) fn of_book(
        options: &LiveOptions,
        suite: &'a Suite,
        book: &Book,
        mut project: OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<Self, Error> {
        // Failures on this machine must not change a test's requests.
        project.config.adapt = AdaptFile { enabled: Some(false), ..AdaptFile::default() };
        let chosen = ChosenRun::new(options.of(suite), &options.earlier, |run| {
            let prompt = book.prompt(&suite.name, Some(&suite.version))?;
            let contract = prompt.contract()?;
            RunSetting::of_prompt(prompt, contract, book, run, &mut project)
        });
        let judges = ChosenJudges::new(options, suite, &mut project);
        notes.extend(project.all_notes());
        Ok(Self { suite, times: options.times, chosen: chosen?, judges: judges?, project })
    }

    /// Opens the records. Messages go to `notes`, also on failure.
    ///
    /// # Errors
    ///
    /// If the records that are on can't be kept, or a wish is none.
    pub async fn begin(self, notes: &mut Vec<Note>) -> Result<OpenSuite<'a>, Error> {
        let Self { suite, times, chosen, project, judges } = self;
        let attempts = chosen.options.limits.attempts;
        let run = chosen.begin(&project, notes).await?;
        let judges = judges.begin(&project, notes).await?;
        Ok(OpenSuite { suite, times, attempts, run, judges })
    }

    pub(super) fn cases(&self) -> &[Case] {
        &self.suite.cases.cases
    }

    pub(super) const fn times(&self) -> NonZeroU32 {
        self.times
    }

    pub(super) const fn attempts(&self) -> NonZeroU32 {
        self.chosen.options.limits.attempts
    }

    pub(super) const fn setting(&self) -> &RunSetting {
        &self.chosen.setting
    }
}

impl OpenSuite<'_> {
    /// Asks for every case that says what should be answered, of which `tested` came before.
    ///
    /// # Errors
    ///
    /// If a request can't be made. An answer that is not as it should be is a problem of its case.
    pub async fn ask(&self, tested: &mut [BookCaseResult], stop: &CancellationToken) -> Result<(), Error> {
        self.ask_within(tested, &mut LivePurse::default(), stop).await.map(|_| ())
    }

    /// The same as long as `purse` has room for the most that a run can take. How many runs were not made. The most
    /// that attempts can take is enforced by the records, where they are on.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn ask_within(
        &self,
        tested: &mut [BookCaseResult],
        purse: &mut LivePurse,
        stop: &CancellationToken,
    ) -> Result<u64, Error> {
        Ok(self.ask_while(tested, purse, stop, &|_| true).await?.unmade)
    }

    /// The same as long as `is_open` says so of the cases before.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub(super) async fn ask_while(
        &self,
        tested: &mut [BookCaseResult],
        purse: &mut LivePurse,
        stop: &CancellationToken,
        is_open: &(dyn Fn(&[BookCaseResult]) -> bool + Sync),
    ) -> Result<AskedExtent, Error> {
        let (mut line, mut unmade) = (0_u32, 0_u64);
        let mut heard = HeardAnswers::default();
        for (index, case) in self.suite.cases.cases.iter().enumerate() {
            let Some((before, [tested, ..])) = tested.split_at_mut_checked(index) else { break };
            if !is_open(before) {
                return Ok(AskedExtent { cases: index, unmade });
            }
            let (Some(live), Some(inputs)) = (&case.live, &tested.inputs) else { continue };
            let most_of_run = match purse.most {
                Some(_) => most_of_run(self.run.setting(), self.attempts, inputs)?.1,
                None => None,
            };
            let mut answers = LiveAnswers::default();
            for _ in 0..self.times.get() {
                line = line.saturating_add(1);
                if !purse.has_room(most_of_run) {
                    unmade = unmade.saturating_add(1);
                    continue;
                }
                let ran = self.run.ask(inputs, line, stop).await?;
                purse.book(run_cost(self.run.setting(), &ran), most_of_run);
                if heard.repeats_earlier(&ran.outcome.attempts) {
                    answers.note_cached();
                    continue;
                }
                let judged = self.judged(live, JudgedRun { inputs, ran: &ran, line }, purse, stop).await?;
                answers.take(live, &ran.outcome.attempts, &ran.outcome.ended, judged);
            }
            answers.judge(case, tested);
        }
        Ok(AskedExtent { cases: tested.len(), unmade })
    }

    /// The judgement of the case's graders about an answer.
    async fn judged(
        &self,
        live: &AnswerExpectation,
        run: JudgedRun<'_>,
        purse: &mut LivePurse,
        stop: &CancellationToken,
    ) -> Result<JudgedAnswer, Error> {
        let mut judged = JudgedAnswer::default();
        let (Some(judge), ExchangeEnd::Answered { value }) = (&live.judge, &run.ran.outcome.ended) else {
            return Ok(judged);
        };
        let case = JudgedCase { inputs: run.inputs, answer: &show::exact_value(value), line: run.line };
        let mut verdicts = Vec::new();
        for grader in judge.graders() {
            match self.grade((grader, judge), case, purse, stop).await? {
                Some(judgement) => {
                    judged.faults.extend(judgement.problem);
                    verdicts.extend(judgement.verdict);
                }
                None => judged.faults.push(format!("`{grader}` was not asked for its verdict")),
            }
        }
        if let [first, second] = verdicts.as_slice() {
            judged.verdicts = Some((first.clone(), second.clone()));
        }
        Ok(judged)
    }

    /// One grader's judgement. `None` if it could cost too much.
    async fn grade(
        &self,
        (grader, judge): (&str, &JudgeExpectation),
        case: JudgedCase<'_>,
        purse: &mut LivePurse,
        stop: &CancellationToken,
    ) -> Result<Option<Judgement>, Error> {
        let Some(setting) = self.judges.setting(grader) else { return Ok(None) };
        let most_of_run = match purse.most {
            Some(_) => most_of_run(setting, self.attempts, &judging::judge_inputs(setting, judge, case))?.1,
            None => None,
        };
        if !purse.has_room(most_of_run) {
            return Ok(None);
        }
        let judgement = self.judges.judge(grader, judge, case, stop).await?;
        if let Some(judgement) = &judgement {
            purse.book(run_cost(setting, &judgement.ran), most_of_run);
        }
        Ok(judgement)
    }

    /// The prompts that judge answers, with their versions.
    #[must_use]
    pub fn graders(&self) -> &[Grader] {
        &self.judges.graders
    }

    /// The model, the endpoint and the prompt.
    #[must_use]
    pub fn names(&self) -> (String, String, String) {
        let asked = &self.run.setting().access.asked;
        (asked.model.name.clone(), asked.endpoint.name.clone(), format!("{}@{}", self.suite.name, self.suite.version))
    }

    /// Closes the records, with what there is to say about that.
    pub async fn end(self) -> Vec<Note> {
        let mut notes = self.judges.end().await;
        notes.extend(self.run.end().await);
        notes
    }
}

/// How much of a suite was asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedExtent {
    /// The cases from the first one on that were come to.
    pub(super) cases: usize,
    /// Runs of those for which the money did not suffice.
    pub(super) unmade: u64,
}

/// A run whose answer is judged.
#[derive(Clone, Copy)]
struct JudgedRun<'r> {
    inputs: &'r OrderedJson,
    ran: &'r FinishedRun,
    line: u32,
}

/// The graders' objections to an answer, and their verdicts if there are two.
#[derive(Default)]
struct JudgedAnswer {
    faults: Vec<String>,
    verdicts: Option<(String, String)>,
}

/// The first responses of a suite's runs, by the provider's id.
#[derive(Default)]
struct HeardAnswers(BTreeMap<String, Vec<ResponsePart>>);

impl HeardAnswers {
    /// Whether a cache between Proem and the model gave this answer: it has the id and the words of an earlier one. An
    /// answer without an id counts as new.
    fn repeats_earlier(&mut self, attempts: &[Attempt]) -> bool {
        let Some(response) = attempts.iter().find_map(|attempt| attempt.response.as_ref()) else { return false };
        let Some(id) = response.id.as_ref().filter(|id| !id.is_empty()) else { return false };
        match self.0.get(id) {
            Some(earlier) => *earlier == response.content,
            None => {
                self.0.insert(id.clone(), response.content.clone());
                false
            }
        }
    }
}

/// The cost of a run. `None` if it was not reported.
pub(super) fn run_cost(setting: &RunSetting, ran: &FinishedRun) -> Option<NanoDollars> {
    if ran.is_unreported() {
        return None;
    }
    let responses = ran.outcome.attempts.iter().filter_map(|attempt| attempt.response.as_ref());
    let mut costs = responses.map(|response| setting.access.asked.cost(&response.usage));
    costs.try_fold(0_u64, |sum, cost| Some(sum.saturating_add(cost?.0))).map(NanoDollars)
}

/// The answers to one case.
#[derive(Debug, Default)]
struct LiveAnswers {
    heard: LiveCounts,
    /// Each answer as far as the case speaks of it, with how often it came.
    seen: BTreeMap<String, u32>,
    problems: Vec<String>,
    /// The judges' objections.
    faults: Vec<String>,
}

impl LiveAnswers {
    /// Leaves an answer out that a cache gave.
    fn note_cached(&mut self) {
        self.heard.repeats.cached = self.heard.repeats.cached.saturating_add(1);
    }

    /// Takes an answer, with what its judges find wrong with it.
    fn take(&mut self, live: &AnswerExpectation, attempts: &[Attempt], ended: &ExchangeEnd, judged: JudgedAnswer) {
        let more = |n: &mut u32, is_so: bool| *n = n.saturating_add(u32::from(is_so));
        // A way that the server refused asked no model.
        let first = attempts.iter().find(|attempt| !attempt.is_way_refused());
        let first = first.filter(|attempt| attempt.response.is_some());
        let broke = |rule: &str| first.is_some_and(|first| first.problems.iter().any(|broken| broken.rule == rule));
        let is_json = first.is_some() && !broke("json") && !broke("answer") && !broke("tool");
        more(&mut self.heard.times, true);
        more(&mut self.heard.json, is_json);
        more(&mut self.heard.schema, first.is_some_and(|first| first.problems.is_empty()));
        match ended {
            ExchangeEnd::Answered { value } => {
                let value = show::exact_value(value);
                let differences = live.differences(&value);
                more(&mut self.heard.expected, differences.is_empty() && judged.faults.is_empty());
                self.faults.extend(judged.faults);
                self.heard.repeats.verdicts.extend(judged.verdicts);
                let seen = json::compact(&project_onto_case(&live.answer, &value));
                let count = self.seen.entry(seen).or_default();
                *count = count.saturating_add(1);
                self.heard.same = self.heard.same.max(*count);
            }
            ExchangeEnd::FellBack { because, .. } | ExchangeEnd::Failed { because } => {
                let more = u32::from(matches!(because, FallbackReason::Failed(_) | FallbackReason::Cancelled(_)));
                self.heard.repeats.unanswered = self.heard.repeats.unanswered.saturating_add(more);
                self.problems.push(format!("no usable answer: {}", because.in_words()));
            }
        }
    }

    fn judge(mut self, case: &Case, tested: &mut BookCaseResult) {
        let LiveCounts { times, expected, .. } = self.heard;
        // A part that was not asked about is left out.
        if times == 0 {
            return;
        }
        if expected.saturating_mul(100) < times.saturating_mul(LEAST_EXPECTED) {
            let wanted = case.live.as_ref().map_or(String::new(), expectation_in_words);
            let as_expected = case.live.as_ref().map_or(String::new(), |live| json::compact(&live.answer));
            let others: Vec<&str> = self.seen.keys().map(String::as_str).filter(|seen| *seen != as_expected).collect();
            let others = if others.is_empty() { String::new() } else { format!("; others were {}", others.join(", ")) };
            self.problems.push(format!("{expected} of {times} answers {wanted}{others}"));
            self.problems.append(&mut self.faults);
        }
        self.problems.dedup();
        tested.problems.append(&mut self.problems);
        tested.passed = tested.problems.is_empty();
        self.heard.answers = self.seen;
        tested.live = Some(self.heard);
    }
}

/// A case's expectation, as a predicate of answers.
fn expectation_in_words(live: &AnswerExpectation) -> String {
    let are = (!live.answer.is_null()).then(|| format!("are {}", json::compact(&live.answer)));
    let judged = live
        .judge
        .iter()
        .flat_map(|judge| judge.graders().map(|grader| format!("are {} to `{grader}`", json::compact(&judge.verdict))));
    are.into_iter().chain(live.checks.iter().map(AnswerCheck::in_words)).chain(judged).collect::<Vec<_>>().join(" and ")
}

/// An answer as far as a case speaks of it. All of it where a case speaks of its words only.
fn project_onto_case(expected: &Json, found: &Json) -> Json {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            let fields = expected.iter().map(|(key, expected)| {
                (key.clone(), project_onto_case(expected, found.get(key).unwrap_or(&Json::Null)))
            });
            Json::Object(fields.collect())
        }
        (Json::Array(expected), Json::Array(found)) => {
            let form = expected.first().unwrap_or(&Json::Null);
            Json::Array(found.iter().map(|item| project_onto_case(form, item)).collect())
        }
        (_, found) => found.clone(),
    }
}
