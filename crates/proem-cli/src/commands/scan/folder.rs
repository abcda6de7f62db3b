//! `proem scan FOLDER`: looks at what git tracks, says little, and counts what it did not look at.
//!
//! Only files with something to look at are shown. Their names are foreign text.

use std::path::Path;
use std::process::ExitCode;

use proem_guard::{Verdict, show};

use super::args::{ScanArgs, VerdictThreshold};
use super::{Total, listing, read_document, report_file_name};
use crate::failure::CommandFailure;
use crate::ui;
use proem_app::guarding::GuardSetup;
use proem_app::scan::ScanOptions;
use proem_app::scan::examine::{CutChoice, FileScan, scan_document};
use proem_app::scan::folder::{Folder, FolderScanEvent, SkipReason};
use proem_app::scan::output::LineOut;

/// A run over all arguments.
struct FolderScan<'a> {
    guarding: &'a GuardSetup,
    args: &'a ScanArgs,
    options: &'a ScanOptions,
    total: Total,
    left_out: Vec<SkipReason>,
    progress: ui::CountLine,
}

pub(super) fn run_scan_folder(
    guarding: &GuardSetup,
    args: &ScanArgs,
    options: &ScanOptions,
) -> Result<ExitCode, CommandFailure> {
    if args.cut {
        return Err(CommandFailure::usage("`--cut` prints the text of files, not of folders; name a file"));
    }
    let progress = ui::CountLine::of_few_results("files");
    let mut run = FolderScan { guarding, args, options, total: Total::default(), left_out: Vec::new(), progress };
    for path in &args.files {
        if path.is_dir() {
            run.folder(path)?;
        } else {
            let name = report_file_name(path);
            let seen = read_document(path, options).map_or_else(
                |error| FolderScanEvent::Unreadable(error.to_string()),
                |document| {
                    let source = options.source.as_ref();
                    FolderScanEvent::File(scan_document(guarding, name.clone(), document, source, CutChoice::NotWanted))
                },
            );
            run.take(&name, seen)?;
        }
    }
    run.progress.clear();
    run.summary()?;
    Ok(run.total.code(args.fail_on.unwrap_or(VerdictThreshold::Quarantine)))
}

impl FolderScan<'_> {
    fn folder(&mut self, path: &Path) -> Result<(), CommandFailure> {
        let folder = Folder::list(path)?;
        for (number, entry) in folder.entries().iter().enumerate() {
            self.progress.tell(number, folder.entries().len());
            let seen = folder.look(entry, self.guarding, self.options);
            self.take(&folder.name(entry), seen)?;
        }
        self.progress.clear();
        if !self.args.quiet {
            ui::print_notes(&folder.note(show::terminal_str(&report_file_name(path)).as_str()));
        }
        Ok(())
    }

    fn take(&mut self, path: &str, seen: FolderScanEvent) -> Result<(), CommandFailure> {
        let line = match seen {
            FolderScanEvent::File(file) => {
                self.total.verdicts.push(file.verdict);
                self.show(&file)?;
                LineOut::file(&file)
            }
            FolderScanEvent::LeftOut(why) => {
                self.left_out.push(why);
                LineOut::left_out(path, why)
            }
            FolderScanEvent::Unreadable(why) => {
                self.progress.clear();
                ui::print_failure(&CommandFailure::outside(format!("`{}` {why}", show::terminal_str(path))));
                self.total.unreadable.push((path.to_owned(), why.clone()));
                LineOut::unreadable(path, &why)
            }
        };
        if self.args.json { ui::print_json_document(&line.line()?) } else { Ok(()) }
    }

    /// Prints a file that has something to look at.
    fn show(&mut self, file: &FileScan) -> Result<(), CommandFailure> {
        if self.args.json || self.args.quiet || file.verdict == Verdict::Allow {
            return Ok(());
        }
        self.progress.clear();
        ui::print_listing(&listing::file_listing(file, listing::MarkStyle::of_stdout()))
    }

    fn summary(&self) -> Result<(), CommandFailure> {
        if self.args.quiet {
            return Ok(());
        }
        let mut out = listing::verdict_summary(&self.total.verdicts, self.total.unreadable.len());
        let most = self.options.folder_file_bytes;
        let counts: Vec<String> = SkipReason::ALL
            .into_iter()
            .map(|why| (why, self.left_out.iter().filter(|other| **other == why).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(why, count)| why.counted(count, most))
            .collect();
        if !counts.is_empty() {
            out.push_str(&format!("not scanned: {}\n", counts.join(", ")));
        }
        if self.args.json {
            ui::aside(&out);
            return Ok(());
        }
        ui::print_listing(&out)
    }
}
