//! Words that tell what a signal is about: one file, in five languages.
//!
//! A term is one word or several behind each other, without capitals and accents. It matches whole words of one
//! sentence. `*` at the end of a word represents any rest. A term behind a word of negation, with at most one word
//! between, doesn't count, unless the negation is its own.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::error::{Error, ErrorKind};
use proem_guard::Untrusted;
use proem_text::{
    character::is_mark,
    normalise::{normalise_text, without_accents},
};
use serde::Deserialize;

use super::{
    confidence::{ClassificationBasis, ConfidenceTable},
    floors::FloorWords,
    words::CategoryWeights,
};
use crate::contract::{SignalCategory, SignalImportance, TimeSensitivity};

/// The languages of the file.
const LANGUAGES: [&str; 5] = ["en", "pt", "fr", "es", "de"];
/// The shortest start that `*` may follow, in characters.
const LEAST_STEM: usize = 4;
/// The most words of a text that are read.
const MAX_WORDS: usize = 20_000;
/// How far before a term a negation still counts, in words.
const NEGATION_REACH: usize = 2;

/// The meaning of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// It is surely about this.
    Strong(SignalCategory),
    /// It may be about this.
    Weak(SignalCategory),
    /// It matters this much.
    Importance(SignalImportance),
    /// It is this urgent.
    Time(TimeSensitivity),
    /// A closed word of a system.
    System(SystemWord),
}

macro_rules! system_words {
    ($($(#[$about:meta])* $variant:ident = $name:literal,)+) => {
        /// A closed word of a system: a status, a priority, a type, a name of what changed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum SystemWord { $($(#[$about])* $variant,)+ }

        // One bit for each.
        const _: () = assert!([$($name),+].len() <= u64::BITS as usize);

        impl SystemWord {
            fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }

            /// Its place among all of them, as a bit.
            const fn bit(self) -> u64 {
                1 << (self as u8)
            }
        }
    };
}
system_words! {
    StatusBlocked = "status-blocked",
    StatusMoved = "status-moved",
    StatusDropped = "status-dropped",
    StatusWaiting = "status-waiting",
    StatusQueued = "status-queued",
    StatusReturned = "status-returned",
    PriorityHighest = "priority-highest",
    PriorityHigh = "priority-high",
    TypeBug = "type-bug",
    TypeRisk = "type-risk",
    TypeBlocker = "type-blocker",
    TypeScope = "type-scope",
    TypeDependency = "type-dependency",
    TypeQuestion = "type-question",
    TypeMilestone = "type-milestone",
    TypeIncident = "type-incident",
    ChangeStatus = "change-status",
    ChangeFlag = "change-flag",
    ChangePriority = "change-priority",
    ChangeSprint = "change-sprint",
    ChangePoints = "change-points",
    ChangeLink = "change-link",
    ChangeText = "change-text",
    ChangeResolution = "change-resolution",
    ChangeDue = "change-due",
    ChangeVersion = "change-version",
    ChangeGoal = "change-goal",
    ChangeSummary = "change-summary",
    ChangeType = "change-type",
    ResolvedElsewhere = "resolved-elsewhere",
    PlaceLive = "place-live",
    ChangeLabels = "change-labels",
    ChangeWork = "change-work",
    ChangeDependency = "change-dependency",
    LinkBlocked = "link-blocked",
    LinkDepends = "link-depends",
    LinkBlocks = "link-blocks",
    SenderAutomatic = "sender-automatic",
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LexiconFile {
    confidence: ConfidenceSection,
    negation: BTreeMap<String, Vec<String>>,
    strong: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    weak: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    importance: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    time: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    system: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfidenceSection {
    name: String,
    made_by: String,
    right: BTreeMap<String, f64>,
}

/// Closed words of a system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SystemWords(u64);

impl SystemWords {
    /// Whether this one is among them.
    pub(super) const fn has(self, word: SystemWord) -> bool {
        self.0 & word.bit() != 0
    }
}

/// The terms with what they mean.
#[derive(Debug, Clone)]
pub struct TriageLexicon {
    /// By the first word.
    whole: BTreeMap<String, Vec<Term>>,
    /// By the first four characters of a first word with `*`.
    stems: BTreeMap<String, Vec<Term>>,
    negations: Vec<String>,
    confidence: ConfidenceTable,
    learned: CategoryWeights,
    floors: FloorWords,
    count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    words: Vec<String>,
    meaning: Meaning,
}

impl TriageLexicon {
    /// The lexicon that ships.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if the file inside the program is damaged.
    pub fn shipped() -> Result<Self, Error> {
        let lexicon = Self::parse(include_str!("../../data/lexicon.toml"))?;
        Ok(lexicon.with(CategoryWeights::shipped()))
    }

    /// The same terms with other weights of words.
    #[must_use]
    pub fn with(mut self, learned: CategoryWeights) -> Self {
        self.learned = learned;
        self
    }

    /// The joint meaning of a signal's words.
    pub(super) const fn learned(&self) -> &CategoryWeights {
        &self.learned
    }

    /// The words that hold a signal to a least importance.
    pub(super) const fn floors(&self) -> &FloorWords {
        &self.floors
    }

    /// A lexicon from its file, without weights of words.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if it is not of that form, with what is unknown or would never match.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidFile, format!("triage lexicon: {problem}"));
        let file: LexiconFile = toml::from_str(text).map_err(|e| invalid(e.to_string().trim_end().to_owned()))?;
        let unknown =
            |name: &str| invalid(format!("`{name}` is no word of its list; see the contract `classify_signal`"));
        let ConfidenceSection { name, made_by, right } = file.confidence;
        let right = ClassificationBasis::ALL.map(|basis| right.get(basis.as_str()).copied().unwrap_or(-1.0));
        if right.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return Err(invalid("`confidence.right` lacks a basis, or one is not from 0 to 1".to_owned()));
        }
        let mut lexicon = Self {
            whole: BTreeMap::new(),
            stems: BTreeMap::new(),
            negations: file.negation.values().flatten().map(|word| fold_text(word)).collect(),
            confidence: ConfidenceTable { name, made_by, right },
            learned: CategoryWeights::default(),
            floors: FloorWords::shipped()?,
            count: 0,
        };
        let category = |name: &str| SignalCategory::parse(name).ok_or_else(|| unknown(name));
        for (name, languages) in &file.strong {
            lexicon.add(Meaning::Strong(category(name)?), languages).map_err(invalid)?;
        }
        for (name, languages) in &file.weak {
            lexicon.add(Meaning::Weak(category(name)?), languages).map_err(invalid)?;
        }
        for (name, languages) in &file.importance {
            let importance = SignalImportance::parse(name).ok_or_else(|| unknown(name))?;
            lexicon.add(Meaning::Importance(importance), languages).map_err(invalid)?;
        }
        for (name, languages) in &file.time {
            let time = TimeSensitivity::parse(name).ok_or_else(|| unknown(name))?;
            lexicon.add(Meaning::Time(time), languages).map_err(invalid)?;
        }
        for (name, languages) in &file.system {
            let word = SystemWord::parse(name).ok_or_else(|| unknown(name))?;
            lexicon.add(Meaning::System(word), languages).map_err(invalid)?;
        }
        Ok(lexicon)
    }

    fn add(&mut self, meaning: Meaning, languages: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
        for (language, terms) in languages {
            if !LANGUAGES.contains(&language.as_str()) {
                return Err(format!("`{language}` is none of the languages {}", LANGUAGES.join(", ")));
            }
            for text in terms {
                let words: Vec<String> = text.split(' ').map(|word| word.to_owned()).collect();
                if words.iter().any(|word| !is_lexicon_term(word)) {
                    return Err(format!(
                        "`{text}` ({language}) would never match; write words in lower case without accents, with one \
                         space between, and `*` behind at least {LEAST_STEM} letters"
                    ));
                }
                let Some(first) = words.first() else { continue };
                let (group, key) = match first.strip_suffix('*') {
                    Some(stem) => (&mut self.stems, stem.chars().take(LEAST_STEM).collect()),
                    None => (&mut self.whole, first.clone()),
                };
                group.entry(key).or_default().push(Term { words, meaning });
                self.count = self.count.saturating_add(1);
            }
        }
        Ok(())
    }

    /// How sure a classification is.
    #[must_use]
    pub const fn confidence(&self) -> &ConfidenceTable {
        &self.confidence
    }

    /// The meanings of a text's terms, with the first word of each.
    ///
    /// The meaning of one word in several terms counts once, as it does when the word comes again: languages share
    /// words.
    pub(super) fn read(&self, text: &str) -> BTreeSet<(Meaning, String)> {
        let words = folded_words(text);
        let mut found = BTreeSet::new();
        for at in 0..words.len() {
            let rest = words.get(at..).unwrap_or_default();
            let Some(first) = rest.first() else { continue };
            let stem: String = first.chars().take(LEAST_STEM).collect();
            let terms = self.whole.get(first).into_iter().chain(self.stems.get(&stem)).flatten();
            for term in terms.filter(|term| term.matches(rest)) {
                if !self.is_negated(&words, at) {
                    found.insert((term.meaning, first.clone()));
                }
            }
        }
        found
    }

    /// The closed words of a system that are in a text from outside.
    pub(super) fn system_words(&self, text: &Untrusted<String>) -> SystemWords {
        SystemWords(text.measure(|text| self.system_words_of(text).0))
    }

    /// The closed words of a system that are in a text.
    pub(super) fn system_words_of(&self, text: &str) -> SystemWords {
        let bit = |meaning: &Meaning| if let Meaning::System(word) = meaning { word.bit() } else { 0 };
        SystemWords(self.read(text).iter().fold(0, |found, (meaning, _)| found | bit(meaning)))
    }

    fn is_negated(&self, words: &[String], at: usize) -> bool {
        let before = words.get(at.saturating_sub(NEGATION_REACH)..at).unwrap_or_default();
        let of_sentence = before.iter().rev().take_while(|word| *word != ".");
        of_sentence.into_iter().any(|word| self.negations.contains(word))
    }
}

impl Term {
    fn matches(&self, words: &[String]) -> bool {
        let is_same = |(term, word): (&String, &String)| match term.strip_suffix('*') {
            Some(stem) => word.starts_with(stem),
            None => term == word,
        };
        words.len() >= self.words.len() && self.words.iter().zip(words).all(is_same)
    }
}

fn is_lexicon_term(word: &str) -> bool {
    let stem = word.strip_suffix('*').unwrap_or(word);
    let is_long = stem.len() == word.len() || stem.chars().count() >= LEAST_STEM;
    // Nearly all terms are these letters, which folding leaves as they are.
    let is_plain = stem.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_long && !stem.is_empty() && (is_plain || stem.chars().all(is_term_character) && fold_text(stem) == stem)
}

fn is_term_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

fn fold_text(text: &str) -> String {
    without_accents(&normalise_text(text).text.to_lowercase())
}

/// The words of a text in one spelling, with `.` between sentences.
pub(super) fn folded_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    // Folding makes one space of any white space, so the ends of lines are looked for before.
    for line in text.lines() {
        let mut word = String::new();
        for c in fold_text(line).chars().chain(['.']) {
            if words.len() >= MAX_WORDS {
                return words;
            }
            if is_term_character(c) {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            let ends = matches!(c, '.' | '!' | '?' | ';' | ':');
            if ends && words.last().is_some_and(|last| last != ".") {
                words.push(".".to_owned());
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexicon_with_strong(strong: &str) -> Result<TriageLexicon, Error> {
        TriageLexicon::parse(&format!(
            "[confidence]\nname = 'n'\nmade_by = 'm'\n[confidence.right]\nsystem = 1\nclear = 1\nclose = 1\nnone = 0\n\
             [negation]\nen = ['not', 'no']\n[strong.blocker]\n{strong}\n[weak]\n[importance]\n[time]\n[system]\n"
        ))
    }

    #[test]
    fn terms_are_whole_words_of_one_sentence() {
        let lexicon = lexicon_with_strong(
            "en = ['blocked', 'test system down', 'unreach*']\nfr = ['bloque']\npt = ['bloquea*']\nes = ['bloqueado']",
        )
        .unwrap();
        for (text, expected) in [
            ("it is BLOCKED.", 1),
            ("unblocked blocker", 0),
            ("not blocked", 0),
            ("not yet blocked", 0),
            ("No. Blocked", 1),
            ("blocked blocked", 1),
            ("the test  system\tdown", 1),
            ("test. System down", 0),
            ("test\nsystem down", 0),
            ("unreachable", 1),
            ("bloqueado bloqueado", 1),
            ("le travail est bloqué", 1),
            ("le travail est bloque\u{301}", 1),
        ] {
            assert_eq!(lexicon.read(text).len(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_would_never_match_is_an_error() {
        for (strong, expected) in [
            ("en = ['Blocked']", "`Blocked` (en) would never match"),
            ("fr = ['bloqué']", "`bloqué` (fr) would never match"),
            ("en = ['abc*']", "`abc*` (en) would never match"),
            ("it = ['bloccato']", "`it` is none of the languages en, pt, fr, es, de"),
        ] {
            let error = lexicon_with_strong(strong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("triage lexicon: {expected}")), "{error}");
        }
    }

    #[test]
    fn the_lexicon_that_ships_is_whole() {
        let lexicon = TriageLexicon::shipped().unwrap();
        assert!(lexicon.count > 300, "{}", lexicon.count);
    }
}
