//! `proem scan --calibrate`: fits the flag point to a user's own harmless texts.
//!
//! Never by itself, and never without showing what it was fitted to.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use proem_guard::calibrate::calibrate;
use proem_guard::{Guard, Scan as Found, Untrusted, show};
use proem_runtime::files::{self, Access};
use proem_text::{Label, Source};
use serde_json::Value;

use super::{examine::scan, name, progress::Progress, read};
use crate::args::Scan;
use crate::failure::Failure;
use crate::ui::{self, BOLD, DIM, grouped, styled};
use proem_app::guarding::calibration_file;

/// How many of the highest texts are shown, and how much of each, in characters.
const SHOWN: usize = 20;
const MAX_TEXT: usize = 100;

/// The most that a file of texts may have, in bytes.
const MAX_ROWS_BYTES: usize = 1 << 30;

/// A text and what was found in it.
struct Text {
    place: String,
    start: Untrusted<String>,
    scan: Found,
}

pub(super) fn run(args: &Scan) -> Result<ExitCode, Failure> {
    let places = crate::places()?;
    // A calibration starts from what ships, not from the last one.
    let guard =
        Guard::shipped(&[]).map_err(|error| Failure::bug("the injection scanner's own data are damaged", error))?;
    let mut texts = texts(&guard, args)?;
    let logit = |text: &Text| guard.stage().logit(&text.scan.features);
    texts.sort_by(|a, b| logit(b).total_cmp(&logit(a)).then_with(|| a.place.cmp(&b.place)));
    let mut out = format!("{}\n", styled(BOLD, "the highest scores of these texts, which are taken as harmless:"));
    for text in texts.iter().take(SHOWN) {
        let (place, start) = (show::terminal_str(&text.place), show::terminal_capped(&text.start, MAX_TEXT));
        out.push_str(&format!("  {:+.2}  {}  {start}\n", logit(text), styled(DIM, &place.to_string())));
    }
    ui::aside(&out);
    let scans: Vec<Found> = texts.into_iter().map(|text| text.scan).collect();
    let fitted = calibrate(&guard, &scans)
        .map_err(|refused| Failure::finding(format!("no calibration: {refused}; nothing was changed")))?;
    let path = calibration_file(&places);
    if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::outside(format!("could not create {}: {error}", folder.display())))?;
        files::replace(folder, Path::new(name), fitted.write().as_bytes(), Access::Shared)?;
    }
    ui::aside(&format!(
        "flag threshold {:+.2} instead of {:+.2}, from {} texts; written to {}; delete that file to undo it\n",
        fitted.flag,
        guard.stage().flag(),
        grouped(fitted.texts),
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Each file as one text, by its highest field; each line of a `.jsonl` file as one.
fn texts(guard: &Guard, args: &Scan) -> Result<Vec<Text>, Failure> {
    let mut texts = Vec::new();
    let mut progress = Progress::new("files");
    for (number, path) in args.files.iter().enumerate() {
        progress.tell(number, args.files.len());
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            texts.extend(rows(guard, path)?);
            continue;
        }
        let document = read(path, args)
            .map_err(|error| Failure::outside(format!("`{}` {error}", show::terminal_str(&name(path)))))?;
        let syntax = document.syntax;
        let scanned = document.fields.into_iter().map(|field| (short(scan(guard, syntax, &field.text)), field.text));
        let logit = |scan: &Found| guard.stage().logit(&scan.features);
        let highest = scanned.max_by(|(a, _), (b, _)| logit(a).total_cmp(&logit(b)));
        texts.extend(highest.map(|(scan, start)| Text { place: name(path), start, scan }));
    }
    progress.clear();
    Ok(texts)
}

fn rows(guard: &Guard, path: &Path) -> Result<Vec<Text>, Failure> {
    let shown = show::terminal_str(&name(path)).to_string();
    let content = files::read_text(path, MAX_ROWS_BYTES)
        .map_err(|error| Failure::outside(format!("could not read `{shown}`: {error}")))?;
    let mut texts = Vec::new();
    for (number, line) in (1..).zip(content.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let row: Value =
            serde_json::from_str(line).map_err(|error| Failure::usage(format!("`{shown}`, line {number}: {error}")))?;
        let text = row.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| {
            Failure::usage(format!("`{shown}`, line {number}: no `text`; write a line {{\"text\": …}} for each text"))
        })?;
        let start = Untrusted::new(text.to_owned(), Label::from_source(Source::named("file")));
        texts.push(Text { place: format!("{}:{number}", name(path)), scan: short(guard.scan(&start)), start });
    }
    Ok(texts)
}

/// Only what a calibration needs, so that a large corpus fits.
fn short(mut scan: Found) -> Found {
    scan.findings.clear();
    scan
}
