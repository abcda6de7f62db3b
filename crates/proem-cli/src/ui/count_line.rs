//! One line on standard error that is written over, for a person whose results go elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::group_thousands;

/// How long work may take without a word, and between two words.
const SILENCE: Duration = Duration::from_secs(1);

/// Says how many are done while work goes on.
pub(crate) struct CountLine {
    what: &'static str,
    watched: bool,
    last: Instant,
    shown: bool,
}

impl CountLine {
    /// `what` is counted, such as `files`.
    pub(crate) fn new(what: &'static str) -> Self {
        Self::watched(what, std::io::stderr().is_terminal() && !std::io::stdout().is_terminal())
    }

    /// The same where results are few, so that a person waits even if they go to the terminal.
    pub(crate) fn of_few_results(what: &'static str) -> Self {
        Self::watched(what, std::io::stderr().is_terminal())
    }

    fn watched(what: &'static str, watched: bool) -> Self {
        Self { what, watched, last: Instant::now(), shown: false }
    }

    /// Says how far it is. `all` is 0 where nobody knows.
    pub(crate) fn tell(&mut self, done: usize, all: usize) {
        if self.watched && self.last.elapsed() > SILENCE {
            let of = if all > 0 { format!(" of {}", group_thousands(all)) } else { String::new() };
            overwrite(&format!("{}{of} {}", group_thousands(done), self.what));
            (self.last, self.shown) = (Instant::now(), true);
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            overwrite("");
            self.shown = false;
        }
    }
}

/// Writes over the line. Words of ours alone, since nothing is broken in them.
fn overwrite(text: &str) {
    // Back to the first column, and Erase in Line to its end (ECMA-48, CR and EL 0).
    // Nothing is left to tell if standard error is closed.
    _ = std::io::stderr().lock().write_all(format!("\r{text}\x1b[K").as_bytes());
}
