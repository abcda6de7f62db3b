//! `@name.path` in plain dotprompt files: values of the caller's context.
//!
//! The template engine knows `@index` and its like, and reads only the first name of any other
//! `@` path. Such paths are rewritten into calls of a helper that reads them whole.

use handlebars::template::{HelperTemplate, Parameter, Subexpression, TemplateElement};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, JsonRender, Output, Path, RenderContext, RenderError, RenderErrorReason,
    ScopedJson, Template,
};
use serde_json::{Map, Value as Json};

/// A name that no template can write.
const HELPER: &str = "\u{fdd0}context";

/// What the template engine itself defines.
const BUILT_IN: [&str; 6] = ["first", "index", "key", "last", "partial-block", "root"];

/// Rewrites every context path of a template.
pub(crate) fn rewrite(template: &mut Template) {
    template.elements.iter_mut().for_each(element);
}

fn element(element: &mut TemplateElement) {
    match element {
        TemplateElement::Expression(helper) | TemplateElement::HtmlExpression(helper) => {
            if helper.params.is_empty()
                && helper.hash.is_empty()
                && let Some(call) = context_path(&helper.name).map(|path| *call(path).element)
            {
                *element = call;
                return;
            }
            arguments(helper);
        }
        TemplateElement::HelperBlock(helper) => {
            arguments(helper);
            helper.template.iter_mut().chain(helper.inverse.iter_mut()).for_each(rewrite);
        }
        TemplateElement::PartialExpression(partial) | TemplateElement::PartialBlock(partial) => {
            partial.params.iter_mut().chain(partial.hash.values_mut()).for_each(parameter);
            partial.template.iter_mut().for_each(rewrite);
        }
        TemplateElement::DecoratorExpression(block) | TemplateElement::DecoratorBlock(block) => {
            block.params.iter_mut().chain(block.hash.values_mut()).for_each(parameter);
            block.template.iter_mut().for_each(rewrite);
        }
        _ => {}
    }
}

fn arguments(helper: &mut HelperTemplate) {
    helper.params.iter_mut().chain(helper.hash.values_mut()).for_each(parameter);
}

fn parameter(parameter: &mut Parameter) {
    if let Some(path) = context_path(parameter) {
        *parameter = Parameter::Subexpression(call(path));
    } else if let Parameter::Subexpression(sub) = parameter {
        element(&mut sub.element);
    }
}

/// The path behind the `@` of a context path.
fn context_path(parameter: &Parameter) -> Option<String> {
    match parameter {
        Parameter::Path(Path::Local((0, name, raw))) if !BUILT_IN.contains(&name.as_str()) => {
            raw.strip_prefix('@').map(str::to_owned)
        }
        _ => None,
    }
}

fn call(path: String) -> Subexpression {
    Subexpression::new(
        Parameter::Name(HELPER.to_owned()),
        vec![Parameter::Literal(Json::String(path))],
        Default::default(),
    )
}

/// Registers the helper that rewritten paths call.
pub(crate) fn register(registry: &mut Handlebars<'_>, context: Map<String, Json>) {
    registry.register_helper(HELPER, Box::new(Lookup { context: Json::Object(context) }));
}

struct Lookup {
    context: Json,
}

impl Lookup {
    fn value(&self, helper: &Helper<'_>) -> Result<Option<&Json>, RenderError> {
        let path = helper.param(0).ok_or(RenderErrorReason::ParamNotFoundForIndex("context", 0))?.value();
        let path = path.as_str().unwrap_or_default();
        Ok(path.split(['.', '/']).try_fold(&self.context, |value, name| value.get(name)))
    }
}

impl HelperDef for Lookup {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        Ok(ScopedJson::Derived(self.value(helper)?.cloned().unwrap_or(Json::Null)))
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> handlebars::HelperResult {
        if let Some(value) = self.value(helper)? {
            out.write(&value.render())?;
        }
        Ok(())
    }
}
