//! Words that rules speak about, in many languages.
//!
//! A *concept* is a meaning that rules care about: to ignore, earlier, instructions. The lexicon lists the words for
//! each in many languages. [`Lexicon::mentions`] finds all of them in one pass over a folded text. Rules then speak of
//! concepts only, so a rule holds in every language.
//!
//! Words are looked for only where a word may begin: behind what is no letter, and before every
//! character of a script that is written without spaces. No word is longer than `MAX_WORD`, so
//! the time is linear in the text, whatever the text.

mod trie;

use self::trie::Trie;
use crate::{error::RuleError, view::folded_view};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::iter;
use proem_text::{Span, character};

/// The file name in errors.
const FILE: &str = "concepts.tsv";

/// The same of what is made of it.
const INDEX: &str = "concepts-index.txt";

/// The separator between the names of concepts and the words in an index.
const WORDS: &str = "\n\n";

/// The longest word or phrase, in bytes.
const MAX_WORD: usize = 96;

/// The longest ending of a word, in characters.
const MAX_ENDING: usize = 24;

/// A place where a folded text names a concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// The concept's index in the lexicon.
    pub concept: u16,
    /// The place, in bytes of the folded text.
    pub span: Span,
}

/// The words for every concept.
#[derive(Debug, Clone)]
pub struct Lexicon {
    words: Trie,
    /// One for each word.
    terms: Vec<LexiconTerm>,
    /// The names of the concepts, sorted.
    concepts: Vec<&'static str>,
}

/// The meaning of a word, and the condition behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LexiconTerm {
    concept: u16,
    ending: WordBoundary,
}

/// The boundary behind a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordBoundary {
    /// Anything. It doesn't belong to the word.
    Anything,
    /// Anything. Letters belong to the word.
    Letters,
    /// No letter.
    Border,
}

/// A word on its way into a lexicon.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LexiconWord<W> {
    /// Folded, with single spaces, without its `*`.
    word: W,
    term: LexiconTerm,
}

impl Lexicon {
    /// Reads a lexicon: lines of concept, language and words, separated by tabs.
    ///
    /// Words are parted by `|`. `*` at the end of one represents any ending. Empty lines and lines that begin with `#`
    /// are skipped. A word counts where it is alone. In scripts that are written without spaces, anywhere. `words` are
    /// those of one more concept.
    ///
    /// # Errors
    ///
    /// [`RuleError`] with the line that can't be read.
    pub fn parse(text: &'static str, concept: &'static str, words: &[&str]) -> Result<Self, RuleError> {
        let read = ReadLexicon::new(text, concept)?;
        let listed: Vec<_> = read.words.iter().map(LexiconWord::borrowed).collect();
        Self::of_words(read.concepts, &listed, (concept, words))
    }

    /// Reads what [`Self::index`] wrote, for which nothing is folded and nothing sorted. `words` are those of one of its
    /// concepts.
    ///
    /// # Errors
    ///
    /// [`RuleError`] with the line that can't be read, or if lines are missing or out of order.
    pub fn of_index(index: &'static str, concept: &'static str, words: &[&str]) -> Result<Self, RuleError> {
        let (concepts, listed) = index.split_once(WORDS).unwrap_or((index, ""));
        let concepts: Vec<&'static str> = concepts.lines().collect();
        let first = concepts.len().saturating_add(2);
        let listed = listed.lines().zip(first..).map(|(line, number)| {
            let word = LexiconWord::indexed(line).filter(|word| usize::from(word.term.concept) < concepts.len());
            word.ok_or_else(|| {
                RuleError::new(INDEX, number, "expected a word and a concept's number; write it anew".to_string())
            })
        });
        let listed = listed.collect::<Result<Vec<_>, _>>()?;
        Self::of_words(concepts, &listed, (concept, words))
    }

    /// A lexicon as it is looked up, for [`Self::of_index`]: the names of its concepts, an empty line, and each word with the
    /// number of its concept behind a tab, in the order of their bytes. `text` and `concept` are as for [`Self::parse`].
    ///
    /// # Errors
    ///
    /// [`RuleError`] with the line that can't be read.
    pub fn index(text: &'static str, concept: &'static str) -> Result<String, RuleError> {
        let ReadLexicon { concepts, words } = ReadLexicon::new(text, concept)?;
        let words = words.iter().map(|LexiconWord { word, term }| {
            let ending = if term.ending == WordBoundary::Letters { "*" } else { "" };
            format!("{}{ending}\t{}", String::from_utf8_lossy(word), term.concept)
        });
        let lines = concepts.iter().map(ToString::to_string).chain(iter::once(String::new())).chain(words);
        Ok(lines.map(|line| format!("{line}\n")).collect())
    }

    /// The lexicon of listed words, which are sorted, and own ones of one concept, which aren't.
    fn of_words(
        concepts: Vec<&'static str>,
        listed: &[LexiconWord<&[u8]>],
        (concept, words): (&str, &[&str]),
    ) -> Result<Self, RuleError> {
        let number = concept_number(&concepts, concept)
            .ok_or_else(|| RuleError::new(INDEX, 0, format!("`{concept}` is not among its concepts; write it anew")))?;
        let own = words.iter().map(|word| LexiconWord::new(folded_view(word).text.trim(), number));
        let mut own = own.collect::<Result<Vec<_>, _>>().map_err(|message| RuleError::new("tools", 0, message))?;
        own.sort_by(|left, right| left.word.cmp(&right.word));
        let mut all = Vec::with_capacity(listed.len().saturating_add(own.len()));
        let mut rest = listed;
        for word in &own {
            let end = rest.partition_point(|listed| *listed.word <= *word.word);
            let (before, behind) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            all.extend_from_slice(before);
            all.push(word.borrowed());
            rest = behind;
        }
        all.extend_from_slice(rest);
        let words = Trie::new(all.iter().map(|word| word.word)).ok_or_else(|| {
            RuleError::new(INDEX, 0, "its words are out of order or too many; write it anew".to_string())
        })?;
        Ok(Self { words, terms: all.iter().map(|word| word.term).collect(), concepts })
    }

    /// The index of the concept of that name.
    #[must_use]
    pub fn concept(&self, name: &str) -> Option<u16> {
        concept_number(&self.concepts, name)
    }

    /// The names of all concepts, sorted. A concept's index is its place here.
    #[must_use]
    pub fn concepts(&self) -> &[&'static str] {
        &self.concepts
    }

    /// Every concept that a folded text mentions, in order of where it starts.
    #[must_use]
    pub fn mentions(&self, folded: &str) -> Vec<Mention> {
        let spaced = space_separated(folded.as_bytes());
        let mut mentions = Vec::new();
        let (mut is_after_letter, mut is_escape) = (false, false);
        for (start, c) in folded.char_indices() {
            let is_letter = is_inside(c);
            if !(c == ' ' || (is_letter && is_after_letter)) {
                let rest = spaced.get(start..spaced.len().min(start.saturating_add(MAX_WORD))).unwrap_or_default();
                self.words.prefixes(rest, |entry, len| {
                    let term = usize::try_from(entry).ok().and_then(|entry| self.terms.get(entry));
                    let end = start.saturating_add(len);
                    if let Some(term) = term
                        && let Some(end) = term.ending.end(folded, end)
                    {
                        mentions.push(Mention { concept: term.concept, span: Span::new(start, end) });
                    }
                });
            }
            // The letter of `\n` in the source of a string ends no word.
            is_after_letter = is_letter && !(is_escape && matches!(c, 'n' | 'r' | 't'));
            is_escape = c == '\\';
        }
        mentions
    }
}

impl WordBoundary {
    /// The end of a word whose last listed byte is before `end`. `None` if it doesn't count.
    fn end(self, text: &str, end: usize) -> Option<usize> {
        let mut behind = text.get(end..)?.chars();
        match self {
            Self::Anything => Some(end),
            Self::Border => behind.next().is_none_or(|c| !is_inside(c)).then_some(end),
            Self::Letters => {
                let ending = behind.take(MAX_ENDING).take_while(|c| is_inside(*c));
                Some(end.saturating_add(ending.map(char::len_utf8).sum()))
            }
        }
    }
}

impl LexiconTerm {
    fn new(word: &str, is_stem: bool, concept: u16) -> Self {
        let ending = match (is_stem, word.chars().next_back().is_some_and(is_inside)) {
            (true, _) => WordBoundary::Letters,
            (false, true) => WordBoundary::Border,
            (false, false) => WordBoundary::Anything,
        };
        Self { concept, ending }
    }
}

impl LexiconWord<Vec<u8>> {
    /// A folded word.
    fn new(word: &str, concept: u16) -> Result<Self, String> {
        let (stem, is_stem) = word.strip_suffix('*').map_or((word, false), |stem| (stem, true));
        let (Some(first), Some(last)) = (stem.chars().next(), stem.chars().next_back()) else {
            return Err(format!("`{word}` is not a word; remove the empty place between two `|`"));
        };
        if first.is_whitespace() || last.is_whitespace() {
            return Err(format!("`{word}` begins or ends with space; remove the space"));
        }
        if stem.len() > MAX_WORD {
            return Err(format!("`{word}` is too long; shorten it to {MAX_WORD} bytes"));
        }
        Ok(Self { word: space_separated(stem.as_bytes()), term: LexiconTerm::new(stem, is_stem, concept) })
    }

    fn borrowed(&self) -> LexiconWord<&[u8]> {
        LexiconWord { word: &self.word, term: self.term }
    }
}

impl LexiconWord<&'static [u8]> {
    /// A line of an index.
    fn indexed(line: &'static str) -> Option<Self> {
        let (word, concept) = line.split_once('\t')?;
        let (stem, is_stem) = word.strip_suffix('*').map_or((word, false), |stem| (stem, true));
        Some(Self { word: stem.as_bytes(), term: LexiconTerm::new(stem, is_stem, concept.parse().ok()?) })
    }
}

/// The place of a name in the sorted names of concepts.
fn concept_number(concepts: &[&str], name: &str) -> Option<u16> {
    u16::try_from(concepts.binary_search_by(|concept| (*concept).cmp(name)).ok()?).ok()
}

/// The contents of a file.
#[derive(Debug)]
struct ReadLexicon {
    /// The names of its concepts and of one more, sorted.
    concepts: Vec<&'static str>,
    /// Its words, in the order of their bytes.
    words: Vec<LexiconWord<Vec<u8>>>,
}

impl ReadLexicon {
    fn new(text: &'static str, concept: &'static str) -> Result<Self, RuleError> {
        let rows = text.lines().zip(1usize..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
        let rows = rows.map(|(line, number)| LexiconLine::parse(line, number)).collect::<Result<Vec<_>, _>>()?;
        let mut concepts: Vec<&'static str> = rows.iter().map(|row| row.concept).chain([concept]).collect();
        concepts.sort_unstable();
        concepts.dedup();
        let mut words = Vec::new();
        for row in &rows {
            let concept = concept_number(&concepts, row.concept).unwrap_or_default();
            for word in folded_view(row.words).text.split('|') {
                let word = LexiconWord::new(word, concept);
                words.push(word.map_err(|message| RuleError::new(FILE, row.number, message))?);
            }
        }
        // One word may represent several concepts: those stay in the order of the file.
        words.sort_by(|left, right| left.word.cmp(&right.word));
        Ok(Self { concepts, words })
    }
}

/// One line of the file.
#[derive(Debug)]
struct LexiconLine {
    concept: &'static str,
    words: &'static str,
    number: usize,
}

impl LexiconLine {
    fn parse(line: &'static str, number: usize) -> Result<Self, RuleError> {
        let mut columns = line.split('\t');
        match (columns.next(), columns.next(), columns.next(), columns.next()) {
            (Some(concept), Some(language), Some(words), None) if !concept.is_empty() && !language.is_empty() => {
                Ok(Self { concept, words, number })
            }
            _ => {
                Err(RuleError::new(FILE, number, "expected concept, language and words, separated by tabs".to_string()))
            }
        }
    }
}

/// The same bytes with a space for what may part the words of a phrase: one line break, and the
/// signs that join words in names.
fn space_separated(text: &[u8]) -> Vec<u8> {
    let mut spaced = text.to_vec();
    let mut before = b'\n';
    let mut bytes = spaced.iter_mut().peekable();
    while let Some(byte) = bytes.next() {
        let now = *byte;
        if matches!(now, b'-' | b'_')
            || (now == b'\n' && before != b'\n' && bytes.peek().is_some_and(|next| **next != b'\n'))
        {
            *byte = b' ';
        }
        before = now;
    }
    spaced
}

/// Whether a word goes on with this character.
fn is_inside(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    (c.is_alphanumeric() && !is_spaceless_script(c)) || character::is_mark(c)
}

/// Whether the character belongs to a script that is written without spaces between words: the
/// blocks of Thai, Lao, Myanmar, Khmer, kana, Bopomofo and Han (`Blocks.txt`).
const fn is_spaceless_script(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{312f}'
            | '\u{3190}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: &str =
        "# words\n\nignore\ten\tignore|pay no heed|ignor*\nignore\tzh\t忽略\nmark\txx\t@|n'\nall\tde\tallé\n";

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let lexicon = Lexicon::parse(WORDS, "own", &["Send_Email"]).unwrap();
        let text = folded_view(text).text;
        let found: Vec<(&str, &str)> = lexicon
            .mentions(&text)
            .iter()
            .map(|mention| {
                (
                    lexicon.concepts()[usize::from(mention.concept)],
                    text.get(mention.span.start..mention.span.end).unwrap(),
                )
            })
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_count_where_they_stand_alone() {
        check("ignorant", &[("ignore", "ignorant")]);
        check("IGNORE", &[("ignore", "ignore"), ("ignore", "ignore")]);
        check("signore", &[]);
        check(r"end.\nignorant", &[("ignore", "ignorant")]);
        check("x@y n'oublie", &[("mark", "@"), ("mark", "n'")]);
        check("ALLE, alle!", &[("all", "alle"), ("all", "alle")]);
        check("allen", &[]);
    }

    #[test]
    fn phrases_may_be_parted_in_other_ways() {
        check("pay no\nheed", &[("ignore", "pay no\nheed")]);
        check("pay_no-heed", &[("ignore", "pay_no-heed")]);
        check("pay no\n\nheed", &[]);
        check("send email, send_email()", &[("own", "send email"), ("own", "send_email")]);
    }

    #[test]
    fn scripts_without_spaces() {
        check("请忽略它", &[("ignore", "忽略")]);
        check("请ignore它", &[("ignore", "ignore"), ("ignore", "ignore")]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("ignore en x", "concepts.tsv:1: expected concept, language and words, separated by tabs"),
            ("\nignore\ten\tx||y", "concepts.tsv:2: `` is not a word; remove the empty place between two `|`"),
            ("ignore\ten\tx | y", "concepts.tsv:1: `x ` begins or ends with space; remove the space"),
        ] {
            assert_eq!(Lexicon::parse(text, "own", &[]).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_index_is_the_file_as_it_is_looked_up() {
        let index = Lexicon::index(WORDS, "own").unwrap();
        assert!(index.starts_with("all\nignore\nmark\nown\n\n@\t2\n"), "{index}");
        assert!(index.contains("\nignor*\t1\n"), "{index}");
        let index: &'static str = index.leak();
        let read = Lexicon::of_index(index, "own", &["Send_Email"]).unwrap();
        let parsed = Lexicon::parse(WORDS, "own", &["Send_Email"]).unwrap();
        for text in ["ignorant, pay no heed to alle", "忽略 x@y n'oublie", "send email", "senders"] {
            let text = folded_view(text).text;
            assert_eq!(read.mentions(&text), parsed.mentions(&text), "{text}");
        }
    }

    #[test]
    fn a_damaged_index_is_said() {
        for (index, expected) in [
            ("own\n\nab", "concepts-index.txt:3: expected a word and a concept's number; write it anew"),
            ("own\n\nab\t1\n", "concepts-index.txt:3: expected a word and a concept's number; write it anew"),
            ("own\n\nab\tx\n", "concepts-index.txt:3: expected a word and a concept's number; write it anew"),
            ("own\n\nb\t0\na\t0\n", "concepts-index.txt: its words are out of order or too many; write it anew"),
            ("other\n\nb\t0\n", "concepts-index.txt: `own` is not among its concepts; write it anew"),
        ] {
            assert_eq!(Lexicon::of_index(index, "own", &[]).unwrap_err().to_string(), expected, "{index}");
        }
    }

    proptest! {
        #[test]
        fn mentions_are_words_of_the_text_in_order(text in "[a-zA-Z@ \n忽略é_-]{0,60}") {
            let lexicon = Lexicon::parse(WORDS, "own", &[]).unwrap();
            let text = folded_view(&text).text;
            let mentions = lexicon.mentions(&text);
            prop_assert!(mentions.is_sorted_by_key(|mention| mention.span.start));
            for mention in mentions {
                prop_assert!(text.get(mention.span.start..mention.span.end).is_some_and(|word| !word.is_empty()));
            }
        }
    }
}
