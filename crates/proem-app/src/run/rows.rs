//! The lines of a batch: the inputs of one run each, blank ones left out.

use std::io::{BufRead, Read as _};
use std::path::Path;

use proem_engine::ordered::OrderedJson;
use proem_text::json;
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

/// The lines of a batch.
pub(super) struct Rows<'r> {
    pub(super) from: Box<dyn BufRead + 'r>,
    /// How many lines were read.
    pub(super) number: u32,
    pub(super) form: &'r InputForm,
    pub(super) texts: &'r [(String, String)],
    pub(super) shown: &'r str,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let read = (&mut self.from).take(input::MAX_BYTES.saturating_add(1)).read_until(b'\n', &mut bytes);
            match read {
                Err(error) => return Some(Err(Error::outside(format!("could not read {}: {error}", self.shown)))),
                Ok(0) => return None,
                Ok(_) => {}
            }
            self.number = self.number.saturating_add(1);
            if bytes.len() as u64 > input::MAX_BYTES {
                let shown = self.shown;
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
        let hashed =
            inputs.as_ref().map_or_else(|_| bytes.to_vec(), |inputs| json::compact(&inputs.to_json()).into_bytes());
        let input_hash = proem_text::hex::encode(Sha256::digest(&hashed));
        Row { line: BatchLine { number: self.number, input_hash }, inputs }
    }

    fn inputs(&self, bytes: &[u8]) -> Result<OrderedJson, Error> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::invalid("the line is not UTF-8; convert it"))?;
        self.form.inputs(text.trim_end_matches(['\r', '\n']), "the line", self.texts)
    }
}

/// How many lines of a file are not blank.
pub(super) fn count(path: &Path, shown: &str) -> Result<u64, Error> {
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
