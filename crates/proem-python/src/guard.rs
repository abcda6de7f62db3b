//! The guard: attacks in text from outside, and its containment.

use std::collections::BTreeMap;

use proem::guard as facade;
use pyo3::prelude::*;

use crate::error::{exception_of, invalid_error};

/// Looks for attacks in text from outside, and makes such text fit for a prompt.
#[pyclass(frozen, module = "proem_engine._native", name = "Guard")]
pub(crate) struct NativeGuard {
    guard: proem::Guard,
}

#[pymethods]
impl NativeGuard {
    /// The guard that ships, with delimiters derived from `key`.
    #[new]
    fn new(py: Python<'_>, key: Option<&[u8]>) -> PyResult<Self> {
        let key = secret_of(key)?;
        let guard = py.detach(proem::Guard::default);
        Ok(Self { guard: key.map_or_else(|| guard.clone(), |key| guard.clone().key(key)) })
    }

    /// Looks for attacks in a text.
    fn scan(&self, py: Python<'_>, text: &str) -> ScanReport {
        py.detach(|| ScanReport::of(self.guard.scan(text), text))
    }

    /// Puts a text from outside between delimiters.
    fn contain(&self, py: Python<'_>, text: &str) -> PyResult<Containment> {
        py.detach(|| {
            let contained = self.guard.contain(text).map_err(|error| exception_of(&error))?;
            let withheld = contained.is_withheld();
            Ok(Containment { report: ScanReport::of(contained.report, text), text: contained.text, withheld })
        })
    }
}

/// A guard's findings in one text, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct ScanReport {
    verdict: &'static str,
    score: f64,
    findings: Vec<Finding>,
    unread: Vec<String>,
}

/// One finding, as a dictionary. Its places are characters, counted from 0.
#[derive(IntoPyObject)]
pub(crate) struct Finding {
    rule: String,
    severity: &'static str,
    start: usize,
    end: usize,
}

/// A text from outside as it may stand in a user message, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Containment {
    text: String,
    withheld: bool,
    report: ScanReport,
}

impl ScanReport {
    fn of(report: facade::ScanReport, text: &str) -> Self {
        let ends = report.findings.iter().flat_map(|finding| [finding.span.start, finding.span.end]);
        let characters = character_places(text, ends.collect());
        let place = |byte| characters.get(&byte).copied().unwrap_or_default();
        let findings = report.findings.iter().map(|finding| Finding {
            rule: finding.rule.to_owned(),
            severity: finding.severity.as_str(),
            start: place(finding.span.start),
            end: place(finding.span.end),
        });
        let findings = findings.collect();
        Self { verdict: report.verdict.as_str(), score: report.score, findings, unread: report.unread }
    }
}

/// The character that begins at each of these bytes, in one pass over the text.
fn character_places(text: &str, mut bytes: Vec<usize>) -> BTreeMap<usize, usize> {
    bytes.sort_unstable();
    bytes.dedup();
    let mut starts = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).enumerate().peekable();
    let mut places = BTreeMap::new();
    for byte in bytes {
        while starts.next_if(|(_, start)| *start < byte).is_some() {}
        places.extend(starts.peek().map(|(character, _)| (byte, *character)));
    }
    places
}

/// The secret behind delimiters.
pub(crate) fn secret_of(key: Option<&[u8]>) -> PyResult<Option<[u8; 32]>> {
    let Some(key) = key else { return Ok(None) };
    let secret = <[u8; 32]>::try_from(key);
    secret.map(Some).map_err(|_| invalid_error(format!("`key` has {} bytes; give 32 random bytes", key.len())))
}
