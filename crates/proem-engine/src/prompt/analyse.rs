//! Checks a parsed template against its input schema, before anything is rendered.
//!
//! After a clean analysis rendering can't meet a missing value, an unknown helper or partial, a
//! cycle, an object printed bare, or an untrusted input in a section of higher trust. What can't
//! be decided from the schema is an error, not a guess.

use core::cmp::Ordering;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use handlebars::template::{BlockParam, HelperTemplate, Parameter, TemplateElement};
use handlebars::{Path, Template};
use serde_json::Value as Json;

use super::expansion::MAX_DEPTH;
use super::shape::{Keys, Presence, Shape, Typed};
use super::walk;
use crate::input::InputTrust;
use crate::schema::{Kind, kind};
use crate::section::{SectionSpec, Trust};

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

/// Markers that shape the request; they stand between sections, never inside them.
pub(crate) const MARKERS: [&str; 4] = ["history", "media", "role", "section"];

/// The helper behind raw blocks; its name can't be an input's either.
pub(crate) const RAW: &str = "raw";

/// The most elements that all sections have together, partials counted each time they stand.
const MAX_ELEMENTS: usize = 100_000;

/// A problem at a line and column of the template it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) partial: Option<String>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// What the templates of one prompt are checked against.
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
    pub(crate) fn section(&self, spec: &SectionSpec, template: &Template) -> (Vec<Fault>, BTreeSet<String>) {
        let mut walk = Walk {
            analysis: self,
            spec,
            frames: vec![Frame::of(Shape::Inputs)],
            present: BTreeSet::new(),
            partials: Vec::new(),
            frame_ids: 0,
            depth: 0,
            at: (1, 1),
            faults: Vec::new(),
            used: BTreeSet::new(),
        };
        walk.template(template);
        (walk.faults, walk.used)
    }

    fn input(&self, name: &str) -> Result<Typed<'_>, String> {
        let trust = self.trust.iter().find(|(input, _)| input == name).map_or(InputTrust::Untrusted, |(_, t)| *t);
        Typed { schema: self.schema, trust, presence: Presence::Always }.property(name)
    }
}

#[derive(Debug, Clone)]
struct Frame<'s> {
    this: Shape<'s>,
    names: BTreeMap<String, Shape<'s>>,
    keys: Option<(Keys, InputTrust)>,
    /// A partial's own scope; what lies outside is out of reach.
    closed: bool,
    /// Identifies what `this` is in narrowed paths.
    id: usize,
    /// Identifies the frame's own names in narrowed paths.
    own: usize,
}

impl<'s> Frame<'s> {
    const fn of(this: Shape<'s>) -> Self {
        Self { this, names: BTreeMap::new(), keys: None, closed: false, id: 0, own: 0 }
    }
}

struct Walk<'s> {
    analysis: &'s Analysis<'s>,
    spec: &'s SectionSpec,
    frames: Vec<Frame<'s>>,
    /// Optional values that an enclosing `#if` or `#with` found present.
    present: BTreeSet<String>,
    partials: Vec<String>,
    frame_ids: usize,
    depth: usize,
    at: (usize, usize),
    faults: Vec<Fault>,
    used: BTreeSet<String>,
}

impl<'s> Walk<'s> {
    fn fault(&mut self, message: impl Into<String>) {
        let (line, column) = self.at;
        self.faults.push(Fault { partial: self.partials.last().cloned(), line, column, message: message.into() });
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
        for (index, element) in template.elements.iter().enumerate() {
            if let Some(mapping) = template.mapping.get(index) {
                self.at = (mapping.0, mapping.1);
            }
            let elements = self.analysis.elements.get().saturating_add(1);
            self.analysis.elements.set(elements);
            match elements.cmp(&MAX_ELEMENTS.saturating_add(1)) {
                Ordering::Less => self.element(element),
                Ordering::Equal => self.fault(format!(
                    "the templates have more than {MAX_ELEMENTS} elements, partials counted each time they stand"
                )),
                Ordering::Greater => return,
            }
        }
    }

    fn element(&mut self, element: &'s TemplateElement) {
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
            TemplateElement::Expression(helper) | TemplateElement::HtmlExpression(helper) => self.expression(helper),
            TemplateElement::HelperBlock(helper) => self.block(helper),
            TemplateElement::PartialExpression(partial) => {
                self.partial(&partial.name, &partial.params, walk::sorted(&partial.hash));
            }
            TemplateElement::PartialBlock(_) => self.fault("partial blocks are not supported; use a plain partial"),
            TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                self.fault("decorators and inline partials are not supported; put the partial in a file");
            }
            _ => self.fault("this kind of expression is not supported"),
        }
    }

    fn expression(&mut self, helper: &'s HelperTemplate) {
        let Some(name) = helper.name.as_name() else {
            return self.fault("a computed name is not supported; write the path or helper out");
        };
        let plain = helper.params.is_empty() && helper.hash.is_empty();
        if MARKERS.contains(&name) {
            return self
                .fault(format!("`{name}` shapes the request and can't stand inside a section, block or partial"));
        }
        if plain && !HELPERS.contains(&name) && name != RAW {
            return self.print(&helper.name);
        }
        match name {
            "json" => self.json(helper),
            "len" | "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "and" | "or" | "not" => {
                self.function(name, &helper.params);
            }
            _ if HELPERS.contains(&name) => self.fault(format!("`{name}` is a block; write {{{{#{name} …}}}}")),
            _ => self.unknown_helper(name),
        }
    }

    fn unknown_helper(&mut self, name: &str) {
        self.fault(format!("unknown helper `{name}`; known are {}", HELPERS.join(", ")));
    }

    fn print(&mut self, parameter: &'s Parameter) {
        let Some((shape, _)) = self.parameter(parameter) else { return };
        let name = parameter.as_name().unwrap_or("this").to_owned();
        match shape {
            Shape::Inputs => self.fault(format!("`{name}` is all inputs together; print one of them")),
            Shape::Computed => {}
            Shape::Value(typed) => {
                match kind(typed.schema) {
                    Kind::Scalar => {}
                    Kind::Unknown => self.fault(format!("`{name}` has no declared type; declare it in input.schema")),
                    other => self.fault(format!("`{name}` is {}; go through it or use json", other.as_str())),
                }
                if typed.presence != Presence::Always {
                    self.fault(format!("`{name}` is optional; put it inside {{{{#if {name}}}}}"));
                }
            }
        }
    }

    fn json(&mut self, helper: &'s HelperTemplate) {
        let [argument] = helper.params.as_slice() else { return self.fault("json takes one value") };
        for (key, value) in walk::sorted(&helper.hash) {
            if key != "indent" || !matches!(value, Parameter::Literal(Json::Number(_))) {
                self.fault("json has one option, indent=N");
            }
        }
        match self.parameter(argument) {
            Some((Shape::Value(typed), _)) if typed.trust == InputTrust::Untrusted => self.fault(
                "json can't print an untrusted value: its text is put in only when the section is contained; print its fields",
            ),
            Some((Shape::Inputs, _)) => self.fault("json can't print all inputs together; print one of them"),
            _ => {}
        }
    }

    /// Checks a function's arguments; what it computes is ours.
    fn function(&mut self, name: &str, parameters: &'s [Parameter]) {
        if parameters.is_empty() {
            self.fault(format!("`{name}` needs an argument"));
        }
        for parameter in parameters {
            let typed = match self.parameter(parameter) {
                Some((Shape::Value(typed), _)) => typed,
                Some((Shape::Inputs, _)) => {
                    self.fault(format!("`{name}` can't take all inputs together"));
                    continue;
                }
                _ => continue,
            };
            let list = kind(typed.schema) == Kind::List;
            if name == "len" && !list {
                self.fault("len takes a list");
            } else if typed.presence == Presence::Inside {
                self.fault(format!("`{name}` is given part of an optional value; put it inside an #if"));
            } else if typed.trust == InputTrust::Untrusted && name != "len" && !is_number(typed.schema) {
                self.fault(format!("`{name}` can't look into an untrusted value"));
            }
        }
    }

    fn block(&mut self, helper: &'s HelperTemplate) {
        let Some(name) = helper.name.as_name().map(str::to_owned) else {
            return self.fault("a computed block name is not supported");
        };
        match name.as_str() {
            "if" | "unless" => self.condition(helper, name == "if"),
            "each" | "with" => self.scope(helper, &name),
            "ifEquals" | "unlessEquals" => {
                if helper.params.len() != 2 {
                    self.fault(format!("`{name}` takes two values"));
                }
                self.function(&name, &helper.params);
                self.branches(helper);
            }
            "raw" => self.branches(helper),
            _ => self.unknown_helper(&name),
        }
    }

    fn branches(&mut self, helper: &'s HelperTemplate) {
        for template in [&helper.template, &helper.inverse].into_iter().flatten() {
            self.template(template);
        }
    }

    fn condition(&mut self, helper: &'s HelperTemplate, positive: bool) {
        let [argument] = helper.params.as_slice() else { return self.fault("a condition takes one value") };
        let key = self.parameter(argument).map(|(_, key)| key).unwrap_or_default();
        let branches = if positive { [&helper.template, &helper.inverse] } else { [&helper.inverse, &helper.template] };
        for (index, template) in branches.into_iter().enumerate() {
            let Some(template) = template else { continue };
            let added = index == 0 && !key.is_empty() && self.present.insert(key.clone());
            self.template(template);
            if added {
                self.present.remove(&key);
            }
        }
    }

    fn scope(&mut self, helper: &'s HelperTemplate, name: &str) {
        let [argument] = helper.params.as_slice() else { return self.fault(format!("#{name} takes one value")) };
        let found = self.parameter(argument);
        if let Some((shape, _)) = found {
            let frame = match shape {
                Shape::Value(typed) if name == "each" => typed.each().map(|(item, keys)| {
                    let mut frame = Frame::of(Shape::Value(item));
                    frame.keys = Some((keys, typed.trust));
                    frame
                }),
                Shape::Value(typed) if kind(typed.schema) == Kind::Object => {
                    Ok(Frame::of(Shape::Value(Typed { presence: Presence::Always, ..typed })))
                }
                _ => Err(format!("#{name} can't go into this value")),
            };
            // A list that is absent is rendered as an empty one.
            let absent = match shape {
                Shape::Value(typed) => match typed.presence {
                    Presence::Always => false,
                    Presence::Optional => kind(typed.schema) != Kind::List,
                    Presence::Inside => true,
                },
                _ => false,
            };
            match frame {
                Ok(_) if absent && helper.inverse.is_none() => {
                    self.fault(format!("the value of #{name} is optional; put it inside an #if or give an else"));
                }
                Ok(frame) => self.inside(frame, helper),
                Err(message) => self.fault(message),
            }
        }
        if let Some(template) = &helper.inverse {
            self.template(template);
        }
    }

    fn frame_id(&mut self) -> usize {
        self.frame_ids = self.frame_ids.saturating_add(1);
        self.frame_ids
    }

    fn inside(&mut self, mut frame: Frame<'s>, helper: &'s HelperTemplate) {
        frame.id = self.frame_id();
        frame.own = frame.id;
        match &helper.block_param {
            None => {}
            Some(BlockParam::Single(Parameter::Name(name))) => {
                frame.names.insert(name.clone(), frame.this);
            }
            Some(BlockParam::Pair((Parameter::Name(value), Parameter::Name(key)))) => {
                frame.names.insert(value.clone(), frame.this);
                frame.names.insert(key.clone(), Shape::Computed);
                match frame.keys {
                    Some((Keys::Indices, _) | (Keys::Names, InputTrust::Trusted)) => {}
                    _ => self.fault("the key of an untrusted object is text from outside; declare its properties"),
                }
            }
            Some(_) => self.fault("block parameters are plain names"),
        }
        self.frames.push(frame);
        if let Some(template) = &helper.template {
            self.template(template);
        }
        self.frames.pop();
    }

    fn partial(&mut self, name: &Parameter, params: &'s [Parameter], hash: Vec<(&'s str, &'s Parameter)>) {
        let (Parameter::Name(name) | Parameter::Path(Path::Relative((_, name)))) = name else {
            return self.fault("dynamic partials are not supported; write the partial's name out");
        };
        let mut frame = Frame::of(self.frames.last().map_or(Shape::Inputs, |frame| frame.this));
        frame.closed = true;
        frame.id = self.frames.last().map_or(0, |frame| frame.id);
        frame.own = self.frame_id();
        frame.keys = self.frames.last().and_then(|frame| frame.keys);
        match params {
            [] => {}
            [argument] => {
                let Some((shape, _)) = self.parameter(argument) else { return };
                frame.this = shape;
                frame.id = frame.own;
            }
            _ => return self.fault("a partial takes one context at most"),
        }
        for (key, value) in hash {
            // What is wrong with the argument is told once, here.
            let shape = self.parameter(value).map_or(Shape::Computed, |(shape, _)| shape);
            frame.names.insert(key.to_owned(), shape);
        }
        if self.partials.contains(name) {
            return self.fault(format!("partial `{name}` includes itself: {} → {name}", self.partials.join(" → ")));
        }
        let analysis = self.analysis;
        let Some(template) = analysis.partials.get(name.as_str()) else {
            let known: Vec<&str> = analysis.partials.keys().map(String::as_str).collect();
            let known =
                if known.is_empty() { "there are none".to_owned() } else { format!("known are {}", known.join(", ")) };
            return self.fault(format!("unknown partial `{name}`; {known}"));
        };
        let at = self.at;
        self.partials.push(name.clone());
        self.frames.push(frame);
        self.template(template);
        self.frames.pop();
        self.partials.pop();
        self.at = at;
    }

    /// What a parameter leads to, with a key that names it while its frame stands.
    fn parameter(&mut self, parameter: &'s Parameter) -> Option<(Shape<'s>, String)> {
        match parameter {
            Parameter::Literal(_) => Some((Shape::Computed, String::new())),
            Parameter::Subexpression(sub) => {
                let TemplateElement::Expression(helper) = sub.as_element() else { return None };
                let name = helper.name.as_name().unwrap_or_default();
                if helper.params.is_empty() && helper.hash.is_empty() {
                    return self.parameter(&helper.name);
                }
                if !HELPERS.contains(&name) || name == "json" {
                    self.unknown_helper(name);
                    return None;
                }
                self.function(name, &helper.params);
                Some((Shape::Computed, String::new()))
            }
            Parameter::Name(name) => self.path(name),
            Parameter::Path(Path::Relative((_, raw))) => self.path(raw),
            Parameter::Path(Path::Local((level, name, _))) => self.local(*level, name),
            _ => {
                self.fault("this kind of argument is not supported");
                None
            }
        }
    }

    fn local(&mut self, level: usize, name: &str) -> Option<(Shape<'s>, String)> {
        let keys = self.frames.iter().rev().nth(level).and_then(|frame| frame.keys);
        match (name, keys) {
            ("index" | "first" | "last", Some(_)) | ("key", Some((Keys::Names, InputTrust::Trusted))) => {
                Some((Shape::Computed, String::new()))
            }
            ("key", Some((Keys::Names, InputTrust::Untrusted))) => {
                self.fault("@key of an untrusted object is text from outside; declare the object's properties");
                None
            }
            _ => {
                self.fault(format!("`@{name}` is not defined here; @index, @first, @last and @key stand inside #each"));
                None
            }
        }
    }

    fn path(&mut self, raw: &str) -> Option<(Shape<'s>, String)> {
        match self.resolve(raw) {
            Ok((Shape::Value(typed), _))
                if typed.trust == InputTrust::Untrusted && self.spec.trust != Trust::Untrusted =>
            {
                self.fault(format!(
                    "trust_violation: `{raw}` is untrusted and section `{}` is {}; move it to an untrusted section or declare its trust under proem.inputs",
                    self.spec.name,
                    self.spec.trust.as_str()
                ));
                None
            }
            Ok((Shape::Value(typed), key)) if self.is_present(&key) => {
                Some((Shape::Value(Typed { presence: Presence::Always, ..typed }), key))
            }
            Ok(found) => Some(found),
            Err(message) => {
                self.fault(message);
                None
            }
        }
    }

    /// Whether an enclosing condition found this value, or a part of it.
    fn is_present(&self, key: &str) -> bool {
        let part = format!("{key}.");
        let mut parts = self.present.range(part.clone()..);
        self.present.contains(key) || parts.next().is_some_and(|present| present.starts_with(&part))
    }

    fn resolve(&mut self, raw: &str) -> Result<(Shape<'s>, String), String> {
        let (mut rest, mut depth, mut root, mut this) = (raw, 0usize, false, false);
        loop {
            if let Some(tail) = rest.strip_prefix("../") {
                (rest, depth) = (tail, depth.saturating_add(1));
            } else if rest == ".." {
                (rest, depth) = ("", depth.saturating_add(1));
            } else if let Some(tail) = rest.strip_prefix("@root.").or_else(|| rest.strip_prefix("@root/")) {
                (rest, root) = (tail, true);
            } else if let Some(tail) = ["./", "this.", "this/"].iter().find_map(|start| rest.strip_prefix(start)) {
                (rest, this) = (tail, true);
            } else {
                break;
            }
        }
        let segments = segments(rest);
        let frames: Vec<&Frame<'s>> = self.frames.iter().rev().collect();
        if frames.iter().take(depth).any(|frame| frame.closed) || (root && frames.iter().any(|frame| frame.closed)) {
            return Err(format!("`{raw}` reaches out of its partial; pass the value as an argument"));
        }
        let frame = if root { frames.last() } else { frames.get(depth) };
        let Some(frame) = frame else { return Err(format!("`{raw}` goes up further than there are blocks")) };
        let visible = frames.iter().skip(depth);
        let mut named = None;
        if let (Some(first), false) = (segments.first(), root) {
            for frame in visible {
                named = frame.names.get(*first).map(|shape| (*shape, frame.own));
                // A partial's arguments are part of its `this`; other names are not.
                if this && !frame.closed {
                    named = None;
                }
                if named.is_some() || frame.closed || this {
                    break;
                }
            }
        }
        let (mut shape, mut key, skip) = match named {
            Some((shape, own)) => (shape, format!("{own}:{}", segments.first().unwrap_or(&"")), 1),
            None => (frame.this, format!("{}", frame.id), 0),
        };
        for segment in segments.iter().skip(skip) {
            if let Shape::Value(typed) = shape
                && self.is_present(&key)
            {
                shape = Shape::Value(Typed { presence: Presence::Always, ..typed });
            }
            key.push('.');
            key.push_str(segment);
            shape = match shape {
                Shape::Inputs => {
                    self.used.insert((*segment).to_owned());
                    Shape::Value(self.analysis.input(segment)?)
                }
                Shape::Value(typed) => Shape::Value(typed.property(segment)?),
                Shape::Computed => return Err(format!("`{segment}` is asked of a computed value")),
            };
        }
        Ok((shape, key))
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

/// The names in a path such as `a.b/c.[d e]`.
fn segments(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (name, tail) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => match rest.find(['.', '/']) {
                Some(end) => rest.split_at_checked(end).unwrap_or((rest, "")),
                None => (rest, ""),
            },
        };
        if !name.is_empty() && name != "this" {
            names.push(name);
        }
        rest = tail.strip_prefix(['.', '/']).unwrap_or(tail);
    }
    names
}
