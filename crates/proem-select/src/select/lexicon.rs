//! The English meaning of words in other languages, and the words without any.
//!
//! Tool descriptions are English nearly always, requests are not. The lexicon is a data file of
//! ours, written without looking at any evaluation.

use std::collections::BTreeMap;

use proem_engine::error::{Error, ErrorKind};
use proem_text::LineTable;

/// The languages of the columns, in order.
const LANGUAGES: [&str; 5] = ["pt", "fr", "es", "de", "it"];

/// The shortest form that a stem of the lexicon may have, in bytes.
const SHORTEST_PREFIX: usize = 4;

/// The beginning of an index's part. No form has it.
const PART: char = '@';
/// The names of an index's parts but for those of silent words, which are numbered.
const EXACT: &str = "words";
const PREFIXES: &str = "stems";

/// English words for words of other languages.
///
/// The part behind a form is separated by tabs: the number of a language's column, a blank, and English words separated
/// by blanks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranslationLexicon {
    /// By whole words.
    exact: LineTable,
    /// By beginnings of words.
    prefixes: LineTable,
    /// Words that say nothing: English, then one table for each language.
    silent: Vec<LineTable>,
}

/// The language that a text seems to be in.
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
        let mut lines = LexiconLines::default();
        let mut problems = Vec::new();
        for (number, line) in
            (1_usize..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        {
            let cells: Vec<&str> = line.split('\t').collect();
            let taken = match cells.as_slice() {
                // The whole cell: `stop,halt` is a concept.
                ["stop", columns @ ..] => (columns.len() == lines.silent.len()).then(|| {
                    for (silent, column) in lines.silent.iter_mut().zip(columns) {
                        silent.extend(cell_forms(column).map(|form| (form.to_owned(), String::new())));
                    }
                }),
                [english, columns @ ..] if columns.len() == LANGUAGES.len() => lines.add(english, columns),
                _ => None,
            };
            if taken.is_none() {
                problems.push(format!("lexicon: line {number} is not `english<TAB>{}`", LANGUAGES.join("<TAB>")));
            }
        }
        if problems.is_empty() { Ok(lines.lexicon()) } else { Err(Error::all(ErrorKind::InvalidFile, problems)) }
    }

    /// Reads what [`Self::index`] wrote, without looking at the words themselves.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if it has other parts than an index has.
    pub fn of_index(index: &'static str) -> Result<Self, Error> {
        let mut lexicon = Self::default();
        for part in index.split(PART).skip(1) {
            let (name, lines) = part.split_once('\n').unwrap_or((part, ""));
            let lines = LineTable::of_lines(lines);
            match name {
                EXACT => lexicon.exact = lines,
                PREFIXES => lexicon.prefixes = lines,
                number if number == lexicon.silent.len().to_string() => lexicon.silent.push(lines),
                _ => {
                    let problem = format!("an index of a lexicon has no part `{}`; write it anew", name.escape_debug());
                    return Err(Error::new(ErrorKind::InvalidFile, problem));
                }
            }
        }
        Ok(lexicon)
    }

    /// The lexicon as it is looked up, for [`Self::of_index`].
    #[must_use]
    pub fn index(&self) -> String {
        let named = [(EXACT.to_owned(), &self.exact), (PREFIXES.to_owned(), &self.prefixes)];
        let silent = self.silent.iter().enumerate().map(|(number, words)| (number.to_string(), words));
        named.into_iter().chain(silent).map(|(name, table)| format!("{PART}{name}\n{}", table.lines())).collect()
    }

    /// The language whose silent words occur most. English wins a tie.
    pub(super) fn language(&self, words: &[impl AsRef<str>]) -> DetectedLanguage {
        let count = |silent: &LineTable| words.iter().filter(|word| silent.get(word.as_ref()).is_some()).count();
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
        self.silent.get(column).is_some_and(|silent| silent.get(word).is_some())
    }

    /// The English words for a word of a language, or of any if none is known. At most eight, without repetition.
    pub(super) fn english(&self, word: &str, language: DetectedLanguage) -> Vec<&str> {
        let fits = |column: usize| match language {
            DetectedLanguage::English => false,
            DetectedLanguage::Other(wanted) => wanted == column,
            DetectedLanguage::Unknown => true,
        };
        let fitting = |said| {
            let words: Vec<&str> =
                translations(said).filter_map(|(column, words)| fits(column).then_some(words)).collect();
            (!words.is_empty()).then_some(words)
        };
        let beginnings = (SHORTEST_PREFIX..=word.len()).rev().filter_map(|end| word.get(..end));
        let found = self.exact.get(word).and_then(fitting);
        let found = found.or_else(|| beginnings.filter_map(|start| self.prefixes.get(start)).find_map(fitting));
        let mut english: Vec<&str> = Vec::new();
        for word in found.into_iter().flatten().flat_map(|words| words.split(' ')) {
            if !english.contains(&word) {
                english.push(word);
            }
        }
        english.truncate(8);
        english
    }
}

/// The entries of a form: the numbers of columns with English words separated by blanks.
fn translations(said: &str) -> impl Iterator<Item = (usize, &str)> {
    said.split('\t').filter_map(|translation| {
        let (column, words) = translation.split_once(' ')?;
        Some((column.parse().ok()?, words))
    })
}

/// The lines of a lexicon by form, each as a table has it.
#[derive(Debug)]
struct LexiconLines {
    exact: BTreeMap<String, Vec<String>>,
    prefixes: BTreeMap<String, Vec<String>>,
    silent: Vec<BTreeMap<String, String>>,
}

impl Default for LexiconLines {
    fn default() -> Self {
        let silent = vec![BTreeMap::new(); LANGUAGES.len().saturating_add(1)];
        Self { exact: BTreeMap::new(), prefixes: BTreeMap::new(), silent }
    }
}

impl LexiconLines {
    fn add(&mut self, english: &str, columns: &[&str]) -> Option<()> {
        // `pull request` are two words to a description too.
        let words: Vec<&str> = cell_forms(english).flat_map(str::split_whitespace).collect();
        if words.is_empty() {
            return None;
        }
        for (language, column) in columns.iter().enumerate() {
            for form in cell_forms(column) {
                let (table, form) = match form.strip_suffix('*') {
                    Some(prefix) if prefix.len() >= SHORTEST_PREFIX => (&mut self.prefixes, prefix),
                    Some(_) => return None,
                    None => (&mut self.exact, form),
                };
                table.entry(form.to_owned()).or_default().push(format!("{language} {}", words.join(" ")));
            }
        }
        Some(())
    }

    fn lexicon(self) -> TranslationLexicon {
        let table = |forms: BTreeMap<String, Vec<String>>| {
            LineTable::new(&forms.into_iter().map(|(form, said)| (form, said.join("\t"))).collect())
        };
        let silent = self.silent.iter().map(LineTable::new).collect();
        TranslationLexicon { exact: table(self.exact), prefixes: table(self.prefixes), silent }
    }
}

fn cell_forms(cell: &str) -> impl Iterator<Item = &str> {
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
