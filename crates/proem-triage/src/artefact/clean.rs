//! Text from outside as plain words of a Markdown document.
//!
//! A backslash before each sign would be exact where Markdown is rendered, and noise where a person reads or pastes the
//! source: into a chat, a ticket or a mail. So a sign that could mean something is replaced by one that looks like it
//! and means nothing, and a sign that means nothing where it stands is left alone.
//!
//! Invariants: what comes out is one line, makes no emphasis, code, link, picture, mention, formula or HTML in
//! CommonMark 0.31.2 and GitHub Flavored Markdown 0.29 wherever it is behind a word of ours, and no address in it is
//! linked. Only a person who looks for the exact text needs `--json`.

use proem_guard::{LabelTree, show};

/// A text with its label as plain words of a Markdown document, of at most so many characters.
#[must_use]
pub fn clean_markdown(tree: &LabelTree, most: usize) -> String {
    without_markup(&tree_on_one_line(tree, most))
}

/// A text with its label on one line for a screen: white space is a single space, and nothing else is left out.
#[must_use]
pub fn tree_on_one_line(tree: &LabelTree, most: usize) -> String {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match tree {
        LabelTree::Text(text) => show::terminal_str(&flat(text)).into_string(),
        LabelTree::Outside(text) | LabelTree::Flagged(text) => {
            show::terminal_capped(&text.clone().map(|text| flat(&text)), most).into_string()
        }
        _ => String::new(),
    }
}

/// A shown text in which no sign means anything to Markdown.
pub(super) fn without_markup(shown: &str) -> String {
    let signs: Vec<char> = shown.chars().collect();
    let mut out = String::with_capacity(shown.len());
    // The end of the last entity of HTML that could begin before this place.
    let mut entity_ends = next_semicolon(&signs, 0);
    for (at, sign) in signs.iter().copied().enumerate() {
        if entity_ends < at {
            entity_ends = next_semicolon(&signs, at);
        }
        let near = |offset: isize| at.checked_add_signed(offset).and_then(|at| signs.get(at)).copied();
        let is_word = |near: Option<char>| near.is_some_and(char::is_alphanumeric);
        let (before, after) = (near(-1), near(1));
        out.push(match sign {
            '`' => '\'',
            '*' => '∗',
            '@' => '＠',
            // Within a word it means nothing.
            '_' if !(is_word(before) && is_word(after)) => '＿',
            // Before a number it is an amount, and nothing begins a formula that could end there.
            '$' if !after.is_some_and(|c| c.is_ascii_digit()) => '＄',
            // `~5 days`: what only begins ends nothing.
            '~' if !(before.is_none_or(char::is_whitespace) && after.is_some_and(|c| c.is_ascii_digit())) => '∼',
            '<' if after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) => '‹',
            // `](`, `][` and `[^` are what links and notes are made of.
            ']' if matches!(after, Some('(' | '[' | ':')) => '］',
            '[' if matches!(after, Some('^' | '[')) => '［',
            // A backslash that takes the next sign's meaning, or breaks the line.
            '\\' if after.is_none_or(|c| c.is_ascii_punctuation()) => '∖',
            '&' if after.is_some_and(|c| c == '#' || c.is_ascii_alphabetic())
                && entity_ends.saturating_sub(at) < ENTITY =>
            {
                '＆'
            }
            ':' if after == Some('/') => '：',
            '.' if is_web(&signs, at) => '․',
            sign => sign,
        });
    }
    out
}

/// The longest entity of HTML has fewer characters.
const ENTITY: usize = 34;

/// The place of the next semicolon. The greatest number if there is none.
fn next_semicolon(signs: &[char], from: usize) -> usize {
    let found = signs.iter().skip(from).position(|sign| *sign == ';');
    found.map_or(usize::MAX, |found| from.saturating_add(found))
}

/// Whether the point at this place ends `www`, in capitals too.
fn is_web(signs: &[char], at: usize) -> bool {
    at.checked_sub(3).is_some_and(|from| signs.iter().skip(from).take(3).all(|sign| matches!(sign, 'w' | 'W')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_titles_stay_as_they_are_and_signs_lose_their_meaning() {
        for same in [
            "Payment provider sandbox",
            "[PROD] Outage in R&D (500 > 300 ms)",
            "snake_case and #123, 50 % | 3 < 4",
            "~5 days and $500 to $300",
            "C:\\Users is at 10:30; a & b",
        ] {
            assert_eq!(without_markup(same), same);
        }
        for (text, expected) in [
            ("*bold* _em_ `code`", "∗bold∗ ＿em＿ 'code'"),
            ("[a](http://b.example)", "[a］(http：//b.example)"),
            ("[a][b] [^1]", "[a］[b] ［^1]"),
            ("<img src=x> </b> <!-- x", "‹img src=x> ‹/b> ‹!-- x"),
            ("~~gone~~ ~gone~", "∼∼gone∼∼ ∼gone∼"),
            ("www.evil.example WWW.x wwww.y", "www․evil.example WWW․x wwww․y"),
            ("ask @ada at ada@b.example", "ask ＠ada at ada＠b.example"),
            ("$x$ &lt; &#60; & x;", "＄x＄ ＆lt; ＆#60; & x;"),
            ("\\*a\\", "∖∗a∖"),
        ] {
            assert_eq!(without_markup(text), expected);
        }
    }
}
