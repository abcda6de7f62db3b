//! JSON with comments and trailing commas, as editors write it.

use alloc::string::String;

/// The text as plain JSON: comments and trailing commas are spaces, so every place stays the same.
///
/// A text that is not JSON stays none. The parser then says where.
///
/// ```
/// assert_eq!(proem_text::strip_json_comments("[1, /* two */]"), "[1           ]");
/// ```
#[must_use]
pub fn strip_json_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // The place of the last comma in `out`, as long as nothing but space and comments follow it.
    let mut comma = None;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_literal_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                rest.get(2..).and_then(|inner| inner.find("*/")).map_or(rest.len(), |end| end.saturating_add(4))
            }
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        if token.starts_with("//") || token.starts_with("/*") {
            out.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            continue;
        }
        match c {
            ',' => comma = Some(out.len()),
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..at.saturating_add(1), " ");
                }
            }
            c if c.is_whitespace() => {}
            _ => comma = None,
        }
        out.push_str(token);
    }
    out
}

/// The length of the string literal at the start, in bytes.
fn string_literal_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, expected) in [
            ("{\"a\": 1, // one\n \"b\": [1, 2,],}", "{\"a\": 1,       \n \"b\": [1, 2 ] }"),
            ("{\"a\": /* é\n */ 1, /* x */ }", "{\"a\":     \n    1          }"),
            ("{\"a\": \"// \\\" , }\"}", "{\"a\": \"// \\\" , }\"}"),
            ("[,]", "[ ]"),
            ("[1,,]", "[1, ]"),
            ("\u{feff}[1]", "[1]"),
            ("/* open", "       "),
            ("\"open", "\"open"),
            ("/", "/"),
        ] {
            assert_eq!(strip_json_comments(text), expected, "{text:?}");
        }
    }
}
