//! `proem scan FOLDER` and `--diff`: looks at what git tracks, says little, and counts what it did not look at.
//!
//! Only files with something to look at are shown. Their names are foreign text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::civil::Date;
use proem_app::guarding::GuardSetup;
use proem_app::scan::ScanOptions;
use proem_app::scan::acceptances::{
    ACCEPTED_BYTES, ACCEPTED_FILE, AcceptanceTerms, AcceptedEntry, AcceptedFindings, EntryEnd, parse_day,
};
use proem_app::scan::examine::{FileScan, scan_document};
use proem_app::scan::folder::{Folder, FolderScanEvent, SkipReason};
use proem_app::scan::output::LineOut;
use proem_app::when::{iso_date, time_now};
use proem_guard::{Verdict, show};
use proem_runtime::files::{FileAccess, read_text, replace_file};

use super::args::ScanArgs;
use super::{Total, listing, page, read_document, report, report_file_name};
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun, group_thousands};

/// The most folders that the summary names, and archives.
const FOLDERS: usize = 10;
const ARCHIVES: usize = 5;

/// A run over all arguments.
struct FolderScan<'a> {
    guarding: &'a GuardSetup,
    args: &'a ScanArgs,
    options: &'a ScanOptions,
    today: Date,
    total: Total,
    left_out: Vec<SkipReason>,
    archives: Vec<String>,
    /// How many files of each folder have each verdict, if it is more than allow.
    folders: BTreeMap<String, BTreeMap<Verdict, usize>>,
    accepted: AcceptedFindings,
    accepted_count: u64,
    /// The ids to accept that were found, and their entries.
    newly: (BTreeSet<String>, Vec<AcceptedEntry>),
    /// The files with findings, for forms that are printed in the end.
    findings: Vec<FileScan>,
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
    let today = parse_day(&iso_date(time_now(), &jiff::tz::TimeZone::UTC)).unwrap_or_default();
    let mut run = FolderScan {
        guarding,
        args,
        options,
        today,
        total: Total::default(),
        left_out: Vec::new(),
        archives: Vec::new(),
        folders: BTreeMap::new(),
        accepted: known_acceptances(args, today)?,
        accepted_count: 0,
        newly: Default::default(),
        findings: Vec::new(),
        progress: ui::CountLine::of_few_results("files"),
    };
    run.scan()?;
    run.progress.clear();
    if !args.accept.is_empty() {
        return run.write_acceptances();
    }
    run.summary()?;
    Ok(run.total.code(args.threshold()))
}

/// The file of accepted findings that the arguments name, or the usual one of the working folder to add to.
fn acceptance_file(args: &ScanArgs) -> PathBuf {
    args.baseline.clone().unwrap_or_else(|| PathBuf::from(ACCEPTED_FILE))
}

/// The accepted findings that count. A file of the repository's own only counts if the user names it, because whoever
/// wrote the repository wrote it too.
fn known_acceptances(args: &ScanArgs, today: Date) -> Result<AcceptedFindings, CommandFailure> {
    let path = acceptance_file(args);
    let shown = show::terminal_str(&report_file_name(&path)).into_string();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let base = folder.canonicalize().map_err(|error| CommandFailure::outside(format!("`{shown}`: {error}")))?;
    let is_wanted = args.baseline.is_some() || !args.accept.is_empty();
    if !is_wanted {
        if args.diff.is_none() && !args.exit_code_only && path.is_file() {
            ui::print_note(&format!("`{shown}` is not used; add `--baseline {shown}` if you trust it"));
        }
        return Ok(AcceptedFindings::default());
    }
    let text = match read_text(&path, ACCEPTED_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !args.accept.is_empty() => String::new(),
        Err(error) => return Err(CommandFailure::outside(format!("`{shown}` can't be read: {error}"))),
    };
    Ok(AcceptedFindings::parse(&text, &report_file_name(&path), base, today)?)
}

impl FolderScan<'_> {
    fn scan(&mut self) -> Result<(), CommandFailure> {
        if let Some(path) = &self.args.agent_files {
            return self.folder(path, &[]);
        }
        if self.args.diff.is_some() {
            return self.folder(Path::new("."), &self.args.files);
        }
        for path in &self.args.files {
            if path.is_dir() {
                self.folder(path, &[])?;
                continue;
            }
            let name = report_file_name(path);
            let seen = read_document(path, self.options).map_or_else(
                |error| FolderScanEvent::Unreadable(error.to_string()),
                |document| {
                    let source = self.options.source.as_ref();
                    let detail = self.options.detail;
                    FolderScanEvent::File(scan_document(self.guarding, name.clone(), document, source, detail))
                },
            );
            let at = path.canonicalize().unwrap_or_else(|_| path.clone());
            self.take(&name, &at, seen)?;
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path, only: &[PathBuf]) -> Result<(), CommandFailure> {
        let mut folder = Folder::list(path, &self.args.selection(), self.args.scope())?;
        if !only.is_empty() {
            folder.restrict(only);
        }
        if self.args.baseline.is_none()
            && let Some(accepted) = folder.accepted_at_base(self.today)?
        {
            self.accepted = accepted;
        }
        let count = folder.entries().len();
        let (guarding, options) = (self.guarding, self.options);
        folder.look_at_all(guarding, options, |number, entry, seen| {
            self.progress.tell(number, count);
            self.take(&folder.name(entry), &folder.place(entry), seen)
        })?;
        self.progress.clear();
        if !self.args.exit_code_only {
            ui::print_notes(&folder.note(show::terminal_str(&report_file_name(path)).as_str()));
        }
        Ok(())
    }

    fn take(&mut self, path: &str, at: &Path, seen: FolderScanEvent) -> Result<(), CommandFailure> {
        let line = match seen {
            FolderScanEvent::File(mut file) => {
                self.accepted_count = self.accepted_count.saturating_add(self.accepted.apply(at, &mut file));
                self.accept_wanted(at, &file);
                self.total.verdicts.push(file.verdict);
                self.count_in_folder(&file);
                self.show(&file)?;
                let line = LineOut::file(&file);
                if (self.args.sarif || self.args.markdown || self.args.html.is_some()) && file.verdict > Verdict::Allow
                {
                    self.findings.push(file);
                }
                line
            }
            FolderScanEvent::LeftOut(why) => {
                self.left_out.push(why);
                if why == SkipReason::Archive {
                    self.archives.push(path.to_owned());
                }
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

    /// Keeps an entry for each finding of the file that `--accept` names.
    fn accept_wanted(&mut self, at: &Path, file: &FileScan) {
        let terms = AcceptanceTerms { because: self.args.because.clone().unwrap_or_default(), until: self.args.until };
        for id in &self.args.accept {
            if let Some(entry) = self.accepted.entry_for(id, at, file, &terms) {
                self.newly.0.insert(id.clone());
                self.newly.1.push(entry);
            }
        }
    }

    fn write_acceptances(self) -> Result<ExitCode, CommandFailure> {
        let (found, entries) = self.newly;
        if let Some(id) = self.args.accept.iter().find(|id| !found.contains(*id)) {
            let shown = show::terminal_str(id);
            let remedy = "ids are in brackets behind each finding; name the files that have it";
            return Err(CommandFailure::usage(format!("nothing found has the id `{shown}`; {remedy}")));
        }
        let path = acceptance_file(self.args);
        let count = count_with_noun(u64::try_from(entries.len()).unwrap_or(u64::MAX), "place");
        let text = self.accepted.with_entries(entries)?;
        let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        replace_file(folder, Path::new(name), text.as_bytes(), FileAccess::Shared)?;
        let shown = show::terminal_str(&report_file_name(&path)).into_string();
        ui::aside(&format!("accepted {count} in {shown}; scan with `--baseline {shown}`, and commit it\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Prints a file that has something to look at.
    fn show(&mut self, file: &FileScan) -> Result<(), CommandFailure> {
        let is_listed = !(self.args.json || self.args.exit_code_only || self.args.sarif || self.args.markdown);
        if !is_listed || !self.args.accept.is_empty() || file.verdict == Verdict::Allow {
            return Ok(());
        }
        self.progress.clear();
        ui::print_listing(&listing::file_listing(file, listing::MarkStyle::of_stdout()))
    }

    fn count_in_folder(&mut self, file: &FileScan) {
        if file.verdict > Verdict::Allow {
            let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
            let count = self.folders.entry(folder).or_default().entry(file.verdict).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn summary(&self) -> Result<(), CommandFailure> {
        if let Some(path) = &self.args.html {
            ui::write_text_file(path, &page::scan_page(&self.findings, &self.summary_text()))?;
        }
        if self.args.exit_code_only {
            return Ok(());
        }
        let out = self.summary_text();
        if self.args.sarif {
            let ended = self.accepted.ended();
            ui::print_json_document(&proem_text::json::pretty(&report::sarif_log(&self.findings, &ended)?))?;
        } else if self.args.markdown {
            return ui::print_report(&report::markdown_table(&self.findings, &out));
        } else if !self.args.json {
            return ui::print_listing(&out);
        }
        ui::aside(&out);
        Ok(())
    }

    fn summary_text(&self) -> String {
        let is_empty = self.total.verdicts.is_empty() && self.total.unreadable.is_empty();
        let mut out = if self.args.agent_files.is_some() && is_empty {
            "no files that coding agents load or run\n".to_owned()
        } else {
            listing::verdict_summary(&self.total.verdicts, self.total.unreadable.len())
        };
        if self.folders.len() > 1 {
            out.push_str(&self.folder_lines());
        }
        if self.accepted_count > 0 {
            out.push_str(&format!("accepted earlier: {}\n", count_with_noun(self.accepted_count, "finding")));
        }
        for (entry, end) in self.accepted.ended() {
            let (path, rule) = (show::terminal_str(&entry.path), show::terminal_str(&entry.rule));
            let why = match end {
                EntryEnd::Expired => "has expired; look again",
                EntryEnd::Unmatched => "matches nothing; remove it",
            };
            out.push_str(&format!("accepted earlier: {rule} in {path} {why}\n"));
        }
        let most = self.options.folder_file_bytes;
        let counts: Vec<String> = SkipReason::ALL
            .into_iter()
            .map(|why| (why, self.left_out.iter().filter(|other| **other == why).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(why, count)| match why {
                SkipReason::Archive => format!("{} ({})", why.counted(count, most), self.archive_names()),
                _ => why.counted(count, most),
            })
            .collect();
        if !counts.is_empty() {
            out.push_str(&format!("not scanned: {}\n", counts.join(", ")));
        }
        out
    }

    fn archive_names(&self) -> String {
        let names = self.archives.iter().take(ARCHIVES).map(|name| show::terminal_str(name).into_string());
        let mut names: Vec<String> = names.collect();
        if self.archives.len() > ARCHIVES {
            names.push("…".to_owned());
        }
        names.join(", ")
    }

    /// The folders with the most files to look at.
    fn folder_lines(&self) -> String {
        let sum = |verdicts: &BTreeMap<Verdict, usize>| verdicts.values().sum::<usize>();
        let mut folders: Vec<_> = self.folders.iter().collect();
        folders.sort_by_key(|(name, verdicts)| (std::cmp::Reverse(sum(verdicts)), *name));
        let mut out = String::new();
        for (name, verdicts) in folders.iter().take(FOLDERS) {
            let counts = verdicts
                .iter()
                .rev()
                .map(|(verdict, count)| format!("{} {}", group_thousands(*count), verdict.as_str()));
            let counts: Vec<String> = counts.collect();
            out.push_str(&format!("  in {}: {}\n", show::terminal_str(name), counts.join(", ")));
        }
        if let more @ 1.. = folders.len().saturating_sub(FOLDERS) {
            out.push_str(&format!("  and in {more} more folders\n"));
        }
        out
    }
}
