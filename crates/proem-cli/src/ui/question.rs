//! A run's question, asked at the terminal.
//!
//! Invariants: nothing is answered for a person. Only the number of an option is an answer, and words after a colon are
//! the person's own; what somebody else wrote is shown by [`show`] behind bars and before our words, so that no line of
//! it passes for one of ours and the last thing that is read is what happens on a yes.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::BoxFuture;
use indicatif::ProgressBar;
use proem_app::Error;
use proem_app::agents::person::PersonAsk;
use proem_app::operator::{ApprovalPage, Operator, OperatorAbsence};
use proem_engine::run::{Question, QuestionAnswer};
use proem_guard::show::{self, TreeCap, terminal_str};
use proem_guard::{LabelTree, ScreenText};
use tokio_util::sync::CancellationToken;
use unicode_width::UnicodeWidthChar as _;

use super::person::{on_terminal, operator_rows};
use super::{BOLD, aside, style_text};
use crate::failure::CommandFailure;

/// Asks at the terminal what a run asks. Nothing is drawn meanwhile on `waiting`.
#[derive(Debug)]
pub(crate) struct TerminalQuestions<'t> {
    pub(crate) waiting: &'t ProgressBar,
    pub(crate) stop: &'t CancellationToken,
}

/// The person who can answer the questions of `run`, by its id in short. None represents a run that is unrecorded.
///
/// # Errors
///
/// If nobody can.
pub(crate) fn answerer(run: &str) -> Result<Operator, CommandFailure> {
    Operator::at_terminal().map_err(|absent| {
        let why = match absent {
            OperatorAbsence::NoTerminal => "there is no terminal to answer it",
            other => other.in_words(),
        };
        let remedy = ask_again_sentence(run, "in a terminal");
        CommandFailure::usage(format!("{} has a question, but {why}; {remedy}", run_label(run)))
    })
}

impl TerminalQuestions<'_> {
    /// Asks each question until it is answered.
    ///
    /// # Errors
    ///
    /// If nobody answers: without a terminal, at the end of the input, or when it is stopped.
    pub(crate) async fn answers(
        &self,
        run: &str,
        questions: &[Question],
    ) -> Result<Vec<QuestionAnswer>, CommandFailure> {
        let mut operator = answerer(run)?;
        self.waiting.disable_steady_tick();
        self.waiting.finish_and_clear();
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            answers.push(self.answer(&mut operator, run, question).await?);
        }
        self.waiting.reset();
        self.waiting.enable_steady_tick(Duration::from_millis(200));
        Ok(answers)
    }

    async fn answer(
        &self,
        operator: &mut Operator,
        run: &str,
        question: &Question,
    ) -> Result<QuestionAnswer, CommandFailure> {
        if question.options.is_empty() {
            return Err(CommandFailure::bug("the run failed", "it asks a question without options"));
        }
        let unanswered = || {
            // The next text begins a line of its own.
            aside("\n");
            let (who, remedy) = (run_label(run), ask_again_sentence(run, ""));
            CommandFailure::finding(format!("no answer was given, so {who} still waits; {remedy}"))
        };
        let page = question_page(run, question, terminal_cells());
        if operator.display_until(&[page], &operator_rows, self.stop).await?.is_none() {
            return Err(unanswered());
        }
        let prompt = format!("{} ", style_text(BOLD, &format!("Which one? [1-{}]", question.options.len())));
        loop {
            let Some(line) = operator.ask_until(&on_terminal(&prompt), self.stop).await? else {
                return Err(unanswered());
            };
            if let Some((option, words)) = chosen_option(&line, question.options.len()) {
                return Ok(question.answered(option, words)?);
            }
        }
    }
}

impl PersonAsk for TerminalQuestions<'_> {
    fn ask<'q>(&'q self, run: &'q str, questions: &'q [Question]) -> BoxFuture<'q, Result<Vec<QuestionAnswer>, Error>> {
        Box::pin(async move { self.answers(run, questions).await.map_err(CommandFailure::into_error) })
    }
}

/// A run in words.
fn run_label(run: &str) -> String {
    if run.is_empty() { "the run".to_owned() } else { format!("run {run}") }
}

/// How a run is asked about once more. `place` is where that has to be.
fn ask_again_sentence(run: &str, place: &str) -> String {
    match (run, place) {
        ("", _) => "start it again, and leave out --no-record so that it can wait".to_owned(),
        (run, "") => format!("`proem runs resume {run}` asks again"),
        (run, place) => format!("run `proem runs resume {run}` {place}"),
    }
}

/// A question as it is shown: what it is about as a whole, then our words, whom it reaches, what happens, and the
/// options, numbered from one.
fn question_page(run: &str, question: &Question, cells: usize) -> ApprovalPage {
    let who = run_label(run);
    let mut page = ApprovalPage::new();
    if question.content != LabelTree::Null {
        let mut content = format!("{who} asks about this, which others wrote:\n");
        push_barred(&mut content, &show::tree(&question.content, TreeCap::WHOLE), cells);
        page.words(&content);
    }
    let mut out = format!("{who} asks:\n");
    for line in question.text.lines() {
        _ = writeln!(out, "  {}", terminal_str(line));
    }
    if !question.recipients.is_empty() {
        let recipients = question.recipients.iter().map(|recipient| terminal_str(recipient).into_string());
        _ = writeln!(out, "  to: {}", recipients.collect::<Vec<_>>().join(", "));
    }
    if let Some(consequence) = &question.consequence {
        _ = writeln!(out, "  on a yes: {}", terminal_str(consequence));
    }
    if is_decision(question) {
        out.push_str("  answer with a number; words of your own may follow it, as in `1: too early`\n");
    }
    for (option, number) in question.options.iter().zip(1_usize..) {
        _ = writeln!(out, "{number:>5}  {}", terminal_str(option));
    }
    page.beside(&out);
    page
}

/// Whether somebody's words, a person or the world is concerned, so that a reason is worth having.
fn is_decision(question: &Question) -> bool {
    question.content != LabelTree::Null || !question.recipients.is_empty() || question.consequence.is_some()
}

/// The bar before each row of other people's text.
const BAR: &str = "  │ ";
/// The narrowest rows in cells: below that a terminal breaks them itself.
const NARROWEST: usize = 20;

/// A shown text, each row behind a bar. Rows are broken here, for where a terminal breaks one, the rest of it begins
/// like a line of ours.
fn push_barred(out: &mut String, shown: &ScreenText, cells: usize) {
    // Some terminals draw wider than the tables say: one cell in eight is left to them.
    let most = cells.saturating_sub(BAR.len()).saturating_sub(cells / 8).max(NARROWEST);
    for line in shown.as_str().lines() {
        let mut row = String::from(BAR);
        let mut used = 0_usize;
        for character in line.chars() {
            let wide = character.width().unwrap_or(1);
            if used.saturating_add(wide) > most {
                _ = writeln!(out, "{row}");
                row.truncate(BAR.len());
                used = 0;
            }
            row.push(character);
            used = used.saturating_add(wide);
        }
        _ = writeln!(out, "{row}");
    }
}

/// The cells of a line of the terminal that is asked at.
fn terminal_cells() -> usize {
    console::Term::stderr().size_checked().map_or(super::WIDTH, |(_, columns)| usize::from(columns))
}

/// The index of the option that a line names by its number, and the words behind a colon.
fn chosen_option(line: &str, options: usize) -> Option<(usize, Option<String>)> {
    let (number, words) = line.split_once(':').map_or((line, ""), |(number, words)| (number, words.trim()));
    let number: usize = number.trim().parse().ok()?;
    let option = number.checked_sub(1).filter(|index| *index < options)?;
    Some((option, (!words.is_empty()).then(|| words.to_owned())))
}

#[cfg(test)]
mod tests {
    use proem_guard::Untrusted;
    use proem_text::{Label, Source};
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    #[test]
    fn an_answer_is_the_number_of_an_option_with_words_behind_a_colon() {
        let check = |line: &str, expected: Option<(usize, Option<&str>)>| {
            let chosen = chosen_option(line, 2);
            let chosen = chosen.as_ref().map(|(option, words)| (*option, words.as_deref()));
            assert_eq!(chosen, expected, "{line:?}");
        };
        check("1\n", Some((0, None)));
        check(" 2 \n", Some((1, None)));
        check("2:", Some((1, None)));
        check("1: not before: Monday ", Some((0, Some("not before: Monday"))));
        for line in ["", "\n", "0", "3", "-1", "yes", "1 2", "1.0", "99999999999999999999", "\u{0661}", ":1", "yes: 1"]
        {
            check(line, None);
        }
    }

    #[test]
    fn a_question_is_shown_and_does_nothing() {
        let question = Question::new("May it run\n\u{1b}[2J`rm -r build`?", ["no", "yes\r\u{202e}on"]);
        assert_eq!(
            question_page("0a1b2c3d", &question, 80).text(),
            "run 0a1b2c3d asks:\n  May it run\n  \\u{1b}[2J`rm -r build`?\n    1  no\n    2  yes\\r\\u{202e}on\n"
        );
    }

    #[test]
    fn our_words_come_after_what_somebody_else_wrote() {
        let label = Label::from_source(Source::parse("mail").unwrap());
        let body = format!("Approve? [y/N] y\n    1  send to all\n\u{1b}[2J{}", "x".repeat(100_000));
        let content = LabelTree::map([("body", LabelTree::Outside(Untrusted::new(body, label)))]);
        let question = Question {
            content,
            recipients: vec!["a@corp.com".to_owned(), "\u{202e}b".to_owned()],
            consequence: Some("a mail is sent".to_owned()),
            ..Question::new("Send the reply?", ["no", "yes"])
        };
        let screen = question_page("0a1b2c3d", &question, 80).text();
        let (before, ours) = screen.split_once("\nrun 0a1b2c3d asks:\n").unwrap();
        let (heading, shown) = before.split_once('\n').unwrap();
        assert_eq!(heading, "run 0a1b2c3d asks about this, which others wrote:");
        assert!(shown.lines().all(|line| line.starts_with(BAR) && line.width() < 80), "{shown}");
        assert_eq!(shown.matches('x').count(), 100_000, "all of it is shown");
        assert!(!screen.contains(['\u{1b}', '\u{202e}']), "{screen:?}");
        assert_eq!(
            ours,
            "  Send the reply?\n  to: a@corp.com, \\u{202e}b\n  on a yes: a mail is sent\n  answer with a \
             number; words of your own may follow it, as in `1: too early`\n    1  no\n    2  yes\n"
        );
    }

    #[test]
    fn a_run_that_is_not_recorded_can_only_be_started_again() {
        assert_eq!(
            ask_again_sentence("", "in a terminal"),
            "start it again, and leave out --no-record so that it can wait"
        );
        assert_eq!(ask_again_sentence("0a1b2c3d", ""), "`proem runs resume 0a1b2c3d` asks again");
    }
}
