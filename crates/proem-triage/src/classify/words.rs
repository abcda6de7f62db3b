//! The joint meaning of a signal's words, as learned from labelled signals.
//!
//! A sum for each category, and one for each importance: the weights of its words, of pairs of words behind each other
//! and of the starts of long words, by the root of how many words there are, and the weights of what the lexicon and
//! the system say. The file has one trait a line, in order, and is made by `proem-lab train triage`. Whole numbers
//! only, so every machine gives the same sums. A sum decides no more than which category words speak for: floors, and
//! what the system says, are above.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::error::{Error, ErrorKind};
use proem_text::LineTable;

use super::facts::{KindGroup, SenderFact, SystemFacts};
use crate::contract::{SignalCategory, SignalImportance};

/// How many categories there are.
const CATEGORIES: usize = SignalCategory::ALL.len();
/// How many importances.
const IMPORTANCES: usize = SignalImportance::ALL.len();
const COLUMNS: usize = CATEGORIES + IMPORTANCES;
/// The stored value of a sum of 1.
pub(super) const UNIT: i64 = 1_000_000;
/// From how many letters on the start of a word is a trait, and how many letters it has.
const LONG_WORD: usize = 6;
const START: usize = 5;
/// How much a point of the lexicon counts, in thousandths, and how many do at most.
const POINT: i64 = 250;
const MOST_POINTS: i64 = 8;

/// The weights that ship.
const SHIPPED: &str = include_str!("../../data/words.tsv");

/// The weights of traits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryWeights {
    /// The lines of the file behind its head.
    lines: LineTable,
}

/// The joint meaning of a signal's traits, in millionths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WordSums {
    pub(super) categories: Vec<(SignalCategory, i64)>,
    pub(super) importances: Vec<(SignalImportance, i64)>,
}

/// A trait of a signal that something may be learned of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalTrait {
    /// A word, as the lexicon reads it.
    Word(String),
    /// Two words behind each other, or the start of a word: `a b`, `start*`.
    Part(String),
    /// A fact about the signal, in words of ours.
    Fact(String),
}

impl SignalTrait {
    /// Its name in the file.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Word(name) | Self::Part(name) | Self::Fact(name) => name,
        }
    }
}

/// The traits of a signal, each with how much it counts, in thousandths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalTraits {
    words: BTreeSet<SignalTrait>,
    facts: Vec<(SignalTrait, i64)>,
}

impl SignalTraits {
    /// Adds the words of a text, with `.` between sentences.
    pub(super) fn read(&mut self, words: &[String]) {
        let mut before: Option<&String> = None;
        for word in words {
            if word == "." {
                before = None;
                continue;
            }
            if let Some(before) = before {
                self.words.insert(SignalTrait::Part(format!("{before} {word}")));
            }
            if word.chars().count() >= LONG_WORD {
                let start: String = word.chars().take(START).collect();
                self.words.insert(SignalTrait::Part(format!("{start}*")));
            }
            self.words.insert(SignalTrait::Word(word.clone()));
            before = Some(word);
        }
    }

    /// Adds what the system says and what the lexicon's terms came to.
    pub(super) fn told(
        &mut self,
        facts: &SystemFacts,
        points: &BTreeMap<SignalCategory, u32>,
        importances: &BTreeSet<SignalImportance>,
        asks: bool,
    ) {
        let group = match facts.group {
            KindGroup::Created => "created",
            KindGroup::Comment => "comment",
            KindGroup::Mail => "mail",
            _ => "other",
        };
        let sender = match facts.sender {
            SenderFact::Inside => "inside",
            SenderFact::Stakeholder => "stakeholder",
            SenderFact::Outside => "outside",
            SenderFact::OutsideStakeholder => "outside-stakeholder",
            SenderFact::Program => "program",
        };
        self.fact("@all".to_owned(), 1_000);
        self.fact(format!("@{group}"), 1_000);
        self.fact(format!("@{group}-{sender}"), 1_000);
        if asks {
            self.fact(format!("@{group}-asks"), 1_000);
        }
        for (category, points) in points {
            let points = i64::from(*points).min(MOST_POINTS).saturating_mul(POINT);
            self.fact(format!("%{}", category.as_str()), points);
        }
        for importance in importances {
            self.fact(format!("%{}", importance.as_str()), 1_000);
        }
    }

    fn fact(&mut self, name: String, share: i64) {
        self.facts.push((SignalTrait::Fact(name), share));
    }

    /// How many words there are.
    pub(super) fn words(&self) -> usize {
        self.words.iter().filter(|of| matches!(of, SignalTrait::Word(_))).count()
    }

    /// All of them with how much each counts, in thousandths.
    pub fn each(&self) -> impl Iterator<Item = (&SignalTrait, i64)> {
        let share = 1_000_000_u64.checked_div(self.words() as u64).unwrap_or_default().isqrt();
        let share = i64::try_from(share).unwrap_or(0);
        self.words.iter().map(move |of| (of, share)).chain(self.facts.iter().map(|(of, times)| (of, *times)))
    }
}

impl CategoryWeights {
    /// The weights that ship, whose lines nobody looks at before one is asked for: they are those of [`Self::parse`], as a
    /// test sees to.
    #[must_use]
    pub fn shipped() -> Self {
        Self::of_lines(SHIPPED)
    }

    fn of_lines(mut lines: &'static str) -> Self {
        while let Some((head, rest)) = lines.split_once('\n')
            && head.starts_with('#')
        {
            lines = rest;
        }
        Self { lines: LineTable::of_lines(lines) }
    }

    /// Weights from their file: comments with `#`, then a line for each trait, in order: its name, a tab, and a whole
    /// number for each category and each importance, in thousandths. Each line ends with a line break.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidFile`] if lines are out of order, or one has no weights.
    pub fn parse(text: &'static str) -> Result<Self, Error> {
        let invalid = |problem: &str| Error::new(ErrorKind::InvalidFile, format!("words of triage: {problem}"));
        let learned = Self::of_lines(text);
        let mut before = "";
        for line in learned.lines.lines().split_inclusive('\n') {
            let (name, said) = line.split_once('\t').ok_or_else(|| invalid("a line has no tab"))?;
            if name <= before {
                return Err(invalid("the traits are not in order"));
            }
            if said.strip_suffix('\n').and_then(parse_weights).is_none() {
                return Err(invalid("a line lacks a weight, or its end"));
            }
            before = name;
        }
        Ok(learned)
    }

    /// The joint meaning of all traits of a signal.
    pub(super) fn sums(&self, traits: &SignalTraits) -> WordSums {
        let mut sums = [0_i64; COLUMNS];
        for (of, share) in traits.each() {
            let Some(weights) = self.weights(of.name()) else { continue };
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = sum.saturating_add(weight.saturating_mul(share));
            }
        }
        let of_importances = sums.iter().skip(CATEGORIES);
        WordSums {
            categories: SignalCategory::ALL.iter().copied().zip(sums.iter().copied()).collect(),
            importances: SignalImportance::ALL.iter().copied().zip(of_importances.copied()).collect(),
        }
    }

    /// Whether one of the words is known. Numbers are none.
    pub(super) fn knows(&self, traits: &SignalTraits) -> bool {
        let is_known = |name: &str| name.chars().any(char::is_alphabetic) && self.weights(name).is_some();
        traits.words.iter().any(|of| matches!(of, SignalTrait::Word(name) if is_known(name)))
    }

    /// How many of a hundred of its words are known. Numbers are none.
    pub(super) fn known_share(&self, traits: &SignalTraits) -> usize {
        let words =
            traits.words.iter().filter_map(|of| if let SignalTrait::Word(name) = of { Some(name) } else { None });
        let (mut known, mut all) = (0_usize, 0_usize);
        for name in words.filter(|name| name.chars().any(char::is_alphabetic)) {
            all = all.saturating_add(1);
            known = known.saturating_add(usize::from(self.weights(name).is_some()));
        }
        known.saturating_mul(100).checked_div(all).unwrap_or_default()
    }

    fn weights(&self, name: &str) -> Option<[i64; COLUMNS]> {
        self.lines.get(name).and_then(parse_weights)
    }
}

/// The weights of a line behind its tab.
fn parse_weights(numbers: &str) -> Option<[i64; COLUMNS]> {
    let mut weights = [0; COLUMNS];
    let mut numbers = numbers.split(' ');
    for weight in &mut weights {
        *weight = numbers.next()?.parse().ok()?;
    }
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_that_ship_are_whole() {
        let parsed = CategoryWeights::parse(SHIPPED).unwrap();
        assert!(parsed.lines.lines().lines().count() > 30_000);
        assert_eq!(CategoryWeights::shipped(), parsed);
        assert!(parsed.weights("%blocker").is_some());
    }

    #[test]
    fn lines_that_would_not_be_found_are_an_error() {
        let row = ["1"; COLUMNS].join(" ");
        let short = row.strip_suffix(" 1").unwrap();
        for (text, expected) in [
            (format!("# head\na\t{row}\nb\t{row}\n"), None),
            (format!("b\t{row}\na\t{row}\n"), Some("the traits are not in order")),
            (format!("a\t{row}\na\t{row}\n"), Some("the traits are not in order")),
            (format!("a {row}\n"), Some("a line has no tab")),
            (format!("a\t{row}\nb\t{short}\n"), Some("a line lacks a weight, or its end")),
            (format!("a\t{row}\nb\t{row}"), Some("a line lacks a weight, or its end")),
        ] {
            let found = CategoryWeights::parse(text.clone().leak()).err().map(|error| error.to_string());
            assert_eq!(found, expected.map(|expected| format!("words of triage: {expected}")), "{text:?}");
        }
    }
}
