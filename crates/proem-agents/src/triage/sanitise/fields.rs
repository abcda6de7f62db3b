//! Which texts of a signal are read, and in which order.

use proem_guard::{LabelTree, TreeName, Untrusted};

use crate::triage::signal::{ProjectSignal, text_name};

/// The most texts of one field that are read.
const MAX_TEXTS: usize = 100;

/// Fields with text that people write, in the order in which they are read. All others are closed words of the source,
/// or are read by nobody here.
const TEXTS: [&str; 16] = [
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
    /// Which of several.
    pub(super) index: usize,
    pub(super) text: &'s Untrusted<String>,
}

/// The texts that are read, and how many are not.
pub(super) fn texts(signal: &ProjectSignal) -> (Vec<SignalText<'_>>, usize) {
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
        gather(field, tree, &mut found);
        unread = unread.saturating_add(found.len().saturating_sub(MAX_TEXTS));
        let name = text_name(field);
        let texts = found.into_iter().take(MAX_TEXTS).enumerate();
        all.extend(texts.map(|(index, text)| SignalText { name, index, text }));
    }
    (all, unread)
}

fn gather<'t>(field: &str, tree: &'t LabelTree, found: &mut Vec<&'t Untrusted<String>>) {
    match tree {
        LabelTree::Outside(text) | LabelTree::Flagged(text) if !text.is_empty() => found.push(text),
        LabelTree::List(list) => list.iter().for_each(|item| gather(field, item, found)),
        // Of a comment only what its author wrote.
        LabelTree::Map(map) if field == "comments" => {
            map.get("body").into_iter().for_each(|body| gather(field, body, found));
        }
        LabelTree::Map(map) => {
            map.iter().for_each(|(_, value): (TreeName<'_>, &LabelTree)| gather(field, value, found));
        }
        _ => {}
    }
}
