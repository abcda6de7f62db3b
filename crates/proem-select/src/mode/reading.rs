//! A clause, read with the phrases of its language.

use super::clauses::{CODE, Clause, ClauseEnd, ClauseWord};
use super::phrases::{Cue, LanguagePhrases, PhraseMatch, Phrases};

/// A clause's words with the phrases that begin at each.
#[derive(Debug)]
pub(super) struct ClauseReading<'c> {
    pub(super) language: &'c str,
    words: Vec<Heard<'c>>,
    pub(super) end: ClauseEnd,
}

/// A word and the phrases that begin at it.
#[derive(Debug)]
struct Heard<'c> {
    word: &'c ClauseWord,
    hits: Vec<PhraseMatch>,
}

/// A verb at the head of something: where, what it orders, how many words it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verb {
    pub(super) at: usize,
    pub(super) cue: Cue,
    pub(super) length: usize,
}

/// The cues of verbs. The first wins among phrases of one length.
const VERBS: [Cue; 6] = [Cue::Make, Cue::Give, Cue::Judge, Cue::Find, Cue::Tell, Cue::Change];
/// Cues that are at a clause's head, where a longer phrase of one beats a filler.
const HEADS: [Cue; 9] = [
    Cue::HandsOff,
    Cue::Wonder,
    Cue::Wish,
    Cue::Request,
    Cue::Question,
    Cue::Inversion,
    Cue::Not,
    Cue::Opinion,
    Cue::Judge,
];
/// Languages in which a noun is before its adjectives.
const NOUN_FIRST: [&str; 3] = ["pt", "fr", "es"];

impl<'c> ClauseReading<'c> {
    pub(super) fn new(language: &'c LanguagePhrases, clause: &'c Clause) -> Self {
        let texts: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).collect();
        let hear = |(at, word)| Heard { word, hits: language.at(texts.get(at..).unwrap_or_default()) };
        let words = clause.words.iter().enumerate().map(hear).collect();
        Self { language: &language.name, words, end: clause.end }
    }

    pub(super) const fn len(&self) -> usize {
        self.words.len()
    }

    fn word(&self, at: usize) -> Option<&'c ClauseWord> {
        self.words.get(at).map(|heard| heard.word)
    }

    /// Whether no phrase begins at a word.
    pub(super) fn is_unknown(&self, at: usize) -> bool {
        self.words.get(at).is_some_and(|heard| heard.hits.is_empty() && heard.word.text != CODE)
    }

    /// How many words the longest phrase of a cue has that begins at a word.
    pub(super) fn at(&self, at: usize, cue: Cue) -> Option<usize> {
        self.words.get(at)?.hits.iter().filter(|hit| hit.cue == cue).map(|hit| hit.length).max()
    }

    /// The first word in a range at which a phrase of a cue begins.
    pub(super) fn find(&self, cue: Cue, mut range: std::ops::Range<usize>) -> Option<usize> {
        range.find(|at| self.at(*at, cue).is_some())
    }

    pub(super) fn has(&self, cue: Cue) -> bool {
        self.find(cue, 0..self.len()).is_some()
    }

    /// The phrase of a cue at its first place, in words.
    pub(super) fn phrase(&self, cue: Cue) -> Option<String> {
        let at = self.find(cue, 0..self.len())?;
        Some(self.quote(at, self.at(at, cue)?))
    }

    /// Some words as they are matched.
    pub(super) fn quote(&self, at: usize, length: usize) -> String {
        let words = self.words.iter().skip(at).take(length).map(|heard| heard.word.text.as_str());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The first word that says something.
    pub(super) fn head(&self) -> usize {
        self.skip_fillers(0)
    }

    pub(super) fn skip_fillers(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(filler) = self.at(at, Cue::Filler) {
            let longer = HEADS.iter().any(|cue| self.at(at, *cue).is_some_and(|length| length > filler));
            if longer || self.verb(at).is_some_and(|verb| verb.length > filler) {
                break;
            }
            at = at.saturating_add(filler);
        }
        at
    }

    /// The verb that begins at a word: of several phrases the longest.
    pub(super) fn verb(&self, at: usize) -> Option<Verb> {
        // German nouns have capitals: "Plan" is none of its verbs, "plan" is.
        if at > 0 && self.language == "de" && self.word(at).is_some_and(|word| word.capital) {
            return None;
        }
        let mut best: Option<Verb> = None;
        for cue in VERBS {
            let length = self.at(at, cue);
            best = match (best, length) {
                (Some(verb), Some(length)) if length <= verb.length => Some(verb),
                (_, Some(length)) => Some(Verb { at, cue, length }),
                (best, None) => best,
            };
        }
        best
    }

    /// Whether a verb names what is done as much as it orders it: "adding a replica", "update on the
    /// migration", "to add a locale, …", "caching: …".
    pub(super) fn is_nominal(&self, verb: Verb) -> bool {
        let word = |at: usize| self.word(at).map_or("", |word| word.text.as_str());
        let purpose = verb.at.checked_sub(1).is_some_and(|before| PURPOSE.contains(&word(before)));
        if self.end == ClauseEnd::Colon || purpose && self.end == ClauseEnd::Comma {
            return true;
        }
        let gerund = word(verb.at).len() > "bring".len() && word(verb.at).ends_with("ing");
        let noun = verb.length == 1 && NOUN_PREPOSITIONS.contains(&word(verb.at.saturating_add(1)));
        self.language == "en" && (gerund || noun)
    }

    /// Whether a German clause ends with an infinitive, which depends on the clause before: "zu ersetzen".
    pub(super) fn is_infinitive(&self) -> bool {
        let Some(last) = self.final_verb().map(|verb| verb.at) else { return false };
        let before = last.checked_sub(1).and_then(|at| self.word(at)).is_some_and(|word| word.text == "zu");
        before || self.word(last).is_some_and(|word| word.text.len() > "zu".len() && word.text.contains("zu"))
    }

    /// The first verb in a range of words.
    pub(super) fn verb_in(&self, mut range: std::ops::Range<usize>) -> Option<Verb> {
        range.find_map(|at| self.verb(at))
    }

    /// The verb that a German clause ends with.
    pub(super) fn final_verb(&self) -> Option<Verb> {
        if self.language != "de" {
            return None;
        }
        let mut last = self.len().checked_sub(1)?;
        while last > 0 && self.at(last, Cue::Filler).is_some() {
            last = last.checked_sub(1)?;
        }
        (last.saturating_sub(1)..=last).find_map(|at| {
            let verb = self.verb(at)?;
            (at.saturating_add(verb.length) > last).then_some(verb)
        })
    }

    /// The meaning of the noun phrase that begins at a word: a judgement or a result.
    pub(super) fn noun(&self, from: usize) -> Option<(Cue, usize)> {
        let mut inside = false;
        for at in from..self.len().min(from.saturating_add(NOUN_REACH)) {
            for cue in [Cue::JudgeNoun, Cue::PlanNoun] {
                let Some(length) = self.at(at, cue) else { continue };
                if self.noun_stands_first() || self.ends_noun(at.saturating_add(length)) {
                    return Some((cue, at));
                }
            }
            let small = self.at(at, Cue::Small).is_some();
            if small && inside {
                return None;
            }
            inside |= !small;
        }
        None
    }

    /// Whether nouns are before their adjectives, as in Romance languages.
    pub(super) fn noun_stands_first(&self) -> bool {
        NOUN_FIRST.contains(&self.language)
    }

    /// Whether a noun phrase ends before a word.
    fn ends_noun(&self, at: usize) -> bool {
        let ends = |word: &ClauseWord| {
            word.text == CODE || self.at(at, Cue::Small).is_some() || self.at(at, Cue::Filler).is_some()
        };
        self.word(at).is_none_or(ends)
    }
}

/// Words before a verb that say what for, if the sentence goes on behind its comma.
const PURPOSE: [&str; 3] = ["to", "pour", "para"];
/// English words behind a noun that could be a verb.
const NOUN_PREPOSITIONS: [&str; 5] = ["for", "of", "on", "in", "after"];

/// How far behind its beginning the noun of a noun phrase is looked for, in words.
const NOUN_REACH: usize = 7;

/// The language of each clause: what its own words say counts twice, those of the whole task once.
/// `None` where no word is known.
pub(super) fn languages<'p>(phrases: &'p Phrases, clauses: &[Clause]) -> Vec<Option<&'p LanguagePhrases>> {
    let own: Vec<Vec<usize>> = clauses.iter().map(|clause| language_scores(phrases, clause)).collect();
    let sum =
        |place: usize| own.iter().filter_map(|scores| scores.get(place)).fold(0_usize, |a, b| a.saturating_add(*b));
    let whole: Vec<usize> = (0..phrases.languages.len()).map(sum).collect();
    let pick = |scores: &Vec<usize>| {
        let both = scores.iter().zip(&whole).map(|(own, whole)| own.saturating_mul(2).saturating_add(*whole));
        let mut best: Option<(usize, &LanguagePhrases)> = None;
        for (score, language) in both.zip(&phrases.languages) {
            if score > best.map_or(0, |(most, _)| most) {
                best = Some((score, language));
            }
        }
        best.map(|(_, language)| language)
    };
    own.iter().map(pick).collect()
}

/// How much a clause looks like each language: small words count twice.
fn language_scores(phrases: &Phrases, clause: &Clause) -> Vec<usize> {
    let texts: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).collect();
    let score = |language: &LanguagePhrases| {
        (0..texts.len()).fold(0_usize, |sum, at| {
            let hits = language.at(texts.get(at..).unwrap_or_default());
            let small = hits.iter().any(|hit| hit.cue == Cue::Small);
            sum.saturating_add(usize::from(small)).saturating_add(usize::from(!hits.is_empty()))
        })
    };
    phrases.languages.iter().map(score).collect()
}
