//! Many runs: one line of inputs each, results in the order of the lines.
//!
//! With `--out` results are kept as they come and put in order at the end; without, they are
//! printed in order as soon as all before them are there. A failure that every other line would
//! meet too, such as a refused key, ends the batch; what was asked by then is kept.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::process::ExitCode;

use futures_util::{Stream, StreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use proem_engine::call::{FailureKind, NanoDollars};
use proem_engine::ordered::Ordered;
use proem_engine::run::{Because, Cancelled, Ended};
use proem_runtime::files;
use proem_text::json;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::asking::Ran;
use super::journal::{Journal, Same};
use super::output::{Line, Output};
use super::setting::Setting;
use super::{account, input, single};
use crate::args::Run;
use crate::failure::Failure;
use crate::ui::{self, grouped};

/// A line of the batch.
struct Row {
    line: Line,
    inputs: Result<Ordered, String>,
}

/// What came of a line.
struct Done {
    line: Line,
    ran: Result<Ran, String>,
}

pub(super) async fn run(
    args: &Run,
    path: &Path,
    setting: &Setting,
    stop: &CancellationToken,
) -> Result<ExitCode, Failure> {
    let shown = input::shown(path);
    if args.dry_run {
        return dry(args, setting, path, &shown);
    }
    let same = Same {
        closure: setting.prompt.id.closure.clone(),
        model: setting.asked.model.name.clone(),
        provider: setting.asked.endpoint.name.clone(),
    };
    let mut journal = args.out.as_deref().map(|out| Journal::open(out, &same)).transpose()?;
    let answered = journal.as_ref().map(Journal::answered).unwrap_or_default();
    if !answered.is_empty() {
        ui::note(&format!("{} lines were answered before and are kept", grouped(answered.len())));
    }
    let total = if path.as_os_str() == "-" { None } else { Some(count(path, &shown)?) };
    let mut tally = Tally::new(total);
    let lines = RefCell::new(BTreeMap::new());
    let broken = RefCell::new(None);
    let halt = Cell::new(false);
    let rows = Rows { from: reader(path, &shown)?, number: 0, args, shown: &shown };
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
    let work = stream::iter(asked).map(|row| one(setting, row, stop));
    let most = setting.asked.endpoint.limits.concurrency.get();
    if journal.is_some() {
        take(setting, &mut journal, &mut tally, &halt, work.buffer_unordered(most)).await?;
    } else {
        take(setting, &mut journal, &mut tally, &halt, work.buffered(most)).await?;
    }
    tally.bar.finish_and_clear();
    if let Some(failure) = broken.into_inner() {
        return Err(failure);
    }
    single::unused(setting.replayer.as_deref());
    let kept = answered.len();
    if tally.cancelled > 0 || halt.get() {
        let again = if journal.is_some() {
            "; the same command goes on from here"
        } else {
            "; with --out it could go on from here"
        };
        let why = tally.fatal.clone().unwrap_or_else(|| "interrupted".to_owned());
        ui::aside(&format!("{}\n", tally.in_words(kept)));
        return Err(Failure::outside(format!("{why}{again}")));
    }
    if let Some(journal) = journal {
        journal.finish(&lines.into_inner())?;
    }
    ui::aside(&format!("{}\n", tally.in_words(kept)));
    match tally.trouble.take() {
        None => Ok(tally.code()),
        Some(trouble) => Err(Failure::outside(trouble)),
    }
}

/// Prints each request instead of sending it.
fn dry(args: &Run, setting: &Setting, path: &Path, shown: &str) -> Result<ExitCode, Failure> {
    for row in (Rows { from: reader(path, shown)?, number: 0, args, shown }) {
        let row = row?;
        let inputs = row.inputs.map_err(|why| Failure::usage(format!("{shown}, line {}: {why}", row.line.number)))?;
        ui::document(&json::compact(&single::request(setting, &inputs)?))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn one(setting: &Setting, row: Row, stop: &CancellationToken) -> Done {
    let ran = match row.inputs {
        Ok(inputs) => setting.ask(&inputs, Some(row.line.number), stop).await.map_err(|failure| failure.to_string()),
        Err(why) => Err(why),
    };
    Done { line: row.line, ran }
}

/// Takes results as they come.
async fn take(
    setting: &Setting,
    journal: &mut Option<Journal>,
    tally: &mut Tally,
    halt: &Cell<bool>,
    results: impl Stream<Item = Done>,
) -> Result<(), Failure> {
    let mut results = std::pin::pin!(results);
    while let Some(Done { line, ran }) = results.next().await {
        let output = match &ran {
            Ok(ran) => {
                if tally.trouble.is_none() {
                    tally.trouble.clone_from(&ran.trouble);
                }
                if let Some(fatal) = fatal(ran) {
                    halt.set(true);
                    tally.fatal = Some(fatal);
                }
                if is_cancelled(ran) {
                    tally.cancelled = tally.cancelled.saturating_add(1);
                    tally.spend(setting.cost(ran));
                    continue;
                }
                Output::new(setting, ran, Some(&line))
            }
            Err(why) => {
                let why = why.replace('\n', "; ");
                tally.bar.suspend(|| ui::note(&format!("line {}: {why}", line.number)));
                Output::unasked(setting, &line, why)
            }
        };
        tally.add(setting, ran.as_ref().ok());
        let json = serde_json::to_value(output).map_err(|e| Failure::bug("could not write JSON", e))?;
        let text = ui::document_text(&json::compact(&json));
        match journal {
            Some(journal) => journal.write(line.number, &line.input_hash, &text)?,
            None => tally.bar.suspend(|| ui::document(&text))?,
        }
    }
    Ok(())
}

fn is_cancelled(ran: &Ran) -> bool {
    matches!(
        ran.outcome.ended,
        Ended::Failed { because: Because::Cancelled(Cancelled::Asked) | Because::Failed(FailureKind::Cancelled) }
    )
}

/// A failure that every other line would meet too.
fn fatal(ran: &Ran) -> Option<String> {
    let failure = ran.outcome.attempts.last()?.failure.as_ref()?;
    let everywhere = match failure.kind {
        FailureKind::KeyRefused | FailureKind::UnknownModel | FailureKind::NoCredit | FailureKind::Redirected => true,
        // A line that is too long by itself keeps no other from being asked.
        FailureKind::NotBooked => !ran.made.is_empty(),
        // Without a key the fallback is as good for each line as for the first.
        FailureKind::NoKey => matches!(ran.outcome.ended, Ended::Failed { .. }),
        _ => false,
    };
    everywhere.then(|| failure.message.clone())
}

/// What came of the lines so far.
#[derive(Debug)]
struct Tally {
    bar: ProgressBar,
    answered: usize,
    fell_back: usize,
    failed: usize,
    unasked: usize,
    cancelled: usize,
    spent: NanoDollars,
    /// How many results didn't say what they cost.
    unpriced: usize,
    fatal: Option<String>,
    /// What could not be recorded first, in words.
    trouble: Option<String>,
}

impl Tally {
    fn new(total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ui::target());
        let template = match total {
            Some(_) => "{pos}/{len} {wide_bar} {msg}  {eta} left",
            None => "{pos} {spinner} {msg}  {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            answered: 0,
            fell_back: 0,
            failed: 0,
            unasked: 0,
            cancelled: 0,
            spent: NanoDollars(0),
            unpriced: 0,
            fatal: None,
            trouble: None,
        }
    }

    fn add(&mut self, setting: &Setting, ran: Option<&Ran>) {
        let count = match ran.map(|ran| &ran.outcome.ended) {
            None => &mut self.unasked,
            Some(Ended::Answered { .. }) => &mut self.answered,
            Some(Ended::FellBack { .. }) => &mut self.fell_back,
            Some(Ended::Failed { .. }) => &mut self.failed,
        };
        *count = count.saturating_add(1);
        if let Some(ran) = ran {
            self.spend(setting.cost(ran));
        }
        self.bar.set_message(self.money());
        self.bar.inc(1);
    }

    /// Adds what a line cost; `None` if that is not known.
    fn spend(&mut self, cost: Option<NanoDollars>) {
        match cost {
            Some(cost) => self.spent = self.spent.and(cost),
            None => self.unpriced = self.unpriced.saturating_add(1),
        }
    }

    fn money(&self) -> String {
        let all = [self.answered, self.fell_back, self.failed, self.cancelled].iter().sum::<usize>();
        match self.unpriced {
            0 => account::money(Some(self.spent)),
            unpriced if unpriced == all => account::money(None),
            unpriced => format!("{} and {} of unknown cost", self.spent, grouped(unpriced)),
        }
    }

    fn in_words(&self, kept: usize) -> String {
        let mut parts = vec![format!("{} answered", grouped(self.answered))];
        for (count, what) in [
            (kept, "kept from before"),
            (self.fell_back, "fell back"),
            (self.failed, "failed"),
            (self.unasked, "could not be asked"),
            (self.cancelled, "cancelled"),
        ] {
            if count > 0 {
                parts.push(format!("{} {what}", grouped(count)));
            }
        }
        format!("{}  {}", parts.join(", "), self.money())
    }

    fn code(&self) -> ExitCode {
        match (self.fell_back.saturating_add(self.failed), self.unasked) {
            (0, 0) => ExitCode::SUCCESS,
            (0, _) => ExitCode::from(2),
            _ => ExitCode::from(3),
        }
    }
}

/// The lines of a batch.
struct Rows<'r> {
    from: Box<dyn BufRead>,
    number: u32,
    args: &'r Run,
    shown: &'r str,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.from).take(input::MAX_BYTES.saturating_add(1)).read_until(b'\n', &mut bytes);
            match read {
                Err(error) => return Some(Err(Failure::outside(format!("could not read {}: {error}", self.shown)))),
                Ok(0) => return None,
                Ok(_) => {}
            }
            self.number = self.number.saturating_add(1);
            if bytes.len() as u64 > input::MAX_BYTES {
                let shown = self.shown;
                return Some(Err(Failure::usage(format!(
                    "{shown}, line {}: longer than {} bytes; give the prompt less to read",
                    self.number,
                    input::MAX_BYTES
                ))));
            }
            if !bytes.trim_ascii().is_empty() {
                return Some(Ok(self.row(&bytes)));
            }
        }
    }
}

impl Rows<'_> {
    fn row(&self, bytes: &[u8]) -> Row {
        let inputs = serde_json::from_slice::<Ordered>(bytes).map_err(|error| format!("no JSON: {error}"));
        let inputs = inputs.and_then(|mut inputs| {
            input::set(&mut inputs, self.args).map_err(|failure| failure.to_string())?;
            Ok(inputs)
        });
        let hashed =
            inputs.as_ref().map_or_else(|_| bytes.to_vec(), |inputs| json::compact(&inputs.to_json()).into_bytes());
        let input_hash = proem_text::hex::encode(Sha256::digest(&hashed));
        Row { line: Line { number: self.number, input_hash }, inputs }
    }
}

fn reader(path: &Path, shown: &str) -> Result<Box<dyn BufRead>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = files::open(path).map_err(|e| Failure::usage(format!("could not open {shown}: {e}")))?;
    Ok(Box::new(BufReader::new(file)))
}

/// How many lines of a file are not blank.
fn count(path: &Path, shown: &str) -> Result<u64, Failure> {
    let mut reader = reader(path, shown)?;
    let mut lines = 0_u64;
    let mut blank = true;
    loop {
        let bytes = reader.fill_buf().map_err(|e| Failure::outside(format!("could not read {shown}: {e}")))?;
        if bytes.is_empty() {
            return Ok(lines.saturating_add(u64::from(!blank)));
        }
        for byte in bytes {
            if *byte == b'\n' {
                lines = lines.saturating_add(u64::from(!blank));
                blank = true;
            } else if !byte.is_ascii_whitespace() {
                blank = false;
            }
        }
        let read = bytes.len();
        reader.consume(read);
    }
}
