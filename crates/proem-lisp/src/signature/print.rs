//! The one printed form of a signature.

use super::{Rest, Shape, Signature, Type, TypeId, is_plain_word, quoted_unless_plain};
use crate::value::Value;
use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::fmt;
use proem_text::json;

/// How many parameters the call of a tool in a message names.
const LISTED_FIELDS: usize = 12;

/// The most bytes of a type in a message.
const PHRASE_BYTES: usize = 160;

/// The rest to print, the last first.
enum Piece<'a> {
    Mark(&'static str),
    Name(&'a str),
    Type(TypeId),
    /// A type that may be missing, whatever it says itself.
    Optional(TypeId),
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name() {
            f.write_str(name)?;
        }
        let mut open = self.fields(self.parameters);
        open.insert(0, Piece::Mark(")"));
        open.push(Piece::Mark("("));
        self.print(f, open)?;
        f.write_str(" -> ")?;
        self.print(f, vec![Piece::Type(self.result)])
    }
}

impl Signature {
    /// The type of the result as it is printed, such as `{count :int}`.
    #[must_use]
    pub fn result_type(&self) -> String {
        self.type_text(self.result)
    }

    /// The type of a parameter as it is printed. `None` if there is no parameter of this name.
    #[must_use]
    pub fn parameter_type(&self, name: &str) -> Option<String> {
        let record = self.record(self.parameters)?;
        let field = record.fields.get(record.find(name)?)?;
        let text = self.type_text(field.of);
        Some(if field.is_required || text.ends_with('?') { text } else { format!("{text}?") })
    }

    /// How a tool of this signature is called, such as `` `(tool/search {:query :string, :limit :int?})` ``.
    pub(crate) fn call_text(&self, name: &str) -> String {
        let all = self.record(self.parameters).map_or(&[][..], |record| &record.fields).iter().map(|field| {
            let optional = if field.is_required { "" } else { "?" };
            let phrase = clip(self.type_text(field.of));
            let optional = if phrase.ends_with('?') { "" } else { optional };
            format!(":{} {phrase}{optional}", field.name)
        });
        let more = if all.len() > LISTED_FIELDS { ", …" } else { "" };
        let listed: Vec<String> = all.take(LISTED_FIELDS).collect();
        format!("`(tool/{name} {{{}{more}}})`", listed.join(", "))
    }

    /// The type as it is printed in a signature.
    pub(super) fn type_text(&self, id: TypeId) -> String {
        struct Shown<'a>(&'a Signature, TypeId);
        impl fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.print(f, vec![Piece::Type(self.1)])
            }
        }
        Shown(self, id).to_string()
    }

    /// The type in a message: its word, or the members of an enumeration as far as they fit.
    pub(super) fn phrase(&self, id: TypeId) -> String {
        match self.of(id).map(|of| &of.shape) {
            Some(Shape::Enum(_)) => clip(self.type_text(id)),
            Some(shape) => String::from(shape.word().trim_start_matches(':')),
            None => String::from("any"),
        }
    }

    fn print<'a>(&'a self, f: &mut fmt::Formatter<'_>, mut open: Vec<Piece<'a>>) -> fmt::Result {
        while let Some(piece) = open.pop() {
            match piece {
                Piece::Mark(mark) => f.write_str(mark)?,
                Piece::Name(name) => f.write_str(&quoted_unless_plain(name))?,
                Piece::Type(id) => self.begin_type(f, id, false, &mut open)?,
                Piece::Optional(id) => self.begin_type(f, id, true, &mut open)?,
            }
        }
        Ok(())
    }

    fn begin_type<'a>(
        &'a self,
        f: &mut fmt::Formatter<'_>,
        id: TypeId,
        is_optional: bool,
        open: &mut Vec<Piece<'a>>,
    ) -> fmt::Result {
        let Some(Type { shape, is_nullable, .. }) = self.of(id) else { return f.write_str(":any") };
        let is_optional = is_optional || *is_nullable;
        match shape {
            Shape::List(element) => {
                open.push(Piece::Mark(if is_optional { "]?" } else { "]" }));
                open.push(Piece::Type(*element));
                f.write_str("[")
            }
            Shape::Record(record) if !record.fields.is_empty() || matches!(record.rest, Rest::Closed) => {
                open.push(Piece::Mark(if is_optional { "}?" } else { "}" }));
                open.extend(self.fields(id));
                f.write_str("{")
            }
            Shape::Enum(members) => {
                f.write_str("(")?;
                for (at, member) in members.iter().enumerate() {
                    f.write_str(if at > 0 { " | " } else { "" })?;
                    f.write_str(&member_text(member))?;
                }
                f.write_str(if is_optional { ")?" } else { ")" })
            }
            atom => {
                f.write_str(atom.word())?;
                f.write_str(if is_optional { "?" } else { "" })
            }
        }
    }

    /// The pieces of a record's fields, the last first.
    fn fields(&self, id: TypeId) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        for (at, field) in self.record(id).map_or(&[][..], |record| &record.fields).iter().enumerate().rev() {
            pieces.push(if field.is_required { Piece::Type(field.of) } else { Piece::Optional(field.of) });
            pieces.extend([Piece::Mark(" "), Piece::Name(field.name.as_str())]);
            if at > 0 {
                pieces.push(Piece::Mark(", "));
            }
        }
        pieces
    }
}

impl Shape {
    /// The keyword of a type without parts.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Any => ":any",
            Self::Text => ":string",
            Self::Int => ":int",
            Self::Float => ":float",
            Self::Number => ":number",
            Self::Bool => ":bool",
            Self::Keyword => ":keyword",
            Self::Datetime => ":datetime",
            Self::List(_) => ":list",
            Self::Record(_) => ":map",
            Self::Enum(_) => ":enum",
        }
    }
}

/// The start of a type's text.
fn clip(mut text: String) -> String {
    if text.len() > PHRASE_BYTES {
        text.truncate(text.floor_char_boundary(PHRASE_BYTES));
        text.push('…');
    }
    text
}

/// A member of an enumeration: a keyword, or a string where no keyword can say it.
pub(super) fn member_text(member: &Value) -> String {
    match member {
        Value::Keyword(name) if is_plain_word(name.as_str()) || is_question(name.as_str()) => {
            let mut text = String::from(":");
            text.push_str(name.as_str());
            text
        }
        other => json::quote_json(other.as_str().unwrap_or_default()),
    }
}

/// Whether it is a word but for the `?` at its end, which only a type would lose.
fn is_question(name: &str) -> bool {
    name.strip_suffix('?').is_some_and(is_plain_word)
}
