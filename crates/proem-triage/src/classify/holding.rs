//! The effect of floors' words on the reading of a signal.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{
    CLEAR_LEAD, FEW_WORDS, QUESTION, STRONG, SignalInBatch, SignalReading, TriageLexicon,
    facts::{KindGroup, SystemFacts},
    floors::{FloorReason, FloorWord},
    quotes::{MailKind, author_words},
};
use crate::{
    contract::{SignalCategory, SignalImportance},
    sanitise::SanitisedField,
};

/// How many different words thanks have at most.
const MOST_THANKS: usize = 12;

/// The least that a signal matters by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportanceFloor {
    /// How much it matters at least.
    pub least: SignalImportance,
    /// Why. Nothing where the least is [`SignalImportance::Low`].
    pub reasons: BTreeSet<FloorReason>,
}

impl SignalReading {
    /// Adds the votes of floors' words for a category. If weights of words decide, they have learned those words, too.
    pub(super) fn add_floor(&mut self) {
        if self.floor.is_calm() {
            self.importances.remove(&SignalImportance::Critical);
            self.importances.remove(&SignalImportance::High);
        }
        // A few words of thanks are no news.
        if self.floor.is_thanks()
            && self.scores.values().all(|points| *points < STRONG)
            && self.traits.words() <= MOST_THANKS
        {
            self.floor.topics.insert(SignalCategory::Administrative);
        }
        let of_calm = self.floor.is_calm().then_some(SignalCategory::Progress);
        let of_reasons = self.floor.categories();
        self.topics = of_reasons.chain(self.floor.topics.iter().copied()).chain(of_calm).collect();
        self.terms = self.terms.saturating_add(self.topics.len());
        for category in self.topics.clone() {
            self.add(category, STRONG);
        }
        if self.floor.reasons.contains(&FloorReason::Request) {
            self.add(SignalCategory::Stakeholder, QUESTION);
        }
        if self.floor.is_live {
            self.importances.insert(SignalImportance::Critical);
        }
    }

    /// Why it matters at least so much, in words of ours.
    pub(super) fn floor_rationale(&self) -> String {
        let reasons: Vec<&str> = self.floor.reasons.iter().map(|reason| reason.in_words()).collect();
        match reasons.as_slice() {
            [] => String::new(),
            reasons => format!("; at least {} ({})", self.floor.importance().as_str(), reasons.join(", ")),
        }
    }

    /// Whether a few words, none of which says so for sure, make it a change of scope.
    pub(super) fn is_thin_guess(&self, lead: i64) -> bool {
        lead < CLEAR_LEAD && self.score(SignalCategory::Scope) == 0 && self.traits.words() < FEW_WORDS
    }

    /// Whether the words of floors hold it high.
    pub(super) fn is_held_high(&self) -> bool {
        self.floor.importance().is_at_least(SignalImportance::High)
    }
}

/// Whether a signal is a mail that answers another.
pub(super) fn mail_kind(item: &SignalInBatch<'_>, facts: &SystemFacts, lexicon: &TriageLexicon) -> MailKind {
    let mut kind = MailKind::Other;
    if facts.group == KindGroup::Mail {
        for field in item.sanitised.fields.iter().filter(|field| field.name == "summary") {
            field.measure_rest(|subject| kind = MailKind::of_subject(subject, lexicon.floors()));
        }
    }
    kind
}

/// Whether a text is older than its signal: the subject of a reply that quotes what it answers, or only thanks for it.
pub(super) fn is_old(
    field: &SanitisedField,
    item: &SignalInBatch<'_>,
    mail: MailKind,
    lexicon: &TriageLexicon,
) -> bool {
    if mail != MailKind::Reply || field.name != "summary" {
        return false;
    }
    let (mut is_quoting, mut is_thanks) = (false, false);
    for field in item.sanitised.fields.iter().filter(|field| field.name != "summary") {
        field.measure_rest(|text| {
            is_quoting |= matches!(author_words(text, mail, lexicon.floors()), Cow::Owned(_));
            is_thanks |=
                text.split_whitespace().count() <= MOST_THANKS && lexicon.floors().has(text, FloorWord::Thanks);
        });
    }
    is_quoting || is_thanks
}
