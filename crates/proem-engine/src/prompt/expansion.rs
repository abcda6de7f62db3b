//! What a plain template and its partials come to when every partial stands where it is named.
//!
//! The template engine follows a circle of partials until the stack ends, and a chain of
//! partials that each name the next one twice doubles at every link; both are found here first.

use std::collections::BTreeMap;

use handlebars::Template;
use handlebars::template::{DecoratorTemplate, Parameter, TemplateElement};
use serde_json::Value as Json;

use super::walk::visit_partials;
use crate::error::{Error, ErrorKind};

/// The most partials that stand in a template when all are put in.
const MAX_PARTIALS: usize = 10_000;

/// How deep partials may stand in blocks and in each other; rendering recurses.
pub(crate) const MAX_DEPTH: usize = 64;

/// Refuses circles, names that are computed, and too many partials.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`].
pub(crate) fn check(template: &Template, partials: &BTreeMap<String, Template>) -> Result<(), Error> {
    let mut known: BTreeMap<&str, Vec<&Template>> = BTreeMap::new();
    for (name, partial) in partials {
        known.entry(name).or_default().push(partial);
    }
    for template in partials.values().chain([template]) {
        inline(template, &mut known)?;
    }
    let mut walk = Walk { known, sizes: BTreeMap::new(), path: Vec::new() };
    walk.size(&[template])?;
    Ok(())
}

fn refuse<T>(problem: impl Into<String>) -> Result<T, Error> {
    Err(Error::new(ErrorKind::InvalidFile, problem))
}

/// Adds the partials that a template defines in itself.
fn inline<'t>(template: &'t Template, known: &mut BTreeMap<&'t str, Vec<&'t Template>>) -> Result<(), Error> {
    for element in &template.elements {
        let inner = match element {
            TemplateElement::DecoratorBlock(block) => {
                if let Some(body) = &block.template {
                    known.entry(inline_name(block)?).or_default().push(body);
                }
                [&block.template, &None]
            }
            TemplateElement::PartialBlock(partial) => [&partial.template, &None],
            TemplateElement::HelperBlock(helper) => [&helper.template, &helper.inverse],
            _ => continue,
        };
        for template in inner.into_iter().flatten() {
            inline(template, known)?;
        }
    }
    Ok(())
}

fn inline_name(block: &DecoratorTemplate) -> Result<&str, Error> {
    match block.params.as_slice() {
        [Parameter::Literal(Json::String(name))] => Ok(name),
        _ => refuse("an inline partial's name is one text, written out"),
    }
}

/// What a partial comes to when all partials in it are put in.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    partials: usize,
    depth: usize,
}

struct Walk<'t> {
    known: BTreeMap<&'t str, Vec<&'t Template>>,
    sizes: BTreeMap<String, Size>,
    path: Vec<String>,
}

impl Walk<'_> {
    fn size(&mut self, templates: &[&Template]) -> Result<Size, Error> {
        let mut uses: BTreeMap<String, Size> = BTreeMap::new();
        let mut computed = false;
        for template in templates {
            visit_partials(template, 0, &mut |name, depth| match name {
                Some(name) => {
                    let seen = uses.entry(name.to_owned()).or_default();
                    seen.partials = seen.partials.saturating_add(1);
                    seen.depth = seen.depth.max(depth);
                }
                None => computed = true,
            });
        }
        if computed {
            return refuse("dynamic partials are not supported; write the partial's name out");
        }
        let mut sum = Size::default();
        for (name, here) in uses {
            let inner = self.partial(name)?;
            let each = inner.partials.saturating_add(1);
            sum.partials = sum.partials.saturating_add(each.saturating_mul(here.partials));
            sum.depth = sum.depth.max(here.depth.saturating_add(inner.depth));
        }
        if sum.partials > MAX_PARTIALS {
            return refuse(format!("more than {MAX_PARTIALS} partials, each counted every time it stands"));
        }
        if sum.depth > MAX_DEPTH {
            return refuse(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        Ok(sum)
    }

    fn partial(&mut self, name: String) -> Result<Size, Error> {
        if let Some(size) = self.sizes.get(&name) {
            return Ok(*size);
        }
        if self.path.contains(&name) {
            return refuse(format!("partial `{name}` includes itself: {} → {name}", self.path.join(" → ")));
        }
        if self.path.len() > MAX_DEPTH {
            return refuse(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        let templates = self.known.get(name.as_str()).cloned().unwrap_or_default();
        self.path.push(name.clone());
        let size = self.size(&templates)?;
        self.path.pop();
        self.sizes.insert(name, size);
        Ok(size)
    }
}
