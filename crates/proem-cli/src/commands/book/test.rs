//! `proem book test`: the cases of prompts, without a model and with one.

mod junit;
mod markdown;
mod models;
pub(crate) mod output;
mod page;
mod table;

use std::process::ExitCode;

use proem_app::book::live::{Asking, LiveOptions};
use proem_app::book::repeats::SuiteRepeats;
use proem_app::book::test::{AssemblyState, BookCaseResult, Suite, UntestedPrompt, suites};
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
        return models::compare_models(args, &book, &suites, &bench);
    }
    let (mut tested, mut repeats) = (Vec::new(), Vec::new());
    for (index, suite) in suites.iter().enumerate() {
        let mut of_suite = suite.test(&bench)?;
        if args.live && suite.has_live_cases() {
            let mut options = args.live();
            if suites.len() > 1 {
                options.carriage = options.carriage.within_part(&format!("prompt-{:02}", index.saturating_add(1)));
            }
            repeats.extend(ask_cases(&options, &book, suite, &mut of_suite)?);
        }
        tested.append(&mut of_suite);
    }
    let results = BookTestResults { tested: &tested, untested: &untested, repeats: &repeats };
    if args.place.json {
        output::print_json(&results)?;
    } else if args.markdown {
        ui::print_report(&markdown::results_table(&results))?;
    } else {
        output::print_book_test(&results)?;
    }
    if let Some(file) = &args.junit {
        ui::write_text_file(file, &junit::results_document(&results))?;
    }
    // A version that is not what was locked is no failed test: nothing can be said of it.
    let code = if untested.iter().any(|untested| untested.is_edited) {
        2
    } else {
        u8::from(!untested.is_empty() || tested.iter().any(|tested| !tested.passed))
    };
    Ok(ExitCode::from(code))
}

/// The results of a command's tests.
pub(super) struct BookTestResults<'r> {
    /// The cases, prompt by prompt.
    tested: &'r [BookCaseResult],
    /// The prompts whose cases could not be run.
    untested: &'r [UntestedPrompt],
    /// The repeated answers of the prompts that a model was asked with.
    repeats: &'r [SuiteRepeats],
}

impl BookTestResults<'_> {
    fn failed(&self) -> usize {
        self.tested.iter().filter(|tested| !tested.passed).count()
    }

    /// The cases of each prompt.
    fn by_prompt(&self) -> impl Iterator<Item = (&str, &[BookCaseResult])> {
        let parts = self.tested.chunk_by(|one, next| one.prompt == next.prompt);
        parts.filter_map(|cases| Some((cases.first()?.prompt.as_str(), cases)))
    }

    /// The findings about a prompt's repeated answers.
    fn repeat_lines(&self, prompt: &str) -> Vec<String> {
        self.repeats.iter().filter(|repeats| repeats.prompt == prompt).flat_map(SuiteRepeats::lines).collect()
    }
}

/// The book that a model is asked with: nothing in it is anybody's who isn't trusted.
fn trusted_book(args: &BookTest) -> Result<Book, CommandFailure> {
    Ok(OpenProject::open(&args.place.root, &crate::user_places()?, BookReading::Trusted)?.book()?)
}

/// Asks a model for every case of a suite that says what it should answer.
fn ask_cases(
    options: &LiveOptions,
    book: &Book,
    suite: &Suite,
    tested: &mut [BookCaseResult],
) -> Result<Option<SuiteRepeats>, CommandFailure> {
    let places = crate::user_places()?;
    let mut notes = Vec::new();
    let asking = Asking::new(options, suite, book, &places, &mut notes);
    ui::print_notes(&notes);
    let asking = asking?;
    calling(async |stop| {
        let mut notes = Vec::new();
        let begun = asking.begin(&mut notes).await;
        ui::print_notes(&notes);
        let asking = begun?;
        let done = asking.ask(tested, &stop).await;
        let graders = asking.graders().to_vec();
        ui::print_notes(&asking.end().await);
        done?;
        Ok(SuiteRepeats::of(tested, options.times.get(), &graders))
    })
}
