//! Forms: the source as nested lists, in one flat table.

use crate::value::Text;
use alloc::{sync::Arc, vec::Vec};
use num_bigint::BigInt;
use proem_text::Span;

/// The place of a form in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FormId(u32);

/// A form without its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FormKind {
    Nil,
    Bool(bool),
    Int(i64),
    Big(Arc<BigInt>),
    Float(f64),
    Text(Text),
    Keyword(Text),
    Symbol(Text),
    Regex(Text),
    List(Vec<FormId>),
    Vector(Vec<FormId>),
    /// Keys and values in turn.
    Map(Vec<FormId>),
    Set(Vec<FormId>),
    /// `#(…)`: the body as a list, and the highest parameter.
    ShortFunction {
        body: FormId,
        parameters: usize,
        takes_rest: bool,
    },
}

#[derive(Debug, Clone)]
struct Form {
    kind: FormKind,
    span: Span,
    /// Whether it is a literal all through, so that its value is known before the program runs.
    is_constant: bool,
}

/// All forms of a source. A form never holds another by value, so none is deep in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forms(Vec<Form>);

impl Forms {
    pub(crate) fn add(&mut self, kind: FormKind, span: Span) -> FormId {
        let id = FormId(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        let is_constant = match &kind {
            FormKind::Symbol(_) | FormKind::List(_) | FormKind::ShortFunction { .. } => false,
            FormKind::Vector(children) | FormKind::Map(children) | FormKind::Set(children) => {
                children.iter().all(|child| self.is_constant(*child))
            }
            _ => true,
        };
        self.0.push(Form { kind, span, is_constant });
        id
    }

    pub(crate) fn kind(&self, id: FormId) -> &FormKind {
        let at = usize::try_from(id.0).unwrap_or(usize::MAX);
        self.0.get(at).map_or(&FormKind::Nil, |form| &form.kind)
    }

    pub(crate) fn span(&self, id: FormId) -> Span {
        let at = usize::try_from(id.0).unwrap_or(usize::MAX);
        self.0.get(at).map_or_else(Span::default, |form| form.span)
    }

    /// Whether the form is a literal all through.
    pub(crate) fn is_constant(&self, id: FormId) -> bool {
        let at = usize::try_from(id.0).unwrap_or(usize::MAX);
        self.0.get(at).is_some_and(|form| form.is_constant)
    }

    pub(crate) fn symbol(&self, id: FormId) -> Option<&Text> {
        if let FormKind::Symbol(name) = self.kind(id) { Some(name) } else { None }
    }

    pub(crate) fn symbols(&self) -> impl Iterator<Item = &Text> {
        self.0.iter().filter_map(|form| if let FormKind::Symbol(name) = &form.kind { Some(name) } else { None })
    }

    /// The elements of a list.
    pub(crate) fn list(&self, id: FormId) -> Option<&[FormId]> {
        if let FormKind::List(elements) = self.kind(id) { Some(elements) } else { None }
    }

    /// The elements of the form at a place of the table, if it is a list.
    pub(crate) fn list_at(&self, at: usize) -> Option<&[FormId]> {
        self.list(FormId(u32::try_from(at).ok()?))
    }

    /// The elements of a vector.
    pub(crate) fn vector(&self, id: FormId) -> Option<&[FormId]> {
        if let FormKind::Vector(elements) = self.kind(id) { Some(elements) } else { None }
    }

    /// The forms directly inside a form.
    pub(crate) fn children(&self, id: FormId) -> &[FormId] {
        match self.kind(id) {
            FormKind::List(children)
            | FormKind::Vector(children)
            | FormKind::Map(children)
            | FormKind::Set(children) => children,
            FormKind::ShortFunction { body, .. } => core::slice::from_ref(body),
            _ => &[],
        }
    }

    /// How many forms there are, those that rewriting made included.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }
}
