//! The texts of a signal that are read, in their order.

use proem_guard::{LabelTree, TreeName, Untrusted};

use crate::{
    signal::{ProjectSignal, field_text_name},
    sprint_field::{SprintState, field_sprints},
};

/// The most texts of one field that are read.
const MAX_TEXTS: usize = 100;

/// Fields with text that people write, in the order in which they are read. All others are closed words of the source,
/// or are read by nobody here.
const TEXTS: [&str; 17] = [
    "goal",
    "description",
    "environment",
    "comment",
    "comments",
    "body",
    "bodies",
    "text",
    "preview",
    "html_notes",
    "forwarded",
    "attachments",
    "labels",
    "components",
    "categories",
    "tags",
    "custom_fields",
];

/// One text of a signal.
#[derive(Debug)]
pub(super) struct SignalText<'s> {
    /// The name that the table of verdicts knows it by.
    pub(super) name: &'static str,
    /// The place among several.
    pub(super) index: usize,
    pub(super) text: &'s Untrusted<String>,
}

/// The texts that are read, and how many are not.
pub(super) fn signal_texts(signal: &ProjectSignal) -> (Vec<SignalText<'_>>, usize) {
    let (mut all, mut unread) = (Vec::new(), 0_usize);
    let heads = [("summary", signal.summary.as_ref())];
    all.extend(heads.into_iter().filter_map(|(name, text)| Some(SignalText { name, index: 0, text: text? })));
    let LabelTree::Map(fields) = &signal.fields else { return (all, unread) };
    for field in TEXTS {
        let Some(tree) = fields.get(field) else { continue };
        // The plain form of a text is enough, and so is the whole text of a mail.
        let has = |other: &str| fields.get(other).is_some();
        if (field == "html_notes" && has("description")) || (field == "preview" && has("body")) {
            continue;
        }
        let mut found = Vec::new();
        gather_field_texts(field, tree, &mut found);
        unread = unread.saturating_add(found.len().saturating_sub(MAX_TEXTS));
        let name = field_text_name(field);
        let texts = found.into_iter().take(MAX_TEXTS).enumerate();
        all.extend(texts.map(|(index, text)| SignalText { name, index, text }));
    }
    (all, unread)
}

/// A sprint's name and goal, from a ticket's own fields.
pub(crate) const SPRINT: &str = "sprint";

/// The signal's names for its ticket, the assignee, and the active sprint: names that go into artefacts and questions.
pub(super) fn signal_names(signal: &ProjectSignal) -> Vec<SignalText<'_>> {
    let of_fields = |name: &str| match &signal.fields {
        LabelTree::Map(fields) => match fields.get(name) {
            Some(LabelTree::Outside(text) | LabelTree::Flagged(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    let names = [("ticket", signal.ticket.as_ref()), ("assignee", of_fields("assignee"))];
    let names = names.into_iter().filter_map(|(name, text)| Some(SignalText { name, index: 0, text: text? }));
    let active = field_sprints(signal).into_iter().find(|sprint| sprint.state == SprintState::Active);
    let sprint = active.into_iter().flat_map(|sprint| [Some(sprint.name), sprint.goal]).enumerate();
    let sprint = sprint.filter_map(|(index, text)| Some(SignalText { name: SPRINT, index, text: text? }));
    names.chain(sprint).collect()
}

fn gather_field_texts<'t>(field: &str, tree: &'t LabelTree, found: &mut Vec<&'t Untrusted<String>>) {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) if !text.is_empty() => found.push(text),
        LabelTree::List(list) => list.iter().for_each(|item| gather_field_texts(field, item, found)),
        // Of a comment only what its author wrote.
        LabelTree::Map(map) if field == "comments" => {
            map.get("body").into_iter().for_each(|body| gather_field_texts(field, body, found));
        }
        LabelTree::Map(map) => {
            let mut entries: Vec<(TreeName<'_>, &LabelTree)> = map.iter().collect();
            // The parts of a mail are numbered, and the first ones are those that somebody reads: `body[9]`, `body[10]`.
            if field == "bodies" {
                entries.sort_by_key(|(name, _)| match name {
                    TreeName::Ours(name) => name.len(),
                    TreeName::Outside(name) => name.len(),
                });
            }
            entries.into_iter().for_each(|(_, value)| gather_field_texts(field, value, found));
        }
        _ => {}
    }
}
