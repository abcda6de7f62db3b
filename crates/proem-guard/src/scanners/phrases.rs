//! Looks for rules in the concepts that a text mentions.
//!
//! One pass over the mentions: for each place in each rule, only the latest way to get there is
//! kept, so the time doesn't depend on what the text says. See [`super::context`] for what makes a
//! match count less.

use super::{context::DiscourseConcepts, place::mentions_around, rules::DetectionRule, sentence};
use crate::{
    finding::FindingKind,
    lexicon::{Lexicon, Mention},
    scan::{Hit, ScanError, Scanner, Sight},
};
use alloc::{vec, vec::Vec};
use proem_text::Span;

/// How near before a match a concept voids it, in characters.
const MAX_BEFORE: usize = 14;

/// How far around a match a concept of its sentence makes it void, in characters.
const MAX_NEAR: usize = 100;

/// The rules of one family.
#[derive(Debug, Clone)]
pub(super) struct RuleFamily {
    name: &'static str,
    kind: FindingKind,
    rules: Vec<DetectionRule>,
    /// The places in patterns that a concept fits, by concept.
    places: Vec<Vec<PatternPosition>>,
    /// How many places there are.
    len: usize,
    context: DiscourseConcepts,
}

/// One element of one pattern.
#[derive(Debug, Clone, Copy)]
struct PatternPosition {
    /// Its number among all places. The place before it in its pattern has the number before.
    number: usize,
    rule: usize,
    gap: u16,
    crosses: bool,
    is_first: bool,
    is_last: bool,
    /// Whether names don't make its pattern.
    is_prose: bool,
}

/// The latest way to a place.
#[derive(Debug, Clone, Copy)]
struct PartialMatch {
    start: usize,
    end: usize,
    /// Whether one of its mentions is a part of a name.
    has_name: bool,
}

/// The place of a pattern's match.
#[derive(Debug, Clone, Copy)]
struct PatternMatch {
    /// In bytes of the folded text.
    span: Span,
    /// The number of its last mention among all of the text.
    last: usize,
}

impl RuleFamily {
    /// The rules of the family `name`, which report `kind`.
    pub(super) fn new(name: &'static str, kind: FindingKind, rules: &[DetectionRule], lexicon: &Lexicon) -> Self {
        let rules: Vec<DetectionRule> = rules.iter().filter(|rule| rule.family() == name).cloned().collect();
        let mut places = vec![Vec::new(); lexicon.concepts().len()];
        let mut number = 0usize;
        for (rule, index) in rules.iter().zip(0usize..) {
            for (pattern, at) in rule.patterns.iter().zip(0usize..) {
                let last = pattern.len().saturating_sub(1);
                for (element, nth) in pattern.iter().zip(0usize..) {
                    let place = PatternPosition {
                        number,
                        rule: index,
                        gap: element.gap,
                        crosses: element.crosses,
                        is_first: nth == 0,
                        is_last: nth == last,
                        is_prose: rule.prose.contains(&at),
                    };
                    for concept in &element.concepts {
                        if let Some(places) = places.get_mut(usize::from(*concept)) {
                            places.push(place);
                        }
                    }
                    number = number.saturating_add(1);
                }
            }
        }
        // A concept that fits two neighbouring places must not get to the second through itself.
        for places in &mut places {
            places.sort_by_key(|place| core::cmp::Reverse(place.number));
        }
        Self { name, kind, rules, places, len: number, context: DiscourseConcepts::new(lexicon) }
    }
}

impl Scanner for RuleFamily {
    fn name(&self) -> &'static str {
        self.name
    }

    fn scan(&self, sight: &Sight<'_>, hits: &mut Vec<Hit>) -> Result<(), ScanError> {
        let text = sight.folded.text.as_str();
        let mut ways: Vec<Option<PartialMatch>> = vec![None; self.len];
        for (mention, index) in sight.mentions.iter().zip(0usize..) {
            for place in self.places.get(usize::from(mention.concept)).into_iter().flatten() {
                let is_name = place.is_prose && is_joined(text, mention.span);
                let way = if place.is_first {
                    Some(PartialMatch { start: mention.span.start, end: mention.span.end, has_name: is_name })
                } else {
                    let before = ways.get(place.number.saturating_sub(1)).copied().flatten();
                    before.filter(|way| place.is_near(text, way.end, mention.span.start)).map(|way| PartialMatch {
                        end: mention.span.end,
                        has_name: way.has_name || is_name,
                        ..way
                    })
                };
                let Some(way) = way else { continue };
                if place.is_last {
                    if let Some(rule) = self.rules.get(place.rule).filter(|_| !way.has_name) {
                        let matched = PatternMatch { span: Span::new(way.start, way.end), last: index };
                        self.report(sight, rule, matched, hits);
                    }
                } else if let Some(slot) = ways.get_mut(place.number) {
                    // The nearest way takes the place of earlier ones: kept beside it, they would let a text decide
                    // how long a scan takes.
                    *slot = Some(way);
                }
            }
        }
        Ok(())
    }
}

/// Whether several words are written as a name: with joints and without a blank.
fn is_joined(text: &str, span: Span) -> bool {
    let words = text.get(span.start..span.end).unwrap_or_default();
    words.contains(['-', '_', '/', '.']) && !words.contains(char::is_whitespace)
}

impl PatternPosition {
    /// Whether what starts at `start` follows closely enough on what ends at `end`.
    fn is_near(&self, text: &str, end: usize, start: usize) -> bool {
        let gap = usize::from(self.gap);
        // No character is longer than four bytes.
        if start < end || start.saturating_sub(end) > gap.saturating_mul(4) {
            return false;
        }
        let Some(between) = text.get(end..start) else { return false };
        between.chars().count() <= gap && (self.crosses || !sentence::ends_in(between))
    }
}

impl RuleFamily {
    /// Adds the hit of a rule, unless an exception voids it.
    fn report(&self, sight: &Sight<'_>, rule: &DetectionRule, matched: PatternMatch, hits: &mut Vec<Hit>) {
        let PatternMatch { span, last } = matched;
        let text = sight.folded.text.as_str();
        let near =
            |mention: &Mention| rule.without.contains(&mention.concept) && is_same_sentence(text, mention.span, span);
        let before = |mention: &Mention| rule.unless.contains(&mention.concept) && precedes(text, mention.span, span);
        if (!rule.unless.is_empty() && mentions_around(sight.mentions, last, span, MAX_BEFORE).any(before))
            || (!rule.without.is_empty() && mentions_around(sight.mentions, last, span, MAX_NEAR).any(near))
        {
            return;
        }
        let severity = self.context.severity(rule.severity, sight, last, span);
        let span = sight.folded.map.original(span);
        // A pattern may match again with a later last word, or with another pattern of the rule.
        let known = hits.iter_mut().rev().take(8).find(|hit| hit.rule == rule.id && hit.span.overlaps(span));
        match known {
            Some(known) => known.severity = known.severity.max(severity),
            None => hits.push(Hit { kind: self.kind, rule: rule.id, span, severity, score: rule.score }),
        }
    }
}

/// Whether the first span ends right before the second in the same sentence, or overlaps its start.
fn precedes(text: &str, first: Span, second: Span) -> bool {
    if first.start > second.start {
        return false;
    }
    first.end > second.start
        || text
            .get(first.end..second.start)
            .is_some_and(|between| between.chars().count() <= MAX_BEFORE && !sentence::ends_in(between))
}

/// Whether no sentence ends between the two spans.
fn is_same_sentence(text: &str, first: Span, second: Span) -> bool {
    let between = if first.end <= second.start { first.end..second.start } else { second.end..first.start };
    !text.get(between).is_some_and(sentence::ends_in)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        scanners::rules::parse_rules,
        view::{Reading, clean_view, folded_view},
    };
    use proem_text::View;

    const WORDS: &str = "a\tx\ta|ab\nb\tx\tb\nc\tx\tc\nno\tx\tno";

    fn rules(pattern: &str) -> String {
        format!("group either a,c\n[x/y] high 0.5\nmeans m\nexample e\nunless no\nwithout own\n{pattern}")
    }

    #[track_caller]
    fn check(pattern: &str, text: &str, expected: &[&str]) {
        let lexicon = Lexicon::parse(WORDS, "own", &["void"]).unwrap();
        let rules = parse_rules(rules(pattern).leak(), &lexicon).unwrap();
        let phrases = RuleFamily::new("x", FindingKind::Override, &rules, &lexicon);
        let view = clean_view(text);
        let reading = Reading { steps: Vec::new(), view: View { text: view.text, map: view.map } };
        let folded = folded_view(&reading.view.text);
        let mentions = lexicon.mentions(&folded.text);
        let mut hits = Vec::new();
        phrases.scan(&Sight { reading: &reading, folded: &folded, mentions: &mentions }, &mut hits).unwrap();
        let found: Vec<&str> = hits.iter().map(|hit| text.get(hit.span.start..hit.span.end).unwrap()).collect();
        assert_eq!(found, expected, "{pattern}: {text}");
    }

    #[test]
    fn concepts_in_order_and_near() {
        check("match a b", "x A - B x", &["A - B"]);
        check("match a b", "b a", &[]);
        check("match a b", "a 1234567890123 b", &[]);
        check("match a <20 b", "a 1234567890123 b", &["a 1234567890123 b"]);
        check("match a b", "a. b", &[]);
        check("match a <<9 b", "a. b", &["a. b"]);
        check("match a b", "a\n\nb", &[]);
        check("match a <20 b", "a a.b b", &["a.b b"]);
        check("match either b", "c b", &["c b"]);
        check("match a,b c", "b c a c", &["b c", "a c"]);
        check("match a a", "a", &[]);
        check("match a a", "a a", &["a a"]);
        check("match a\nmatch b", "a b", &["a", "b"]);
    }

    #[test]
    fn exceptions() {
        check("match a b", "no a b", &[]);
        check("match a b", "no. a b", &["a b"]);
        check("match a b", "a b, void", &[]);
        check("match a b", "a b. void", &["a b"]);
    }
}
