//! Atlassian's document format as plain text with its structure kept.
//!
//! Headings, lists, quotes, code and tables keep their signs of Markdown, links their address. Nodes without a
//! counterpart are searched for their texts, so that no text is lost with an unknown node.
//!
//! Source: Atlassian, "Atlassian Document Format",
//! <https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/>.

use proem_engine::run::Time;
use serde_json::Value as Json;

use super::date::utc_timestamp;

/// The greatest depth of nodes. Deeper ones are written as JSON.
const MAX_DEPTH: usize = 48;

/// Whether a value is a document.
pub(super) fn is_document(value: &Json) -> bool {
    value.get("type").and_then(Json::as_str) == Some("doc") && value.get("content").is_some_and(Json::is_array)
}

pub(super) fn document_text(document: &Json) -> String {
    block_lines(node_children(document), 0).join("\n")
}

fn node_children(node: &Json) -> &[Json] {
    node.get("content").and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn node_kind(node: &Json) -> &str {
    node.get("type").and_then(Json::as_str).unwrap_or_default()
}

fn node_attribute<'n>(node: &'n Json, name: &str) -> Option<&'n Json> {
    node.get("attrs")?.get(name)
}

fn attribute_text<'n>(node: &'n Json, name: &str) -> Option<&'n str> {
    node_attribute(node, name)?.as_str()
}

/// The lines of nodes below each other.
fn block_lines(nodes: &[Json], depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for node in nodes {
        if is_inline(node) {
            push_inline(node, depth, &mut open);
            continue;
        }
        flush(&mut open, &mut lines);
        if depth > MAX_DEPTH {
            lines.push(node.to_string());
        } else {
            push_block(node, depth.saturating_add(1), &mut lines);
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

fn push_block(node: &Json, depth: usize, lines: &mut Vec<String>) {
    let below = |node: &Json| block_lines(node_children(node), depth);
    match node_kind(node) {
        "heading" => {
            let level = node_attribute(node, "level").and_then(Json::as_u64).unwrap_or(1).clamp(1, 6);
            let signs = "#".repeat(usize::try_from(level).unwrap_or(1));
            lines.push(format!("{signs} {}", below(node).join(" ")));
        }
        "bulletList" => node_children(node).iter().for_each(|item| lines.extend(indent_below_sign("- ", below(item)))),
        "orderedList" => {
            let first = node_attribute(node, "order").and_then(Json::as_u64).unwrap_or(1);
            for (number, item) in (first..).zip(node_children(node)) {
                lines.extend(indent_below_sign(&format!("{number}. "), below(item)));
            }
        }
        // A decision is made or open. Neither is a task.
        "decisionItem" => lines.extend(indent_below_sign("- Decision: ", below(node))),
        "taskItem" | "blockTaskItem" => {
            let is_done = attribute_text(node, "state") == Some("DONE");
            lines.extend(indent_below_sign(if is_done { "- [x] " } else { "- [ ] " }, below(node)));
        }
        "codeBlock" => {
            lines.push(format!("```{}", attribute_text(node, "language").unwrap_or_default()));
            lines.extend(below(node));
            lines.push("```".to_owned());
        }
        "blockquote" => lines.extend(below(node).into_iter().map(|line| format!("> {line}"))),
        "rule" => lines.push("----".to_owned()),
        "tableRow" => {
            let cells = node_children(node).iter().map(|cell| below(cell).join(" "));
            lines.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
        }
        "media" => lines.push(media(node)),
        "blockCard" | "embedCard" => lines.push(card_address(node)),
        _ => {
            let said = ["title", "text", "alt", "url"].into_iter().filter_map(|name| attribute_text(node, name));
            lines.extend(said.map(str::to_owned));
            macro_texts(node_attribute(node, "parameters"), depth, lines);
            lines.extend(below(node));
        }
    }
}

fn media(node: &Json) -> String {
    let name = ["alt", "fileName", "__fileName", "url"].into_iter().find_map(|name| attribute_text(node, name));
    format!("[media: {}]", name.unwrap_or("without description"))
}

/// The address of a card, or what describes its target where it has no address.
fn card_address(node: &Json) -> String {
    let data = |name: &str| node_attribute(node, "data").and_then(|data| data.get(name)).and_then(Json::as_str);
    let target = attribute_text(node, "url").or_else(|| data("url"));
    match (data("name"), target) {
        (Some(name), Some(target)) => format!("{name} ({target})"),
        (name, target) => name.or(target).unwrap_or_default().to_owned(),
    }
}

/// The values that somebody gave a macro.
fn macro_texts(parameters: Option<&Json>, depth: usize, lines: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    match parameters {
        Some(Json::Object(fields)) => {
            // `macroMetadata` is what the program says of the macro.
            let values = fields.iter().filter(|(name, _)| *name != "macroMetadata").map(|(_, value)| value);
            values.for_each(|value| macro_texts(Some(value), depth.saturating_add(1), lines));
        }
        Some(Json::Array(items)) => {
            items.iter().for_each(|item| macro_texts(Some(item), depth.saturating_add(1), lines));
        }
        Some(Json::String(text)) if !text.is_empty() => lines.push(text.clone()),
        _ => {}
    }
}

/// The first line behind a sign, all others below its text.
fn indent_below_sign(sign: &str, lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() {
        return vec![sign.trim_end().to_owned()];
    }
    let indent = " ".repeat(sign.len());
    let line = |(at, line): (usize, String)| if at == 0 { format!("{sign}{line}") } else { format!("{indent}{line}") };
    lines.into_iter().enumerate().map(line).collect()
}

fn is_inline(node: &Json) -> bool {
    let is_known = matches!(
        node_kind(node),
        "text"
            | "hardBreak"
            | "mention"
            | "emoji"
            | "inlineCard"
            | "status"
            | "date"
            | "placeholder"
            | "mediaInline"
            | "inlineExtension"
    );
    is_known || node.get("text").is_some()
}

fn push_inline(node: &Json, depth: usize, out: &mut String) {
    match node_kind(node) {
        "hardBreak" => out.push('\n'),
        "inlineCard" => out.push_str(&card_address(node)),
        "mediaInline" => out.push_str(&media(node)),
        "inlineExtension" => {
            let mut lines: Vec<String> = attribute_text(node, "text").map(str::to_owned).into_iter().collect();
            macro_texts(node_attribute(node, "parameters"), depth, &mut lines);
            out.push_str(&lines.join(" "));
        }
        "date" => {
            let said = node_attribute(node, "timestamp");
            let milliseconds = said.and_then(|said| said.as_i64().or_else(|| said.as_str()?.parse().ok()));
            let date = milliseconds.map(|milliseconds: i64| utc_timestamp(Time(milliseconds)));
            let date = date.as_deref().and_then(|date| date.split('T').next());
            out.push_str(date.or_else(|| said?.as_str()).unwrap_or_default());
        }
        // A mention may have lost its name.
        "mention" => match attribute_text(node, "text").filter(|text| !text.is_empty()) {
            Some(name) => out.push_str(name),
            None => out.push_str(&format!("@{}", attribute_text(node, "id").unwrap_or("unknown"))),
        },
        "status" | "placeholder" => out.push_str(attribute_text(node, "text").unwrap_or_default()),
        "emoji" => {
            let name = attribute_text(node, "text").or_else(|| attribute_text(node, "shortName"));
            out.push_str(name.unwrap_or_default());
        }
        _ => {
            let text = node.get("text").and_then(Json::as_str).unwrap_or_default();
            let marks = node.get("marks").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
            let link =
                marks.iter().find(|mark| node_kind(mark) == "link").and_then(|mark| attribute_text(mark, "href"));
            // Struck-out text no longer counts.
            if marks.iter().any(|mark| node_kind(mark) == "strike") {
                out.push_str(&format!("~~{text}~~"));
            } else {
                out.push_str(text);
            }
            if let Some(link) = link.filter(|link| *link != text) {
                out.push_str(&format!(" ({link})"));
            }
            if !node_children(node).is_empty() && depth <= MAX_DEPTH {
                out.push_str(&block_lines(node_children(node), depth.saturating_add(1)).join("\n"));
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
        assert_eq!(document_text(&document), expected, "{content}");
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
    fn every_kind_of_node_is_read_as_what_it_is() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let item =
            |kind: &str, state: &str| json!({ "type": kind, "attrs": { "state": state }, "content": [text("x")] });
        for (node, expected) in [
            (item("decisionItem", "DECIDED"), "- Decision: x"),
            (item("taskItem", "TODO"), "- [ ] x"),
            (item("blockTaskItem", "DONE"), "- [x] x"),
            (
                json!({ "type": "mediaSingle", "content": [
                { "type": "media", "attrs": { "id": "1" } }, { "type": "caption", "content": [text("a chart")] }] }),
                "[media: without description]\na chart",
            ),
            (
                json!({ "type": "blockCard", "attrs": { "data": { "name": "Plan", "url": "https://t.example/p" } } }),
                "Plan (https://t.example/p)",
            ),
            (
                json!({ "type": "extension", "attrs": { "extensionKey": "toc", "parameters": {
                "macroParams": { "title": { "value": "Contents" } }, "macroMetadata": { "schemaVersion": { "value": "1" } } } } }),
                "Contents",
            ),
            (
                json!({ "type": "nestedExpand", "attrs": { "title": "More" }, "content": [text("inside")] }),
                "More\ninside",
            ),
        ] {
            check(&json!([node]), expected);
        }
        let line = json!([{ "type": "paragraph", "content": [
            text("see "), { "type": "mediaInline", "attrs": { "alt": "a log" } }, text(" by "),
            { "type": "mention", "attrs": { "id": "5b10" } }, text(" on "),
            { "type": "date", "attrs": { "timestamp": 1_550_286_678_321_i64 } }, text(", "),
            { "type": "text", "text": "cancelled", "marks": [{ "type": "strike" }] },
            { "type": "inlineExtension", "attrs": { "text": " macro" } },
        ] }]);
        check(&line, "see [media: a log] by @5b10 on 2019-02-16, ~~cancelled~~ macro");
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
        assert!(document_text(&json!({ "type": "doc", "content": [deep] })).contains("bottom"));
    }

    proptest! {
        #[test]
        fn every_text_is_there(texts in proptest::collection::vec("[a-z]{1,8}", 1..8), kinds in proptest::collection::vec("[a-zA-Z]{1,12}", 1..8)) {
            let node = texts.iter().zip(kinds.iter().cycle()).fold(json!({ "type": "text", "text": "end" }), |inner, (text, kind)| {
                json!({ "type": kind, "content": [{ "type": "text", "text": text }, inner] })
            });
            let shown = document_text(&json!({ "type": "doc", "content": [node] }));
            for text in &texts {
                prop_assert!(shown.contains(text.as_str()), "{} in {}", text, shown);
            }
        }
    }
}
