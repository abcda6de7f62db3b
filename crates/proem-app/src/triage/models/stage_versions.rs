//! The versions of the stages' prompts that the matter of a cycle meets, where experiments run on them.

use proem_engine::assembly::PromptId;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::book::experiment::VersionAssignment;
use proem_engine::prompt::compiled_prompt::Prompt;
use serde_json::json;

use super::{PROMPTS, TriageModelOptions, TriageRun, listing_prompt, stage_prompts};
use crate::book::experiments::{RunningExperiments, watch_prompt};
use crate::error::Error;
use crate::message::Note;
use crate::project::OpenProject;
use crate::records::booking::Booking;

impl TriageRun {
    /// The experiments on its prompts, after a look at their guardrails.
    ///
    /// # Errors
    ///
    /// If the starts of experiments or the book can't be read.
    pub(in crate::triage) async fn experiments(
        booking: &Booking,
        project: &OpenProject,
        notes: &mut Vec<Note>,
    ) -> Result<RunningExperiments, Error> {
        if let Some(records) = booking.records() {
            for prompt in PROMPTS {
                watch_prompt(project, records.store(), prompt, notes).await;
            }
        }
        Ok(RunningExperiments::look_up(project, notes)?.on_prompts(&PROMPTS))
    }

    /// The same with the versions that experiments chose for the matter of its signals.
    ///
    /// # Errors
    ///
    /// If the book can't be read, a version calls no tools, or a wish is none.
    pub(in crate::triage) async fn meet_versions(
        &mut self,
        assigned: Vec<VersionAssignment>,
        (booking, project): (&Booking, &OpenProject),
        options: &TriageModelOptions,
        notes: &mut Vec<Note>,
    ) -> Result<(), Error> {
        let book = Book::new(project.layers.clone())?.with_assignments(assigned);
        let prompts = stage_prompts(&book)?;
        let all: Vec<&Prompt> = prompts.iter().map(|contracted| &contracted.prompt).collect();
        self.access = self.access.with_versions(&book, &all);
        self.access.basis.write_into(&mut self.settings)?;
        let ids: Vec<&PromptId> = all.iter().map(|prompt| &prompt.id).collect();
        if let Some(settings) = self.settings.as_object_mut() {
            settings.insert("prompts".to_owned(), json!(ids));
        }
        self.own = listing_prompt(&prompts)?;
        self.prompts = prompts;
        self.learn(booking, project, options, notes).await
    }
}
