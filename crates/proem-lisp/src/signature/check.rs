//! Checks values against signatures, and corrects inputs where nothing is lost.

use super::{Record, Rest, Shape, Signature, Type, TypeId, is_secret, quoted_unless_plain};
use crate::{
    print::print_excerpt,
    resolve::nearest,
    value::{Children, Value, has_children},
};
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::fmt;

/// The most problems of one value that are listed. A last one says how many more there are.
const MOST_LISTED: usize = 20;

/// The most bytes of an offending value that a problem shows.
const FOUND_BYTES: usize = 80;

/// The replacement for a value whose field is declared secret.
const HIDDEN: &str = "[Hidden]";

/// The place at which a value doesn't fit its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureProblem {
    /// The place, in names that the signature declares: `results[0].customer.id`. `*` represents any other name. Empty
    /// for the whole value.
    pub path: String,
    /// The signature's expectation, or the correction.
    pub expected: String,
    /// The kind of what is there.
    pub kind: &'static str,
    /// The value as it reads, at most 80 bytes of it: text from outside, to be contained wherever it goes.
    pub found: Option<String>,
}

impl fmt::Display for SignatureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, kind, found } = self;
        f.write_str(if path.is_empty() { "the value" } else { path })?;
        write!(f, ": {expected}")?;
        if !kind.is_empty() {
            write!(f, ", got {kind}")?;
        }
        found.as_ref().map_or(Ok(()), |found| write!(f, " {found}"))
    }
}

/// Inputs as their signature has them.
#[derive(Debug, Clone)]
pub struct Coerced {
    /// The value, corrected.
    pub value: Value,
    /// The corrections.
    pub warnings: Vec<SignatureProblem>,
}

/// How a value is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Strict,
    Coerce,
}

impl Signature {
    /// Everything that is wrong with a result. Nothing is converted: `"42"` is no `:int`.
    #[must_use]
    pub fn check_result(&self, result: &Value) -> Vec<SignatureProblem> {
        Walk::new(self, Mode::Strict).check(result, self.result)
    }

    /// Everything that is wrong with a map of arguments. Nothing is converted.
    #[must_use]
    pub fn check_arguments(&self, arguments: &Value) -> Vec<SignatureProblem> {
        Walk::new(self, Mode::Strict).check(arguments, self.parameters)
    }

    /// A map of inputs as the parameters have it: `"42"` becomes `42` for an `:int`, since nothing is lost.
    /// Entries that the signature doesn't name stay as they are.
    ///
    /// # Errors
    ///
    /// Everything that is wrong and can't be corrected without a loss.
    pub fn coerce_inputs(&self, inputs: &Value) -> Result<Coerced, Vec<SignatureProblem>> {
        Walk::new(self, Mode::Coerce).coerce(inputs, self.parameters)
    }

    /// A tool's result, as [`Signature::coerce_inputs`] has inputs.
    ///
    /// # Errors
    ///
    /// As [`Signature::coerce_inputs`].
    pub fn coerce_result(&self, result: &Value) -> Result<Coerced, Vec<SignatureProblem>> {
        Walk::new(self, Mode::Coerce).coerce(result, self.result)
    }

    /// Everything that is wrong with a value of one of the types.
    pub(crate) fn check_type(&self, value: &Value, of: TypeId) -> Vec<SignatureProblem> {
        Walk::new(self, Mode::Strict).check(value, of)
    }
}

/// A collection that is gone through.
struct Frame<'v> {
    value: &'v Value,
    children: Children<'v>,
    of: TypeId,
    step: Step,
    /// The key of the entry at hand, as it is corrected.
    key: Value,
    /// The fields that were there, for a map.
    seen: Vec<bool>,
    /// The result so far, if the value is corrected.
    items: Vec<Value>,
    entries: Vec<(Value, Value)>,
    is_changed: bool,
    is_hidden: bool,
}

impl Frame<'_> {
    /// Keeps a part as it is corrected.
    fn keep(&mut self, part: Value) {
        match self.step {
            Step::Index(_) => self.items.push(part),
            Step::Field(_) | Step::Other => self.entries.push((core::mem::take(&mut self.key), part)),
        }
    }
}

/// The place of a value in a collection.
#[derive(Debug, Clone, Copy)]
enum Step {
    Index(usize),
    /// A field, by its number.
    Field(usize),
    /// An entry that no field declares.
    Other,
}

struct Walk<'s, 'v> {
    signature: &'s Signature,
    mode: Mode,
    frames: Vec<Frame<'v>>,
    problems: Vec<SignatureProblem>,
    warnings: Vec<SignatureProblem>,
    /// Problems beyond those listed.
    more: usize,
}

impl<'s, 'v> Walk<'s, 'v> {
    const fn new(signature: &'s Signature, mode: Mode) -> Self {
        Self { signature, mode, frames: Vec::new(), problems: Vec::new(), warnings: Vec::new(), more: 0 }
    }

    fn check(mut self, value: &'v Value, of: TypeId) -> Vec<SignatureProblem> {
        self.go_through(value, of);
        self.finish().0
    }

    fn coerce(mut self, value: &'v Value, of: TypeId) -> Result<Coerced, Vec<SignatureProblem>> {
        let value = self.go_through(value, of);
        let (problems, warnings) = self.finish();
        if problems.is_empty() { Ok(Coerced { value, warnings }) } else { Err(problems) }
    }

    fn finish(mut self) -> (Vec<SignatureProblem>, Vec<SignatureProblem>) {
        if self.more > 0 {
            let expected = format!("{} more problems", self.more);
            self.problems.push(SignatureProblem { path: String::new(), expected, kind: "", found: None });
        }
        (self.problems, self.warnings)
    }

    /// Checks a value and all below it. Gives it as it is corrected.
    fn go_through(&mut self, value: &'v Value, of: TypeId) -> Value {
        if let Some(whole) = self.begin(Cow::Borrowed(value), of) {
            return whole;
        }
        while let Some(mut frame) = self.frames.pop() {
            let next = self.next_open_part(&mut frame);
            let whole = match next {
                Some((part, of)) => {
                    self.frames.push(frame);
                    self.begin(part, of)
                }
                None => {
                    let whole = self.end(frame);
                    if self.frames.is_empty() {
                        return whole;
                    }
                    Some(whole)
                }
            };
            if let (Some(whole), Some(frame)) = (whole, self.frames.last_mut())
                && self.mode == Mode::Coerce
            {
                frame.keep(whole);
            }
        }
        value.clone()
    }

    /// The next part that isn't plainly right, with its type.
    fn next_open_part(&mut self, frame: &mut Frame<'v>) -> Option<(Cow<'v, Value>, TypeId)> {
        loop {
            let (part, of) = self.next_part(frame)?;
            let is_right = |kind: &Type| kind.checks.is_empty() && kind.shape.takes(&part);
            if !self.signature.of(of).is_some_and(is_right) {
                return Some((part, of));
            }
            if self.mode == Mode::Coerce {
                frame.keep(part.into_owned());
            }
        }
    }

    /// The next part of a collection that has a type, with it.
    fn next_part(&mut self, frame: &mut Frame<'v>) -> Option<(Cow<'v, Value>, TypeId)> {
        match self.signature.of(frame.of).map(|of| &of.shape) {
            Some(Shape::List(element)) => {
                let part = frame.children.next()?;
                frame.step = match frame.step {
                    Step::Index(at) => Step::Index(at.wrapping_add(1)),
                    _ => Step::Index(0),
                };
                Some((part, *element))
            }
            Some(Shape::Record(record)) => loop {
                let (key, value) = frame.children.next_entry()?;
                if let Some(of) = self.entry(frame, record, key) {
                    return Some((Cow::Borrowed(value), of));
                }
                if self.mode == Mode::Coerce {
                    frame.entries.push((key.clone(), value.clone()));
                }
            },
            _ => None,
        }
    }

    /// The type of an entry's value, if it has one. The entry is checked for being there.
    fn entry(&mut self, frame: &mut Frame<'v>, record: &Record, key: &'v Value) -> Option<TypeId> {
        let field = match key {
            Value::Keyword(name) | Value::Text(name) => {
                // Most maps have their entries in the order of the fields.
                let next = if let Step::Field(at) = frame.step { at.wrapping_add(1) } else { 0 };
                let is_next = record.fields.get(next).is_some_and(|field| field.name == *name);
                if is_next { Some(next) } else { record.find(name.as_str()) }
            }
            _ => None,
        };
        frame.step = Step::Other;
        let Some(at) = field else {
            return match record.rest {
                Rest::Typed(of) => {
                    frame.key = key.clone();
                    Some(of)
                }
                Rest::Open => None,
                Rest::Closed => {
                    self.other_entry(frame, record, key);
                    None
                }
            };
        };
        frame.step = Step::Field(at);
        if frame.seen.get(at).copied().unwrap_or_default() {
            self.say(
                Some(frame),
                String::from("expected one entry of this name"),
                "two, with `-` as `_` and keywords as strings",
                None,
            );
        }
        if let Some(seen) = frame.seen.get_mut(at) {
            *seen = true;
        }
        let field = record.fields.get(at)?;
        if self.mode == Mode::Coerce {
            frame.key = key.clone();
        }
        if self.mode == Mode::Coerce && key.as_str().is_some_and(|name| name != field.name.as_str()) {
            self.warn(Some(frame), format!("renamed to `{}`", field.name), key);
            let name = field.name.clone();
            frame.key = if matches!(key, Value::Keyword(_)) { Value::Keyword(name) } else { Value::Text(name) };
            frame.is_changed = true;
        }
        Some(field.of)
    }

    /// An entry that no field declares.
    fn other_entry(&mut self, frame: &Frame<'v>, record: &Record, key: &Value) {
        let mut expected = String::from("expected no other name");
        if let Some(name) = key.as_str() {
            let names = record.fields.iter().map(|field| field.name.as_str());
            if let Some(near) = nearest(name, names) {
                expected = format!("{expected}; did you mean `{near}`?");
            }
        }
        // A program reads what it knows. More inputs do no harm.
        if self.mode == Mode::Coerce {
            self.warn(Some(frame), String::from("no parameter or field has this name"), key);
        } else {
            self.say(Some(frame), expected, kind_of(key), Some(key));
        }
    }

    /// Checks a value itself. One with parts is opened, any other is given back.
    fn begin(&mut self, value: Cow<'v, Value>, of: TypeId) -> Option<Value> {
        let Some(kind) = self.signature.of(of) else { return Some(value.into_owned()) };
        if value.is_nil() && (kind.is_nullable || self.may_be_missing()) {
            return Some(Value::Nil);
        }
        match (&kind.shape, &value) {
            (Shape::Record(record), Cow::Borrowed(map @ Value::Map(_))) => {
                self.check_more(&value, kind);
                let seen = vec![false; record.fields.len()];
                self.open(map, of, seen);
                None
            }
            (Shape::List(_), Cow::Borrowed(list)) if list.is_sequential() && list.stored_len().is_ok() => {
                self.check_more(&value, kind);
                self.open(list, of, Vec::new());
                None
            }
            (Shape::List(_), Cow::Borrowed(set @ Value::Set(_))) if self.mode == Mode::Coerce => {
                self.warn(None, String::from("a set became a list"), &Value::Nil);
                self.check_more(&value, kind);
                self.open(set, of, Vec::new());
                if let Some(frame) = self.frames.last_mut() {
                    frame.is_changed = true;
                }
                None
            }
            _ => Some(self.scalar(value.into_owned(), kind, of)),
        }
    }

    /// Whether nil is as good as nothing for the field at hand.
    fn may_be_missing(&self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let Step::Field(at) = frame.step else { return false };
        let field = self.signature.record(frame.of).and_then(|record| record.fields.get(at));
        // In an input nil says as much as nothing does. A schema that a field may be missing from refuses nil.
        self.mode == Mode::Coerce && field.is_some_and(|field| !field.is_required)
    }

    fn open(&mut self, value: &'v Value, of: TypeId, seen: Vec<bool>) {
        let is_hidden = self.is_hidden(None);
        let children = Children::of(value);
        let step = Step::Index(usize::MAX);
        let (items, entries) = (Vec::new(), Vec::new());
        let key = Value::Nil;
        self.frames.push(Frame { value, children, of, step, key, seen, items, entries, is_changed: false, is_hidden });
    }

    fn scalar(&mut self, value: Value, kind: &Type, of: TypeId) -> Value {
        // A keyword and a string of one name are the same member to everyone behind JSON.
        let is_member = || self.mode == Mode::Strict && matches!(kind.shape, Shape::Enum(_));
        if kind.shape.takes(&value) || (is_member() && kind.shape.correct(&value).is_some()) {
            self.check_more(&value, kind);
            return value;
        }
        if self.mode == Mode::Coerce
            && let Some(corrected) = kind.shape.correct(&value)
        {
            self.warn(
                None,
                format!("became {} {}", kind_of(&corrected), print_excerpt(&corrected, FOUND_BYTES)),
                &value,
            );
            self.check_more(&corrected, kind);
            if let Some(frame) = self.frames.last_mut() {
                frame.is_changed = true;
            }
            return corrected;
        }
        let expected = format!("expected {}", self.signature.phrase(of));
        self.say(None, expected, kind_of(&value), Some(&value));
        value
    }

    /// The collection as it is corrected. Fields that are missing are problems.
    fn end(&mut self, frame: Frame<'v>) -> Value {
        if let Some(record) = self.signature.record(frame.of) {
            for (at, field) in record.fields.iter().enumerate() {
                if field.is_required && !frame.seen.get(at).copied().unwrap_or_default() {
                    let step = Step::Field(at);
                    let expected = format!("expected {}", self.signature.phrase(field.of));
                    let path = self.path(Some((&frame, step)));
                    self.push(SignatureProblem { path, expected, kind: "nothing", found: None });
                }
            }
        }
        if !frame.is_changed {
            return frame.value.clone();
        }
        if let Some(around) = self.frames.last_mut() {
            around.is_changed = true;
        }
        match frame.value {
            Value::Map(_) => Value::map(frame.entries),
            _ => Value::vector(frame.items),
        }
    }

    /// The conditions that only a schema states.
    fn check_more(&mut self, value: &Value, kind: &Type) {
        for check in &kind.checks {
            if let Err(expected) = self.signature.holds(check, value) {
                self.say(None, format!("expected {expected}"), kind_of(value), Some(value));
            }
        }
    }

    fn say(&mut self, top: Option<&Frame<'v>>, expected: String, kind: &'static str, found: Option<&Value>) {
        let path = self.path(top.map(|frame| (frame, frame.step)));
        let found = found.filter(|value| !has_children(value) && !value.is_nil());
        let is_hidden = self.is_hidden(top);
        let found = found.map(|value| if is_hidden { String::from(HIDDEN) } else { excerpt(value) });
        self.push(SignatureProblem { path, expected, kind, found });
    }

    fn push(&mut self, problem: SignatureProblem) {
        if self.problems.len() < MOST_LISTED {
            self.problems.push(problem);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn warn(&mut self, top: Option<&Frame<'v>>, what: String, value: &Value) {
        if self.warnings.len() >= MOST_LISTED {
            return;
        }
        let path = self.path(top.map(|frame| (frame, frame.step)));
        let is_hidden = self.is_hidden(top);
        let (expected, found) = if is_hidden {
            (String::from("was corrected"), None)
        } else {
            (what, (!value.is_nil()).then(|| excerpt(value)))
        };
        let kind = if value.is_nil() { "" } else { kind_of(value) };
        self.warnings.push(SignatureProblem { path, expected, kind, found });
    }

    /// Whether the value at hand is in a secret field. `top` is a frame that isn't on the list.
    fn is_hidden(&self, top: Option<&Frame<'v>>) -> bool {
        let Some(frame) = top.or(self.frames.last()) else { return false };
        let field = match frame.step {
            Step::Field(at) => self.signature.record(frame.of).and_then(|record| record.fields.get(at)),
            _ => None,
        };
        frame.is_hidden || field.is_some_and(|field| is_secret(field.name.as_str()))
    }

    /// The place at hand. `top` is a frame that isn't on the list, with a step in it.
    fn path(&self, top: Option<(&Frame<'v>, Step)>) -> String {
        let mut path = String::new();
        for (frame, step) in self.frames.iter().map(|frame| (frame, frame.step)).chain(top) {
            let name = match step {
                Step::Index(at) => {
                    path.push_str(&format!("[{at}]"));
                    continue;
                }
                Step::Field(at) => self.signature.record(frame.of).and_then(|record| record.fields.get(at)),
                Step::Other => None,
            };
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&name.map_or_else(|| String::from("*"), |field| quoted_unless_plain(field.name.as_str())));
        }
        path
    }
}

/// The start of a value as it reads, at most [`FOUND_BYTES`] with the mark for the rest.
fn excerpt(value: &Value) -> String {
    print_excerpt(value, FOUND_BYTES.saturating_sub('…'.len_utf8()))
}

/// The kind of a value in the words of signatures.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "string",
        Value::Int(_) | Value::Big(_) => "int",
        Value::Float(_) => "float",
        Value::Bool(_) => "bool",
        Value::Keyword(_) => "keyword",
        Value::Symbol(_) => "symbol",
        Value::Nil => "nil",
        Value::Map(_) => "map",
        Value::List(_) | Value::Vector(_) | Value::Stream(_) => "list",
        Value::Set(_) => "set",
        Value::Regex(_) => "regular expression",
        _ => "function",
    }
}
