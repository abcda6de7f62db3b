//! Walks through parsed templates: their texts, their arguments, the partials they name.

use std::collections::BTreeSet;

use super::template::{Expression, HelperCall, PartialName, Statement, Template};
use crate::ordered_json::OrderedJson;

/// Every text that a template holds, those in its tags too.
pub(crate) fn collect_literals(template: &Template, text: &mut String) {
    for node in &template.nodes {
        match &node.element {
            Statement::Text(written) => text.push_str(&written.shown),
            Statement::Print(call, _) => collect_call(call, text),
            Statement::Block(block) => {
                collect_call(&block.call, text);
                for inner in [&block.body, &block.inverse].into_iter().flatten() {
                    collect_literals(inner, text);
                }
            }
            Statement::Partial(partial) => {
                text.push_str(&partial.indent);
                collect_arguments(&partial.arguments, &partial.named, text);
                partial.body.iter().for_each(|inner| collect_literals(inner, text));
            }
            Statement::Inline(inline) => collect_literals(&inline.body, text),
            Statement::Comment(_) | Statement::Decorator(_) => {}
        }
    }
}

fn collect_call(call: &HelperCall, text: &mut String) {
    collect_arguments(&call.arguments, &call.named, text);
}

fn collect_arguments(arguments: &[Expression], named: &[(String, Expression)], text: &mut String) {
    for expression in arguments.iter().chain(named.iter().map(|(_, expression)| expression)) {
        match expression {
            Expression::Literal(Some(OrderedJson::Text(literal))) => {
                text.push(' ');
                text.push_str(literal);
            }
            Expression::Call(call) => collect_call(call, text),
            Expression::Literal(_) | Expression::Path(_) => {}
        }
    }
}

/// The partials that a template names, in order, each once.
pub(crate) fn partial_names(template: &Template) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    visit_partials(template, 0, &mut |name, _| {
        if let PartialName::Written(name) = name
            && seen.insert(name.clone())
        {
            names.push(name.clone());
        }
    });
    names
}

/// Calls `found` with the name and depth of each partial each time it is in a template.
pub(crate) fn visit_partials(template: &Template, depth: usize, found: &mut impl FnMut(&PartialName, usize)) {
    let inside = depth.saturating_add(1);
    for node in &template.nodes {
        match &node.element {
            Statement::Partial(partial) => {
                found(&partial.name, inside);
                partial.body.iter().for_each(|inner| visit_partials(inner, inside, found));
            }
            Statement::Block(block) => {
                for inner in [&block.body, &block.inverse].into_iter().flatten() {
                    visit_partials(inner, inside, found);
                }
            }
            Statement::Inline(inline) => visit_partials(&inline.body, inside, found),
            _ => {}
        }
    }
}
