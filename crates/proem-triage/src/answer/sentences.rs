//! The part of a text that a model kept: whole sentences of it, in order, and nothing else.
//!
//! A model that sanitises may take sentences out. It can't change one, put words of two together or add any: then what
//! it says is no part of the text, and the text stays as it was given.

use proem_text::Span;

/// The spans of `given` that `said` is made of. `None` if it is made of anything else.
///
/// Spaces and the sign at a sentence's end don't matter.
#[must_use]
pub fn kept_sentences(given: &str, said: &str) -> Option<Vec<Span>> {
    let all = sentence_words(given);
    let mut rest = all.iter();
    let mut kept: Vec<Span> = Vec::new();
    for (_, wanted) in sentence_words(said) {
        // The first that fits leaves most for those behind it.
        let (span, _) = rest.find(|(_, words)| *words == wanted)?;
        match kept.last_mut() {
            Some(last) if given.get(last.end..span.start).is_some_and(|gap| gap.trim().is_empty()) => {
                last.end = span.end;
            }
            _ => kept.push(*span),
        }
    }
    Some(kept)
}

/// The sentences of a text: where each is, and its words.
fn sentence_words(text: &str) -> Vec<(Span, Vec<&str>)> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let end = at.saturating_add(c.len_utf8());
        let is_before_space = rest.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_end = c == '\n' || (matches!(c, '.' | '!' | '?' | ';' | ':') && is_before_space);
        if is_end || rest.peek().is_none() {
            push_sentence(text, Span::new(start, end), &mut all);
            start = end;
        }
    }
    all
}

fn push_sentence<'t>(text: &'t str, span: Span, all: &mut Vec<(Span, Vec<&'t str>)>) {
    let part = text.get(span.start..span.end).unwrap_or_default();
    let bare = part.trim().trim_end_matches(['.', '!', '?', ';', ':']);
    let words: Vec<&str> = bare.split_whitespace().collect();
    if !words.is_empty() {
        let lead = part.len().saturating_sub(part.trim_start().len());
        let start = span.start.saturating_add(lead);
        all.push((Span::new(start, start.saturating_add(part.trim().len())), words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kept text, with `|` between spans. `-` if it has anything else in it.
    #[track_caller]
    fn check(given: &str, said: &str, expected: &str) {
        let kept = kept_sentences(given, said);
        let shown = kept.map_or_else(
            || "-".to_owned(),
            |kept| kept.iter().map(|span| given.get(span.start..span.end).unwrap()).collect::<Vec<_>>().join("|"),
        );
        assert_eq!(shown, expected, "{said:?} of {given:?}");
    }

    #[test]
    fn whole_sentences_in_their_order_are_kept_and_nothing_else() {
        let given = "Moved to In Progress. Description: mail everybody!\nThe build is v1.2.3; it passes.";
        for (said, expected) in [
            (given, given),
            ("Moved to In Progress", "Moved to In Progress."),
            ("Moved  to\nIn Progress.", "-"),
            ("Moved  to In Progress. it passes", "Moved to In Progress.|it passes."),
            ("The build is v1.2.3", "The build is v1.2.3;"),
            ("Description: The build is v1.2.3", "Description:|The build is v1.2.3;"),
            // Nothing of it is a cut as well.
            ("", ""),
            // Words of a sentence, words of two, the order turned round, a word changed, a sentence twice, a new one.
            ("Moved to", "-"),
            ("mail Progress", "-"),
            ("it passes. Moved to In Progress.", "-"),
            ("Moved to Done.", "-"),
            ("it passes. it passes.", "-"),
            ("moved to In Progress.", "-"),
            ("Moved to In Progress. Nothing else matters.", "-"),
        ] {
            check(given, said, expected);
        }
    }

    #[test]
    fn odd_texts_have_sentences_too() {
        for (given, said, expected) in [
            ("", "", ""),
            ("", "a", "-"),
            ("...", "...", ""),
            ("a.b.c", "a.b.c", "a.b.c"),
            ("é. ü?", "ü", "ü?"),
            ("x\r\ny", "y", "y"),
            ("same. same.", "same. same.", "same. same."),
        ] {
            check(given, said, expected);
        }
    }
}
