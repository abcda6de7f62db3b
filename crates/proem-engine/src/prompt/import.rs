//! Reads prompts that other tools wrote and makes prompt files of them.
//!
//! Each kind has a reader of its own. All of them fill an [`ImportedPrompt`], which [`write_prompt`] turns into files.
//!
//! Invariants: every input is untrusted, whatever the source says. A text is carried over byte for byte or refused with
//! its line. Everything else that the source holds is carried over or listed in [`ImportedPrompt::left_out`]. No value
//! of a setting that may be a credential reaches a file or a message.

mod chat_xml;
mod document;
mod dotprompt;
mod langchain;
mod markdown;
mod placeholder;
mod promptfoo;
mod prompty;
mod recognise;
mod request;
mod semantic_kernel;
mod source;
mod write;

use std::collections::BTreeMap;

use proem_text::OrderedMap;

use self::source::{ImportReader, SourceFile};
use crate::error::{Error, ErrorKind};
use crate::message::Role;
use crate::ordered_json::OrderedJson;

pub use self::recognise::recognise_source;
pub use self::write::{WrittenPrompt, write_prompt};

/// The kind of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    /// <https://google.github.io/dotprompt/>.
    Dotprompt,
    /// <https://prompty.ai>, the first form and the second.
    Prompty,
    /// A configuration of <https://www.promptfoo.dev>.
    Promptfoo,
    /// LangChain's `PromptTemplate` and `ChatPromptTemplate`, saved or dumped.
    LangChain,
    /// A command of Claude Code, `.claude/commands/*.md`.
    ClaudeCommand,
    /// A prompt of VS Code, `*.prompt.md`.
    CopilotPrompt,
    /// A pattern of <https://github.com/danielmiessler/fabric>, `system.md`.
    Fabric,
    /// A function of Semantic Kernel, `skprompt.txt` or YAML.
    SemanticKernel,
    /// The body of a request to OpenAI or Anthropic.
    Request,
    /// A text with `{{name}}`.
    Jinja,
    /// A text with `{name}`.
    FString,
}

impl ImportKind {
    /// Every kind with its word on the command line.
    pub const WORDS: [(&'static str, Self); 11] = [
        ("dotprompt", Self::Dotprompt),
        ("prompty", Self::Prompty),
        ("promptfoo", Self::Promptfoo),
        ("langchain", Self::LangChain),
        ("claude-command", Self::ClaudeCommand),
        ("copilot-prompt", Self::CopilotPrompt),
        ("fabric", Self::Fabric),
        ("semantic-kernel", Self::SemanticKernel),
        ("request", Self::Request),
        ("jinja", Self::Jinja),
        ("f-string", Self::FString),
    ];

    /// Its word on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

/// The treatment of tests' parts that no case of ours can express, such as assertions that are programs. They change no
/// request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownChecks {
    /// They refuse the source.
    #[default]
    Refused,
    /// They are left out, and listed.
    LeftOut,
}

/// A file to import, with the files beside it that it names.
#[derive(Debug, Clone, Copy)]
pub struct ImportSource<'s> {
    /// Its path, with `/` between folders.
    pub path: &'s str,
    /// The name of the folder that it is in, which some kinds take for the prompt's.
    pub folder: &'s str,
    /// The whole file of the other tool.
    pub text: &'s str,
    /// The texts of the files that [`files_beside_source`] lists, as far as they exist, by the path it lists.
    pub beside: &'s BTreeMap<String, String>,
    /// The treatment of tests' parts that no case can express.
    pub unknown_checks: UnknownChecks,
}

/// The possible values of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedInput {
    /// Its JSON Schema.
    pub schema: OrderedJson,
    /// Whether it may be missing. Then it prints nothing.
    pub is_optional: bool,
    /// Its value where the caller gives none.
    pub default: Option<OrderedJson>,
}

/// A piece of a turn's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece {
    /// The author's words, as the model reads them.
    Text(String),
    /// The value of an input, or of a field of one.
    Input(Vec<String>),
    /// A Handlebars template that is kept as it is.
    Template(String),
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTurn {
    /// The role of the message.
    pub role: Role,
    /// Its text.
    pub pieces: Vec<TextPiece>,
    /// Its line in the source.
    pub line: usize,
}

/// Settings of a call that a prompt file can hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedSettings {
    /// The model's name.
    pub model: Option<String>,
    /// The settings of the front matter's `config`, by its keys there.
    pub config: OrderedMap<OrderedJson>,
    /// The most tokens of an answer.
    pub output_tokens: Option<u64>,
}

/// One test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedCase {
    /// As the other tool's file calls it, or its number.
    pub name: String,
    /// The inputs by name.
    pub inputs: OrderedMap<OrderedJson>,
    /// The expectation of the answer.
    pub expected: ImportedExpectation,
}

/// A test's expectation of an answer, as far as the source states it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedExpectation {
    /// The answer itself.
    pub answer: Option<OrderedJson>,
    /// Checks as a case file writes them.
    pub checks: Vec<OrderedJson>,
    /// The decision of a judge.
    pub judgement: Option<ImportedJudgement>,
}

/// A rubric with the verdict that is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedJudgement {
    /// The description of a good answer.
    pub rubric: String,
    /// Whether the answer must be like that.
    pub verdict: bool,
}

/// Something of the source that the prompt file does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
pub struct LeftOut {
    /// Its path, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The point, and the remedy.
    pub text: String,
}

/// A prompt on its way from another tool's form into a prompt file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedPrompt {
    /// Its name: lower-case letters, digits and `-`.
    pub name: String,
    /// The file it was read from.
    pub source: String,
    /// Its purpose, in the author's words.
    pub purpose: Option<String>,
    /// Its messages in order.
    pub turns: Vec<ImportedTurn>,
    /// Its inputs in the order in which they were declared or met.
    pub inputs: OrderedMap<ImportedInput>,
    /// The schema of its answer.
    pub answer: Option<OrderedJson>,
    /// Model, sampling and limits, as far as there are such settings here.
    pub settings: ImportedSettings,
    /// Its tests.
    pub cases: Vec<ImportedCase>,
    /// The parts that were not carried over, by place.
    pub left_out: Vec<LeftOut>,
}

/// The most bytes of one source.
pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// The files beside a source that it names, relative to its folder.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] if the source can't be read, or names a file outside its folder.
pub fn files_beside_source(kind: ImportKind, path: &str, text: &str) -> Result<Vec<String>, Error> {
    let file = SourceFile { name: path, text };
    match kind {
        ImportKind::Promptfoo => promptfoo::promptfoo_files(file),
        ImportKind::LangChain => langchain::langchain_files(file),
        ImportKind::Prompty => prompty::prompty_files(file),
        ImportKind::Fabric => Ok(vec!["user.md".to_owned()]),
        ImportKind::SemanticKernel => Ok(vec!["config.json".to_owned()]),
        _ => Ok(Vec::new()),
    }
}

/// Reads the prompts of a source.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`] with the place of everything that can't be carried over and would change what the model
/// reads: another form, code, a text outside the plain placeholders of its language.
pub fn read_prompts(kind: ImportKind, source: &ImportSource<'_>) -> Result<Vec<ImportedPrompt>, Error> {
    let too_long =
        source.text.len() > MAX_SOURCE_BYTES || source.beside.values().any(|text| text.len() > MAX_SOURCE_BYTES);
    if too_long {
        let problem = format!("{}: more than {MAX_SOURCE_BYTES} bytes; split the file", source.path);
        return Err(Error::new(ErrorKind::InvalidFile, problem));
    }
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let mut reader = ImportReader::new(SourceFile { name: source.path, text }, source);
    let prompts = match kind {
        ImportKind::Dotprompt => dotprompt::read_dotprompt(&mut reader),
        ImportKind::Prompty => prompty::read_prompty(&mut reader),
        ImportKind::Promptfoo => promptfoo::read_promptfoo(&mut reader),
        ImportKind::LangChain => langchain::read_langchain(&mut reader),
        ImportKind::ClaudeCommand => markdown::read_claude_command(&mut reader),
        ImportKind::CopilotPrompt => markdown::read_copilot_prompt(&mut reader),
        ImportKind::Fabric => markdown::read_fabric(&mut reader),
        ImportKind::SemanticKernel => semantic_kernel::read_semantic_kernel(&mut reader),
        ImportKind::Request => request::read_request(&mut reader),
        ImportKind::Jinja => markdown::read_plain_text(&mut reader, placeholder::PlaceholderStyle::Jinja),
        ImportKind::FString => markdown::read_plain_text(&mut reader, placeholder::PlaceholderStyle::FString),
    };
    reader.finish(prompts)
}

#[cfg(test)]
mod tests;
