//! How a request differs from the recorded one, for a person.

use proem_guard::show;
use serde_json::Value as Json;
use similar::{Algorithm, TextDiff};

use super::contents::{CassetteFile, TapedRequest};
use crate::wire::WireRequest;

/// The most lines of a difference.
const MOST_LINES: usize = 60;
/// Longer lines are broken, so that a change in a long text doesn't show all of it.
const WIDTH: usize = 160;

/// The difference in path, headers and body, indented as what belongs to the line above it. `None` if there is none.
pub(super) fn request_difference(stored: &CassetteFile, request: &WireRequest) -> Option<String> {
    let request = TapedRequest::of(request);
    let (recorded, sent) = (readable_request(&stored.request), readable_request(&request));
    // A number may come back from a file as its neighbour. Both go the same way.
    if recorded == sent || recorded == readable_request(&TapedRequest { body: read_back(&request.body), ..request }) {
        return None;
    }
    let difference = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(&recorded, &sent);
    let unified = difference.unified_diff().context_radius(3).to_string();
    let lines: Vec<&str> = unified.lines().collect();
    let mut shown: Vec<String> =
        lines.iter().take(MOST_LINES).map(|line| show::terminal_str(line).into_string()).collect();
    if let more @ 1.. = lines.len().saturating_sub(MOST_LINES) {
        // This remark is one of the lines.
        shown.truncate(MOST_LINES.saturating_sub(1));
        shown.push(format!("… {} more lines", more.saturating_add(1)));
    }
    let indented: Vec<String> = shown.into_iter().map(|line| format!("  {line}")).collect();
    Some(indented.join("\n"))
}

fn read_back(body: &Json) -> Json {
    serde_json::from_str(&proem_text::json::compact(body)).unwrap_or_default()
}

/// The request as lines: a text's line breaks, which JSON escapes, are line breaks too.
fn readable_request(request: &TapedRequest) -> String {
    let mut out = format!("POST {}\n", request.path);
    for (name, value) in &request.headers {
        out.push_str(&format!("{name}: {value}\n"));
    }
    out.push('\n');
    let mut width = 0_usize;
    let mut is_escaped = false;
    for c in proem_text::json::pretty(&request.body).chars() {
        out.push(c);
        width = if c == '\n' { 0 } else { width.saturating_add(1) };
        if (is_escaped && c == 'n') || (width >= WIDTH && c != '\\' && !is_escaped) {
            out.push('\n');
            width = 0;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_texts_are_lines() {
        let asked = |text: &str| {
            let headers = vec![("accept".to_owned(), "a/b".to_owned())];
            readable_request(&TapedRequest { path: "/a".to_owned(), headers, body: json!(text) })
        };
        assert_eq!(asked("one\ntwo\\n"), "POST /a\naccept: a/b\n\n\"one\\n\ntwo\\\\n\"\n");
        let long = asked(&"x".repeat(400));
        assert_eq!(long.lines().map(str::len).collect::<Vec<_>>(), [7, 11, 0, 160, 160, 82]);
    }
}
