//! Renders the sections of a strict prompt, one template each.

use proem_text::OrderedMap;

use super::compiled_prompt::Prompt;
use super::file::Section;
use super::layout::Layout;
use super::template::evaluate::{Dialect, evaluate_template};
use super::template::scope::TemplateBindings;
use crate::error::{Error, ErrorKind};
use crate::ordered_json::OrderedJson;

/// The version of how templates and inputs become text.
///
/// It grows whenever the same prompt and inputs may come out as other bytes, so that a record can name the one that
/// it was made with. 2: templates are evaluated as
/// handlebars.js does (lists, numbers and objects print as in JavaScript, an object without fields is true),
/// and objects keep the order in which they were written. 3: schemas keep the order and the words of their author, and
/// what a prompt is for is not sent with them.
pub const RENDERING: u32 = 3;

impl Prompt {
    /// One section's text, marks still in it; without blank lines around it unless the layout is exact.
    pub(crate) fn render(&self, section: &Section, inputs: &OrderedJson) -> Result<String, Error> {
        let values = TemplateBindings { partials: &self.file.partials, root: inputs, context: &OrderedMap::default() };
        let text = evaluate_template(&section.template, &values, Dialect::Strict).map_err(|problem| {
            let problem = format!("section `{}`: {}", section.spec.name, problem.into_text());
            Error::new(ErrorKind::Render, problem)
        })?;
        if self.file.strict.layout == Layout::Exact {
            return Ok(text);
        }
        let text = text.trim_end().trim_start_matches(['\n', '\r']);
        Ok(if text.trim().is_empty() { String::new() } else { format!("{text}\n") })
    }
}
