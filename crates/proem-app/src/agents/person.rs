//! Whom a run that goes on here asks, and driving it to its end with that.

use futures_util::future::BoxFuture;
use proem_engine::run::{EventKind, Machine, Question, QuestionAnswer, check_answers};
use proem_runtime::driver::{DriveEnd, DriveStart, NullJournal, Perform, RunBounds, go_on};
use proem_runtime::records::Recording;

use crate::error::Error;
use crate::message::Hint;

/// Has a person answer what runs ask.
pub trait PersonAsk: Sync {
    /// An answer to each question of a run, by its id in short, which is empty if the run is not recorded.
    ///
    /// # Errors
    ///
    /// If nobody answers. The run stays as it is, and asks again when it is resumed.
    fn ask<'q>(&'q self, run: &'q str, questions: &'q [Question]) -> BoxFuture<'q, Result<Vec<QuestionAnswer>, Error>>;
}

/// Nobody: where many runs go on at once, each that asks is left asking.
#[derive(Debug, Clone, Copy)]
pub struct AbsentPerson;

impl PersonAsk for AbsentPerson {
    fn ask<'q>(&'q self, run: &'q str, _: &'q [Question]) -> BoxFuture<'q, Result<Vec<QuestionAnswer>, Error>> {
        let failure = if run.is_empty() {
            Error::invalid("the run has a question, which can't wait for an answer because nothing is recorded")
                .hinting(Hint::Record)
        } else {
            Error::invalid(format!("run {run} has a question and waits for an answer"))
                .hinting(Hint::AnswerRun { run: run.to_owned() })
        };
        Box::pin(async { Err(failure) })
    }
}

/// Drives a run from its start to its end. Answers are written down before the run goes on with them.
///
/// # Errors
///
/// If it can't be recorded or gone on with, and those of `person`.
pub(crate) async fn driven_with<M: Machine + Sync>(
    machine: &mut M,
    world: &(impl Perform + Sync),
    bounds: &RunBounds,
    recording: Option<&Recording<'_>>,
    person: &dyn PersonAsk,
) -> Result<M::Outcome, Error> {
    let mut from = DriveStart::Event(EventKind::Started);
    loop {
        let reached = match recording {
            Some(recording) => go_on(machine, from, world, bounds, recording).await?.reached,
            None => go_on(machine, from, world, bounds, &NullJournal).await?.reached,
        };
        let questions = match reached {
            DriveEnd::Done(outcome) => return Ok(outcome),
            DriveEnd::Asked(questions) => questions,
        };
        let run = recording.map_or("", |recording| recording.id().short());
        let answers = person.ask(run, &questions).await?;
        check_answers(&questions, &answers)?;
        if let Some(recording) = recording {
            recording.answered(&questions, &answers).await?;
        }
        from = DriveStart::Event(EventKind::Answered { answers });
    }
}
