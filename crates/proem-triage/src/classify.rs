//! A signal's category, its importance and the recommended action, by rules and a lexicon.
//!
//! Two things are read: what the system itself says (a transition, a flag, a priority), in closed words, and what is
//! left of the texts without their attacks. Of both only numbers and closed words leave, so that an answer holds no
//! text from outside.
//!
//! Invariants: nothing matters less than it would without its texts. Scope changes and external stakeholders matter
//! much at least; where two categories are near each other, the more important one decides how much it matters; what
//! derives from a text that is out is never done, only shown to a person. No signal changes another's answer but for
//! the ids of related ones.
//!
//! This is the degraded mode: what a model answers has the same form, and is as far as `told` lets it.

mod changes;
mod clauses;
mod confidence;
mod correlation;
mod facts;
mod floors;
mod holding;
mod importance;
mod judgement;
mod lexicon;
mod model_claims;
mod quotes;
mod sprint;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use proem_guard::{LabelTree, Verdict};

use self::{
    facts::{DangerFact, KindGroup, LinkFact, SenderFact, StatusFact, SystemFacts},
    floors::FloorReading,
    holding::mail_kind,
    lexicon::{Meaning, SystemWord},
    quotes::author_words,
};
use super::{
    artefact::ArtefactKind,
    contract::{ClassifySignal, RecommendedAction, SignalCategory, SignalImportance, TimeSensitivity},
    sanitise::{SanitisedField, SanitisedSignal, SignalEffects},
    signal::ProjectSignal,
};

pub use self::{
    confidence::{ClassificationBasis, ConfidenceTable},
    correlation::signal_matter,
    facts::{Completion, Movement, Slip, Standstill, TicketNews, TriageProject},
    floors::FloorReason,
    holding::ImportanceFloor,
    judgement::{CountedJudgement, LearnedImportance},
    lexicon::TriageLexicon,
    model_claims::ReasoningNeed,
    words::{CategoryWeights, SignalTrait, SignalTraits},
};

/// The weight of a strong term for its category.
const STRONG: u32 = 3;
/// The weight of a weak term.
const WEAK: u32 = 1;
/// The weight of a question in a mail.
const QUESTION: u32 = 2;
/// The weight of the system's own word.
const SYSTEM: u32 = 6;
/// How far the second category has to be behind for the first to be clear.
const CLEAR_LEAD: i64 = words::UNIT;
/// How far a category may be behind the first to decide with it how much a signal matters.
const NEAR: i64 = words::UNIT / 4;
/// Fewer words than these say little.
const FEW_WORDS: usize = 6;
/// How much the words of floors speak for a category beside the weights of all words: chosen by the signals for tuning.
const FLOOR_LEAD: i64 = 2 * words::UNIT;
/// How many of a hundred words have to be known for their weights to count.
const LEARNED_SHARE: usize = 60;
/// From how many categories on a large model is asked for.
const MANY_CATEGORIES: usize = 3;

/// The context for classifying signals.
#[derive(Debug, Clone, Copy)]
pub struct ClassificationContext<'c> {
    /// The words.
    pub lexicon: &'c TriageLexicon,
    /// The people of the project.
    pub project: &'c TriageProject,
}

/// A signal and what of it may go on.
#[derive(Debug, Clone, Copy)]
pub struct SignalInBatch<'b> {
    /// The signal, of which only closed words are read.
    pub signal: &'b ProjectSignal,
    /// Its texts.
    pub sanitised: &'b SanitisedSignal,
}

/// The rules' classification of a signal.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalClassification {
    /// The answer, in the form that a model's has.
    pub answer: ClassifySignal,
    /// The basis of the category.
    pub basis: ClassificationBasis,
    /// The least that it matters by its words, which no model lowers, and why.
    pub floor: ImportanceFloor,
    /// The effects that it may have. A system's own word needs no text, so the contents of texts do not bind it.
    pub effects: SignalEffects,
    /// Whether rules alone said so, without a model. It is shown with the answer.
    pub is_degraded: bool,
}

/// Classifies signals that came together, each by itself but for related ones.
#[must_use]
pub fn classify_signals(batch: &[SignalInBatch<'_>], context: ClassificationContext<'_>) -> Vec<SignalClassification> {
    classify_each(batch, context).map(|(_, classification)| classification).collect()
}

/// The same, each beside its signal.
pub fn classify_each<'b, 's>(
    batch: &'b [SignalInBatch<'s>],
    context: ClassificationContext<'b>,
) -> impl Iterator<Item = (&'b SignalInBatch<'s>, SignalClassification)> {
    let related = correlation::related_signals(batch);
    related.map(move |(item, related)| (item, classify_signal(item, related, context)))
}

fn classify_signal(
    item: &SignalInBatch<'_>,
    related: Vec<String>,
    context: ClassificationContext<'_>,
) -> SignalClassification {
    let facts = SystemFacts::of(item.signal, context.lexicon, context.project);
    let reading = SignalReading::new(item, &facts, context.lexicon);
    let (category, basis) = reading.category(&facts);
    let secondary = reading.secondary(category);
    let importance = importance::signal_importance(&facts, &reading, category, basis);
    let is_out = item.sanitised.verdict >= Verdict::Quarantine && basis != ClassificationBasis::System;
    let action = if is_out {
        of_text_that_is_out(&facts, category, importance)
    } else {
        reading.action(&facts, category, importance)
    };
    let requires_sonnet = secondary.len().saturating_add(1) >= MANY_CATEGORIES
        || [SignalCategory::Risk, SignalCategory::Blocker].iter().all(|of| *of == category || secondary.contains(of));
    let affected =
        if action == RecommendedAction::UpdateArtefact { artefacts(category, importance) } else { Vec::new() };
    let answer = ClassifySignal {
        signal_id: item.signal.id.clone(),
        importance,
        category,
        action_rationale: rationale(category, basis, action, related.len()) + &reading.floor_rationale(),
        secondary_categories: secondary,
        recommended_action: action,
        artefacts_affected: affected,
        related_signals: related,
        requires_sonnet,
        sonnet_reason: requires_sonnet.then(|| "several categories at once".to_owned()),
        time_sensitivity: reading.time(category, importance),
        confidence: context.lexicon.confidence().of(basis),
    };
    let effects = if basis == ClassificationBasis::System { SignalEffects::ByPolicy } else { item.sanitised.effects() };
    let floor = ImportanceFloor { least: reading.floor.importance(), reasons: reading.floor.reasons };
    SignalClassification { answer, basis, floor, effects, is_degraded: true }
}

/// The traits of a signal that may be learned from, for the trainer of the weights.
#[must_use]
pub fn traits(item: &SignalInBatch<'_>, context: ClassificationContext<'_>) -> SignalTraits {
    let facts = SystemFacts::of(item.signal, context.lexicon, context.project);
    SignalReading::new(item, &facts, context.lexicon).traits
}

/// The reading of a signal's terms.
struct SignalReading {
    /// Points by category, in the order of [`SignalCategory::ALL`].
    scores: BTreeMap<SignalCategory, u32>,
    importances: BTreeSet<SignalImportance>,
    times: Vec<TimeSensitivity>,
    /// The category that the system's own word gives.
    of_system: Option<SignalCategory>,
    /// Whether there is a text that could say something.
    has_text: bool,
    /// Whether it names what runs for those who use it.
    is_live: bool,
    is_mail: bool,
    /// How many terms of a category are in it.
    terms: usize,
    /// Whether any of its words is known, and there are enough of them.
    is_known: bool,
    /// Whether enough of its words are known for their weights to say what it is about; else the terms alone do.
    is_learned: bool,
    traits: SignalTraits,
    /// The sum of the reading for each category, the highest first.
    ranked: Vec<(SignalCategory, i64)>,
    /// And of how much it matters.
    matters: Vec<(SignalImportance, i64)>,
    floor: FloorReading,
    /// The categories that the words of floors name.
    topics: BTreeSet<SignalCategory>,
}

impl SignalReading {
    fn new(item: &SignalInBatch<'_>, facts: &SystemFacts, lexicon: &TriageLexicon) -> Self {
        let (mut found, mut has_text, mut asks) = (BTreeSet::new(), false, false);
        let (mut traits, mut floor) = (SignalTraits::default(), FloorReading::default());
        let mail = mail_kind(item, facts, lexicon);
        let is_new =
            |field: &&SanitisedField| is_news(facts, field.name) && !holding::is_old(field, item, mail, lexicon);
        for field in item.sanitised.fields.iter().filter(is_new) {
            field.measure_rest(|text| {
                let text = &*author_words(text, mail, lexicon.floors());
                lexicon.floors().read(text, &mut floor);
                has_text |= text.chars().any(char::is_alphabetic);
                asks |= text.contains(['?', '¿']);
                found.extend(lexicon.read(text));
                traits.read(&lexicon::folded_words(text));
            });
        }
        if facts.is_principal {
            floor.ask_by_principal();
        }
        let of_system = of_system(facts);
        let mut reading = Self {
            scores: BTreeMap::new(),
            importances: BTreeSet::new(),
            times: Vec::new(),
            of_system,
            has_text,
            is_live: false,
            is_mail: facts.group == KindGroup::Mail,
            terms: 0,
            is_known: false,
            is_learned: true,
            traits,
            ranked: Vec::new(),
            matters: Vec::new(),
            floor,
            topics: BTreeSet::new(),
        };
        let is_term = |meaning: &Meaning| matches!(meaning, Meaning::Strong(_) | Meaning::Weak(_));
        reading.terms = found.iter().filter(|(meaning, _)| is_term(meaning)).count();
        for (meaning, _) in found {
            match meaning {
                Meaning::Strong(category) => reading.add(category, STRONG),
                Meaning::Weak(category) => reading.add(category, WEAK),
                Meaning::Importance(importance) => {
                    reading.importances.insert(importance);
                }
                Meaning::Time(time) => reading.times.push(time),
                Meaning::System(word) => reading.is_live |= word == SystemWord::PlaceLive,
            }
        }
        if let Some(category) = of_system {
            reading.add(category, SYSTEM);
        }
        // A question in a mail waits for an answer.
        if asks && facts.group == KindGroup::Mail {
            reading.add(SignalCategory::Stakeholder, QUESTION);
        }
        // The sender counts, too, if words already say something or nothing does.
        if matches!(facts.sender, SenderFact::Stakeholder | SenderFact::OutsideStakeholder) {
            reading.add(SignalCategory::Stakeholder, WEAK);
        }
        reading.traits.told(facts, &reading.scores, &reading.importances, asks);
        reading.add_floor();
        reading.rank(lexicon.learned());
        reading
    }

    /// Puts the categories in order: by their words together, and where no weights are known, by the terms alone.
    fn rank(&mut self, learned: &CategoryWeights) {
        let sums = learned.sums(&self.traits);
        // A mail of a few words, none of them a term, says too little to be about anything.
        let is_thin = self.is_mail && self.terms == 0 && self.traits.words() < FEW_WORDS;
        self.is_known = (learned.knows(&self.traits) || self.terms > 0) && !is_thin;
        (self.ranked, self.matters) = (sums.categories, sums.importances);
        self.is_learned = self.topics.is_empty() || learned.known_share(&self.traits) >= LEARNED_SHARE;
        if !self.is_learned {
            let points = |category: &SignalCategory| i64::from(self.score(*category)).saturating_mul(words::UNIT);
            self.ranked = SignalCategory::ALL.iter().map(|category| (*category, points(category))).collect();
        }
        for (_, sum) in self.ranked.iter_mut().filter(|(category, _)| self.topics.contains(category)) {
            *sum = sum.saturating_add(FLOOR_LEAD);
        }
        self.ranked.sort_by_key(|(category, sum)| (std::cmp::Reverse(*sum), *category));
    }

    fn add(&mut self, category: SignalCategory, points: u32) {
        let score = self.scores.entry(category).or_default();
        *score = score.saturating_add(points);
    }

    fn score(&self, category: SignalCategory) -> u32 {
        self.scores.get(&category).copied().unwrap_or_default()
    }

    /// The category with most points, the first of the list where two have as many.
    fn category(&self, facts: &SystemFacts) -> (SignalCategory, ClassificationBasis) {
        if let Some(category) = self.of_system {
            return (category, ClassificationBasis::System);
        }
        match self.ranked.as_slice() {
            // Trouble is named only to say that there is none.
            [(category, _), ..]
                if self.is_known
                    && self.floor.is_calm()
                    && FloorReason::ALL.iter().any(|reason| reason.category() == *category) =>
            {
                (SignalCategory::Progress, ClassificationBasis::Close)
            }
            // A matter that has to be looked at is more than routine.
            [(SignalCategory::Administrative | SignalCategory::Progress, _), ..] if self.is_held_high() => {
                let of_floor = self.ranked.iter().map(|(category, _)| *category).find(|of| self.topics.contains(of));
                (of_floor.unwrap_or(SignalCategory::Stakeholder), ClassificationBasis::Close)
            }
            // A change of scope is asked about, so a guess from a few words is not enough.
            [(SignalCategory::Scope, first), (second, next), ..]
                if self.is_known && self.is_thin_guess(first.saturating_sub(*next)) =>
            {
                (*second, ClassificationBasis::Close)
            }
            [(category, first), (_, second), ..] if self.is_known => {
                let is_clear = first.saturating_sub(*second) >= CLEAR_LEAD;
                (*category, if is_clear { ClassificationBasis::Clear } else { ClassificationBasis::Close })
            }
            _ => (usual_category(facts), ClassificationBasis::Nothing),
        }
    }

    /// Whether another category is so near the first that both decide how much it matters.
    fn is_near(&self, category: SignalCategory) -> bool {
        let first = self.ranked.first().map_or(0, |(_, sum)| *sum);
        self.ranked.iter().any(|(other, sum)| *other == category && first.saturating_sub(*sum) < NEAR)
    }

    /// Other categories that a strong term speaks for, in the order of the list.
    fn secondary(&self, category: SignalCategory) -> Vec<SignalCategory> {
        let others = self.scores.iter().filter(|(other, points)| **other != category && **points >= STRONG);
        others.map(|(other, _)| *other).collect()
    }

    /// The importance among these that its words speak for most, the higher if two are as likely. The lowest if they
    /// speak for none.
    fn most(&self, among: &[SignalImportance]) -> SignalImportance {
        let of = self.matters.iter().filter(|(importance, _)| among.contains(importance));
        let most = if self.is_known && !self.is_learned {
            let least = self.floor.importance();
            of.filter(|(importance, _)| importance.is_at_least(least)).max_by_key(|(importance, _)| *importance)
        } else if self.is_known {
            of.max_by_key(|(importance, sum)| (*sum, std::cmp::Reverse(*importance)))
        } else {
            of.max_by_key(|(importance, _)| *importance)
        };
        most.map_or(SignalImportance::Medium, |(importance, _)| *importance)
    }

    fn says(&self, importance: SignalImportance) -> bool {
        self.importances.contains(&importance)
    }

    /// The recommended action for its category.
    fn action(&self, facts: &SystemFacts, category: SignalCategory, importance: SignalImportance) -> RecommendedAction {
        use SignalCategory::{Administrative, Blocker, Dependency, Progress, Quality, Risk, Scope, Stakeholder};
        let changes_figures = match facts.group {
            KindGroup::Updated | KindGroup::Sprint => true,
            // A word or two of progress in a comment changes nothing yet.
            KindGroup::Comment => self.score(Progress) >= STRONG,
            _ => importance.is_at_least(SignalImportance::Medium),
        };
        match category {
            _ if importance == SignalImportance::Critical => RecommendedAction::Escalate,
            Scope => RecommendedAction::Escalate,
            Stakeholder => RecommendedAction::DraftCommunication,
            Progress | Quality
                if facts.group == KindGroup::Created
                    && !facts.has_description
                    && !importance.is_at_least(SignalImportance::High) =>
            {
                RecommendedAction::AddJiraComment
            }
            Blocker | Risk | Dependency | Quality => RecommendedAction::UpdateArtefact,
            Progress if changes_figures => RecommendedAction::UpdateArtefact,
            // A signal that its words hold high is not passed over.
            Progress | Administrative if importance.is_at_least(SignalImportance::High) => RecommendedAction::Escalate,
            Progress | Administrative => RecommendedAction::NoAction,
        }
    }

    /// How soon it has to be dealt with: as it says, and no later than it matters.
    fn time(&self, category: SignalCategory, importance: SignalImportance) -> TimeSensitivity {
        let floor = match importance {
            SignalImportance::Critical => TimeSensitivity::Immediate,
            SignalImportance::High => TimeSensitivity::ThisWeek,
            SignalImportance::Medium | SignalImportance::Low => TimeSensitivity::NoDeadline,
        };
        // The dates of what is routine are nobody's deadline.
        let is_routine = category == SignalCategory::Administrative || importance == SignalImportance::Low;
        let said = if is_routine { None } else { self.times.iter().min().copied() };
        said.map_or(floor, |said| said.min(floor))
    }
}

/// Whether a text says what is new: of a ticket that was changed, commented, flagged or listed, what it always said is
/// not.
fn is_news(facts: &SystemFacts, field: &str) -> bool {
    match facts.group {
        KindGroup::Comment => field == "comment",
        // A comment that came with the change, or what the system wrote of it.
        KindGroup::Updated => field == "comment" || (facts.is_rewritten && matches!(field, "summary" | "description")),
        KindGroup::Sprint | KindGroup::Listed => false,
        _ => true,
    }
}

/// The category in the system's own words.
fn of_system(facts: &SystemFacts) -> Option<SignalCategory> {
    if facts.is_blocked() {
        return Some(SignalCategory::Blocker);
    }
    if facts.is_rescoped {
        return Some(SignalCategory::Scope);
    }
    if facts.danger != DangerFact::Unsaid || (facts.is_due_moved && facts.is_milestone) {
        return Some(SignalCategory::Risk);
    }
    if facts.status == StatusFact::Waiting || facts.link == LinkFact::Depends {
        return Some(SignalCategory::Dependency);
    }
    match facts.group {
        KindGroup::Sprint => Some(SignalCategory::Progress),
        KindGroup::Updated if facts.status == StatusFact::Returned || facts.is_found_faulty => {
            Some(SignalCategory::Quality)
        }
        KindGroup::Updated if facts.is_elsewhere => Some(SignalCategory::Administrative),
        KindGroup::Updated if facts.is_risk && facts.status == StatusFact::Elsewhere => Some(SignalCategory::Risk),
        KindGroup::Updated if facts.status == StatusFact::Elsewhere => Some(SignalCategory::Progress),
        KindGroup::Updated if facts.is_released => Some(SignalCategory::Progress),
        KindGroup::Updated if facts.is_bug && facts.is_reprioritised => Some(SignalCategory::Quality),
        KindGroup::Updated if facts.is_replanned => Some(SignalCategory::Progress),
        KindGroup::Created if facts.of_type.is_some() => facts.of_type,
        KindGroup::Created | KindGroup::Listed if facts.is_risk => Some(SignalCategory::Risk),
        KindGroup::Created | KindGroup::Listed if facts.is_bug => Some(SignalCategory::Quality),
        // The state of a ticket is the system's own word.
        KindGroup::Listed => Some(SignalCategory::Progress),
        _ => None,
    }
}

/// The usual category of signals of its kind, if nothing else tells.
const fn usual_category(facts: &SystemFacts) -> SignalCategory {
    match facts.group {
        KindGroup::Mail => SignalCategory::Stakeholder,
        KindGroup::Updated | KindGroup::Notice => SignalCategory::Administrative,
        _ => SignalCategory::Progress,
    }
}

/// The treatment of a text that is out for its words: a person sees important matters, and nothing else happens. A
/// stranger can't make a person be asked by attacking. The stranger's text waits with all others that were kept out.
fn of_text_that_is_out(
    facts: &SystemFacts,
    category: SignalCategory,
    importance: SignalImportance,
) -> RecommendedAction {
    if facts.sender == SenderFact::Outside {
        return RecommendedAction::NoAction;
    }
    let matters = importance.is_at_least(SignalImportance::High) || category == SignalCategory::Blocker;
    if matters { RecommendedAction::Escalate } else { RecommendedAction::NoAction }
}

fn artefacts(category: SignalCategory, importance: SignalImportance) -> Vec<ArtefactKind> {
    use ArtefactKind::{BacklogSummary, DecisionLog, DeliveryState, RaidLog};
    let matters = importance.is_at_least(SignalImportance::High);
    match category {
        SignalCategory::Blocker => vec![DeliveryState, RaidLog],
        SignalCategory::Risk | SignalCategory::Dependency if matters => vec![DeliveryState, RaidLog],
        SignalCategory::Risk | SignalCategory::Dependency => vec![RaidLog],
        SignalCategory::Progress => vec![DeliveryState, BacklogSummary],
        SignalCategory::Scope => vec![BacklogSummary, DecisionLog],
        SignalCategory::Quality if matters => vec![RaidLog, BacklogSummary],
        SignalCategory::Quality | SignalCategory::Stakeholder | SignalCategory::Administrative => vec![BacklogSummary],
    }
}

/// The reason, in words of ours.
fn rationale(
    category: SignalCategory,
    basis: ClassificationBasis,
    action: RecommendedAction,
    related: usize,
) -> String {
    let why = match basis {
        ClassificationBasis::System => "the system itself says so",
        ClassificationBasis::Clear => "its words say so",
        ClassificationBasis::Close => "its words say so, and others come near",
        ClassificationBasis::Nothing => "signals of its kind mostly are, and nothing in it says more",
    };
    let about = match related {
        0 => String::new(),
        1 => "; 1 other signal is about the same".to_owned(),
        more => format!("; {more} other signals are about the same"),
    };
    format!("{}: {why}; {}{about}", category.as_str(), action.as_str())
}

impl SignalClassification {
    /// The answer with what is shown beside it, as a value of ours: it holds no text from outside.
    #[must_use]
    pub fn to_tree(&self, table: &ConfidenceTable) -> LabelTree {
        let list = |words: Vec<&str>| LabelTree::list(words);
        let answer = &self.answer;
        let number = serde_json::Number::from_f64(answer.confidence).map_or(LabelTree::Null, LabelTree::Number);
        let mut parts = vec![
            ("signal_id", LabelTree::from(answer.signal_id.as_str())),
            ("importance", answer.importance.as_str().into()),
            ("category", answer.category.as_str().into()),
            ("secondary_categories", list(answer.secondary_categories.iter().map(|of| of.as_str()).collect())),
            ("recommended_action", answer.recommended_action.as_str().into()),
            ("action_rationale", answer.action_rationale.as_str().into()),
            ("artefacts_affected", list(answer.artefacts_affected.iter().map(|of| of.as_str()).collect())),
            ("related_signals", list(answer.related_signals.iter().map(String::as_str).collect())),
            ("requires_sonnet", LabelTree::Bool(answer.requires_sonnet)),
            ("time_sensitivity", answer.time_sensitivity.as_str().into()),
            ("confidence", number),
            ("confidence_calibration", table.name.as_str().into()),
            ("basis", self.basis.as_str().into()),
            ("degraded", LabelTree::Bool(self.is_degraded)),
        ];
        parts.extend(answer.sonnet_reason.as_deref().map(|reason| ("sonnet_reason", reason.into())));
        LabelTree::map(parts)
    }
}
