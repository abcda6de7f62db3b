//! One run with everything that is kept of it.

use std::collections::BTreeMap;

use proem_engine::assembly::PromptId;
use proem_engine::call::{NanoDollars, Usage};
use proem_engine::profile::Profiles;
use proem_engine::run::{EffectId, Time};
use proem_text::json::compact;
use serde_json::Value as Json;

use super::runs::{self, Alive, RunRow, RunState};
use super::tools::{ToolCallRow, read_tool_calls};
use super::values::{
    ReadFault, all_rows, column_count, column_json, column_value, count_or_null, first_row, json_or_null, word_or_null,
};
use crate::Store;
use crate::epoch;
use crate::error::{Absence, AbsenceRemedy, Error};
use crate::record::{AttemptId, CallState, Replayable, RunId, SectionRow};
use crate::sql::{Row, Tables};

/// A run with everything that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDetail {
    /// Its line.
    pub row: RunRow,
    /// Why there is no value of a model's.
    pub because: Option<Json>,
    /// The answer as JSON. `None` if there was none, or texts are not kept.
    pub value: Option<String>,
    /// Its files: names to hashes.
    pub files: BTreeMap<String, String>,
    /// The hash of its inputs.
    pub inputs: String,
    /// The settings that it was started with.
    pub settings: Json,
    /// The profiles that its prompts showed.
    pub profiles: Option<Profiles>,
    /// Whether it can be replayed.
    pub replayable: Replayable,
    /// Its calls, in order. An assembly without a call has neither attempts nor body.
    pub calls: Vec<CallRow>,
    /// Its calls of tools, in order.
    pub tools: Vec<ToolCallRow>,
    /// Its events, by hash of what they hold.
    pub steps: Vec<(u32, Time, String)>,
    /// Whether a state to go on from is kept.
    pub resumable: bool,
    /// The feedback of persons.
    pub feedback: Vec<FeedbackRow>,
    /// Its questions and their answers.
    pub approvals: Vec<ApprovalRow>,
}

/// One request to a model as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// The effect's number within its run.
    pub effect: EffectId,
    /// When it was intended.
    pub at: Time,
    /// The prompt that its request was made from. An assembly without a call has its run's.
    pub prompt: PromptId,
    /// As the configuration names it.
    pub model: String,
    /// The endpoint. Empty where nothing was asked.
    pub endpoint: String,
    /// The contract's name.
    pub tool: Option<String>,
    /// SHA-256 of the body's bytes. Empty where nothing was asked.
    pub body: String,
    /// How the body is put together.
    pub pieces: Json,
    /// How far it is.
    pub state: CallState,
    /// The response or failure as JSON, by hash.
    pub result: Option<String>,
    /// Why the model stopped.
    pub finish: Option<String>,
    /// The repairs that the lenient reader made to the answer, as a list of words.
    pub repairs: Json,
    /// The problems of the answer.
    pub problems: Json,
    /// The items that were kept from the provider.
    pub dropped: Json,
    /// The sections of its request.
    pub sections: Vec<SectionRow>,
    /// The tokens of the whole request, by our count.
    pub tokens: u64,
    /// Those of its stable prefix.
    pub stable_tokens: u64,
    /// Those of the prompt that lists everything.
    pub monolithic_tokens: Option<u64>,
    /// The token counter.
    pub counter: String,
    /// The cache plan.
    pub plan: Json,
    /// The account, by hash.
    pub report: String,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptRow>,
}

/// One attempt to send a request as the store knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptRow {
    /// The id by which its booking is corrected.
    pub id: AttemptId,
    /// Its place in its call, from 0.
    pub attempt: u32,
    /// When it was written down, before it was sent.
    pub at: Time,
    /// `open`, `reported`, `unsent` or `unknown`.
    pub state: String,
    /// The most that it could take.
    pub most: Option<NanoDollars>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The kind of failure, by [`proem_engine::call::FailureKind::as_str`].
    pub failed: Option<String>,
    /// The bytes of the answer that were read.
    pub bytes: u64,
    /// How long it took.
    pub took_ms: u64,
    /// How long it was waited before.
    pub waited_ms: u64,
    /// The usage that the provider reports.
    pub usage: Option<Usage>,
    /// The booked amount, corrections included.
    pub booked: Option<NanoDollars>,
    /// Why a person put right what is booked. The last time, if several times.
    pub corrected: Option<String>,
}

/// A person's feedback on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackRow {
    /// When the person said so.
    pub at: Time,
    /// The actor, as stored.
    pub actor: String,
    /// `good` or `bad`.
    pub verdict: String,
    /// The person's reason, in their own words.
    pub note: String,
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    /// When it was answered.
    pub at: Time,
    /// The actor, as stored.
    pub actor: String,
    /// The words that were shown to the person.
    pub question: String,
    /// The possible answers.
    pub options: Vec<String>,
    /// The chosen answer, by its place.
    pub answer: Option<u32>,
    /// The hash of everything that was shown. `None` if nobody could be asked, and of what an older form has.
    pub shown: Option<String>,
    /// The person's comment on it.
    pub words: Option<String>,
}

impl Store {
    /// Everything that is kept of a run, as it was at one moment.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub async fn run(&self, id: &RunId) -> Result<RunDetail, Error> {
        let id = id.clone();
        self.read(move |reader, _site| read_run_detail(reader, &id, &|epoch| epoch::is_alive(reader, epoch))).await
    }

    /// The run that an attempt was made for.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub async fn run_of(&self, attempt: AttemptId) -> Result<RunId, Error> {
        self.read(move |reader, _site| run_of(reader, attempt)).await
    }

    /// Contents by their hashes. Those that aren't kept are missing.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`].
    pub async fn contents(&self, hashes: &[String]) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let hashes = hashes.to_vec();
        self.read(move |reader, _site| read_contents(reader, &hashes)).await
    }
}

pub(crate) fn read_run_detail(reader: &Tables, id: &RunId, alive: Alive<'_>) -> Result<RunDetail, ReadFault> {
    let sql = format!(
        "SELECT {}, r.because, r.value, r.files, r.inputs, r.settings, r.profile, r.replayable, \
         EXISTS (SELECT 1 FROM snapshots s WHERE s.run = r.id) AS resumable \
         FROM runs r LEFT JOIN epochs e ON e.id = r.epoch LEFT JOIN callers c ON c.run = r.id WHERE r.id = ?",
        runs::COLUMNS
    );
    let found = first_row(reader, &sql, [&id.0], |line| {
        let row = runs::read_run_row(line, alive)?;
        Ok(RunDetail {
            because: json_or_null(line, "because")?,
            value: column_value(line, "value")?,
            files: column_json(line, "files")?,
            inputs: column_value(line, "inputs")?,
            settings: column_json(line, "settings")?,
            profiles: column_json(line, "profile")?,
            replayable: match column_value::<String>(line, "replayable")? {
                yes if yes == "yes" => Replayable::Yes,
                why => Replayable::No(why),
            },
            calls: read_calls(reader, &row)?,
            tools: read_tool_calls(reader, id, row.state)?,
            steps: read_steps(reader, id)?,
            resumable: column_value(line, "resumable")?,
            feedback: read_run_feedback(reader, id)?,
            approvals: read_run_approvals(reader, id)?,
            row,
        })
    })?;
    let problem = || Absence::remedied(format!("there is no run `{id}`"), AbsenceRemedy::ListRuns);
    found.ok_or_else(|| ReadFault::Missing(problem()))
}

fn read_calls(reader: &Tables, run: &RunRow) -> Result<Vec<CallRow>, ReadFault> {
    Ok(read_calls_of(reader, &[run])?.remove(&run.id).unwrap_or_default())
}

/// The calls of several runs, each in order, by two queries for all of them. A run without a call is not there.
pub(super) fn read_calls_of(reader: &Tables, runs: &[&RunRow]) -> Result<BTreeMap<RunId, Vec<CallRow>>, ReadFault> {
    let wanted = run_ids(runs);
    let mut attempts: BTreeMap<(String, EffectId), Vec<AttemptRow>> = BTreeMap::new();
    let made = all_rows(
        reader,
        "SELECT a.run, a.id, a.effect, a.attempt, a.at, a.state, a.most_nanos, u.status, u.failed, u.bytes, u.took_ms, \
         u.waited_ms, u.reported, COALESCE((SELECT c.nanos FROM corrections c WHERE c.attempt = a.id \
         ORDER BY c.seq DESC LIMIT 1), u.nanos) AS booked, \
         (SELECT c.why FROM corrections c WHERE c.attempt = a.id ORDER BY c.seq DESC LIMIT 1) AS corrected \
         FROM attempts a LEFT JOIN usage u ON u.attempt = a.id WHERE a.run IN (SELECT value FROM json_each(?)) \
         ORDER BY a.run, a.effect, a.attempt",
        [&wanted],
        |row| Ok(((column_value(row, "run")?, EffectId(column_count(row, "effect")?)), read_attempt(row)?)),
    )?;
    for (place, attempt) in made {
        attempts.entry(place).or_default().push(attempt);
    }
    let rows: BTreeMap<&str, &RunRow> = runs.iter().map(|run| (run.id.0.as_str(), *run)).collect();
    let calls = all_rows(
        reader,
        "SELECT a.run, a.effect, a.at AS assembled, a.sections, a.tokens, a.stable_tokens, a.monolithic_tokens, a.counter, \
         a.plan, a.report, c.at AS intended, c.agent, c.prompt, c.version, c.closure, c.model, c.endpoint, c.tool, c.body, \
         c.pieces, c.state, c.result, c.finish, c.repairs, c.problems, c.dropped FROM assemblies a \
         LEFT JOIN calls c ON c.run = a.run AND c.effect = a.effect WHERE a.run IN (SELECT value FROM json_each(?)) \
         ORDER BY a.run, a.effect",
        [&wanted],
        |line| {
            let place = (column_value::<String>(line, "run")?, EffectId(column_count(line, "effect")?));
            let attempts = attempts.remove(&place).unwrap_or_default();
            let (run, effect) = place;
            let row = rows.get(run.as_str()).ok_or_else(|| ReadFault::Odd(format!("a call is of no run: `{run}`")))?;
            Ok((run, read_call(line, row, effect, attempts)?))
        },
    )?;
    Ok(by_run(calls))
}

/// The ids of runs, as a query takes them.
pub(super) fn run_ids(runs: &[&RunRow]) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.0.as_str()).collect();
    compact(&Json::from(ids))
}

/// Rows by the run that each is of, in their order.
pub(super) fn by_run<T>(rows: Vec<(String, T)>) -> BTreeMap<RunId, Vec<T>> {
    let mut sorted: BTreeMap<RunId, Vec<T>> = BTreeMap::new();
    for (run, row) in rows {
        sorted.entry(RunId(run)).or_default().push(row);
    }
    sorted
}

fn read_call(row: &Row<'_>, run: &RunRow, effect: EffectId, attempts: Vec<AttemptRow>) -> Result<CallRow, ReadFault> {
    let text = |column| Ok::<_, ReadFault>(column_value::<Option<String>>(row, column)?.unwrap_or_default());
    let list = |column| Ok::<_, ReadFault>(json_or_null(row, column)?.unwrap_or_else(|| Json::Array(Vec::new())));
    let state = word_or_null(row, "state")?;
    Ok(CallRow {
        effect,
        at: Time(column_value::<Option<i64>>(row, "intended")?.map_or_else(|| column_value(row, "assembled"), Ok)?),
        prompt: read_call_prompt(row)?.unwrap_or_else(|| run.prompt.clone()),
        model: column_value::<Option<String>>(row, "model")?.unwrap_or_else(|| run.model.clone()),
        endpoint: text("endpoint")?,
        tool: column_value(row, "tool")?,
        body: text("body")?,
        pieces: json_or_null(row, "pieces")?.unwrap_or(Json::Null),
        state: how_far(state, run.state, !attempts.is_empty()),
        result: column_value(row, "result")?,
        finish: column_value(row, "finish")?,
        repairs: list("repairs")?,
        problems: list("problems")?,
        dropped: list("dropped")?,
        sections: column_json(row, "sections")?,
        tokens: column_count(row, "tokens")?,
        stable_tokens: column_count(row, "stable_tokens")?,
        monolithic_tokens: count_or_null(row, "monolithic_tokens")?,
        counter: column_value(row, "counter")?,
        plan: column_json(row, "plan")?,
        report: column_value(row, "report")?,
        attempts,
    })
}

/// The prompt of a call. `None` where there is no call.
fn read_call_prompt(row: &Row<'_>) -> Result<Option<PromptId>, ReadFault> {
    let Some(agent) = column_value(row, "agent")? else { return Ok(None) };
    Ok(Some(PromptId {
        agent,
        name: column_value(row, "prompt")?,
        version: column_value(row, "version")?,
        closure: column_value(row, "closure")?,
    }))
}

/// The progress of a call. A call without an end is in progress only while its run is. A call that was never sent has
/// failed.
const fn how_far(stored: Option<CallState>, run: RunState, sent: bool) -> CallState {
    match stored {
        Some(CallState::Pending) if matches!(run, RunState::Running) => CallState::Pending,
        Some(CallState::Pending) if sent => CallState::Unknown,
        Some(CallState::Pending) | None => CallState::Failed,
        Some(state) => state,
    }
}

fn read_attempt(row: &Row<'_>) -> Result<AttemptRow, ReadFault> {
    Ok(AttemptRow {
        id: AttemptId(column_value(row, "id")?),
        attempt: column_count(row, "attempt")?,
        at: Time(column_value(row, "at")?),
        state: column_value(row, "state")?,
        most: count_or_null(row, "most_nanos")?.map(NanoDollars),
        status: count_or_null(row, "status")?,
        failed: column_value(row, "failed")?,
        bytes: count_or_null(row, "bytes")?.unwrap_or(0),
        took_ms: count_or_null(row, "took_ms")?.unwrap_or(0),
        waited_ms: count_or_null(row, "waited_ms")?.unwrap_or(0),
        usage: json_or_null::<Usage>(row, "reported")?,
        booked: count_or_null(row, "booked")?.map(NanoDollars),
        corrected: column_value(row, "corrected")?,
    })
}

fn read_steps(reader: &Tables, id: &RunId) -> Result<Vec<(u32, Time, String)>, ReadFault> {
    let steps = "SELECT step, at, event FROM steps WHERE run = ? ORDER BY step";
    all_rows(reader, steps, [&id.0], |row| {
        Ok((column_count(row, "step")?, Time(column_value(row, "at")?), column_value(row, "event")?))
    })
}

fn read_run_feedback(reader: &Tables, id: &RunId) -> Result<Vec<FeedbackRow>, ReadFault> {
    let said = "SELECT at, actor, verdict, note FROM feedback WHERE run = ? ORDER BY seq";
    all_rows(reader, said, [&id.0], feedback_row)
}

pub(super) fn feedback_row(row: &Row<'_>) -> Result<FeedbackRow, ReadFault> {
    Ok(FeedbackRow {
        at: Time(column_value(row, "at")?),
        actor: column_value(row, "actor")?,
        verdict: column_value(row, "verdict")?,
        note: column_value(row, "note")?,
    })
}

fn read_run_approvals(reader: &Tables, id: &RunId) -> Result<Vec<ApprovalRow>, ReadFault> {
    let asked = "SELECT at, actor, question, options, answer, shown, words FROM approvals WHERE run = ? ORDER BY seq";
    all_rows(reader, asked, [&id.0], |row| {
        Ok(ApprovalRow {
            at: Time(column_value(row, "at")?),
            actor: column_value(row, "actor")?,
            question: column_value(row, "question")?,
            options: column_json(row, "options")?,
            answer: count_or_null(row, "answer")?,
            shown: column_value(row, "shown")?,
            words: column_value(row, "words")?,
        })
    })
}

fn run_of(reader: &Tables, attempt: AttemptId) -> Result<RunId, ReadFault> {
    let found =
        first_row(reader, "SELECT run FROM attempts WHERE id = ?", [attempt.0], |row| column_value(row, "run"))?;
    let problem = || Absence::remedied(format!("there is no attempt {}", attempt.0), AbsenceRemedy::ListAttempts);
    found.map(RunId).ok_or_else(|| ReadFault::Missing(problem()))
}

fn read_contents(reader: &Tables, hashes: &[String]) -> Result<BTreeMap<String, Vec<u8>>, ReadFault> {
    let wanted = serde_json::to_string(hashes).map_err(|error| ReadFault::Odd(error.to_string()))?;
    let kept = "SELECT hash, bytes FROM json_each(?) CROSS JOIN contents ON hash = json_each.value";
    let found = all_rows(reader, kept, [wanted], |row| Ok((column_value(row, "hash")?, column_value(row, "bytes")?)))?;
    Ok(found.into_iter().collect())
}
