//! `proem scan FOLDER`: looks at what git tracks, says little, and counts what it did not look at.
//!
//! Files that a project keeps are ordinary ones, so only those with something to look at are shown. Their
//! names are foreign text.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proem_guard::{Verdict, show};
use proem_runtime::files::{Content, read_beneath};
use proem_runtime::folder::{EntryKind, FolderListing, Origin, list};
use proem_runtime::readers::{Ask, Document, Gap, GapReason, Rest, Surroundings, extract};
use proem_runtime::{Environment, Error};

use super::examine::{Cutting, Examined, examine};
use super::output::LineOut;
use super::{Total, listing, name, progress::Progress, read};
use crate::args::{FailOn, Scan};
use crate::failure::Failure;
use crate::ui::{self, grouped};
use proem_app::guarding::Guarding;

/// Why a path of a folder was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOut {
    Binary,
    TooLarge,
    Link,
    Submodule,
    Special,
    Missing,
}

impl LeftOut {
    const ALL: [Self; 6] = [Self::Binary, Self::TooLarge, Self::Link, Self::Submodule, Self::Special, Self::Missing];

    /// The word used in JSON.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too-large",
            Self::Link => "link",
            Self::Submodule => "submodule",
            Self::Special => "special",
            Self::Missing => "missing",
        }
    }

    /// How many there are, in words.
    fn counted(self, count: usize, most: usize) -> String {
        let number = grouped(count);
        match self {
            Self::Binary => format!("{number} binary"),
            Self::TooLarge => format!("{number} larger than {} bytes", grouped(most)),
            Self::Link if count == 1 => format!("{number} link"),
            Self::Link => format!("{number} links"),
            Self::Submodule if count == 1 => format!("{number} submodule"),
            Self::Submodule => format!("{number} submodules"),
            Self::Special => format!("{number} that are not regular files"),
            Self::Missing => format!("{number} missing from the work tree"),
        }
    }
}

/// What came of one path.
enum Looked {
    At(Document),
    LeftOut(LeftOut),
    Unreadable(String),
}

/// A run over all arguments.
struct Run<'a> {
    guarding: &'a Guarding,
    args: &'a Scan,
    total: Total,
    left_out: Vec<LeftOut>,
    progress: Progress,
}

pub(super) fn run(guarding: &Guarding, args: &Scan) -> Result<ExitCode, Failure> {
    if args.cut {
        return Err(Failure::usage("`--cut` prints the text of files, not of folders; name a file"));
    }
    let progress = Progress::of_few_results("files");
    let mut run = Run { guarding, args, total: Total::default(), left_out: Vec::new(), progress };
    for path in &args.files {
        if path.is_dir() {
            run.folder(path)?;
        } else {
            let looked = read(path, args).map_or_else(|error| Looked::Unreadable(error.to_string()), Looked::At);
            run.take(&name(path), looked)?;
        }
    }
    run.progress.clear();
    run.summary()?;
    Ok(run.total.code(args.fail_on.unwrap_or(FailOn::Quarantine)))
}

impl Run<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let FolderListing { entries, origin } = list(&Environment::inherited(), folder)?;
        for (number, entry) in entries.iter().enumerate() {
            self.progress.tell(number, entries.len());
            let shown = name(&named(folder, &entry.path));
            let looked = match entry.kind {
                EntryKind::File => self.look(folder, &entry.path),
                EntryKind::Link => Looked::LeftOut(LeftOut::Link),
                EntryKind::Submodule => Looked::LeftOut(LeftOut::Submodule),
                EntryKind::Special => Looked::LeftOut(LeftOut::Special),
            };
            self.take(&shown, looked)?;
        }
        self.progress.clear();
        if let Some(note) = note(&show::terminal_str(&name(folder)).to_string(), entries.len(), origin) {
            ui::note(&note);
        }
        Ok(())
    }

    /// Reads a file of a folder.
    fn look(&self, folder: &Path, relative: &Path) -> Looked {
        let bytes = match read_beneath(folder, relative, self.args.folder_file_bytes()) {
            Ok(Some(Content::Whole(bytes))) => bytes,
            Ok(Some(Content::Cut(_))) => return Looked::LeftOut(LeftOut::TooLarge),
            Ok(None) => return Looked::LeftOut(LeftOut::Missing),
            // What was a file when it was listed.
            Err(Error::Link { .. }) => return Looked::LeftOut(LeftOut::Link),
            Err(Error::NotRegular { .. }) => return Looked::LeftOut(LeftOut::Special),
            Err(error) => return Looked::Unreadable(error.to_string()),
        };
        let (kind, source) = (self.args.kind.map(Into::into), self.args.source.clone());
        let surroundings = Surroundings::Project;
        let ask = Ask { name: Some(relative), kind, surroundings, source, ..Ask::default() };
        let mut document = extract(&bytes, Rest::Nothing, &ask);
        let is_text = |gap: &Gap| gap.reason != GapReason::NotText;
        if document.fields.is_empty() && !document.gaps.iter().all(is_text) {
            return Looked::LeftOut(LeftOut::Binary);
        }
        // Sources in another character set were read all the same, but for some letters.
        document.gaps.retain(|gap| !matches!(gap.reason, GapReason::Replaced | GapReason::Unknown));
        Looked::At(document)
    }

    fn take(&mut self, path: &str, looked: Looked) -> Result<(), Failure> {
        let line = match looked {
            Looked::At(document) => {
                let source = self.args.source.as_ref();
                let file = examine(self.guarding, (path.to_owned(), document), source, Cutting::NotWanted);
                self.total.verdicts.push(file.verdict);
                self.show(&file)?;
                LineOut::file(&file)
            }
            Looked::LeftOut(why) => {
                self.left_out.push(why);
                LineOut::left_out(path, why.as_str())
            }
            Looked::Unreadable(why) => {
                self.progress.clear();
                ui::error(&Failure::outside(format!("`{}` {why}", show::terminal_str(path))));
                self.total.unreadable.push((path.to_owned(), why.clone()));
                LineOut::unreadable(path, &why)
            }
        };
        if self.args.json { ui::data(&line.line()?) } else { Ok(()) }
    }

    /// Prints a file that has something to look at.
    fn show(&mut self, file: &Examined) -> Result<(), Failure> {
        if self.args.json || file.verdict == Verdict::Allow {
            return Ok(());
        }
        self.progress.clear();
        ui::listing(&listing::file(file, listing::Marking::of_stdout()))
    }

    fn summary(&self) -> Result<(), Failure> {
        let mut out = listing::summary(&self.total.verdicts, self.total.unreadable.len());
        let most = self.args.folder_file_bytes();
        let counts: Vec<String> = LeftOut::ALL
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
        ui::listing(&out)
    }
}

/// A path as a person would write it: below `.` without it.
fn named(folder: &Path, relative: &Path) -> PathBuf {
    if folder == Path::new(".") { relative.to_path_buf() } else { folder.join(relative) }
}

/// What a person should know about which files were meant.
fn note(folder: &str, count: usize, origin: Origin) -> Option<String> {
    match origin {
        Origin::NoRepository => Some(format!("`{folder}` is not in a git repository; all of its files were scanned")),
        Origin::NoGit => Some(format!("git was not found; all files of `{folder}` were scanned")),
        Origin::Tracked { untracked: None } => {
            Some(format!("git lists the tracked files of `{folder}`, but the number of untracked files is unknown"))
        }
        Origin::Tracked { untracked: Some(0) } if count > 0 => None,
        Origin::Tracked { untracked: Some(0) } => {
            Some(format!("git tracks nothing in `{folder}`; name its files to scan them"))
        }
        Origin::Tracked { untracked: Some(1) } => {
            Some(format!("1 file of `{folder}` that git doesn't track was not scanned"))
        }
        Origin::Tracked { untracked: Some(more) } => {
            Some(format!("{} files of `{folder}` that git doesn't track were not scanned", grouped(more)))
        }
    }
}
