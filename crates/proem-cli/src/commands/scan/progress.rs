//! One line on standard error that is written over, for a person whose results go elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crate::ui::{self, grouped};

/// How long work may take without a word, and between two words.
const SILENCE: Duration = Duration::from_secs(1);

/// What is said while work goes on.
pub(super) struct ScanProgress {
    what: &'static str,
    watched: bool,
    last: Instant,
    shown: bool,
}

impl ScanProgress {
    /// `what` is counted, such as `files`.
    pub(super) fn new(what: &'static str) -> Self {
        Self::watched(what, std::io::stderr().is_terminal() && !std::io::stdout().is_terminal())
    }

    /// The same where results are few, so that a person waits even if they go to the terminal.
    pub(super) fn of_few_results(what: &'static str) -> Self {
        Self::watched(what, std::io::stderr().is_terminal())
    }

    fn watched(what: &'static str, watched: bool) -> Self {
        Self { what, watched, last: Instant::now(), shown: false }
    }

    /// Says how far it is; `all` is 0 where nobody knows.
    pub(super) fn tell(&mut self, done: usize, all: usize) {
        if self.watched && self.last.elapsed() > SILENCE {
            let of = if all > 0 { format!(" of {}", grouped(all)) } else { String::new() };
            ui::aside(&format!("\r{}{of} {}", grouped(done), self.what));
            (self.last, self.shown) = (Instant::now(), true);
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if self.shown {
            ui::aside("\r\u{1b}[K");
            self.shown = false;
        }
    }
}
