//! How an agent's prompt fits before it has data. Nothing is sent, and no tool or credential is needed.

use proem_agents::lisp::AgentDefinition;
use proem_agents::lisp::prompt::{MissionPrompt, PromptFacts, blank_input, choose};

use super::super::agent::LoadedAgent;
use super::super::models::AgentModels;
use super::{MissionOptions, prompt_access};
use crate::error::Error;
use crate::project::OpenProject;
use crate::run::options::Carriage;

/// The size of an agent's first request without data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFit {
    /// The model that it is for.
    pub model: String,
    /// Its tokens by the model's counter.
    pub tokens: usize,
    /// The parts that limits took away, a sentence for each section.
    pub shrunk: Vec<String>,
    /// The tools' descriptions, as the model reads them.
    pub descriptions: Vec<(String, String)>,
}

/// Makes the first request of an agent without data. Messages go to the project's notes.
///
/// # Errors
///
/// If it does not fit, with what is too large; if a prompt or a model of a tool is not known.
pub fn prompt_fit(project: &mut OpenProject, agent: &LoadedAgent) -> Result<PromptFit, Error> {
    let turns = project.config.lisp.narrow_turns(agent.definition.turns);
    let mut definition = AgentDefinition { turns, ..agent.definition.clone() };
    let options = MissionOptions { carriage: Carriage::Nobody, ..MissionOptions::default() };
    let models = AgentModels::new(&definition, &options.carriage, project)?;
    models.iter().try_for_each(|models| models.describe(&mut definition))?;
    let (access, prompt) = prompt_access(project, &definition, &options, &[])?;
    let facts = PromptFacts { agent: &definition, context: &blank_input(&definition), screening: access.screening() };
    let request = MissionPrompt {
        chosen: &choose(&facts)?,
        prompt: &prompt,
        model: &access.asked.model,
        key: &access.key,
        screening: access.screening(),
        input_tokens: None,
        output_tokens: None,
        profile: None,
        counter: access.counter.as_ref(),
    };
    let prepared = request.request(&[])?;
    let sections = prepared.report.sections.iter();
    let cut = sections.filter_map(|section| section.state.cut_in_words(&section.name, section.reason.as_deref()));
    Ok(PromptFit {
        model: access.asked.model.name.clone(),
        tokens: prepared.request.assembly.tokens(),
        shrunk: cut.collect(),
        descriptions: definition.tools.into_iter().map(|(name, tool)| (name, tool.description)).collect(),
    })
}
