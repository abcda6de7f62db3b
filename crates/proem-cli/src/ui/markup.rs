//! Texts from outside in documents that somebody else renders.

use proem_guard::show;
use proem_text::shorten_text;

/// The most characters of a text from outside.
const SHOWN: usize = 200;

/// A text from outside: a code span, whatever is in it.
pub(crate) fn code_span(text: &str) -> String {
    let shown = show::terminal_str(text).into_string();
    let kept = shorten_text(&shown, SHOWN);
    let mut longest = 0_usize;
    let mut run = 0_usize;
    for c in kept.chars() {
        run = if c == '`' { run.saturating_add(1) } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.saturating_add(1));
    // A space on both sides is taken off again; without it a backtick at an end would join the fence.
    let needs_space = kept.is_empty() || kept.starts_with(['`', ' ']) || kept.ends_with(['`', ' ']);
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{kept}{space}{fence}")
}

/// A code span in a table: a bar would end the cell.
pub(crate) fn code_in_table(text: &str) -> String {
    code_span(text).replace('|', "\\|")
}

/// A message in plain text: brackets would be links (SARIF 2.1.0, 3.11.6).
pub(crate) fn sarif_text(text: &str) -> String {
    let shown = show::terminal_str(text).into_string();
    shown.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// A path as a relative URI: all but RFC 3986's unreserved characters and `/` are percent-encoded.
pub(crate) fn relative_uri(path: &str) -> String {
    path.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}
