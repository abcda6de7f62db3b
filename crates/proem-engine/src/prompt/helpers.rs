//! The template helpers that dotprompt adds to Handlebars.

use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderErrorReason, Renderable,
};
use serde_json::Value as Json;

/// A template engine with dotprompt's helpers and no HTML escaping.
pub(crate) fn registry<'r>() -> Handlebars<'r> {
    let mut registry = Handlebars::new();
    registry.register_escape_fn(handlebars::no_escape);
    registry.register_helper("json", Box::new(JsonHelper));
    registry.register_helper("ifEquals", Box::new(Equals { wanted: true }));
    registry.register_helper("unlessEquals", Box::new(Equals { wanted: false }));
    registry
}

struct JsonHelper;

impl HelperDef for JsonHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let value = helper.param(0).ok_or(RenderErrorReason::ParamNotFoundForIndex("json", 0))?.value();
        let indent = helper.hash_get("indent").and_then(|v| v.value().as_u64()).and_then(|n| usize::try_from(n).ok());
        out.write(&write(value, indent.map_or(0, |n| n.min(16))))?;
        Ok(())
    }
}

fn write(value: &Json, indent: usize) -> String {
    if indent == 0 {
        return value.to_string();
    }
    let spaces = vec![b' '; indent];
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(&spaces);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => String::from_utf8(bytes).unwrap_or_default(),
        Err(_) => value.to_string(),
    }
}

struct Equals {
    wanted: bool,
}

impl HelperDef for Equals {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let name = if self.wanted { "ifEquals" } else { "unlessEquals" };
        let param = |index: usize| helper.param(index).ok_or(RenderErrorReason::ParamNotFoundForIndex(name, index));
        let equal = param(0)?.value() == param(1)?.value();
        let branch = if equal == self.wanted { helper.template() } else { helper.inverse() };
        branch.map_or(Ok(()), |template| template.render(registry, context, render, out))
    }
}
