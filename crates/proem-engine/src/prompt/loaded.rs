//! A prompt as an assembly needs it: read, checked and compiled.

use std::collections::BTreeSet;

use handlebars::Template;
use handlebars::template::TemplateElement;

use super::file::PromptFile;
use super::origin::Origin;
use super::render::Renderer;
use super::walk::{collect_literals, partial_names};
use crate::assembly::PromptId;
use crate::error::Error;
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
    pub(crate) renderer: Renderer,
    pub(crate) checker: Checker,
    /// The templates' own text, for choosing marks that don't occur in it.
    pub(crate) literals: String,
}

impl Prompt {
    pub(crate) fn new(id: PromptId, file: PromptFile, files: Vec<(String, Origin)>) -> Result<Self, Error> {
        let checker = Checker::new(file.input_schema())?;
        let renderer = Renderer::new(&file);
        let mut literals = String::new();
        for template in file.sections.iter().map(|section| &section.template).chain(file.partials.values()) {
            collect_literals(template, &mut literals);
        }
        Ok(Self { id, file, files, renderer, checker, literals })
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

impl Prompt {
    /// What a template prints whatever its inputs are: text outside blocks, partials included.
    pub(crate) fn unconditional(&self, template: &Template) -> String {
        let mut text = String::new();
        for element in &template.elements {
            match element {
                TemplateElement::RawString(raw) => text.push_str(raw),
                TemplateElement::PartialExpression(partial) => {
                    let inner = partial.name.as_name().and_then(|name| self.file.partials.get(name));
                    text.push_str(&inner.map(|inner| self.unconditional(inner)).unwrap_or_default());
                }
                _ => {}
            }
        }
        text
    }
}
