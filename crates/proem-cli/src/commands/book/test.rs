//! `proem book test`: the cases of prompts, without a model and with one.

mod models;
mod output;
mod page;
mod table;

use std::process::ExitCode;

use proem_app::book::live::Asking;
use proem_app::book::test::{AssemblyState, BookCaseResult, Suite, suites};
use proem_app::project::{BookReading, OpenProject};
use proem_app::run::prompt_choice::book_of;
use proem_engine::prompt::book::Book;

use super::args::BookTest;
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) fn run_book_test(args: &BookTest) -> Result<ExitCode, CommandFailure> {
    let book = if args.live { trusted_book(args)? } else { super::open_book(&args.place)? };
    let (book, wanted) = match &args.prompt {
        Some(prompt) => book_of(prompt, book).map(|(book, name)| (book, Some(name)))?,
        None => (book, None),
    };
    let bench = AssemblyState::new()?;
    let (suites, untested) = suites(&book, wanted.as_deref())?;
    if !args.models.is_empty() && untested.is_empty() {
        return models::compare_models(args, &suites, &bench);
    }
    let mut tested = Vec::new();
    for suite in &suites {
        let mut of_suite = suite.test(&bench)?;
        if args.live {
            ask_cases(args, suite, &mut of_suite)?;
        }
        tested.append(&mut of_suite);
    }
    output::print_book_test(&tested, &untested, args.place.json)?;
    // A version that is not what was locked is no failed test: nothing can be said of it.
    let code = if untested.iter().any(|untested| untested.is_edited) {
        2
    } else {
        u8::from(!untested.is_empty() || tested.iter().any(|tested| !tested.passed))
    };
    Ok(ExitCode::from(code))
}

/// The book that a model is asked with: nothing in it is anybody's who isn't trusted.
fn trusted_book(args: &BookTest) -> Result<Book, CommandFailure> {
    Ok(OpenProject::open(&args.place.root, &crate::user_places()?, BookReading::Trusted)?.book()?)
}

/// Asks a model for every case of a suite that says what it should answer.
fn ask_cases(args: &BookTest, suite: &Suite, tested: &mut [BookCaseResult]) -> Result<(), CommandFailure> {
    let places = crate::user_places()?;
    let mut notes = Vec::new();
    let asking = Asking::new(&args.live(), suite, &places, &mut notes);
    ui::print_notes(&notes);
    let asking = asking?;
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = asking.begin(&mut notes).await;
        ui::print_notes(&notes);
        let asking = begun?;
        let done = asking.ask(tested, &stop).await;
        ui::print_notes(&asking.end().await);
        Ok(done?)
    })
}
