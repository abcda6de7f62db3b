//! Fits the flag point to a user's own harmless texts.
//!
//! Never by itself, and never without a way to see what it was fitted to.

use std::fs;
use std::path::{Path, PathBuf};

use proem_guard::calibrate::{Calibration, calibrate};
use proem_guard::{Guard, Scan as Found, Untrusted, show};
use proem_runtime::files::{self, FileAccess};
use proem_runtime::readers::Document;
use proem_text::{Label, Source};
use serde_json::Value;

use super::examine::scan_syntax;
use crate::error::Error;
use crate::guarding::{calibration_file, shipped_guard};
use crate::places::Places;

/// The most that a file of texts may have, in bytes.
const MAX_ROWS_BYTES: usize = 1 << 30;

/// A text and what was found in it.
#[derive(Debug)]
struct CalibrationText {
    place: String,
    start: Untrusted<String>,
    scan: Found,
}

/// Texts that count as harmless, and the guard that is fitted to them.
#[derive(Debug)]
pub struct Calibrating {
    guard: Guard,
    texts: Vec<CalibrationText>,
}

/// One of the texts, as it may be shown.
#[derive(Debug)]
pub struct HighText<'t> {
    /// Its score as the flag point is measured.
    pub logit: f32,
    /// The file, and the line of its rows.
    pub place: &'t str,
    /// The text.
    pub start: &'t Untrusted<String>,
}

/// A calibration that was kept.
#[derive(Debug)]
pub struct KeptCalibration {
    /// The fitted calibration.
    pub calibration: Calibration,
    /// The flag point that ships.
    pub instead_of: f32,
    /// Its file.
    pub path: PathBuf,
}

impl Calibrating {
    /// Nothing yet. A calibration starts from what ships, not from the last one.
    ///
    /// # Errors
    ///
    /// Never, but for a bug.
    pub fn new() -> Result<Self, Error> {
        let guard = shipped_guard(&[])?;
        Ok(Self { guard, texts: Vec::new() })
    }

    /// Takes a document as one text, by its highest field.
    pub fn document(&mut self, name: String, document: Document) {
        let guard = &self.guard;
        let syntax = document.syntax;
        let scanned = document
            .fields
            .into_iter()
            .map(|field| (shorten_findings(scan_syntax(guard, syntax, &field.text)), field.text));
        let logit = |scan: &Found| guard.stage().logit(&scan.features);
        let highest = scanned.max_by(|(a, _), (b, _)| logit(a).total_cmp(&logit(b)));
        self.texts.extend(highest.map(|(scan, start)| CalibrationText { place: name, start, scan }));
    }

    /// Takes each line of a file as one text.
    ///
    /// # Errors
    ///
    /// If the file is unreadable, or a line has no text.
    pub fn rows(&mut self, path: &Path) -> Result<(), Error> {
        let name = path.to_string_lossy();
        let shown = show::terminal_str(&name).to_string();
        let content = files::read_text(path, MAX_ROWS_BYTES)
            .map_err(|error| Error::outside(format!("could not read `{shown}`: {error}")))?;
        for (number, line) in (1..).zip(content.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line)
                .map_err(|error| Error::invalid(format!("`{shown}`, line {number}: {error}")))?;
            let text = row.get("text").and_then(Value::as_str);
            let text = text.ok_or_else(|| {
                Error::invalid(format!(
                    "`{shown}`, line {number}: no `text`; write a line {{\"text\": …}} for each text"
                ))
            })?;
            let start = Untrusted::new(text.to_owned(), Label::from_source(Source::named("file")));
            let scan = shorten_findings(self.guard.scan(&start));
            self.texts.push(CalibrationText { place: format!("{name}:{number}"), scan, start });
        }
        Ok(())
    }

    /// The texts, the highest first.
    #[must_use]
    pub fn highest(&mut self) -> Vec<HighText<'_>> {
        let stage = self.guard.stage();
        let logit = |text: &CalibrationText| stage.logit(&text.scan.features);
        self.texts.sort_by(|a, b| logit(b).total_cmp(&logit(a)).then_with(|| a.place.cmp(&b.place)));
        self.texts.iter().map(|text| HighText { logit: logit(text), place: &text.place, start: &text.start }).collect()
    }

    /// Fits the flag point and keeps it.
    ///
    /// # Errors
    ///
    /// If the texts are too few or unfit, or if the calibration can't be written. Nothing was changed then.
    pub fn fit(self, places: &Places) -> Result<KeptCalibration, Error> {
        let scans: Vec<Found> = self.texts.into_iter().map(|text| text.scan).collect();
        let calibration = calibrate(&self.guard, &scans)
            .map_err(|refused| Error::negative(format!("no calibration: {refused}; nothing was changed")))?;
        let path = calibration_file(places);
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            fs::create_dir_all(folder)
                .map_err(|error| Error::outside(format!("could not create {}: {error}", folder.display())))?;
            files::replace_file(folder, Path::new(name), calibration.write().as_bytes(), FileAccess::Shared)?;
        }
        Ok(KeptCalibration { calibration, instead_of: self.guard.stage().flag(), path })
    }
}

/// Only what a calibration needs, so that a large corpus fits.
fn shorten_findings(mut scan: Found) -> Found {
    scan.findings.clear();
    scan
}
