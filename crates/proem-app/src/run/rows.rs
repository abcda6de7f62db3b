//! The lines of a batch: the inputs of one run each, blank ones left out.

use std::io::{BufRead, Read as _};
use std::path::Path;

use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::rows::{check_column_names, row_inputs};
use proem_text::{BareQuotes, CsvError, CsvRow, json, read_csv};
use sha2::{Digest as _, Sha256};

use super::input::{self, InputForm, Source};
use super::output::BatchLine;
use crate::error::Error;

/// A line of the batch.
pub(super) struct Row {
    pub(super) line: BatchLine,
    /// Its inputs, or why they are none.
    pub(super) inputs: Result<OrderedJson, String>,
}

/// How the lines of a batch become inputs.
#[derive(Clone, Copy)]
pub(super) struct RowReading<'r> {
    pub(super) form: &'r InputForm,
    pub(super) texts: &'r [(String, OrderedJson)],
    pub(super) shown: &'r str,
}

/// The lines of a batch, one after the other.
pub(super) struct BatchRows<'r> {
    /// How many there are, where that is known.
    pub(super) total: Option<u64>,
    pub(super) rows: Box<dyn Iterator<Item = Result<Row, Error>> + 'r>,
}

impl<'r> BatchRows<'r> {
    /// Opens a batch: comma-separated values in a file whose name says so, else a line for each run.
    ///
    /// # Errors
    ///
    /// If the source can't be read, or is no table of comma-separated values.
    pub(super) fn open(from: Source<'r>, reading: RowReading<'r>) -> Result<Self, Error> {
        if matches!(&from, Source::File(path) if is_csv(path)) {
            return table_rows(from, reading);
        }
        let total = match &from {
            Source::File(path) => Some(count_filled_lines(path, reading.shown)?),
            Source::Reader(..) => None,
        };
        Ok(Self { total, rows: Box::new(Rows { from: from.open()?, number: 0, reading }) })
    }
}

fn is_csv(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// The rows of a table, each with the line that it begins on.
fn table_rows<'r>(from: Source<'r>, reading: RowReading<'r>) -> Result<BatchRows<'r>, Error> {
    let RowReading { form, texts, shown } = reading;
    if form.is_text_asked_for() {
        return Err(Error::invalid(format!("{shown} names its inputs in the first row; leave out --input-text")));
    }
    let text = input::verbatim_input(from)?;
    let wrong = |problem: String| Error::invalid(format!("{shown}: {problem}"));
    let rows = read_csv(text.as_bytes(), BareQuotes::Refused);
    let mut rows = rows.map_err(|CsvError { line, expected }| wrong(format!("line {line}: {expected}")))?.into_iter();
    let Some(CsvRow { fields: names, .. }) = rows.next() else {
        return Err(wrong("the first row, with the names of the inputs, is missing".to_owned()));
    };
    check_column_names(&names).map_err(wrong)?;
    let row = move |CsvRow { line, fields }: CsvRow| {
        let number = u32::try_from(line).unwrap_or(u32::MAX);
        let inputs = row_inputs(&names, &fields, |name| form.schema(name)).and_then(|mut inputs| {
            input::set_inputs(&mut inputs, texts).map_err(|failure| failure.to_string())?;
            Ok(inputs)
        });
        Ok(Row::new(number, inputs, fields.join(",").as_bytes()))
    };
    Ok(BatchRows { total: u64::try_from(rows.len()).ok(), rows: Box::new(rows.map(row)) })
}

impl Row {
    /// A row with the hash of its inputs, or of its own bytes if it has none.
    fn new(number: u32, inputs: Result<OrderedJson, String>, bytes: &[u8]) -> Self {
        let hashed =
            inputs.as_ref().map_or_else(|_| bytes.to_vec(), |inputs| json::compact(&inputs.to_json()).into_bytes());
        let input_hash = proem_text::hex::encode_hex(Sha256::digest(&hashed));
        Self { line: BatchLine { number, input_hash }, inputs }
    }
}

/// Lines of a reader.
struct Rows<'r> {
    from: Box<dyn BufRead + 'r>,
    /// How many lines were read.
    number: u32,
    reading: RowReading<'r>,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.from).take(input::MAX_BYTES.saturating_add(1)).read_until(b'\n', &mut bytes);
            match read {
                Err(error) => {
                    return Some(Err(Error::outside(format!("could not read {}: {error}", self.reading.shown))));
                }
                Ok(0) => return None,
                Ok(_) => {}
            }
            self.number = self.number.saturating_add(1);
            if bytes.len() as u64 > input::MAX_BYTES {
                let shown = self.reading.shown;
                return Some(Err(Error::invalid(format!(
                    "{shown}, line {}: longer than {} bytes; shorten the inputs",
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
        let inputs = self.inputs(bytes).map_err(|failure| failure.to_string());
        Row::new(self.number, inputs, bytes)
    }

    fn inputs(&self, bytes: &[u8]) -> Result<OrderedJson, Error> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::invalid("the line is not UTF-8; convert it"))?;
        let RowReading { form, texts, .. } = self.reading;
        form.inputs(text.trim_end_matches(['\r', '\n']), "the line", texts)
    }
}

/// How many lines of a file are not blank.
fn count_filled_lines(path: &Path, shown: &str) -> Result<u64, Error> {
    let mut reader = Source::File(path).open()?;
    let mut lines = 0_u64;
    let mut blank = true;
    loop {
        let bytes = reader.fill_buf().map_err(|e| Error::outside(format!("could not read {shown}: {e}")))?;
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
