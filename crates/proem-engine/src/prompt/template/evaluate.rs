//! Puts values into a template.
//!
//! Invariants: same template and values, same text. The text has at most [`MAX_BYTES`](super::bounded_text::MAX_BYTES),
//! evaluation takes at most [`MAX_STEPS`] and goes at most [`MAX_DEPTH`] deep, whatever blocks and partials multiply
//! to. Nothing is escaped, for a prompt is no HTML. One rule differs from handlebars.js: whether a block is one level
//! down, for `..`, is read off the template (`{{#with .}}` doesn't, any other `{{#with}}` does) and not off the
//! identity of two objects, so that the analysis can tell.

use std::sync::Arc;

use proem_text::OrderedMap;

use super::bounded_text::BoundedText;
use super::error::{RenderFailure, render_problem};
use super::functions::{self, compute, counts_as_nothing, is_true};
use super::scope::{
    BlockParameters, ContextLevel, Inlines, LoopIteration, PartialBlock, TemplateBindings, TemplateScope, inlines,
    is_same_value, with_fields,
};
use super::{BlockStatement, Expression, HelperCall, Partial, PartialName, Statement, Template};
use crate::ordered_json::OrderedJson;

/// The most pieces of templates that are evaluated for one text.
const MAX_STEPS: usize = 10_000_000;

/// How deep blocks and partials may be in each other.
const MAX_DEPTH: usize = 128;

/// The meaning of templates beyond Handlebars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A prompt of Proem, which has been analysed: a value that isn't there is an error.
    Strict,
    /// Plain dotprompt: a value that isn't there is nothing. This character is around what `role`, `section`, `history`
    /// and `media` say.
    Plain(char),
}

/// The text of a template.
///
/// # Errors
///
/// In words: a limit was met, a helper or partial is unknown, or a helper was given what it can't use.
pub(crate) fn evaluate_template(
    template: &Template,
    values: &TemplateBindings<'_>,
    dialect: Dialect,
) -> Result<String, RenderFailure> {
    let mut room = EvaluationContext { values, dialect, out: BoundedText::default(), steps: 0 };
    let level = ContextLevel { this: Some(values.root.clone()), above: None };
    let scope = TemplateScope { level: &level, parameters: None, turn: None, block: None, inlines: None, depth: 0 };
    room.template(template, &scope)?;
    Ok(room.out.into_text())
}

/// Everything that one evaluation works with and on.
#[derive(Debug)]
struct EvaluationContext<'v> {
    values: &'v TemplateBindings<'v>,
    dialect: Dialect,
    out: BoundedText,
    steps: usize,
}

/// The meaning of a name at the start of a tag.
enum NameResolution {
    Value,
    Helper,
}

impl EvaluationContext<'_> {
    fn step(&mut self, steps: usize) -> Result<(), RenderFailure> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS {
            return render_problem(format!("its loops and partials take more than {MAX_STEPS} steps"));
        }
        Ok(())
    }

    fn template(&mut self, template: &Template, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        if scope.depth > MAX_DEPTH {
            return render_problem(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        let scope = &TemplateScope { depth: scope.depth.saturating_add(1), ..*scope };
        let partials = inlines(template);
        if partials.is_empty() {
            return self.nodes(template, scope);
        }
        let inlines = Inlines { partials, scope: *scope, around: scope.inlines };
        self.nodes(template, &TemplateScope { inlines: Some(&inlines), ..*scope })
    }

    fn nodes(&mut self, template: &Template, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        for node in &template.nodes {
            self.step(1)?;
            match &node.element {
                Statement::Text(text) => self.out.push(&text.shown)?,
                Statement::Comment(_) | Statement::Inline(_) => {}
                Statement::Print(call, _) => self.print(call, scope)?,
                Statement::Block(block) => self.block(block, scope)?,
                Statement::Partial(partial) => self.partial(partial, scope)?,
                Statement::Decorator(_) => {
                    return render_problem("decorators are not supported; only `{{#*inline \"name\"}}` is supported");
                }
            }
        }
        Ok(())
    }

    fn branch(&mut self, branch: Option<&Template>, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        branch.map_or(Ok(()), |template| self.template(template, scope))
    }

    /// Whether a tag's first name is a value or a helper.
    fn meaning(&self, call: &HelperCall, scope: &TemplateScope<'_>) -> Result<NameResolution, RenderFailure> {
        let written = &call.path.written;
        // A block's own name for a value hides the helper of that name, as in handlebars.js.
        let name = call.path.simple().filter(|name| scope.parameter(name).is_none());
        let is_helper = name.is_some_and(|name| self.is_helper(name, call.is_bare()));
        match (is_helper, call.is_bare()) {
            (true, _) => Ok(NameResolution::Helper),
            (false, true) => Ok(NameResolution::Value),
            (false, false) => render_problem(match name {
                Some(_) => format!("unknown helper `{written}`; known: {}", HELPERS.join(", ")),
                None => format!("`{written}` is a value, which takes no arguments"),
            }),
        }
    }

    /// Whether a name is a helper here. Helpers that handlebars.js and dotprompt don't have count only with arguments,
    /// so that values of the same name can be printed.
    fn is_helper(&self, name: &str, is_bare: bool) -> bool {
        match name {
            "history" | "media" | "role" | "section" => self.dialect != Dialect::Strict,
            "lookup" | "log" => self.dialect != Dialect::Strict,
            _ => HELPERS.contains(&name) && (!is_bare || !OURS.contains(&name) || self.dialect == Dialect::Strict),
        }
    }

    fn print(&mut self, call: &HelperCall, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        if matches!(self.meaning(call, scope)?, NameResolution::Value) {
            let value = scope.find(&call.path, self.values);
            // The analysis let only declared names through, and what is declared was completed: a value that is
            // missing all the same is an error of ours and must not become an empty place in a prompt.
            if value.is_none() && self.dialect == Dialect::Strict {
                return render_problem(format!("`{}` is missing", call.path.written));
            }
            return functions::print_value(&mut self.out, value.as_ref());
        }
        let name = call.path.written.as_str();
        let arguments = self.arguments(&call.arguments, scope)?;
        match (name, arguments.as_slice()) {
            ("json", [value]) => {
                let indent = self.named(call, "indent", scope)?;
                let indent = indent.as_ref().and_then(|indent| match indent {
                    OrderedJson::Number(number) => number.as_u64(),
                    _ => None,
                });
                functions::print_json(&mut self.out, value.as_ref().unwrap_or(&OrderedJson::Null), indent.unwrap_or(0))
            }
            ("json", _) => render_problem("`json` takes one value"),
            ("log", _) => Ok(()),
            ("history" | "media" | "role" | "section", _) => self.marker(call, &arguments, scope),
            _ => match compute(name, &arguments) {
                Some(value) => functions::print_value(&mut self.out, Some(&value?)),
                None => render_problem(format!("`{name}` is a block; write {{{{#{name} …}}}}")),
            },
        }
    }

    /// Leaves word of a marker between two copies of the mark.
    fn marker(
        &mut self,
        call: &HelperCall,
        arguments: &[Option<OrderedJson>],
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let Dialect::Plain(mark) = self.dialect else { return Ok(()) };
        let name = call.path.written.as_str();
        let fields: OrderedMap<OrderedJson> = match (name, arguments.first()) {
            ("history", _) => OrderedMap::default(),
            ("media", _) => {
                let url = self.named(call, "url", scope)?.unwrap_or_default();
                let content_type = self.named(call, "contentType", scope)?.unwrap_or_default();
                [("url", url), ("contentType", content_type)].into_iter().collect()
            }
            (_, Some(value)) => [(name, value.clone().unwrap_or_default())].into_iter().collect(),
            (_, None) => return render_problem(format!("`{name}` takes a name")),
        };
        self.out.push(&format!("{mark}{name} {}{mark}", OrderedJson::from(fields).to_json()))
    }

    fn arguments(
        &mut self,
        arguments: &[Expression],
        scope: &TemplateScope<'_>,
    ) -> Result<Vec<Option<OrderedJson>>, RenderFailure> {
        arguments.iter().map(|argument| self.value(argument, scope)).collect()
    }

    fn named(
        &mut self,
        call: &HelperCall,
        name: &str,
        scope: &TemplateScope<'_>,
    ) -> Result<Option<OrderedJson>, RenderFailure> {
        // The last one counts, as in handlebars.js.
        let given = call.named.iter().rev().find(|(given, _)| given == name);
        given.map_or(Ok(None), |(_, value)| self.value(value, scope))
    }

    fn value(
        &mut self,
        expression: &Expression,
        scope: &TemplateScope<'_>,
    ) -> Result<Option<OrderedJson>, RenderFailure> {
        self.step(1)?;
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Path(path) => Ok(scope.find(path, self.values)),
            Expression::Call(call) => {
                let name = call.path.written.as_str();
                let arguments = self.arguments(&call.arguments, scope)?;
                match compute(name, &arguments) {
                    Some(value) if self.is_helper(name, false) => value.map(Some),
                    // Parentheses around a value mean the value.
                    _ if call.is_bare() => Ok(scope.find(&call.path, self.values)),
                    _ => render_problem(format!("`{name}` returns no value; {} do", FUNCTIONS.join(", "))),
                }
            }
        }
    }

    fn block(&mut self, block: &BlockStatement, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        let (body, inverse) = (block.body.as_ref(), block.inverse.as_ref());
        if block.is_raw {
            return match block.call.path.written.as_str() {
                "raw" => self.branch(body, scope),
                name => render_problem(format!(
                    "unknown raw block `{name}`; write {{{{{{{{raw}}}}}}}} for text without tags"
                )),
            };
        }
        if matches!(self.meaning(&block.call, scope)?, NameResolution::Value) {
            let value = scope.find(&block.call.path, self.values);
            return self.section(block, value.as_ref(), scope);
        }
        let name = block.call.path.written.as_str();
        let arguments = self.arguments(&block.call.arguments, scope)?;
        let argument = arguments.first().and_then(Option::as_ref);
        let holds = match (name, arguments.len()) {
            ("raw", _) => true,
            ("if" | "unless", 1) => {
                let zero = matches!(argument, Some(OrderedJson::Number(_)))
                    && is_true(self.named(&block.call, "includeZero", scope)?.as_ref());
                (is_true(argument) || zero) == (name == "if")
            }
            ("each", 1) => return self.each(block, argument, scope),
            ("with", 1) if counts_as_nothing(argument) => false,
            ("with", 1) => return self.enter(block, argument, scope),
            ("ifEquals" | "unlessEquals", 2) => {
                let null = OrderedJson::Null;
                let other = arguments.get(1).and_then(Option::as_ref);
                functions::values_equal(argument.unwrap_or(&null), other.unwrap_or(&null)) == (name == "ifEquals")
            }
            ("ifEquals" | "unlessEquals", _) => return render_problem(format!("`{name}` takes two values")),
            ("if" | "unless" | "each" | "with", _) => return render_problem(format!("`{name}` takes one value")),
            _ => match compute(name, &arguments) {
                Some(value) => is_true(Some(&value?)),
                None => return render_problem(format!("`{name}` is not a block helper; write {{{{{name} …}}}}")),
            },
        };
        self.branch(if holds { body } else { inverse }, scope)
    }

    /// A block that is called like a value: through a list, into an object or text, or a condition.
    fn section(
        &mut self,
        block: &BlockStatement,
        value: Option<&OrderedJson>,
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        match value {
            None | Some(OrderedJson::Null | OrderedJson::Bool(false)) => self.branch(block.inverse.as_ref(), scope),
            Some(OrderedJson::Bool(true)) => self.branch(block.body.as_ref(), scope),
            Some(OrderedJson::List(_)) => self.each(block, value, scope),
            Some(_) => self.enter(block, value, scope),
        }
    }

    /// Evaluates a block's body one level down.
    fn enter(
        &mut self,
        block: &BlockStatement,
        value: Option<&OrderedJson>,
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let is_here = match block.call.arguments.first() {
            Some(argument) => argument.is_here(),
            None => block.call.path.is_here(),
        };
        let parameters =
            BlockParameters { names: &block.parameters, values: [value.cloned(), None], around: scope.parameters };
        let level = ContextLevel { this: value.cloned(), above: Some(scope.level) };
        let level = if is_here { scope.level } else { &level };
        self.branch(block.body.as_ref(), &TemplateScope { level, parameters: Some(&parameters), ..*scope })
    }

    fn each(
        &mut self,
        block: &BlockStatement,
        value: Option<&OrderedJson>,
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let items: Vec<(Option<Arc<str>>, OrderedJson)> = match value {
            Some(OrderedJson::List(items)) => items.iter().map(|item| (None, item.clone())).collect(),
            Some(OrderedJson::Map(fields)) => {
                fields.shared().map(|(name, item)| (Some(Arc::clone(name)), item.clone())).collect()
            }
            _ => Vec::new(),
        };
        let count = items.len();
        if count == 0 {
            return self.branch(block.inverse.as_ref(), scope);
        }
        for (index, (key, item)) in items.into_iter().enumerate() {
            self.step(1)?;
            let name = key.clone().map_or_else(|| OrderedJson::Number(index.into()), OrderedJson::Text);
            let parameters = BlockParameters {
                names: &block.parameters,
                values: [Some(item.clone()), Some(name)],
                around: scope.parameters,
            };
            let turn = LoopIteration { index, count, key, around: scope.turn };
            let level = ContextLevel { this: Some(item), above: Some(scope.level) };
            let inner = TemplateScope { level: &level, parameters: Some(&parameters), turn: Some(&turn), ..*scope };
            self.branch(block.body.as_ref(), &inner)?;
        }
        Ok(())
    }

    /// Puts a partial where it is named: one of a file, one that a template defines in itself, or what
    /// `{{#> name}}` holds.
    fn partial(&mut self, partial: &Partial, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        if partial.arguments.len() > 1 {
            return render_problem("a partial takes one value and named arguments");
        }
        let this = match partial.arguments.first() {
            Some(argument) => self.value(argument, scope)?,
            None => scope.level.this.clone(),
        };
        let mut named = Vec::new();
        for (name, value) in &partial.named {
            named.push((name.as_str(), self.value(value, scope)?));
        }
        self.step(named.len())?;
        let stays = named.is_empty() && partial.arguments.first().is_none_or(Expression::is_here);
        let this = if named.is_empty() {
            this
        } else {
            self.step(this.as_ref().and_then(OrderedJson::fields).map_or(0, OrderedMap::len))?;
            Some(with_fields(this.as_ref(), named))
        };
        let level = ContextLevel { this, above: Some(scope.level) };
        let call = TemplateScope { level: if stays { scope.level } else { &level }, ..*scope };
        if partial.indent.is_empty() {
            return self.called(partial, &call, scope);
        }
        let before = core::mem::take(&mut self.out);
        self.called(partial, &call, scope)?;
        let text = core::mem::replace(&mut self.out, before).into_text();
        for line in text.split_inclusive('\n') {
            self.out.push(&partial.indent)?;
            self.out.push(line)?;
        }
        Ok(())
    }

    /// Evaluates what a partial's name represents. `call` is the scope with the partial's own value.
    fn called(
        &mut self,
        partial: &Partial,
        call: &TemplateScope<'_>,
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let name = match &partial.name {
            PartialName::Written(name) => name.as_str(),
            PartialName::Block => return self.held(call),
            PartialName::Computed => return render_problem(COMPUTED_NAME),
        };
        let found = call.partial(name, self.values);
        let Some(body) = &partial.body else {
            return match found {
                Some((template, None)) => self.file(template, call),
                Some((template, Some(home))) => self.inline(template, home, call),
                None => render_problem(self.unknown_partial(name)),
            };
        };
        let Some((template, home)) = found else { return self.template(body, call) };
        let held = PartialBlock { body, scope: *scope };
        let inlines = Inlines { partials: inlines(body), scope: *scope, around: call.inlines };
        let inner = TemplateScope { block: Some(&held), inlines: Some(&inlines), ..*call };
        match home {
            None => self.file(template, &inner),
            Some(home) => self.inline(template, home, &inner),
        }
    }

    /// Evaluates a partial of its own file, which sees nothing of the template that calls it but its value.
    fn file(&mut self, template: &Template, call: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        let level = ContextLevel { this: call.level.this.clone(), above: None };
        self.template(template, &TemplateScope { level: &level, parameters: None, ..*call })
    }

    /// Evaluates a partial that a template defines in itself: where it is called, it sees where it is.
    fn inline(
        &mut self,
        template: &Template,
        home: &TemplateScope<'_>,
        call: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let this = call.level.this.clone();
        let level = ContextLevel { this, above: Some(home.level) };
        let stays = is_same_value(level.this.as_ref(), home.level.this.as_ref());
        let level = if stays { home.level } else { &level };
        self.template(template, &TemplateScope { level, parameters: home.parameters, ..*call })
    }

    /// Evaluates what the tag that called this partial holds.
    fn held(&mut self, call: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        let Some(held) = call.block else {
            return render_problem(
                "`@partial-block` needs a call of the partial as a block, `{{#> name}}`; this call has no block",
            );
        };
        let this = call.level.this.clone();
        let level = ContextLevel { this, above: Some(held.scope.level) };
        let stays = is_same_value(level.this.as_ref(), held.scope.level.this.as_ref());
        let level = if stays { held.scope.level } else { &level };
        self.template(
            held.body,
            &TemplateScope { level, parameters: held.scope.parameters, block: held.scope.block, ..*call },
        )
    }

    fn unknown_partial(&self, name: &str) -> String {
        let known: Vec<&str> = self.values.partials.keys().map(String::as_str).collect();
        match known.is_empty() {
            true => format!("unknown partial `{name}`; there are none"),
            false => format!("unknown partial `{name}`; known: {}", known.join(", ")),
        }
    }
}

/// The message about `{{> (name)}}`.
pub(crate) const COMPUTED_NAME: &str = "dynamic partials are not supported; write the partial's name out";

/// Every helper but the markers.
const HELPERS: [&str; 20] = [
    "and",
    "each",
    "eq",
    "gt",
    "gte",
    "if",
    "ifEquals",
    "json",
    "len",
    "log",
    "lookup",
    "lt",
    "lte",
    "ne",
    "not",
    "or",
    "raw",
    "unless",
    "unlessEquals",
    "with",
];

/// The helpers that neither handlebars.js nor dotprompt has.
const OURS: [&str; 11] = ["and", "eq", "gt", "gte", "len", "lt", "lte", "ne", "not", "or", "raw"];

/// The helpers that can be in parentheses.
const FUNCTIONS: [&str; 11] = ["and", "eq", "gt", "gte", "len", "lookup", "lt", "lte", "ne", "not", "or"];
