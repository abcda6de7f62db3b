//! `proem book lock`: the user's book and the project's, each with a lock of its own.

use std::process::ExitCode;

use proem_app::book::lock::{LockSummary, LockTarget, find_books, lock_book};

use super::args::BookPlace;
use super::count_with_plural;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run_book_lock(place: &BookPlace) -> Result<ExitCode, CommandFailure> {
    let targets = match &place.book {
        Some(folder) => vec![LockTarget::alone(folder)?],
        None => find_books(&place.root, &crate::user_places()?)?,
    };
    // A problem with one book keeps no other from being locked.
    let mut failures = Vec::new();
    for target in &targets {
        match lock_book(target) {
            Ok(locked) => ui::print_note(&lock_sentence(&locked)),
            Err(error) => failures.push(CommandFailure::from(error).to_string()),
        }
    }
    if failures.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(CommandFailure::finding(failures.join("\n"))) }
}

fn lock_sentence(locked: &LockSummary) -> String {
    let LockSummary { folder, versions, new } = locked;
    format!(
        "`{folder}`: {} locked, {new} of them new; a change to one of them needs a new version number from here on",
        count_with_plural(*versions, "version")
    )
}
