//! Credentials: they enter by name, and leave only into the header of a request.
//!
//! A [`Secret`] can't be printed or written down. [`find_secret`] looks for secrets in what is about to be kept,
//! [`redact_secrets`] takes them out of it. A [`SecretFinder`] does either for many texts.

mod progress;
mod search;
mod stream;
mod views;

pub use self::stream::SecretStream;

use core::fmt;

use proem_text::json;
use serde_json::Value as Json;

/// The shortest secret that is searched for, in bytes: a shorter one would be found everywhere.
pub const SHORTEST: usize = 16;

/// A credential and the name that it was loaded by.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    /// A credential that was loaded by `name`, such as the name of a variable.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// The name that it was loaded by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The credential, for the one header that carries it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A secret that is in `text`: as it is, escaped as in JSON, percent-encoded in part or in full, up to three of these
/// on top of each other, and in base64 (either alphabet, at any place of what was encoded), alone or below them. Also
/// with space or line breaks within, and, in letters of either case, as it is, in hexadecimal digits or turned round.
///
/// Secrets shorter than [`SHORTEST`] are not searched for. The time is linear in the text.
#[must_use]
pub fn find_secret<'s>(secrets: &'s [Secret], text: &[u8]) -> Option<&'s Secret> {
    SecretFinder::new(secrets).find(text)
}

/// The text without its secrets, each replaced by `[redacted:NAME]`. `None` if [`find_secret`] finds none.
///
/// If a secret is in another form than the literal one, or a name would give one away, nothing but a marker is left.
/// The result holds no secret that [`find_secret`] finds.
#[must_use]
pub fn redact_secrets(secrets: &[Secret], text: &str) -> Option<String> {
    SecretFinder::new(secrets).redact(text)
}

/// Looks for the same secrets in many texts.
pub struct SecretFinder<'s> {
    /// Those that are long enough, and how they are searched for. `None` if there are none.
    search: Option<(Vec<&'s Secret>, Searches)>,
}

/// The needles for a text, and those for the text without space and case.
struct Searches {
    exact: search::NeedleSearch,
    folded: search::NeedleSearch,
}

impl Searches {
    fn of(secrets: &[&Secret]) -> Self {
        let values = || secrets.iter().map(|secret| secret.value.as_bytes());
        Self { exact: search::NeedleSearch::new(values()), folded: search::NeedleSearch::folded(values()) }
    }

    fn find(&self, view: &[u8]) -> Option<usize> {
        self.exact.find(view).or_else(|| {
            let mut bare = without_space(view);
            let spaced = if bare.len() == view.len() { None } else { self.exact.find(&bare) };
            bare.make_ascii_lowercase();
            spaced.or_else(|| self.folded.find(&bare))
        })
    }
}

/// The text without its space. Every byte is written, and where the next one goes depends on what it is: to jump over
/// space, at each word, costs more.
fn without_space(text: &[u8]) -> Vec<u8> {
    let (mut bare, mut length) = (vec![0; text.len()], 0_usize);
    for byte in text {
        if let Some(place) = bare.get_mut(length) {
            *place = *byte;
        }
        length = length.wrapping_add(usize::from(!byte.is_ascii_whitespace()));
    }
    bare.truncate(length);
    bare
}

impl fmt::Debug for SecretFinder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<'s> SecretFinder<'s> {
    /// A finder of these secrets.
    #[must_use]
    pub fn new(secrets: &'s [Secret]) -> Self {
        let mut searched: Vec<&Secret> = secrets.iter().filter(|secret| secret.value.len() >= SHORTEST).collect();
        // A secret that holds another is taken out as a whole.
        searched.sort_by_key(|secret| core::cmp::Reverse(secret.value.len()));
        let search = (!searched.is_empty()).then(|| {
            let searches = Searches::of(&searched);
            (searched, searches)
        });
        Self { search }
    }

    /// One of the secrets that `text` holds in some form, as [`find_secret`] finds it.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<&'s Secret> {
        let (searched, searches) = self.search.as_ref()?;
        let found = views::any(text, &mut |view| searches.find(view))?;
        searched.get(found).copied()
    }

    /// `text` with a marker in the place of each secret, as [`redact_secrets`] makes it. `None` if it holds none.
    #[must_use]
    pub fn redact(&self, text: &str) -> Option<String> {
        let found = self.find(text.as_bytes())?;
        let (searched, _) = self.search.as_ref()?;
        let marker = |secret: &Secret| format!("[redacted:{}]", secret.name);
        let replaced =
            searched.iter().fold(text.to_owned(), |text, secret| text.replace(&secret.value, &marker(secret)));
        // The last of them is shorter than any secret that is searched for.
        let mut left = [replaced, marker(found)].into_iter();
        let clean = left.find(|text| self.find(text.as_bytes()).is_none());
        Some(clean.unwrap_or_else(|| "[redacted]".to_owned()))
    }

    /// As [`Self::redact`], line by line, so that a report loses no more than it has to. A secret that is on
    /// several lines takes all of them with it.
    #[must_use]
    pub fn redact_lines(&self, text: &str) -> Option<String> {
        self.find(text.as_bytes())?;
        let clean = |line: &str| {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            self.redact(line).unwrap_or_else(|| line.to_owned()) + end
        };
        let lines: String = text.split_inclusive('\n').map(clean).collect();
        Some(self.redact(&lines).unwrap_or(lines))
    }

    /// As [`Self::redact`], for the texts and keys of a value.
    #[must_use]
    pub fn redact_json(&self, value: &Json) -> Option<Json> {
        self.find(json::compact(value).as_bytes())?;
        let clean = self.within(value);
        // One that only the text of the whole shows.
        Some(self.redact(&json::compact(&clean)).map_or(clean, |_| Json::String("[redacted]".to_owned())))
    }

    fn within(&self, value: &Json) -> Json {
        let text = |text: &String| self.redact(text).unwrap_or_else(|| text.clone());
        match value {
            Json::String(string) => Json::String(text(string)),
            Json::Array(items) => items.iter().map(|item| self.within(item)).collect(),
            Json::Object(fields) => fields.iter().map(|(key, value)| (text(key), self.within(value))).collect(),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    const KEY: &str = "sk-ant/api03+\"q\\0123456789";

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let secrets = [
            Secret::new("SHORT", "fifteen-letters"),
            Secret::new("ONE", KEY),
            Secret::new("OTHER", "abcdefghijklmnop"),
        ];
        assert_eq!(find_secret(&secrets, text.as_bytes()).map(Secret::name), expected, "{text:?}");
    }

    #[test]
    fn forms() {
        check("", None);
        check("nothing of the kind", None);
        check("fifteen-letters", None);
        check(KEY, Some("ONE"));
        check("xxabcdefghijklmnopxx", Some("OTHER"));
        check("abcdefghijklmno", None);
        check("abcdefghijklmnoq", None);
        // JSON, also within JSON and with escapes that nobody needs.
        check(r#"{"a":"sk-ant/api03+\"q\\0123456789"}"#, Some("ONE"));
        check(r#"{"a":"{\"b\":\"sk-ant/api03+\\\"q\\\\0123456789\"}"}"#, Some("ONE"));
        check(r#"sk-ant\/api03\u002b\u0022q\u005C0123456789"#, Some("ONE"));
        check(r"abcdefgh\u0069jklmnop", Some("OTHER"));
        // Percent-encoded.
        check("k=sk-ant%2Fapi03%2B%22q%5C0123456789", Some("ONE"));
        check("k=sk-ant/api03%2b%22q%5c0123456789&x", Some("ONE"));
        check("%61bcdefghijklmno%70", Some("OTHER"));
        check("%2561bcdefghijklmnop", Some("OTHER"));
        check(r#""\u002561bcdefghijklmnop""#, Some("OTHER"));
        check("100% abcdefgh%zzijklmnop%", None);
        // Base64, at the start, behind one byte and behind two.
        for before in ["", "u", "us", "user:"] {
            for after in ["", "x", "yz", ":rest"] {
                let text = format!("{before}{KEY}{after}");
                check(&format!("Basic {}", STANDARD.encode(&text)), Some("ONE"));
                check(&format!("Basic {}.", URL_SAFE_NO_PAD.encode(&text)), Some("ONE"));
                check(&STANDARD.encode(&text).replace('/', "\\/").replace('+', "%2B"), Some("ONE"));
            }
        }
        check(&STANDARD.encode("abcdefghijklmn"), None);
        // Turned, in digits, in capitals, with space: also below an encoding and on top of each other.
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let turned = |text: &str| text.bytes().rev().map(char::from).collect::<String>();
        let spaced = |text: &str, by: &str| text.chars().map(|c| format!("{c}{by}")).collect::<String>();
        let forms = [hex(KEY), hex(KEY).to_uppercase(), turned(KEY), KEY.to_uppercase(), KEY.to_lowercase()];
        for form in forms.iter().map(String::as_str).chain([KEY]) {
            for text in [form.to_owned(), spaced(form, " "), spaced(form, "\n"), spaced(&form.to_uppercase(), "\t ")] {
                check(&format!("x {text} y"), Some("ONE"));
                check(&serde_json::to_string(&text).unwrap(), Some("ONE"));
            }
        }
        check(&spaced(&STANDARD.encode(KEY), "\r\n"), Some("ONE"));
        check(&hex("abcdefghijklmno"), None);
        check("a b c d e f g h i j k l m n o", None);
    }

    #[test]
    fn a_secret_that_looks_encoded_is_found_as_it_is() {
        let value = r"percent%41and\nline";
        let secrets = [Secret::new("A", value)];
        let json = r"percent%41and\\nline";
        for text in [value, json, "percent%2541and%5Cnline", &STANDARD.encode(value)] {
            assert!(find_secret(&secrets, text.as_bytes()).is_some(), "{text}");
        }
        assert!(find_secret(&secrets, b"percentAand\nline").is_none());
    }

    #[test]
    fn ten_megabytes_that_are_almost_the_secret() {
        let secrets = [Secret::new("A", "a".repeat(40))];
        let line = format!("{}b%61\\u0061", "a".repeat(39));
        let mut text = line.repeat(10_000_000 / line.len()).into_bytes();
        text.extend(b"....");
        // The escapes join to runs of 41 once they are read, which is a find.
        assert!(find_secret(&secrets, &text).is_some());
        let line = format!("{}b", "a".repeat(39));
        assert!(find_secret(&secrets, &line.repeat(10_000_000 / line.len()).into_bytes()).is_none());
    }

    #[test]
    fn secrets_are_taken_out() {
        let secrets =
            [Secret::new("SHORT", "fifteen-letters"), Secret::new("ONE", KEY), Secret::new("ABC", "abcdefghijklmnop")];
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(redact_secrets(&secrets, text).as_deref(), expected, "{text:?}");
        };
        check("nothing of the kind, fifteen-letters", None);
        check(&format!("key={KEY};"), Some("key=[redacted:ONE];"));
        check(&format!("{KEY} abcdefghijklmnop {KEY}"), Some("[redacted:ONE] [redacted:ABC] [redacted:ONE]"));
        // In another form nothing of the text is left.
        check(&format!("Basic {}", STANDARD.encode(KEY)), Some("[redacted:ONE]"));
        check(&format!("abcdefghijklmnop and {}", STANDARD.encode(KEY)), Some("[redacted:ABC]"));
    }

    #[test]
    fn a_report_keeps_its_other_lines() {
        let secrets = [Secret::new("ONE", KEY)];
        let finder = SecretFinder::new(&secrets);
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(finder.redact_lines(text).as_deref(), expected, "{text:?}");
        };
        check("a\nb\n", None);
        check(&format!("a\nb {KEY} c\nd\n"), Some("a\nb [redacted:ONE] c\nd\n"));
        check(&format!("a\nb {}\nd", STANDARD.encode(KEY)), Some("a\n[redacted:ONE]\nd"));
        let (one, other) = KEY.split_at(9);
        check(&format!("a\n{one}\n{other}\nd"), Some("[redacted:ONE]"));
        let value = json!({ "a": [KEY, 1], (KEY): { "b": "x" } });
        let clean = json!({ "a": ["[redacted:ONE]", 1], "[redacted:ONE]": { "b": "x" } });
        assert_eq!(finder.redact_json(&value), Some(clean.clone()));
        assert_eq!(finder.redact_json(&clean), None);
    }

    #[test]
    fn a_secret_within_another_or_in_a_name_stays_hidden() {
        let long = "abcdefghijklmnop-and-more";
        let secrets = [Secret::new("PART", "abcdefghijklmnop"), Secret::new("ALL", long)];
        assert_eq!(redact_secrets(&secrets, long).as_deref(), Some("[redacted:ALL]"));
        let placeholder = [Secret::new("EXAMPLE_API_TOKEN", "EXAMPLE_API_TOKEN")];
        assert_eq!(redact_secrets(&placeholder, "x EXAMPLE_API_TOKEN").as_deref(), Some("[redacted]"));
    }

    #[test]
    fn nothing_shows_it() {
        assert_eq!(format!("{:?}", SecretFinder::new(&[Secret::new("KEY", "sixteen-letters!")])), "[redacted]");
        assert_eq!(format!("{:?}", Secret::new("KEY", "value")), "[redacted]");
    }

    /// Percent-encodes the bytes for which `choices` says so, and each `%`, without which it is no encoding.
    fn percent(text: &str, choices: &[u8]) -> String {
        let choices = choices.iter().copied().chain(core::iter::repeat(1));
        let byte = |(byte, choice): (u8, u8)| match choice {
            0 if byte.is_ascii() && byte != b'%' => char::from(byte).to_string(),
            0 | 1 => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        text.bytes().zip(choices).map(byte).collect()
    }

    /// Escapes the characters for which `choices` says so, and those that must be.
    fn escaped_json(text: &str, choices: &[u8]) -> String {
        let choices = choices.iter().copied().chain(core::iter::repeat(1));
        let mut out = String::new();
        for (c, choice) in text.chars().zip(choices) {
            match (c, choice) {
                ('"' | '\\', 0) => out.extend(['\\', c]),
                (c, 0) if !c.is_control() => out.push(c),
                (c, 1) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
                (c, _) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}"))),
            }
        }
        out
    }

    fn value() -> impl Strategy<Value = String> {
        prop_oneof!["[!-~]{16,80}", "[ -~äé日👍]{16,40}", "sk-[A-Za-z0-9_-]{20,100}"]
    }

    proptest! {
        #[test]
        fn an_embedded_secret_is_found(
            value in value(), before in vec(any::<u8>(), 0..50), after in vec(any::<u8>(), 0..50),
            choices in vec(0u8..3, 0..80), form in 0usize..12, wrapped in 0usize..3,
        ) {
            let inner = [&before[..], value.as_bytes(), &after[..]].concat();
            let text = match form {
                0 => value.clone().into_bytes(),
                1 => percent(&value, &choices).into_bytes(),
                2 => escaped_json(&value, &choices).into_bytes(),
                3 => escaped_json(&percent(&value, &choices), &choices).into_bytes(),
                4 => STANDARD.encode(&inner).into_bytes(),
                5 => STANDARD_NO_PAD.encode(&inner).into_bytes(),
                6 => URL_SAFE.encode(&inner).into_bytes(),
                7 => value.bytes().map(|byte| format!("{byte:02X}")).collect::<String>().into_bytes(),
                8 => value.chars().rev().collect::<String>().into_bytes(),
                9 => value.to_ascii_uppercase().into_bytes(),
                10 => value.chars().map(|c| format!(" {c}\n")).collect::<String>().into_bytes(),
                _ => URL_SAFE_NO_PAD.encode(&inner).into_bytes(),
            };
            let text = match wrapped {
                1 => escaped_json(&String::from_utf8_lossy(&text), &choices).into_bytes(),
                2 => percent(&String::from_utf8_lossy(&text), &choices).into_bytes(),
                _ => text,
            };
            // A neighbour that is half an escape could swallow the first byte of the secret.
            let text = [&before[..], b" ", &text, b" ", &after[..]].concat();
            let secrets = [Secret::new("NO", "0123456789abcdef0123"), Secret::new("KEY", value)];
            prop_assert_eq!(find_secret(&secrets, &text).map(Secret::name), Some("KEY"));
        }

        #[test]
        fn what_is_redacted_holds_no_secret(
            one in value(), other in value(), before in ".{0,30}", after in ".{0,30}", choices in vec(0u8..3, 0..80),
            form in 0usize..5,
        ) {
            let held = match form {
                0 => one.clone(),
                1 => percent(&one, &choices),
                2 => escaped_json(&one, &choices),
                3 => STANDARD.encode(&one),
                _ => format!("{one}{other}{one}"),
            };
            let text = format!("{before} {held} {after}");
            let secrets = [Secret::new("ONE", one), Secret::new("OTHER", other)];
            let redacted = redact_secrets(&secrets, &text);
            prop_assert!(redacted.as_deref().is_some_and(|text| text.contains("[redacted")));
            prop_assert!(find_secret(&secrets, redacted.unwrap_or_default().as_bytes()).is_none());
        }

        #[test]
        fn other_text_is_no_find(text in vec(any::<u8>(), 0..400), value in "sk-[A-Za-z0-9]{20,40}") {
            prop_assert!(find_secret(&[Secret::new("KEY", value)], &text).is_none());
        }

        #[test]
        fn all_but_one_byte_is_no_find(value in "[a-z]{16,40}", at in 0usize..16) {
            let mut text = value.clone().into_bytes();
            text[at] = b'!';
            prop_assert!(find_secret(&[Secret::new("KEY", value)], &text).is_none());
        }
    }
}
