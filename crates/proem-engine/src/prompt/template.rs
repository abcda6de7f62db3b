//! Handlebars templates: what one is, once it is read.
//!
//! [`parse_template`] reads a text as handlebars.js does, [`evaluate`](mod@evaluate) puts values into it. What
//! is analysed is the same tree that is evaluated: there is no second reading of a template.
//!
//! Source: handlebars.js 4.7, <https://handlebarsjs.com/guide/>. Its grammar is `src/handlebars.yy`.

mod bounded_text;
mod error;
pub(super) mod evaluate;
mod functions;
mod parse;
mod scan;
pub(super) mod scope;
mod space;

pub(crate) use self::parse::parse_template;
use crate::ordered_json::OrderedJson;

/// A template, or one branch of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Template {
    pub(crate) nodes: Vec<TemplateNode>,
    /// Whether it is nothing but the block that an `{{else if …}}` opened.
    pub(super) chained: bool,
    /// The places of `{% … %}` in its text. Kept for the whole template only.
    pub(crate) foreign: Vec<LineColumn>,
}

impl Template {
    /// A template that prints nothing.
    pub(crate) const EMPTY: Self = Self { nodes: Vec::new(), chained: false, foreign: Vec::new() };

    /// A text that is printed as it is.
    pub(crate) fn literal(text: &str) -> Self {
        let text = ContentStatement { written: text.to_owned(), shown: text.to_owned(), ..ContentStatement::default() };
        Self { nodes: vec![TemplateNode { at: LineColumn::START, element: Statement::Text(text) }], ..Self::default() }
    }
}

/// A line and a column, both from one. Columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineColumn {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl LineColumn {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// The place behind `text`, which starts here.
    pub(crate) fn behind(self, text: &str) -> Self {
        text.chars().fold(self, |at, c| match c {
            '\n' => Self { line: at.line.saturating_add(1), column: 1 },
            _ => Self { column: at.column.saturating_add(1), ..at },
        })
    }
}

/// A piece of a template and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TemplateNode {
    pub(crate) at: LineColumn,
    pub(crate) element: Statement,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    /// Text between tags.
    Text(ContentStatement),
    /// A comment.
    Comment(Strip),
    /// `{{name}}`, `{{helper value}}`.
    Print(HelperCall, Strip),
    /// `{{#name}}…{{/name}}`, `{{^name}}…{{/name}}`.
    Block(Box<BlockStatement>),
    /// `{{> name}}`, `{{#> name}}…{{/name}}`.
    Partial(Box<Partial>),
    /// `{{#*inline "name"}}…{{/inline}}`.
    Inline(Box<Inline>),
    /// Any other decorator. Nothing evaluates one.
    Decorator(Strip),
}

/// Text as it was written, and what of it is left where tags around it take white space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ContentStatement {
    pub(crate) written: String,
    pub(crate) shown: String,
    pub(super) taken_left: bool,
    pub(super) taken_right: bool,
}

/// On which sides a tag takes all white space away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Strip {
    pub(super) before: bool,
    pub(super) behind: bool,
}

/// A value, or a helper with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HelperCall {
    pub(crate) path: PathExpression,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) named: Vec<(String, Expression)>,
}

impl HelperCall {
    /// Whether it has arguments, which only a helper takes.
    pub(crate) const fn is_bare(&self) -> bool {
        self.arguments.is_empty() && self.named.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    /// A text, number, boolean or `null`. `undefined` is none of them.
    Literal(Option<OrderedJson>),
    Path(PathExpression),
    /// `(helper value)`.
    Call(Box<HelperCall>),
}

/// The way to a value, such as `../a.b` or `@root.a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathExpression {
    /// As written, without brackets.
    pub(crate) written: String,
    /// How many levels up it starts.
    pub(crate) up: usize,
    /// Whether it starts with `@`.
    pub(crate) is_data: bool,
    /// Whether it starts at `.` or `this`, and so names neither a helper nor a block's parameter.
    pub(crate) is_scoped: bool,
    pub(crate) names: Vec<String>,
}

impl PathExpression {
    /// The name, if the path is nothing else: only such a path can name a helper.
    pub(crate) fn simple(&self) -> Option<&str> {
        match self.names.as_slice() {
            [name] if self.up == 0 && !self.is_data && !self.is_scoped => Some(name),
            _ => None,
        }
    }

    /// Whether it is `.` or `this`: what goes into it stays on its level.
    pub(crate) const fn is_here(&self) -> bool {
        self.names.is_empty() && self.up == 0 && !self.is_data
    }
}

impl Expression {
    /// Whether it is `.` or `this`.
    pub(crate) const fn is_here(&self) -> bool {
        matches!(self, Self::Path(path) if path.is_here())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockStatement {
    pub(crate) call: HelperCall,
    /// The names that `as |value key|` gives to the values.
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Option<Template>,
    pub(crate) inverse: Option<Template>,
    /// Whether it is `{{{{raw}}}}…{{{{/raw}}}}`, in whose text no tag is one.
    pub(crate) is_raw: bool,
    pub(super) open: Strip,
    pub(super) between: Strip,
    pub(super) close: Strip,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partial {
    pub(crate) name: PartialName,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) named: Vec<(String, Expression)>,
    /// The text before each of its lines.
    pub(crate) indent: String,
    /// The body of `{{#> name}}`.
    pub(crate) body: Option<Template>,
    pub(super) open: Strip,
    pub(super) close: Strip,
}

/// The name of a partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartialName {
    Written(String),
    /// `@partial-block`: what the tag that called this partial holds.
    Block,
    /// A computed name, which nothing evaluates.
    Computed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inline {
    /// Its name. `None` if it is not one text, written out.
    pub(crate) name: Option<String>,
    pub(crate) body: Template,
    pub(super) open: Strip,
    pub(super) close: Strip,
}
