//! The lookup of names while a template is evaluated.

use std::collections::BTreeMap;
use std::sync::Arc;

use proem_text::OrderedMap;

use super::{PathExpression, Statement, Template};
use crate::ordered_json::OrderedJson;

/// The data for evaluating a template.
#[derive(Debug)]
pub(crate) struct TemplateBindings<'v> {
    /// Partials by name.
    pub(crate) partials: &'v BTreeMap<String, Template>,
    /// The root value.
    pub(crate) root: &'v OrderedJson,
    /// The values of `@name`, beside Handlebars' own.
    pub(crate) context: &'v OrderedMap<OrderedJson>,
}

/// The surroundings of a place in a template. A copy is cheap, and nothing in it changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TemplateScope<'s> {
    /// The values that blocks went into, innermost first.
    pub(super) level: &'s ContextLevel<'s>,
    /// The blocks' names for their values.
    pub(super) parameters: Option<&'s BlockParameters<'s>>,
    /// The turns of the loops around the place, those of a calling template too.
    pub(super) turn: Option<&'s LoopIteration<'s>>,
    /// The value of `@partial-block`.
    pub(super) block: Option<&'s PartialBlock<'s>>,
    /// Partials that templates define in themselves.
    pub(super) inlines: Option<&'s Inlines<'s>>,
    /// How deep the place is in blocks and partials.
    pub(super) depth: usize,
}

/// The value of `this`, and the level that `..` leads to.
#[derive(Debug)]
pub(super) struct ContextLevel<'s> {
    pub(super) this: Option<OrderedJson>,
    pub(super) above: Option<&'s Self>,
}

/// The names of one block's values.
#[derive(Debug)]
pub(super) struct BlockParameters<'s> {
    pub(super) names: &'s [String],
    pub(super) values: [Option<OrderedJson>; 2],
    pub(super) around: Option<&'s Self>,
}

/// One turn of a loop.
#[derive(Debug)]
pub(super) struct LoopIteration<'s> {
    pub(super) index: usize,
    pub(super) count: usize,
    /// The name of an object's field.
    pub(super) key: Option<Arc<str>>,
    pub(super) around: Option<&'s Self>,
}

/// The body of a tag `{{#> name}}`, and its place.
#[derive(Debug)]
pub(super) struct PartialBlock<'s> {
    pub(super) body: &'s Template,
    pub(super) scope: TemplateScope<'s>,
}

/// Partials defined in one template or branch, and where.
#[derive(Debug)]
pub(super) struct Inlines<'s> {
    pub(super) partials: Vec<(&'s str, &'s Template)>,
    pub(super) scope: TemplateScope<'s>,
    pub(super) around: Option<&'s Self>,
}

impl<'s> TemplateScope<'s> {
    /// The value that a path leads to. `None` if there is none.
    pub(super) fn find(&self, path: &PathExpression, values: &TemplateBindings<'_>) -> Option<OrderedJson> {
        if path.is_data {
            return self.data(path, values);
        }
        let names = path.names.as_slice();
        if path.up == 0
            && !path.is_scoped
            && let Some((first, rest)) = names.split_first()
            && let Some(value) = self.parameter(first)
        {
            return walk_names(value.as_ref(), rest);
        }
        walk_names(self.above(path.up)?.this.as_ref(), names)
    }

    /// The value that a surrounding block calls `name`. `None` if no block does.
    pub(super) fn parameter(&self, name: &str) -> Option<&'s Option<OrderedJson>> {
        let around = core::iter::successors(self.parameters, |parameters| parameters.around);
        around.into_iter().find_map(|parameters| {
            let place = parameters.names.iter().position(|known| known == name)?;
            parameters.values.get(place)
        })
    }

    /// A partial by name, and where it is defined if a template defines it in itself.
    pub(super) fn partial(
        &self,
        name: &str,
        values: &TemplateBindings<'s>,
    ) -> Option<(&'s Template, Option<&'s Self>)> {
        let around = core::iter::successors(self.inlines, |inlines| inlines.around);
        for inlines in around {
            if let Some((_, template)) = inlines.partials.iter().rev().find(|(known, _)| *known == name) {
                return Some((template, Some(&inlines.scope)));
            }
        }
        values.partials.get(name).map(|template| (template, None))
    }

    fn above(&self, up: usize) -> Option<&'s ContextLevel<'s>> {
        core::iter::successors(Some(self.level), |level| level.above).nth(up)
    }

    fn data(&self, path: &PathExpression, values: &TemplateBindings<'_>) -> Option<OrderedJson> {
        let (first, rest) = path.names.split_first()?;
        let turn = || core::iter::successors(self.turn, |turn| turn.around).nth(path.up);
        let number = |number: usize| OrderedJson::Number(number.into());
        let value = match first.as_str() {
            "root" => return walk_names(Some(values.root), rest),
            "partial-block" => return self.block.map(|_| OrderedJson::Bool(true)),
            "index" => turn().map(|turn| number(turn.index)),
            "first" => turn().map(|turn| OrderedJson::Bool(turn.index == 0)),
            "last" => turn().map(|turn| OrderedJson::Bool(turn.index.saturating_add(1) == turn.count)),
            "key" => turn().map(|turn| match &turn.key {
                Some(key) => OrderedJson::Text(Arc::clone(key)),
                None => number(turn.index),
            }),
            _ => None,
        };
        value.or_else(|| values.context.get(first).cloned()).and_then(|value| walk_names(Some(&value), rest))
    }
}

/// The value that `names` lead to from `value`.
fn walk_names(value: Option<&OrderedJson>, names: &[String]) -> Option<OrderedJson> {
    let mut value = value?.clone();
    for name in names {
        value = value_property(&value, name)?;
    }
    Some(value)
}

/// A value's field, item or length. Lengths and places of a text count UTF-16 units, as in JavaScript.
pub(super) fn value_property(value: &OrderedJson, name: &str) -> Option<OrderedJson> {
    let number = |number: usize| OrderedJson::Number(number.into());
    match (value, name) {
        (OrderedJson::Map(fields), _) => fields.get(name).cloned(),
        (OrderedJson::List(items), "length") => Some(number(items.len())),
        (OrderedJson::Text(text), "length") => Some(number(text.encode_utf16().count())),
        (OrderedJson::List(items), _) => items.get(list_index(name)?).cloned(),
        (OrderedJson::Text(text), _) => {
            let unit = text.encode_utf16().nth(list_index(name)?)?;
            Some(String::from_utf16_lossy(&[unit]).into())
        }
        _ => None,
    }
}

/// A place in a list, as JavaScript writes it.
fn list_index(name: &str) -> Option<usize> {
    name.parse::<usize>().ok().filter(|place| place.to_string() == name)
}

/// The same object with more fields, or others.
pub(super) fn with_fields(base: Option<&OrderedJson>, named: Vec<(&str, Option<OrderedJson>)>) -> OrderedJson {
    let mut fields: OrderedMap<OrderedJson> = base.and_then(OrderedJson::fields).cloned().unwrap_or_default();
    for (name, value) in named {
        fields.insert(name, value.unwrap_or_default());
    }
    fields.into()
}

/// Whether two values are one, as JavaScript compares them.
pub(super) fn is_same_value(a: Option<&OrderedJson>, b: Option<&OrderedJson>) -> bool {
    match (a, b) {
        (Some(OrderedJson::List(a)), Some(OrderedJson::List(b))) => Arc::ptr_eq(a, b),
        (Some(OrderedJson::Map(a)), Some(OrderedJson::Map(b))) => Arc::ptr_eq(a, b),
        _ => a == b,
    }
}

/// The partials that a template, or a branch, defines in itself.
pub(super) fn inlines(template: &Template) -> Vec<(&str, &Template)> {
    let found = template.nodes.iter().filter_map(|node| match &node.element {
        Statement::Inline(inline) => Some((inline.name.as_deref()?, &inline.body)),
        _ => None,
    });
    found.collect()
}
