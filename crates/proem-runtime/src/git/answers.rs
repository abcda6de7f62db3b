//! Remembers what git answered, so that one piece of work asks each question once.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    Error, Extent,
    git::{GitOutput, Session},
};

/// The most bytes of one answer that is remembered.
const LONGEST: usize = 64 << 20;

/// Git's answers during one piece of work, shared by all that ask for them, in any thread.
///
/// A question that is already being asked waits for that answer, as long as the one that asks may wait. Changes of a
/// repository meanwhile aren't seen, so that everything that was read belongs to one moment. Memories are made for one
/// answer of Proem's and dropped with it. Only whole answers are remembered, and no refusal.
#[derive(Debug, Clone, Default)]
pub struct GitAnswers(Arc<Mutex<BTreeMap<Question, Slot>>>);

/// A question, its folder, and the overrides of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    folder: PathBuf,
    args: Vec<&'static str>,
    overrides: Vec<(OsString, OsString)>,
    attributes: Option<&'static str>,
}

/// The place of one answer. Locked while it is asked for.
type Slot = Arc<Mutex<Option<Remembered>>>;

#[derive(Debug, Clone)]
struct Remembered {
    code: i32,
    stdout: Vec<u8>,
}

impl GitAnswers {
    /// Another memory, for a piece of work that begins with what this one knows; what it learns is its own.
    #[must_use]
    pub fn branched(&self) -> Self {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let copied = |(question, slot): (&Question, &Slot)| {
            let remembered = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
            (question.clone(), Arc::new(Mutex::new(remembered)))
        };
        Self(Arc::new(Mutex::new(known.iter().map(copied).collect())))
    }

    /// The remembered answer to a question of `session`, or the present answer of `ask`.
    ///
    /// # Errors
    ///
    /// The errors of `ask`.
    pub(super) fn or_ask(
        &self,
        session: &Session<'_>,
        args: &[&'static str],
        accepted: &[i32],
        ask: impl FnOnce() -> Result<GitOutput, Error>,
    ) -> Result<GitOutput, Error> {
        let question = Question {
            // One folder has many names.
            folder: fs::canonicalize(session.folder).unwrap_or_else(|_| session.folder.to_path_buf()),
            args: args.to_vec(),
            overrides: session.overrides.clone(),
            attributes: session.attributes,
        };
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(question).or_default().clone();
        let mut remembered = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Remembered { code, stdout }) = remembered.as_ref()
            && accepted.contains(code)
            && stdout.len() <= session.cap
        {
            return Ok(GitOutput { code: *code, stdout: stdout.clone(), extent: Extent::Whole });
        }
        let answer = ask()?;
        if answer.extent == Extent::Whole && answer.stdout.len() <= LONGEST {
            *remembered = Some(Remembered { code: answer.code, stdout: answer.stdout.clone() });
        }
        Ok(answer)
    }
}
