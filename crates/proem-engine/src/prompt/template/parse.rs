//! Text to template, within bounds and without recursion over blocks.
//!
//! Source: the grammar of handlebars.js 4.7, `src/handlebars.yy`, and what it makes of the words,
//! `lib/handlebars/compiler/helpers.js`.

use serde_json::Number;

use super::error::TemplateSyntaxError;
use super::scan::{TagOpener, TagWord, TemplateScanner};
use super::space;
use super::{
    BlockStatement, ContentStatement, Expression, HelperCall, Inline, LineColumn, Partial, PartialName, PathExpression,
    Statement, Strip, Template, TemplateNode,
};
use crate::ordered_json::{OrderedJson, print_number};

/// How deep blocks, else-chains and parentheses may nest.
const MAX_NESTING: usize = 48;

/// Reads a template.
///
/// # Errors
///
/// The first place that can't be read.
pub(crate) fn parse_template(text: &str) -> Result<Template, TemplateSyntaxError> {
    let mut parser = Parser {
        scanner: TemplateScanner::new(text),
        nodes: Vec::new(),
        open: Vec::new(),
        foreign: Vec::new(),
        foreign_start: None,
    };
    while !parser.scanner.rest().is_empty() {
        let next = parser.text();
        if next == TextSuccessor::Tag && !parser.scanner.rest().is_empty() {
            parser.tag()?;
        }
    }
    if let Some(open) = parser.open.last() {
        return TemplateSyntaxError::at(open.at, "this block is not closed");
    }
    let mut template = Template { nodes: parser.nodes, foreign: parser.foreign, ..Template::default() };
    space::control_white_space(&mut template);
    Ok(template)
}

struct Parser<'t> {
    scanner: TemplateScanner<'t>,
    /// The nodes so far of the innermost open block, or of the whole.
    nodes: Vec<TemplateNode>,
    open: Vec<OpenBlock>,
    foreign: Vec<LineColumn>,
    /// The place of a `{%` that has no `%}` yet.
    foreign_start: Option<LineColumn>,
}

/// A block that has not been closed yet.
struct OpenBlock {
    at: LineColumn,
    head: TagHead,
    strip: Strip,
    /// The nodes before it in the surrounding block.
    before: Vec<TemplateNode>,
    /// Its first branch and the tag that ended it, once an else has come.
    first: Option<(Vec<TemplateNode>, Strip)>,
    /// Whether its other branch is an `{{else name}}`.
    is_chained: bool,
}

enum TagHead {
    /// `{{#name}}`.
    Block(HelperCall, Vec<String>),
    /// `{{^name}}`.
    Inverted(HelperCall, Vec<String>),
    /// `{{else name}}`: closed together with the block it belongs to.
    Chain(HelperCall, Vec<String>),
    Partial {
        name: PartialName,
        written: String,
        arguments: Vec<Expression>,
        named: Vec<(String, Expression)>,
    },
    Inline {
        name: Option<String>,
        written: String,
    },
}

impl TagHead {
    /// The text that its closing tag must have.
    fn written(&self) -> &str {
        match self {
            Self::Block(call, _) | Self::Inverted(call, _) | Self::Chain(call, _) => &call.path.written,
            Self::Partial { written, .. } | Self::Inline { written, .. } => written,
        }
    }
}

/// The successor of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextSuccessor {
    Tag,
    /// More text, or backslashes before a tag.
    Text,
}

/// A tag's arguments: values, and values by name.
type Arguments = (Vec<Expression>, Vec<(String, Expression)>);

impl Parser<'_> {
    /// Reads text; what is behind it.
    fn text(&mut self) -> TextSuccessor {
        let at = self.scanner.place();
        let whole = self.scanner.rest();
        let (text, escaped) = self.scanner.content();
        let length = whole.len().saturating_sub(self.scanner.rest().len());
        self.find_foreign(at, whole.get(..length).unwrap_or_default());
        self.push_text(at, text);
        let Some(escaped) = escaped else { return TextSuccessor::Tag };
        self.push_text(at.behind(text), escaped);
        TextSuccessor::Text
    }

    fn push_text(&mut self, at: LineColumn, text: &str) {
        if !text.is_empty() {
            let text =
                ContentStatement { written: text.to_owned(), shown: text.to_owned(), ..ContentStatement::default() };
            self.nodes.push(TemplateNode { at, element: Statement::Text(text) });
        }
    }

    /// Notes tags of another language: `{%` with `%}` somewhere behind it.
    fn find_foreign(&mut self, at: LineColumn, text: &str) {
        let mut rest = text;
        loop {
            let sign = if self.foreign_start.is_some() { "%}" } else { "{%" };
            let Some((before, behind)) = rest.split_once(sign) else { return };
            match self.foreign_start.take() {
                Some(start) => self.foreign.push(start),
                None => {
                    let length = text.len().saturating_sub(rest.len()).saturating_add(before.len());
                    self.foreign_start = Some(at.behind(text.get(..length).unwrap_or_default()));
                }
            }
            rest = behind;
        }
    }

    fn tag(&mut self) -> Result<(), TemplateSyntaxError> {
        let at = self.scanner.place();
        let (opening, before) = self.scanner.opening();
        match opening {
            TagOpener::Raw => self.raw(at),
            TagOpener::Comment => self.comment(at, before),
            TagOpener::Print | TagOpener::PrintBraces | TagOpener::Decorator => self.print(at, opening, before),
            TagOpener::Block | TagOpener::Inverted | TagOpener::Chain => self.block(at, opening, before),
            TagOpener::Inline => self.inline(at, before),
            TagOpener::Partial | TagOpener::PartialBlock => self.partial(at, opening, before),
            TagOpener::Else => {
                self.scanner.pass_else();
                let behind = self.scanner.closing("}}")?;
                self.otherwise(at, Strip { before, behind })
            }
            TagOpener::Close => self.close(at, before),
        }
    }

    fn push(&mut self, at: LineColumn, element: Statement) -> Result<(), TemplateSyntaxError> {
        self.nodes.push(TemplateNode { at, element });
        Ok(())
    }

    fn comment(&mut self, at: LineColumn, before: bool) -> Result<(), TemplateSyntaxError> {
        let rest = self.scanner.rest();
        if !rest.starts_with("--") {
            let Some(end) = rest.find("}}") else {
                return TemplateSyntaxError::at(at, "this comment is not closed by `}}`");
            };
            let behind = rest.get(..end).is_some_and(|text| text.ends_with('~'));
            self.scanner.take(end.saturating_add(2));
            return self.push(at, Statement::Comment(Strip { before, behind }));
        }
        let ends = ["--}}", "--~}}"].map(|end| rest.find(end).map(|start| (start, end)));
        let Some((start, end)) = ends.into_iter().flatten().min() else {
            return TemplateSyntaxError::at(at, "this comment is not closed by `--}}`");
        };
        self.scanner.take(start.saturating_add(end.len()));
        self.push(at, Statement::Comment(Strip { before, behind: end.contains('~') }))
    }

    fn print(&mut self, at: LineColumn, opening: TagOpener, before: bool) -> Result<(), TemplateSyntaxError> {
        let call = self.call()?;
        let behind = self.scanner.closing(if opening == TagOpener::PrintBraces { "}}}" } else { "}}" })?;
        let strip = Strip { before, behind };
        self.push(
            at,
            if opening == TagOpener::Decorator { Statement::Decorator(strip) } else { Statement::Print(call, strip) },
        )
    }

    fn block(&mut self, at: LineColumn, opening: TagOpener, before: bool) -> Result<(), TemplateSyntaxError> {
        let call = self.call()?;
        let parameters = self.parameters()?;
        let strip = Strip { before, behind: self.scanner.closing("}}")? };
        match opening {
            TagOpener::Chain => {
                if !matches!(self.open.last().map(|open| &open.head), Some(TagHead::Block(..) | TagHead::Chain(..))) {
                    return TemplateSyntaxError::at(at, "an else with a condition must be inside a block");
                }
                self.otherwise(at, strip)?;
                if let Some(open) = self.open.last_mut() {
                    open.is_chained = true;
                }
                self.enter(at, TagHead::Chain(call, parameters), strip)
            }
            TagOpener::Inverted => self.enter(at, TagHead::Inverted(call, parameters), strip),
            _ => self.enter(at, TagHead::Block(call, parameters), strip),
        }
    }

    fn inline(&mut self, at: LineColumn, before: bool) -> Result<(), TemplateSyntaxError> {
        let call = self.call()?;
        let strip = Strip { before, behind: self.scanner.closing("}}")? };
        let name = match (call.path.written.as_str(), call.arguments.as_slice()) {
            ("inline", [Expression::Literal(Some(OrderedJson::Text(name)))]) => Some(name.as_ref().to_owned()),
            _ => None,
        };
        self.enter(at, TagHead::Inline { name, written: call.path.written }, strip)
    }

    fn partial(&mut self, at: LineColumn, opening: TagOpener, before: bool) -> Result<(), TemplateSyntaxError> {
        self.scanner.skip_space();
        let (name, written) = if self.scanner.rest().starts_with('(') {
            (PartialName::Computed, self.expression(0).map(|_| String::new())?)
        } else {
            let path = self.callee()?;
            let name = match path.written.as_str() {
                "@partial-block" => PartialName::Block,
                written => PartialName::Written(written.to_owned()),
            };
            (name, path.written)
        };
        let (arguments, named) = self.arguments(0)?;
        let open = Strip { before, behind: self.scanner.closing("}}")? };
        if opening == TagOpener::PartialBlock {
            return self.enter(at, TagHead::Partial { name, written, arguments, named }, open);
        }
        let close = Strip::default();
        let partial = Partial { name, arguments, named, indent: String::new(), body: None, open, close };
        self.push(at, Statement::Partial(Box::new(partial)))
    }

    fn enter(&mut self, at: LineColumn, head: TagHead, strip: Strip) -> Result<(), TemplateSyntaxError> {
        if self.open.len() >= MAX_NESTING {
            return TemplateSyntaxError::at(at, format!("blocks nested deeper than {MAX_NESTING}"));
        }
        let before = core::mem::take(&mut self.nodes);
        self.open.push(OpenBlock { at, head, strip, before, first: None, is_chained: false });
        Ok(())
    }

    /// Begins a block's other branch.
    fn otherwise(&mut self, at: LineColumn, strip: Strip) -> Result<(), TemplateSyntaxError> {
        let Some(open) = self.open.last_mut() else {
            return TemplateSyntaxError::at(at, "this else is outside any block");
        };
        match open.head {
            TagHead::Partial { .. } | TagHead::Inline { .. } => {
                TemplateSyntaxError::at(at, "a partial can't have an else")
            }
            _ if open.first.is_some() => TemplateSyntaxError::at(at, "this block has an else already"),
            _ => {
                open.first = Some((core::mem::take(&mut self.nodes), strip));
                Ok(())
            }
        }
    }

    fn close(&mut self, at: LineColumn, before: bool) -> Result<(), TemplateSyntaxError> {
        let path = self.callee()?;
        let strip = Strip { before, behind: self.scanner.closing("}}")? };
        loop {
            let Some(open) = self.open.pop() else {
                return TemplateSyntaxError::at(at, "this closes a block that isn't open");
            };
            let is_chain = matches!(open.head, TagHead::Chain(..));
            if !is_chain && open.head.written() != path.written {
                let message = format!("block `{}` is closed by `{}`", open.head.written(), path.written);
                return TemplateSyntaxError::at(at, message);
            }
            // The first link of an else-chain is closed by the block's own tag, as handlebars.js has it. Each of the
            // others by the tag that opened it.
            let is_later_link = is_chain && matches!(self.open.last().map(|open| &open.head), Some(TagHead::Chain(..)));
            let close = if is_later_link { open.strip } else { strip };
            self.finish(open, close);
            if !is_chain {
                return Ok(());
            }
        }
    }

    /// Makes a node of a block that has been read.
    fn finish(&mut self, open: OpenBlock, close: Strip) {
        let last = core::mem::replace(&mut self.nodes, open.before);
        let template = |nodes: Vec<TemplateNode>, chained: bool| Template { nodes, chained, foreign: Vec::new() };
        let (first, between, second) = match open.first {
            None => (last, Strip::default(), None),
            Some((first, strip)) => (first, strip, Some(template(last, open.is_chained))),
        };
        let element = match open.head {
            TagHead::Block(call, parameters) | TagHead::Chain(call, parameters) => {
                Statement::Block(Box::new(BlockStatement {
                    call,
                    parameters,
                    body: Some(template(first, false)),
                    inverse: second,
                    is_raw: false,
                    open: open.strip,
                    between,
                    close,
                }))
            }
            TagHead::Inverted(call, parameters) => Statement::Block(Box::new(BlockStatement {
                call,
                parameters,
                body: second,
                inverse: Some(template(first, false)),
                is_raw: false,
                open: open.strip,
                between,
                close,
            })),
            TagHead::Partial { name, arguments, named, .. } => {
                let body = Some(template(first, false));
                let partial = Partial { name, arguments, named, indent: String::new(), body, open: open.strip, close };
                Statement::Partial(Box::new(partial))
            }
            TagHead::Inline { name, .. } => {
                Statement::Inline(Box::new(Inline { name, body: template(first, false), open: open.strip, close }))
            }
        };
        self.nodes.push(TemplateNode { at: open.at, element });
    }

    /// A raw block: text in which no tag is one.
    fn raw(&mut self, at: LineColumn) -> Result<(), TemplateSyntaxError> {
        let call = self.call()?;
        self.scanner.closing("}}}}")?;
        let content = self.scanner.place();
        let text = self.scanner.rest();
        let Some((length, name, behind)) = raw_end(text) else {
            return TemplateSyntaxError::at(at, "this raw block is not closed");
        };
        if name != call.path.written {
            return TemplateSyntaxError::at(at, format!("block `{}` is closed by `{name}`", call.path.written));
        }
        self.scanner.take(behind);
        let text = text.get(..length).unwrap_or_default().to_owned();
        let text =
            Statement::Text(ContentStatement { written: text.clone(), shown: text, ..ContentStatement::default() });
        let body = Template { nodes: vec![TemplateNode { at: content, element: text }], ..Template::default() };
        let block = BlockStatement {
            call,
            parameters: Vec::new(),
            body: Some(body),
            inverse: None,
            is_raw: true,
            open: Strip::default(),
            between: Strip::default(),
            close: Strip::default(),
        };
        self.push(at, Statement::Block(Box::new(block)))
    }

    fn call(&mut self) -> Result<HelperCall, TemplateSyntaxError> {
        let path = self.callee()?;
        let (arguments, named) = self.arguments(0)?;
        Ok(HelperCall { path, arguments, named })
    }

    /// Reads the first expression of a tag. A literal there is the name of a value.
    fn callee(&mut self) -> Result<PathExpression, TemplateSyntaxError> {
        match self.operand()? {
            Operand::Path(path) => Ok(path),
            Operand::Literal(name, _) => {
                Ok(PathExpression { written: name.clone(), up: 0, is_data: false, is_scoped: false, names: vec![name] })
            }
        }
    }

    /// Values and named values up to the end of the tag or the parentheses.
    fn arguments(&mut self, depth: usize) -> Result<Arguments, TemplateSyntaxError> {
        let (mut arguments, mut named) = (Vec::new(), Vec::new());
        while !self.scanner.at_end() && !self.scanner.rest().starts_with(')') && !self.scanner.is_at_parameters() {
            match self.scanner.argument_name()? {
                Some(name) => named.push((name, self.expression(depth)?)),
                None if named.is_empty() => arguments.push(self.expression(depth)?),
                None => return self.scanner.fault("positional values must come before named arguments"),
            }
        }
        Ok((arguments, named))
    }

    fn expression(&mut self, depth: usize) -> Result<Expression, TemplateSyntaxError> {
        self.scanner.skip_space();
        if !self.scanner.rest().starts_with('(') {
            return Ok(match self.operand()? {
                Operand::Path(path) => Expression::Path(path),
                Operand::Literal(_, value) => Expression::Literal(value),
            });
        }
        if depth >= MAX_NESTING {
            return self.scanner.fault(format!("parentheses nested deeper than {MAX_NESTING}"));
        }
        self.scanner.eat("(");
        let path = self.callee()?;
        let (arguments, named) = self.arguments(depth.saturating_add(1))?;
        self.scanner.skip_space();
        if !self.scanner.eat(")") {
            return self.scanner.unreadable();
        }
        Ok(Expression::Call(Box::new(HelperCall { path, arguments, named })))
    }

    fn operand(&mut self) -> Result<Operand, TemplateSyntaxError> {
        self.scanner.skip_space();
        if self.scanner.eat("@") {
            let first = self.scanner.word()?;
            return self.path(first, true).map(Operand::Path);
        }
        Ok(match self.scanner.word()? {
            TagWord::Text(text) => Operand::Literal(text.clone(), Some(text.into())),
            TagWord::Number(digits) => {
                let number = digits.parse().ok().or_else(|| Number::from_f64(digits.parse().ok()?));
                let Some(number) = number else { return self.scanner.unreadable() };
                Operand::Literal(print_number(&number), Some(OrderedJson::Number(number)))
            }
            TagWord::True => Operand::Literal("true".into(), Some(OrderedJson::Bool(true))),
            TagWord::False => Operand::Literal("false".into(), Some(OrderedJson::Bool(false))),
            TagWord::Null => Operand::Literal("null".into(), Some(OrderedJson::Null)),
            TagWord::Undefined => Operand::Literal("undefined".into(), None),
            first @ TagWord::Name { .. } => Operand::Path(self.path(first, false)?),
        })
    }

    /// The path that begins with `first`, which has been taken.
    fn path(&mut self, first: TagWord, is_data: bool) -> Result<PathExpression, TemplateSyntaxError> {
        let written = if is_data { "@" } else { "" }.to_owned();
        let mut path = PathExpression { written, up: 0, is_data, is_scoped: false, names: Vec::new() };
        let mut next = Some(first);
        while let Some(word) = next {
            let TagWord::Name { name, is_bracketed } = word else { return self.scanner.unreadable() };
            path.written.push_str(&name);
            let is_place = !is_bracketed && matches!(name.as_str(), "." | ".." | "this");
            if is_place && !path.names.is_empty() {
                let written = &path.written;
                return self.scanner.fault(format!("`{written}`: `{name}` is allowed only at the start of a path"));
            }
            match (is_place, name.as_str()) {
                (true, "..") => path.up = path.up.saturating_add(1),
                (true, _) => path.is_scoped = true,
                (false, _) => path.names.push(name),
            }
            next = match self.scanner.separator() {
                Some(sign) => {
                    path.written.push(sign);
                    Some(self.scanner.segment()?)
                }
                None => None,
            };
        }
        Ok(path)
    }

    fn parameters(&mut self) -> Result<Vec<String>, TemplateSyntaxError> {
        let mut names = Vec::new();
        if self.scanner.opens_parameters() {
            self.scanner.skip_space();
            while !self.scanner.eat("|") {
                let TagWord::Name { name, .. } = self.scanner.word()? else { return self.scanner.unreadable() };
                names.push(name);
                self.scanner.skip_space();
            }
        }
        Ok(names)
    }
}

/// A value in a tag: a path, or a literal with its name and what it is.
enum Operand {
    Path(PathExpression),
    Literal(String, Option<OrderedJson>),
}

/// How long a raw block's text is, the name in its closing tag, and where the text goes on.
///
/// Raw blocks inside it are text, together with the tags that close them.
fn raw_end(text: &str) -> Option<(usize, &str, usize)> {
    let mut inside = 0usize;
    let mut from = 0usize;
    loop {
        let start = from.saturating_add(text.get(from..)?.find("{{{{")?);
        from = start.saturating_add(4);
        let Some(close) = text.get(from..)?.strip_prefix('/') else {
            inside = inside.saturating_add(1);
            continue;
        };
        let end = close.find("}}}}")?;
        if inside == 0 {
            return Some((start, close.get(..end)?, from.saturating_add(end).saturating_add(5)));
        }
        inside = inside.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
