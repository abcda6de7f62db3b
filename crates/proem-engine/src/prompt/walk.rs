//! Walks through parsed templates: their texts, their arguments, the partials they name.

use std::collections::{BTreeMap, BTreeSet};

use handlebars::Template;
use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use serde_json::Value as Json;

/// Every text that a template holds, those in its tags too.
pub(crate) fn collect_literals(template: &Template, text: &mut String) {
    for element in &template.elements {
        match element {
            TemplateElement::RawString(raw) => text.push_str(raw),
            TemplateElement::Expression(helper) | TemplateElement::HtmlExpression(helper) => {
                collect_arguments(helper, text);
            }
            TemplateElement::HelperBlock(helper) => {
                collect_arguments(helper, text);
                for inner in [&helper.template, &helper.inverse].into_iter().flatten() {
                    collect_literals(inner, text);
                }
            }
            TemplateElement::PartialExpression(partial) => {
                partial.params.iter().for_each(|parameter| collect_literal(parameter, text));
                sorted(&partial.hash).into_iter().for_each(|(_, parameter)| collect_literal(parameter, text));
            }
            _ => {}
        }
    }
}

fn collect_arguments(helper: &HelperTemplate, text: &mut String) {
    helper.params.iter().for_each(|parameter| collect_literal(parameter, text));
    sorted(&helper.hash).into_iter().for_each(|(_, parameter)| collect_literal(parameter, text));
}

fn collect_literal(parameter: &Parameter, text: &mut String) {
    match parameter {
        Parameter::Literal(Json::String(literal)) => {
            text.push(' ');
            text.push_str(literal);
        }
        Parameter::Subexpression(sub) => {
            if let TemplateElement::Expression(helper) = sub.as_element() {
                collect_arguments(helper, text);
            }
        }
        _ => {}
    }
}

/// A tag's named arguments in the order of their names.
pub(crate) fn sorted<'h>(hash: impl IntoIterator<Item = (&'h String, &'h Parameter)>) -> Vec<(&'h str, &'h Parameter)> {
    let arguments: BTreeMap<&str, &Parameter> = hash.into_iter().map(|(name, value)| (name.as_str(), value)).collect();
    arguments.into_iter().collect()
}

/// The partials that a template names, in order, each once.
pub(crate) fn partial_names(template: &Template) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    visit_partials(template, 0, &mut |name, _| {
        if let Some(name) = name.filter(|name| seen.insert((*name).to_owned())) {
            names.push(name.to_owned());
        }
    });
    names
}

/// Calls `found` with the name and depth of each partial each time it stands in a template;
/// `None` is a name that is computed.
pub(crate) fn visit_partials(template: &Template, depth: usize, found: &mut impl FnMut(Option<&str>, usize)) {
    let inside = depth.saturating_add(1);
    for element in &template.elements {
        match element {
            TemplateElement::PartialExpression(partial) | TemplateElement::PartialBlock(partial) => {
                let written = matches!(partial.name, Parameter::Name(_) | Parameter::Path(_));
                found(partial.name.as_name().filter(|_| written), inside);
                partial.template.iter().for_each(|inner| visit_partials(inner, inside, found));
            }
            TemplateElement::HelperBlock(helper) => {
                for inner in [&helper.template, &helper.inverse].into_iter().flatten() {
                    visit_partials(inner, inside, found);
                }
            }
            TemplateElement::DecoratorBlock(block) => {
                block.template.iter().for_each(|inner| visit_partials(inner, inside, found));
            }
            _ => {}
        }
    }
}
