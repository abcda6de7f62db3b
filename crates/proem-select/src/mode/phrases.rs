//! The phrases of questions, orders and prohibitions, by language.

use std::collections::BTreeMap;

use proem_text::LineTable;
use proem_text::normalise::{normalise_text, without_accents};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;

use proem_engine::error::{Error, ErrorKind};

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cue {
    /// A small word, by which a language is told.
    Small,
    /// Says nothing at the head of a clause: "please", "then".
    Filler,
    /// Makes an order of a verb with a question mark: "please".
    Please,
    /// Asks politely for what the verb behind it says: "could you".
    Request,
    /// Begins like a request and is a question: "would you approve".
    NotRequest,
    /// Wants what is behind it: "we need to".
    Wish,
    /// Wants to know: "I don't understand".
    Wonder,
    /// Wants to know, and doubts what is there: "I doubt that".
    Doubt,
    /// Wants to know, and doubts what it judges: "not sure this is right".
    Unsure,
    /// Opens what is only imagined: "suppose".
    Suppose,
    /// Opens a question that no yes answers: "why".
    Question,
    /// Opens a question of yes or no: "is", "do we".
    Inversion,
    /// Closes a question: "or not".
    Tag,
    /// Closes a statement that is meant as a question: "anything".
    Indefinite,
    /// Orders a change: "add".
    Change,
    /// Orders what its object says, otherwise a change: "write".
    Make,
    /// Asks for what its object says, otherwise an answer: "give".
    Give,
    /// Orders to find out: "investigate".
    Find,
    /// Orders an answer: "explain".
    Tell,
    /// Looks for something that may not be there: "find".
    Seek,
    /// Orders a judgement: "review".
    Judge,
    /// A judgement as a thing: "a second opinion".
    JudgeNoun,
    /// The result of finding out, as a thing: "an overview".
    PlanNoun,
    /// The form of a judgement or an answer: "comments".
    Report,
    /// Makes a question of yes or no a judgement: "safe".
    Judgement,
    /// Asks for a judgement in any question: "what's wrong with".
    Opinion,
    /// A defect that a question may be about: "leak".
    Problem,
    /// Defects that nobody has found so far: "leaks".
    Problems,
    /// Leads from what is looked at to what is looked for: "for".
    LookingFor,
    /// A statement about a thing that doesn't work: "crashes".
    Trouble,
    /// A statement about a thing as it is wanted: "should".
    Should,
    /// Negates the verb behind it.
    Not,
    /// Negates the verb before it: "nichts".
    NotBehind,
    /// Negates like a preposition: "without".
    Without,
    /// Everything, as the object of a negated change: "anything".
    Nothing,
    /// Takes something out of everything: "else".
    Except,
    /// Speaks of something known: "the".
    Definite,
    /// Forbids changes by itself at the head of a clause: "no code".
    HandsOff,
    /// "Just", "only".
    Only,
    /// Asks for a way: "how to".
    HowTo,
    Whether,
    That,
    /// Asks whether something can be at all, which is no judgement: "possible".
    Feasible,
    /// Opens a clause that ends with its verb and orders nothing: "wenn".
    Subordinate,
    /// Joins two clauses.
    And,
    /// Joins two things so that no clause begins behind the next "and".
    Between,
    /// May be between a verb and its object.
    Determiner,
    /// Stands between a verb and its object: "the".
    Article,
    /// A pronoun that is written onto the end of a verb: "lo" in "arréglalo".
    Clitic,
    /// Shows that the word before it was a noun: "is", "fails".
    Finite,
}

/// The phrases of all languages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phrases {
    pub(super) languages: Vec<LanguagePhrases>,
}

/// The phrases of one language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LanguagePhrases {
    /// Its two letters.
    pub(super) name: String,
    /// By their first word.
    words: LineTable,
    /// By what their first word begins with.
    stems: LineTable,
    /// Pronouns that are written onto the end of verbs.
    clitics: Vec<String>,
}

/// A phrase that was found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhraseMatch {
    pub(super) cue: Cue,
    /// How many words it has.
    pub(super) length: usize,
}

/// The shortest stem, in bytes. Shorter ones would match half a language.
const SHORTEST_STEM: usize = 4;
/// The longest stem, in bytes, so that a word costs the same however long it is.
const LONGEST_STEM: usize = 16;
/// The beginning of an index's part. No word of a phrase has it.
const PART: char = '@';

impl Phrases {
    /// Reads one file for each language, `cue = "phrase, phrase"`. The first language wins ties.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if a file is not of that form or a phrase could never match.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, Error> {
        let languages = files.iter().map(|(name, text)| LanguagePhrases::parse(name, text));
        Ok(Self { languages: languages.collect::<Result<_, _>>()? })
    }

    /// Reads what [`Self::index`] wrote, without looking at the phrases themselves.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if it has a part that no index has.
    pub fn of_index(index: &'static str) -> Result<Self, Error> {
        let mut phrases = Self::default();
        for part in index.split(PART).skip(1) {
            let (head, lines) = part.split_once('\n').unwrap_or((part, ""));
            let (name, kind) = head.split_once(' ').unwrap_or((head, ""));
            if phrases.languages.last().is_none_or(|last| last.name != name) {
                phrases.languages.push(LanguagePhrases { name: name.to_owned(), ..LanguagePhrases::default() });
            }
            match (phrases.languages.last_mut(), kind) {
                (Some(language), "words") => language.words = LineTable::of_lines(lines),
                (Some(language), "stems") => language.stems = LineTable::of_lines(lines),
                (Some(language), "clitics") => language.clitics = lines.lines().map(str::to_owned).collect(),
                _ => {
                    let problem = format!("an index of phrases has no part `{}`; write it anew", head.escape_debug());
                    return Err(Error::new(ErrorKind::InvalidFile, problem));
                }
            }
        }
        Ok(phrases)
    }

    /// The phrases as they are looked up, for [`Self::of_index`].
    #[must_use]
    pub fn index(&self) -> String {
        let mut index = String::new();
        for LanguagePhrases { name, words, stems, clitics } in &self.languages {
            let clitics: String = clitics.iter().map(|clitic| format!("{clitic}\n")).collect();
            index.push_str(&format!("{PART}{name} words\n{}{PART}{name} stems\n{}", words.lines(), stems.lines()));
            index.push_str(&format!("{PART}{name} clitics\n{clitics}"));
        }
        index
    }
}

/// Lines of a beginning and its phrases, apart at tabs. A phrase is its cue and the words behind the first one, apart at
/// blanks.
fn phrase_table(phrases: &BTreeMap<String, Vec<String>>) -> LineTable {
    LineTable::new(&phrases.iter().map(|(first, all)| (first.clone(), all.join("\t"))).collect())
}

impl Cue {
    /// The cue that is written so.
    fn of_name(name: &str) -> Result<Self, serde::de::value::Error> {
        Self::deserialize(name.into_deserializer())
    }
}

impl LanguagePhrases {
    fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidFile, format!("phrases ({name}): {problem}"));
        let file: BTreeMap<String, String> =
            toml::from_str(text).map_err(|e| invalid(e.to_string().trim_end().to_owned()))?;
        let mut lists: BTreeMap<Cue, (String, String)> = BTreeMap::new();
        for (cue, list) in file {
            lists.insert(Cue::of_name(&cue).map_err(|e| invalid(e.to_string()))?, (cue, list));
        }
        let mut lines = PhraseLines::default();
        for (cue, (word, list)) in lists {
            let phrases = list.split(',').map(str::trim).filter(|phrase| !phrase.is_empty());
            for phrase in phrases {
                lines.add((cue, &word), phrase).map_err(invalid)?;
            }
        }
        let (words, stems) = (phrase_table(&lines.words), phrase_table(&lines.stems));
        Ok(Self { name: name.to_owned(), words, stems, clitics: lines.clitics })
    }

    /// Whether its sentences can be read, and not only its keywords.
    pub(super) fn is_read(&self) -> bool {
        self.words.lines().contains("\tchange")
    }

    /// The phrases that begin at a text's first word.
    pub(super) fn at(&self, words: &[&str]) -> Vec<PhraseMatch> {
        let Some((first, behind)) = words.split_first() else { return Vec::new() };
        let whole = self.words.get(first).or_else(|| self.without_clitic(first)).into_iter();
        let stems = (SHORTEST_STEM..=first.len().min(LONGEST_STEM)).filter_map(|end| self.stems.get(first.get(..end)?));
        let phrases = whole.chain(stems).flat_map(|phrases| phrases.split('\t'));
        phrases.filter_map(|phrase| phrase_match(phrase, behind)).collect()
    }

    /// The phrases that begin with a verb that has a pronoun at its end.
    fn without_clitic(&self, word: &str) -> Option<&str> {
        let verbs = self.clitics.iter().filter_map(|clitic| word.strip_suffix(clitic.as_str()));
        verbs.filter(|verb| verb.len() >= SHORTEST_VERB).find_map(|verb| self.words.get(verb))
    }
}

/// A phrase of a table, if the words behind its first one are these.
fn phrase_match(phrase: &str, behind: &[&str]) -> Option<PhraseMatch> {
    let mut words = phrase.split(' ');
    let cue = words.next()?;
    let mut behind = behind.iter();
    let mut length = 1_usize;
    for wanted in words {
        if !word_matches(wanted, behind.next()?) {
            return None;
        }
        length = length.saturating_add(1);
    }
    Some(PhraseMatch { cue: Cue::of_name(cue).ok()?, length })
}

/// The phrases of a file by how they begin, each as a table has it.
#[derive(Debug, Default)]
struct PhraseLines {
    words: BTreeMap<String, Vec<String>>,
    stems: BTreeMap<String, Vec<String>>,
    clitics: Vec<String>,
}

impl PhraseLines {
    fn add(&mut self, (cue, name): (Cue, &str), phrases: &str) -> Result<(), String> {
        let folded = fold_phrase(phrases);
        // A person who types no accents types none on a final é.
        let bare = folded.replace(FINAL_E, "e");
        let spellings = if bare == folded { vec![folded] } else { vec![folded, bare] };
        for phrase in spellings.iter().flat_map(|spelling| phrase_forms(spelling)) {
            let apart = |c: char| c.is_whitespace() || matches!(c, '\'' | '-');
            let mut words = phrase.split(apart).filter(|word| !word.is_empty()).map(str::to_owned);
            let first = words.next().unwrap_or_default();
            let rest: Vec<String> = words.collect();
            let (by, first) = match first.strip_suffix('*') {
                Some(stem) if !(SHORTEST_STEM..=LONGEST_STEM).contains(&stem.len()) => {
                    return Err(format!("the stem of `{phrase}` must have {SHORTEST_STEM} to {LONGEST_STEM} letters"));
                }
                Some(stem) => (&mut self.stems, stem.to_owned()),
                None => (&mut self.words, first),
            };
            if cue == Cue::Clitic {
                self.clitics.push(first);
                continue;
            }
            let letters = |word: &str| !word.is_empty() && word.chars().all(char::is_alphanumeric);
            if !letters(&first) || !rest.iter().all(|word| letters(word.strip_suffix('*').unwrap_or(word))) {
                return Err(format!("`{phrase}` is not made of words and would never match"));
            }
            let phrases = by.entry(first).or_default();
            let phrase: String =
                std::iter::once(name).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
            if !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
        Ok(())
    }
}

/// The shortest verb that a pronoun is taken off, in bytes: "une" in "únelos".
const SHORTEST_VERB: usize = 3;

fn word_matches(wanted: &str, word: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => wanted == word,
    }
}

/// `ajout|e|ez` is `ajoute` and `ajoutez`. A phrase without endings is itself.
fn phrase_forms(phrase: &str) -> Vec<String> {
    let Some((stem, endings)) = phrase.split_once('|') else { return vec![phrase.to_owned()] };
    endings.split('|').map(|ending| format!("{stem}{ending}")).collect()
}

/// Stands for `é` at a word's end, where it tells "quité" (I took away) from "quite" (take away).
const FINAL_E: char = 'ə';

/// A text as phrases are matched: NFKC, lower case, umlauts and ß written out, without accents but
/// that of a final é.
pub(super) fn fold_phrase(text: &str) -> String {
    // Most phrases, of which there are thousands, have nothing to normalise, and nobody asks for the way back.
    if text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') && !text.contains("  ") {
        return text.to_ascii_lowercase();
    }
    let text = normalise_text(text).text.to_lowercase();
    if text.is_ascii() {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            'ä' => plain.push_str("ae"),
            'ö' | 'œ' => plain.push_str("oe"),
            'ü' => plain.push_str("ue"),
            'ß' => plain.push_str("ss"),
            '’' | 'ʼ' => plain.push('\''),
            'é' if rest.peek().is_none_or(|next| !next.is_alphanumeric()) => plain.push(FINAL_E),
            c => plain.push(c),
        }
    }
    without_accents(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_in_every_spelling() {
        let file = "change = 'ajout|e|ez, änder||e, get rid of'\njudgement = 'vulnérab*'\nnot = \"don't, n’écris\"\nwish = '''carry\non, go'''";
        let language = LanguagePhrases::parse("xx", file).unwrap();
        let found = |text: &str| {
            let folded = fold_phrase(text);
            let words: Vec<&str> = folded.split([' ', '\'']).collect();
            language.at(&words).into_iter().map(|hit| (hit.cue, hit.length)).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("ajoutez un test", vec![(Cue::Change, 1)]),
            ("Ändere das", vec![(Cue::Change, 1)]),
            ("aender das", vec![(Cue::Change, 1)]),
            ("A\u{308}ndere", vec![(Cue::Change, 1)]),
            ("get rid of it", vec![(Cue::Change, 3)]),
            ("get rid", vec![]),
            ("carry on", vec![(Cue::Wish, 2)]),
            ("vulne\u{301}rabilités", vec![(Cue::Judgement, 1)]),
            ("don’t do it", vec![(Cue::Not, 2)]),
            ("n'ecris pas", vec![(Cue::Not, 2)]),
            ("ajouter", vec![]),
        ] {
            assert_eq!(found(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_has_nothing_to_normalise_folds_like_everything_else() {
        for text in ["", " ", "  ", " a ", "Get  Rid of", "Don't", "a\tB", "a\u{7f}B", "~ B!", "a \n B", "Été"] {
            let plain = without_accents(&normalise_text(text).text.to_lowercase());
            assert_eq!(fold_phrase(text), plain.replace("ete", "etə"), "{text:?}");
        }
    }

    #[test]
    fn a_file_that_could_never_match_is_an_error() {
        let problem = |file: &str| Phrases::parse(&[("en", file)]).unwrap_err().to_string();
        assert_eq!(problem("change = 'a/b'"), "phrases (en): `a/b` is not made of words and would never match");
        assert_eq!(problem("change = 'abc*'"), "phrases (en): the stem of `abc*` must have 4 to 16 letters");
        assert!(problem("dance = 'tango'").starts_with("phrases (en): "));
    }
}
