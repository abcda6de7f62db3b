//! Words and character n-grams, for search.
//!
//! Code and prose mix in what is searched, so a name counts as itself and as its parts:
//! `parseHTTPResponse` is found by `http`.

use crate::character::{is_invisible, is_mark};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::mem;
use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

/// The words of a text, lower-cased and in NFKC, in order.
///
/// A word is a run of letters, digits and their marks in any script. Everything else separates, so `_`, `-`, `.` and
/// `/` do. A word with changes of case or digits inside is followed by its parts: `HTTPServer2` gives `httpserver2`,
/// `http`, `server` and `2`. Han and kana are written without spaces, so their runs give overlapping pairs.
pub fn search_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c| !belongs_to_word(c)).flat_map(run_words)
}

/// The overlapping runs of `n` characters. A shorter text is its own only one, and `n` = 0 gives none.
pub fn character_ngrams(text: &str, n: usize) -> impl Iterator<Item = &str> {
    let ends = text.char_indices().map(|(at, _)| at).skip(n).chain(core::iter::once(text.len()));
    text.char_indices().zip(ends).filter_map(move |((start, _), end)| text.get(start..end)).take_while(move |_| n > 0)
}

/// Invisible characters stay inside a word, so that they can't split it.
fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c) || is_invisible(c)
}

/// The class of a character at the border between two parts of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Upper,
    Lower,
    Digit,
    Unspaced,
    Mark,
}

fn character_class(c: char) -> CharacterClass {
    match c {
        '0'..='9' => return CharacterClass::Digit,
        'A'..='Z' => return CharacterClass::Upper,
        'a'..='z' => return CharacterClass::Lower,
        _ => {}
    }
    if is_mark(c) {
        CharacterClass::Mark
    } else if matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Bopomofo) || c == 'ー' {
        CharacterClass::Unspaced
    } else if c.is_numeric() {
        CharacterClass::Digit
    } else if c.is_uppercase() {
        CharacterClass::Upper
    } else {
        CharacterClass::Lower
    }
}

/// The words that one run gives.
fn run_words(run: &str) -> Vec<String> {
    if run.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return forms_of_ascii(run);
    }
    forms_of_any(run)
}

/// Most of code is ASCII, which no form of Unicode changes.
fn forms_of_ascii(run: &str) -> Vec<String> {
    let parts = class_parts(run);
    let whole = (!run.is_empty()).then(|| run.to_ascii_lowercase());
    let several = parts.iter().filter(|_| parts.len() > 1);
    whole.into_iter().chain(several.map(|(part, _)| part.to_ascii_lowercase())).collect()
}

/// Compatibility characters may hide separators, so the run is cut again.
fn forms_of_any(run: &str) -> Vec<String> {
    let run: String = run.nfkc().filter(|c| !is_invisible(*c)).collect();
    let mut forms = Vec::new();
    for word in run.split(|c| !belongs_to_word(c)) {
        let mut spaced = Vec::new();
        for (part, class) in class_parts(word) {
            if class == CharacterClass::Unspaced {
                write_spaced(&mut forms, &mem::take(&mut spaced));
                forms.extend(character_ngrams(part, 2).map(ToString::to_string));
            } else {
                spaced.push(part);
            }
        }
        write_spaced(&mut forms, &spaced);
    }
    forms
}

/// Adds the parts joined, then one by one if there are several.
fn write_spaced(forms: &mut Vec<String>, parts: &[&str]) {
    let lower = |text: &str| text.to_lowercase().nfkc().collect::<String>();
    match parts {
        [] => {}
        [only] => forms.push(lower(only)),
        several => {
            forms.push(lower(&several.concat()));
            forms.extend(several.iter().map(|part| lower(part)));
        }
    }
}

/// Cuts a run where the class changes, each part with the class of its last character.
///
/// A capital starts a part unless it follows a capital. The last of several capitals belongs to the lower-case letters
/// that follow, as in `HTTP|Server`.
fn class_parts(run: &str) -> Vec<(&str, CharacterClass)> {
    let mut parts = Vec::new();
    let (mut start, mut before) = (0, None);
    // The place of the last capital, if it is not the first of its part.
    let mut capital = None;
    for (at, c) in run.char_indices() {
        let class = character_class(c);
        if class == CharacterClass::Mark {
            continue;
        }
        let cut = match (before, class) {
            (None, _) | (Some(CharacterClass::Upper), CharacterClass::Lower) => capital.take(),
            (Some(before), _) if before == class => None,
            (Some(_), _) => Some(at),
        };
        if let Some(cut) = cut {
            parts.extend(run.get(start..cut).zip(before));
            start = cut;
        }
        capital = (class == CharacterClass::Upper && at > start).then_some(at);
        before = Some(class);
    }
    parts.extend(run.get(start..).filter(|part| !part.is_empty()).zip(before));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(search_words(text).collect::<Vec<_>>().join(" "), expected, "{text:?}");
    }

    #[test]
    fn names_give_themselves_and_their_parts() {
        check("snake_case", "snake case");
        check("kebab-case src/lib.rs", "kebab case src lib rs");
        check("camelCase", "camelcase camel case");
        check("PascalCase", "pascalcase pascal case");
        check("HTTPServer", "httpserver http server");
        check("parseHTTPResponse2", "parsehttpresponse2 parse http response 2");
        check("utf8_decode", "utf8 utf 8 decode");
        check("HTTP", "http");
        check("aB", "ab a b");
        check("ABc", "abc a bc");
        check("__init__", "init");
        check("v1.2.0", "v1 v 1 2 0");
    }

    #[test]
    fn what_is_quick_for_ascii_is_what_any_run_gives() {
        let letters = ["a", "b", "A", "B", "1", "9", "Z", "z"];
        let mut runs = alloc::vec![String::new()];
        for length in 0..5 {
            let longer: Vec<String> = runs
                .iter()
                .filter(|run| run.len() == length)
                .flat_map(|run| letters.map(|c| run.clone() + c))
                .collect();
            runs.extend(longer);
        }
        assert_eq!(runs.len(), 1 + 8 + 64 + 512 + 4096 + 32768);
        for run in runs {
            assert_eq!(forms_of_ascii(&run), forms_of_any(&run), "{run}");
        }
    }

    #[test]
    fn prose_in_any_script() {
        check("", "");
        check(" \u{200b} ... ", "");
        check("Don't stop", "don t stop");
        check("café CAFE\u{301}", "café café");
        check("Проверка безопасности", "проверка безопасности");
        check("Straße ΣΊΣΥΦΟΣ", "straße σίσυφος");
        check("हिन्दी भाषा", "हिन्दी भाषा");
        check("می\u{200c}خواهم", "میخواهم");
        check("한국어 문장", "한국어 문장");
        check("ig\u{200b}nore", "ignore");
        check("ｆｕｌｌ", "full");
    }

    #[test]
    fn unspaced_scripts_give_pairs() {
        check("漢字", "漢字");
        check("東京都庁", "東京 京都 都庁");
        check("山", "山");
        check("PythonでJSON", "python で json");
        check("データ", "デー ータ");
    }

    #[test]
    fn runs_of_characters() {
        for (text, n, expected) in [
            ("abcd", 3, vec!["abc", "bcd"]),
            ("ab", 3, vec!["ab"]),
            ("", 3, vec![]),
            ("abc", 0, vec![]),
            ("aé日b", 2, vec!["aé", "é日", "日b"]),
        ] {
            assert_eq!(character_ngrams(text, n).collect::<Vec<_>>(), expected, "{text:?} {n}");
        }
    }
}
