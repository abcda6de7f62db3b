//! The place of progress on the screen.

use std::io::{self, StderrLock, Write as _};

use console::{Term, is_dumb};
use indicatif::{ProgressDrawTarget, TermLike};

/// The cells that are left free at the end of each line. A bar is filled up with blanks to the end of its line. The
/// `^C` that a terminal shows for a key would go on in the next line there, and what was drawn before it would stay
/// when the bar is taken away. There is room for two.
const FREE: u16 = 4;

/// How often a bar is drawn in a second at most, as on terminals by default.
const RATE: u8 = 20;

/// Standard error, if it is a terminal that can take back what it shows. Nothing else is drawn on.
pub(crate) fn progress_target() -> ProgressDrawTarget {
    let term = Term::buffered_stderr();
    if !term.is_term() || is_dumb() {
        return ProgressDrawTarget::hidden();
    }
    ProgressDrawTarget::term_like_with_hz(Box::new(Narrower(term)), RATE)
}

/// Takes away what is drawn on standard error, with the `^C` behind it. Nobody else writes there until the lock
/// is let go.
pub(crate) fn clear_progress() -> StderrLock<'static> {
    let mut held = io::stderr().lock();
    if Term::stderr().is_term() && !is_dumb() {
        // Back to the first column, and Erase in Line of all of it (ECMA-48, CR and EL 2): a bar has one line.
        // Nothing is left to tell if standard error is closed.
        _ = held.write_all(b"\r\x1b[2K");
    }
    held
}

/// A terminal whose lines end a little earlier.
#[derive(Debug)]
struct Narrower(Term);

impl TermLike for Narrower {
    fn width(&self) -> u16 {
        TermLike::width(&self.0).saturating_sub(FREE).max(1)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        TermLike::move_cursor_up(&self.0, n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        TermLike::move_cursor_down(&self.0, n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        TermLike::move_cursor_right(&self.0, n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        TermLike::move_cursor_left(&self.0, n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        TermLike::write_line(&self.0, text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        TermLike::write_str(&self.0, text)
    }

    fn clear_line(&self) -> io::Result<()> {
        TermLike::clear_line(&self.0)
    }

    fn flush(&self) -> io::Result<()> {
        TermLike::flush(&self.0)
    }
}
