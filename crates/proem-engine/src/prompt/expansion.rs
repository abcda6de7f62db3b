//! The size of a plain template with all its partials expanded.
//!
//! A circle of partials would go on until evaluation stops it, and a chain of partials that each name the next one
//! twice doubles at every link. Both are found here, before there are values.

use std::collections::BTreeMap;

use super::template::evaluate::COMPUTED_NAME;
use super::template::{PartialName, Statement, Template};
use super::walk::visit_partials;
use crate::error::{Error, ErrorKind};

/// The most partials that are in a template when all are put in.
const MAX_PARTIALS: usize = 10_000;

/// How deep partials may be in blocks and in each other. Rendering recurses.
pub(crate) const MAX_DEPTH: usize = 64;

/// Refuses circles, names that are computed, and too many partials.
///
/// # Errors
///
/// [`ErrorKind::InvalidFile`].
pub(crate) fn check_partials(template: &Template, partials: &BTreeMap<String, Template>) -> Result<(), Error> {
    let mut known: BTreeMap<&str, Vec<&Template>> = BTreeMap::new();
    for (name, partial) in partials {
        known.entry(name).or_default().push(partial);
    }
    for template in partials.values().chain([template]) {
        inline(template, &mut known)?;
    }
    let mut walk = ExpansionWalk { known, sizes: BTreeMap::new(), path: Vec::new() };
    walk.size(&[template])?;
    Ok(())
}

fn refuse_expansion<T>(problem: impl Into<String>) -> Result<T, Error> {
    Err(Error::new(ErrorKind::InvalidFile, problem))
}

/// Adds the partials that a template defines in itself.
fn inline<'t>(template: &'t Template, known: &mut BTreeMap<&'t str, Vec<&'t Template>>) -> Result<(), Error> {
    for node in &template.nodes {
        let inner = match &node.element {
            Statement::Inline(inline) => {
                let Some(name) = &inline.name else {
                    return refuse_expansion("the name of an inline partial must be a string literal");
                };
                known.entry(name).or_default().push(&inline.body);
                [Some(&inline.body), None]
            }
            Statement::Partial(partial) => [partial.body.as_ref(), None],
            Statement::Block(block) => [block.body.as_ref(), block.inverse.as_ref()],
            _ => continue,
        };
        for template in inner.into_iter().flatten() {
            inline(template, known)?;
        }
    }
    Ok(())
}

/// The size of a partial with all partials in it expanded.
#[derive(Debug, Clone, Copy, Default)]
struct ExpansionSize {
    partials: usize,
    depth: usize,
}

struct ExpansionWalk<'t> {
    known: BTreeMap<&'t str, Vec<&'t Template>>,
    sizes: BTreeMap<String, ExpansionSize>,
    path: Vec<String>,
}

impl ExpansionWalk<'_> {
    fn size(&mut self, templates: &[&Template]) -> Result<ExpansionSize, Error> {
        let mut uses: BTreeMap<String, ExpansionSize> = BTreeMap::new();
        let mut computed = false;
        for template in templates {
            visit_partials(template, 0, &mut |name, depth| match name {
                PartialName::Written(name) => {
                    let seen = uses.entry(name.clone()).or_default();
                    seen.partials = seen.partials.saturating_add(1);
                    seen.depth = seen.depth.max(depth);
                }
                // Its block has been counted where it is written.
                PartialName::Block => {}
                PartialName::Computed => computed = true,
            });
        }
        if computed {
            return refuse_expansion(COMPUTED_NAME);
        }
        let mut sum = ExpansionSize::default();
        for (name, here) in uses {
            let inner = self.partial(name)?;
            let each = inner.partials.saturating_add(1);
            sum.partials = sum.partials.saturating_add(each.saturating_mul(here.partials));
            sum.depth = sum.depth.max(here.depth.saturating_add(inner.depth));
        }
        if sum.partials > MAX_PARTIALS {
            return refuse_expansion(format!("more than {MAX_PARTIALS} partials, counting each use"));
        }
        if sum.depth > MAX_DEPTH {
            return refuse_expansion(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        Ok(sum)
    }

    fn partial(&mut self, name: String) -> Result<ExpansionSize, Error> {
        if let Some(size) = self.sizes.get(&name) {
            return Ok(*size);
        }
        if self.path.contains(&name) {
            return refuse_expansion(format!("partial `{name}` includes itself: {} → {name}", self.path.join(" → ")));
        }
        if self.path.len() > MAX_DEPTH {
            return refuse_expansion(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        let templates = self.known.get(name.as_str()).cloned().unwrap_or_default();
        self.path.push(name.clone());
        let size = self.size(&templates)?;
        self.path.pop();
        self.sizes.insert(name, size);
        Ok(size)
    }
}
