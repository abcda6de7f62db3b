//! The kind of a file: by its name, else by its beginning.

use std::path::Path;

use proem_guard::LanguageFamily;

use super::{json, mail, syntax, unnamed_syntax};

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// One text, read as it is.
    Text,
    /// One text. The guard knows what Markdown hides.
    Markdown,
    /// One text in its source. The guard tells what is shown from what is not.
    Html,
    /// Headers, bodies and attachments (RFC 5322, RFC 2045).
    Mail,
    /// Every string and every key that is more than a name (RFC 8259).
    Json,
    /// One text, whose comments and strings are what people wrote.
    Source,
}

proem_text::word_table! {
    /// The word used in reports and on the command line.
    pub DocumentKind {
        Text = "text",
        Markdown = "markdown",
        Html = "html",
        Mail = "mail",
        Json = "json",
        Source = "source",
    }
}

impl DocumentKind {
    /// The source that its fields are labelled with.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Text => "file/text",
            Self::Markdown => "file/markdown",
            Self::Html => "file/html",
            Self::Mail => "file/mail",
            Self::Json => "file/json",
            Self::Source => "file/source",
        }
    }
}

/// The kind of a file with this name and these first bytes.
///
/// A known ending decides. Without one, a page begins with its document type or `<html`, a mail
/// with headers of which at least two are a mail's, and JSON is what parses as it.
#[must_use]
pub fn recognise_document(name: Option<&Path>, bytes: &[u8]) -> DocumentKind {
    if let Some(kind) = name.and_then(kind_by_ending) {
        return kind;
    }
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if [&b"<!doctype html"[..], b"<html"].iter().any(|page| starts_with_ignoring_case(start, page)) {
        return DocumentKind::Html;
    }
    if matches!(start.first(), Some(b'{' | b'[')) && json::is_valid(start) {
        return DocumentKind::Json;
    }
    if mail::looks_like_one(bytes) {
        return DocumentKind::Mail;
    }
    if name.is_none() && unnamed_syntax(bytes).is_some() { DocumentKind::Source } else { DocumentKind::Text }
}

fn kind_by_ending(name: &Path) -> Option<DocumentKind> {
    let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    Some(match ending.as_str() {
        "eml" | "mbox" => DocumentKind::Mail,
        "html" | "htm" | "xhtml" => DocumentKind::Html,
        "md" | "markdown" | "mdx" => DocumentKind::Markdown,
        "json" => DocumentKind::Json,
        _ => {
            return by_syntax(name);
        }
    })
}

/// Documents that are no Markdown, and settings, are one text. All else with a known name is source.
fn by_syntax(name: &Path) -> Option<DocumentKind> {
    Some(match syntax(name)? {
        LanguageFamily::Plain | LanguageFamily::Document => DocumentKind::Text,
        _ => DocumentKind::Source,
    })
}

fn starts_with_ignoring_case(bytes: &[u8], lower: &[u8]) -> bool {
    bytes.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides_then_the_beginning() {
        for (name, bytes, expected) in [
            ("a.eml", "anything", DocumentKind::Mail),
            ("a.EML", "", DocumentKind::Mail),
            ("a.md", "{}", DocumentKind::Markdown),
            ("a.json", "not json", DocumentKind::Json),
            ("a.txt", "<!doctype html>", DocumentKind::Text),
            ("a.jsonl", "{}\n{}", DocumentKind::Text),
            ("a", "\u{feff}\n <!DocType HTML>", DocumentKind::Html),
            ("a", "<html lang=en>", DocumentKind::Html),
            ("a", "<p>no page of its own", DocumentKind::Text),
            ("a.unknown", "{\"a\": 1}", DocumentKind::Json),
            ("a", "[1, 2]\n", DocumentKind::Json),
            ("a", "[1, 2] and a note", DocumentKind::Text),
            ("a", "From: a@example.org\nSubject: x\n\nbody", DocumentKind::Mail),
            ("a", "From x@example.org Mon Jan 1\nFrom: a@example.org\r\nTo: b\r\n", DocumentKind::Mail),
            ("a", "Received: by x\n\tfor y\nfrom: a\n\n", DocumentKind::Mail),
            ("a", "Subject: a note\nthat goes on", DocumentKind::Text),
            ("a", "Note: this\nTodo: that\n\n", DocumentKind::Text),
            ("a", "", DocumentKind::Text),
            ("a.rs", "<html>", DocumentKind::Source),
            ("a.toml", "", DocumentKind::Source),
            ("Makefile", "", DocumentKind::Source),
            ("a.rst", "", DocumentKind::Text),
            ("README", "From: a@example.org\nTo: b\n\n", DocumentKind::Text),
        ] {
            assert_eq!(recognise_document(Some(Path::new(name)), bytes.as_bytes()), expected, "{name} {bytes:?}");
        }
    }
}
