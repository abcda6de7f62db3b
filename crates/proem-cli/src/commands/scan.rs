//! `proem scan`: looks for attacks in files, and says where, why, and what was not looked at.
//!
//! An unreadable file never stops the others. A part that was not looked at is at least a flag. In a folder it is
//! counted.

pub(crate) mod args;
mod calibrate;
mod folder;
mod listing;
mod page;
mod report;
mod rows;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use proem_app::scan::ScanOptions;
use proem_app::scan::examine::{FileScan, scan_document};
use proem_app::scan::output::ScanOutput;
use proem_guard::{Verdict, show};
use proem_runtime::readers::{Document, ReadError};

use self::args::{ScanArgs, VerdictThreshold};
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run_scan(args: &ScanArgs) -> Result<ExitCode, CommandFailure> {
    let options = args.options();
    if args.calibrate {
        return calibrate::run_scan_calibrate(args, &options);
    }
    let guarding = proem_app::scan::guard_for_project(&args.root, &crate::user_places()?)?;
    ui::print_notes(&guarding.notes);
    if let Some(path) = &args.jsonl {
        return rows::run_scan_rows(&guarding, path, args, &options);
    }
    if args.is_folder_report() {
        return folder::run_scan_folder(&guarding, args, &options);
    }
    if args.cut && !args.json && args.files.len() > 1 {
        return Err(CommandFailure::usage("`--cut` prints one text; name one file, or add `--json`"));
    }
    let mut total = Total::default();
    let mut examined = Vec::new();
    let mut progress = ui::CountLine::new("files");
    for (number, path) in args.files.iter().enumerate() {
        progress.tell(number, args.files.len());
        let name = report_file_name(path);
        match read_document(path, &options) {
            Ok(document) => {
                let file = scan_document(&guarding, name, document, options.source.as_ref(), options.detail);
                total.verdicts.push(file.verdict);
                progress.clear();
                show_file(&file, args)?;
                if args.json {
                    examined.push(file);
                }
            }
            Err(error) => {
                progress.clear();
                let why = error.to_string();
                ui::print_failure(&CommandFailure::outside(format!("`{}` {why}", show::terminal_str(&name))));
                total.unreadable.push((name, why));
            }
        }
    }
    progress.clear();
    if args.json {
        let output = ScanOutput::new(&examined, &total.unreadable);
        ui::print_published_document(ui::PublishedDocument::Pretty(output.to_json()?))?;
    } else if args.files.len() > 1 && !args.exit_code_only {
        ui::print_listing(&listing::verdict_summary(&total.verdicts, total.unreadable.len()))?;
    }
    Ok(total.code(args.threshold()))
}

/// Prints what a person wants to see of a file, unless everything is printed in the end.
fn show_file(file: &FileScan, args: &ScanArgs) -> Result<(), CommandFailure> {
    if args.json || args.exit_code_only {
        return Ok(());
    }
    if !args.cut {
        return ui::print_listing(&listing::file_listing(file, listing::MarkStyle::of_stdout()));
    }
    if file.fields.is_empty() {
        ui::aside(&listing::file_listing(file, listing::MarkStyle::Carets));
    }
    for (number, field) in file.fields.iter().enumerate() {
        if let Some(text) = field.text_without_attacks().and_then(|cut| cut.text.as_ref()) {
            // A text alone is printed exactly. Of several, each has its name above it.
            let text = match file.fields.len() {
                1 => listing::cut_text(text),
                _ => listing::named_cut_text(field, number, text),
            };
            ui::data(&text)?;
        }
    }
    file.fields.iter().for_each(|field| ui::aside(&listing::cut_account(file, field)));
    ui::aside(&listing::not_looked_at(file));
    Ok(())
}

fn read_document(path: &Path, options: &ScanOptions) -> Result<Document, ReadError> {
    if is_stdin(path) { options.read_stream(io::stdin().lock()) } else { options.read(path) }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn report_file_name(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The totals of all files.
#[derive(Debug, Default)]
struct Total {
    verdicts: Vec<Verdict>,
    /// Names with the reason.
    unreadable: Vec<(String, String)>,
}

impl Total {
    fn code(&self, fail_on: VerdictThreshold) -> ExitCode {
        exit_code(
            self.verdicts.iter().copied().fold(Verdict::Allow, Verdict::max),
            fail_on,
            !self.unreadable.is_empty(),
        )
    }
}

/// 3 if something could not be read, 1 if a verdict is at least what fails, else 0.
fn exit_code(worst: Verdict, fail_on: VerdictThreshold, unreadable: bool) -> ExitCode {
    let fails = match fail_on {
        VerdictThreshold::Flag => Verdict::Flag,
        VerdictThreshold::Quarantine => Verdict::Quarantine,
        VerdictThreshold::Block => Verdict::Block,
    };
    if unreadable {
        ExitCode::from(3)
    } else if worst >= fails {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}
