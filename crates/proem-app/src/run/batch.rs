//! Many runs: one line of inputs each, results in the order of the lines.
//!
//! Results that go into a file are written as they come and put in order at the end. Elsewhere they are handed on in
//! order as soon as all earlier ones are there. A failure that every other line would meet too, such as a refused key,
//! ends the batch. The answers so far are kept.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;

use futures_util::{Stream, StreamExt as _, stream};
use proem_engine::call::{FailureKind, NanoDollars};
use proem_engine::ordered_json::OrderedJson;
use proem_engine::run::{CancelReason, ExchangeEnd, FallbackReason};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::course::{FinishedRun, RunCourse};
use super::input::{InputForm, Source};
use super::journal::{BatchJournal, BatchKey};
use super::output::{BatchLine, RunOutput};
use super::rows::{BatchRows, Row, RowReading};
use super::setting::{OpenRun, RunSetting};
use crate::agents::person::AbsentPerson;
use crate::error::Error;
use crate::message::WithNotes;

/// The questions, line by line.
#[derive(Debug)]
pub struct Batch<'b> {
    /// The source of the lines.
    pub from: Source<'b>,
    /// How each line is read.
    pub form: &'b InputForm,
    /// Texts that are laid over each line's inputs, by name.
    pub texts: &'b [(String, OrderedJson)],
    /// The destination of results, in the order of the lines. Results of an interrupted run of the same batch are kept.
    pub out: Option<&'b Path>,
}

/// An event of a running batch, for display.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchEvent<'h> {
    /// So many lines were answered before and are kept.
    Kept(usize),
    /// Lines are asked: so many, where that is known.
    Begins(Option<u64>),
    /// With a line nothing could be asked.
    Unasked {
        /// Its number, from 1.
        line: u32,
        /// Why nothing could be asked.
        why: &'h str,
    },
    /// One more line is done.
    Counted(&'h BatchTally),
    /// The next line's result, where none are kept in a file.
    Result(&'h str),
}

/// The observer of a batch.
#[derive(Clone, Copy)]
pub struct Watcher<'w> {
    /// How a result is written down, in a file and elsewhere, on one line.
    pub form: &'w dyn Fn(&Json) -> String,
    /// Is told what happens. A failure ends the batch.
    pub tell: &'w dyn Fn(BatchEvent<'_>) -> Result<(), Error>,
}

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watcher").finish_non_exhaustive()
    }
}

/// The result of a line.
struct BatchResult<'r> {
    line: BatchLine,
    /// The setting with the version that the line met.
    setting: &'r RunSetting,
    ran: Result<FinishedRun, String>,
}

/// A batch that nothing is asked for any longer.
#[derive(Debug)]
pub struct Over {
    /// The results of its lines.
    pub tally: BatchTally,
    /// How many lines were answered before.
    pub kept: usize,
    /// Whether lines are left, since it was ended before they were asked.
    pub is_interrupted: bool,
    journal: Option<BatchJournal>,
    lines: BTreeMap<u32, String>,
}

impl Over {
    /// Whether what was asked is kept for the next run of the same batch.
    #[must_use]
    pub const fn goes_on(&self) -> bool {
        self.journal.is_some()
    }

    /// Puts the results in order under their file's own name, if they have one.
    ///
    /// # Errors
    ///
    /// If they can't be written.
    pub fn finish(self) -> Result<BatchTally, Error> {
        if let Some(journal) = self.journal {
            journal.finish(&self.lines)?;
        }
        Ok(self.tally)
    }
}

/// Asks for each line, as many at once as the endpoint takes.
///
/// # Errors
///
/// If lines can't be read or results not be written. A failure of one line is its result.
pub async fn run_batch(
    run: &OpenRun,
    batch: Batch<'_>,
    watcher: Watcher<'_>,
    stop: &CancellationToken,
) -> Result<Over, Error> {
    let (setting, shown) = (run.setting(), batch.from.shown());
    let same = BatchKey {
        closure: setting.prompt.id.closure.clone(),
        model: setting.access.asked.model.name.clone(),
        provider: setting.access.asked.endpoint.name.clone(),
    };
    let journal = batch.out.map(|out| BatchJournal::open(out, &same)).transpose()?;
    let answered = journal.as_ref().map(BatchJournal::answered).unwrap_or_default();
    if !answered.is_empty() {
        (watcher.tell)(BatchEvent::Kept(answered.len()))?;
    }
    let reading = RowReading { form: batch.form, texts: batch.texts, shown: &shown };
    let BatchRows { total, rows } = BatchRows::open(batch.from, reading)?;
    (watcher.tell)(BatchEvent::Begins(total))?;
    let lines = RefCell::new(BTreeMap::new());
    let broken = RefCell::new(None);
    let halt = Cell::new(false);
    let wanted = rows.map_while(|row| {
        if halt.get() || stop.is_cancelled() {
            // There was another line, so that the results are not whole, whatever is still running.
            halt.set(true);
            return None;
        }
        row.map_err(|failure| *broken.borrow_mut() = Some(failure)).ok()
    });
    let asked = wanted.filter(|row| {
        lines.borrow_mut().insert(row.line.number, row.line.input_hash.clone());
        answered.get(&row.line.number) != Some(&row.line.input_hash)
    });
    let work = stream::iter(asked).map(|row| ask_row(run, row, stop));
    let most = setting.access.asked.endpoint.limits.concurrency.get();
    let mut taking = Taking { journal, tally: BatchTally::default(), halt: &halt, watcher };
    if taking.journal.is_some() {
        taking.take(work.buffer_unordered(most)).await?;
    } else {
        taking.take(work.buffered(most)).await?;
    }
    let Taking { journal, tally, .. } = taking;
    if let Some(failure) = broken.into_inner() {
        return Err(failure);
    }
    let is_interrupted = tally.cancelled > 0 || halt.get();
    Ok(Over { tally, kept: answered.len(), is_interrupted, journal, lines: lines.into_inner() })
}

/// Makes each line's request, as it would be sent, and hands it on.
///
/// # Errors
///
/// If a line can't be read or no request be made of it, and those of `hand_on`.
pub fn batch_requests(
    run: &OpenRun,
    batch: Batch<'_>,
    hand_on: &dyn Fn(WithNotes<Json>) -> Result<(), Error>,
) -> Result<(), Error> {
    let shown = batch.from.shown();
    let reading = RowReading { form: batch.form, texts: batch.texts, shown: &shown };
    for row in BatchRows::open(batch.from, reading)?.rows {
        let row = row?;
        let inputs = row.inputs.map_err(|why| Error::invalid(format!("{shown}, line {}: {why}", row.line.number)))?;
        hand_on(run.line_setting(&inputs)?.setting.request(&inputs)?)?;
    }
    Ok(())
}

async fn ask_row<'r>(run: &'r OpenRun, row: Row, stop: &CancellationToken) -> BatchResult<'r> {
    let Row { line, inputs } = row;
    let asked = inputs.and_then(|inputs| match run.line_setting(&inputs) {
        Ok(asked) => Ok((asked, inputs)),
        Err(failure) => Err(failure.to_string()),
    });
    let (asked, inputs) = match asked {
        Ok(asked) => asked,
        Err(why) => return BatchResult { line, setting: run.setting(), ran: Err(why) },
    };
    let number = Some(line.number);
    let course = RunCourse { line: number, stop, person: &AbsentPerson, listener: None, hand_on: &|_| Ok(()) };
    let ran = run.ask_as(&asked, &inputs, &course).await.map_err(|failure| failure.to_string());
    BatchResult { line, setting: asked.setting, ran }
}

/// The receiver of results.
struct Taking<'t> {
    journal: Option<BatchJournal>,
    tally: BatchTally,
    halt: &'t Cell<bool>,
    watcher: Watcher<'t>,
}

impl Taking<'_> {
    /// Takes results as they come.
    async fn take<'r>(&mut self, results: impl Stream<Item = BatchResult<'r>>) -> Result<(), Error> {
        let mut results = std::pin::pin!(results);
        while let Some(BatchResult { line, setting, ran }) = results.next().await {
            let output = match &ran {
                Ok(ran) => {
                    if self.tally.trouble.is_none() {
                        self.tally.trouble.clone_from(&ran.trouble);
                    }
                    if let Some(fatal) = fatal(ran) {
                        self.halt.set(true);
                        self.tally.fatal = Some(fatal);
                    }
                    if is_cancelled(ran) {
                        self.tally.cancelled = self.tally.cancelled.saturating_add(1);
                        self.tally.spend(setting.cost(ran));
                        continue;
                    }
                    RunOutput::new(setting, ran, Some(&line))
                }
                Err(why) => {
                    let why = why.replace('\n', "; ");
                    (self.watcher.tell)(BatchEvent::Unasked { line: line.number, why: &why })?;
                    RunOutput::unasked(setting, &line, why)
                }
            };
            self.tally.add(setting, ran.as_ref().ok());
            (self.watcher.tell)(BatchEvent::Counted(&self.tally))?;
            let json = serde_json::to_value(output).map_err(|e| Error::bug("could not write JSON", e))?;
            let text = (self.watcher.form)(&json);
            match &mut self.journal {
                Some(journal) => journal.write(line.number, &line.input_hash, &text)?,
                None => (self.watcher.tell)(BatchEvent::Result(&text))?,
            }
        }
        Ok(())
    }
}

fn is_cancelled(ran: &FinishedRun) -> bool {
    matches!(
        ran.outcome.ended,
        ExchangeEnd::Failed {
            because: FallbackReason::Cancelled(CancelReason::Asked) | FallbackReason::Failed(FailureKind::Cancelled)
        }
    )
}

/// A failure that every other line would meet too.
fn fatal(ran: &FinishedRun) -> Option<String> {
    let failure = ran.outcome.attempts.last()?.failure.as_ref()?;
    let everywhere = match failure.kind {
        FailureKind::KeyRefused
        | FailureKind::ModeRefused
        | FailureKind::UnknownModel
        | FailureKind::NoCredit
        | FailureKind::Redirected
        | FailureKind::Insecure => true,
        // A line that is too long by itself keeps no other from being asked.
        FailureKind::NotBooked => !ran.made.is_empty(),
        // Without a key the fallback is as good for each line as for the first.
        FailureKind::NoKey => matches!(ran.outcome.ended, ExchangeEnd::Failed { .. }),
        _ => false,
    };
    everywhere.then(|| failure.message.clone())
}

/// The results of the lines so far.
#[derive(Debug, Default)]
pub struct BatchTally {
    /// How many have the model's value.
    pub answered: usize,
    /// How many have the prompt's fallback.
    pub fell_back: usize,
    /// How many have none.
    pub failed: usize,
    /// With how many nothing could be asked.
    pub unasked: usize,
    /// With how many, limits kept text out of the request.
    pub cut: usize,
    /// How many were ended before they had a result.
    pub cancelled: usize,
    /// The known cost.
    pub spent: NanoDollars,
    /// How many results didn't say what they cost.
    pub unpriced: usize,
    /// A failure that every other line would meet too, in words.
    pub fatal: Option<String>,
    /// The first failure to record, in words.
    pub trouble: Option<String>,
}

impl BatchTally {
    fn add(&mut self, setting: &RunSetting, ran: Option<&FinishedRun>) {
        let count = match ran.map(|ran| &ran.outcome.ended) {
            None => &mut self.unasked,
            Some(ExchangeEnd::Answered { .. }) => &mut self.answered,
            Some(ExchangeEnd::FellBack { .. }) => &mut self.fell_back,
            Some(ExchangeEnd::Failed { .. }) => &mut self.failed,
        };
        *count = count.saturating_add(1);
        if let Some(ran) = ran {
            self.cut = self.cut.saturating_add(usize::from(!ran.prepared.report.cuts().is_empty()));
            self.spend(setting.cost(ran));
        }
    }

    /// Adds what a line cost. `None` if that is not known.
    fn spend(&mut self, cost: Option<NanoDollars>) {
        match cost {
            Some(cost) => self.spent = self.spent.and(cost),
            None => self.unpriced = self.unpriced.saturating_add(1),
        }
    }
}
