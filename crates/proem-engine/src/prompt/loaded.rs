//! A prompt as an assembly needs it: read, checked and compiled.

use std::collections::BTreeSet;

use super::file::PromptFile;
use super::origin::Origin;
use super::template::{PartialName, Statement, Template};
use super::walk::{collect_literals, partial_names};
use crate::assembly::PromptId;
use crate::contract::Contract;
use crate::error::{Error, ErrorKind};
use crate::input::Checker;

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
    /// The text of the file that `proem.output_schema` names, if it is there.
    output_schema: Option<String>,
}

/// What a prompt's answer must be.
#[derive(Debug)]
pub(crate) struct AnswerContract {
    pub(crate) contract: Contract,
    /// Where maxima were filled in that the prompt file can't state.
    pub(crate) filled: Vec<String>,
}

impl Prompt {
    pub(crate) fn new(
        id: PromptId,
        file: PromptFile,
        files: Vec<(String, Origin)>,
        output_schema: Option<String>,
    ) -> Result<Self, Error> {
        let checker = Checker::new(file.input_schema())?;
        let mut literals = String::new();
        for template in file.sections.iter().map(|section| &section.template).chain(file.partials.values()) {
            collect_literals(template, &mut literals);
        }
        Ok(Self { id, file, files, checker, literals, output_schema })
    }

    /// What the answer must be; `None` if it is free text.
    ///
    /// The schema is the file that `proem.output_schema` names, else `output.schema` of the front
    /// matter, whose missing maxima are filled in ([`Contract::bounded`]). Compiles it: call it once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with everything that is wrong with the schema.
    pub fn contract(&self) -> Result<Option<Contract>, Error> {
        Ok(self.answer()?.map(|answer| answer.contract))
    }

    pub(crate) fn answer(&self) -> Result<Option<AnswerContract>, Error> {
        let strict = &self.file.strict;
        let name = tool_name(&self.id.name);
        let purpose = strict.purpose.as_deref().unwrap_or_default();
        if let Some(file) = &strict.output_schema {
            let invalid = |problem: String| Error::new(ErrorKind::InvalidFile, format!("{file}: {problem}"));
            let missing = || Error::new(ErrorKind::NotFound, missing_schema(file));
            let text = self.output_schema.as_deref().ok_or_else(missing)?;
            let schema = serde_json::from_str(text).map_err(|e| invalid(format!("not JSON: {e}")))?;
            let contract = Contract::compile(&name, purpose, schema).map_err(|problems| {
                let problems = problems.iter().map(|problem| format!("{file}: {problem}"));
                Error::all(ErrorKind::InvalidFile, problems.collect())
            })?;
            return Ok(Some(AnswerContract { contract, filled: Vec::new() }));
        }
        let Some(schema) = &self.file.header.output_schema else { return Ok(None) };
        let (contract, filled) = Contract::bounded(&name, purpose, schema.clone()).map_err(|error| {
            let problems = error.problems().iter().map(|problem| format!("output.schema: {problem}"));
            Error::all(ErrorKind::InvalidFile, problems.collect())
        })?;
        Ok(Some(AnswerContract { contract, filled }))
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

/// What is said of a schema file that isn't there.
pub(crate) fn missing_schema(file: &str) -> String {
    format!("proem.output_schema names `{file}`, which is not in the folder of the prompt file")
}

/// A prompt's name as the name of a tool.
fn tool_name(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(fit).take(Contract::MAX_NAME_CHARS).collect();
    if name.is_empty() { "answer".into() } else { name }
}

impl Prompt {
    /// What a template prints whatever its inputs are: text outside blocks, partials included.
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
