//! The reading of files with any contents.

use std::{
    fs,
    io::{self, Read},
    path::Path,
    process::Command,
};

use proem_guard::show;
use proem_runtime::readers::{
    Document, DocumentField, DocumentKind, DocumentLimits, DocumentOptions, ReadError, UnreadTail, extract,
    read_named_document, read_stream,
};
use proem_text::Source;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::skipped::skip;

/// Each field as `name @line:column "text"`, each gap as `! reason field: about`.
pub(crate) fn lines(document: &Document) -> String {
    let place =
        |field: &DocumentField| field.place.map_or_else(String::new, |at| format!(" @{}:{}", at.line, at.column));
    let fields = document
        .fields
        .iter()
        .map(|field| format!("{}{} {}\n", field.name, place(field), show::exact_json(&field.text)));
    let gaps = document.gaps.iter().map(|gap| format!("! {} {}: {}\n", gap.reason.as_str(), gap.field, gap.about));
    fields.chain(gaps).collect()
}

pub(crate) fn of_kind(kind: DocumentKind, bytes: &[u8]) -> Document {
    extract(bytes, UnreadTail::Nothing, &DocumentOptions { kind: Some(kind), ..DocumentOptions::default() })
}

#[track_caller]
fn check(kind: DocumentKind, bytes: &[u8], expected: &str) {
    assert_eq!(lines(&of_kind(kind, bytes)), expected, "{:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn a_text_is_one_field() {
    check(DocumentKind::Text, b"", "");
    check(DocumentKind::Markdown, "# é\n".as_bytes(), " @1:1 \"# é\\n\"\n");
    check(DocumentKind::Text, b"\xef\xbb\xbfa", " @1:2 \"a\"\n");
    check(DocumentKind::Text, b"\xff\xfea\0", " \"a\"\n");
    let replaced = "! replaced : 1 invalid character; read as U+FFFD\n";
    check(DocumentKind::Text, b"caf\xe9 au lait", &format!(" \"caf\u{fffd} au lait\"\n{replaced}"));
    check(DocumentKind::Text, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "! not-text : 16 bytes that are not text\n");
    check(DocumentKind::Html, b"<meta charset=latin1>\xe9", " \"<meta charset=latin1>é\"\n");
    check(DocumentKind::Html, "<p>é".as_bytes(), " @1:1 \"<p>é\"\n");
    let unknown = "! unknown : unknown character set; read as UTF-8\n";
    check(DocumentKind::Html, b"<meta charset=klingon>", &format!(" @1:1 \"<meta charset=klingon>\"\n{unknown}"));
}

#[test]
fn fields_carry_their_source() {
    let label = |ask: &DocumentOptions<'_>| {
        let document = extract(b"a", UnreadTail::Nothing, ask);
        format!("{:?}", document.fields[0].text.label().sources())
    };
    assert!(label(&DocumentOptions::default()).contains("\"file/text\""));
    let source = Some(Source::named("jira/comment"));
    assert!(label(&DocumentOptions { source, ..DocumentOptions::default() }).contains("\"jira/comment\""));
}

/// A stream that never ends.
struct Endless;

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn no_more_is_read_than_was_asked_for() {
    let limits = DocumentLimits { bytes: 5, ..DocumentLimits::default() };
    let ask = DocumentOptions { limits, ..DocumentOptions::default() };
    let rest = "! too-long : everything after the first 5 bytes\n";
    assert_eq!(lines(&read_stream(Endless, &ask).unwrap()), format!(" @1:1 \"xxxxx\"\n{rest}"));
    assert_eq!(lines(&read_stream(&b"abcde"[..], &ask).unwrap()), " @1:1 \"abcde\"\n");
    // A character that the cut goes through is left out, and is no broken character.
    for (text, kept) in [("abcd\u{e9}", "abcd"), ("abc日", "abc"), ("ab😀", "ab"), ("ab日x", "ab日")] {
        let document = read_stream(text.as_bytes(), &ask).unwrap();
        let rest = format!("! too-long : everything after the first {} bytes\n", kept.len());
        assert_eq!(lines(&document), format!(" @1:1 \"{kept}\"\n{rest}"));
        assert_eq!(document.bytes, kept.len());
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "{\"a\": \"b\"}").unwrap();
    let document = read_named_document(&path, &ask).unwrap();
    assert_eq!(document.kind, DocumentKind::Json);
    assert!(lines(&document).ends_with("! too-long : 5 bytes after the first 5 bytes\n"), "{}", lines(&document));
}

/// A sparse file: a gigabyte for the reader, nothing on the disk.
#[test]
fn a_gigabyte_of_one_line_is_a_gap() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.txt");
    let file = fs::File::create(&path).unwrap();
    file.set_len(1 << 30).unwrap();
    let document = read_named_document(&path, &DocumentOptions::default()).unwrap();
    let expected =
        "! not-text : 16777216 bytes that are not text\n! too-long : 1056964608 bytes after the first 16777216 bytes\n";
    assert_eq!(lines(&document), expected);
}

#[test]
fn only_files_are_read() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    fs::write(path("file.md"), "a").unwrap();
    std::os::unix::fs::symlink(path("file.md"), path("link.md")).unwrap();
    let why = |path: &Path| read_named_document(path, &DocumentOptions::default()).unwrap_err().to_string();
    assert_eq!(why(folder.path()), "is a folder; name the files in it");
    assert_eq!(why(&path("none")), "does not exist; check its name");
    assert_eq!(why(&path("file.md/x")), "does not exist; check its name");
    assert_eq!(why(&path("pipe")), "is a named pipe, not a file; send its content to standard input and name `-`");
    assert!(matches!(
        read_named_document(Path::new("/dev/null"), &DocumentOptions::default()),
        Err(ReadError::NotAFile("a device"))
    ));
    assert_eq!(
        read_named_document(&path("link.md"), &DocumentOptions::default()).unwrap().kind,
        DocumentKind::Markdown
    );
}

/// Real webhooks: every string that a JSON parser sees is a field.
#[test]
fn webhooks_lose_no_string() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join("shared/data/signals/jira");
    let Ok(entries) = fs::read_dir(&folder) else {
        skip("shared-data", format!("there is no `{}`", folder.display()));
        return;
    };
    let mut seen = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let document = read_named_document(&path, &DocumentOptions::default()).unwrap();
        assert_eq!((document.kind, document.gaps.len()), (DocumentKind::Json, 0), "{path:?}");
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let mut expected = Vec::new();
        strings(&value, &mut expected);
        let mut found: Vec<String> = document
            .fields
            .iter()
            .filter(|field| !field.name.ends_with(" key"))
            .map(|field| {
                let text = show::exact_json(&field.text).as_str().unwrap().to_owned();
                if let Some(place) = field.place {
                    assert!(bytes[place.offset..].starts_with(text.as_bytes()), "{path:?} {}", field.name);
                }
                if !field.name.contains(['%', '#']) {
                    assert_eq!(value.pointer(&field.name).unwrap().as_str().unwrap(), text, "{path:?} {}", field.name);
                }
                text
            })
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{path:?}");
        seen += 1;
    }
    assert!(seen >= 30, "{seen} webhooks");
}

fn strings(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) if !text.is_empty() => out.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, out)),
        _ => {}
    }
}

/// The laws of any reading.
#[track_caller]
pub(crate) fn check_reader_laws(bytes: &[u8], kind: Option<DocumentKind>, limits: DocumentLimits) {
    let document = extract(bytes, UnreadTail::Nothing, &DocumentOptions { kind, limits, ..DocumentOptions::default() });
    assert!(document.fields.len() <= limits.fields && document.gaps.len() <= limits.fields.saturating_add(2));
    for field in &document.fields {
        assert!(!field.text.is_empty());
        assert!(field.name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{}", field.name);
        if let Some(place) = field.place {
            let (before, at) = bytes.split_at(place.offset);
            let text = show::exact_json(&field.text);
            assert!(at.starts_with(text.as_str().unwrap().as_bytes()), "{} stands elsewhere", field.name);
            let before = before.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(place.line, before + 1);
        }
    }
    for gap in &document.gaps {
        assert!(gap.about.is_ascii() && gap.field.is_ascii() && gap.about.len() < 200, "{gap:?}");
    }
}

/// Pieces that structure is made of, and noise.
fn document_piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "\r\n",
        "\n",
        "\n\n",
        "--b",
        "--b--",
        "From: ",
        "Subject: ",
        "=?utf-8?q?",
        "=?utf-8?b?aGk",
        "?=",
        " ",
        "\t",
        ":",
        ";",
        "Content-Type: multipart/mixed; boundary=b",
        "Content-Type: multipart/digest; boundary=\"b\"",
        "=3D",
        "=\n",
        "(",
        "\"",
        "Content-Type: message/rfc822",
        "Content-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: quoted-printable",
        "Content-Disposition: attachment; filename*0*=utf-8''a%20; filename*1=b",
        "; charset=utf-7",
        "; charset=utf-16",
        "+AGk",
        "{",
        "}",
        "[",
        "]",
        "\"a\"",
        "\"\\ud800\"",
        "\"a b\":",
        ",",
        "1",
        "null",
        "\\u0069",
        "<html>",
        "<meta charset=big5>",
        "é",
        "日",
    ]);
    prop_oneof![8 => known.prop_map(|text| text.as_bytes().to_vec()), 2 => prop::collection::vec(any::<u8>(), 0..4)]
}

proptest! {
    #[test]
    fn anything_is_read_within_bounds(
        pieces in prop::collection::vec(document_piece(), 0..60),
        kind in prop::sample::select(vec![None, Some(DocumentKind::Text), Some(DocumentKind::Html), Some(DocumentKind::Mail), Some(DocumentKind::Json)]),
        fields in 0_usize..6,
        depth in 0_usize..4,
    ) {
        check_reader_laws(&pieces.concat(), kind, DocumentLimits { fields, depth, ..DocumentLimits::default() });
    }
}
