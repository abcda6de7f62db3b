//! `proem scan --jsonl`: rows with a text, scored one by one.
//!
//! Invariants: one line out for each row, in the order of the rows, whatever a row holds; never
//! more than a batch of rows is held. A line of white space is no row.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use proem_guard::{Untrusted, Verdict, show};
use proem_runtime::readers::{Ask, Gap, Kind, Rest, extract, open};
use proem_text::{Label, Source, json};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    examine, exit_code, is_stdin, listing, name,
    output::{FindingOut, UnreadOut, rounded},
    progress::Progress,
};
use crate::args::{FailOn, Scan};
use crate::failure::Failure;
use crate::ui::{self, BOLD, RED, grouped, styled};
use proem_app::guarding::Guarding;

/// How much is read ahead, in bytes; a batch is what lies ready in it.
const READ_AHEAD: usize = 1024 * 1024;

/// The source of a row's text, and the name of its field.
const SOURCE: &str = "file/jsonl";
const FIELD: &str = "text";

/// How many rows are shown without `--json`, and how much of each, in characters.
const SHOWN: usize = 10;
const MAX_TEXT: usize = 100;

/// A row as it should be; other keys are ignored.
#[derive(Deserialize)]
struct Row {
    text: String,
}

/// A line of the file, with its number from 1.
struct Numbered {
    number: usize,
    line: Line,
}

enum Line {
    Bytes(Vec<u8>),
    TooLong,
}

/// What came of a row.
struct Answer {
    number: usize,
    row: Result<Scored, String>,
}

struct Scored {
    verdict: Verdict,
    score: f64,
    /// The beginning of the text.
    start: Untrusted<String>,
    /// The line to print.
    json: String,
}

#[derive(Serialize)]
struct RowOut {
    score: f64,
    verdict: &'static str,
    findings: Vec<FindingOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<UnreadOut>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
}

pub(super) fn run(scanner: &Guarding, path: &Path, args: &Scan) -> Result<ExitCode, Failure> {
    let shown =
        if is_stdin(path) { "standard input".to_owned() } else { format!("`{}`", show::terminal_str(&name(path))) };
    let from: Box<dyn io::Read> = if is_stdin(path) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(open(path).map_err(|error| Failure::outside(format!("{shown} {error}")))?)
    };
    let mut lines = Lines { from: BufReader::with_capacity(READ_AHEAD, from), number: 0, most: args.file_bytes() };
    let source = args.source.clone().unwrap_or(Source::named(SOURCE));
    let mut summary = Summary::new();
    let mut progress = Progress::new("rows");
    loop {
        let batch = lines.batch().map_err(|error| Failure::outside(format!("could not read {shown}: {error}")))?;
        if batch.is_empty() {
            break;
        }
        let mut out = String::new();
        for answer in answers(scanner, &batch, &source)? {
            match &answer.row {
                Ok(scored) => out.push_str(&format!("{}\n", scored.json)),
                Err(why) => {
                    let error = json!({ "error": format!("line {}: {why}", answer.number) });
                    out.push_str(&format!("{}\n", json::compact(&error)));
                    progress.clear();
                    ui::error(&Failure::outside(format!("{shown}, line {}: {why}", answer.number)));
                }
            }
            summary.add(answer);
        }
        if args.json && !put(&ui::document_text(&out))? {
            break;
        }
        progress.tell(summary.all, 0);
    }
    progress.clear();
    if !args.json {
        ui::listing(&summary.listing())?;
    }
    Ok(exit_code(summary.worst, args.fail_on.unwrap_or(FailOn::Flag), summary.refused > 0))
}

/// Writes in full; false if nobody reads any more.
fn put(out: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(out.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::outside(format!("could not write the output: {error}"))),
    }
}

/// Lines, each bounded.
struct Lines<R> {
    from: BufReader<R>,
    number: usize,
    /// The longest line, in bytes without its end.
    most: usize,
}

impl<R: io::Read> Lines<R> {
    /// The next line, and those after it that need no waiting.
    fn batch(&mut self) -> io::Result<Vec<Numbered>> {
        let mut batch = Vec::new();
        while let Some(line) = self.next()? {
            let is_blank = matches!(&line.line, Line::Bytes(bytes) if bytes.trim_ascii().is_empty());
            if !is_blank {
                batch.push(line);
            }
            if !batch.is_empty() && !self.from.buffer().contains(&b'\n') {
                break;
            }
        }
        Ok(batch)
    }

    fn next(&mut self) -> io::Result<Option<Numbered>> {
        let mut bytes = Vec::new();
        let cap = u64::try_from(self.most).unwrap_or(u64::MAX).saturating_add(1);
        if self.from.by_ref().take(cap).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        let ended = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if !ended && bytes.len() > self.most {
            self.from.skip_until(b'\n')?;
            return Ok(Some(Numbered { number: self.number, line: Line::TooLong }));
        }
        if self.number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        Ok(Some(Numbered { number: self.number, line: Line::Bytes(bytes) }))
    }
}

/// Scores rows on all processors; the answers are in the order of the rows.
fn answers(scanner: &Guarding, rows: &[Numbered], source: &Source) -> Result<Vec<Answer>, Failure> {
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = rows.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let work =
            |rows: &[Numbered]| rows.iter().map(|row| answer(scanner, row, source)).collect::<Result<Vec<_>, _>>();
        let workers: Vec<_> = rows.chunks(share).map(|rows| scope.spawn(move || work(rows))).collect();
        let mut all = Vec::with_capacity(rows.len());
        for worker in workers {
            // A worker that panicked is a bug, and its rows must not be lost silently.
            let answers = worker.join().map_err(|_| Failure::bug("scanning rows", "a worker stopped"))?;
            all.extend(answers?);
        }
        Ok(all)
    })
}

fn answer(scanner: &Guarding, row: &Numbered, source: &Source) -> Result<Answer, Failure> {
    let number = row.number;
    let (text, gaps) = match text_of(&row.line, source) {
        Ok(found) => found,
        Err(why) => return Ok(Answer { number, row: Err(why) }),
    };
    let scan = scanner.guard.scan(&text);
    let unread = if gaps.is_empty() { Verdict::Allow } else { Verdict::Flag };
    let verdict = scanner.policy.bar(source.as_str(), FIELD).judge(&scan).max(unread);
    let score = scan.score;
    let (findings, unread) = examine::found(&text, None, scan);
    let out = RowOut {
        score: rounded(score),
        verdict: verdict.as_str(),
        findings: findings.iter().map(FindingOut::new).collect(),
        unread: unread.iter().map(|(spot, reason)| UnreadOut::new(spot, reason.to_string())).collect(),
        gaps: gaps.into_iter().map(|gap| gap.about).collect(),
    };
    let value = serde_json::to_value(&out).map_err(|error| Failure::bug("the scan as JSON", error))?;
    let start = text.map(|text| text.chars().take(MAX_TEXT.saturating_add(1)).collect());
    Ok(Answer { number, row: Ok(Scored { verdict, score, start, json: json::compact(&value) }) })
}

/// The row's text. What a strict parser refuses, such as a lone surrogate, is read with a gap.
fn text_of(line: &Line, source: &Source) -> Result<(Untrusted<String>, Vec<Gap>), String> {
    const FORM: &str = "write `{\"text\": \"…\"}` on each line";
    let Line::Bytes(bytes) = line else {
        return Err("longer than `--max-bytes`; shorten the line, or raise `--max-bytes`".to_owned());
    };
    let error = match serde_json::from_slice::<Row>(bytes) {
        Ok(row) => return Ok((Untrusted::new(row.text, Label::from_source(source.clone())), Vec::new())),
        Err(error) => error,
    };
    let ask = Ask { kind: Some(Kind::Json), source: Some(source.clone()), ..Ask::default() };
    let document = extract(bytes, Rest::Nothing, &ask);
    let mut texts = document.fields.into_iter().filter(|field| field.name == "/text");
    match (texts.next(), texts.next()) {
        (Some(field), None) if !document.gaps.is_empty() => {
            // What is wrong with other keys is nobody's business.
            let gaps = document.gaps.into_iter().filter(|gap| matches!(gap.field.as_str(), "" | "/text"));
            Ok((field.text, gaps.collect()))
        }
        (Some(_), Some(_)) => Err(format!("`text` appears twice; {FORM}")),
        _ if error.is_data() => Err(format!("no `text`, or one that is not a string; {FORM}")),
        _ => Err(format!("not valid JSON at column {}; {FORM}", error.column().max(1))),
    }
}

/// Counts, and the rows with the highest scores.
struct Summary {
    all: usize,
    refused: usize,
    /// Rows of each verdict, in the order of [`Verdict::ALL`].
    counts: [usize; Verdict::ALL.len()],
    worst: Verdict,
    /// The highest first; of equal ones, the earlier.
    highest: Vec<(usize, Scored)>,
}

impl Summary {
    const fn new() -> Self {
        Self { all: 0, refused: 0, counts: [0; 4], worst: Verdict::Allow, highest: Vec::new() }
    }

    fn add(&mut self, answer: Answer) {
        self.all = self.all.saturating_add(1);
        let Ok(mut scored) = answer.row else {
            self.refused = self.refused.saturating_add(1);
            return;
        };
        self.worst = self.worst.max(scored.verdict);
        for (verdict, count) in Verdict::ALL.iter().zip(&mut self.counts) {
            *count = count.saturating_add(usize::from(*verdict == scored.verdict));
        }
        scored.json.clear();
        let at = self.highest.partition_point(|(_, other)| other.score >= scored.score);
        if at < SHOWN {
            self.highest.insert(at, (answer.number, scored));
            self.highest.truncate(SHOWN);
        }
    }

    fn listing(&self) -> String {
        let mut counts: Vec<String> = Verdict::ALL
            .iter()
            .zip(self.counts)
            .rev()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| {
                format!("{} {}", grouped(count), styled(listing::style(*verdict), verdict.as_str()))
            })
            .collect();
        if self.refused > 0 {
            counts.push(format!("{} {}", grouped(self.refused), styled(RED, "not scanned")));
        }
        let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        let mut out = format!("{} rows{counts}\n", grouped(self.all));
        if !self.highest.is_empty() {
            out.push_str(&format!("{}\n", styled(BOLD, "the highest scores:")));
        }
        let width = self.highest.iter().map(|(number, _)| grouped(*number).len()).max().unwrap_or(0);
        for (number, Scored { verdict, score, start, .. }) in &self.highest {
            let (number, verdict) = (grouped(*number), styled(listing::style(*verdict), verdict.as_str()));
            let text = show::terminal_capped(start, MAX_TEXT);
            out.push_str(&format!("  line {number:>width$}  {score:.2}  {verdict}  {text}\n"));
        }
        out
    }
}
