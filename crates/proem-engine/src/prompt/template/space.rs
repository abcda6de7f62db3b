//! White space around tags: what `~` takes away, and the lines on which nothing but a tag is.
//!
//! Source: `lib/handlebars/compiler/whitespace-control.js` of handlebars.js 4.7, step by step, since what one
//! tag takes away decides what the next one finds.

use super::scan::is_javascript_space;
use super::{BlockStatement, ContentStatement, Statement, Strip, Template, TemplateNode};

/// Takes white space out of a whole template.
pub(super) fn control_white_space(template: &mut Template) {
    control_program(&mut template.nodes, ProgramNesting::Whole);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgramNesting {
    /// Its start and end are the start and end of a line.
    Whole,
    Inside,
}

/// A tag's effect on the text around it.
#[derive(Default)]
struct WhitespaceControl {
    strip: Strip,
    /// Whether it can be on a line of its own: by itself, as the start and as the end of a block.
    alone: bool,
    opens_alone: bool,
    closes_alone: bool,
}

/// How much white space is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Much {
    All,
    /// The rest of the line.
    Line,
}

fn control_program(nodes: &mut [TemplateNode], level: ProgramNesting) {
    for index in 0..nodes.len() {
        let Some(effect) = nodes.get_mut(index).and_then(|node| statement_effect(&mut node.element)) else { continue };
        let (starts, ends) = (stands_first_on_line(nodes, index, level), stands_last_on_line(nodes, index, level));
        if effect.strip.behind {
            take_after(nodes, index, Much::All);
        }
        if effect.strip.before {
            take_before(nodes, index, Much::All);
        }
        if effect.alone && starts && ends {
            take_after(nodes, index, Much::Line);
            if take_before(nodes, index, Much::Line) {
                let indent = text_statement(nodes, index.checked_sub(1))
                    .map(|text| trailing_blanks(&text.written))
                    .unwrap_or_default();
                if let Some(Statement::Partial(partial)) = nodes.get_mut(index).map(|node| &mut node.element)
                    && partial.body.is_none()
                {
                    partial.indent = indent;
                }
            }
        }
        if effect.opens_alone && starts {
            if let Some(first) = nodes.get_mut(index).and_then(|node| behind_opening(&mut node.element)) {
                take_first(first, Much::Line);
            }
            take_before(nodes, index, Much::Line);
        }
        if effect.closes_alone && ends {
            take_after(nodes, index, Much::Line);
            if let Some(last) = nodes.get_mut(index).and_then(|node| before_closing(&mut node.element)) {
                take_last(last, Much::Line);
            }
        }
    }
}

/// A tag's effect, after its contents have been processed. Nothing for text.
fn statement_effect(element: &mut Statement) -> Option<WhitespaceControl> {
    match element {
        Statement::Text(_) => None,
        Statement::Print(_, strip) | Statement::Decorator(strip) => {
            Some(WhitespaceControl { strip: *strip, ..WhitespaceControl::default() })
        }
        Statement::Comment(strip) => {
            Some(WhitespaceControl { strip: *strip, alone: true, ..WhitespaceControl::default() })
        }
        Statement::Partial(partial) => match &mut partial.body {
            None => Some(WhitespaceControl { strip: partial.open, alone: true, ..WhitespaceControl::default() }),
            Some(body) => Some(control_single_branch(body, partial.open, partial.close)),
        },
        Statement::Inline(inline) => Some(control_single_branch(&mut inline.body, inline.open, inline.close)),
        Statement::Block(block) => Some(branches(block)),
    }
}

/// A block with one branch.
fn control_single_branch(body: &mut Template, open: Strip, close: Strip) -> WhitespaceControl {
    control_program(&mut body.nodes, ProgramNesting::Inside);
    let effect = WhitespaceControl {
        strip: Strip { before: open.before, behind: close.behind },
        opens_alone: first_ends_line(&body.nodes),
        closes_alone: last_starts_line(&body.nodes),
        alone: false,
    };
    if open.behind {
        take_first(&mut body.nodes, Much::All);
    }
    if close.before {
        take_last(&mut body.nodes, Much::All);
    }
    effect
}

fn branches(block: &mut BlockStatement) -> WhitespaceControl {
    let BlockStatement { body, inverse, open, between, close, .. } = block;
    let (open, between, close) = (*open, *between, *close);
    let (body, inverse) = match (body, inverse) {
        (Some(body), Some(inverse)) => (body, inverse),
        (Some(only_one), None) | (None, Some(only_one)) => return control_single_branch(only_one, open, close),
        (None, None) => return WhitespaceControl::default(),
    };
    control_program(&mut body.nodes, ProgramNesting::Inside);
    control_program(&mut inverse.nodes, ProgramNesting::Inside);
    let strip = Strip { before: open.before, behind: close.behind };
    let opens_alone = first_ends_line(&body.nodes);
    let closes_alone = first_branch(inverse).is_some_and(|nodes| last_starts_line(nodes));
    if open.behind {
        take_first(&mut body.nodes, Much::All);
    }
    if between.before {
        take_last(&mut body.nodes, Much::All);
    }
    if between.behind
        && let Some(nodes) = first_branch(inverse)
    {
        take_first(nodes, Much::All);
    }
    if close.before
        && let Some(nodes) = last_branch(inverse)
    {
        take_last(nodes, Much::All);
    }
    let else_ends_line = first_branch(inverse).is_some_and(|nodes| first_ends_line(nodes));
    if last_starts_line(&body.nodes) && else_ends_line {
        take_last(&mut body.nodes, Much::Line);
        if let Some(nodes) = first_branch(inverse) {
            take_first(nodes, Much::Line);
        }
    }
    WhitespaceControl { strip, opens_alone, closes_alone, alone: false }
}

/// The nodes behind the first else.
fn first_branch(inverse: &mut Template) -> Option<&mut Vec<TemplateNode>> {
    if !inverse.chained {
        return Some(&mut inverse.nodes);
    }
    match inverse.nodes.first_mut().map(|node| &mut node.element) {
        Some(Statement::Block(link)) => link.body.as_mut().map(|body| &mut body.nodes),
        _ => None,
    }
}

/// The nodes behind the last condition of an else-chain, or behind the only else.
fn last_branch(inverse: &mut Template) -> Option<&mut Vec<TemplateNode>> {
    if !inverse.chained {
        return Some(&mut inverse.nodes);
    }
    match inverse.nodes.last_mut().map(|node| &mut node.element) {
        Some(Statement::Block(link)) => link.body.as_mut().map(|body| &mut body.nodes),
        _ => None,
    }
}

/// The nodes behind a block's opening tag.
fn behind_opening(element: &mut Statement) -> Option<&mut Vec<TemplateNode>> {
    match element {
        Statement::Block(block) => block.body.as_mut().or(block.inverse.as_mut()),
        Statement::Partial(partial) => partial.body.as_mut(),
        Statement::Inline(inline) => Some(&mut inline.body),
        _ => None,
    }
    .map(|template| &mut template.nodes)
}

/// The nodes before a block's closing tag.
fn before_closing(element: &mut Statement) -> Option<&mut Vec<TemplateNode>> {
    match element {
        Statement::Block(block) => block.inverse.as_mut().or(block.body.as_mut()).map(|template| &mut template.nodes),
        other => behind_opening(other),
    }
}

fn text_statement(nodes: &[TemplateNode], index: Option<usize>) -> Option<&ContentStatement> {
    match nodes.get(index?).map(|node| &node.element) {
        Some(Statement::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether nothing but white space is before the tag on its line.
fn stands_first_on_line(nodes: &[TemplateNode], index: usize, level: ProgramNesting) -> bool {
    let Some(before) = index.checked_sub(1) else { return level == ProgramNesting::Whole };
    let Some(text) = text_statement(nodes, Some(before)) else { return false };
    let written = &text.written;
    let space = written.trim_end_matches(is_javascript_space);
    written.get(space.len()..).is_some_and(|space| space.contains('\n'))
        || (before == 0 && level == ProgramNesting::Whole && space.is_empty())
}

/// Whether nothing but white space is behind the tag on its line.
fn stands_last_on_line(nodes: &[TemplateNode], index: usize, level: ProgramNesting) -> bool {
    let behind = index.saturating_add(1);
    if behind >= nodes.len() {
        return level == ProgramNesting::Whole;
    }
    let Some(text) = text_statement(nodes, Some(behind)) else { return false };
    leading_newline(&text.written)
        || (behind.saturating_add(1) >= nodes.len()
            && level == ProgramNesting::Whole
            && text.written.trim_start_matches(is_javascript_space).is_empty())
}

fn leading_newline(written: &str) -> bool {
    let rest = written.trim_start_matches(is_javascript_space);
    written.strip_suffix(rest).is_some_and(|space| space.contains('\n'))
}

/// Whether a branch begins with the end of a line.
fn first_ends_line(nodes: &[TemplateNode]) -> bool {
    text_statement(nodes, Some(0)).is_some_and(|text| leading_newline(&text.written))
}

/// Whether a branch ends with the start of a line.
fn last_starts_line(nodes: &[TemplateNode]) -> bool {
    text_statement(nodes, nodes.len().checked_sub(1)).is_some_and(|text| {
        let space = text.written.trim_end_matches(is_javascript_space);
        text.written.get(space.len()..).is_some_and(|space| space.contains('\n'))
    })
}

fn take_after(nodes: &mut [TemplateNode], index: usize, much: Much) {
    if let Some(Statement::Text(text)) = nodes.get_mut(index.saturating_add(1)).map(|node| &mut node.element) {
        take_right(text, much);
    }
}

fn take_first(nodes: &mut [TemplateNode], much: Much) {
    if let Some(Statement::Text(text)) = nodes.first_mut().map(|node| &mut node.element) {
        take_right(text, much);
    }
}

fn take_before(nodes: &mut [TemplateNode], index: usize, much: Much) -> bool {
    match index.checked_sub(1).and_then(|before| nodes.get_mut(before)).map(|node| &mut node.element) {
        Some(Statement::Text(text)) => take_left(text, much),
        _ => false,
    }
}

fn take_last(nodes: &mut [TemplateNode], much: Much) {
    if let Some(Statement::Text(text)) = nodes.last_mut().map(|node| &mut node.element) {
        take_left(text, much);
    }
}

/// Takes white space from a text's start: the tag stands to its left.
fn take_right(text: &mut ContentStatement, much: Much) {
    if much == Much::Line && text.taken_right {
        return;
    }
    let rest = match much {
        Much::All => text.shown.trim_start_matches(is_javascript_space),
        Much::Line => {
            let rest = text.shown.trim_start_matches([' ', '\t']);
            rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\r', '\n'])).unwrap_or(rest)
        }
    };
    text.taken_right = rest.len() < text.shown.len();
    text.shown = rest.to_owned();
}

/// Takes white space from a text's end. Whether there was any.
fn take_left(text: &mut ContentStatement, much: Much) -> bool {
    if much == Much::Line && text.taken_left {
        return false;
    }
    let rest = match much {
        Much::All => text.shown.trim_end_matches(is_javascript_space),
        Much::Line => text.shown.trim_end_matches([' ', '\t']),
    };
    text.taken_left = rest.len() < text.shown.len();
    text.shown.truncate(rest.len());
    text.taken_left
}

/// The blanks at the end of a text.
fn trailing_blanks(written: &str) -> String {
    let rest = written.trim_end_matches([' ', '\t']);
    written.get(rest.len()..).unwrap_or_default().to_owned()
}
