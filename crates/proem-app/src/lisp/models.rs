//! The models that an agent's tools ask.
//!
//! Invariants: all of them are asked through one access, under the caps of the agent. A model without a key is no error
//! before it is asked: a program that doesn't ask it needs none.

use std::collections::BTreeMap;

use proem_agents::lisp::{AgentDefinition, ModelPrompt, ModelQuestion, ToolDefinition, ToolKind, question_prompt};
use proem_engine::assembly::PromptId;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_runtime::records::Recording;
use proem_runtime::tools::{ToolModels, ToolQuestions};

use super::recorded_questions::{QuestionBasis, QuestionsBasis};
use crate::agents::access::{AccessOptions, ModelAccess};
use crate::agents::basis::ModelBasis;
use crate::calling::{ModelEndpoint, WantedModel};
use crate::error::Error;
use crate::project::OpenProject;
use crate::records::booking::Booking;
use crate::run::options::Carriage;

/// The questions of an agent's tools, and the access to the models that they ask.
#[derive(Debug)]
pub(crate) struct AgentModels {
    /// The access. The first tool's model is the first.
    pub(crate) access: ModelAccess,
    questions: BTreeMap<String, ModelQuestion>,
    /// The record of the questions.
    basis: QuestionsBasis,
}

/// Whether a tool asks with a prompt of the book, so that the book has to be read.
#[must_use]
pub fn asks_book(agent: &AgentDefinition) -> bool {
    let asks = |tool: &ToolDefinition| matches!(&tool.kind, ToolKind::Model(model) if matches!(model.prompt, ModelPrompt::Book(_)));
    agent.tools.values().any(asks)
}

impl AgentModels {
    /// The models of an agent's tools. `None` if no tool asks one. Messages go to the project's notes.
    ///
    /// # Errors
    ///
    /// If a prompt or a model is not known, each under its tool's name, or a result is nothing that a model can be held
    /// to.
    pub(crate) fn new(
        agent: &AgentDefinition,
        carriage: &Carriage,
        project: &mut OpenProject,
    ) -> Result<Option<Self>, Error> {
        let book = if asks_book(agent) { project.book()? } else { Book::new(Vec::new())? };
        let mut asked: Vec<(&str, &ToolDefinition, Prompt, (ModelEndpoint, String))> = Vec::new();
        for (name, tool) in &agent.tools {
            let ToolKind::Model(model) = &tool.kind else { continue };
            let in_tool = |error: &dyn std::fmt::Display| Error::invalid(format!("tool `{name}`: {error}"));
            let prompt = question_prompt(&agent.name, (name, tool), &book).map_err(|error| in_tool(&error))?;
            let wanted = WantedModel {
                model: model.model.as_deref(),
                provider: None,
                prompt: prompt.file.header.model.as_deref(),
            };
            let located = ModelAccess::located(&wanted, project).map_err(|error| in_tool(&error))?;
            asked.push((name, tool, prompt, located));
        }
        let Some((.., first)) = asked.first() else { return Ok(None) };
        let prompts: Vec<&Prompt> = asked.iter().map(|(_, _, prompt, _)| prompt).collect();
        let also: Vec<ModelEndpoint> = asked.iter().skip(1).map(|(.., (endpoint, _))| endpoint.clone()).collect();
        let options = AccessOptions { book: &book, prompts: &prompts, carriage, concurrency: None, also: &also };
        let access = ModelAccess::new(first.clone(), &options, project)?;
        let (mut questions, mut kept) = (BTreeMap::new(), BTreeMap::new());
        for (name, tool, prompt, (endpoint, _)) in asked {
            let known = [&access.asked].into_iter().chain(&access.also);
            let known = known.into_iter().find(|known| known.model.name == endpoint.model.name).unwrap_or(&endpoint);
            let provider = project.config.providers.get(&known.endpoint.name).cloned().unwrap_or_default();
            // The scale was found for the first model alone.
            let is_first = known.model.name == access.asked.model.name;
            let percent = access.basis.token_percent().filter(|_| is_first);
            let (model, arrival) = (ModelBasis::new(known, provider, percent), known.arrival);
            kept.insert(name.to_owned(), QuestionBasis { prompt: prompt.id.clone(), model, arrival });
            let question = ModelQuestion::new(prompt, tool, (known.model.clone(), known.arrival))
                .map_err(|error| Error::invalid(format!("tool `{name}`: {error}")))?;
            questions.insert(name.to_owned(), question);
        }
        let basis = QuestionsBasis { basis: access.basis.clone(), tools: kept };
        Ok(Some(Self { access, questions, basis }))
    }

    /// Describes the agent's tools whose descriptions its file leaves to prompts of the book.
    ///
    /// # Errors
    ///
    /// If such a prompt doesn't say what it is for.
    pub(crate) fn describe(&self, agent: &mut AgentDefinition) -> Result<(), Error> {
        for (name, question) in &self.questions {
            if agent.tools.get(name).is_none_or(|tool| !tool.description.is_empty()) {
                continue;
            }
            let PromptId { agent: folder, name: prompt, .. } = &question.prompt().id;
            let purpose = question.prompt().file.strict.purpose.as_deref().map(str::trim).unwrap_or_default();
            if purpose.is_empty() {
                return Err(Error::invalid(format!(
                    "tool `{name}`: it has no description, and the prompt `{folder}/{prompt}` has no purpose; write \
                     `description = \"…\"`"
                )));
            }
            agent.describe_tool(name, purpose);
        }
        Ok(())
    }

    /// The hashes of the prompts that are asked with: what is held to them changes with them.
    pub(crate) fn closures(&self) -> Vec<&str> {
        self.questions.values().map(|question| question.prompt().id.closure.as_str()).collect()
    }

    /// The questions, as a run's settings keep them. Their files are those of the access.
    pub(super) const fn basis(&self) -> &QuestionsBasis {
        &self.basis
    }

    /// The models for the calls of one run, booked by its recording.
    ///
    /// # Errors
    ///
    /// If something would be sent that is not booked, which is a bug.
    pub(crate) fn of_run<'m>(
        &'m self,
        booking: &Booking,
        recording: Option<&'m Recording<'_>>,
    ) -> Result<ToolModels<'m>, Error> {
        let calls = self.access.calls(1, booking, recording, None)?;
        let (questions, key, screening) = (&self.questions, &self.access.key, self.access.screening());
        Ok(ToolModels::new(ToolQuestions { questions, key, screening }, calls))
    }
}
