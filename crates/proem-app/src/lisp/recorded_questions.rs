//! The questions of a run's tools to models as its record has them, so that a replay makes their requests anew.
//!
//! The words of a question are in the agent's file, or in a prompt of the book, whose files are among the run's. The
//! model's facts are those of then.

use std::collections::BTreeMap;

use proem_agents::lisp::{AgentDefinition, ModelPrompt, ModelQuestion, ToolKind, question_prompt};
use proem_agents::screen::Screening;
use proem_engine::assembly::PromptId;
use proem_engine::call::Arrival;
use proem_engine::prompt::book::Book;
use proem_guard::InstallationKey;
use proem_runtime::installation_key;
use proem_runtime::tools::ToolQuestions;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::agents::basis::{ModelBasis, RecordedTexts, RunBasis};
use crate::guarding::GuardSetup;
use crate::message::Message;
use crate::places::Places;

/// The key of a run's settings under which it is kept.
pub(super) const QUESTIONS: &str = "questions";

/// A record of the questions of a run's tools, beside the run's files.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuestionsBasis {
    /// The basis of their prompts.
    pub(super) basis: RunBasis,
    /// The questions, by the names of their tools.
    pub(super) tools: BTreeMap<String, QuestionBasis>,
}

/// A record of one question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuestionBasis {
    /// The prompt that asks.
    pub(super) prompt: PromptId,
    /// The model that is asked.
    pub(super) model: ModelBasis,
    /// How its answers arrive.
    pub(super) arrival: Arrival,
}

/// The questions of a recorded run's tools.
#[derive(Debug)]
pub(super) struct RecordedQuestions {
    questions: BTreeMap<String, ModelQuestion>,
    guarding: GuardSetup,
    key: InstallationKey,
}

impl RecordedQuestions {
    /// Reads them from a run's settings and files. `None` if its tools ask no model.
    ///
    /// # Errors
    ///
    /// In words, if something is missing, was changed or was made with another key.
    pub(super) fn read(
        settings: &Json,
        agent: &AgentDefinition,
        texts: &RecordedTexts,
        places: &Places,
    ) -> Result<Option<Self>, Message> {
        let Some(kept) = settings.get(QUESTIONS) else { return Ok(None) };
        let kept = QuestionsBasis::deserialize(kept)
            .map_err(|error| format!("its questions were written by another version of Proem: {error}"))?;
        let key = installation_key(&places.key()).map_err(|error| error.to_string())?;
        kept.basis.under(&key.id())?;
        let mut questions = BTreeMap::new();
        for (name, of) in kept.tools {
            questions.insert(name.clone(), recorded_question((&name, of), &kept.basis, agent, texts)?);
        }
        Ok(Some(Self { questions, guarding: GuardSetup::of(texts.guard(), places, &[])?, key }))
    }

    /// The same for a replay.
    pub(super) fn of_replay(&self) -> ToolQuestions<'_> {
        let screening = Screening { guard: &self.guarding.guard, policy: &self.guarding.policy };
        ToolQuestions { questions: &self.questions, key: &self.key, screening }
    }
}

fn recorded_question(
    (name, kept): (&str, QuestionBasis),
    basis: &RunBasis,
    agent: &AgentDefinition,
    texts: &RecordedTexts,
) -> Result<ModelQuestion, Message> {
    let in_tool = |why: &dyn std::fmt::Display| format!("tool `{name}`: {why}");
    let tool = agent.tools.get(name).ok_or_else(|| in_tool(&"it is missing in the agent's file"))?;
    let prompt = match &tool.kind {
        ToolKind::Model(model) if matches!(model.prompt, ModelPrompt::Book(_)) => {
            let recorded = basis.prompt(&kept.prompt, texts).map_err(|why| in_tool(&why))?;
            if let Some(why) = recorded.changed {
                return Err(in_tool(&why).into());
            }
            recorded.prompt
        }
        _ => {
            let book = Book::new(Vec::new()).map_err(|error| in_tool(&error))?;
            question_prompt(&agent.name, (name, tool), &book).map_err(|error| in_tool(&error))?
        }
    };
    let model = kept.model.read(texts, kept.arrival).map_err(|why| in_tool(&why))?.model;
    ModelQuestion::new(prompt, tool, (model, kept.arrival)).map_err(|error| in_tool(&error).into())
}
