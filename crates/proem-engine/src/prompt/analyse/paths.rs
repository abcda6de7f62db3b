//! The target of a path, read off the schema, and whether its value may be used there.

use super::{AnalysisFrame, TemplateWalk};
use crate::input::InputTrust;
use crate::prompt::shape::{Keys, PathTarget, Presence, TypedValue};
use crate::prompt::template::PathExpression;
use crate::section::Trust;

impl<'s> TemplateWalk<'s> {
    fn data(&mut self, path: &'s PathExpression) -> Option<(PathTarget<'s>, String)> {
        let name = path.names.first().map_or("", String::as_str);
        let keys = self.frames.iter().rev().filter_map(|frame| frame.keys).nth(path.up);
        match (name, keys) {
            _ if path.names.len() > 1 => {
                self.fault(format!("`{}` is not available: a computed value has no fields", path.written));
                None
            }
            ("index" | "first" | "last", Some(_)) | ("key", Some((Keys::Indices, _) | (_, InputTrust::Trusted))) => {
                Some((PathTarget::Computed, String::new()))
            }
            ("key", Some((Keys::Names, InputTrust::Untrusted))) => {
                self.fault("@key of an untrusted object is untrusted text; declare the object's properties");
                None
            }
            _ => {
                self.fault(format!(
                    "`@{name}` is not defined here; @index, @first, @last and @key work only inside #each"
                ));
                None
            }
        }
    }

    pub(super) fn path(&mut self, path: &'s PathExpression) -> Option<(PathTarget<'s>, String)> {
        if path.is_data && path.names.first().is_none_or(|name| name != "root") {
            return self.data(path);
        }
        match self.resolve(path) {
            Ok((PathTarget::Value(typed), _))
                if typed.trust == InputTrust::Untrusted && self.spec.trust != Trust::Untrusted =>
            {
                self.fault(format!(
                    "trust_violation: `{}` is untrusted and section `{}` is {}; move it to an untrusted section or declare its trust under proem.inputs",
                    path.written,
                    self.spec.name,
                    self.spec.trust.as_str()
                ));
                None
            }
            Ok((PathTarget::Value(typed), key)) if self.is_present(&key) => {
                Some((PathTarget::Value(TypedValue { presence: Presence::Always, ..typed }), key))
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

    /// The value that a surrounding block calls `name`, and the key of that block's frame.
    pub(super) fn parameter_named(&self, name: &str) -> Option<(PathTarget<'s>, usize)> {
        for frame in self.frames.iter().rev() {
            if let Some(shape) = frame.parameters.get(name) {
                return Some((*shape, frame.own));
            }
            if frame.closed {
                break;
            }
        }
        None
    }

    /// The frame that a path starts in.
    fn start(&self, path: &PathExpression) -> Result<&AnalysisFrame<'s>, String> {
        let written = &path.written;
        let out_of_reach =
            || format!("`{written}` refers to a value outside its partial; pass the value as an argument");
        let too_far = || format!("`{written}` has more `../` than there are enclosing blocks");
        if path.is_data {
            let frame = self.frames.first().ok_or_else(too_far)?;
            return if self.frames.iter().any(|frame| frame.closed) { Err(out_of_reach()) } else { Ok(frame) };
        }
        let mut frames = self.frames.iter().rev();
        let mut frame = frames.next().ok_or_else(too_far)?;
        let mut up = path.up;
        while up > 0 {
            if frame.closed {
                return Err(out_of_reach());
            }
            // A block that is written `.` shares the level of what is around it.
            if !frame.stays {
                up = up.saturating_sub(1);
            }
            frame = frames.next().ok_or_else(too_far)?;
        }
        Ok(frame)
    }

    fn resolve(&mut self, path: &'s PathExpression) -> Result<(PathTarget<'s>, String), String> {
        let (names, rooted) = match path.names.split_first() {
            Some((_, rest)) if path.is_data => (rest, true),
            _ => (path.names.as_slice(), false),
        };
        let first = names.first();
        let parameter = first.filter(|_| path.up == 0 && !path.is_scoped && !rooted);
        let parameter = parameter.and_then(|name| self.parameter_named(name));
        let frame = self.start(path)?;
        let argument = first.and_then(|name| Some((*frame.arguments.get(name)?, frame.own)));
        let (mut shape, mut key, skip) = match parameter.or(argument) {
            Some((shape, own)) => (shape, format!("{own}:{}", first.map_or("", String::as_str)), 1),
            None => (frame.this, format!("{}", frame.id), 0),
        };
        for segment in names.iter().skip(skip) {
            if let PathTarget::Value(typed) = shape
                && self.is_present(&key)
            {
                shape = PathTarget::Value(TypedValue { presence: Presence::Always, ..typed });
            }
            key.push('.');
            key.push_str(segment);
            shape = match shape {
                PathTarget::Inputs => {
                    self.used.insert(segment.clone());
                    PathTarget::Value(self.analysis.input(segment)?)
                }
                PathTarget::Value(typed) => PathTarget::Value(typed.property(segment)?),
                PathTarget::Computed => {
                    return Err(format!("`{segment}` is not available: a computed value has no fields"));
                }
            };
        }
        Ok((shape, key))
    }
}
