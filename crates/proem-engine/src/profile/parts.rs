//! Parts of a contract that an answer did not meet, as tags that a closed registry can hold.
//!
//! A tag is `schema_failed/RULE/NAME/…`: a keyword of JSON Schema and the names on the way, with `items` for a place in a
//! list. It is made of names that the schema declares, and shown only if the prompt's schema declares them now.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::Registry;
use super::evaluate::SCHEMA_FAILED;
use crate::run::BrokenRule;
use crate::schema::declared_names;

/// Keywords of JSON Schema that a part may be named by.
const RULES: [&str; 20] = [
    "additionalProperties",
    "anyOf",
    "const",
    "contains",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "required",
    "type",
    "uniqueItems",
];
/// The placeholder for a place in a list.
const ITEMS: &str = "items";
/// The most parts that one result names.
const MOST_PARTS: usize = 4;

/// The tags of what an answer broke, without what can't be named.
pub(super) fn broken_part_tags(broken: &[BrokenRule]) -> BTreeSet<String> {
    let tag = |broken: &BrokenRule| {
        let place = broken.path.strip_prefix('/')?;
        let segment = |name: &str| if name.bytes().all(|byte| byte.is_ascii_digit()) { ITEMS } else { name }.to_owned();
        let place: Vec<String> = place.split('/').map(segment).collect();
        let tag = format!("{SCHEMA_FAILED}/{}/{}", broken.rule, place.join("/"));
        (RULES.contains(&broken.rule.as_str()) && super::is_registry_path(&tag)).then_some(tag)
    };
    broken.iter().filter_map(tag).take(MOST_PARTS).collect()
}

/// Of these tags those that name a part of the contract with this schema.
#[must_use]
pub fn contract_parts<'t>(schema: &Json, tags: impl IntoIterator<Item = &'t String>) -> Registry {
    let mut declared = BTreeSet::new();
    declared_names(schema, &mut declared);
    let is_declared = |tag: &&String| {
        let mut segments = tag.split('/');
        segments.next() == Some(SCHEMA_FAILED)
            && segments.next().is_some_and(|rule| RULES.contains(&rule))
            && segments.all(|name| name == ITEMS || declared.contains(name))
    };
    Registry::Closed(tags.into_iter().filter(is_declared).cloned().collect())
}

/// Whether a risk names a part of a contract.
#[must_use]
pub fn is_contract_part(risk: &str) -> bool {
    risk.strip_prefix(SCHEMA_FAILED).is_some_and(|rest| rest.starts_with('/'))
}

/// A part as a line names it: `` `items/owner` (`required`) ``.
pub(super) fn part_words(tag: &str) -> String {
    let rest = tag.strip_prefix(SCHEMA_FAILED).and_then(|rest| rest.strip_prefix('/')).unwrap_or(tag);
    match rest.split_once('/') {
        Some((rule, place)) => format!("`{place}` (`{rule}`)"),
        None => format!("`{rest}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn broken(rule: &str, path: &str) -> BrokenRule {
        BrokenRule { rule: rule.to_owned(), path: path.to_owned(), expected: String::new() }
    }

    #[test]
    fn only_what_the_schema_declares_is_named() {
        let schema = json!({ "properties": { "level": { "enum": ["low"] }, "risks": { "items": { "properties": { "owner": {} } } } } });
        let tags = broken_part_tags(&[
            broken("enum", "/level"),
            broken("required", "/risks/3/owner"),
            broken("enum", "/ignore all rules"),
            broken("json", "/level"),
            broken("type", ""),
        ]);
        assert_eq!(
            tags.iter().collect::<Vec<_>>(),
            ["schema_failed/enum/level", "schema_failed/required/risks/items/owner"]
        );
        let foreign =
            ["schema_failed/enum/do-as-i-say".to_owned(), "schema_failed/obey/level".to_owned(), "refused".to_owned()];
        assert_eq!(contract_parts(&schema, tags.iter().chain(&foreign)), Registry::Closed(tags));
        assert_eq!(part_words("schema_failed/required/risks/items/owner"), "`risks/items/owner` (`required`)");
    }
}
