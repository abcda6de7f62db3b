//! The prompts of an investigation.

use proem_agents::risk::investigation::{
    InvestigationEnd, InvestigationLimits, InvestigationPrompt as AskedPrompt, InvestigationTerms,
};
use proem_agents::risk::report::PromptUsed;
use proem_engine::profile::Profiles;

use crate::agents::access::{ContractedPrompt, ModelAccess};
use crate::records::learning::{PromptLessons, profiles};

/// The owner of the prompts' contracts.
pub(super) const WHOSE: &str = "an investigation";

/// The prompts of an investigation.
pub(super) const DECISION: &str = "risk/decision";
pub(super) const SYNTHESIS: &str = "risk/synthesis";

#[derive(Debug)]
pub(super) struct InvestigationPrompts {
    /// Decides the next step.
    pub(super) decision: ContractedPrompt,
    /// Puts everything together.
    pub(super) synthesis: ContractedPrompt,
}

impl InvestigationPrompts {
    /// The terms of an investigation.
    pub(super) fn terms<'t>(&'t self, access: &'t ModelAccess, limits: InvestigationLimits) -> InvestigationTerms<'t> {
        let asked = |shown: &'t ContractedPrompt| AskedPrompt {
            prompt: &shown.prompt,
            contract: &shown.contract,
            profile: shown.profile(),
        };
        InvestigationTerms {
            decision: asked(&self.decision),
            synthesis: asked(&self.synthesis),
            model: &access.asked.model,
            key: &access.key,
            screening: access.screening(),
            counter: access.counter.as_ref(),
            limits,
        }
    }

    /// The prompts as a report names them.
    pub(super) fn used(&self) -> Vec<PromptUsed> {
        let used =
            |shown: &ContractedPrompt| PromptUsed { name: shown.name(), version: shown.prompt.id.version.clone() };
        vec![used(&self.decision), used(&self.synthesis)]
    }

    /// The lessons and wishes that the prompts show, as a record keeps them.
    pub(super) fn profiles(&self) -> Option<Profiles> {
        profiles([&self.decision, &self.synthesis].map(|shown| (&shown.prompt.id, shown.taught.as_ref())))
    }

    /// The lessons of the prompts that an investigation used.
    pub(super) fn learned(&self, investigated: &InvestigationEnd) -> impl Iterator<Item = &PromptLessons> {
        let is_asked = |name: &str| investigated.exchanges.iter().any(|exchange| exchange.prompt == name);
        let all = [(DECISION, &self.decision), (SYNTHESIS, &self.synthesis)];
        let asked = all.into_iter().filter(move |(name, _)| is_asked(name));
        asked.filter_map(|(_, shown)| shown.taught.as_ref()).filter(|taught| taught.lessons.is_some())
    }
}
