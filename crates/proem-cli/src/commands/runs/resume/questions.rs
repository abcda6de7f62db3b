//! What a run asks, asked at the terminal.
//!
//! Invariants: nothing is answered for a person; only the number of an option is an answer; a question's
//! words are shown so that they can't act on the terminal.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::ProgressBar;
use proem_engine::run::{Question, QuestionAnswer};
use proem_guard::show::terminal_str;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, styled};

/// Refuses to go on where nobody can be asked; `run` is the run's id in short.
pub(super) fn on_terminal(run: &str) -> Result<(), CommandFailure> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(CommandFailure::usage(format!(
        "run {run} has a question, but there is no terminal to answer it; run `proem runs resume {run}` in a terminal"
    )))
}

/// Asks each question until it is answered; nothing is drawn meanwhile on `waiting`.
///
/// # Errors
///
/// If nobody answers: without a terminal, at the end of the input, or when `stop` is cancelled.
pub(super) async fn ask(
    run: &str,
    questions: &[Question],
    waiting: &ProgressBar,
    stop: &CancellationToken,
) -> Result<Vec<QuestionAnswer>, CommandFailure> {
    on_terminal(run)?;
    waiting.disable_steady_tick();
    waiting.finish_and_clear();
    let mut answers = Vec::with_capacity(questions.len());
    for question in questions {
        if question.options.is_empty() {
            return Err(CommandFailure::bug("the run failed", "it asks a question without options"));
        }
        ui::aside(&shown(run, question));
        let option = loop {
            ui::aside(&format!("{} ", styled(BOLD, &format!("Which one? [1-{}]", question.options.len()))));
            let Some(line) = line(stop).await? else {
                // What follows begins a line of its own.
                ui::aside("\n");
                return Err(CommandFailure::finding(format!(
                    "no answer was given, so run {run} still waits; `proem runs resume {run}` asks again"
                )));
            };
            if let Some(option) = chosen(&line, question.options.len()) {
                break option;
            }
        };
        answers.push(QuestionAnswer { option: Some(option) });
    }
    waiting.reset();
    waiting.enable_steady_tick(Duration::from_millis(200));
    Ok(answers)
}

/// A question with its options, numbered from one.
fn shown(run: &str, question: &Question) -> String {
    let mut out = format!("run {run} asks:\n");
    for line in question.text.lines() {
        _ = writeln!(out, "  {}", terminal_str(line));
    }
    for (option, number) in question.options.iter().zip(1_usize..) {
        _ = writeln!(out, "{number:>5}  {}", terminal_str(option));
    }
    out
}

/// The index of the option that a line names by its number.
fn chosen(line: &str, options: usize) -> Option<usize> {
    let number: usize = line.trim().parse().ok()?;
    number.checked_sub(1).filter(|index| *index < options)
}

/// One line of standard input; `None` at its end, or when it is waited for no longer.
///
/// The read is left to a thread of its own, for it can't be broken off.
async fn line(stop: &CancellationToken) -> Result<Option<String>, CommandFailure> {
    let failed = |error: std::io::Error| CommandFailure::outside(format!("could not read the answer: {error}"));
    let (read, line) = oneshot::channel();
    let reading = std::thread::Builder::new().name("proem-answer".to_owned()).spawn(move || {
        let mut line = String::new();
        // Who asked may have given up.
        _ = read.send(std::io::stdin().read_line(&mut line).map(|bytes| (bytes > 0).then_some(line)));
    });
    reading.map_err(failed)?;
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(None),
        line = line => line.unwrap_or(Ok(None)).map_err(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_number_of_an_option() {
        let check = |line: &str, expected: Option<usize>| assert_eq!(chosen(line, 2), expected, "{line:?}");
        check("1\n", Some(0));
        check(" 2 \n", Some(1));
        for line in ["", "\n", "0", "3", "-1", "yes", "1 2", "1.0", "99999999999999999999", "\u{0661}"] {
            check(line, None);
        }
    }

    #[test]
    fn a_question_is_shown_and_does_nothing() {
        let question = Question {
            text: "May it run\n\u{1b}[2J`rm -r build`?".to_owned(),
            options: vec!["no".to_owned(), "yes\r\u{202e}on".to_owned()],
        };
        assert_eq!(
            shown("0a1b2c3d", &question),
            "run 0a1b2c3d asks:\n  May it run\n  \\u{1b}[2J`rm -r build`?\n    1  no\n    2  yes\\r\\u{202e}on\n"
        );
    }

    #[tokio::test]
    async fn without_a_terminal_nobody_is_asked() {
        let question = Question { text: "Go on?".to_owned(), options: vec!["yes".to_owned()] };
        let (bar, stop) = (ProgressBar::hidden(), CancellationToken::new());
        if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            eprintln!("SKIPPED: this test sits at a terminal");
            return;
        }
        assert!(ask("0a1b2c3d", &[question], &bar, &stop).await.is_err());
    }
}
