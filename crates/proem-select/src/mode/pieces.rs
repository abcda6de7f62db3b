//! A task's clauses as they are meant: put together where one depends on the other, and divided
//! where "and" begins another.

use super::clauses::{Clause, ClauseEnd, ClauseWord};
use super::phrases::{Cue, LanguagePhrases, Phrases};
use super::reading::{ClauseReading, languages};

/// A clause with its language and its place behind the one before it.
#[derive(Debug, Clone)]
pub(super) struct LinkedClause<'p> {
    pub(super) clause: Clause,
    pub(super) language: Option<&'p LanguagePhrases>,
    pub(super) joined: ClauseLink,
}

/// The link between a clause and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClauseLink {
    Mark,
    And,
}

/// The pieces of a task, from its clauses.
pub(super) fn link_clauses(phrases: &Phrases, clauses: Vec<Clause>) -> Vec<LinkedClause<'_>> {
    let languages = languages(phrases, &clauses);
    let pieces = clauses.into_iter().zip(languages);
    let pieces = pieces.map(|(clause, language)| LinkedClause { clause, language, joined: ClauseLink::Mark }).collect();
    join_dependent_clauses(pieces).into_iter().flat_map(divide_clause).collect()
}

/// Puts a clause that depends on the verb before its comma back: "tell me, why it fails".
fn join_dependent_clauses(pieces: Vec<LinkedClause<'_>>) -> Vec<LinkedClause<'_>> {
    let mut out: Vec<LinkedClause<'_>> = Vec::new();
    let mut governs = false;
    for piece in pieces {
        let Some(language) = piece.language else {
            governs = false;
            out.push(piece);
            continue;
        };
        let reading = ClauseReading::new(language, &piece.clause);
        let head = reading.head();
        let opens = |cues: &[Cue]| cues.iter().any(|cue| reading.at(head, *cue).is_some());
        let depends = opens(&[Cue::Question, Cue::Whether, Cue::HowTo]);
        let verb = reading.verb(head).is_some_and(|verb| !reading.is_nominal(verb));
        let wishes = reading.at(head, Cue::Wish).and_then(|wish| reading.verb(head.saturating_add(wish)));
        let planned = wishes.is_some_and(|verb| matches!(verb.cue, Cue::Change | Cue::Make));
        let verb = verb || opens(&[Cue::Request, Cue::Wonder]) || opens(&[Cue::Wish]) && !planned;
        let comma = piece.clause.end.goes_on();
        match out.last_mut().filter(|_| governs && depends) {
            Some(last) => {
                last.clause.words.extend(piece.clause.words);
                last.clause.end = piece.clause.end;
                governs = comma;
            }
            None => {
                governs = comma && verb;
                out.push(piece);
            }
        }
    }
    out
}

/// Takes "and fix it" off the words before it.
fn divide_clause(piece: LinkedClause<'_>) -> Vec<LinkedClause<'_>> {
    let Some(language) = piece.language else { return vec![piece] };
    let cuts = cuts(&ClauseReading::new(language, &piece.clause));
    let Clause { mut words, end } = piece.clause;
    let mut out = Vec::new();
    let mut end = end;
    for (last, begin) in cuts.into_iter().rev() {
        let behind: Vec<ClauseWord> = words.split_off(begin.min(words.len()));
        words.truncate(last);
        out.push(LinkedClause {
            clause: Clause { words: behind, end },
            language: Some(language),
            joined: ClauseLink::And,
        });
        end = ClauseEnd::Comma;
    }
    out.push(LinkedClause { clause: Clause { words, end }, language: Some(language), joined: piece.joined });
    out.reverse();
    out
}

/// The ends of clauses with the beginnings of the next ones, in order.
fn cuts(reading: &ClauseReading<'_>) -> Vec<(usize, usize)> {
    let opens = [Cue::Request, Cue::Question, Cue::Not, Cue::HandsOff, Cue::Wish, Cue::Wonder];
    let mut cuts = Vec::new();
    // "The difference between load and save" is one clause.
    let mut between = false;
    let mut at = 1;
    while at < reading.len() {
        between |= reading.at(at, Cue::Between).is_some();
        // "Or not" and "or leave it" close a question.
        let divides = !between && reading.at(at, Cue::Tag).is_none();
        let begin = reading.at(at, Cue::And).filter(|_| divides).map(|length| at.saturating_add(length));
        let head = begin.map(|begin| reading.skip_fillers(begin));
        let clause =
            |head: usize| reading.verb(head).is_some() || opens.iter().any(|cue| reading.at(head, *cue).is_some());
        match begin.filter(|_| head.is_some_and(clause)) {
            Some(begin) => {
                cuts.push((at, begin));
                at = begin.saturating_add(1);
            }
            None => at = at.saturating_add(1),
        }
    }
    cuts
}
