//! What is written before something is done: the run, its call, and the booking of the attempt.

use std::collections::BTreeMap;

use proem_engine::assembly::PromptId;
use proem_engine::ledger::{Bound, Cap, Period, Scope, Spent, Unit, Verdict, judge};
use proem_engine::run::{EffectId, Time};
use serde_json::json;
use sqlx::sqlite::SqliteRow;

use super::book::Attempt;
use super::memory::{Basis, Change, bookable};
use super::script::{Script, count, number};
use super::writer::{Answer, Writing};
use crate::error::Error;
use crate::record::{
    AttemptId, Content, Intent, NewAssembly, NewAttempt, NewCall, NewRun, NewStep, Replayable, RunId, Snapshot,
};
use crate::store::{Booked, Pause};

/// What a run's lines begin with.
pub(super) struct Opens<'i> {
    pub(super) run: &'i RunId,
    pub(super) begins: Option<&'i NewRun>,
    pub(super) steps: &'i [NewStep],
    pub(super) snapshot: Option<&'i Snapshot>,
}

/// Adds contents that aren't there.
pub(super) fn contents<'v>(script: &mut Script<'v>, contents: impl IntoIterator<Item = &'v Content>) {
    for content in contents {
        if let Some(bytes) = &content.bytes {
            script.content(&content.hash, bytes);
        }
    }
}

/// Adds a line about something that happened to a run; nothing if the run is not there.
pub(super) fn event(script: &mut Script<'_>, run: &RunId, at: Time, what: &'static str, details: &serde_json::Value) {
    script.add(
        "INSERT INTO events (at, project, actor, run, what, details) \
         SELECT ?, project, actor, id, ?, ? FROM runs WHERE id = ?",
    );
    script.with(at).with(what).with(proem_text::json::compact(details)).with(run.0.clone());
}

/// Adds the line of a run, its steps and its state, as far as they aren't there.
pub(super) fn opens<'v>(script: &mut Script<'v>, opens: &Opens<'v>, epoch: &str, at: Time) {
    if let Some(new) = opens.begins {
        new_run(script, new, epoch, at);
    }
    let run = opens.run;
    steps(script, run, opens.steps);
    if let Some(snapshot) = opens.snapshot {
        script.add(
            "INSERT INTO snapshots (run, project, actor, step, at, sealed) \
             SELECT id, project, actor, ?, ?, ? FROM runs WHERE id = ? AND state <> 'ended' \
             ON CONFLICT (run) DO UPDATE SET step = excluded.step, at = excluded.at, sealed = excluded.sealed \
             WHERE excluded.step >= snapshots.step",
        );
        script.with(snapshot.step).with(snapshot.at).with(snapshot.sealed.as_slice()).with(&run.0);
    }
}

/// Adds events that a run took.
pub(super) fn steps<'v>(script: &mut Script<'v>, run: &'v RunId, steps: &'v [NewStep]) {
    for step in steps {
        contents(script, [&step.event]);
        script.add(
            "INSERT OR IGNORE INTO steps (run, step, project, actor, at, event) \
             SELECT id, ?, project, actor, ?, ? FROM runs WHERE id = ?",
        );
        script.with(step.step).with(step.at).with(&step.event.hash).with(&run.0);
    }
}

/// Adds the line of a run with the contents that it names.
fn new_run<'v>(script: &mut Script<'v>, new: &'v NewRun, epoch: &str, at: Time) {
    contents(script, new.files.values().chain([&new.inputs]));
    let files: BTreeMap<&str, &str> =
        new.files.iter().map(|(name, content)| (name.as_str(), content.hash.as_str())).collect();
    let actor = new.actor.to_string();
    let replayable = match &new.replayable {
        Replayable::Yes => "yes",
        Replayable::No(why) => why,
    };
    // The event stands before the run, and only if the run isn't there.
    script.add(
        "INSERT INTO events (at, project, actor, run, what, details) \
         SELECT ?, ?, ?, ?, 'started', ? WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ?)",
    );
    let details = json!({ "kind": new.kind, "parent": new.parent, "line": new.line });
    script.with(at).with(&new.project.0).with(actor.clone()).with(&new.id.0);
    script.with(proem_text::json::compact(&details)).with(&new.id.0);
    script.add(
        "INSERT INTO runs (id, project, actor, epoch, kind, parent, agent, prompt, version, closure, role, model, \
         endpoint, line, started, state, files, inputs, settings, profile, replayable, input_tokens, \
         cache_read_tokens, output_tokens, nanos, numbers) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, 0, 0, 0, 0, '{}') \
         ON CONFLICT (id) DO NOTHING",
    );
    script.with(&new.id.0).with(&new.project.0).with(actor).with(epoch.to_owned()).with(&new.kind);
    script.with(new.parent.as_ref().map(|parent| &parent.0));
    script.with(&new.prompt.agent).with(&new.prompt.name).with(new.prompt.version.to_string());
    script.with(&new.prompt.closure).with(&new.role).with(&new.model).with(&new.endpoint).with(new.line);
    script.with(new.started).with(proem_text::json::compact(&json!(files))).with(&new.inputs.hash);
    script.with(proem_text::json::compact(&new.settings));
    script.with(
        new.profiles.as_ref().map_or_else(|| "null".to_owned(), |profile| proem_text::json::compact(&json!(profile))),
    );
    script.with(replayable);
}

/// Adds what was assembled for an effect.
pub(super) fn assembly<'v>(script: &mut Script<'v>, run: &'v RunId, effect: EffectId, at: Time, new: &'v NewAssembly) {
    contents(script, new.texts.iter().chain([&new.report]));
    script.add(
        "INSERT OR IGNORE INTO assemblies (run, effect, project, actor, at, sections, tokens, stable_tokens, \
         monolithic_tokens, counter, plan, report) \
         SELECT id, ?, project, actor, ?, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?",
    );
    script.with(effect.0).with(at).with(proem_text::json::compact(&json!(new.sections)));
    script.with(new.tokens).with(new.stable_tokens).with(new.monolithic_tokens).with(&new.counter);
    script.with(proem_text::json::compact(&new.plan)).with(&new.report.hash).with(&run.0);
}

/// Adds a call with its assembly.
fn call<'v>(script: &mut Script<'v>, run: &'v RunId, at: Time, new: &'v NewCall) {
    contents(script, &new.texts);
    script.add(
        "INSERT OR IGNORE INTO calls (run, effect, project, actor, at, agent, prompt, version, closure, model, \
         endpoint, tool, body, pieces, state, dropped) \
         SELECT id, ?, project, actor, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ? FROM runs WHERE id = ?",
    );
    let PromptId { agent, name, version, closure } = &new.prompt;
    script
        .with(new.effect.0)
        .with(at)
        .with(agent)
        .with(name)
        .with(version)
        .with(closure)
        .with(&new.model)
        .with(&new.endpoint)
        .with(new.tool.as_ref())
        .with(&new.body);
    script.with(proem_text::json::compact(&new.pieces)).with(proem_text::json::compact(&new.dropped)).with(&run.0);
    assembly(script, run, new.effect, at, &new.assembly);
}

/// What is booked, as far as it counts alike against caps.
#[derive(Debug, Clone, Copy)]
struct Line {
    open: bool,
    month: bool,
    day: bool,
    project: bool,
    run: bool,
    nanos: u64,
    tokens: u64,
}

impl Line {
    /// Whether it counts against a cap.
    const fn counts(&self, cap: &Cap) -> bool {
        let whose = match cap.scope {
            Scope::User => true,
            Scope::Project => self.project,
        };
        match cap.period {
            Period::Run => self.run,
            Period::Day => self.day && whose,
            Period::Month => self.month && whose,
        }
    }
}

/// What counts against a cap.
fn spent(lines: &[Line], cap: &Cap) -> Spent {
    let mut spent = Spent::default();
    for line in lines.iter().filter(|line| line.counts(cap)) {
        let amount = match cap.unit {
            Unit::NanoDollars => line.nanos,
            Unit::Tokens => line.tokens,
        };
        let sum = if line.open { &mut spent.open } else { &mut spent.settled };
        *sum = sum.saturating_add(amount);
    }
    spent
}

/// A time of the ledger.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) at: Time,
    /// Its day in the declared zone, as 2026-11-22.
    pub(super) day: String,
    /// That day's month, as 2026-11.
    pub(super) month: String,
}

impl Moment {
    /// What comes after every day of the month: days lie between its name and its name with a sign that
    /// comes after `-`.
    pub(super) fn end(&self) -> String {
        format!("{}~", self.month)
    }
}

/// What is settled of a run, in dollars' billionths.
pub(super) const NANOS_OF_RUN: &str = "SELECT sum(coalesce((SELECT nanos FROM corrections WHERE attempt = attempts.id ORDER BY seq DESC LIMIT 1), \
     usage.nanos, 0)) FROM attempts JOIN usage ON usage.attempt = attempts.id WHERE attempts.run = ?";

/// The same in tokens.
pub(super) const TOKENS_OF_RUN: &str =
    "SELECT sum(usage.tokens) FROM attempts JOIN usage ON usage.attempt = attempts.id WHERE attempts.run = ?";

/// Adds the sums of what is settled and open, as [`Line`]s: of the month, of the day in it, of the run.
fn sums<'v>(script: &mut Script<'v>, run: &'v RunId, now: &'v Moment) {
    let (Moment { day, month, .. }, last) = (now, now.end());
    let own = "(SELECT project FROM runs WHERE id = ?)";
    script.add(&format!(
        "SELECT 0, 1, day = ?, project = {own}, 0, sum(nanos), sum(tokens) FROM spend WHERE day > ? AND day < ? \
         GROUP BY 3, 4"
    ));
    script.with(day).with(&run.0).with(month).with(last.clone());
    script.add(&format!(
        "SELECT 1, day > ? AND day < ?, day = ?, project = {own}, run = ?, sum(coalesce(most_nanos, 0)), \
         sum(most_tokens) FROM attempts WHERE state = 'open' GROUP BY 2, 3, 4, 5"
    ));
    script.with(month).with(last).with(day).with(&run.0).with(&run.0);
    script.add(&format!("SELECT 0, 0, 0, 0, 1, coalesce(({NANOS_OF_RUN}), 0), coalesce(({TOKENS_OF_RUN}), 0)"));
    script.with(&run.0);
    script.with(&run.0);
}

impl Writing {
    /// Writes what is about to be done, and books it.
    pub(super) async fn intend(&mut self, intent: &Intent) -> Result<Answer, Error> {
        let (at, epoch) = (self.at(intent.attempt.at), self.epoch_id());
        let run = &intent.run;
        if let Some(settlement) = &intent.settles {
            self.settle(settlement).await?;
        }
        let mut script = Script::new();
        let (begins, snapshot) = (intent.begins.as_deref(), intent.snapshot.as_ref());
        opens(&mut script, &Opens { run, begins, steps: &intent.steps, snapshot }, &epoch, at);
        if let Some(new) = &intent.call {
            call(&mut script, run, at, new);
        }
        script.add("UPDATE runs SET state = 'running' WHERE id = ? AND state = 'asking' AND epoch = ?");
        script.with(&run.0).with(&epoch);
        let now = self.moment(at);
        if self.basis == Basis::Memory {
            bookable(&mut script, intent, &epoch, &now);
            let attempt = self.opened(&mut script, intent, &now);
            self.memory.note(Change::Opened(None, attempt));
            self.link.defer(script);
            return Ok(Answer::Opened);
        }
        self.ask(script, intent, &now).await.map(Answer::Booked)
    }

    /// Asks the file whether an attempt can be booked, and books it.
    async fn ask(&mut self, mut script: Script<'_>, intent: &Intent, now: &Moment) -> Result<Booked, Error> {
        let (run, attempt) = (&intent.run, &intent.attempt);
        script.add(
            "SELECT runs.id, runs.state, runs.epoch, attempts.id, attempts.state, attempts.epoch FROM runs \
             LEFT JOIN attempts ON attempts.run = runs.id AND attempts.effect = ? AND attempts.attempt = ? \
             WHERE runs.id = ?",
        );
        script.with(attempt.effect.0).with(attempt.attempt).with(&run.0);
        if !attempt.caps.is_empty() {
            sums(&mut script, run, now);
        }
        let rows = self.link.run(script).await?;
        let (Some(row), sums) = (rows.first(), rows.get(1..).unwrap_or_default()) else { return Err(no_run(run)) };
        // Without the run's own line the first one is of the sums, and has a number there.
        if self.link.get::<String>(row, 0).is_err() {
            return Err(no_run(run));
        }
        if let Some(known) = self.known(intent, row)? {
            return Ok(known);
        }
        let verdict = self.judged(attempt, sums)?;
        self.book(intent, verdict, now).await
    }

    /// The answer for an attempt that is known, and whether the run is this process's to go on with.
    fn known(&self, intent: &Intent, row: &SqliteRow) -> Result<Option<Booked>, Error> {
        let (run, NewAttempt { effect, attempt, .. }) = (&intent.run, &intent.attempt);
        let (state, epoch): (String, String) = (self.link.get(row, 1)?, self.link.get(row, 2)?);
        if state == "ended" {
            return Err(Error::Conflict(format!("run `{run}` has ended; fork it to go on")));
        }
        if epoch != self.epoch_id() {
            return Err(Error::Conflict(format!("run `{run}` belongs to another process; resume it to go on")));
        }
        let Some(id) = self.link.get::<Option<i64>>(row, 3)? else { return Ok(None) };
        let (state, epoch): (String, String) = (self.link.get(row, 4)?, self.link.get(row, 5)?);
        if state == "open" && epoch == self.epoch_id() {
            return Ok(Some(Booked::Yes(AttemptId(id))));
        }
        Err(Error::Conflict(format!(
            "attempt {attempt} of call {} of run `{run}` is settled already; ask for the next one",
            effect.0
        )))
    }

    /// Books an attempt if every cap has room for it.
    async fn book(&mut self, intent: &Intent, mut verdict: Verdict, now: &Moment) -> Result<Booked, Error> {
        let (run, attempt) = (&intent.run, &intent.attempt);
        if matches!(verdict, Verdict::Wait(_)) && self.bury_at(now.at).await? > 0 {
            let mut script = Script::new();
            sums(&mut script, run, now);
            let rows = self.link.run(script).await?;
            verdict = self.judged(attempt, &rows)?;
        }
        let mut script = Script::new();
        match verdict {
            Verdict::Wait(short) => Ok(Booked::Wait(short)),
            Verdict::Refuse(refusal) => {
                let details = json!({ "effect": attempt.effect.0, "attempt": attempt.attempt, "booked": "no" });
                event(&mut script, run, now.at, "refused", &details);
                self.link.run(script).await?;
                Ok(Booked::No(refusal))
            }
            Verdict::Book => {
                let opened = self.opened(&mut script, intent, now);
                let rows = self.link.run(script).await?;
                let id = self.link.get(rows.first().ok_or_else(|| no_run(run))?, 0)?;
                self.memory.note(Change::Opened(Some(id), opened));
                Ok(Booked::Yes(AttemptId(id)))
            }
        }
    }

    /// Adds the line of an attempt, which gives its number.
    fn opened(&self, script: &mut Script<'_>, intent: &Intent, now: &Moment) -> Attempt {
        let (run, attempt) = (&intent.run, &intent.attempt);
        let Bound { nanos, tokens } = attempt.bound;
        let nanos = nanos.map(|nanos| nanos.0);
        let details = json!({ "effect": attempt.effect.0, "attempt": attempt.attempt, "booked": "yes" });
        event(script, run, now.at, "intended", &details);
        script.add(
            "INSERT INTO attempts (run, effect, attempt, project, actor, epoch, at, day, most_nanos, most_tokens, \
             state) SELECT id, ?, ?, project, actor, ?, ?, ?, ?, ?, 'open' FROM runs WHERE id = ? RETURNING id",
        );
        script.with(attempt.effect.0).with(attempt.attempt).with(self.epoch_id()).with(now.at).with(now.day.clone());
        script.with(nanos).with(tokens).with(run.0.clone());
        Attempt {
            id: 0,
            run: run.clone(),
            effect: i64::from(attempt.effect.0),
            attempt: i64::from(attempt.attempt),
            most_nanos: nanos.map(number),
            most_tokens: number(tokens),
            open: true,
        }
    }

    /// A time of the ledger with its day in the declared zone, and that day's month.
    fn moment(&self, at: Time) -> Moment {
        let clamped = at.0.clamp(jiff::Timestamp::MIN.as_millisecond(), jiff::Timestamp::MAX.as_millisecond());
        let timestamp = jiff::Timestamp::from_millisecond(clamped).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let day = timestamp.to_zoned(self.opening.zone.clone()).date().to_string();
        let month = day.rsplit_once('-').map_or_else(|| day.clone(), |(month, _)| month.to_owned());
        Moment { at, day, month }
    }

    /// Judges an attempt by [`sums`].
    fn judged(&self, attempt: &NewAttempt, rows: &[SqliteRow]) -> Result<Verdict, Error> {
        let lines: Vec<Line> = rows.iter().map(|row| self.line(row)).collect::<Result<_, Error>>()?;
        let caps: Vec<(Cap, Spent)> = attempt.caps.iter().map(|cap| (*cap, spent(&lines, cap))).collect();
        Ok(judge(&attempt.bound, &caps))
    }

    fn line(&self, row: &SqliteRow) -> Result<Line, Error> {
        let is = |column| self.link.get::<i64>(row, column).map(|value| value != 0);
        let sum = |column| self.link.get::<i64>(row, column).map(count);
        Ok(Line {
            open: is(0)?,
            month: is(1)?,
            day: is(2)?,
            project: is(3)?,
            run: is(4)?,
            nanos: sum(5)?,
            tokens: sum(6)?,
        })
    }

    /// Writes a state to go on from.
    pub(super) async fn pause(&mut self, pause: &Pause) -> Result<(), Error> {
        let (at, epoch) = (self.at(pause.snapshot.at), self.epoch_id());
        if let Some(settlement) = &pause.settles {
            self.settle(settlement).await?;
        }
        let mut script = Script::new();
        let (run, begins) = (&pause.run, pause.begins.as_deref());
        opens(&mut script, &Opens { run, begins, steps: &pause.steps, snapshot: Some(&pause.snapshot) }, &epoch, at);
        let asks = !pause.questions.is_empty();
        script.add("UPDATE runs SET state = ? WHERE id = ? AND state <> 'ended'");
        script.with(if asks { "asking" } else { "running" }).with(&run.0);
        let details = json!({ "step": pause.snapshot.step, "questions": pause.questions });
        event(&mut script, run, at, "paused", &details);
        script.add("SELECT 1 FROM runs WHERE id = ?").with(&run.0);
        if self.link.run(script).await?.is_empty() { Err(no_run(run)) } else { Ok(()) }
    }
}

/// No such run.
pub(super) fn no_run(run: &RunId) -> Error {
    Error::NotFound(format!("no run `{run}`; `proem runs list` shows those there are"))
}
