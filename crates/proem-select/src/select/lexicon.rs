//! What words of other languages mean in English, and which words say nothing.
//!
//! Tool descriptions are English nearly always, requests are not. The lexicon is a data file of
//! ours, written without looking at any evaluation.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::error::{Error, ErrorKind};

/// The languages of the columns, in order.
const LANGUAGES: [&str; 5] = ["pt", "fr", "es", "de", "it"];

/// The shortest form that a stem of the lexicon may have, in bytes.
const SHORTEST_PREFIX: usize = 4;

/// English words for words of other languages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranslationLexicon {
    concepts: Vec<Vec<String>>,
    /// Whole words and beginnings of words, with the concepts that each language's column gives.
    exact: BTreeMap<String, Vec<(usize, usize)>>,
    prefixes: BTreeMap<String, Vec<(usize, usize)>>,
    /// Words that say nothing: English, then one set for each language.
    silent: Vec<BTreeSet<String>>,
}

/// Which language a text seems to be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetectedLanguage {
    English,
    /// A column of the lexicon.
    Other(usize),
    /// No word gave it away.
    Unknown,
}

impl TranslationLexicon {
    /// Reads a lexicon: lines of English words, then one cell for each language, separated by tabs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] with every line that is not of that form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lexicon = Self { silent: vec![BTreeSet::new(); LANGUAGES.len().saturating_add(1)], ..Self::default() };
        let mut problems = Vec::new();
        for (number, line) in
            (1_usize..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        {
            let cells: Vec<&str> = line.split('\t').collect();
            let taken = match cells.as_slice() {
                // The whole cell: `stop,halt` is a concept.
                ["stop", columns @ ..] => (columns.len() == lexicon.silent.len()).then(|| {
                    for (silent, column) in lexicon.silent.iter_mut().zip(columns) {
                        silent.extend(forms(column).map(str::to_owned));
                    }
                }),
                [english, columns @ ..] if columns.len() == LANGUAGES.len() => lexicon.add(english, columns),
                _ => None,
            };
            if taken.is_none() {
                problems.push(format!("lexicon: line {number} is not `english<TAB>{}`", LANGUAGES.join("<TAB>")));
            }
        }
        if problems.is_empty() { Ok(lexicon) } else { Err(Error::all(ErrorKind::InvalidFile, problems)) }
    }

    fn add(&mut self, english: &str, columns: &[&str]) -> Option<()> {
        let concept = self.concepts.len();
        // `pull request` are two words to a description too.
        let words: Vec<String> = forms(english).flat_map(str::split_whitespace).map(str::to_owned).collect();
        if words.is_empty() {
            return None;
        }
        for (language, column) in columns.iter().enumerate() {
            for form in forms(column) {
                let (table, form) = match form.strip_suffix('*') {
                    Some(prefix) if prefix.len() >= SHORTEST_PREFIX => (&mut self.prefixes, prefix),
                    Some(_) => return None,
                    None => (&mut self.exact, form),
                };
                table.entry(form.to_owned()).or_default().push((language, concept));
            }
        }
        self.concepts.push(words);
        Some(())
    }

    /// The language whose silent words occur most; English wins a tie.
    pub(super) fn language(&self, words: &[impl AsRef<str>]) -> DetectedLanguage {
        let count = |silent: &BTreeSet<String>| words.iter().filter(|word| silent.contains(word.as_ref())).count();
        let counts: Vec<usize> = self.silent.iter().map(count).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return DetectedLanguage::Unknown;
        }
        match counts.iter().position(|count| *count == most) {
            Some(0) | None => DetectedLanguage::English,
            Some(column) => DetectedLanguage::Other(column.saturating_sub(1)),
        }
    }

    /// Whether a word says nothing in a language.
    pub(super) fn is_silent(&self, word: &str, language: DetectedLanguage) -> bool {
        let column = match language {
            DetectedLanguage::English | DetectedLanguage::Unknown => 0,
            DetectedLanguage::Other(column) => column.saturating_add(1),
        };
        self.silent.get(column).is_some_and(|silent| silent.contains(word))
    }

    /// The English words for a word of a language, or of any if none is known; at most eight, without repetition.
    pub(super) fn english(&self, word: &str, language: DetectedLanguage) -> Vec<&str> {
        let fits = |column: usize| match language {
            DetectedLanguage::English => false,
            DetectedLanguage::Other(wanted) => wanted == column,
            DetectedLanguage::Unknown => true,
        };
        let beginnings = (SHORTEST_PREFIX..=word.len()).rev().filter_map(|end| word.get(..end));
        let longest = |beginning: &str| self.prefixes.get(beginning).filter(|found| found.iter().any(|f| fits(f.0)));
        let found = self.exact.get(word).filter(|found| found.iter().any(|f| fits(f.0)));
        let found = found.or_else(|| beginnings.into_iter().find_map(longest));
        let mut english: Vec<&str> = Vec::new();
        for (_, concept) in found.into_iter().flatten().filter(|(column, _)| fits(*column)) {
            for word in self.concepts.get(*concept).into_iter().flatten() {
                if !english.contains(&word.as_str()) {
                    english.push(word);
                }
            }
        }
        english.truncate(8);
        english
    }
}

fn forms(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(',').map(str::trim).filter(|form| !form.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# words\ntranslate\ttraduz*\ttradui*\ttraduc*\tubersetz*\ttradur*\nmerge,pull request\tfusao\t\t\t\t\nstop,halt\tparar\t\t\t\t\nbill,invoice\tfatura,conta\tfacture\tfactura\trechnung*\tfattura\naccount\tconta\tcompte\tcuenta\tkonto\tconto\nstop\tthe,please\to,por\tle,vous\tel,por\tder,bitte\til\n";

    #[test]
    fn words_lead_to_english_ones() {
        let lexicon = TranslationLexicon::parse(TEXT).expect("well formed");
        for (text, word, expected) in [
            ("traduzir o texto", "traduzir", "translate"),
            ("bitte", "ubersetzung", "translate"),
            ("o", "conta", "bill invoice account"),
            ("der", "conta", ""),
            ("nothing known", "rechnungen", "bill invoice"),
            ("o", "fusao", "merge pull request"),
            ("o", "parar", "stop halt"),
            ("the account", "conta", ""),
        ] {
            let language = lexicon.language(&text.split(' ').collect::<Vec<_>>());
            assert_eq!(lexicon.english(word, language).join(" "), expected, "{text}: {word}");
        }
        assert_eq!(lexicon.language(&["por", "el"]), DetectedLanguage::Other(2));
        assert!(
            lexicon.is_silent("bitte", DetectedLanguage::Other(3))
                && !lexicon.is_silent("bitte", DetectedLanguage::English)
        );
    }

    #[test]
    fn every_bad_line_is_named() {
        let error =
            TranslationLexicon::parse("a\tb\nab\tc*\t\t\t\t\nstop\ta\tb\tc\td\te\n").expect_err("three bad lines");
        assert_eq!(error.problems().len(), 3);
        assert!(error.to_string().starts_with("lexicon: line 1 is not `english<TAB>pt"), "{error}");
    }
}
