//! The request of a task, clause by clause: a change, an answer, a judgement, or that nothing changes.
//!
//! The words are in the phrases of each language. Here is what follows from where they are. A question that opens with
//! "could you" is an order, an order behind "don't" is none, what is behind "how do I" is asked about and not ordered,
//! and the object of a verb is only a topic.

use super::clauses::{ClauseEnd, ClauseList};
use super::phrases::{Cue, Phrases};
use super::pieces::{ClauseLink, LinkedClause, link_clauses};
use super::reading::{ClauseReading, Verb};

/// The act of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpeechAct {
    /// A change is ordered.
    Order,
    /// Something is wrong or wanted, which is an order if nothing is asked.
    Want,
    Question,
    /// An order to answer.
    Tell,
    /// An order to find out.
    Find,
    /// A judgement is asked for.
    Judge,
    /// A thing is named and nothing is asked about it. Its words are those that judge it.
    Thing,
    /// Nothing that would tell a mode.
    Nothing,
}

/// The act of a clause, and the words that decided it, if some did.
#[derive(Debug)]
struct Utterance {
    says: SpeechAct,
    words: Option<String>,
}

impl Utterance {
    const fn new(says: SpeechAct, words: Option<String>) -> Self {
        Self { says, words }
    }
}

/// Whether a clause forbids every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prohibition {
    Changes,
    Nothing,
}

/// A clause's part in the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InterpretedClause {
    pub(super) says: SpeechAct,
    pub(super) forbids: Prohibition,
    /// The words that decided, if some did.
    pub(super) words: Option<String>,
    pub(super) language: String,
    /// Whether the clause is one that the phrases of its language can read.
    pub(super) is_read: bool,
}

/// The act of each clause of a task, and whether the task shows an error's trace.
pub(super) fn interpret_clauses(phrases: &Phrases, task: &str) -> (Vec<InterpretedClause>, bool) {
    let ClauseList { clauses, trace, .. } = ClauseList::new(task);
    let pieces = link_clauses(phrases, clauses);
    let mut parts: Vec<InterpretedClause> = Vec::new();
    // The sentence so far, and whether it asked for a way.
    let mut before: Option<PrecedingClause> = None;
    for (piece, asked) in pieces.iter().zip(ends_as_question(&pieces)) {
        let Some(language) = piece.language else {
            before = None;
            continue;
        };
        let reading = ClauseReading::new(language, &piece.clause);
        let goes_on = before.filter(|before| match piece.joined {
            ClauseLink::And => before.way || before.asks || asked && !before.orders,
            ClauseLink::Mark => before.supposes || before.asks && (asked || reading.is_infinitive()),
        });
        let nothing = Utterance::new(SpeechAct::Nothing, None);
        let Utterance { mut says, mut words } = if language.is_read() { clause_utterance(&reading) } else { nothing };
        if goes_on.is_some() && says == SpeechAct::Order && reading.at(reading.head(), Cue::Request).is_none() {
            (says, words) = (SpeechAct::Nothing, None);
        }
        let asks = |part: &InterpretedClause| {
            matches!(part.says, SpeechAct::Question | SpeechAct::Tell | SpeechAct::Find | SpeechAct::Judge)
        };
        if says == SpeechAct::Thing && asked {
            says = SpeechAct::Question;
        }
        // "Delete or archive the runs?" asks about both.
        if says == SpeechAct::Order && asked && reading.len() == 1 {
            (says, words) = (SpeechAct::Question, None);
        }
        if before.is_some() && !asked && copula(&reading) {
            (says, words) = (SpeechAct::Nothing, None);
        }
        if says == SpeechAct::Order && before.is_some() && reading.is_infinitive() {
            says = SpeechAct::Want;
        }
        if says == SpeechAct::Order && reports(&reading) && parts.iter().any(asks) {
            says = SpeechAct::Tell;
        }
        let way = reading.has(Cue::HowTo) || goes_on.is_some_and(|before| before.way);
        let asks =
            interrogates(&reading, says) || goes_on.is_some_and(|before| before.asks && says == SpeechAct::Nothing);
        let orders = begins_with_order(&reading);
        let supposes = says == SpeechAct::Question && reading.at(reading.head(), Cue::Suppose).is_some();
        before = piece.clause.end.goes_on().then_some(PrecedingClause { asks, orders, way, supposes });
        let is_read = language.is_read() && reading.len() > 1;
        parts.push(InterpretedClause {
            says,
            forbids: forbids(&reading),
            words,
            language: language.name.clone(),
            is_read,
        });
    }
    (parts, trace)
}

/// Whether an order is to write down what was asked for: "review it and leave comments".
fn reports(reading: &ClauseReading<'_>) -> bool {
    let behind = reading.verb(reading.head()).map(|verb| verb.at.saturating_add(verb.length));
    behind.is_some_and(|behind| reading.find(Cue::Report, behind..behind.saturating_add(4)).is_some())
}

/// Of each piece, whether its sentence ends with a question mark.
fn ends_as_question(pieces: &[LinkedClause<'_>]) -> Vec<bool> {
    let mut asked = Vec::with_capacity(pieces.len());
    let mut end = ClauseEnd::Sentence;
    for piece in pieces.iter().rev() {
        if !piece.clause.end.goes_on() {
            end = piece.clause.end;
        }
        asked.push(end == ClauseEnd::Question);
    }
    asked.reverse();
    asked
}

/// The preceding clause in the same sentence.
#[derive(Debug, Clone, Copy)]
struct PrecedingClause {
    /// Whether it was a question.
    asks: bool,
    /// Whether it began with a verb or a request.
    orders: bool,
    /// Whether it asked for a way: "how to".
    way: bool,
    /// Whether it was only imagined: "suppose".
    supposes: bool,
}

/// Whether a clause goes on with "is" and a subject that Romance languages leave out: "…, é 12 de março".
fn copula(reading: &ClauseReading<'_>) -> bool {
    let asks = [Cue::Opinion, Cue::Wonder].into_iter().any(|cue| reading.has(cue));
    reading.noun_stands_first() && reading.at(reading.head(), Cue::Inversion) == Some(1) && !asks
}

fn begins_with_order(reading: &ClauseReading<'_>) -> bool {
    let head = reading.head();
    reading.at(head, Cue::Request).is_some() || reading.verb(head).is_some()
}

/// Whether a clause is a question, and not an order to answer.
fn interrogates(reading: &ClauseReading<'_>, says: SpeechAct) -> bool {
    says == SpeechAct::Question || says == SpeechAct::Judge && !begins_with_order(reading)
}

fn clause_utterance(reading: &ClauseReading<'_>) -> Utterance {
    let head = reading.head();
    let at = |cue: Cue| reading.at(head, cue);
    let asks = |cue: Cue| at(cue).is_some();
    let question = reading.end == ClauseEnd::Question;
    // The strongest cues go first: each of these changes the meaning of those below. "Could you" makes an order of a
    // question, and "suppose" makes a question of an order.
    if hands_off(reading) == Some(HandsOff::Alone) {
        return Utterance::new(SpeechAct::Nothing, None);
    }
    if at(Cue::Request) > at(Cue::NotRequest) && at(Cue::Request) > at(Cue::Wonder) {
        return requested_utterance(reading, head.saturating_add(at(Cue::Request).unwrap_or(0)));
    }
    if asks(Cue::Suppose) {
        return Utterance::new(SpeechAct::Question, None);
    }
    if asks(Cue::Wonder) || asks(Cue::Doubt) || asks(Cue::NotRequest) || asks(Cue::Question) || asks(Cue::Opinion) {
        return asked_utterance(reading);
    }
    if let Some(wish) =
        at(Cue::Wish).filter(|wish| at(Cue::Inversion) < Some(*wish) && !question && !reading.has(Cue::Tag))
    {
        return wished_utterance(reading, head.saturating_add(wish));
    }
    let longer = reading.verb(head).is_some_and(|verb| Some(verb.length) > at(Cue::Inversion));
    if asks(Cue::Inversion) && !longer && (question || !is_statement(reading)) {
        return asked_utterance(reading);
    }
    let verb = reading.verb(head).filter(|verb| {
        !names_a_thing(reading, *verb) && at(Cue::Trouble) <= Some(verb.length) && at(Cue::Not) <= Some(verb.length)
    });
    if let Some(verb) = verb {
        let change = matches!(verb.cue, Cue::Change | Cue::Make);
        return match change {
            true if (question || reading.has(Cue::Tag)) && !reading.has(Cue::Please) => asked_utterance(reading),
            true if reading.is_nominal(verb) => planned_utterance(ordered_utterance(reading, verb)),
            _ => ordered_utterance(reading, verb),
        };
    }
    if question || reading.has(Cue::Tag) || ends_asking(reading) {
        return asked_utterance(reading);
    }
    if forbids_change(reading) {
        return Utterance::new(SpeechAct::Nothing, None);
    }
    match reading.final_verb() {
        Some(verb) if !reading.has(Cue::Finite) && !asks(Cue::Subordinate) => ordered_utterance(reading, verb),
        _ => stated_utterance(reading),
    }
}

/// Whether a clause ends with what it asks for: "ça implique quoi", "este test prueba algo".
fn ends_asking(reading: &ClauseReading<'_>) -> bool {
    let Some(last) = reading.len().checked_sub(1) else { return false };
    let question = reading.at(last, Cue::Question) == Some(1) && reading.at(last, Cue::That).is_none();
    let indefinite = (last.saturating_sub(1)..=last)
        .any(|at| reading.at(at, Cue::Indefinite).is_some_and(|length| at.saturating_add(length) > last));
    question || indefinite
}

/// Whether a clause that begins like a question is none: "doesn't work", without a mark.
fn is_statement(reading: &ClauseReading<'_>) -> bool {
    let judged =
        (0..reading.len()).any(|at| reading.at(at, Cue::Judgement).is_some() && reading.at(at, Cue::Trouble).is_none());
    reading.has(Cue::Trouble) && !judged && !reading.has(Cue::Opinion)
}

/// Whether what looks like an order names a thing: "build is red".
fn names_a_thing(reading: &ClauseReading<'_>, verb: Verb) -> bool {
    if reading.language != "en" || verb.length > 1 {
        return false;
    }
    let begin = verb.at.saturating_add(verb.length);
    for at in begin..begin.saturating_add(3) {
        if reading.at(at, Cue::Finite).is_some() {
            return true;
        }
        if reading.at(at, Cue::Determiner).is_some() || reading.at(at, Cue::Question).is_some() {
            return false;
        }
    }
    false
}

/// The wish of a polite question.
fn requested_utterance(reading: &ClauseReading<'_>, begin: usize) -> Utterance {
    let near = reading.verb_in(begin..begin.saturating_add(4));
    let any = || if reading.language == "de" { reading.verb_in(begin..reading.len()) } else { None };
    match near.or_else(any) {
        Some(verb) => ordered_utterance(reading, verb),
        None if reading.has(Cue::Opinion) => asked_utterance(reading),
        None => Utterance::new(SpeechAct::Want, None),
    }
}

/// The object of a wish: a change, or an answer.
fn wished_utterance(reading: &ClauseReading<'_>, begin: usize) -> Utterance {
    let begin = reading.skip_fillers(begin);
    if let Some(verb) = reading.verb(begin) {
        return planned_utterance(ordered_utterance(reading, verb));
    }
    match reading.noun(begin) {
        Some((Cue::JudgeNoun, at)) => Utterance::new(SpeechAct::Judge, Some(reading.quote(at, 1))),
        Some((_, at)) => Utterance::new(SpeechAct::Find, Some(reading.quote(at, 1))),
        None => match reading.final_verb() {
            Some(verb) => planned_utterance(ordered_utterance(reading, verb)),
            None => Utterance::new(SpeechAct::Want, reading.phrase(Cue::Wish)),
        },
    }
}

/// A plan to change something is an order only if the person doesn't ask about it.
fn planned_utterance(utterance: Utterance) -> Utterance {
    let says = if utterance.says == SpeechAct::Order { SpeechAct::Want } else { utterance.says };
    Utterance { says, ..utterance }
}

/// The order of a verb, by its object.
fn ordered_utterance(reading: &ClauseReading<'_>, verb: Verb) -> Utterance {
    let behind = verb.at.saturating_add(verb.length);
    let words = Some(reading.quote(verb.at, verb.length));
    let noun = || reading.noun(behind).map(|(cue, at)| (cue, Some(reading.quote(at, 1))));
    let judges = reading.has(Cue::Opinion) || reading.has(Cue::Whether) && reading.has(Cue::Judgement);
    let says = match verb.cue {
        // "Don't change anything" forbids and orders nothing, so it must not be read as an order to change.
        Cue::Change if not_behind(reading, verb) => SpeechAct::Nothing,
        Cue::Make | Cue::Give => {
            return match noun() {
                Some((Cue::JudgeNoun, noun)) => Utterance::new(SpeechAct::Judge, noun),
                Some((_, noun)) => Utterance::new(SpeechAct::Find, noun),
                None if verb.cue == Cue::Make && not_behind(reading, verb) => Utterance::new(SpeechAct::Nothing, None),
                None if verb.cue == Cue::Make && asks_way(reading, behind) => Utterance::new(SpeechAct::Tell, words),
                None if verb.cue == Cue::Make => Utterance::new(SpeechAct::Order, words),
                None if judges => Utterance::new(SpeechAct::Judge, words),
                None => Utterance::new(SpeechAct::Tell, words),
            };
        }
        // "Check why it fails" wants the cause found. "Check whether it's good" wants a verdict.
        Cue::Judge if asks_way(reading, behind) && !reading.has(Cue::Opinion) => SpeechAct::Find,
        Cue::Judge => SpeechAct::Judge,
        Cue::Find if judges || looks_for_problems(reading) => SpeechAct::Judge,
        Cue::Find => SpeechAct::Find,
        Cue::Tell if judges || looks_for_problems(reading) || unknown_problems(reading, verb) => SpeechAct::Judge,
        Cue::Tell => SpeechAct::Tell,
        _ => SpeechAct::Order,
    };
    Utterance::new(says, words)
}

/// Whether a judging verb wants to know how things are: "check why it fails".
fn asks_way(reading: &ClauseReading<'_>, behind: usize) -> bool {
    let question = reading.find(Cue::Question, behind..behind.saturating_add(2));
    question.is_some_and(|at| {
        reading.at(at, Cue::Whether).is_none() && reading.at(at, Cue::That) != reading.at(at, Cue::Question)
    })
}

/// "for security holes" behind what is looked at.
fn looks_for_problems(reading: &ClauseReading<'_>) -> bool {
    (0..reading.len()).any(|at| {
        let behind = reading.at(at, Cue::LookingFor).map(|length| at.saturating_add(length));
        behind.is_some_and(|behind| reading.find(Cue::Problems, behind..behind.saturating_add(3)).is_some())
    })
}

/// Whether problems are looked for that nobody named so far: "bugs", and not "the bugs".
fn unknown_problems(reading: &ClauseReading<'_>, verb: Verb) -> bool {
    if reading.at(verb.at, Cue::Seek).is_none() {
        return false;
    }
    let places = (0..reading.len()).filter(|at| reading.at(*at, Cue::Problems).is_some());
    let known = |at: usize| reading.find(Cue::Definite, at.saturating_sub(2)..at).is_some();
    places.into_iter().any(|at| !known(at))
}

/// The wish of a question: an answer or a judgement.
fn asked_utterance(reading: &ClauseReading<'_>) -> Utterance {
    let head = reading.head();
    if let Some(words) = reading.phrase(Cue::Opinion) {
        return Utterance::new(SpeechAct::Judge, Some(words));
    }
    if let Some((Cue::JudgeNoun, at)) = reading.noun(head) {
        return Utterance::new(SpeechAct::Judge, Some(reading.quote(at, 1)));
    }
    let open = reading.at(head, Cue::Question).is_some()
        && reading.at(head, Cue::Inversion) <= reading.at(head, Cue::Question);
    if reading.has(Cue::Doubt) {
        return Utterance::new(SpeechAct::Judge, reading.phrase(Cue::Doubt));
    }
    // "Not sure this is right" doubts it, "not sure where the right one is" doesn't.
    let doubts = reading.at(head, Cue::Unsure).is_some_and(|length| {
        let behind = head.saturating_add(length);
        [Cue::Question, Cue::HowTo].into_iter().all(|cue| reading.find(cue, behind..reading.len()).is_none())
    });
    let wonders = reading.has(Cue::Wonder) && !doubts;
    if open || reading.has(Cue::Feasible) || wonders && !reading.has(Cue::Whether) {
        return Utterance::new(SpeechAct::Question, None);
    }
    let judged = [Cue::Judgement, Cue::Problem, Cue::Problems].into_iter().find_map(|cue| reading.phrase(cue));
    match judged {
        Some(words) => Utterance::new(SpeechAct::Judge, Some(words)),
        None => Utterance::new(SpeechAct::Question, None),
    }
}

/// The meaning of a statement or a noun phrase.
fn stated_utterance(reading: &ClauseReading<'_>) -> Utterance {
    if let Some(verb) = passive(reading) {
        return ordered_utterance(reading, verb);
    }
    let head = reading.head();
    if [Cue::Wonder, Cue::Doubt, Cue::Opinion].into_iter().any(|cue| reading.has(cue)) {
        return asked_utterance(reading);
    }
    let unknown = orders_unknown(reading, head);
    if let Some((cue, at)) = reading.noun(head.saturating_add(1)).filter(|_| unknown) {
        let says = if cue == Cue::JudgeNoun { SpeechAct::Judge } else { SpeechAct::Find };
        return Utterance::new(says, Some(reading.quote(at, 1)));
    }
    if let Some(words) = reading.phrase(Cue::Trouble).or_else(|| reading.phrase(Cue::Problem)) {
        return Utterance::new(SpeechAct::Want, Some(words));
    }
    match reading.noun(head) {
        Some((Cue::JudgeNoun, at)) => Utterance::new(SpeechAct::Judge, Some(reading.quote(at, 1))),
        Some((_, at)) => Utterance::new(SpeechAct::Find, Some(reading.quote(at, 1))),
        None => match reading.phrase(Cue::Should) {
            Some(words) => Utterance::new(SpeechAct::Want, Some(words)),
            None if unknown => Utterance::new(SpeechAct::Want, Some(reading.quote(head, 1))),
            None if names_thing(reading) => match reading.phrase(Cue::Judgement) {
                Some(words) if reading.at(head, Cue::Definite).is_some() => {
                    Utterance::new(SpeechAct::Thing, Some(words))
                }
                _ => Utterance::new(SpeechAct::Thing, None),
            },
            None => Utterance::new(SpeechAct::Nothing, None),
        },
    }
}

/// Whether a statement names a thing and asks nothing about it: "dark mode for the settings".
fn names_thing(reading: &ClauseReading<'_>) -> bool {
    reading.len() >= SHORTEST_STATEMENT
        && reading.has(Cue::Small)
        && !reading.has(Cue::Question)
        && !reading.has(Cue::Whether)
}

/// Fewer words name nothing that could be done.
const SHORTEST_STATEMENT: usize = 3;

/// Whether an unknown word is where a verb would: "beautify the output".
fn orders_unknown(reading: &ClauseReading<'_>, head: usize) -> bool {
    reading.is_unknown(head) && reading.at(head.saturating_add(1), Cue::Article).is_some()
}

/// "Should be reviewed": an order to nobody.
fn passive(reading: &ClauseReading<'_>) -> Option<Verb> {
    let should = reading.find(Cue::Should, 0..reading.len())?;
    let verbs = (should..reading.len()).filter_map(|at| reading.verb(at));
    verbs.into_iter().find(|verb| verb.length > 1 && matches!(verb.cue, Cue::Judge | Cue::Find))
}

fn is_change_verb(verb: Verb) -> bool {
    matches!(verb.cue, Cue::Change | Cue::Make)
}

/// Whether a verb is negated by what is behind it: "ändere nichts".
fn not_behind(reading: &ClauseReading<'_>, verb: Verb) -> bool {
    let behind = verb.at.saturating_add(verb.length);
    let german = reading.language == "de"
        && reading.len().checked_sub(1).is_some_and(|last| reading.at(last, Cue::NotBehind).is_some());
    german || reading.find(Cue::NotBehind, behind..behind.saturating_add(2)).is_some()
}

/// Whether a clause says that something is not to be changed.
fn forbids_change(reading: &ClauseReading<'_>) -> bool {
    let head = reading.head();
    let german = reading.language == "de";
    let before = reading.at(head, Cue::Not).is_some_and(|length| {
        let begin = head.saturating_add(length);
        reading.verb_in(begin..begin.saturating_add(4)).is_some_and(is_change_verb)
    });
    let behind = reading.verb(head).is_some_and(|verb| is_change_verb(verb) && not_behind(reading, verb));
    let at_the_end = german
        && reading.has(Cue::Not)
        && reading.final_verb().is_some_and(is_change_verb)
        && !reading.has(Cue::Finite);
    before || behind || at_the_end
}

/// Whether a clause names anything but the verb and that it is negated.
fn has_object(reading: &ClauseReading<'_>) -> bool {
    let mut at = 0;
    while at < reading.len() {
        let known = [Cue::Filler, Cue::Not, Cue::NotBehind].into_iter().filter_map(|cue| reading.at(at, cue)).max();
        let verb = reading.verb(at).filter(|verb| is_change_verb(*verb)).map(|verb| verb.length);
        let Some(length) = known.max(verb) else { return true };
        at = at.saturating_add(length);
    }
    false
}

/// Whether a clause rules changes out like "without changing".
fn rules_out_change(reading: &ClauseReading<'_>) -> bool {
    let Some(at) = reading.find(Cue::Without, 0..reading.len()) else { return false };
    let reach = if reading.language == "de" { reading.len() } else { at.saturating_add(4) };
    reading.verb_in(at.saturating_add(1)..reach).is_some_and(is_change_verb)
}

/// A phrase that forbids changes, at the head of a clause that says little else.
fn hands_off(reading: &ClauseReading<'_>) -> Option<HandsOff> {
    let head = reading.head();
    (0..reading.len()).find_map(|begin| {
        let length =
            reading.at(begin, Cue::HandsOff).filter(|length| begin == 0 || begin == head || *length >= LONG_PHRASE)?;
        let mut behind = begin.saturating_add(length)..reading.len();
        let more = behind.any(|at| reading.at(at, Cue::Small).is_none() && reading.at(at, Cue::Filler).is_none());
        match more {
            false => Some(HandsOff::Alone),
            true => (length >= LONG_PHRASE).then_some(HandsOff::Beside),
        }
    })
}

/// Whether a clause says more than that nothing is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandsOff {
    Alone,
    Beside,
}

/// Phrases of so many words forbid changes whatever follows.
const LONG_PHRASE: usize = 3;

fn forbids(reading: &ClauseReading<'_>) -> Prohibition {
    let everything = reading.has(Cue::Nothing) && !reading.has(Cue::Except);
    let question = reading.at(reading.head(), Cue::Question).is_some();
    let denied = everything && !question && (forbids_change(reading) || rules_out_change(reading));
    let denied = denied || !question && forbids_change(reading) && !has_object(reading);
    if denied || hands_off(reading).is_some() || only_answers(reading) {
        Prohibition::Changes
    } else {
        Prohibition::Nothing
    }
}

/// "Just tell me".
fn only_answers(reading: &ClauseReading<'_>) -> bool {
    let head = reading.head();
    let Some(verb) = reading.verb(head).filter(|verb| matches!(verb.cue, Cue::Tell | Cue::Find)) else { return false };
    let near = head.saturating_sub(3)..head.saturating_add(verb.length).saturating_add(3);
    reading.find(Cue::Only, near).is_some()
}
