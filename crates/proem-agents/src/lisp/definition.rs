//! An agent, as its file describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proem_engine::policy::CallTerms;
use proem_engine::run::{CallLabel, ToolPower};
use proem_lisp::{Limits, Signature};
use proem_text::{Audience, Label, Source};
use serde::{Deserialize, Serialize};

/// An agent, as its file defines it.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    /// As `proem run` names it: a path in the book, without the file's ending.
    pub name: String,
    /// Its purpose in a sentence, for agents that call it. `None` leaves it to the mission.
    pub purpose: Option<String>,
    /// Its mission. `{{name}}` represents an input.
    pub mission: String,
    /// Its inputs and its result.
    pub signature: Signature,
    /// Inputs that count as written by the user.
    pub trusted_inputs: BTreeSet<String>,
    /// Untrusted sources of which a model may be shown more than declared types. All that is shown of them labels what
    /// the model's next programs do.
    pub shows: BTreeSet<String>,
    /// How long it goes on.
    pub turns: TurnLimits,
    /// How much of data a model is shown.
    pub prompt: PromptLimits,
    /// The limits of each program that its file sets, by their keys under `[lisp]`.
    pub limits: BTreeMap<String, u64>,
    /// Signatures that are shown and not called, by name.
    pub catalogue: BTreeMap<String, Arc<Signature>>,
    /// The tools that its programs may call, by name.
    pub tools: BTreeMap<String, ToolDefinition>,
    /// The labels of the inputs that another agent passed, by name. None of an agent that a person called.
    pub passed: BTreeMap<String, Label>,
}

/// How long an agent goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnLimits {
    /// The most turns.
    pub max_turns: u32,
    /// How many more correct a result that doesn't fit the signature.
    pub retry_turns: u32,
    /// The most seconds of the whole mission.
    pub mission_seconds: u32,
    /// The most levels of agents that call agents.
    pub max_depth: u32,
    /// The most turns of it and the agents that it calls together.
    pub turn_budget: u32,
}

/// The numbers of the specification of the program agent.
impl Default for TurnLimits {
    fn default() -> Self {
        Self { max_turns: 5, retry_turns: 1, mission_seconds: 60, max_depth: 3, turn_budget: 20 }
    }
}

/// How much of data a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptLimits {
    /// How many elements of a list are shown.
    pub list_sample: u32,
    /// How many characters of a text are shown.
    pub string_truncate: u32,
    /// Whether the reference of the language is left out.
    pub omit_reference: bool,
    /// Whether the reference lists every form and function, if there is room.
    pub full_reference: bool,
}

/// The numbers of the specification of the program agent.
impl Default for PromptLimits {
    fn default() -> Self {
        Self { list_sample: 3, string_truncate: 500, omit_reference: false, full_reference: false }
    }
}

/// A tool that programs may call.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its parameters and its result.
    pub signature: Arc<Signature>,
    /// Its description, in a sentence. Empty where the file leaves it to the prompt of the book or the agent that
    /// carries the tool out.
    pub description: String,
    /// The most seconds of one attempt.
    pub timeout_seconds: u32,
    /// How often a call is made again that failed and may be.
    pub retries: u32,
    /// The effects that a call may have.
    pub power: ToolPower,
    /// The label of its results.
    pub label: Label,
    /// When a call needs no question.
    pub terms: CallTerms,
    /// Further terms of its parameters, by name.
    pub parameters: BTreeMap<String, ParameterTerms>,
    /// The carrier of a call.
    pub kind: ToolKind,
}

/// The type, label and default of an agent's parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParameterTerms {
    /// The trusted input whose members are the values that it may have.
    pub one_of: Option<String>,
    /// Whether a value may begin with `-`.
    pub may_be_option: bool,
}

/// The carrier of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    /// A program of this machine.
    Command(CommandTool),
    /// A server.
    Http(HttpTool),
    /// A tool of a server of the Model Context Protocol.
    Mcp(McpTool),
    /// A file of results, relative to the agent's file.
    Recorded {
        /// Its path.
        file: String,
    },
    /// A question to a model.
    Model(ModelTool),
    /// Another agent.
    Agent {
        /// Its file, relative to the file of the agent that calls it.
        file: String,
    },
}

/// A question to a model. Its signature says what is asked with and what the answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTool {
    /// The question.
    pub prompt: ModelPrompt,
    /// The model, or the role of one. `None` leaves it to the prompt and the configuration.
    pub model: Option<String>,
}

/// The question of a tool that asks a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPrompt {
    /// A text. `{{name}}` represents a parameter.
    Text(String),
    /// A prompt of the book, as `agent/name` or `agent/name@version`, whose inputs are the parameters.
    Book(String),
}

impl ToolKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::Mcp(_) => "mcp",
            Self::Recorded { .. } => "recorded",
            Self::Model(_) => "model",
            Self::Agent { .. } => "agent",
        }
    }
}

/// A program of this machine: it gets its arguments as JSON on standard input and prints its result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandTool {
    /// The program and its arguments. `{name}` represents a parameter. No shell reads them.
    pub argv: Vec<String>,
    /// The folder that it runs in, relative to the project.
    pub folder: Option<String>,
    /// The variables of the environment that it sees.
    pub environment: Vec<String>,
    /// Variables that hold credentials, by the credential's name.
    pub secrets: BTreeMap<String, String>,
    /// The form of what it prints.
    pub output: CommandOutput,
}

/// A tool of a server of the Model Context Protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The server, by its name in the user's configuration.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
    /// The form of its result, where the server gives text.
    pub output: CommandOutput,
}

/// The form of what a command prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// One JSON value.
    #[default]
    Json,
    /// Text. The result is a string, without the line break at its end.
    Text,
    /// Text. The result is a list of its lines.
    Lines,
}

impl CommandOutput {
    /// All of them, with the names that files use.
    pub const ALL: [(&'static str, Self); 3] = [("json", Self::Json), ("text", Self::Text), ("lines", Self::Lines)];

    /// The type of its results, as signatures write it. `None` for what any signature may have.
    #[must_use]
    pub const fn result_type(self) -> Option<&'static str> {
        match self {
            Self::Json => None,
            Self::Text => Some(":string"),
            Self::Lines => Some("[:string]"),
        }
    }
}

/// A part of a command's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPiece<'t> {
    /// Text as it is.
    Text(&'t str),
    /// The value of a parameter.
    Slot(&'t str),
}

/// The parts of a command's argument: `{name}` is a slot, and any other brace a brace.
#[must_use]
pub fn argument_pieces(text: &str) -> Vec<ArgumentPiece<'_>> {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let (mut pieces, mut start, mut from) = (Vec::new(), 0, 0);
    while let Some(open) = text.get(from..).and_then(|rest| rest.find('{')).map(|at| from.saturating_add(at)) {
        let inner = open.saturating_add(1);
        let close = text.get(inner..).and_then(|rest| rest.find('}')).map(|at| inner.saturating_add(at));
        let name = close.and_then(|close| text.get(inner..close)).filter(|name| is_name(name));
        from = inner;
        if let (Some(name), Some(close)) = (name, close) {
            pieces.extend(text.get(start..open).filter(|before| !before.is_empty()).map(ArgumentPiece::Text));
            pieces.push(ArgumentPiece::Slot(name));
            from = close.saturating_add(1);
            start = from;
        }
    }
    pieces.extend(text.get(start..).filter(|rest| !rest.is_empty()).map(ArgumentPiece::Text));
    pieces
}

/// A server that is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTool {
    /// How it is asked.
    pub method: HttpMethod,
    /// The address. `{name}` represents a parameter, in path segments and values of the query only.
    pub url: String,
    /// Headers, without their parameters and credentials.
    pub headers: BTreeMap<String, String>,
    /// The place of the result in the answer, as a JSON pointer. The whole answer without one.
    pub result: Option<String>,
    /// The credential that is sent as a bearer token, by its name.
    pub credential: Option<String>,
    /// Whether the host may have an address of this machine or of a private network.
    pub is_private: bool,
}

/// How a server is asked. All but `GET` and `DELETE` send the arguments as a JSON body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// For something that is there.
    Get,
    /// For something new.
    Post,
    /// To replace something.
    Put,
    /// To change some of something.
    Patch,
    /// To take something away.
    Delete,
}

impl HttpMethod {
    /// All of them, with the names that files use.
    pub const ALL: [(&'static str, Self); 5] = [
        ("GET", Self::Get),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
    ];
}

impl AgentDefinition {
    /// The tool that a program means by a name: `-` and `_` are the same.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<(&str, &ToolDefinition)> {
        let is_meant = |known: &str| fold_name(known) == fold_name(name);
        self.tools.iter().find(|(known, _)| is_meant(known)).map(|(known, tool)| (known.as_str(), tool))
    }

    /// Whether the value of its one program is the answer: it has one turn and no tools.
    #[must_use]
    pub fn is_single_shot(&self) -> bool {
        self.turns.max_turns <= 1 && self.tools.is_empty()
    }

    /// Whether a model may be shown data with this label.
    #[must_use]
    pub fn may_show(&self, label: &Label) -> bool {
        !label.is_secret() && CallLabel::from(label).is_within(&self.shows)
    }

    /// The limits of its programs: those of its file where they are narrower than `configured`.
    #[must_use]
    pub fn narrow_limits(&self, configured: Limits) -> Limits {
        let mut limits = configured;
        let size = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        for (key, most) in &self.limits {
            match key.as_str() {
                "fuel" => limits.fuel = limits.fuel.min(*most),
                "bytes" => limits.bytes = limits.bytes.min(size(*most)),
                "collection_size" => limits.collection_size = limits.collection_size.min(size(*most)),
                "output_bytes" => limits.output_bytes = limits.output_bytes.min(size(*most)),
                "tool_calls" => limits.tool_calls = limits.tool_calls.min(size(*most)),
                "parallel_branches" => limits.parallel_branches = limits.parallel_branches.min(size(*most)),
                _ => limits.memory_bytes = limits.memory_bytes.min(size(*most)),
            }
        }
        limits
    }

    /// The label of an input. One that another agent passed counts as written by the user only if it is, whatever the
    /// file says.
    #[must_use]
    pub fn input_label(&self, name: &str) -> Label {
        let passed = self.passed.get(name).cloned().unwrap_or_else(Label::trusted);
        let label = match self.trusted_inputs.contains(name) && passed.is_trusted() {
            true => Label::trusted(),
            false => Label::from_source(source("ctx", name)).join(&passed),
        };
        if name.starts_with('_') { label.made_secret() } else { label }
    }
}

/// The keys of limits that a file may narrow.
pub(super) const LIMITS: [&str; 7] =
    ["fuel", "bytes", "collection_size", "output_bytes", "tool_calls", "parallel_branches", "memory_bytes"];

/// A name with `-` and `_` taken as the same. A leading `_` stays.
pub(super) fn fold_name(name: &str) -> String {
    match name.strip_prefix('_') {
        Some(rest) => format!("_{}", rest.replace('-', "_")),
        None => name.replace('-', "_"),
    }
}

/// The source of what has a name of a person's or a model's making.
pub(super) fn source(family: &str, name: &str) -> Source {
    let word: String = name
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
        .take(48)
        .collect();
    Source::parse(&format!("{family}/{word}")).unwrap_or_else(|| Source::named("unnamed"))
}

/// The label of a tool's results, as its flags say. `family` is `tool`, `model` or `agent`.
pub(super) fn result_label((family, name): (&str, &str), is_trusted: bool, audience: Audience) -> Label {
    let label = if is_trusted { Label::trusted() } else { Label::from_source(source(family, name)) };
    label.narrowed_to(audience)
}
