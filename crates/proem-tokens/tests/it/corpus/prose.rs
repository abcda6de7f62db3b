//! Prose in 29 scripts: parts of the first five articles of the Universal Declaration of Human Rights, with what is
//! around sentences.

use super::{Make, Random};

/// Script, language and text of each translation.
const DECLARATION: &str = include_str!("declaration.tsv");
const TEXTS_OF_EACH: usize = 32;

/// One kind for each language.
pub(super) fn prose_kinds() -> Vec<(String, usize, Make)> {
    let translations = DECLARATION.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    translations
        .map(|(script, language, text)| {
            let words: Vec<&'static str> = text.split(' ').filter(|word| !word.is_empty()).collect();
            let make: Make = Box::new(move |random| prose(&words, random));
            (format!("prose {script} {language}"), TEXTS_OF_EACH, make)
        })
        .collect()
}

fn prose(words: &[&str], random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.between(1, 5) {
        text.push_str(random.pick(&["", "", "# ", "- ", "1. ", "> ", "“", "(", "\t", "   ", "**"]));
        let first = random.below(words.len());
        let count = random.between(3, 40);
        for (place, word) in words.iter().cycle().skip(first).take(count).enumerate() {
            if place > 0 {
                text.push_str(random.pick(&[" ", " ", " ", " ", " ", " ", " ", " ", "  ", "\n", ", ", "-", "\u{A0}"]));
            }
            match random.below(24) {
                0 => text.push_str(&word.to_uppercase()),
                1 => text.extend([*word, "'s"]),
                // Only the beginning, which no vocabulary was made for.
                2 => text.extend(word.chars().take(random.between(1, 6))),
                _ => text.push_str(word),
            }
        }
        text.push_str(
            random.pick(&[".\n", "!\n", ".\n\n", "\n", ".\r\n", " …\n", "”\n\n", ")", "。", "؟ ", "…", "  \n"]),
        );
    }
    text
}
