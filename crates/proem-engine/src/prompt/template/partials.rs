//! Puts partials where they are named: those of files, those that templates define in themselves, and what
//! `{{#> name}}` holds.

use proem_text::OrderedMap;

use super::evaluate::{COMPUTED_NAME, EvaluationContext, RenderFailure, problem};
use super::scope::{ContextLevel, Inlines, PartialBlock, TemplateScope, is_same, with_fields};
use super::{Expression, Partial, PartialName, Statement, Template};

use crate::ordered::OrderedJson;

impl<'v> EvaluationContext<'v> {
    pub(super) fn partial(&mut self, partial: &Partial, scope: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        if partial.arguments.len() > 1 {
            return problem("a partial takes one value and named arguments");
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

    /// Evaluates what a partial's name stands for; `call` is the scope with the partial's own value.
    fn called(
        &mut self,
        partial: &Partial,
        call: &TemplateScope<'_>,
        scope: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let name = match &partial.name {
            PartialName::Written(name) => name.as_str(),
            PartialName::Block => return self.held(call),
            PartialName::Computed => return problem(COMPUTED_NAME),
        };
        let found = self.find(name, call);
        let Some(body) = &partial.body else {
            return match found {
                Some((template, None)) => self.file(template, call),
                Some((template, Some(home))) => self.inline(template, home, call),
                None => problem(self.unknown_partial(name)),
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

    /// A partial by name, and where it is defined if a template defines it in itself.
    fn find<'f>(&self, name: &str, scope: &TemplateScope<'f>) -> Option<(&'f Template, Option<&'f TemplateScope<'f>>)>
    where
        'v: 'f,
    {
        let around = core::iter::successors(scope.inlines, |inlines| inlines.around);
        for inlines in around {
            if let Some((_, template)) = inlines.partials.iter().rev().find(|(known, _)| *known == name) {
                return Some((template, Some(&inlines.scope)));
            }
        }
        self.partials.get(name).map(|template| (template, None))
    }

    /// Evaluates a partial of its own file, which sees nothing of the template that calls it but its value.
    fn file(&mut self, template: &Template, call: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        let level = ContextLevel { this: call.level.this.clone(), above: None };
        self.template(template, &TemplateScope { level: &level, parameters: None, ..*call })
    }

    /// Evaluates a partial that a template defines in itself: where it is called, it sees where it stands.
    fn inline(
        &mut self,
        template: &Template,
        home: &TemplateScope<'_>,
        call: &TemplateScope<'_>,
    ) -> Result<(), RenderFailure> {
        let this = call.level.this.clone();
        let level = ContextLevel { this, above: Some(home.level) };
        let stays = is_same(level.this.as_ref(), home.level.this.as_ref());
        let level = if stays { home.level } else { &level };
        self.template(template, &TemplateScope { level, parameters: home.parameters, ..*call })
    }

    /// Evaluates what the tag that called this partial holds.
    fn held(&mut self, call: &TemplateScope<'_>) -> Result<(), RenderFailure> {
        let Some(held) = call.block else {
            return problem(
                "`@partial-block` needs a call of the partial as a block, `{{#> name}}`; this call has no block",
            );
        };
        let this = call.level.this.clone();
        let level = ContextLevel { this, above: Some(held.scope.level) };
        let stays = is_same(level.this.as_ref(), held.scope.level.this.as_ref());
        let level = if stays { held.scope.level } else { &level };
        self.template(
            held.body,
            &TemplateScope { level, parameters: held.scope.parameters, block: held.scope.block, ..*call },
        )
    }

    fn unknown_partial(&self, name: &str) -> String {
        let known: Vec<&str> = self.partials.keys().map(String::as_str).collect();
        match known.is_empty() {
            true => format!("unknown partial `{name}`; there are none"),
            false => format!("unknown partial `{name}`; known: {}", known.join(", ")),
        }
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
