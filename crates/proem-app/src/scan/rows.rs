//! Rows with a text, scored one by one.
//!
//! Invariants: one answer for each row, in the order of the rows, whatever a row holds. Never more than a batch of rows
//! is held. A line of white space is no row.

use std::io::{self, BufRead as _, BufReader, Read};

use proem_guard::{Untrusted, Verdict};
use proem_runtime::map_on_all;
use proem_runtime::readers::{DocumentGap, DocumentKind, DocumentOptions, UnreadTail, extract};
use proem_text::{Label, Source, json};
use serde::{Deserialize, Serialize};

use super::ScanOptions;
use super::examine;
use super::output::{FindingOut, UnreadOut, round_to_six};
use crate::error::Error;
use crate::guarding::GuardSetup;

/// How much is read ahead, in bytes. A batch is what is ready in it.
const READ_AHEAD: usize = 1024 * 1024;

/// The source of a row's text, and the name of its field.
const SOURCE: &str = "file/jsonl";
const FIELD: &str = "text";

/// How much of a row is kept to be shown, in characters.
pub const MAX_TEXT: usize = 100;

/// A row as it should be. Other keys are ignored.
#[derive(Deserialize)]
struct JsonlRow {
    text: String,
}

/// A line of the file, with its number from 1.
struct Numbered {
    number: usize,
    line: RowBytes,
}

enum RowBytes {
    Bytes(Vec<u8>),
    TooLong,
}

/// Why a row was not scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowProblem {
    /// It is longer than what is read of one.
    TooLong,
    /// It is not as it should be. How, and what to write.
    Wrong(String),
}

/// The result for a row.
#[derive(Debug)]
pub struct RowAnswer {
    /// The row's line, from 1.
    pub number: usize,
    /// Its score, or why there is none.
    pub row: Result<ScoredRow, RowProblem>,
}

/// A row's score.
#[derive(Debug)]
pub struct ScoredRow {
    /// The verdict on its text.
    pub verdict: Verdict,
    /// Suspicion, 0 to 1.
    pub score: f64,
    /// The beginning of the text. One character more than [`MAX_TEXT`] if it goes on.
    pub start: Untrusted<String>,
    /// All that was found, as one line of JSON without its end.
    pub json: String,
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

/// Rows that are read batch by batch.
#[derive(Debug)]
pub struct Rows<'r, R> {
    guarding: &'r GuardSetup,
    lines: RowLines<R>,
    source: Source,
}

impl<'r, R: Read> Rows<'r, R> {
    /// The rows that can be read there.
    pub fn new(guarding: &'r GuardSetup, from: R, options: &ScanOptions) -> Self {
        let lines = RowLines { from: BufReader::with_capacity(READ_AHEAD, from), number: 0, most: options.file_bytes };
        Self { guarding, lines, source: options.source.clone().unwrap_or(Source::named(SOURCE)) }
    }

    /// The results for the next rows, as many as can be read without waiting. Nothing at the end. `shown` is the
    /// source's name, in words.
    ///
    /// # Errors
    ///
    /// If nothing more can be read.
    pub fn batch(&mut self, shown: &str) -> Result<Vec<RowAnswer>, Error> {
        let batch = self.lines.batch().map_err(|error| Error::outside(format!("could not read {shown}: {error}")))?;
        score_rows(self.guarding, &batch, &self.source)
    }
}

/// Lines, each bounded.
#[derive(Debug)]
struct RowLines<R> {
    from: BufReader<R>,
    number: usize,
    /// The longest line, in bytes without its end.
    most: usize,
}

impl<R: Read> RowLines<R> {
    /// The next line, and those after it that need no waiting.
    fn batch(&mut self) -> io::Result<Vec<Numbered>> {
        let mut batch = Vec::new();
        while let Some(line) = self.next()? {
            let is_blank = matches!(&line.line, RowBytes::Bytes(bytes) if bytes.trim_ascii().is_empty());
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
            return Ok(Some(Numbered { number: self.number, line: RowBytes::TooLong }));
        }
        if self.number == 1 && bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        Ok(Some(Numbered { number: self.number, line: RowBytes::Bytes(bytes) }))
    }
}

/// Scores rows on all processors. The answers are in the order of the rows.
fn score_rows(guarding: &GuardSetup, rows: &[Numbered], source: &Source) -> Result<Vec<RowAnswer>, Error> {
    map_on_all(rows, |row| score_row(guarding, row, source)).into_iter().collect()
}

fn score_row(guarding: &GuardSetup, row: &Numbered, source: &Source) -> Result<RowAnswer, Error> {
    let number = row.number;
    let (text, gaps) = match row_text(&row.line, source) {
        Ok(found) => found,
        Err(why) => return Ok(RowAnswer { number, row: Err(why) }),
    };
    let scan = guarding.guard.scan(&text);
    let unread = if gaps.is_empty() { Verdict::Allow } else { Verdict::Flag };
    let bar = guarding.policy.bar(source.as_str(), FIELD);
    let verdict = bar.judge(&scan).max(unread);
    let score = scan.score;
    let (findings, unread) = examine::place_findings(&text, None, scan, bar);
    let out = RowOut {
        score: round_to_six(score),
        verdict: verdict.as_str(),
        findings: findings.iter().map(FindingOut::new).collect(),
        unread: unread.iter().map(|(spot, reason)| UnreadOut::new(spot, reason.to_string())).collect(),
        gaps: gaps.into_iter().map(|gap| gap.about).collect(),
    };
    let value = serde_json::to_value(&out).map_err(|error| Error::bug("the scan as JSON", error))?;
    let start = text.map(|text| text.chars().take(MAX_TEXT.saturating_add(1)).collect());
    Ok(RowAnswer { number, row: Ok(ScoredRow { verdict, score, start, json: json::compact(&value) }) })
}

/// The row's text. Text that a strict parser refuses, such as a lone surrogate, is read with a gap.
fn row_text(line: &RowBytes, source: &Source) -> Result<(Untrusted<String>, Vec<DocumentGap>), RowProblem> {
    const FORM: &str = "write `{\"text\": \"…\"}` on each line";
    let RowBytes::Bytes(bytes) = line else {
        return Err(RowProblem::TooLong);
    };
    let error = match serde_json::from_slice::<JsonlRow>(bytes) {
        Ok(row) => return Ok((Untrusted::new(row.text, Label::from_source(source.clone())), Vec::new())),
        Err(error) => error,
    };
    let ask =
        DocumentOptions { kind: Some(DocumentKind::Json), source: Some(source.clone()), ..DocumentOptions::default() };
    let document = extract(bytes, UnreadTail::Nothing, &ask);
    let mut texts = document.fields.into_iter().filter(|field| field.name == "/text");
    match (texts.next(), texts.next()) {
        (Some(field), None) if !document.gaps.is_empty() => {
            // Problems with other keys are nobody's business.
            let gaps = document.gaps.into_iter().filter(|gap| matches!(gap.field.as_str(), "" | "/text"));
            Ok((field.text, gaps.collect()))
        }
        (Some(_), Some(_)) => Err(RowProblem::Wrong(format!("`text` appears twice; {FORM}"))),
        _ if error.is_data() => Err(RowProblem::Wrong(format!("no `text`, or one that is not a string; {FORM}"))),
        _ => Err(RowProblem::Wrong(format!("not valid JSON at column {}; {FORM}", error.column().max(1)))),
    }
}
