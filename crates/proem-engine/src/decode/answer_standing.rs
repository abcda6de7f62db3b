//! Says how a value is in a text: as the answer, as the final one of several, or only mentioned.
//!
//! A value on lines of its own is an answer unless the words before it make it a condition or somebody else's words. A
//! value amid a sentence is one if the sentence ends with it. Words decide, in six languages, and doubt never
//! makes an answer: the model is then asked again.

use proem_text::{Span, first_bytes};

use super::around::is_space_between_values;

/// Words that name a value the final one.
const FINAL: [&str; 22] = [
    "final",
    "finally",
    "corrected",
    "correction",
    "revised",
    "fixed",
    "improved",
    "updated",
    "better",
    "endgültig",
    "endgültige",
    "korrigiert",
    "korrigierte",
    "besser",
    "finale",
    "définitive",
    "corrigé",
    "corrigée",
    "corregido",
    "mejor",
    "corrigido",
    "definitiva",
];

/// Words that replace what was written before, where little else is before the value.
const INSTEAD: [&str; 16] = [
    "no",
    "wait",
    "sorry",
    "actually",
    "rather",
    "mine",
    "nein",
    "non",
    "não",
    "oops",
    "nej",
    "pardon",
    "perdón",
    "scusa",
    "desculpe",
    "verzeihung",
];

/// The most words of such a remark.
const MAX_REMARK_WORDS: usize = 4;

/// Words that hand a value over.
const HANDED_OVER: [&str; 23] = [
    "answer",
    "answers",
    "result",
    "results",
    "output",
    "json",
    "so",
    "therefore",
    "thus",
    "hence",
    "gives",
    "is",
    "sure",
    "response",
    "antwort",
    "ergebnis",
    "ist",
    "réponse",
    "résultat",
    "respuesta",
    "resultado",
    "resposta",
    "risposta",
];

/// Words that hand a value over whatever else is said before it.
const HERE: [&str; 8] = ["here", "here's", "below", "hier", "voici", "aquí", "aqui", "ecco"];

/// Words that make a value one that would hold under a condition.
const CONDITIONAL: [&str; 26] = [
    "if",
    "were",
    "could",
    "might",
    "perhaps",
    "maybe",
    "suppose",
    "supposing",
    "assuming",
    "hypothetically",
    "unless",
    "otherwise",
    "alternatively",
    "wenn",
    "falls",
    "könnte",
    "vielleicht",
    "angenommen",
    "pourrait",
    "supposons",
    "si",
    "podría",
    "quizás",
    "seria",
    "poderia",
    "talvez",
];

/// Words with which no value is named the final one.
const WOULD_BE: [&str; 6] = ["would", "should", "wäre", "würde", "serait", "sería"];

/// Words that make a value somebody else's, one of several, or one that is not meant.
const MENTIONED: [&str; 41] = [
    "says",
    "said",
    "say",
    "quoted",
    "quotes",
    "contained",
    "contains",
    "enthält",
    "contient",
    "contiene",
    "draft",
    "reads",
    "wrote",
    "claims",
    "not",
    "never",
    "don't",
    "isn't",
    "cannot",
    "can't",
    "won't",
    "unable",
    "wrong",
    "incorrect",
    "invalid",
    "avoid",
    "instead",
    "e.g",
    "such",
    "instance",
    "or",
    "previous",
    "nicht",
    "falsch",
    "sagt",
    "etwa",
    "z.b",
    "oder",
    "pas",
    "dit",
    "ou",
];

/// Words that make a value, of several, an example or a shape.
const SHAPES: [&str; 18] = [
    "example",
    "format",
    "shape",
    "schema",
    "template",
    "like",
    "prefer",
    "alternative",
    "beispiel",
    "exemple",
    "ejemplo",
    "exemplo",
    "esempio",
    "voorbeeld",
    "typo",
    "other",
    "another",
    "second",
];

/// How a remark behind a value begins that takes it back.
const TAKEN_BACK: [&str; 24] = [
    "wait",
    "hmm",
    "oops",
    "hold on",
    "scratch that",
    "actually",
    "no,",
    "no wait",
    "no.",
    "no -",
    "no —",
    "but wait",
    "but no",
    "let me re",
    "let me check",
    "let me double",
    "let me verify",
    "that's wrong",
    "that is wrong",
    "that's not",
    "that is not",
    "ignore that",
    "nein,",
    "moment",
];

/// How a remark behind a value begins that replaces it with the next one.
const REPLACED: [&str; 4] = ["correction", "my mistake", "sorry", "i was wrong"];

/// How a remark begins that announces a check and may end either way.
const CHECKED: [&str; 3] = ["let me check", "let me double", "let me verify"];

/// Words for what was not said.
const NOT_SAID: [&str; 7] = ["would have", "would've", "hätte", "aurait", "habría", "avrebbe", "teria"];

/// The most bytes before or behind a value that are looked at.
const MAX_CLAUSE_BYTES: usize = 400;

/// How a value is in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The text names it the final one.
    Final,
    /// The text gives it as an answer.
    Stated,
    /// The text only mentions it.
    Mentioned,
}

/// How the value at `span` is in `text`. The value before it ends at `from`.
pub(super) fn standing_in_text(text: &str, from: usize, span: Span) -> Standing {
    let clause = clause_before(text, from, span.start);
    let clause = clause.to_lowercase();
    let words = words_with_apostrophes(&clause);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let is_remark = words.len() <= MAX_REMARK_WORDS && has(&INSTEAD);
    // A denial comes first: "the final answer would be {…} if …" has the words of a final answer, too.
    if has(&CONDITIONAL) || NOT_SAID.iter().any(|words| clause.contains(words)) {
        return Standing::Mentioned;
    }
    let is_quotation = clause.starts_with(['>', '"', '“', '„', '«']);
    let closes = text
        .get(span.end..)
        .unwrap_or_default()
        .trim_start_matches(is_space_between_values)
        .starts_with(['"', '”', '“', '»']);
    if is_quotation && closes {
        return Standing::Mentioned;
    }
    if (has(&FINAL) || is_remark) && !is_quotation && !has(&SHAPES) && !has(&MENTIONED) && !has(&WOULD_BE) {
        return Standing::Final;
    }
    let is_handed_over = has(&HANDED_OVER) || has(&HERE);
    let is_for_example = clause.contains("for example") || clause.contains("zum beispiel") || has(&["like"]);
    let is_shape = has(&["template", "placeholder", "skeleton"]);
    if is_shape
        || (!has(&HERE) && (has(&MENTIONED) || is_for_example))
        || clause.ends_with('?')
        || words.last() == Some(&"return")
    {
        return Standing::Mentioned;
    }
    let line = text.get(span.end..).unwrap_or_default().split('\n').next().unwrap_or_default();
    let behind = line.trim_start_matches(|c: char| is_space_between_values(c) || matches!(c, '`' | '*' | ')' | '"'));
    if behind.starts_with('?') {
        return Standing::Mentioned;
    }
    // Words behind the value can take it back: "{…} would be wrong, because".
    let goes_on = behind.trim_start_matches([',', ';', ' ']).starts_with(char::is_lowercase);
    let introduced = clause.trim_end().ends_with([':', '=', '→', '>']) || is_handed_over;
    let behind = behind.to_lowercase();
    let remark = clause_start(&behind);
    let behind_words = self::words_with_apostrophes(remark);
    let denies = |word: &&str| CONDITIONAL.contains(word) || ["wrong", "incorrect", "invalid", "not"].contains(word);
    if goes_on && (!(words.is_empty() || introduced) || behind_words.iter().take(6).any(denies)) {
        return Standing::Mentioned;
    }
    Standing::Stated
}

/// Whether the words between two values, which end at `from` and start at `to`, put the second in the first one's place.
pub(super) fn is_replaced(text: &str, from: usize, to: usize) -> bool {
    let between = text.get(from..to).unwrap_or_default().to_lowercase();
    let remark = between.trim_start_matches(|c: char| !c.is_alphanumeric());
    let before = between.get(..between.len().saturating_sub(remark.len())).unwrap_or_default();
    // Somebody else's words take nothing back.
    let is_quoted = before.contains(['>', '"', '“', '„', '«', '‘', '\'']);
    let starts = |list: &[&str]| list.iter().any(|start| remark.starts_with(start));
    let clause = clause_before(text, from, to).to_lowercase();
    let words = words_with_apostrophes(&clause);
    let is_doubtful = words.iter().any(|word| *word == "would" || SHAPES.contains(word) || MENTIONED.contains(word));
    (starts(&TAKEN_BACK) || starts(&REPLACED)) && !starts(&CHECKED) && !is_doubtful && !is_quoted
}

/// Whether the words behind the value at `last` take it back. `values` are all values of the text.
pub(super) fn is_taken_back(text: &str, values: impl Iterator<Item = Span>, last: Span) -> bool {
    let end = values.map(|value| value.start).filter(|start| *start >= last.end).min().unwrap_or(text.len());
    let behind = text.get(last.end..end).unwrap_or_default();
    let behind = behind.trim_start_matches(|c: char| !c.is_alphanumeric());
    let behind = first_bytes(behind, MAX_CLAUSE_BYTES).to_lowercase();
    let sentence = clause_start(&behind);
    TAKEN_BACK.iter().any(|start| behind.starts_with(start))
        || words_with_apostrophes(sentence)
            .iter()
            .any(|word| ["mistake", "incorrect", "wrong", "scratch"].contains(word))
            && !words_with_apostrophes(sentence).iter().any(|word| CONDITIONAL.contains(word))
}

/// The words of the sentence that leads to `end`, without fences.
fn clause_before(text: &str, from: usize, end: usize) -> &str {
    let from = text.ceil_char_boundary(from.max(end.saturating_sub(MAX_CLAUSE_BYTES)));
    let mut before = text.get(from..end).unwrap_or_default();
    loop {
        let trimmed =
            before.trim_end_matches(|c: char| is_space_between_values(c) || matches!(c, '`' | '~' | '*' | '"' | '('));
        let fence = trimmed.rsplit('\n').next().unwrap_or_default();
        let bare = fence.trim_start_matches(['`', '~']);
        if bare.len() < fence.len() && !bare.contains(' ') {
            before = trimmed.get(..trimmed.len().saturating_sub(fence.len())).unwrap_or_default();
        } else {
            before = trimmed;
            break;
        }
    }
    let mut start = 0;
    let mut previous = '\0';
    let mut word_len = 0_usize;
    for (at, c) in before.char_indices() {
        let ends = match previous {
            '\n' => true,
            '!' | '?' | '…' => c.is_whitespace(),
            // Abbreviations such as `e.g.` end no sentence.
            '.' => c.is_whitespace() && word_len > 1,
            _ => false,
        };
        if ends {
            start = at;
        }
        if c.is_alphanumeric() {
            word_len = if previous.is_alphanumeric() { word_len.saturating_add(1) } else { 1 };
        }
        previous = c;
    }
    before.get(start..).unwrap_or_default().trim()
}

/// The first sentence of `text`.
fn clause_start(text: &str) -> &str {
    let end = text.find(['\n', '!', '?']).into_iter().chain(text.find(". ")).min();
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

fn words_with_apostrophes(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '\'');
    text.split(|c: char| !is_part(c))
        .map(|word| word.trim_matches(['.', '\'']))
        .filter(|word| !word.is_empty())
        .collect()
}
