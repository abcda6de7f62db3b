//! Edits of one version in `book.toml` that leave every other byte as it is.
//!
//! Invariants: an edit changes what the file says of one prompt's current version and nothing else; taking an edit back
//! from the very text that it made gives the text before, byte for byte.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::journal::ManifestEdit;
use crate::error::Error;
use crate::trust::sha256_hex;

/// The part of the file that says which versions are in use, with its places.
#[derive(Deserialize)]
struct CurrentVersions {
    #[serde(default)]
    current: BTreeMap<String, Spanned<String>>,
}

/// The version that a file names as a prompt's current one.
pub(super) fn named_version(text: &str, prompt: &str) -> Result<Option<String>, Error> {
    Ok(current_versions(text)?.remove(prompt).map(Spanned::into_inner))
}

/// The text that names `version` as the current one of `prompt`, and the edit that made it. `None` stands for a file
/// that is not there.
///
/// # Errors
///
/// If the text is no TOML, or is written so that the version can't be set by one edit.
pub(super) fn edit_current(text: Option<&str>, prompt: &str, version: &str) -> Result<(String, ManifestEdit), Error> {
    let before = text.unwrap_or_default();
    let place = current_versions(before)?.remove(prompt).map(|named| named.span());
    let wanted = with_version(parse_manifest(before)?, prompt, Some(version));
    for (range, inserted) in possible_edits(before, place, prompt, version) {
        let Some(after) = replace_range(before, &range, &inserted) else { continue };
        if after.parse::<Table>().is_ok_and(|table| without_empty(table) == wanted) {
            let removed = before.get(range.clone()).unwrap_or_default().to_owned();
            let edit = ManifestEdit {
                at: range.start,
                removed,
                inserted,
                before: text.map(|text| sha256_hex(text.as_bytes())),
                after: sha256_hex(after.as_bytes()),
            };
            return Ok((after, edit));
        }
    }
    Err(Error::invalid(format!("could not set the version in `book.toml`; write `{}` there", line_of(prompt, version))))
}

/// The text before an edit, if `text` is the very text that it made. `None` for another text. The inner value is `None`
/// if there was no file before.
pub(super) fn manifest_before(text: &str, edit: &ManifestEdit) -> Option<Option<String>> {
    if sha256_hex(text.as_bytes()) != edit.after {
        return None;
    }
    let end = edit.at.checked_add(edit.inserted.len())?;
    if text.get(edit.at..end)? != edit.inserted {
        return None;
    }
    let before = replace_range(text, &(edit.at..end), &edit.removed)?;
    match &edit.before {
        None => before.is_empty().then_some(None),
        Some(hash) => (sha256_hex(before.as_bytes()) == *hash).then_some(Some(before)),
    }
}

/// Whether two texts say the same, except for the current version of `prompt`.
pub(super) fn differ_in_one_version(first: &str, second: &str, prompt: &str) -> Result<bool, Error> {
    let rest = |text: &str| Ok::<_, Error>(with_version(parse_manifest(text)?, prompt, None));
    Ok(rest(first)? == rest(second)?)
}

/// The edits that could set the version, the least first.
fn possible_edits(text: &str, place: Option<Range<usize>>, prompt: &str, version: &str) -> Vec<(Range<usize>, String)> {
    if let Some(place) = place {
        return vec![(place, format!("\"{version}\""))];
    }
    let line = line_of(prompt, version);
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut edits = Vec::new();
    let mut at = 0_usize;
    for row in text.split_inclusive('\n') {
        at = at.saturating_add(row.len());
        let is_table = row.trim_start().strip_prefix("[current]").is_some_and(|rest| {
            let rest = rest.trim();
            rest.is_empty() || rest.starts_with('#')
        });
        if is_table {
            let gap = if row.ends_with('\n') { "" } else { end_of_line };
            edits.push((at..at, format!("{gap}{line}{end_of_line}")));
        }
    }
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end_of_line.to_owned(),
        _ => end_of_line.repeat(2),
    };
    edits.push((text.len()..text.len(), format!("{gap}[current]{end_of_line}{line}{end_of_line}")));
    edits
}

fn line_of(prompt: &str, version: &str) -> String {
    format!("\"{prompt}\" = \"{version}\"")
}

fn replace_range(text: &str, range: &Range<usize>, with: &str) -> Option<String> {
    Some(format!("{}{with}{}", text.get(..range.start)?, text.get(range.end..)?))
}

fn current_versions(text: &str) -> Result<BTreeMap<String, Spanned<String>>, Error> {
    let read: Result<CurrentVersions, _> = toml::from_str(text);
    read.map(|versions| versions.current).map_err(|error| unreadable(&error))
}

fn parse_manifest(text: &str) -> Result<Table, Error> {
    text.parse::<Table>().map_err(|error| unreadable(&error))
}

fn unreadable(error: &toml::de::Error) -> Error {
    Error::invalid(format!("`book.toml`: {}; run `proem book check`", error.message()))
}

/// A manifest with another version of a prompt, or without one.
fn with_version(mut table: Table, prompt: &str, version: Option<&str>) -> Table {
    let current = table.entry("current").or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(current) = current {
        match version {
            Some(version) => _ = current.insert(prompt.to_owned(), Value::String(version.to_owned())),
            None => _ = current.remove(prompt),
        }
    }
    without_empty(table)
}

fn without_empty(mut table: Table) -> Table {
    if table.get("current").and_then(Value::as_table).is_some_and(Table::is_empty) {
        table.remove("current");
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROMPT: &str = "reviews/triage";

    #[test]
    fn one_version_changes_and_every_other_byte_stays() {
        let check = |before: Option<&str>, after: &str| {
            let (made, edit) = edit_current(before, PROMPT, "1.1.0").unwrap();
            assert_eq!(made, after);
            assert_eq!(manifest_before(&made, &edit), Some(before.map(str::to_owned)), "{before:?}");
        };
        check(None, "[current]\n\"reviews/triage\" = \"1.1.0\"\n");
        check(Some(""), "[current]\n\"reviews/triage\" = \"1.1.0\"\n");
        check(Some("# mine"), "# mine\n\n[current]\n\"reviews/triage\" = \"1.1.0\"\n");
        check(
            Some("# a\r\n[current] # b\r\n\"x/y\"='1.0.0'\r\n"),
            "# a\r\n[current] # b\r\n\"reviews/triage\" = \"1.1.0\"\r\n\"x/y\"='1.0.0'\r\n",
        );
        check(
            Some("[current]\n'reviews/triage'   =   '1.0.0'   # why\n\n[approval]\npersons = 2\n"),
            "[current]\n'reviews/triage'   =   \"1.1.0\"   # why\n\n[approval]\npersons = 2\n",
        );
        check(
            Some("current = { \"reviews/triage\" = \"1.0.0\", \"x/y\" = \"2.0.0\" }"),
            "current = { \"reviews/triage\" = \"1.1.0\", \"x/y\" = \"2.0.0\" }",
        );
        check(
            Some("a = '''\n[current]\n'''\n[current]\n"),
            "a = '''\n[current]\n'''\n[current]\n\"reviews/triage\" = \"1.1.0\"\n",
        );
    }

    #[test]
    fn a_text_that_one_edit_can_not_change_is_refused() {
        let refused = |text: &str| edit_current(Some(text), PROMPT, "1.1.0").unwrap_err().to_string();
        assert!(refused("current = { \"x/y\" = \"1.0.0\" }").contains("write `\"reviews/triage\" = \"1.1.0\"` there"));
        assert!(refused("[current").contains("run `proem book check`"));
    }

    #[test]
    fn an_edit_that_somebody_made_up_takes_nothing_back() {
        let (made, edit) = edit_current(Some("[current]\n"), PROMPT, "1.1.0").unwrap();
        let check = |edit: ManifestEdit| assert_eq!(manifest_before(&made, &edit), None, "{edit:?}");
        check(ManifestEdit { removed: "[approval]\npersons = 1\n".to_owned(), ..edit.clone() });
        check(ManifestEdit { at: usize::MAX, ..edit.clone() });
        check(ManifestEdit { inserted: "other".to_owned(), ..edit.clone() });
        check(ManifestEdit { before: None, ..edit });
    }

    proptest! {
        #[test]
        fn promotion_and_demotion_give_identical_bytes(
            comment in "[ -~äß\u{202e}]{0,20}",
            others in proptest::collection::btree_map("[a-z]{1,4}/[a-z]{1,4}", "[0-9]\\.[0-9]\\.[0-9]", 0..4),
            names_prompt in any::<bool>(),
            quote in prop_oneof![Just('"'), Just('\'')],
            end in prop_oneof![Just("\n"), Just("\r\n")],
            ends in any::<bool>(),
        ) {
            let comment: String = comment.chars().filter(|c| !c.is_control()).collect();
            let mut rows = vec![format!("# {comment}"), "[current]".to_owned()];
            rows.extend(others.iter().map(|(name, version)| format!("{quote}{name}{quote} = {quote}{version}{quote} # {comment}")));
            rows.extend(names_prompt.then(|| format!("{quote}{PROMPT}{quote}={quote}1.0.0{quote}")));
            let mut text = rows.join(end);
            if ends { text.push_str(end); }
            let (made, edit) = edit_current(Some(&text), PROMPT, "1.1.0").unwrap();
            prop_assert_eq!(named_version(&made, PROMPT).unwrap(), Some("1.1.0".to_owned()));
            prop_assert!(differ_in_one_version(&text, &made, PROMPT).unwrap());
            prop_assert_eq!(manifest_before(&made, &edit), Some(Some(text)));
        }
    }
}
