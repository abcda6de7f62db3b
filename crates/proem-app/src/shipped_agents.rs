//! The agents that Proem ships.

use crate::agents::Agents;
use crate::assemble::agent::AssembleAgent;
use crate::lisp::mission::ProgramAgent;
use crate::risk::agent::RiskAgent;
use crate::run::agent::PromptAgent;
use crate::triage::models::TriageAgent;

/// All of them.
#[must_use]
pub fn agents() -> Agents {
    Agents::new(vec![
        Box::new(PromptAgent),
        Box::new(AssembleAgent),
        Box::new(RiskAgent),
        Box::new(TriageAgent),
        Box::new(ProgramAgent),
    ])
}
