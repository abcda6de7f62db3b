//! A prompt as an assembly needs it: read, checked and compiled.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::analyse::{Analysis, OUTPUT_FORMAT};
use super::file::{PromptFile, Section};
use super::header::TOOL_FILE;
use super::origin::Origin;
use super::template::{PartialName, Statement, Template};
use super::tool_file::{ToolDefinition, read_definition};
use super::walk::{collect_literals, partial_names};
use crate::assembly::PromptId;
use crate::contract::{AnswerContract, Contract, MissingMaxima, ToolContracts};
use crate::error::{Error, ErrorKind};
use crate::input::Checker;
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::schema::with_order;
use crate::section::Trust;

/// A strict prompt, read, checked and compiled: what an assembly is made from.
#[derive(Debug)]
pub struct Prompt {
    /// Which one it is.
    pub id: PromptId,
    /// Its file.
    pub file: PromptFile,
    /// The files it was read from and who wrote each.
    pub files: Vec<(String, Origin)>,
    pub(crate) checker: Checker,
    /// The templates' own text, for choosing marks that don't occur in it.
    pub(crate) literals: String,
    /// The texts of the schema files that it names, by name, as far as they are there.
    schemas: BTreeMap<String, String>,
}

/// The required form of a prompt's answer.
#[derive(Debug)]
pub(crate) struct DeclaredAnswer {
    pub(crate) contract: AnswerContract,
    /// The places of maxima that were filled in because the prompt file can't state them.
    pub(crate) filled: Vec<String>,
}

impl Prompt {
    pub(crate) fn new(
        id: PromptId,
        file: PromptFile,
        files: Vec<(String, Origin)>,
        schemas: BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let checker = Checker::new(file.input_schema(), file.history.is_some())?;
        let mut literals = String::new();
        for template in file.sections.iter().map(|section| &section.template).chain(file.partials.values()) {
            collect_literals(template, &mut literals);
        }
        Ok(Self { id, file, files, checker, literals, schemas })
    }

    /// Whether a template prints the form of the answer (`{{output_format}}`), so that it isn't added to the request again.
    #[must_use]
    pub fn prints_output_format(&self) -> bool {
        !self.file.has_input(OUTPUT_FORMAT)
            && self.file.sections.iter().any(|section| section.inputs.contains(OUTPUT_FORMAT))
    }

    /// The required form of the answer.
    ///
    /// Calls of the tools whose contracts `proem.tools` names, each called like its file. Otherwise one value: its
    /// schema is the file that `proem.output_schema` names, or `output.schema` of the front matter, with missing maxima
    /// filled in ([`Contract::bounded`]). A model receives the schema as its author wrote it, in its order. Without a
    /// schema, any text. Compiles the schemas: call it once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with everything that is wrong with the schemas.
    pub fn contract(&self) -> Result<AnswerContract, Error> {
        Ok(self.answer()?.contract)
    }

    pub(crate) fn answer(&self) -> Result<DeclaredAnswer, Error> {
        let strict = &self.file.strict;
        let name = tool_name(&self.id.name);
        let declared = |contract| DeclaredAnswer { contract, filled: Vec::new() };
        if !strict.tools.is_empty() {
            let (tools, filled) = self.tools()?;
            return Ok(DeclaredAnswer { contract: AnswerContract::Calls(tools), filled });
        }
        if let Some(file) = &strict.output_schema {
            let schema = self.schema("output_schema", file)?;
            let made = Contract::of_answer(&name, schema, MissingMaxima::Refused);
            let (contract, _) = made.map_err(|error| in_file(&error, &name, file))?;
            return Ok(declared(AnswerContract::Value(contract)));
        }
        let Some(schema) = &self.file.header.output_schema else { return Ok(declared(AnswerContract::Text)) };
        if is_any_text(schema) {
            return Ok(declared(AnswerContract::Text));
        }
        let made = Contract::of_answer(&name, schema.clone(), MissingMaxima::Filled);
        let (contract, filled) = made.map_err(|error| {
            let problems = error.problems().iter().map(|problem| format!("output.schema: {problem}"));
            Error::all(ErrorKind::InvalidFile, problems.collect())
        })?;
        Ok(DeclaredAnswer { contract: AnswerContract::Value(contract), filled })
    }

    /// The contracts that `proem.tools` names, and where maxima were filled in.
    ///
    /// A provider's definition has no maxima of its own. A schema that was written for Proem states them.
    fn tools(&self) -> Result<(ToolContracts, Vec<String>), Error> {
        let (mut contracts, mut problems, mut filled) = (Vec::new(), Vec::new(), Vec::new());
        for file in &self.file.strict.tools {
            let read = self.schema("tools", file).and_then(|mut schema| {
                let name = file.strip_suffix(TOOL_FILE).unwrap_or(file);
                if let Some(definition) = read_definition(&schema) {
                    let (contract, places) = provider_tool_contract(file, name, definition)?;
                    filled.extend(places);
                    return Ok(contract);
                }
                let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
                let about = about.as_ref().and_then(Json::as_str).unwrap_or_default();
                file_tool_contract(file, name, about, schema)
            });
            match read {
                Ok(contract) => contracts.push(contract),
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(error),
                Err(error) => problems.extend(error.problems().iter().cloned()),
            }
        }
        if !problems.is_empty() {
            return Err(Error::all(ErrorKind::InvalidFile, problems));
        }
        let tools = ToolContracts::new(contracts)?.with_choice(self.file.strict.tool_choice.clone())?;
        Ok((tools, filled))
    }

    /// The schema in a file beside the prompt that `key` names.
    fn schema(&self, key: &str, file: &str) -> Result<Json, Error> {
        let missing = || Error::new(ErrorKind::NotFound, missing_schema(key, file));
        let text = self.schemas.get(file).ok_or_else(missing)?;
        let schema: OrderedJson = serde_json::from_str(text)
            .map_err(|error| Error::new(ErrorKind::InvalidFile, format!("{file}: not JSON: {error}")))?;
        Ok(with_order(&schema))
    }

    /// Whether its templates can be given texts from outside in every input, wherever a user message prints them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TrustViolation`] with every use that only holds for trusted texts: one in the system message, a
    /// comparison, JSON.
    pub(crate) fn check_untrusted(&self) -> Result<(), Error> {
        let (schema, partials) = (self.file.input_schema(), &self.file.partials);
        let analysis = Analysis { schema: &schema, trust: &[], partials, elements: Cell::new(0) };
        let mut problems = Vec::new();
        for section in &self.file.sections {
            let mut spec = section.spec.clone();
            if section.role == Role::User {
                spec.trust = Trust::Untrusted;
            }
            let (faults, _) = analysis.section(&spec, &section.template);
            let words = |message| format!("with untrusted inputs, section `{}`: {message}", section.spec.name);
            problems.extend(faults.into_iter().map(|fault| words(fault.message)));
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::all(ErrorKind::TrustViolation, problems)) }
    }

    /// The text that the system message's templates hold, partials included, inputs left out.
    #[must_use]
    pub fn system_literals(&self) -> String {
        let mut text = String::new();
        for section in self.file.sections.iter().filter(|section| section.role == crate::message::Role::System) {
            text.push_str(&self.section_literals(&section.template));
        }
        text
    }

    /// The text of a section as its file has it, with that of its partials: what inputs bring is not among it.
    #[must_use]
    pub fn own_text(&self, section: &Section) -> String {
        self.section_literals(&section.template)
    }

    pub(crate) fn section_literals(&self, template: &Template) -> String {
        let mut text = String::new();
        collect_literals(template, &mut text);
        let mut wanted = partial_names(template);
        let mut seen = BTreeSet::new();
        while let Some(name) = wanted.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some(partial) = self.file.partials.get(&name) {
                // Words of one file don't run into those of the next.
                text.push('\n');
                collect_literals(partial, &mut text);
                wanted.extend(partial_names(partial));
            }
        }
        text
    }
}

/// The contract of a provider's definition, and where maxima were filled in.
fn provider_tool_contract(
    file: &str,
    name: &str,
    definition: ToolDefinition,
) -> Result<(Contract, Vec<String>), Error> {
    if definition.name != name {
        let problem = format!(
            "{file}: it defines the tool `{}`; call the file `{}{TOOL_FILE}`",
            definition.name.escape_debug(),
            definition.name.escape_debug()
        );
        return Err(Error::new(ErrorKind::InvalidFile, problem));
    }
    let (contract, places) = Contract::bounded(name, &definition.description, definition.schema).map_err(|error| {
        Error::all(
            ErrorKind::InvalidFile,
            error.problems().iter().map(|problem| format!("{file}: {problem}")).collect(),
        )
    })?;
    Ok((contract, places.iter().map(|place| format!("{file}{place}")).collect()))
}

/// Whether a schema is `string` and nothing more, which any text meets.
fn is_any_text(schema: &Json) -> bool {
    let Json::Object(keywords) = schema else { return false };
    let says_nothing = |keyword: &str| matches!(keyword, "type" | "description" | "title");
    schema.get("type").is_some_and(|kind| kind == "string") && keywords.keys().all(|keyword| says_nothing(keyword))
}

/// The problems of a contract as problems of the file that its schema is in.
fn in_file(error: &Error, name: &str, file: &str) -> Error {
    let own = format!("contract `{}`: ", name.escape_debug());
    let problems = error.problems().iter().map(|problem| format!("{file}: {}", problem.trim_start_matches(&own)));
    Error::all(ErrorKind::InvalidFile, problems.collect())
}

/// The contract that a file beside a prompt holds.
fn file_tool_contract(file: &str, name: &str, description: &str, schema: Json) -> Result<Contract, Error> {
    Contract::compile(name, description, schema).map_err(|problems| {
        let problems = problems.iter().map(|problem| format!("{file}: {problem}"));
        Error::all(ErrorKind::InvalidFile, problems.collect())
    })
}

/// The message about a missing schema file, which `key` names.
pub(crate) fn missing_schema(key: &str, file: &str) -> String {
    format!("proem.{key} names `{file}`, which is not in the folder of the prompt file")
}

/// A prompt's name as the name of a tool.
fn tool_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(fit).take(Contract::MAX_NAME_CHARS).collect();
    if name.is_empty() { "answer".into() } else { name }
}

impl Prompt {
    /// The text that a template prints for all inputs: text outside blocks, partials included.
    pub(crate) fn unconditional(&self, template: &Template) -> String {
        let mut text = String::new();
        for node in &template.nodes {
            match &node.element {
                Statement::Text(written) => text.push_str(&written.shown),
                Statement::Partial(partial) => {
                    let PartialName::Written(name) = &partial.name else { continue };
                    let inner = self.file.partials.get(name);
                    text.push_str(&inner.map(|inner| self.unconditional(inner)).unwrap_or_default());
                }
                _ => {}
            }
        }
        text
    }
}
