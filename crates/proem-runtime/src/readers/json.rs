//! JSON: every string is a field, named by its pointer.
//!
//! A reader of our own, since what is scanned must be all that any program could see: of two equal
//! keys both values count, a lone surrogate (`\ud800`) is U+FFFD instead of the end of everything,
//! and each string has its place in the file. Nothing recurses.

mod walk;

use super::{GapReason, collect::Collector, push_whole};
use walk::{FaultKind, JsonFault, JsonString, JsonStringRole, JsonWalk};

/// The longest name of a field in bytes; what is longer is told apart by its number.
const LONGEST_NAME: usize = 200;

/// How deep values may be in one another when a file is only recognised.
const DEPTH: usize = 128;

/// Adds the strings of a file. One that isn't JSON, or is too deep, is one text with a gap.
pub(super) fn read_json_strings(bytes: &[u8], collector: &mut Collector<'_>) {
    let Some(decoded) = collector.decode("", bytes, None) else { return };
    let fault = match check_json(&decoded.text, collector.limits().depth) {
        Ok(()) => {
            strings(&decoded.text, decoded.verbatim_from, collector);
            return;
        }
        Err(fault) => fault,
    };
    let (line, column) = proem_text::line_column(&decoded.text, fault.at);
    let (reason, what) = match fault.kind {
        FaultKind::TooDeep => (GapReason::TooDeep, "values are nested too deeply"),
        FaultKind::Invalid => (GapReason::Malformed, "not valid JSON"),
    };
    collector.gap(reason, "", format!("{what} at line {line}, column {column}; read as plain text"));
    push_whole(decoded, collector);
}

/// Whether it is JSON.
pub(super) fn is_valid(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| check_json(text, DEPTH).is_ok())
}

fn check_json(text: &str, depth: usize) -> Result<(), JsonFault> {
    JsonWalk::new(text, depth).run(&mut |_| {})
}

fn strings(text: &str, base: Option<usize>, collector: &mut Collector<'_>) {
    let mut number = 0_usize;
    let mut left_out = 0_usize;
    // The text was checked: there is no fault in it.
    _ = JsonWalk::new(text, collector.limits().depth).run(&mut |found| {
        number = number.saturating_add(1);
        if !collector.has_room() {
            left_out = left_out.saturating_add(1);
            return;
        }
        let (string, replaced) = unescape_json(found.raw);
        let at = base.filter(|_| !found.raw.contains('\\')).map(|base| base.saturating_add(found.at));
        let name = pointer_name(found, number);
        if replaced > 0 {
            collector.replaced(&name, replaced);
        }
        collector.push(name, string, at);
    });
    if left_out > 0 {
        let about = format!("{left_out} strings not read, after the limit of {}", collector.limits().fields);
        collector.gap(GapReason::TooMany, "", about);
    }
}

fn pointer_name(found: &JsonString<'_>, number: usize) -> String {
    let mut name = match found.pointer.get(..LONGEST_NAME) {
        Some(start) if found.pointer.len() > LONGEST_NAME => format!("{start}...#{number}"),
        _ => found.pointer.to_owned(),
    };
    if found.role == JsonStringRole::Key {
        name.push_str(" key");
    }
    name
}

/// The text of a string, and how many lone surrogates became U+FFFD. Its escapes are well formed.
fn unescape_json(raw: &str) -> (String, usize) {
    let mut out = String::with_capacity(raw.len());
    let mut replaced = 0_usize;
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = after.chars();
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (units, after) = surrogates(after);
                for c in char::decode_utf16(units) {
                    replaced = replaced.saturating_add(usize::from(c.is_err()));
                    out.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                rest = after;
                continue;
            }
            Some(itself) => out.push(itself),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    (out, replaced)
}

/// The code units of the escapes at the start of `text` (`uXXXX\uXXXX…`), and what follows them.
fn surrogates(text: &str) -> (Vec<u16>, &str) {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(if units.is_empty() { "u" } else { "\\u" }) {
        let Some((digits, after)) = after.split_at_checked(4) else { break };
        units.push(u16::from_str_radix(digits, 16).unwrap_or(0xfffd));
        rest = after;
    }
    (units, rest)
}

#[cfg(test)]
mod tests {
    use proem_guard::show;
    use proem_text::Source;

    use super::*;
    use crate::readers::DocumentLimits;

    /// Each field as `name = "text" @offset`, each gap as `! about`.
    fn fields_of(json: &str, limits: DocumentLimits) -> Vec<String> {
        let mut collector = Collector::new(json.as_bytes(), Source::named("file/json"), limits);
        read_json_strings(json.as_bytes(), &mut collector);
        let (fields, gaps) = collector.finish();
        let place = |at: Option<usize>| at.map_or_else(String::new, |at| format!(" @{at}"));
        let fields = fields.iter().map(|field| {
            let at = place(field.place.map(|place| place.offset));
            format!("{} = {}{at}", field.name, show::exact_json(&field.text))
        });
        let gaps = gaps.iter().map(|gap| format!("! {} {}", gap.field, gap.about));
        fields.chain(gaps).collect()
    }

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        assert_eq!(fields_of(json, DocumentLimits::default()), expected, "{json}");
    }

    #[test]
    fn every_string_is_a_field() {
        check(r#""a""#, &[" = \"a\" @1"]);
        check(
            r#"{"a": ["x", {"b": "y"}, 1, null, true, -1.5e3, []], "c": {}}"#,
            &["/a/0 = \"x\" @8", "/a/1/b = \"y\" @19"],
        );
        check(r#" [["a"], ["b", "", "c"]] "#, &["/0/0 = \"a\" @4", "/1/0 = \"b\" @11", "/1/2 = \"c\" @20"]);
        check(r#"{"a": "x", "a": "y"}"#, &["/a = \"x\" @7", "/a = \"y\" @17"]);
        check(r#"{"toString": "\u0069\ud83d\ude00\n\"\/"}"#, &[r#"/toString = "i😀\n\"/""#]);
        check("{\"a\": \"é\nb\"}", &[r#"/a = "é\nb" @7"#]);
    }

    #[test]
    fn a_key_that_is_more_than_a_name_is_a_field() {
        check(
            r#"{"do this now": 1, "a~/b": "x", "ünder": {"c": "y"}, "": "z"}"#,
            &[
                r#"/do%20this%20now key = "do this now" @2"#,
                r#"/a~0~1b key = "a~/b" @20"#,
                r#"/a~0~1b = "x" @28"#,
                r#"/%C3%BCnder key = "ünder" @33"#,
                r#"/%C3%BCnder/c = "y" @49"#,
                r#"/ = "z" @59"#,
            ],
        );
        let key = "k".repeat(65);
        let long = format!(r#"{{"{key}": {{"{key}": {{"{key}": {{"{key}": "x"}}}}}}}}"#);
        let fields = fields_of(&long, DocumentLimits::default());
        assert!(fields.iter().any(|field| field.starts_with(&format!("/{key}/{key}/{key}/k...#5 = "))), "{fields:?}");
    }

    #[test]
    fn a_lone_surrogate_is_a_gap_and_no_error() {
        let gap = "! /a 1 invalid character; read as U+FFFD";
        check(r#"{"a": "x\ud800y"}"#, &["/a = \"x\u{fffd}y\"", gap]);
        check(r#"{"a": "\ude00\u0061"}"#, &["/a = \"\u{fffd}a\"", gap]);
    }

    #[test]
    fn what_is_no_json_is_one_text() {
        for (json, at) in [
            ("{", "1, column 2"),
            ("{}\n{}", "2, column 1"),
            (r#"{"a" 1}"#, "1, column 6"),
            (r#"{"a": 1,}"#, "1, column 9"),
            (r#"["a\x"]"#, "1, column 5"),
            (r#"["\u12"]"#, "1, column 7"),
            ("[nul]", "1, column 2"),
            ("[-]", "1, column 2"),
            ("[1 2]", "1, column 4"),
            ("\"a", "1, column 3"),
        ] {
            let gap = format!("!  not valid JSON at line {at}; read as plain text");
            let fields = fields_of(json, DocumentLimits::default());
            assert_eq!(fields.get(1), Some(&gap), "{json}");
            assert!(fields.len() == 2 && fields[0].starts_with(" = "), "{fields:?}");
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let deep = |levels: usize| format!("{}\"x\"{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(fields_of(&deep(128), DocumentLimits::default()).len(), 1);
        let fields = fields_of(&deep(129), DocumentLimits::default());
        assert!(fields[1].starts_with("!  values are nested too deeply at line 1, column 129"), "{fields:?}");
        assert_eq!(fields_of(&"[".repeat(1_000_000), DocumentLimits::default()).len(), 2);
        let limits = DocumentLimits { fields: 2, ..DocumentLimits::default() };
        let fields = fields_of(r#"["a", "b", "c", "d"]"#, limits);
        assert_eq!(fields[2], "!  2 strings not read, after the limit of 2");
    }
}
