//! `proem trust`: shows a project's files, asks, and keeps the answer.
//!
//! Invariants: only this command asks, only on a terminal, and once for all files. The bytes that were shown are the
//! bytes that become trusted.

mod editing;
pub(super) mod list;
pub(super) mod review;
mod revoke;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use proem_guard::show;

use crate::failure::CommandFailure;
use crate::ui;
use proem_app::operator::Consent;
use proem_app::trust::candidates::{Candidates, TrustCandidate, shortened_name_list};
use proem_app::trust::{FileReview, TrustPlace};
use proem_app::words::count_with_noun;
use review::trust_review;

pub(crate) const TRUST_EXAMPLES: &str = "\
Examples:
  proem trust                       # show what changed in all files, ask once
  proem trust AGENTS.md
  proem trust --lock .proem/book/book.lock   # all prompts that the lock pins, by one decision
  proem trust --while-editing .proem/book
  proem trust list
  proem trust revoke AGENTS.md";

#[derive(Debug, Parser)]
pub(crate) struct TrustArgs {
    /// Files to review; without any, all that Proem would read as trusted
    pub(crate) files: Vec<PathBuf>,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    pub(crate) root: PathBuf,
    /// Trust a file, or all files below a folder, until HEAD changes or a day has passed
    #[arg(long, value_name = "PATH", conflicts_with = "files")]
    pub(crate) while_editing: Option<PathBuf>,
    /// The lock of the project's book: trust it and every file that it pins, by one decision about the lock
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "while_editing", "sha256"])]
    pub(crate) lock: Option<PathBuf>,
    /// The hash of the version that was reviewed elsewhere; trusts one file without asking if it matches
    #[arg(long, value_name = "HEX", requires = "files")]
    pub(crate) sha256: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Option<TrustCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustCommand {
    /// List files with their state
    #[command(after_help = "Example:\n  proem trust list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop trusting files
    #[command(after_help = "Example:\n  proem trust revoke AGENTS.md")]
    Revoke {
        #[arg(required_unless_present = "all")]
        files: Vec<PathBuf>,
        /// Everything that was trusted in this repository
        #[arg(long)]
        all: bool,
    },
}

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn run_trust(args: &TrustArgs) -> Result<ExitCode, CommandFailure> {
    let place = TrustPlace::open(&args.root, &crate::user_places()?)?;
    match &args.command {
        Some(TrustCommand::List { json }) => list::run_trust_list(&place, *json),
        Some(TrustCommand::Revoke { files, all }) => revoke::run_trust_revoke(&place, files, *all),
        None if args.lock.is_some() => args.lock.iter().try_fold(ExitCode::SUCCESS, |_, lock| by_lock(&place, lock)),
        None => match (&args.while_editing, &args.sha256) {
            (Some(path), _) => editing::run_trust_editing(&place, path),
            (None, Some(hash)) => by_hash(&place, &args.files, hash),
            (None, None) => by_review(&place, &args.files),
        },
    }
}

/// Shows what isn't trusted and asks.
fn by_review(place: &TrustPlace, files: &[PathBuf]) -> Result<ExitCode, CommandFailure> {
    let candidates = place.candidates(files)?;
    let open: Vec<&TrustCandidate> = place.untrusted(&candidates.files);
    let reviewed: Vec<FileReview<'_>> = open.iter().map(|candidate| place.reviewed(candidate)).collect();
    let names: Vec<&str> = open.iter().map(|candidate| candidate.path.as_str()).collect();
    if names.is_empty() {
        ui::aside(&trust_review(&[], &candidates.refused));
        ui::aside(&format!("{}\n", nothing_to_trust(&candidates)));
        return Ok(ExitCode::SUCCESS);
    }
    let otherwise = if open.iter().all(|candidate| candidate.takes_a_person()) {
        "leave it as it is: until then a policy only makes your own narrower, and an agent calls nothing"
    } else {
        "review each file yourself and run `proem trust --sha256 HEX FILE`"
    };
    let mut operator = ui::operator(&format!("not trusted: {}", shortened_name_list(&names)), otherwise)?;
    ui::aside(&trust_review(&reviewed, &candidates.refused));
    let count = names.len();
    let question = if count == 1 { "Trust this file?".to_owned() } else { format!("Trust these {count} files?") };
    if ui::confirm(&mut operator, &question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    place.trust(&operator, &open)?;
    ui::aside(&format!("trusted {count} {}\n", if count == 1 { "file" } else { "files" }));
    Ok(ExitCode::SUCCESS)
}

/// Shows what changed in a lock, names the files that it pins, and asks once for all of them.
fn by_lock(place: &TrustPlace, lock: &Path) -> Result<ExitCode, CommandFailure> {
    let candidates = place.candidates(&[])?;
    let locked = place.locked(&candidates, lock)?;
    let open: Vec<&TrustCandidate> = std::iter::once(locked.lock)
        .chain(locked.files.iter().copied())
        .filter(|candidate| place.is_untrusted(candidate))
        .collect();
    let pinned = count_with_noun(locked.files.len() as u64, "file");
    if open.is_empty() {
        ui::aside(&format!("nothing to do: the lock and the {pinned} that it pins are already trusted\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let otherwise = "review the lock yourself and run `proem trust --sha256 HEX FILE` for each file that it pins";
    let mut operator = ui::operator(&format!("not trusted: the lock and the {pinned} that it pins"), otherwise)?;
    ui::aside(&trust_review(&[place.reviewed(locked.lock)], &[]));
    let mut out = String::new();
    for file in &open {
        out.push_str(&review::path_heading("  trusted with it: ", &file.path));
    }
    if let [first, ..] = locked.unpinned.as_slice() {
        let first = show::terminal_str(first);
        let rest = count_with_noun(locked.unpinned.len() as u64, "file");
        out.push_str(&format!("{rest} of the book, such as `{first}`, are not pinned and stay as they are\n"));
    }
    out.push_str("The lock has the hash of each file; `proem trust FILE` shows what one holds.\n");
    ui::aside(&out);
    let question = format!("Trust the lock and the {pinned} that it pins, as they are now?");
    if ui::confirm(&mut operator, &question)? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    place.trust(&operator, &open)?;
    ui::aside(&format!("trusted {}\n", count_with_noun(open.len() as u64, "file")));
    Ok(ExitCode::SUCCESS)
}

fn nothing_to_trust(candidates: &Candidates) -> String {
    match candidates.files.as_slice() {
        [] => format!("nothing to trust; {}", candidates.known()),
        [one] => {
            format!("nothing to do: `{}` is already trusted in its current version", show::terminal_str(&one.path))
        }
        all => format!("nothing to do: all {} files are already trusted in their current versions", all.len()),
    }
}

/// Trusts one file whose hash was reviewed elsewhere.
fn by_hash(place: &TrustPlace, files: &[PathBuf], wanted: &str) -> Result<ExitCode, CommandFailure> {
    let [file] = files else {
        return Err(CommandFailure::usage("`--sha256` takes one file; run the command once for each"));
    };
    let path = place.trust_hash(file, wanted)?;
    let shown = show::terminal_str(&path);
    ui::aside(&format!("trusted `{shown}`\n"));
    Ok(ExitCode::SUCCESS)
}
