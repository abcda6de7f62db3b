//! Items that climb their ladder alone: each brings a rendering for each rung, in a field called like the rung.
//!
//! So whoever knows what an item is (a file of code, a file of rules) says what a part or an outline of it is, and
//! the fit knows nothing but tokens and worth. A template reads the field [`SHOWN`] and any other that is no
//! rendering. On `count` and `omitted` nothing of an item is there.

use proem_guard::{LabelList, LabelMap, LabelTree, TreeName};

use super::ShrunkValue;
use crate::section::Rung;
use crate::tokens::CachingCounter;

/// The field from which a template reads the rendering that was chosen.
const SHOWN: &str = "shown";

/// The field with an item's share of its section's priority, from 0 to 100.
const SHARE: &str = "share";

/// The rungs of a ladder that an item can be on, best first: those for which it brings a rendering, and those on which
/// nothing of it is shown.
pub(crate) fn rungs_of(item: &LabelTree, rungs: &[Rung]) -> Vec<Rung> {
    let stands = |rung: &Rung| hides(*rung) || rendering(item, *rung).is_some();
    rungs.iter().copied().filter(stands).collect()
}

/// An item's share of its section's priority, from 0 to 100. All of it where the item doesn't say.
pub(crate) fn item_share(item: &LabelTree) -> u8 {
    let LabelTree::Map(fields) = item else { return 100 };
    let Some(LabelTree::Number(share)) = fields.get(SHARE) else { return 100 };
    share.as_u64().map_or(100, |share| u8::try_from(share.min(100)).unwrap_or(100))
}

/// Puts each item of a list on its rung, and says how many are only counted.
pub(crate) fn shrink_items(name: &str, items: &LabelList, rungs: &[Rung]) -> ShrunkValue {
    let standing = || items.iter().zip(rungs.iter().copied());
    let shown = standing().filter_map(|(item, rung)| on_rung(item, rung));
    let value = LabelTree::List(LabelList::new(items.label().clone(), shown));
    let counted = rungs.iter().filter(|rung| **rung == Rung::Count).count();
    let s = if counted == 1 { "" } else { "s" };
    let note = (counted > 0).then(|| format!("[{name}: {counted} more item{s}, not shown]"));
    ShrunkValue { value, note }
}

/// The tokens of what a template can show of an item on a rung.
pub(crate) fn tokens(item: &LabelTree, rung: Rung, counts: &mut CachingCounter<'_>) -> usize {
    on_rung(item, rung).map_or(0, |item| text_tokens(&item, counts))
}

fn text_tokens(value: &LabelTree, counts: &mut CachingCounter<'_>) -> usize {
    match value {
        LabelTree::Text(text) => counts.count(text),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => text.measure(|text| counts.count(text)),
        LabelTree::List(items) => items.iter().fold(0, |sum, item| sum.saturating_add(text_tokens(item, counts))),
        LabelTree::Map(fields) => {
            fields.iter().fold(0, |sum, (_, field)| sum.saturating_add(text_tokens(field, counts)))
        }
        LabelTree::Null | LabelTree::Bool(_) | LabelTree::Number(_) | LabelTree::Scalar(_) => 0,
    }
}

/// The template's view of an item on a rung.
fn on_rung(item: &LabelTree, rung: Rung) -> Option<LabelTree> {
    if hides(rung) {
        return None;
    }
    let shown = rendering(item, rung)?.clone();
    let LabelTree::Map(map) = item else { return Some(shown) };
    let others = map.iter().filter_map(|(name, field)| match name {
        TreeName::Ours(name) if name != SHARE && !is_rendering(name) => Some((name.to_owned(), field.clone())),
        _ => None,
    });
    let seen = others.chain([(SHOWN.to_owned(), shown)]);
    Some(LabelTree::Map(LabelMap::new(map.label().clone(), seen)))
}

const fn hides(rung: Rung) -> bool {
    matches!(rung, Rung::Count | Rung::Omitted)
}

fn is_rendering(name: &str) -> bool {
    Rung::WORDS.iter().any(|(word, rung)| *word == name && !hides(*rung))
}

/// The rendering of an item on a rung. A bare text exists only in full.
fn rendering(item: &LabelTree, rung: Rung) -> Option<&LabelTree> {
    match item {
        LabelTree::Map(fields) => fields.get(rung.as_str()).filter(|rendering| **rendering != LabelTree::Null),
        _ => (rung == Rung::Full).then_some(item),
    }
}

#[cfg(test)]
mod tests {
    use proem_text::Label;

    use super::*;

    fn ladder_item() -> LabelTree {
        LabelTree::from([
            ("path", "a.rs".into()),
            ("share", 40_u64.into()),
            ("full", "fn a() {}\nfn b() {}".into()),
            ("named", "defines `a`".into()),
        ])
    }

    const RUNGS: [Rung; 4] = [Rung::Full, Rung::Outline, Rung::Named, Rung::Count];

    #[test]
    fn an_item_stands_where_it_brings_a_rendering_or_nothing_is_shown() {
        assert_eq!(rungs_of(&ladder_item(), &RUNGS), [Rung::Full, Rung::Named, Rung::Count]);
        assert_eq!(rungs_of(&"a text".into(), &RUNGS), [Rung::Full, Rung::Count]);
        assert_eq!((item_share(&ladder_item()), item_share(&"a text".into())), (40, 100));
    }

    #[test]
    fn a_template_sees_one_rendering_and_no_share() {
        let list = LabelList::new(Label::trusted(), [ladder_item(), ladder_item(), ladder_item()]);
        let shrunk = shrink_items("code", &list, &[Rung::Full, Rung::Named, Rung::Count]);
        let seen = |shown: &str| LabelTree::from([("path", "a.rs".into()), ("shown", shown.into())]);
        assert_eq!(shrunk.value, LabelTree::list([seen("fn a() {}\nfn b() {}"), seen("defines `a`")]));
        assert_eq!(shrunk.note.as_deref(), Some("[code: 1 more item, not shown]"));
    }
}
