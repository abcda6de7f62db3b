//! Atlassian's document format as plain text with its structure kept.
//!
//! Headings, lists, quotes, code and tables keep their signs of Markdown, links their address. What has no counterpart
//! is gone through for its texts, so that no text is lost with a node that is not known.
//!
//! Source: Atlassian, "Atlassian Document Format",
//! <https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/>.

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::date::utc;

/// How deep nodes may stand in one another. What is deeper is written as JSON.
const MAX_DEPTH: usize = 48;

/// Whether a value is a document.
pub(super) fn is_document(value: &Json) -> bool {
    value.get("type").and_then(Json::as_str) == Some("doc") && value.get("content").is_some_and(Json::is_array)
}

/// The text of a document.
pub(super) fn plain_text(document: &Json) -> String {
    blocks(children(document), 0).join("\n")
}

fn children(node: &Json) -> &[Json] {
    node.get("content").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn kind(node: &Json) -> &str {
    node.get("type").and_then(Json::as_str).unwrap_or_default()
}

fn attribute<'n>(node: &'n Json, name: &str) -> Option<&'n Json> {
    node.get("attrs")?.get(name)
}

fn attribute_text<'n>(node: &'n Json, name: &str) -> Option<&'n str> {
    attribute(node, name)?.as_str()
}

/// The lines of nodes below each other.
fn blocks(nodes: &[Json], depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for node in nodes {
        if is_inline(node) {
            inline(node, depth, &mut open);
            continue;
        }
        flush(&mut open, &mut lines);
        if depth > MAX_DEPTH {
            lines.push(node.to_string());
        } else {
            block(node, depth.saturating_add(1), &mut lines);
        }
    }
    flush(&mut open, &mut lines);
    lines
}

fn flush(open: &mut String, lines: &mut Vec<String>) {
    if !open.is_empty() {
        lines.extend(open.split('\n').map(str::to_owned));
        open.clear();
    }
}

fn block(node: &Json, depth: usize, lines: &mut Vec<String>) {
    let below = |node: &Json| blocks(children(node), depth);
    match kind(node) {
        "heading" => {
            let level = attribute(node, "level").and_then(Json::as_u64).unwrap_or(1).clamp(1, 6);
            let signs = "#".repeat(usize::try_from(level).unwrap_or(1));
            lines.push(format!("{signs} {}", below(node).join(" ")));
        }
        "bulletList" => children(node).iter().for_each(|item| lines.extend(indented("- ", below(item)))),
        "orderedList" => {
            let first = attribute(node, "order").and_then(Json::as_u64).unwrap_or(1);
            for (number, item) in (first..).zip(children(node)) {
                lines.extend(indented(&format!("{number}. "), below(item)));
            }
        }
        "taskItem" | "decisionItem" => {
            let is_done = attribute_text(node, "state") == Some("DONE");
            lines.extend(indented(if is_done { "- [x] " } else { "- [ ] " }, below(node)));
        }
        "codeBlock" => {
            lines.push(format!("```{}", attribute_text(node, "language").unwrap_or_default()));
            lines.extend(below(node));
            lines.push("```".to_owned());
        }
        "blockquote" => lines.extend(below(node).into_iter().map(|line| format!("> {line}"))),
        "rule" => lines.push("----".to_owned()),
        "tableRow" => {
            let cells = children(node).iter().map(|cell| below(cell).join(" "));
            lines.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
        }
        "media" | "mediaInline" => {
            lines.push(format!("[media: {}]", attribute_text(node, "alt").unwrap_or("without description")));
        }
        "blockCard" | "embedCard" => lines.push(attribute_text(node, "url").unwrap_or_default().to_owned()),
        _ => {
            let said = ["title", "text", "alt", "url"].into_iter().filter_map(|name| attribute_text(node, name));
            lines.extend(said.map(str::to_owned));
            lines.extend(below(node));
        }
    }
}

/// The first line behind a sign, all others below its text.
fn indented(sign: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() {
        return vec![sign.trim_end().to_owned()];
    }
    let indent = " ".repeat(sign.len());
    let line = |(at, line): (usize, String)| if at == 0 { format!("{sign}{line}") } else { format!("{indent}{line}") };
    lines.into_iter().enumerate().map(line).collect()
}

fn is_inline(node: &Json) -> bool {
    let is_known = matches!(
        kind(node),
        "text" | "hardBreak" | "mention" | "emoji" | "inlineCard" | "status" | "date" | "placeholder"
    );
    is_known || node.get("text").is_some()
}

fn inline(node: &Json, depth: usize, out: &mut String) {
    match kind(node) {
        "hardBreak" => out.push('\n'),
        "inlineCard" => out.push_str(attribute_text(node, "url").unwrap_or_default()),
        "date" => {
            let milliseconds = attribute_text(node, "timestamp").and_then(|text| text.parse().ok());
            let date = milliseconds.map(|milliseconds: i64| utc(Time(milliseconds)));
            out.push_str(date.as_deref().and_then(|date| date.split('T').next()).unwrap_or_default());
        }
        "mention" | "status" | "placeholder" => out.push_str(attribute_text(node, "text").unwrap_or_default()),
        "emoji" => {
            let name = attribute_text(node, "text").or_else(|| attribute_text(node, "shortName"));
            out.push_str(name.unwrap_or_default());
        }
        _ => {
            let text = node.get("text").and_then(Json::as_str).unwrap_or_default();
            out.push_str(text);
            let marks = node.get("marks").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            let link = marks.iter().find(|mark| kind(mark) == "link").and_then(|mark| attribute_text(mark, "href"));
            if let Some(link) = link.filter(|link| *link != text) {
                out.push_str(&format!(" ({link})"));
            }
            if !children(node).is_empty() && depth <= MAX_DEPTH {
                out.push_str(&blocks(children(node), depth.saturating_add(1)).join("\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check(content: &Json, expected: &str) {
        let document = json!({ "type": "doc", "version": 1, "content": content });
        assert!(is_document(&document));
        assert_eq!(plain_text(&document), expected, "{content}");
    }

    fn paragraph(text: &str) -> Json {
        json!({ "type": "paragraph", "content": [{ "type": "text", "text": text }] })
    }

    #[test]
    fn structure_is_kept() {
        check(&json!([]), "");
        check(&json!([paragraph("a"), paragraph("b")]), "a\nb");
        check(
            &json!([{ "type": "heading", "attrs": { "level": 2 }, "content": [{ "type": "text", "text": "Plan" }] }]),
            "## Plan",
        );
        let nested =
            json!({ "type": "bulletList", "content": [{ "type": "listItem", "content": [paragraph("inner")] }] });
        let item = json!({ "type": "listItem", "content": [paragraph("outer"), nested] });
        check(&json!([{ "type": "bulletList", "content": [item] }]), "- outer\n  - inner");
        let items = json!([{ "type": "listItem", "content": [paragraph("x")] }, { "type": "listItem" }]);
        check(&json!([{ "type": "orderedList", "attrs": { "order": 9 }, "content": items }]), "9. x\n10.");
        let code = json!({ "type": "codeBlock", "attrs": { "language": "sh" }, "content": [{ "type": "text", "text": "a\n  b" }] });
        check(&json!([code]), "```sh\na\n  b\n```");
        check(
            &json!([{ "type": "blockquote", "content": [paragraph("a"), paragraph("b")] }, { "type": "rule" }]),
            "> a\n> b\n----",
        );
        let cell = |text| json!({ "type": "tableCell", "content": [paragraph(text)] });
        check(
            &json!([{ "type": "table", "content": [{ "type": "tableRow", "content": [cell("a"), cell("b")] }] }]),
            "| a | b |",
        );
        let task =
            json!({ "type": "taskItem", "attrs": { "state": "DONE" }, "content": [{ "type": "text", "text": "t" }] });
        check(&json!([{ "type": "taskList", "content": [task] }]), "- [x] t");
    }

    #[test]
    fn what_stands_within_a_line() {
        let line = json!([{ "type": "paragraph", "content": [
            { "type": "mention", "attrs": { "id": "1", "text": "@Ann" } },
            { "type": "text", "text": " see " },
            { "type": "text", "text": "here", "marks": [{ "type": "link", "attrs": { "href": "https://example.org" } }] },
            { "type": "hardBreak" },
            { "type": "emoji", "attrs": { "shortName": ":ok:" } },
            { "type": "status", "attrs": { "text": "LATE" } },
            { "type": "date", "attrs": { "timestamp": "1550286678321" } },
            { "type": "inlineCard", "attrs": { "url": "https://example.org/2" } },
        ] }]);
        check(&line, "@Ann see here (https://example.org)\n:ok:LATE2019-02-16https://example.org/2");
    }

    #[test]
    fn no_text_is_lost_with_an_unknown_node() {
        let unknown =
            json!({ "type": "futureThing", "content": [paragraph("kept"), { "type": "odd", "text": "too" }] });
        check(&json!([unknown, 5, null, "x"]), "kept\ntoo");
        let mut deep = paragraph("bottom");
        for _ in 0..100 {
            deep = json!({ "type": "panel", "content": [deep] });
        }
        assert!(plain_text(&json!({ "type": "doc", "content": [deep] })).contains("bottom"));
    }

    proptest! {
        #[test]
        fn every_text_is_there(texts in proptest::collection::vec("[a-z]{1,8}", 1..8), kinds in proptest::collection::vec("[a-zA-Z]{1,12}", 1..8)) {
            let node = texts.iter().zip(kinds.iter().cycle()).fold(json!({ "type": "text", "text": "end" }), |inner, (text, kind)| {
                json!({ "type": kind, "content": [{ "type": "text", "text": text }, inner] })
            });
            let shown = plain_text(&json!({ "type": "doc", "content": [node] }));
            for text in &texts {
                prop_assert!(shown.contains(text.as_str()), "{} in {}", text, shown);
            }
        }
    }
}
