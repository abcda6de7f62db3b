//! What became of attempts, and what is booked for them.

use proem_engine::call::Usage;
use proem_engine::run::Time;
use serde_json::json;
use sqlx::sqlite::SqliteRow;

use super::begin::{contents, event};
use super::memory::{Basis, Change};
use super::script::{MOST, Script, Value, number, refuted};
use super::writer::Writing;
use crate::error::Error;
use crate::failpoint;
use crate::record::{AttemptId, CallState, RunId, Settlement, Used};

/// An attempt as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) id: i64,
    pub(super) run: RunId,
    pub(super) effect: i64,
    pub(super) attempt: i64,
    pub(super) most_nanos: Option<i64>,
    pub(super) most_tokens: i64,
    pub(super) open: bool,
}

/// The columns of an [`Attempt`].
pub(super) const ATTEMPT: &str =
    "SELECT id, run, effect, attempt, most_nanos, most_tokens, state = 'open' FROM attempts";

/// What is booked for an attempt.
#[derive(Debug, Default)]
struct Booking {
    state: &'static str,
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_written: Option<i64>,
    output: Option<i64>,
    reported: Option<String>,
    nanos: Option<i64>,
    tokens: i64,
}

/// What is known of an exchange beside its usage.
#[derive(Debug, Default)]
struct Exchanged {
    status: Option<u32>,
    failed: Option<&'static str>,
    bytes: u64,
    took_ms: u64,
    waited_ms: u64,
}

/// What a report says is booked; what it doesn't say is booked in full.
fn reported(usage: &Usage, nanos: Option<u64>, attempt: &Attempt) -> Booking {
    let tokens = usage.input.zip(usage.output).map(|(input, output)| number(input.saturating_add(output)));
    Booking {
        state: "reported",
        input: usage.input.map(number),
        cache_read: usage.cache_read.map(number),
        cache_written: Some(number(usage.cache_written())),
        output: usage.output.map(number),
        reported: Some(proem_text::json::compact(&json!(usage))),
        nanos: nanos.map(number).or(attempt.most_nanos),
        tokens: tokens.unwrap_or(attempt.most_tokens),
    }
}

/// What is booked for an attempt.
fn booking(used: &Used, attempt: &Attempt) -> Booking {
    match used {
        Used::Reported(usage, nanos) => reported(usage, nanos.map(|nanos| nanos.0), attempt),
        Used::Nothing => Booking {
            state: "unsent",
            input: Some(0),
            cache_read: Some(0),
            cache_written: Some(0),
            output: Some(0),
            nanos: Some(0),
            ..Booking::default()
        },
        Used::Unknown => {
            Booking { state: "unknown", nanos: attempt.most_nanos, tokens: attempt.most_tokens, ..Booking::default() }
        }
    }
}

/// Adds everything that is booked for an open attempt.
fn book(script: &mut Script<'_>, attempt: &Attempt, at: Time, used: &Used, exchanged: &Exchanged) {
    let booking = booking(used, attempt);
    let run = attempt.run.0.clone();
    script.add("UPDATE attempts SET state = ? WHERE id = ?").with(booking.state).with(attempt.id);
    script.add(
        "INSERT INTO usage (attempt, project, actor, at, status, failed, bytes, took_ms, waited_ms, input_tokens, \
         cache_read_tokens, cache_written_tokens, output_tokens, reported, nanos, tokens) \
         SELECT id, project, actor, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM attempts WHERE id = ?",
    );
    script.with(at).with(exchanged.status).with(exchanged.failed.map(Value::Text));
    script.with(exchanged.bytes).with(exchanged.took_ms).with(exchanged.waited_ms);
    script.with(booking.input).with(booking.cache_read).with(booking.cache_written).with(booking.output);
    script.with(booking.reported).with(booking.nanos).with(booking.tokens).with(attempt.id);
    // Money and tokens stay far below what an integer holds; the least of both keeps it so.
    script.add(
        "INSERT INTO spend (project, day, model, endpoint, agent, prompt, attempts, nanos, tokens, unknown, unpriced) \
         SELECT attempts.project, attempts.day, coalesce(calls.model, runs.model), \
         coalesce(calls.endpoint, runs.endpoint), coalesce(calls.agent, runs.agent), \
         coalesce(calls.prompt, runs.prompt), 1, ?, ?, ?, ? FROM attempts JOIN runs ON runs.id = attempts.run \
         LEFT JOIN calls ON calls.run = attempts.run AND calls.effect = attempts.effect WHERE attempts.id = ? \
         ON CONFLICT (day, project, model, endpoint, agent, prompt) DO UPDATE SET attempts = attempts + 1, \
         nanos = min(nanos + excluded.nanos, 1 << 61), tokens = min(tokens + excluded.tokens, 1 << 61), \
         unknown = unknown + excluded.unknown, unpriced = unpriced + excluded.unpriced",
    );
    script.with(booking.nanos.unwrap_or(0)).with(booking.tokens);
    script.with(i64::from(booking.state == "unknown")).with(i64::from(booking.nanos.is_none())).with(attempt.id);
    // What one attempt doesn't know, the run doesn't know: null and a number make null.
    script.add(
        "UPDATE runs SET input_tokens = input_tokens + ?, cache_read_tokens = cache_read_tokens + ?, \
         output_tokens = output_tokens + ?, nanos = nanos + ? WHERE id = ?",
    );
    let nanos = booking.nanos.filter(|_| booking.state != "unknown");
    script.with(booking.input).with(booking.cache_read).with(booking.output).with(nanos).with(run);
    let details = json!({
        "effect": attempt.effect, "attempt": attempt.attempt, "state": booking.state,
        "nanos": booking.nanos, "tokens": booking.tokens,
    });
    event(script, &attempt.run, at, "settled", &details);
}

/// Adds the booking in full of attempts about which nobody knows anything.
pub(super) fn book_in_full(script: &mut Script<'_>, attempts: &[Attempt], at: Time) {
    for attempt in attempts {
        book(script, attempt, at, &Used::Unknown, &Exchanged::default());
    }
}

/// The word that is stored.
const fn word(state: CallState) -> &'static str {
    match state {
        CallState::Pending => "pending",
        CallState::Answered => "answered",
        CallState::Failed => "failed",
        CallState::Unknown => "unknown",
    }
}

impl Writing {
    /// An attempt of a row of [`ATTEMPT`].
    pub(super) fn attempt(&self, row: &SqliteRow) -> Result<Attempt, Error> {
        Ok(Attempt {
            id: self.link.get(row, 0)?,
            run: RunId(self.link.get(row, 1)?),
            effect: self.link.get(row, 2)?,
            attempt: self.link.get(row, 3)?,
            most_nanos: self.link.get(row, 4)?,
            most_tokens: self.link.get(row, 5)?,
            open: self.link.get(row, 6)?,
        })
    }

    /// Settles an attempt; one that is settled stays as it is.
    pub(super) async fn settle(&mut self, settlement: &Settlement) -> Result<(), Error> {
        failpoint::write("settle", self.path())?;
        let at = self.at(settlement.at);
        let mut script = Script::new();
        let attempt = match self.basis {
            Basis::Memory => {
                let Some(attempt) = self.memory.open(settlement.attempt.0) else {
                    self.link.defer(refuted());
                    return Ok(());
                };
                script.suppose("FROM attempts WHERE id = ? AND state = 'open'").with(attempt.id);
                attempt
            }
            Basis::File => self.stored(settlement.attempt).await?,
        };
        if !attempt.open {
            return Ok(());
        }
        let exchanged = Exchanged {
            status: settlement.status.map(u32::from),
            failed: settlement.failed.map(proem_engine::call::FailureKind::as_str),
            bytes: settlement.bytes,
            took_ms: settlement.took_ms,
            waited_ms: settlement.waited_ms,
        };
        book(&mut script, &attempt, at, &settlement.used, &exchanged);
        if let Some(result) = &settlement.result {
            contents(&mut script, [&result.result]);
            script.add("UPDATE calls SET ended = ?, state = ?, result = ?, finish = ? WHERE run = ? AND effect = ?");
            script.with(at).with(word(result.state)).with(&result.result.hash).with(result.finish.as_ref());
            script.with(&attempt.run.0).with(attempt.effect);
        }
        self.link.defer(script);
        self.memory.note(Change::Settled(attempt.id));
        Ok(())
    }

    /// An attempt as the file has it.
    async fn stored(&mut self, id: AttemptId) -> Result<Attempt, Error> {
        let mut script = Script::new();
        script.add(&format!("{ATTEMPT} WHERE id = ?")).with(id.0);
        let rows = self.link.run(script).await?;
        let row = rows.first().ok_or_else(|| Error::NotFound(format!("no attempt `{}`", id.0)))?;
        self.attempt(row)
    }
}

const _: () = assert!(MOST < 1 << 61, "one booking more stays an integer");
