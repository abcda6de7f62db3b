//! The person at the controlling terminal, who alone may approve, trust, take over and delete.
//!
//! Invariants: only [`Operator::at_terminal`] makes an [`Operator`]. No tool, pipe, environment variable or option
//! makes one, and none is copied. Input, notes and `/dev/tty` are one terminal, and this process is in its foreground,
//! so that the person who answers has seen the text. Keys typed before a question was on the screen do not answer it.
//!
//! It is no proof of who sits there: a program of the same user can open a terminal of its own and is then taken for
//! the user, as it is by every program that asks at a terminal.
//!
//! None of these compiles:
//!
//! ```compile_fail,E0451
//! # use proem_app::operator::Operator;
//! fn made(terminal: std::fs::File, actor: proem_store::record::Actor) -> Operator {
//!     Operator { terminal, actor }
//! }
//! ```
//! ```compile_fail,E0599
//! # use proem_app::operator::Operator;
//! fn copied(operator: &Operator) -> Operator {
//!     Operator::clone(operator)
//! }
//! ```
//! ```compile_fail,E0451
//! # use proem_app::operator::Displayed;
//! fn never_displayed() -> Displayed {
//!     Displayed { parts: Default::default() }
//! }
//! ```
//! ```compile_fail,E0308
//! # use proem_app::effects::queue::QueueVerdict;
//! fn approved_unseen() -> QueueVerdict {
//!     QueueVerdict::Approve(())
//! }
//! ```
//!
//! This is the one way:
//!
//! ```
//! # use proem_app::operator::{Operator, OperatorAbsence};
//! fn made() -> Result<Operator, OperatorAbsence> {
//!     Operator::at_terminal()
//! }
//! ```

mod page;
mod terminal;

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};

use proem_store::record::{Actor, ActorKind};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub use self::page::{ApprovalPage, Displayed, NOTE, RowsOf};
use crate::error::Error;
use crate::places::Channel;
use crate::records::plain_name;

/// The longest answer in bytes: as much as a terminal hands over as one line.
const MAX_ANSWER: usize = 4096;

/// A person at the controlling terminal, who may decide.
///
/// Functions that only a person may have done take one.
#[derive(Debug)]
pub struct Operator {
    terminal: File,
    actor: Actor,
}

/// Why nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperatorAbsence {
    /// There is no controlling terminal, or input or notes go elsewhere.
    NoTerminal,
    /// The terminal's foreground is another process's.
    Background,
    /// Proem knows no controlling terminal on this system.
    Unsupported,
}

impl OperatorAbsence {
    /// The obstacle and the remedy, in words that go on after "and".
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NoTerminal => "there is no terminal: run it in an interactive shell",
            Self::Background => "it runs in the background: bring it to the foreground",
            Self::Unsupported => "asking at a terminal is not supported on this system: run it on Linux or macOS",
        }
    }
}

impl std::fmt::Display for OperatorAbsence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.in_words())
    }
}

impl std::error::Error for OperatorAbsence {}

/// The name of the account that this process belongs to, as the system's table has it. Nobody chooses it by an
/// environment variable.
#[must_use]
pub fn account_name() -> String {
    plain_name(&terminal::user())
}

/// A person's answer to a question of yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The person agreed.
    Yes,
    /// Anything else, and nothing.
    No,
}

impl Operator {
    /// The person at the controlling terminal.
    ///
    /// # Errors
    ///
    /// If nobody can be asked there.
    pub fn at_terminal() -> Result<Self, OperatorAbsence> {
        let terminal = terminal::controlling()?;
        let channel = Channel::Terminal.as_str().to_owned();
        let actor = Actor { kind: ActorKind::Person, id: account_name(), channel };
        Ok(Self { terminal, actor })
    }

    /// The person, for the records: the user that owns the process.
    #[must_use]
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Writes to the terminal. Outside text in it was made harmless before.
    ///
    /// # Errors
    ///
    /// If the terminal is gone.
    pub fn tell(&mut self, text: &str) -> Result<(), Error> {
        let written = self.terminal.write_all(text.as_bytes());
        written.map_err(|error| Error::outside(format!("could not write to the terminal: {error}")))
    }

    /// Writes a question and reads the line that is typed then. `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// If the terminal is gone, or the answer is too long.
    pub fn ask(&mut self, question: &str) -> Result<Option<String>, Error> {
        self.put(question)?;
        terminal_line(&self.terminal)
    }

    /// The same, waiting no longer than until `stop` is cancelled. `None` then, too.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub async fn ask_until(&mut self, question: &str, stop: &CancellationToken) -> Result<Option<String>, Error> {
        self.put(question)?;
        let terminal = self.terminal.try_clone().map_err(|error| unread_answer(&error))?;
        let (read, answer) = oneshot::channel();
        // A read can't be broken off, so a thread of its own is left to it.
        let reading = std::thread::Builder::new().name("proem-answer".to_owned()).spawn(move || {
            // The caller may have given up.
            _ = read.send(terminal_line(&terminal));
        });
        reading.map_err(|error| unread_answer(&error))?;
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(None),
            answer = answer => answer.unwrap_or(Ok(None)),
        }
    }

    /// Asks a question of yes or no: only `y` and `yes` are a yes, in capitals too.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`].
    pub fn confirm(&mut self, question: &str) -> Result<Consent, Error> {
        let answer = self.ask(&format!("{question} [y/N] "))?.unwrap_or_default();
        Ok(consent(&answer))
    }

    fn put(&mut self, question: &str) -> Result<(), Error> {
        terminal::discard_input(&self.terminal);
        self.tell(question)
    }
}

fn consent(answer: &str) -> Consent {
    match answer.trim_ascii().to_ascii_lowercase().as_str() {
        "y" | "yes" => Consent::Yes,
        _ => Consent::No,
    }
}

/// The next line of a terminal, without its end. `None` at the end of the input.
fn terminal_line(mut terminal: &File) -> Result<Option<String>, Error> {
    let (mut answer, mut bytes) = (Vec::new(), [0; 256]);
    loop {
        let read = match terminal.read(&mut bytes) {
            Ok(0) if answer.is_empty() => return Ok(None),
            Ok(0) => break,
            Ok(count) => bytes.get(..count).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(unread_answer(&error)),
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        answer.extend_from_slice(read.get(..end.unwrap_or(read.len())).unwrap_or_default());
        if answer.len() > MAX_ANSWER {
            return Err(Error::invalid(format!("the answer is longer than {MAX_ANSWER} bytes; answer in fewer")));
        }
        if end.is_some() {
            break;
        }
    }
    Ok(Some(String::from_utf8_lossy(&answer).into_owned()))
}

fn unread_answer(error: &std::io::Error) -> Error {
    Error::outside(format!("could not read the answer: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        let check = |answer: &str, expected: Consent| assert_eq!(consent(answer), expected, "{answer:?}");
        for yes in ["y", "Y", "yes", " YES \r"] {
            check(yes, Consent::Yes);
        }
        for no in ["", " ", "n", "no", "yes please", "ye", "y\ny", "\u{ff59}", "1", "true"] {
            check(no, Consent::No);
        }
    }

    #[test]
    fn a_line_ends_where_it_ends() {
        let check = |typed: &[u8], expected: Option<Result<&str, ()>>| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(typed).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            let read = terminal_line(&file);
            assert_eq!(read.as_ref().map(Option::as_deref).map_err(|_| ()), expected.transpose(), "{typed:?}");
        };
        check(b"", None);
        check(b"\n", Some(Ok("")));
        check(b"yes\nno\n", Some(Ok("yes")));
        check(b"because", Some(Ok("because")));
        check(b"a\xff\n", Some(Ok("a\u{fffd}")));
        check(&[b'y'; MAX_ANSWER + 1], Some(Err(())));
    }
}
