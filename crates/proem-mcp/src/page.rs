//! Cuts long documents into pages.
//!
//! A document's longest list is cut, and a cursor says where the next page begins. A cursor is the number of entries in
//! front of it, so it holds as long as the same call gives the same list.

use proem_app::Error;
use proem_text::json;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The most bytes of a document that is answered at once: about ten thousand tokens. Clients in common use cut off what
/// has more than 25,000, and each document is answered twice, as text and as a value.
pub(crate) const MAX_ANSWER_BYTES: usize = 40 * 1024;

/// The name of the cursor in a document.
const NEXT: &str = "nextCursor";

/// A document with the cursor behind it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<T> {
    /// The document, with as many entries of its list as one answer has room for.
    #[serde(flatten)]
    pub(crate) document: T,
    /// The cursor for the entries behind these. Null if these are the last.
    pub(crate) next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A document that nothing was left out of yet.
    pub(crate) const fn whole(document: T) -> Self {
        Self { document, next_cursor: None }
    }
}

/// The place that a cursor names. The first, without one.
///
/// # Errors
///
/// If it is none of ours.
pub(crate) fn parse_cursor(cursor: Option<&str>) -> Result<usize, Error> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor.parse().map_err(|_| {
        Error::invalid("`cursor` is none of this tool's; pass `nextCursor` of the answer before, as it is")
    })
}

/// Leaves out what is in front of `start` in the longest list at these pointers, and what there is no room for.
///
/// # Errors
///
/// If there is no such list to cut in a document that is too long, or one entry alone is too long.
pub(crate) fn cut_page(document: &mut Json, lists: &[&str], start: usize) -> Result<(), Error> {
    let pointer = longest_list(document, lists);
    if start == 0 && json::compact(document).len() <= MAX_ANSWER_BYTES {
        return Ok(());
    }
    let Some(list) = pointer.and_then(|pointer| document.pointer_mut(pointer)?.as_array_mut().map(std::mem::take))
    else {
        return Err(page_overflow(document));
    };
    let frame = json::compact(document).len();
    let all = list.len();
    let (mut kept, mut bytes) = (Vec::new(), frame);
    for entry in list.into_iter().skip(start) {
        bytes = bytes.saturating_add(json::compact(&entry).len()).saturating_add(1);
        if bytes > MAX_ANSWER_BYTES {
            break;
        }
        kept.push(entry);
    }
    let end = start.saturating_add(kept.len());
    if kept.is_empty() && start < all {
        return Err(page_overflow(document));
    }
    if let Some(place) = pointer.and_then(|pointer| document.pointer_mut(pointer)) {
        *place = Json::Array(kept);
    }
    if let Some(fields) = document.as_object_mut().filter(|_| end < all) {
        fields.insert(NEXT.to_owned(), json!(end.to_string()));
    }
    Ok(())
}

/// The list with the most bytes among those with several entries, else the innermost that there is.
fn longest_list<'p>(document: &Json, lists: &[&'p str]) -> Option<&'p str> {
    let found = |pointer: &&'p str| Some((*pointer, document.pointer(pointer)?)).filter(|(_, list)| list.is_array());
    let found: Vec<(&'p str, &Json)> = lists.iter().filter_map(found).collect();
    let several = found.iter().filter(|(_, list)| list.as_array().is_some_and(|entries| entries.len() > 1));
    let longest = several.max_by_key(|(_, list)| json::compact(list).len());
    longest.or(found.last()).map(|(pointer, _)| *pointer)
}

fn page_overflow(document: &Json) -> Error {
    let verdict = document.get("verdict").and_then(Json::as_str);
    let verdict = verdict.map_or_else(String::new, |verdict| format!(" (its verdict is `{verdict}`)"));
    Error::invalid(format!(
        "the answer{verdict} has more than {MAX_ANSWER_BYTES} bytes and can't be cut into pages; ask for less"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entries of each page of a list, with the cursors between them.
    fn pages(entries: usize, bytes: usize) -> Vec<(usize, Option<String>)> {
        let document = json!({ "list": vec!["x".repeat(bytes); entries], "nextCursor": null });
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let mut page = document.clone();
            cut_page(&mut page, &["/list"], parse_cursor(cursor.as_deref()).unwrap()).unwrap();
            assert!(json::compact(&page).len() <= MAX_ANSWER_BYTES + 32, "{}", json::compact(&page).len());
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            pages.push((page["list"].as_array().unwrap().len(), cursor.clone()));
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn every_entry_is_on_one_page() {
        assert_eq!(pages(3, 10), [(3, None)]);
        assert_eq!(pages(0, 10), [(0, None)]);
        let long = pages(10, 9_000);
        assert_eq!(long.iter().map(|(entries, _)| entries).sum::<usize>(), 10);
        assert_eq!(long[0], (4, Some("4".to_owned())));
        assert_eq!(long.last().unwrap().1, None);
    }

    #[test]
    fn one_entry_that_is_too_long_is_refused_with_the_verdict() {
        let mut document = json!({ "list": ["x".repeat(MAX_ANSWER_BYTES)], "verdict": "block" });
        let refused = cut_page(&mut document, &["/list"], 0).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the answer (its verdict is `block`) has more than 40960 bytes and can't be cut into pages; ask for less"
        );
        assert!(parse_cursor(Some("-1")).is_err());
        assert!(parse_cursor(Some("")).is_err());
    }

    #[test]
    fn a_list_of_one_entry_gives_way_to_the_list_in_it() {
        let mut document = json!({ "files": [{ "findings": vec!["x".repeat(30_000); 3] }] });
        cut_page(&mut document, &["/files", "/files/0/findings"], 1).unwrap();
        assert_eq!(document["files"][0]["findings"].as_array().unwrap().len(), 1);
        assert_eq!(document["nextCursor"], "2");
    }
}
