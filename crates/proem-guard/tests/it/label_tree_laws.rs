//! The laws of every tree of labelled values.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use proem_guard::label_tree::{DifferenceKind, PlacePart};
use proem_guard::{
    InstallationKey, LabelList, LabelMap, LabelScalar, LabelTree, Tag, TreeName, TreePlace, Untrusted, contain_tree,
    show, tree_differences,
};
use proem_text::{Audience, Label, Source};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Number, Value as Json};

fn label() -> impl Strategy<Value = Label> {
    let sources = vec(select(&["mail/body", "mail/subject", "model/answer"][..]), 0..3);
    let audience = select(&[Audience::Public, Audience::External, Audience::Internal, Audience::Restricted][..]);
    (sources, audience, 0..8u8).prop_map(|(sources, audience, rest)| {
        let label = sources
            .into_iter()
            .fold(Label::trusted(), |label, name| label.join(&Label::from_source(Source::named(name))));
        let label = if rest == 0 { label.join(&Label::from_many()) } else { label };
        let label = label.narrowed_to(audience);
        if rest == 1 { label.made_secret() } else { label }
    })
}

fn text() -> impl Strategy<Value = String> {
    let pieces = select(
        &[
            "a",
            "- ",
            "\n",
            "\r",
            ": ",
            "│ ",
            "⟨from us⟩",
            "⟩",
            "</UNTRUSTED_CONTEXT>",
            "\u{1b}[2J",
            "\u{202e}",
            "é",
            "\0",
        ][..],
    );
    vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

fn any_number() -> impl Strategy<Value = Number> {
    // A zero below nought equals the other and is written apart.
    let float = any::<f64>().prop_filter_map("a number of JSON", |float| Number::from_f64(float + 0.0));
    prop_oneof![any::<i64>().prop_map(Number::from), any::<u64>().prop_map(Number::from), float]
}

fn tree() -> impl Strategy<Value = LabelTree> {
    let scalar = prop_oneof![
        Just(LabelScalar::Null),
        any::<bool>().prop_map(LabelScalar::Bool),
        any_number().prop_map(LabelScalar::Number)
    ];
    let leaf = prop_oneof![
        Just(LabelTree::Null),
        any::<bool>().prop_map(LabelTree::Bool),
        any_number().prop_map(LabelTree::Number),
        text().prop_map(LabelTree::Text),
        (scalar, label()).prop_map(|(scalar, label)| LabelTree::Scalar(Untrusted::new(scalar, label))),
        (text(), label()).prop_map(|(text, label)| LabelTree::Outside(Untrusted::new(text, label))),
        (text(), label()).prop_map(|(text, label)| LabelTree::Flagged(Untrusted::new(text, label))),
    ];
    let shape = || prop_oneof![Just(Label::trusted()), label()];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            (shape(), vec(inner.clone(), 0..4))
                .prop_map(|(label, items)| LabelTree::List(LabelList::new(label, items))),
            (shape(), vec((text(), inner), 0..4))
                .prop_map(|(label, fields)| LabelTree::Map(LabelMap::new(label, fields))),
        ]
    })
}

/// The names that code gave, as a screen has them.
fn names_of_ours(tree: &LabelTree) -> Vec<String> {
    match tree {
        LabelTree::List(list) => list.iter().flat_map(names_of_ours).collect(),
        LabelTree::Map(map) => {
            let own = map.iter().filter_map(|(name, _)| match name {
                TreeName::Ours(name) => Some(format!("{}:", show::terminal_str(name))),
                TreeName::Outside(_) => None,
            });
            own.chain(map.iter().flat_map(|(_, field)| names_of_ours(field))).collect()
        }
        _ => Vec::new(),
    }
}

/// JSON, with the texts that outsiders write.
fn json() -> impl Strategy<Value = Json> {
    tree().prop_map(|tree| show::tree_json(&tree))
}

/// The places of all leaves and of all that is empty.
fn places(tree: &LabelTree) -> Vec<TreePlace> {
    let all = tree_differences(&LabelTree::Null, tree);
    let mut places = Vec::new();
    if !all.is_empty() {
        add_places("", &show::tree_json(tree), &mut places);
    }
    places
}

fn add_places(prefix: &str, json: &Json, places: &mut Vec<TreePlace>) {
    let mut add = |name: &str, inner: &Json| {
        add_places(&format!("{prefix}/{}", name.replace('~', "~0").replace('/', "~1")), inner, places);
    };
    match json {
        Json::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(index, item)| add(&index.to_string(), item));
        }
        Json::Object(fields) if !fields.is_empty() => fields.iter().for_each(|(name, field)| add(name, field)),
        _ => places.push(TreePlace::pointer(prefix).unwrap()),
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(tree in tree()) {
        let written = tree.write().unwrap();
        let read = LabelTree::read(&written).unwrap();
        prop_assert_eq!(&read, &tree);
        prop_assert_eq!(read.write().unwrap(), written);
        prop_assert_eq!(read.label(), tree.label());
    }

    #[test]
    fn all_that_comes_from_outside_is_labelled(json in json(), label in label()) {
        let tree = LabelTree::from_outside(&Untrusted::new(json.clone(), label.clone())).unwrap();
        prop_assert_eq!(&tree.label(), &label);
        for place in places(&tree) {
            prop_assert_eq!(&tree.get(&place).unwrap().label(), &label);
        }
        prop_assert_eq!(show::tree_json(&tree), json);
    }

    /// No operation makes a text from outside trusted: neither a copy on disc nor a change beside it.
    #[test]
    fn a_replaced_leaf_leaves_the_labels_of_all_others(tree in tree(), at in any::<prop::sample::Index>()) {
        let places = places(&tree);
        prop_assume!(!places.is_empty());
        let place = at.get(&places);
        let mut changed = tree.clone();
        let old = changed.replace(place, "typed".into()).unwrap();
        prop_assert_eq!(Some(&old), tree.get(place));
        for other in places.iter().filter(|other| *other != place) {
            prop_assert_eq!(changed.get(other), tree.get(other));
        }
        prop_assert_eq!(changed.label().join(&old.label()), tree.label());
        changed.replace(place, old).unwrap();
        prop_assert_eq!(changed, tree);
    }

    #[test]
    fn trees_differ_exactly_where_it_is_listed(before in tree(), after in tree()) {
        prop_assert!(tree_differences(&before, &before).is_empty());
        let all = tree_differences(&before, &after);
        prop_assert_eq!(all.is_empty(), before == after);
        for difference in &all {
            let (old, new) = match difference.kind {
                DifferenceKind::Added(new) => (None, Some(new)),
                DifferenceKind::Removed(old) => (Some(old), None),
                DifferenceKind::Changed { before, after } | DifferenceKind::Relabelled { before, after } => {
                    (Some(before), Some(after))
                }
            };
            if let Some(old) = old {
                prop_assert_eq!(before.get(&difference.place), Some(old));
            }
            if let Some(new) = new {
                prop_assert_eq!(after.get(&difference.place), Some(new));
            }
        }
    }

    /// An edit of one leaf is listed at that leaf alone.
    #[test]
    fn one_edit_is_one_difference(tree in tree(), at in any::<prop::sample::Index>()) {
        let places = places(&tree);
        prop_assume!(!places.is_empty());
        let place = at.get(&places);
        let mut changed = tree.clone();
        changed.replace(place, "another text than all".into()).unwrap();
        let all = tree_differences(&tree, &changed);
        prop_assert_eq!(all.len(), 1);
        prop_assert_eq!(changed.get(&all[0].place), changed.get(place));
    }

    #[test]
    fn no_line_on_a_screen_begins_with_foreign_text(tree in tree(), other in tree()) {
        let cap = show::TreeCap { characters: 7, lines: 60 };
        let shown = show::tree(&tree, cap).into_string();
        let names = names_of_ours(&tree);
        for line in shown.lines() {
            let begin = line.trim_start_matches(' ');
            // The first of what a number counts is behind that number.
            let counted = |c: char| c.is_ascii_digit() || c == '.' || c == ' ';
            let begin = begin.trim_start_matches(counted);
            let is_ours = begin.is_empty() || names.iter().any(|name| begin.starts_with(name.trim_start_matches(counted)));
            let is_value = ["null", "true", "false", "(empty)", "(none)"].iter().any(|word| begin.starts_with(word));
            let is_signed = begin.starts_with('-') || begin.starts_with("│ ") || begin.starts_with('⟨');
            prop_assert!(is_signed || is_ours || is_value || line.trim_start().starts_with(|c: char| c.is_ascii_digit()), "{:?}", line);
        }
        prop_assert!(!shown.contains(['\u{1b}', '\u{202e}', '\r', '\0']), "{:?}", shown);
        let all = tree_differences(&tree, &other);
        for line in show::terminal_differences(&all, cap).as_str().lines() {
            let ours = ["added /", "removed /", "changed /", "relabelled /", "  ", "⟨"];
            prop_assert!(ours.iter().any(|begin| line.starts_with(begin)), "{:?}", line);
        }
        for difference in &all {
            let foreign = difference.place.parts().iter().filter(|part| matches!(part, PlacePart::Outside(_))).count();
            prop_assert!(show::terminal_place(&difference.place).as_str().matches('⟨').count() >= foreign);
        }
    }

    #[test]
    fn nothing_in_a_tree_ends_its_containment(tree in tree()) {
        let contained = contain_tree(&tree, &Tag::UNTRUSTED_CONTEXT, &InstallationKey::new([7; 32]));
        let end = format!("</{}", Tag::UNTRUSTED_CONTEXT.as_str());
        prop_assert_eq!(contained.text().matches(contained.id()).count(), 2);
        prop_assert_eq!(contained.text().matches(&end).count(), 1, "{}", contained.text());
        prop_assert_eq!(contained.label(), &tree.label());
    }

    #[test]
    fn whatever_is_read_is_written_as_it_was(text in "\\PC{0,40}", tree in tree(), at in any::<prop::sample::Index>()) {
        // One byte of a written tree is changed, so that most of what is read is nearly right.
        let mut bytes = tree.write().unwrap().into_bytes();
        let place = at.index(bytes.len());
        bytes[place] = bytes[place].wrapping_add(1);
        for written in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            if let Ok(read) = LabelTree::read(&written) {
                prop_assert_eq!(read.write().unwrap(), written);
            }
        }
    }
}
