//! Languages that tasks are written in, and our table of the words of programming in each of them.
//!
//! A text without words of another language costs one look at each of its words: the table's column is read only once a
//! language is likely.

use std::collections::{BTreeMap, BTreeSet};

use proem_text::normalise::without_accents;

/// The table. Its first lines say how it is built.
const TABLE: &str = include_str!("../../data/terms.tsv");

/// The beginning of its line of function words.
const FUNCTION_WORDS: &str = "@";

/// The shortest stem that may match the beginning of a word, in bytes: four letters.
const SHORTEST_STEM: usize = 4;

/// The longest word that is looked up, in bytes. A longer one is data.
const LONGEST: usize = 64;

/// The longest stem of the table, in bytes, so that a long word costs no more than its length times that.
const LONGEST_STEM: usize = 32;

/// The longest form without spaces between words, in characters.
const LONGEST_UNSPACED: usize = 10;

/// How many words a form may have.
pub(super) const MOST_WORDS: usize = 4;

/// How many lines of the table one word leads to.
const MOST_ENTRIES: usize = 3;

/// Words of a text by which a language without function words there is likely.
const FEWEST_HITS: usize = 2;

/// So many function words tell a language although no word is in the table.
const ENOUGH_FUNCTION_WORDS: usize = 3;

/// A language that a task may be written in, other than English.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskLanguage {
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Portuguese.
    Portuguese,
    /// Italian.
    Italian,
    /// Dutch.
    Dutch,
    /// Polish.
    Polish,
    /// Russian, or what else is written in Cyrillic letters.
    Russian,
    /// Japanese.
    Japanese,
    /// Chinese.
    Chinese,
}

/// Languages of the Latin alphabet, in the order of the table's columns.
const LATIN: [TaskLanguage; 7] = [
    TaskLanguage::German,
    TaskLanguage::French,
    TaskLanguage::Spanish,
    TaskLanguage::Portuguese,
    TaskLanguage::Italian,
    TaskLanguage::Dutch,
    TaskLanguage::Polish,
];

impl TaskLanguage {
    /// Its English name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::German => "German",
            Self::French => "French",
            Self::Spanish => "Spanish",
            Self::Portuguese => "Portuguese",
            Self::Italian => "Italian",
            Self::Dutch => "Dutch",
            Self::Polish => "Polish",
            Self::Russian => "Russian",
            Self::Japanese => "Japanese",
            Self::Chinese => "Chinese",
        }
    }

    /// Whether its texts have no spaces between words.
    pub(super) const fn is_unspaced(self) -> bool {
        matches!(self, Self::Japanese | Self::Chinese)
    }

    /// Whether it joins words to longer ones.
    const fn joins_words(self) -> bool {
        matches!(self, Self::German | Self::Dutch)
    }

    const fn column(self) -> usize {
        (self as usize).saturating_add(1)
    }
}

/// The language of a text if it is likely none of English. `words` are its words as [`fold_word`] gives them.
///
/// Scripts tell Russian, Japanese and Chinese. A few such words in an English sentence don't. Function words tell the
/// others, of which there have to be twice as many as English ones, with a word of the table that no English name has:
/// `die`, `red`, `pour`, `chat` and `de facto` tell nothing. Texts without any need two such words.
pub(super) fn language_of(text: &str, words: &[String]) -> Option<TaskLanguage> {
    let function_words = FunctionWords::new();
    let english = function_words.count(0, words);
    if let Some(language) = language_of_script(text, english) {
        return Some(language);
    }
    let counts = LATIN.map(|language| (function_words.count(language.column(), words), language));
    let most = counts.iter().map(|(count, _)| *count).max().unwrap_or(0);
    if most < english.saturating_mul(2) {
        return None;
    }
    let likeliest = counts.iter().filter(|(count, _)| *count == most).map(|(_, language)| *language);
    let hits = |language: TaskLanguage| (TermColumn::new(language).hits(words), language);
    // Of equal ones the first in the table's order.
    let (hits, language) = likeliest.map(hits).reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let is_likely = match most {
        0 => hits >= FEWEST_HITS,
        _ => hits >= 1 || most >= ENOUGH_FUNCTION_WORDS,
    };
    is_likely.then_some(language)
}

/// Russian, Japanese or Chinese by the letters of a text, if they are more than what an English sentence quotes.
fn language_of_script(text: &str, english: usize) -> Option<TaskLanguage> {
    let (mut cyrillic, mut kana, mut han) = (0_usize, 0_usize, 0_usize);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        let count = match c {
            '\u{400}'..='\u{52f}' => &mut cyrillic,
            '\u{3041}'..='\u{30ff}' => &mut kana,
            _ if is_han(c) => &mut han,
            _ => continue,
        };
        *count = count.saturating_add(1);
    }
    let is_enough = |count: usize| count >= 2 && count > english.saturating_mul(4);
    if is_enough(cyrillic) {
        Some(TaskLanguage::Russian)
    } else if is_enough(kana.saturating_add(han)) {
        Some(if kana > 0 { TaskLanguage::Japanese } else { TaskLanguage::Chinese })
    } else {
        None
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a character is written without spaces between words.
pub(super) fn is_written_unspaced(c: char) -> bool {
    is_han(c) || matches!(c, '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{30fa}' | '\u{30fc}'..='\u{30fe}')
}

/// A word as the table has it: in lower case, without accents.
pub(super) fn fold_word(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let plain = without_accents(&word.to_lowercase());
    plain.replace('ß', "ss").replace('ł', "l")
}

/// The words that tell languages, by column.
struct FunctionWords(Vec<BTreeSet<&'static str>>);

impl FunctionWords {
    fn new() -> Self {
        let line = TABLE.lines().find(|line| line.starts_with(FUNCTION_WORDS)).unwrap_or_default();
        Self(line.split('\t').skip(1).map(|cell| cell.split(' ').collect()).collect())
    }

    fn count(&self, column: usize, words: &[String]) -> usize {
        let known = self.0.get(column);
        words.iter().filter(|word| known.is_some_and(|known| known.contains(word.as_str()))).count()
    }
}

/// English forms of a word, the usual one first.
pub(super) type EnglishForms = &'static str;

/// The table for one language.
pub(super) struct TermColumn {
    language: TaskLanguage,
    exact: BTreeMap<String, Vec<EnglishForms>>,
    stems: BTreeMap<String, Vec<EnglishForms>>,
    function_words: BTreeSet<&'static str>,
    /// All English forms.
    english: BTreeSet<&'static str>,
}

impl TermColumn {
    pub(super) fn new(language: TaskLanguage) -> Self {
        let mut exact: BTreeMap<String, Vec<EnglishForms>> = BTreeMap::new();
        let (mut stems, mut english) = (exact.clone(), BTreeSet::new());
        for line in TABLE.lines().filter(|line| !line.starts_with(['#', '@'])) {
            let mut cells = line.split('\t');
            let forms = cells.next().unwrap_or_default();
            english.extend(forms.split(','));
            for form in cells.nth(language as usize).unwrap_or_default().split(',').filter(|form| !form.is_empty()) {
                // The table is read as words of a task are: no form misses for its accents.
                let (table, form) = match form.strip_suffix('*') {
                    Some(stem) => (&mut stems, fold_word(stem)),
                    None => (&mut exact, fold_word(form)),
                };
                let entries = table.entry(form).or_default();
                if entries.len() < MOST_ENTRIES {
                    entries.push(forms);
                }
            }
        }
        let mut function_words = FunctionWords::new().0;
        let at = language.column();
        let function_words = if at < function_words.len() { function_words.swap_remove(at) } else { BTreeSet::new() };
        Self { language, exact, stems, function_words, english }
    }

    /// Whether a word says nothing but which language it is of.
    pub(super) fn is_function_word(&self, word: &str) -> bool {
        self.function_words.contains(word)
    }

    /// How many different words of a text are of this column and no English ones.
    fn hits(&self, words: &[String]) -> usize {
        let distinct: BTreeSet<&String> = words.iter().collect();
        let is_foreign = |word: &str| !self.english.iter().any(|form| word.starts_with(*form) && form.len() >= 3);
        distinct.into_iter().filter(|word| is_foreign(word) && !self.entries(word).is_empty()).count()
    }

    /// The lines of the table for one word. Of a compound for its parts in their order.
    pub(super) fn entries(&self, word: &str) -> Vec<EnglishForms> {
        if !(2..=LONGEST).contains(&word.len()) {
            return Vec::new();
        }
        let (mut found, mut rest) = match self.longest(word) {
            Some((entries, end)) => (entries.to_vec(), word.get(end..).unwrap_or_default()),
            None => (Vec::new(), word),
        };
        if !self.language.joins_words() {
            return found;
        }
        let mut parts = usize::from(!found.is_empty());
        while rest.len() >= SHORTEST_STEM && parts < MOST_ENTRIES {
            let Some((entries, end)) = self.part_within(rest) else { break };
            found.extend(entries.iter().filter(|entry| !found.contains(entry)).copied().collect::<Vec<_>>());
            rest = rest.get(end..).unwrap_or_default();
            parts = parts.saturating_add(1);
        }
        found
    }

    /// The lines for a form of several words, joined by `_`.
    pub(super) fn entries_of_several(&self, words: &str) -> Vec<EnglishForms> {
        let whole = self.longest(words).filter(|(_, end)| words.get(..*end).is_some_and(|form| form.contains('_')));
        // A stem may end the last word only.
        let whole = whole.filter(|(_, end)| words.get(*end..).is_some_and(|rest| !rest.contains('_')));
        whole.map(|(entries, _)| entries.to_vec()).unwrap_or_default()
    }

    /// The first part of a compound that the table has, behind at least as many letters as join parts, and where it ends.
    fn part_within(&self, rest: &str) -> Option<(&[EnglishForms], usize)> {
        let starts = (0..=rest.len().saturating_sub(SHORTEST_STEM)).filter(|at| rest.is_char_boundary(*at));
        starts.filter_map(|at| Some((at, rest.get(at..)?))).find_map(|(at, part)| {
            let (entries, end) = self.longest(part)?;
            (end >= SHORTEST_STEM).then_some((entries, at.saturating_add(end)))
        })
    }

    /// The lines for a whole word, else for its longest stem, and where that ends.
    fn longest(&self, word: &str) -> Option<(&[EnglishForms], usize)> {
        if let Some(entries) = self.exact.get(word) {
            return Some((entries, word.len()));
        }
        let mut ends =
            (SHORTEST_STEM..=word.len().min(LONGEST_STEM)).rev().filter_map(|end| Some((end, word.get(..end)?)));
        ends.find_map(|(end, start)| Some((self.stems.get(start)?.as_slice(), end)))
    }

    /// The beginning of a run of a text without spaces: the longest form, its lines, and its length in bytes. A
    /// function word has no lines.
    pub(super) fn first_of_run(&self, run: &str) -> Option<(&[EnglishForms], usize)> {
        let ends = run.char_indices().map(|(at, c)| at.saturating_add(c.len_utf8())).take(LONGEST_UNSPACED);
        let ends: Vec<usize> = ends.collect();
        ends.into_iter().rev().find_map(|end| {
            let form = run.get(..end)?;
            match self.exact.get(&fold_word(form)) {
                Some(entries) => Some((entries.as_slice(), end)),
                None => self.function_words.contains(form).then_some((&[][..], end)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 11;

    #[test]
    fn each_line_of_the_table_has_words_of_every_language() {
        let mut english = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let line = line.strip_prefix("@\t").unwrap_or(line);
            let cells: Vec<&str> = line.split('\t').collect();
            assert!(cells.len() == COLUMNS && cells.iter().skip(1).all(|cell| !cell.is_empty()), "{line}");
            if line.starts_with("the ") {
                continue;
            }
            english += 1;
            for form in cells.iter().skip(1).flat_map(|cell| cell.split(',')) {
                let stem = form.strip_suffix('*');
                assert!(stem.is_none_or(|stem| stem.chars().count() >= SHORTEST_STEM), "{form} of {line}");
                let plain = stem.unwrap_or(form);
                assert!(stem.is_none_or(|stem| stem.len() <= LONGEST_STEM), "{form} of {line}");
                assert!(!plain.is_empty() && plain.matches('_').count() < MOST_WORDS, "{form} of {line}");
                assert!(plain.chars().all(|c| c.is_alphanumeric() || "_ー々".contains(c)), "{form} of {line}");
            }
        }
        assert!(english >= 300, "{english} lines");
    }

    #[test]
    fn lines_are_in_order_and_stand_once() {
        let lines: Vec<&str> = TABLE.lines().filter(|line| !line.starts_with(['#', '@'])).collect();
        assert!(lines.is_sorted_by(|a, b| a < b), "sort `terms.tsv`");
    }
}
