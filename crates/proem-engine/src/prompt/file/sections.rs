//! Cuts a parsed body at its markers: roles, sections, history and media.

use std::collections::BTreeSet;

use super::markers::{MediaMarker, media_in_block};
use super::{Section, StrictFileReader};
use crate::error::error_at;
use crate::input::InputTrust;
use crate::message::Role;
use crate::ordered_json::OrderedJson;
use crate::prompt::header::{Header, StrictHeader};
use crate::prompt::layout::{Layout, trim_marker_breaks, turn_fault};
use crate::prompt::template::{Expression, HelperCall, LineColumn, Statement, TemplateNode};
use crate::section::{SectionGroup, SectionSpec, Trust};

/// The pieces of a body.
#[derive(Debug, Default)]
pub(super) struct CutBody {
    /// The sections in order.
    pub(super) sections: Vec<Section>,
    /// The declared sections that have a marker, one with a problem too.
    pub(super) seen: BTreeSet<String>,
    /// How many sections are before the history.
    pub(super) history: Option<usize>,
}

impl CutBody {
    /// Cuts the nodes of a body.
    pub(super) fn of(
        nodes: Vec<TemplateNode>,
        reader: &mut StrictFileReader<'_>,
        strict: &StrictHeader,
        header: &Header,
    ) -> Self {
        let (role, current) = (RoleSeen::None, Current::None);
        let mut cutter = SectionCutter { reader, strict, header, role, current, body: Self::default() };
        nodes.into_iter().for_each(|node| cutter.node(node));
        cutter.close();
        cutter.body
    }
}

/// Cuts a parsed body at its markers.
struct SectionCutter<'c, 't> {
    reader: &'c mut StrictFileReader<'t>,
    strict: &'c StrictHeader,
    header: &'c Header,
    role: RoleSeen,
    current: Current,
    body: CutBody,
}

/// The role marker that holds.
#[derive(Clone, Copy)]
enum RoleSeen {
    None,
    /// One with a problem, which has been told.
    Broken,
    Is(Role),
}

/// The destination of the text that is being read.
enum Current {
    None,
    /// Behind a marker with a problem, which has been told.
    Broken,
    In(Box<Section>),
}

impl SectionCutter<'_, '_> {
    fn fault(&mut self, at: LineColumn, message: String) {
        let span = self.reader.span(at);
        self.reader.problems.push(error_at(message, span));
    }

    fn node(&mut self, node: TemplateNode) {
        let at = node.at;
        if let Statement::Print(call, _) = &node.element {
            match call.path.simple() {
                Some("role") => return self.role(call, at),
                Some("section") => return self.section(call, at),
                Some("history") => return self.mark_history(call, at),
                Some("media") => return self.take_media(MediaMarker::of(call, at), at),
                _ => {}
            }
        }
        if let Statement::Block(block) = &node.element
            && let Some(call) = media_in_block(block)
        {
            return self.take_media(MediaMarker::of(&call, at), at);
        }
        let is_blank = is_blank(&node);
        // In plain dotprompt, what is before any role is the user's.
        if self.reader.is_plain && matches!(self.current, Current::None) && !is_blank {
            if self.body.history.is_some() {
                let message = "text behind {{history}} belongs to no turn; put {{role \"user\"}} before it";
                self.current = Current::Broken;
                return self.fault(at, message.into());
            }
            self.role = RoleSeen::Is(Role::User);
            self.open_plain(Role::User, at);
        }
        if let Current::In(section) = &self.current
            && !section.media.is_empty()
        {
            if is_blank {
                return;
            }
            if !self.reader.is_plain {
                let message = format!(
                    "section `{}` holds {{{{media}}}}, which needs a section of its own; put a section marker before this \
                     text",
                    section.spec.name
                );
                self.current = Current::Broken;
                return self.fault(at, message);
            }
            let Some(spec) = self.plain_part("user") else { return };
            self.close();
            self.current = Current::In(Box::new(Section::new(spec, Role::User)));
        }
        match &mut self.current {
            Current::In(section) => section.template.nodes.push(node),
            Current::Broken => {}
            Current::None => match node.element {
                Statement::Text(text) if text.written.trim().is_empty() => {}
                Statement::Comment(_) => {}
                Statement::Block(_) => {
                    self.fault(
                        at,
                        "this block is outside any section; put a section marker before the block, not inside it"
                            .into(),
                    );
                    self.current = Current::Broken;
                }
                element => {
                    let at = match &element {
                        Statement::Text(text) => {
                            let behind = text.written.trim_start();
                            at.behind(text.written.strip_suffix(behind).unwrap_or_default())
                        }
                        _ => at,
                    };
                    self.fault(at, "text outside any section; put a {{section \"…\"}} marker before it".into());
                    // Once is enough for all that is before the next marker.
                    self.current = Current::Broken;
                }
            },
        }
    }

    fn close(&mut self) {
        if let Current::In(mut section) = core::mem::replace(&mut self.current, Current::None) {
            if self.strict.layout == Layout::Exact {
                trim_marker_breaks(&mut section.template);
            }
            // Of a plain file's user turn, what is before its first picture may be nothing.
            let is_empty = section.media.is_empty() && section.template.nodes.iter().all(is_blank);
            if !(is_empty && self.reader.is_plain && section.role == Role::User) {
                self.body.sections.push(*section);
            }
        }
    }

    /// Marks where the turns before this one go.
    fn mark_history(&mut self, call: &HelperCall, at: LineColumn) {
        self.close();
        if !call.is_bare() {
            return self.fault(at, "history takes no arguments".into());
        }
        if self.body.history.replace(self.body.sections.len()).is_some() {
            self.fault(at, "the history has two markers; remove one".into());
        }
        // The operator speaks before the first turn.
        if self.reader.is_plain || matches!(self.role, RoleSeen::Is(Role::System)) {
            self.role = RoleSeen::None;
        }
    }

    /// Takes up a picture or file.
    fn take_media(&mut self, marker: Result<MediaMarker, String>, at: LineColumn) {
        let marker = match marker {
            Ok(marker) => marker,
            Err(message) => return self.fault(at, message),
        };
        if self.reader.is_plain && matches!(self.current, Current::None) && self.body.history.is_none() {
            self.role = RoleSeen::Is(Role::User);
            self.open_plain(Role::User, at);
        }
        let Current::In(section) = &self.current else {
            if !matches!(self.current, Current::Broken) {
                self.fault(at, "media outside any section; put a {{section \"…\"}} marker before it".into());
            }
            return;
        };
        if section.role != Role::User {
            return self.fault(at, "media is allowed only in user messages; move it under {{role \"user\"}}".into());
        }
        let is_mixed = !section.template.nodes.iter().all(is_blank);
        if is_mixed && !self.reader.is_plain {
            let message = format!(
                "section `{}` holds text, and media needs a section of its own; put a section marker before it",
                section.spec.name
            );
            return self.fault(at, message);
        }
        if self.reader.is_plain && section.media.is_empty() {
            let Some(spec) = self.plain_part("media") else { return };
            self.close();
            self.current = Current::In(Box::new(Section::new(spec, Role::User)));
        }
        let trusted = |name: &str| self.strict.inputs.iter().any(|(n, t)| n == name && *t == InputTrust::Trusted);
        let is_trusted = marker.input().is_none_or(trusted);
        let Current::In(section) = &mut self.current else { return };
        section.template.nodes.clear();
        section.inputs.extend(marker.input().map(str::to_owned));
        let fault = (!is_trusted && section.spec.trust != Trust::Untrusted).then(|| {
            format!("trust_violation: media from outside in section `{}`, which is not untrusted", section.spec.name)
        });
        section.media.push(marker);
        fault.into_iter().for_each(|message| self.fault(at, message));
    }

    /// A further section of a plain file's user turn: before, behind and between its pictures.
    fn plain_part(&mut self, name: &str) -> Option<SectionSpec> {
        let mut spec = self.strict.sections.iter().find(|spec| spec.name == "user").cloned()?;
        let taken = |name: &str| self.body.sections.iter().any(|section| section.spec.name == name);
        let numbered = (1_usize..).map(|n| if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
        spec.name = numbered.take(super::MAX_FILE_BYTES).find(|name| !taken(name))?;
        Some(spec)
    }

    fn role(&mut self, call: &HelperCall, at: LineColumn) {
        self.close();
        let problem = match literal(call).and_then(Role::parse) {
            Some(role) if role != Role::Model || !self.reader.is_plain => {
                self.role = RoleSeen::Is(role);
                if self.reader.is_plain {
                    self.open_plain(role, at);
                }
                return;
            }
            Some(_) => "role \"model\" needs `proem:` with `sections`; a plain dotprompt file has system and user",
            None => "role takes a literal, \"system\", \"user\" or \"model\"",
        };
        self.role = RoleSeen::Broken;
        self.fault(at, problem.into());
    }

    /// Opens the section that represents a role of a plain file.
    fn open_plain(&mut self, role: Role, at: LineColumn) {
        let name = if role == Role::System { "system" } else { "user" };
        if self.body.seen.contains(name) {
            let message = format!(
                "a second `{name}` role; a plain dotprompt file has one of each, add `proem:` with `sections` for more"
            );
            self.current = Current::Broken;
            return self.fault(at, message);
        }
        self.open(name, at);
    }

    fn section(&mut self, call: &HelperCall, at: LineColumn) {
        self.close();
        self.current = Current::Broken;
        let Some(name) = literal(call) else {
            return self.fault(at, "section takes a literal name".into());
        };
        if self.reader.is_plain {
            let message = "a section marker in a plain dotprompt file; declare it under `proem:`, `sections`";
            return self.fault(at, message.into());
        }
        self.open(name, at);
    }

    /// Opens a declared section.
    fn open(&mut self, name: &str, at: LineColumn) {
        let Some(spec) = self.strict.sections.iter().find(|spec| spec.name == name).cloned() else {
            if self.header.places.sections_known {
                let known: Vec<&str> = self.strict.sections.iter().map(|spec| spec.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                self.fault(at, format!("section `{name}` is not declared under proem.sections; declared: {known}"));
            }
            return;
        };
        if !self.body.seen.insert(spec.name.clone()) {
            return self.fault(at, format!("section `{name}` has two markers; remove one"));
        }
        let role = match self.role {
            RoleSeen::Is(role) => role,
            RoleSeen::Broken => return,
            RoleSeen::None => {
                return self.fault(at, format!("section `{name}` comes before the first {{{{role}}}}"));
            }
        };
        if let Some(before) = self.body.sections.last()
            && !self.strict.layout.allows(before.spec.rank(), spec.rank())
        {
            let message = format!(
                "section `{name}` must come before `{}`, because sections are ordered by trust",
                before.spec.name
            );
            self.fault(at, message);
        }
        self.roles(&spec, role, at);
        if self.body.history.is_some() && spec.rank() < SectionGroup::Capabilities {
            let message = format!(
                "section `{name}` is cached, so it must come before the history; move it, or give it `cache: never`"
            );
            self.fault(at, message);
        }
        self.current = Current::In(Box::new(Section::new(spec, role)));
    }

    fn roles(&mut self, spec: &SectionSpec, role: Role, at: LineColumn) {
        let name = &spec.name;
        match (role, spec.trust) {
            (Role::System, Trust::Untrusted) => {
                let before =
                    self.body.sections.last().map(|section| format!("`{}` in ", section.spec.name)).unwrap_or_default();
                self.fault(
                    at,
                    format!(
                        "section `{name}` is untrusted and is in the same message as {before}the system role; untrusted text is \
                         allowed only in user messages"
                    ),
                );
            }
            (Role::System, Trust::Task) => {
                self.fault(at, format!("section `{name}` is the task; put it into a user message"));
            }
            (Role::User | Role::Model, _) if spec.rank() <= SectionGroup::TrustedStatic => {
                self.fault(
                    at,
                    format!(
                        "section `{name}` ({}) is under the {} role; move it under the system role",
                        spec.rank().as_str(),
                        role.as_str()
                    ),
                );
            }
            (Role::System, _)
                if self.body.history.is_some()
                    || self.body.sections.iter().any(|section| section.role != Role::System) =>
            {
                self.fault(at, format!("section `{name}` is under a second system role; use only one, at the start"));
            }
            _ => turn_fault(spec, role, &self.body.sections).into_iter().for_each(|message| self.fault(at, message)),
        }
    }
}

/// Whether a node prints nothing.
fn is_blank(node: &TemplateNode) -> bool {
    match &node.element {
        Statement::Text(text) => text.written.trim().is_empty(),
        Statement::Comment(_) => true,
        _ => false,
    }
}

fn literal(call: &HelperCall) -> Option<&str> {
    match call.arguments.as_slice() {
        [Expression::Literal(Some(OrderedJson::Text(text)))] if call.named.is_empty() => Some(text),
        _ => None,
    }
}
