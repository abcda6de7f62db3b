//! An answer on a terminal, as it arrives.
//!
//! Invariants: what is written went through the same steps as a whole answer does — loaded secrets, credentials by
//! shape, [`show`] — each of which gives the same however the answer is cut into pieces. An attempt that broke off is
//! said to have, before another one begins.

use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use proem_guard::credential::CredentialStream;
use proem_guard::{Untrusted, show};
use proem_llm::caller::listener::TextListener;
use proem_llm::secret::{Secret, SecretStream};

use crate::failure::CommandFailure;

/// The message behind an attempt that broke off.
const BROKEN: &str = "the answer broke off here; the text above is not all of it";
/// The message if the whole answer differs from its pieces.
const OTHERWISE: &str = "the whole answer is not what arrived piece by piece; this is all of it:";

/// Writes an answer to standard output, which is a terminal, while it arrives.
pub(crate) struct AnswerScreen<'a> {
    secrets: &'a [Secret],
    /// The sign of waiting for an answer, until something of it is there.
    waiting: &'a ProgressBar,
    state: Mutex<ScreenState<'a>>,
}

struct ScreenState<'a> {
    /// The text of the current attempt so far.
    heard: String,
    steps: Steps<'a>,
    failed: Option<std::io::Error>,
}

/// The steps that a piece goes through.
struct Steps<'a> {
    secrets: SecretStream<'a>,
    shapes: CredentialStream,
    terminal: show::TerminalStream,
}

impl fmt::Debug for AnswerScreen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerScreen").finish_non_exhaustive()
    }
}

impl<'a> AnswerScreen<'a> {
    /// A screen on which nothing stands yet. None of `secrets` will.
    pub(crate) fn new(secrets: &'a [Secret], waiting: &'a ProgressBar) -> Self {
        let state = ScreenState { heard: String::new(), steps: Steps::new(secrets), failed: None };
        Self { secrets, waiting, state: Mutex::new(state) }
    }

    /// Writes what is still to be written of the answer. `None` is no answer.
    pub(crate) fn finish(&self, answer: Option<&str>) -> Result<(), CommandFailure> {
        self.waiting.finish_and_clear();
        let mut state = self.state();
        let rest = match answer {
            None => Some(""),
            Some(answer) => answer.strip_prefix(state.heard.as_str()),
        };
        if rest.is_none() {
            let steps = std::mem::replace(&mut state.steps, Steps::new(self.secrets));
            state.write(&steps.finish());
            super::print_note(OTHERWISE);
        }
        let more = rest.or(answer).unwrap_or_default();
        let shown = state.steps.push(more);
        let steps = std::mem::replace(&mut state.steps, Steps::new(self.secrets));
        state.write(&(shown + &steps.finish()));
        state.heard.clear();
        match state.failed.take() {
            None => Ok(()),
            Some(error) => Err(CommandFailure::outside(format!("could not write the output: {error}"))),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ScreenState<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends an attempt of which something was heard.
    fn break_off(&self) {
        let mut state = self.state();
        if state.heard.is_empty() {
            return;
        }
        // A possible beginning of a secret stays out: the next attempt could begin with the rest.
        let Steps { secrets: _, shapes, terminal } = std::mem::replace(&mut state.steps, Steps::new(self.secrets));
        state.write(&stream_tail(shapes, terminal));
        state.heard.clear();
        super::print_note(BROKEN);
    }
}

impl TextListener for AnswerScreen<'_> {
    fn begins(&self) {
        self.break_off();
    }

    fn hears(&self, more: &Untrusted<String>) {
        self.waiting.finish_and_clear();
        let text = show::exact_json(more);
        let Some(text) = text.as_str() else { return };
        let mut state = self.state();
        state.heard.push_str(text);
        let shown = state.steps.push(text);
        state.write(&shown);
    }

    fn breaks_off(&self) {
        self.break_off();
    }

    fn waits(&self, asked: Duration) {
        show_wait(self.waiting, asked);
    }
}

/// Hears only that a call is held up: its answer is printed when all of it is there.
#[derive(Debug)]
pub(crate) struct WaitNotes<'a>(pub(crate) &'a ProgressBar);

impl TextListener for WaitNotes<'_> {
    fn begins(&self) {}

    fn hears(&self, _more: &Untrusted<String>) {}

    fn breaks_off(&self) {}

    fn waits(&self, asked: Duration) {
        show_wait(self.0, asked);
    }
}

/// Says for how long nothing happens, and who wants it so.
fn show_wait(waiting: &ProgressBar, asked: Duration) {
    // Rounded up: whoever counts along is not to wait beyond it.
    let seconds = asked.as_millis().div_ceil(1_000);
    waiting.suspend(|| super::print_progress_note(&format!("waiting {seconds} s, as the server asked")));
}

impl ScreenState<'_> {
    fn write(&mut self, shown: &str) {
        if shown.is_empty() {
            return;
        }
        let mut out = std::io::stdout().lock();
        match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => self.failed = Some(error),
            _ => {}
        }
    }
}

impl<'a> Steps<'a> {
    fn new(secrets: &'a [Secret]) -> Self {
        Self {
            secrets: SecretStream::new(secrets),
            shapes: CredentialStream::new(),
            terminal: show::TerminalStream::new(),
        }
    }

    fn push(&mut self, piece: &str) -> String {
        let known = self.secrets.push(piece);
        self.terminal.push(&self.shapes.push(&known)).into_string()
    }

    fn finish(self) -> String {
        let Self { secrets, mut shapes, mut terminal } = self;
        let known = shapes.push(&secrets.finish());
        let shown = terminal.push(&known).into_string();
        shown + &stream_tail(shapes, terminal)
    }
}

/// The rest in the last two steps.
fn stream_tail(shapes: CredentialStream, mut terminal: show::TerminalStream) -> String {
    let shown = terminal.push(&shapes.finish()).into_string();
    shown + terminal.finish().as_str()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown<'p>(pieces: impl IntoIterator<Item = &'p str>) -> String {
        let secrets = [Secret::new("KEY", "sk-ant-api03-0123456789abcdef")];
        let mut steps = Steps::new(&secrets);
        let mut out: String = pieces.into_iter().map(|piece| steps.push(piece)).collect();
        out.push_str(&steps.finish());
        out
    }

    #[test]
    fn an_answer_is_shown_as_it_arrives() {
        let secrets = [Secret::new("KEY", "sk-ant-api03-0123456789abcdef")];
        let mut steps = Steps::new(&secrets);
        assert_eq!(steps.push("Hello"), "Hello");
        assert_eq!(steps.push(", the key is sk-ant-api03-"), ", the key is ");
        assert_eq!(steps.push("0123456789abcdef\u{1b}"), "[redacted:KEY]\\u{1b}");
        assert_eq!(steps.push("[2J and AKIAIOSFODNN7"), "[2J and ");
        assert_eq!(steps.push("ABCDEFG "), "[redacted:aws-key] ");
        assert_eq!(steps.finish(), "\n");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            text in r"(sk-ant-api03-|0123456789abcdef|AKIAIOSFODNN7ABCDEFG|\\|\r|\n|\x1b\[|%|u|s|k|[A-Za-z]{1,6}|пa|👍| ){0,30}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).filter_map(|cut| text.get(cut[0]..cut[1]));
            let whole = shown([text.as_str()]);
            prop_assert_eq!(shown(pieces), whole.as_str());
            prop_assert!(!whole.contains("sk-ant-api03-0123456789abcdef"));
            prop_assert!(whole.chars().all(|c| c == '\n' || !c.is_control()));
        }
    }
}
