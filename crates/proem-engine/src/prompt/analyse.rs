//! Checks a parsed template against its input schema, before anything is rendered.
//!
//! After a clean analysis, rendering can't meet a missing value, an unknown helper or partial, a cycle, an object
//! printed bare, or an untrusted input in a section of higher trust. A question that the schema can't decide is an
//! error, not a guess.

mod paths;

use core::cmp::Ordering;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::expansion::MAX_DEPTH;
use super::shape::{Boolean, Keys, PathTarget, Presence, TypedValue, boolean};
use super::template::evaluate::COMPUTED_NAME;
use super::template::{
    BlockStatement, Expression, HelperCall, LineColumn, Partial, PartialName, PathExpression, Statement, Template,
    TemplateNode,
};
use crate::input::InputTrust;
use crate::ordered_json::OrderedJson;
use crate::schema::{ValueKind, kind_of_schema};
use crate::section::SectionSpec;

/// The helpers that a strict template may use inside a section.
pub(crate) const HELPERS: [&str; 17] = [
    "and",
    "each",
    "eq",
    "gt",
    "gte",
    "if",
    "ifEquals",
    "json",
    "len",
    "lt",
    "lte",
    "ne",
    "not",
    "or",
    "unless",
    "unlessEquals",
    "with",
];

/// The helpers that can be in parentheses.
const FUNCTIONS: [&str; 10] = ["and", "eq", "gt", "gte", "len", "lt", "lte", "ne", "not", "or"];

/// Markers that shape the request. They are between sections, never inside them.
pub(crate) const MARKERS: [&str; 4] = ["history", "media", "role", "section"];

/// The name that prints the form of the answer where an author wants it, unless an input has that name.
pub(crate) const OUTPUT_FORMAT: &str = "output_format";

/// The helper behind raw blocks. Its name can't be an input's either.
pub(crate) const RAW: &str = "raw";

/// The most elements that all sections have together, partials counted each time they occur.
const MAX_ELEMENTS: usize = 100_000;

/// A problem at a line and column of the template it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnalysisFault {
    pub(crate) partial: Option<String>,
    pub(crate) at: LineColumn,
    pub(crate) message: String,
}

/// The check of one prompt's templates.
#[derive(Debug)]
pub(crate) struct Analysis<'s> {
    /// JSON Schema of all inputs.
    pub(crate) schema: &'s Json,
    /// Declared trust; what isn't here is untrusted.
    pub(crate) trust: &'s [(String, InputTrust)],
    /// Parsed partials by name.
    pub(crate) partials: &'s BTreeMap<String, Template>,
    /// Elements met so far.
    pub(crate) elements: Cell<usize>,
}

impl Analysis<'_> {
    /// Every problem of one section's template in reading order, and the inputs it reads.
    pub(crate) fn section(&self, spec: &SectionSpec, template: &Template) -> (Vec<AnalysisFault>, BTreeSet<String>) {
        let mut walk = TemplateWalk {
            analysis: self,
            spec,
            frames: vec![AnalysisFrame::of(PathTarget::Inputs)],
            present: BTreeSet::new(),
            partials: Vec::new(),
            frame_ids: 0,
            depth: 0,
            at: LineColumn::START,
            faults: Vec::new(),
            used: BTreeSet::new(),
        };
        walk.template(template);
        (walk.faults, walk.used)
    }

    fn input(&self, name: &str) -> Result<TypedValue<'_>, String> {
        let trust = self.trust.iter().find(|(input, _)| input == name).map_or(InputTrust::Untrusted, |(_, t)| *t);
        TypedValue { schema: self.schema, trust, presence: Presence::Always }.property(name)
    }
}

/// One level of `..`.
#[derive(Debug, Clone)]
struct AnalysisFrame<'s> {
    this: PathTarget<'s>,
    /// The block's names for its values.
    parameters: BTreeMap<String, PathTarget<'s>>,
    /// A partial's arguments, which are part of its `this`.
    arguments: BTreeMap<String, PathTarget<'s>>,
    /// The meaning of `@key`, in a loop.
    keys: Option<(Keys, InputTrust)>,
    /// A partial's own scope; what is outside is out of reach.
    closed: bool,
    /// Whether it is on the level of the frame around it.
    stays: bool,
    /// Identifies what `this` is in narrowed paths.
    id: usize,
    /// Identifies the frame's own names in narrowed paths.
    own: usize,
}

impl<'s> AnalysisFrame<'s> {
    const fn of(this: PathTarget<'s>) -> Self {
        Self {
            this,
            parameters: BTreeMap::new(),
            arguments: BTreeMap::new(),
            keys: None,
            closed: false,
            stays: false,
            id: 0,
            own: 0,
        }
    }
}

struct TemplateWalk<'s> {
    analysis: &'s Analysis<'s>,
    spec: &'s SectionSpec,
    frames: Vec<AnalysisFrame<'s>>,
    /// Optional values that an enclosing `#if` or `#with` found present.
    present: BTreeSet<String>,
    partials: Vec<String>,
    frame_ids: usize,
    depth: usize,
    at: LineColumn,
    faults: Vec<AnalysisFault>,
    used: BTreeSet<String>,
}

impl<'s> TemplateWalk<'s> {
    fn fault(&mut self, message: impl Into<String>) {
        let at = self.at;
        self.faults.push(AnalysisFault { partial: self.partials.last().cloned(), at, message: message.into() });
    }

    fn template(&mut self, template: &'s Template) {
        if self.depth >= MAX_DEPTH {
            return self.fault(format!("partials and blocks nested deeper than {MAX_DEPTH}"));
        }
        self.depth = self.depth.saturating_add(1);
        self.elements(template);
        self.depth = self.depth.saturating_sub(1);
    }

    fn elements(&mut self, template: &'s Template) {
        for node in &template.nodes {
            self.at = node.at;
            // Counted over all sections and each time a partial occurs: partials that include partials multiply.
            let elements = self.analysis.elements.get().saturating_add(1);
            self.analysis.elements.set(elements);
            match elements.cmp(&MAX_ELEMENTS.saturating_add(1)) {
                Ordering::Less => self.node(node),
                // Exactly once. The walk goes on being called from the blocks around, and each would say so again.
                Ordering::Equal => self.fault(format!(
                    "the templates have more than {MAX_ELEMENTS} elements, counting each use of a partial"
                )),
                Ordering::Greater => return,
            }
        }
    }

    fn node(&mut self, node: &'s TemplateNode) {
        match &node.element {
            Statement::Text(_) | Statement::Comment(_) => {}
            Statement::Print(call, _) => self.expression(call),
            Statement::Block(block) => self.block(block),
            Statement::Partial(partial) if partial.body.is_some() => {
                self.fault("partial blocks are not supported; use a plain partial");
            }
            Statement::Partial(partial) => self.partial(partial),
            Statement::Inline(_) | Statement::Decorator(_) => {
                self.fault("decorators and inline partials are not supported; put the partial in a file");
            }
        }
    }

    /// A tag's name, if it can be a helper's: names of blocks' values and of inputs come first.
    fn helper_name<'c>(&self, call: &'c HelperCall) -> Option<&'c str> {
        call.path.simple().filter(|name| self.parameter_named(name).is_none())
    }

    fn expression(&mut self, call: &'s HelperCall) {
        let name = self.helper_name(call);
        if let Some(name) = name.filter(|name| MARKERS.contains(name)) {
            return self.fault(format!(
                "`{name}` structures the request and can't be used inside a section, block or partial"
            ));
        }
        // An unknown name without arguments is a value and may be an input that is missing; with arguments it can
        // only be meant as a helper.
        let helper = name.filter(|name| HELPERS.contains(name) || *name == RAW);
        match helper {
            None if call.is_bare() => self.print(&call.path),
            None => self.unknown_helper(&call.path.written),
            Some("json") => self.json(call),
            Some(name @ ("len" | "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "and" | "or" | "not")) => {
                self.function(name, &call.arguments);
            }
            Some(name) if HELPERS.contains(&name) => {
                self.fault(format!("`{name}` is a block; write {{{{#{name} …}}}}"));
            }
            Some(name) => self.unknown_helper(name),
        }
    }

    fn unknown_helper(&mut self, name: &str) {
        self.fault(format!("unknown helper `{name}`; known: {}", HELPERS.join(", ")));
    }

    fn print(&mut self, path: &'s PathExpression) {
        if path.simple() == Some(OUTPUT_FORMAT) && self.analysis.input(OUTPUT_FORMAT).is_err() {
            return self.output_format();
        }
        let Some((shape, _)) = self.path(path) else { return };
        let name = path.written.as_str();
        match shape {
            PathTarget::Inputs => self.fault(format!("`{name}` means all inputs together; print a single input")),
            PathTarget::Computed => {}
            PathTarget::Value(typed) => {
                match kind_of_schema(typed.schema) {
                    ValueKind::Scalar => {}
                    ValueKind::Unknown => {
                        self.fault(format!("`{name}` has no declared type; declare it in input.schema"));
                    }
                    other => self.fault(format!(
                        "`{name}` is {}; iterate over it with #each, or print it with json",
                        other.as_str()
                    )),
                }
                if typed.presence != Presence::Always {
                    self.fault(format!("`{name}` is optional; put it inside {{{{#if {name}}}}}"));
                }
            }
        }
    }

    /// The form of the answer, which is ours and no input's.
    fn output_format(&mut self) {
        if self.frames.iter().all(|frame| matches!(frame.this, PathTarget::Inputs)) {
            self.used.insert(OUTPUT_FORMAT.to_owned());
        } else {
            self.fault(format!("`{OUTPUT_FORMAT}` can't be printed inside #each or #with; move it out of the block"));
        }
    }

    fn json(&mut self, call: &'s HelperCall) {
        let [argument] = call.arguments.as_slice() else { return self.fault("json takes one value") };
        for (name, value) in &call.named {
            if name != "indent" || !matches!(value, Expression::Literal(Some(OrderedJson::Number(_)))) {
                self.fault("json has one option, indent=N");
            }
        }
        match self.value(argument) {
            // The mark that represents the text would be printed between JSON's quotes, and the text be put there
            // unescaped.
            Some((PathTarget::Value(typed), _)) if typed.trust == InputTrust::Untrusted => self.fault(
                "json can't print an untrusted value: its text is inserted only after the section is marked as \
                 untrusted; print its fields instead",
            ),
            Some((PathTarget::Inputs, _)) => self.fault("json can't print all inputs together; print one of them"),
            _ => {}
        }
    }

    /// Checks a function's arguments; what it computes is ours.
    fn function(&mut self, name: &str, arguments: &'s [Expression]) {
        if arguments.is_empty() {
            self.fault(format!("`{name}` needs an argument"));
        }
        for argument in arguments {
            let typed = match self.value(argument) {
                Some((PathTarget::Value(typed), _)) => typed,
                Some((PathTarget::Inputs, _)) => {
                    self.fault(format!("`{name}` can't take all inputs together"));
                    continue;
                }
                _ => continue,
            };
            // A function's result is ours and may be in trusted sections, so that nothing a text from outside says may
            // decide it. How many there are, and numbers, say no words.
            let list = kind_of_schema(typed.schema) == ValueKind::List;
            if name == "len" && !list {
                self.fault("len takes a list");
            } else if typed.presence == Presence::Inside {
                self.fault(format!("`{name}` is given part of an optional value; put it inside an #if"));
            } else if typed.trust == InputTrust::Untrusted && name != "len" && !is_number(typed.schema) {
                self.fault(format!("`{name}` can't be used on an untrusted value"));
            }
        }
    }

    fn block(&mut self, block: &'s BlockStatement) {
        let name = self.helper_name(&block.call);
        let helper = name.filter(|name| HELPERS.contains(name) || MARKERS.contains(name) || *name == RAW);
        match helper {
            None if block.call.is_bare() => self.section(block),
            None => self.unknown_helper(&block.call.path.written),
            Some(name @ ("if" | "unless")) => self.condition(block, name == "if"),
            Some(name @ ("each" | "with")) => {
                let [argument] = block.call.arguments.as_slice() else {
                    return self.fault(format!("#{name} takes one value"));
                };
                let found = self.value(argument);
                self.scope(block, name, found.map(|(shape, _)| shape), argument.is_here());
            }
            Some(name @ ("ifEquals" | "unlessEquals")) => {
                if block.call.arguments.len() != 2 {
                    self.fault(format!("`{name}` takes two values"));
                }
                self.function(name, &block.call.arguments);
                self.branches(block);
            }
            Some(RAW) => self.branches(block),
            Some(name) => self.unknown_helper(name),
        }
    }

    fn branches(&mut self, block: &'s BlockStatement) {
        for template in [&block.body, &block.inverse].into_iter().flatten() {
            self.template(template);
        }
    }

    fn condition(&mut self, block: &'s BlockStatement, positive: bool) {
        let [argument] = block.call.arguments.as_slice() else { return self.fault("a condition takes one value") };
        // A condition whose value is wrong has been told of; without a key its branches narrow nothing.
        let key = self.value(argument).map(|(_, key)| key).unwrap_or_default();
        let branches = if positive { [&block.body, &block.inverse] } else { [&block.inverse, &block.body] };
        self.when_present(branches, &key);
    }

    /// Two branches, the first of which is evaluated only where the value behind `key` is there.
    fn when_present(&mut self, branches: [&'s Option<Template>; 2], key: &str) {
        for (index, template) in branches.into_iter().enumerate() {
            let Some(template) = template else { continue };
            // Only who put the key there takes it away: an inner `#if` of the same value must not end what the
            // outer one found.
            let added = index == 0 && !key.is_empty() && self.present.insert(key.to_owned());
            self.template(template);
            if added {
                self.present.remove(key);
            }
        }
    }

    /// A block that is called like a value: it goes through a list or into an object or text, and is a
    /// condition for a yes or no. Its type has to say which.
    fn section(&mut self, block: &'s BlockStatement) {
        let name = block.call.path.written.as_str();
        let found = self.path(&block.call.path);
        let Some((shape, key)) = found else { return self.inverse(block) };
        let typed = match shape {
            PathTarget::Value(typed) => typed,
            PathTarget::Inputs => return self.fault(format!("`{name}` is all inputs together; name one of them")),
            PathTarget::Computed => {
                return self.fault(format!("`{name}` is computed; write {{{{#if {name}}}}}…{{{{/if}}}}"));
            }
        };
        match (kind_of_schema(typed.schema), boolean(typed.schema)) {
            (ValueKind::List, _) => self.scope(block, "each", Some(shape), false),
            (ValueKind::Object, _) => self.scope(block, "with", Some(shape), block.call.path.is_here()),
            // A scalar that may be a boolean or a text would be a condition or a scope by what the caller gives:
            // then the template couldn't be checked.
            (ValueKind::Scalar, Boolean::Only) => self.when_present([&block.body, &block.inverse], &key),
            (ValueKind::Scalar, Boolean::Never) => {
                let shape = PathTarget::Value(TypedValue { presence: Presence::Always, ..typed });
                self.inside(AnalysisFrame::of(shape), block, block.call.path.is_here());
                self.inverse(block);
            }
            _ => self.fault(format!(
                "`{name}` may be of several types, and {{{{#{name}}}}} differs by type; write #if, #each or #with"
            )),
        }
    }

    fn inverse(&mut self, block: &'s BlockStatement) {
        if let Some(template) = &block.inverse {
            self.template(template);
        }
    }

    /// A block that goes into `found`; where it is written `.` it stays on its level.
    fn scope(&mut self, block: &'s BlockStatement, name: &str, found: Option<PathTarget<'s>>, is_here: bool) {
        if let Some(shape) = found {
            let frame = match shape {
                PathTarget::Value(typed) if name == "each" => typed.each().map(|(item, keys)| {
                    let mut frame = AnalysisFrame::of(PathTarget::Value(item));
                    frame.keys = Some((keys, typed.trust));
                    frame
                }),
                // The body is rendered only where the value is there, so that inside it counts as present.
                PathTarget::Value(typed) if kind_of_schema(typed.schema) == ValueKind::Object => {
                    Ok(AnalysisFrame::of(PathTarget::Value(TypedValue { presence: Presence::Always, ..typed })))
                }
                _ => Err(format!("#{name} can't be used on this value")),
            };
            // A list that is absent is rendered as an empty one.
            let absent = match shape {
                PathTarget::Value(typed) => match typed.presence {
                    Presence::Always => false,
                    Presence::Optional => kind_of_schema(typed.schema) != ValueKind::List,
                    Presence::Inside => true,
                },
                _ => false,
            };
            let is_section = block.call.is_bare();
            match frame {
                // `{{#name}}` is Handlebars' own way to say "if it is there", and an `else` says what happens if not.
                // Only a bare `#each` or `#with` leaves it open.
                Ok(_) if absent && block.inverse.is_none() && !is_section => {
                    self.fault(format!("the value of #{name} is optional; put it inside an #if or give an else"));
                }
                Ok(frame) => self.inside(frame, block, is_here && name == "with"),
                Err(message) => self.fault(message),
            }
        }
        self.inverse(block);
    }

    fn frame_id(&mut self) -> usize {
        self.frame_ids = self.frame_ids.saturating_add(1);
        self.frame_ids
    }

    /// A block's body with `frame` around it. `stays` if `..` leads to where it leads outside.
    fn inside(&mut self, mut frame: AnalysisFrame<'s>, block: &'s BlockStatement, stays: bool) {
        // A new id for each body: what an `#if` found present in one turn of a loop says nothing about another
        // loop over the same list.
        let Some(template) = &block.body else { return };
        frame.id = self.frame_id();
        frame.own = frame.id;
        match block.parameters.as_slice() {
            [] => {}
            [value] => _ = frame.parameters.insert(value.clone(), frame.this),
            [value, key] => {
                frame.parameters.insert(value.clone(), frame.this);
                frame.parameters.insert(key.clone(), PathTarget::Computed);
                match frame.keys {
                    Some((Keys::Indices, _) | (Keys::Names, InputTrust::Trusted)) => {}
                    Some(_) => {
                        self.fault("the key of an untrusted object is untrusted text; declare the object's properties");
                    }
                    None => self.fault("only a loop has a second block parameter, the key; write `as |value|`"),
                }
            }
            _ => self.fault("a block has at most two parameters: `as |value key|`"),
        }
        frame.stays = stays;
        self.frames.push(frame);
        self.template(template);
        self.frames.pop();
    }

    fn partial(&mut self, partial: &'s Partial) {
        let name = match &partial.name {
            PartialName::Written(name) => name,
            PartialName::Block => return self.fault("partial blocks are not supported; use a plain partial"),
            PartialName::Computed => return self.fault(COMPUTED_NAME),
        };
        let mut frame = AnalysisFrame::of(self.frames.last().map_or(PathTarget::Inputs, |frame| frame.this));
        // A partial sees its context and its arguments and nothing else, so that it can be checked wherever it is
        // included and means the same there.
        frame.closed = true;
        // Without a context of its own `this` stays the caller's, and what was found present there still is.
        frame.id = self.frames.last().map_or(0, |frame| frame.id);
        frame.own = self.frame_id();
        match partial.arguments.as_slice() {
            [] => {}
            [argument] => {
                let Some((shape, _)) = self.value(argument) else { return };
                frame.this = shape;
                frame.id = frame.own;
            }
            _ => return self.fault("a partial takes one context at most"),
        }
        for (name, value) in &partial.named {
            // A problem with the argument is reported once, here.
            let shape = self.value(value).map_or(PathTarget::Computed, |(shape, _)| shape);
            frame.arguments.insert(name.clone(), shape);
        }
        // Before it is looked up and entered: the walk follows partials, and this is what ends it.
        if self.partials.contains(name) {
            return self.fault(format!("partial `{name}` includes itself: {} → {name}", self.partials.join(" → ")));
        }
        let analysis = self.analysis;
        let Some(template) = analysis.partials.get(name.as_str()) else {
            let known: Vec<&str> = analysis.partials.keys().map(String::as_str).collect();
            let known =
                if known.is_empty() { "there are none".to_owned() } else { format!("known: {}", known.join(", ")) };
            return self.fault(format!("unknown partial `{name}`; {known}"));
        };
        let at = self.at;
        // From here on faults are the partial's own. `at` is a place in its text until it is put back.
        self.partials.push(name.clone());
        self.frames.push(frame);
        self.template(template);
        self.frames.pop();
        self.partials.pop();
        self.at = at;
    }

    /// The target of an expression, with a key that names it while its frame lasts.
    fn value(&mut self, expression: &'s Expression) -> Option<(PathTarget<'s>, String)> {
        match expression {
            Expression::Literal(_) => Some((PathTarget::Computed, String::new())),
            Expression::Path(path) => self.path(path),
            Expression::Call(call) => {
                let name = call.path.written.as_str();
                if call.is_bare() && !FUNCTIONS.contains(&name) {
                    return self.path(&call.path);
                }
                if !FUNCTIONS.contains(&name) {
                    self.unknown_helper(name);
                    return None;
                }
                self.function(name, &call.arguments);
                Some((PathTarget::Computed, String::new()))
            }
        }
    }
}

/// Whether a value can't hold text: numbers and booleans, optional ones too.
fn is_number(schema: &Json) -> bool {
    let number = |name: &Json| matches!(name.as_str(), Some("number" | "integer" | "boolean" | "null"));
    match schema.get("type") {
        Some(Json::Array(names)) => names.iter().all(number),
        Some(name) => number(name),
        None => false,
    }
}
