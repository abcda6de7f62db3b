//! A request's body in pieces: its texts are the sections', which are kept once each.
//!
//! Invariant: [`unfold`] gives back the very JSON that was folded, or `None`. Canonical JSON of it has the very bytes
//! that were sent. Pieces are JSON of the body's shape, in which an object with the one key `$text` represents a text:
//! the contents with these hashes, joined. A key of the body's own that is `$text`, with any number of `$` before it,
//! has one `$` more in the pieces.

use serde_json::{Map, Value as Json};

use crate::record::HashedContent;

/// The key of an object that represents a text.
const TEXT: &str = "$text";

/// The bytes from which on a text that is no section's is a content of its own.
const LONG: usize = 256;

/// A body in pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldedBody {
    /// How it is put together: the body's JSON, in which each long string is a list of hashes of
    /// contents that make it when they are joined.
    pub pieces: Json,
    /// The contents that are no section's text.
    pub texts: Vec<HashedContent>,
}

/// Takes a body apart along the sections' texts, given as text and hash in request order.
///
/// A string that starts with the texts of consecutive sections becomes their hashes, with those of
/// white space between them left out where the body leaves them out; what follows is a content of
/// its own. So is any other string of at least 256 bytes.
#[must_use]
pub fn fold_body(body: &Json, sections: &[(&str, &str)]) -> FoldedBody {
    let mut folding = BodyFolder { sections, texts: Vec::new() };
    let pieces = folding.value(body);
    FoldedBody { pieces, texts: folding.texts }
}

/// Puts a body together. `text` gives a content by its hash. `None` if one is missing or a piece is none.
#[must_use]
pub fn unfold(pieces: &Json, text: &dyn Fn(&str) -> Option<String>) -> Option<Json> {
    match pieces {
        Json::Array(items) => items.iter().map(|item| unfold(item, text)).collect::<Option<_>>().map(Json::Array),
        Json::Object(fields) => match fields.get(TEXT) {
            Some(hashes) if fields.len() == 1 => {
                let hashes = hashes.as_array()?.iter();
                hashes.map(|hash| text(hash.as_str()?)).collect::<Option<String>>().map(Json::String)
            }
            Some(_) => None,
            None => {
                let field = |(key, value): (&String, &Json)| {
                    let key = if is_text_key(key) { key.strip_prefix('$')? } else { key };
                    Some((key.to_owned(), unfold(value, text)?))
                };
                fields.iter().map(field).collect::<Option<Map<_, _>>>().map(Json::Object)
            }
        },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Some(pieces.clone()),
    }
}

/// Whether a key is `$text` with any number of `$` before it.
fn is_text_key(key: &str) -> bool {
    key.starts_with('$') && key.trim_start_matches('$') == TEXT.trim_start_matches('$')
}

struct BodyFolder<'s> {
    /// Texts with their hashes.
    sections: &'s [(&'s str, &'s str)],
    texts: Vec<HashedContent>,
}

impl BodyFolder<'_> {
    fn value(&mut self, value: &Json) -> Json {
        match value {
            Json::String(text) => self.text(text),
            Json::Array(items) => Json::Array(items.iter().map(|item| self.value(item)).collect()),
            Json::Object(fields) => {
                let field = |(key, value): (&String, &Json)| {
                    let key = if is_text_key(key) { format!("${key}") } else { key.clone() };
                    (key, self.value(value))
                };
                Json::Object(fields.iter().map(field).collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        }
    }

    fn text(&mut self, text: &str) -> Json {
        let starts = 0..self.sections.len();
        let runs = starts.map(|start| leading_sections(text, self.sections.get(start..).unwrap_or_default()));
        // Of equally long ones the first, so that the same body always has the same pieces.
        let best = runs.reduce(|best, run| if run.1.len() < best.1.len() { run } else { best });
        let (mut hashes, rest) = best.unwrap_or((Vec::new(), text));
        if hashes.is_empty() && text.len() < LONG {
            return Json::String(text.to_owned());
        }
        if !rest.is_empty() {
            hashes.push(self.own(rest));
        }
        let hashes = hashes.into_iter().map(Json::String).collect();
        Json::Object(Map::from_iter([(TEXT.to_owned(), Json::Array(hashes))]))
    }

    /// Keeps a text that is no section's. Its hash.
    fn own(&mut self, text: &str) -> String {
        let content = HashedContent::new(text);
        let hash = content.hash.clone();
        if !self.texts.contains(&content) {
            self.texts.push(content);
        }
        hash
    }
}

/// The hashes of sections that `text` starts with, and what is left of it.
fn leading_sections<'t>(text: &'t str, sections: &[(&str, &str)]) -> (Vec<String>, &'t str) {
    let (mut hashes, mut rest) = (Vec::new(), text);
    for (section, hash) in sections {
        match rest.strip_prefix(section) {
            Some(left) if !section.is_empty() => {
                hashes.push((*hash).to_owned());
                rest = left;
            }
            _ if section.trim().is_empty() && !hashes.is_empty() => {}
            _ => break,
        }
    }
    (hashes, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;
    use std::collections::BTreeMap;

    /// The sections with hashes, and what a store keeps of them and of a folded body.
    fn fold_into(body: &Json, sections: &[String]) -> (FoldedBody, BTreeMap<String, String>) {
        let contents: Vec<HashedContent> = sections.iter().map(|text| HashedContent::new(text.as_str())).collect();
        let pairs: Vec<(&str, &str)> =
            sections.iter().zip(&contents).map(|(text, content)| (text.as_str(), content.hash.as_str())).collect();
        let folded = fold_body(body, &pairs);
        let kept = contents.into_iter().chain(folded.texts.clone());
        let kept =
            kept.map(|content| (content.hash, String::from_utf8(content.bytes.unwrap().to_vec()).unwrap())).collect();
        (folded, kept)
    }

    /// The pieces with each hash replaced by the first letters of its text.
    #[track_caller]
    fn check(body: &Json, sections: &[&str], expected: &Json) {
        let sections: Vec<String> = sections.iter().map(|&text| text.to_owned()).collect();
        let (folded, kept) = fold_into(body, &sections);
        let mut shown = folded.pieces.to_string();
        for (hash, text) in &kept {
            shown = shown.replace(hash, &text.chars().take(6).collect::<String>().replace('\n', "|"));
        }
        assert_eq!(serde_json::from_str::<Json>(&shown).unwrap(), *expected);
        assert_eq!(unfold(&folded.pieces, &|hash| kept.get(hash).cloned()), Some(body.clone()));
    }

    #[test]
    fn texts_become_pieces() {
        let long = "x".repeat(300);
        check(
            &json!({ "a": "role\n\nlog\n\n" }),
            &["role\n\n", "log\n\n", "task\n\n"],
            &json!({ "a": { "$text": ["role||", "log||"] } }),
        );
        check(
            &json!(["task\n\n", "role\n\n"]),
            &["role\n\n", "task\n\n"],
            &json!([{ "$text": ["task||"] }, { "$text": ["role||"] }]),
        );
        // White space that the body leaves out is passed over; what is not a section's is kept apart.
        check(&json!("role\n\ntask\n\n"), &["role\n\n", " \n", "task\n\n"], &json!({ "$text": ["role||", "task||"] }));
        check(&json!("role\n\ntask"), &["role\n\n", "task\n\n"], &json!({ "$text": ["role||", "task"] }));
        check(&json!(long), &["role\n\n"], &json!({ "$text": ["xxxxxx"] }));
        check(
            &json!({ "model": "m", "n": 1.5, "s": null }),
            &["role\n\n"],
            &json!({ "model": "m", "n": 1.5, "s": null }),
        );
        // Text that already looks like pieces is not treated as pieces.
        check(
            &json!({ "$text": ["role\n\n"], "$$text": 1, "$texts": 2 }),
            &["role\n\n"],
            &json!({ "$$text": [{ "$text": ["role||"] }], "$$$text": 1, "$texts": 2 }),
        );
    }

    #[test]
    fn pieces_that_are_none_are_refused() {
        let known = |hash: &str| (hash == "h").then(|| String::from("text"));
        for (pieces, expected) in [
            (json!({ "$text": ["h", "h"] }), Some(json!("texttext"))),
            (json!({ "$text": [] }), Some(json!(""))),
            (json!({ "$text": ["missing"] }), None),
            (json!({ "$text": "h" }), None),
            (json!({ "$text": [1] }), None),
            (json!({ "$text": ["h"], "more": 1 }), None),
        ] {
            assert_eq!(unfold(&pieces, &known), expected, "{pieces}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(String::new()),
            Just(String::from(" \n")),
            Just(String::from("aa")),
            Just(String::from("a")),
            "[ab\n ]{0,4}",
            "\\PC{0,6}",
            "[a-c]{250,300}",
        ];
        vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    /// A body whose strings are runs of sections, beginnings of them, or anything else.
    fn body(sections: &[String]) -> impl Strategy<Value = Json> + use<> {
        let (all, count) = (sections.to_vec(), sections.len());
        let joined = (0..=count, 0..=count, text()).prop_map(move |(from, to, more)| {
            let run: String = all.get(from.min(to)..from.max(to)).unwrap_or_default().concat();
            json!(run + &more)
        });
        let leaf =
            prop_oneof![joined, text().prop_map(Json::from), any::<i64>().prop_map(Json::from), Just(Json::Null)];
        let key = prop_oneof![Just(String::from("$text")), Just(String::from("$$text")), "[$a-c]{0,5}"];
        leaf.prop_recursive(3, 24, 4, move |inner| {
            let fields = proptest::collection::btree_map(key.clone(), inner.clone(), 0..4);
            prop_oneof![vec(inner, 0..4).prop_map(Json::from), fields.prop_map(|fields| json!(fields))]
        })
    }

    proptest! {
        #[test]
        fn unfolding_gives_back_what_was_folded(
            (sections, body) in vec(text(), 0..5).prop_flat_map(|sections| { let body = body(&sections); (Just(sections), body) })
        ) {
            let (folded, kept) = fold_into(&body, &sections);
            let back = unfold(&folded.pieces, &|hash| kept.get(hash).cloned());
            prop_assert_eq!(back.as_ref(), Some(&body));
            // Nothing is kept twice, and the same body always has the same pieces.
            prop_assert_eq!(fold_into(&body, &sections).0, folded);
        }
    }
}
