//! Reads a signature: strict about what it means, lenient about how it is written.

use super::{Field, MOST_TYPES, Record, Rest, Shape, Signature, Type, TypeId, is_delimiter};
use crate::{
    error::{Problem, Reason},
    limits::Limits,
    reader::excerpt,
    resolve::nearest,
    value::{Text, Value},
};
use alloc::{borrow::ToOwned as _, format, string::String, vec, vec::Vec};
use proem_text::Span;

/// The types without parts.
const ATOMS: [(&str, Shape); 9] = [
    ("any", Shape::Any),
    ("string", Shape::Text),
    ("int", Shape::Int),
    ("float", Shape::Float),
    ("number", Shape::Number),
    ("bool", Shape::Bool),
    ("keyword", Shape::Keyword),
    ("datetime", Shape::Datetime),
    ("map", Shape::Any),
];

/// Names of types in other languages that models write.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("str", "string"),
    ("text", "string"),
    ("integer", "int"),
    ("double", "float"),
    ("boolean", "bool"),
    ("date", "datetime"),
    ("object", "map"),
    ("list", "[…]"),
];

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Mark(char),
    Arrow,
    Word(String),
    Keyword(String),
    Quoted(String),
}

/// A list or record whose end isn't read yet.
enum Open {
    List(TypeId, Span),
    Record { id: TypeId, fields: Vec<(Field, Span)>, name: Option<(Text, Span)>, closing: char, opened: Span },
}

impl Signature {
    /// Reads a signature such as `name(a :int, b [:string]?) -> {c :any}`.
    ///
    /// The name, commas and the result may be missing, `{:a :int}` is `{a :int}`; without a result it is `:any`.
    ///
    /// # Errors
    ///
    /// Its problems with their places: text that is no signature, unknown types, names that are there twice with `-` and
    /// `_` taken as the same, more bytes or levels than the limits allow.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, Vec<Problem>> {
        let whole = Span::new(0, text.len());
        if text.len() > limits.source_bytes {
            let message = format!("a signature has more than {} bytes", limits.source_bytes);
            return Err(vec![Problem::new(Reason::ParseError, whole, message).help("use fewer or simpler types")]);
        }
        let tokens = read_tokens(text).map_err(|problem| vec![problem])?;
        let mut parser = Parser { tokens, at: 0, end: whole.end, types: Vec::new(), problems: Vec::new(), limits };
        match parser.signature() {
            Ok(signature) if parser.problems.is_empty() => Ok(signature),
            Ok(_) => Err(parser.problems),
            Err(problem) => {
                parser.problems.push(problem);
                Err(parser.problems)
            }
        }
    }
}

fn problem(span: Span, message: impl Into<String>, help: impl Into<String>) -> Problem {
    Problem::new(Reason::ParseError, span, message).help(help)
}

fn read_tokens(text: &str) -> Result<Vec<(Token, Span)>, Problem> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        let length = match first {
            c if c.is_whitespace() || c == ',' => {
                at = at.saturating_add(c.len_utf8());
                continue;
            }
            '"' => quoted_length(rest).ok_or_else(|| {
                problem(Span::new(at, at.saturating_add(1)), "this string is never closed", "add `\"` where it ends")
            })?,
            ':' => word_length(rest.get(1..).unwrap_or_default()).saturating_add(1),
            c if is_delimiter(c) => c.len_utf8(),
            _ => word_length(rest),
        };
        let span = Span::new(at, at.saturating_add(length));
        let token = rest.get(..length).unwrap_or_default();
        tokens.push((token_of(first, token, span)?, span));
        at = span.end;
    }
    Ok(tokens)
}

fn token_of(first: char, token: &str, span: Span) -> Result<Token, Problem> {
    Ok(match first {
        '"' => match crate::json::parse_json(token, &mut crate::Meter::unlimited()) {
            Ok(Some(Value::Text(text))) => Token::Quoted(text.as_str().to_owned()),
            _ => return Err(problem(span, "this isn't a JSON string", "write it as `\"…\"` with JSON's escapes")),
        },
        ':' => Token::Keyword(token.get(1..).unwrap_or_default().to_owned()),
        '(' | ')' | '[' | ']' | '{' | '}' | '|' => Token::Mark(first),
        c if is_delimiter(c) => {
            return Err(problem(span, format!("{c:?} has no place in a signature"), "leave it out"));
        }
        _ if token == "->" => Token::Arrow,
        _ if token == "?" => Token::Mark('?'),
        _ => Token::Word(token.to_owned()),
    })
}

/// The bytes before what ends a word.
fn word_length(text: &str) -> usize {
    text.find(is_delimiter).unwrap_or(text.len())
}

/// The bytes of the string that begins the text, with its quotes.
fn quoted_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at.checked_add(1),
            _ => {}
        }
    }
    None
}

struct Parser<'a> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    /// The end of the text.
    end: usize,
    types: Vec<Type>,
    problems: Vec<Problem>,
    limits: &'a Limits,
}

impl Parser<'_> {
    fn signature(&mut self) -> Result<Signature, Problem> {
        let name = match self.peek() {
            Some(Token::Word(name)) => {
                let name = Text::from(name.as_str());
                self.at = self.at.saturating_add(1);
                Some(name)
            }
            _ => None,
        };
        let (opening, span) = self.next();
        if opening != Some(Token::Mark('(')) {
            return Err(problem(span, "the parameters of a signature are missing", "write `name(a :int) -> :string`"));
        }
        let parameters = self.add(Shape::Any, span)?;
        let first = open_record(parameters, ')', span);
        let parameters = self.read_types(first)?;
        let result = match self.next() {
            (None, span) => self.add(Shape::Any, span)?,
            (Some(Token::Arrow), _) => self.read_type()?,
            (Some(_), span) => {
                return Err(problem(span, "a signature goes on with `->` and its result", "write `-> :type`"));
            }
        };
        match self.next() {
            (None, _) => Ok(Signature { name, types: core::mem::take(&mut self.types), parameters, result }),
            (Some(_), span) => Err(problem(span, "the signature has ended before this", "leave it out")),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> (Option<Token>, Span) {
        match self.tokens.get_mut(self.at) {
            Some((token, span)) => {
                let taken = core::mem::replace(token, Token::Arrow);
                self.at = self.at.saturating_add(1);
                (Some(taken), *span)
            }
            None => (None, Span::new(self.end, self.end)),
        }
    }

    /// Whether this mark follows, which is taken.
    fn take(&mut self, mark: char) -> bool {
        let is_there = self.peek() == Some(&Token::Mark(mark));
        if is_there {
            self.at = self.at.saturating_add(1);
        }
        is_there
    }

    fn add(&mut self, shape: Shape, span: Span) -> Result<TypeId, Problem> {
        if self.types.len() >= MOST_TYPES {
            return Err(problem(span, format!("a signature has more than {MOST_TYPES} types"), "use fewer types"));
        }
        self.types.push(Type::new(shape));
        Ok(TypeId(self.types.len().saturating_sub(1)))
    }

    fn read_type(&mut self) -> Result<TypeId, Problem> {
        match self.begin_type()? {
            Begun::Whole(id) => Ok(id),
            Begun::Open(open) => self.read_types(open),
        }
    }

    /// Reads to the end of a list or record.
    fn read_types(&mut self, first: Open) -> Result<TypeId, Problem> {
        let mut open = vec![first];
        loop {
            let Some(top) = open.last_mut() else { return Ok(TypeId(0)) };
            let whole = if self.ends_or_names_field(top)? {
                self.close(open.pop())?
            } else {
                match self.begin_type()? {
                    Begun::Whole(id) => id,
                    Begun::Open(inner) => {
                        self.check_nesting(open.len())?;
                        open.push(inner);
                        continue;
                    }
                }
            };
            if let Some(whole) = self.put_in_place(whole, &mut open)? {
                return Ok(whole);
            }
        }
    }

    /// Whether a record ends here; if it doesn't, the name of its next field is read.
    fn ends_or_names_field(&mut self, top: &mut Open) -> Result<bool, Problem> {
        let Open::Record { name, closing, opened, .. } = top else { return Ok(false) };
        if self.at >= self.tokens.len() {
            return Err(never_closed(*opened, *closing));
        }
        if self.take(*closing) {
            return Ok(true);
        }
        *name = Some(self.field_name()?);
        Ok(false)
    }

    fn check_nesting(&self, levels: usize) -> Result<(), Problem> {
        if levels < self.limits.nesting {
            return Ok(());
        }
        let message = format!("a signature nests more than {} levels deep", self.limits.nesting);
        let span = self.tokens.get(self.at.saturating_sub(1)).map_or_else(Span::default, |(_, span)| *span);
        Err(problem(span, message, "use `:any` or `:map` for what is deeper"))
    }

    /// Makes a type part of what is open, and that part of what is around it. The outermost if nothing is open then.
    fn put_in_place(&mut self, mut whole: TypeId, open: &mut Vec<Open>) -> Result<Option<TypeId>, Problem> {
        loop {
            match open.last_mut() {
                None => return Ok(Some(whole)),
                Some(Open::Record { fields, name, .. }) => {
                    if let Some((name, span)) = name.take() {
                        let is_required = self.types.get(whole.0).is_some_and(|of| !of.is_nullable);
                        fields.push((Field { name, of: whole, is_required }, span));
                    }
                    return Ok(None);
                }
                Some(Open::List(id, opened)) => {
                    let (id, opened) = (*id, *opened);
                    if !self.take(']') {
                        return Err(match self.next() {
                            (None, _) => never_closed(opened, ']'),
                            (Some(_), span) => problem(
                                span,
                                "a list has one type",
                                "close it with `]`; for several types write `[:any]`",
                            ),
                        });
                    }
                    if let Some(list) = self.types.get_mut(id.0) {
                        list.shape = Shape::List(whole);
                    }
                    open.pop();
                    self.mark_optional(id);
                    whole = id;
                }
            }
        }
    }

    /// Makes the record of its fields.
    fn close(&mut self, record: Option<Open>) -> Result<TypeId, Problem> {
        let Some(Open::Record { id, fields, closing, .. }) = record else { return Ok(TypeId(0)) };
        let (fields, spans): (Vec<Field>, Vec<Span>) = fields.into_iter().unzip();
        let (record, twice) = Record::new(fields, Rest::Closed);
        for at in twice {
            let name = record.fields.get(at).map_or("", |field| field.name.as_str());
            let message = format!("the name `{}` is here twice, with `-` and `_` taken as the same", excerpt(name));
            let span = spans.get(at).copied().unwrap_or_default();
            self.problems.push(problem(span, message, "rename one of them"));
        }
        if let Some(of) = self.types.get_mut(id.0) {
            of.shape = Shape::Record(record);
        }
        if closing == '}' {
            self.mark_optional(id);
        }
        Ok(id)
    }

    fn field_name(&mut self) -> Result<(Text, Span), Problem> {
        match self.next() {
            (Some(Token::Word(name) | Token::Keyword(name) | Token::Quoted(name)), span) if !name.is_empty() => {
                Ok((Text::from(name), span))
            }
            (_, span) => Err(problem(span, "a name is missing here", "write `name :type`")),
        }
    }

    /// A type without parts, or the beginning of one with parts.
    fn begin_type(&mut self) -> Result<Begun, Problem> {
        let (token, span) = self.next();
        match token {
            Some(Token::Keyword(word)) => {
                let id = self.atom(&word, span)?;
                self.mark_optional(id);
                Ok(Begun::Whole(id))
            }
            Some(Token::Mark('[')) => Ok(Begun::Open(Open::List(self.add(Shape::Any, span)?, span))),
            Some(Token::Mark('{')) => {
                let id = self.add(Shape::Any, span)?;
                Ok(Begun::Open(open_record(id, '}', span)))
            }
            Some(Token::Mark('(')) => {
                let id = self.members(span)?;
                self.mark_optional(id);
                Ok(Begun::Whole(id))
            }
            _ => Err(problem(span, "a type is missing here", "write one such as `:string`, `[:int]` or `{id :int}`")),
        }
    }

    fn atom(&mut self, word: &str, span: Span) -> Result<TypeId, Problem> {
        let (name, is_optional) = match word.strip_suffix('?') {
            Some(name) => (name, true),
            None => (word, false),
        };
        let shape = match ATOMS.iter().find(|(other, _)| *other == name) {
            Some(("map", _)) => Shape::Record(Record::new(Vec::new(), Rest::Open).0),
            Some((_, shape)) => shape.clone(),
            None => {
                let known = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
                let known = known.or_else(|| nearest(name, ATOMS.iter().map(|(name, _)| *name)));
                let help = match known {
                    Some("[…]") => "write the type of its elements in brackets: `[:any]`".to_owned(),
                    Some(known) => format!("did you mean `:{known}`?"),
                    None => {
                        let all: Vec<String> = ATOMS.iter().map(|(name, _)| format!("`:{name}`")).collect();
                        format!("the types are {}, `[type]`, `{{field :type}}` and `(:a | :b)`", all.join(", "))
                    }
                };
                self.problems.push(problem(span, format!("there is no type `:{}`", excerpt(name)), help));
                Shape::Any
            }
        };
        let id = self.add(shape, span)?;
        if let Some(of) = self.types.get_mut(id.0) {
            of.is_nullable = is_optional;
        }
        Ok(id)
    }

    /// The members of an enumeration, whose bracket was taken.
    fn members(&mut self, opened: Span) -> Result<TypeId, Problem> {
        let mut members: Vec<Value> = Vec::new();
        let mut seen = alloc::collections::BTreeSet::new();
        loop {
            let (token, span) = self.next();
            let member = match token {
                Some(Token::Keyword(name)) if !name.is_empty() => Value::keyword(&name),
                Some(Token::Quoted(text)) => Value::text(&text),
                None => return Err(never_closed(opened, ')')),
                _ => return Err(problem(span, "a member is missing here", "write them as `(:open | :closed)`")),
            };
            if !seen.insert(String::from(member.as_str().unwrap_or_default())) {
                self.problems.push(problem(span, "this member is here twice", "leave one of them out"));
            }
            members.push(member);
            if self.take(')') {
                return self.add(Shape::Enum(members), opened);
            }
            if !self.take('|') {
                let (token, span) = self.next();
                return Err(match token {
                    None => never_closed(opened, ')'),
                    Some(_) => problem(span, "`|` or `)` is missing here", "write the members as `(:open | :closed)`"),
                });
            }
        }
    }

    /// Takes the `?` behind a type.
    fn mark_optional(&mut self, id: TypeId) {
        if self.take('?')
            && let Some(of) = self.types.get_mut(id.0)
        {
            of.is_nullable = true;
        }
    }
}

const fn open_record(id: TypeId, closing: char, opened: Span) -> Open {
    Open::Record { id, fields: Vec::new(), name: None, closing, opened }
}

/// A type that was read, or that is to be read on.
enum Begun {
    Whole(TypeId),
    Open(Open),
}

fn never_closed(opened: Span, closing: char) -> Problem {
    problem(opened, "this bracket is never closed", format!("add `{closing}` where it ends"))
}
