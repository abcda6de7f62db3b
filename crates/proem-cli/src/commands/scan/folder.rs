//! `proem scan FOLDER`: looks at what git tracks, says little, and counts what it did not look at.
//!
//! Only files with something to look at are shown. Their names are foreign text.

use std::path::Path;
use std::process::ExitCode;

use proem_guard::{Verdict, show};

use super::{Total, listing, name, progress::Progress, read};
use crate::args::{FailOn, Scan};
use crate::failure::Failure;
use crate::ui;
use proem_app::guarding::Guarding;
use proem_app::scan::ScanOptions;
use proem_app::scan::examine::{Cutting, Examined, examine};
use proem_app::scan::folder::{Folder, LeftOut, Seen};
use proem_app::scan::output::LineOut;

/// A run over all arguments.
struct Run<'a> {
    guarding: &'a Guarding,
    args: &'a Scan,
    options: &'a ScanOptions,
    total: Total,
    left_out: Vec<LeftOut>,
    progress: Progress,
}

pub(super) fn run(guarding: &Guarding, args: &Scan, options: &ScanOptions) -> Result<ExitCode, Failure> {
    if args.cut {
        return Err(Failure::usage("`--cut` prints the text of files, not of folders; name a file"));
    }
    let progress = Progress::of_few_results("files");
    let mut run = Run { guarding, args, options, total: Total::default(), left_out: Vec::new(), progress };
    for path in &args.files {
        if path.is_dir() {
            run.folder(path)?;
        } else {
            let name = name(path);
            let seen = read(path, options).map_or_else(
                |error| Seen::Unreadable(error.to_string()),
                |document| {
                    let file = (name.clone(), document);
                    Seen::File(examine(guarding, file, options.source.as_ref(), Cutting::NotWanted))
                },
            );
            run.take(&name, seen)?;
        }
    }
    run.progress.clear();
    run.summary()?;
    Ok(run.total.code(args.fail_on.unwrap_or(FailOn::Quarantine)))
}

impl Run<'_> {
    fn folder(&mut self, path: &Path) -> Result<(), Failure> {
        let folder = Folder::list(path)?;
        for (number, entry) in folder.entries().iter().enumerate() {
            self.progress.tell(number, folder.entries().len());
            let seen = folder.look(entry, self.guarding, self.options);
            self.take(&folder.name(entry), seen)?;
        }
        self.progress.clear();
        ui::notes(&folder.note(show::terminal_str(&name(path)).as_str()));
        Ok(())
    }

    fn take(&mut self, path: &str, seen: Seen) -> Result<(), Failure> {
        let line = match seen {
            Seen::File(file) => {
                self.total.verdicts.push(file.verdict);
                self.show(&file)?;
                LineOut::file(&file)
            }
            Seen::LeftOut(why) => {
                self.left_out.push(why);
                LineOut::left_out(path, why)
            }
            Seen::Unreadable(why) => {
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
        let most = self.options.folder_file_bytes;
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
