//! Programs that call tools: what an agent's file says, and a program as a run.
//!
//! Invariants: what a definition leaves open fails closed. A program reaches nothing but the tools of its file. Every
//! call passes [`proem_engine::policy::decide_call`], however deep in the program it is.

mod definition;
mod description;
mod file;
mod model;
mod program;
pub mod prompt;
pub mod turns;

pub use self::definition::{
    AgentDefinition, ArgumentPiece, CommandOutput, CommandTool, HttpMethod, HttpTool, McpTool, ModelPrompt, ModelTool,
    ParameterTerms, PromptLimits, ToolDefinition, ToolKind, TurnLimits, argument_pieces,
};
pub use self::file::findings::{agent_findings, agent_sources};
pub use self::file::{AGENT_SCHEMA, MAX_AGENT_FILE, parse_agent};
pub use self::model::{ModelQuestion, question_prompt};
pub use self::program::{
    ProgramEnd, ProgramMachine, ProgramOutcome, ProgramTerms, SharedTurns, TurnStart, policy_hash,
};
