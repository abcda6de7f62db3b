//! Laws of the clean view and of showing, for every input.

use proem_guard::{FindingKind, Untrusted, clean_view, show};
use proem_text::{Label, Span, character, json};
use proptest::{collection::vec, prelude::*, sample::select};

/// Text with what makes cleaning and showing hard: joiners and selectors, needed or not.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => select(vec![
            "\u{200c}", "\u{200d}", "\u{fe0e}", "\u{fe0f}", "\u{e0100}", "\u{e01ef}", "\u{200b}", "\u{ad}", "\u{202e}",
            "\u{2066}", "\u{e0041}", "\u{1b}", "\0", "\u{85}", "\u{2028}", "\u{fdd0}", "\u{ffff}", "\u{b}",
        ]),
        3 => select(vec![
            "a", " ", "\n", "\t", "1", "#", "\u{20e3}", "👍", "🏽", "👩", "❤", "©", "🇩", "葛", "م", "ی", "\u{64e}", "क", "\u{94d}",
            "ষ", "e\u{301}", "а", "ο", "\\", "n", "u{", "⟨", "⟩", "<", "&",
        ]),
        1 => any::<char>().prop_map(|c| &*String::from(c).leak()),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::trusted())
}

/// Reads what a terminal shows. `None` if it can't be read.
fn read_back(shown: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        rest = rest.strip_prefix(c)?;
        if c == '⟨' {
            rest = rest.split_once('⟩')?.1;
        } else if c != '\\' {
            text.push(c);
        } else if let Some(code) = rest.strip_prefix("u{") {
            let (code, behind) = code.split_once('}')?;
            text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
            rest = behind;
        } else if let Some((letter, c)) = [('n', '\n'), ('r', '\r'), ('t', '\t'), ('\\', '\\')]
            .into_iter()
            .find(|(letter, _)| rest.starts_with(*letter))
        {
            text.push(c);
            rest = rest.strip_prefix(letter)?;
        } else {
            text.push('\\');
        }
    }
    Some(text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_a_clean_text_changes_nothing(text in text()) {
        let once = clean_view(&text);
        let twice = clean_view(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.removed.is_empty());
    }

    #[test]
    fn kept_and_removed_make_the_original(text in text()) {
        let view = clean_view(&text);
        prop_assert_eq!(view.map.view_len(), view.text.len());
        let mut pieces: Vec<Span> = view.removed.iter().map(|(_, span)| *span).collect();
        for (at, c) in view.text.char_indices() {
            let original = view.map.original(Span::new(at, at + c.len_utf8()));
            let source = text.get(original.start..original.end).unwrap();
            prop_assert!(source.chars().eq([c]));
            pieces.push(original);
        }
        pieces.sort_unstable();
        let mut end = 0;
        for piece in pieces {
            prop_assert_eq!(piece.start, end);
            end = piece.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn hidden_characters_stay_only_where_writing_needs_them(text in text()) {
        let view = clean_view(&text);
        for c in view.text.chars() {
            prop_assert!(!character::is_control(c) && !character::is_noncharacter(c));
            prop_assert!(!character::is_bidi_control(c) && !character::is_tag(c));
            let may_be_needed = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
            prop_assert!(may_be_needed || !character::is_invisible(c));
        }
        // Nobody can count in them: never more than a joiner and a selector side by side.
        let mut run = 0;
        for c in view.text.chars() {
            run = if character::is_invisible(c) { run + 1 } else { 0 };
            prop_assert!(run <= 2);
        }
        let kinds = [FindingKind::Invisible, FindingKind::BidiControl, FindingKind::Tag, FindingKind::Control];
        prop_assert!(view.removed.iter().all(|(kind, _)| kinds.contains(kind)));
    }

    #[test]
    fn what_a_terminal_shows_is_safe_and_reads_back(text in text()) {
        let shown = show::terminal_text(&outside(&text));
        prop_assert!(!shown.as_str().chars().any(character::is_hidden));
        prop_assert_eq!(read_back(shown.as_str()), Some(text));
    }

    #[test]
    fn a_cap_holds(text in text(), max in 0..40_usize) {
        let shown = show::terminal_capped(&outside(&text), max).into_string();
        let own: usize = shown.split('⟩').map(|piece| piece.split('⟨').next().unwrap().chars().count()).sum();
        prop_assert!(own <= max);
        prop_assert!(text.starts_with(&read_back(&shown).unwrap()));
    }

    #[test]
    fn a_page_gets_no_markup(text in text()) {
        let shown = show::html(&outside(&text)).into_string();
        prop_assert!(!shown.chars().any(|c| matches!(c, '<' | '>' | '"' | '\'') || character::is_hidden(c)));
        let unescaped = shown
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&");
        prop_assert_eq!(read_back(&unescaped), Some(text));
    }

    #[test]
    fn json_is_exact(text in text()) {
        let written = json::compact(&show::exact_json(&outside(&text)));
        prop_assert!(!written.chars().any(character::is_hidden));
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
