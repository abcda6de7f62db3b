//! Fits what may shrink into token limits.
//!
//! The problem is a multiple-choice knapsack: each [`FitUnit`] takes one of its rungs, worth its
//! share of its priority times 1, 0.5, 0.1 or 0, and a tenth of its presence while anything of it is shown.
//! [`fit_units`] is greedy by worth lost per token saved, ties by order, and reports the linear
//! relaxation's value as an upper bound (Kellerer, Pferschy and Pisinger, *Knapsack Problems*,
//! 2004, §11.2).
//!
//! Invariants: no limit is exceeded while a unit can still shrink; what can't shrink is not touched. The result depends
//! on nothing but the arguments.

mod answer;

pub use self::answer::AnswerLength;

use core::cmp::Ordering;
use core::iter::once;

use crate::section::{Layer, Rung};

/// One rung of a unit and what the unit's section costs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RungCost {
    /// How much is shown.
    pub rung: Rung,
    /// Tokens on this rung, above the section's own.
    pub tokens: u64,
}

/// Something that may shrink: an input with a ladder, or a whole section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitUnit {
    /// The layer that its tokens count towards.
    pub layer: Layer,
    /// The number of its section, likewise.
    pub section: usize,
    /// When it shrinks: only once all units of lower numbers under the same limit are on their last rungs.
    pub shrinks: u8,
    /// From 0 to 100.
    pub priority: u8,
    /// How much of that priority it has, from 0 to 100 per cent: an item of a list may have little of its section's.
    pub share: u8,
    /// From 0 to 100: what it is worth besides that anything of it is shown at all, on whichever rung above
    /// [`Rung::Count`], times 0.1. Of twenty files one that is hardly likely is worth little in full; that it is there
    /// is worth as much as of any other.
    pub presence: u8,
    /// Its highest rung, which is taken while nothing has to shrink.
    pub best: RungCost,
    /// Its other rungs, each lower than the one before.
    pub lower: Vec<RungCost>,
}

impl FitUnit {
    const fn value(&self) -> UnitValue {
        UnitValue { priority: self.priority, share: self.share, presence: self.presence }
    }

    fn worth(&self, step: RungCost) -> u64 {
        self.value().on(step.rung)
    }

    fn steps(&self) -> impl Iterator<Item = RungCost> {
        once(self.best).chain(self.lower.iter().copied())
    }

    /// The step on which least is shown.
    #[must_use]
    pub fn last(&self) -> RungCost {
        self.lower.last().copied().unwrap_or(self.best)
    }
}

/// The value of an item, by the fields of [`FitUnit`] with the same names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnitValue {
    pub(crate) priority: u8,
    pub(crate) share: u8,
    pub(crate) presence: u8,
}

impl UnitValue {
    /// Its worth on a rung, in tenths of a priority. The share counts last: rounded before, a file with 1 % of a priority
    /// of 90 would be worth as little as one with none.
    pub(crate) fn on(self, rung: Rung) -> u64 {
        let presence = if rung < Rung::Count { u64::from(self.presence) } else { 0 };
        let all = u64::from(self.priority).saturating_mul(rung.tenths().into());
        (all.saturating_mul(self.share.into()) / 100).saturating_add(presence)
    }
}

/// A limit on the units of one layer, or on all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitLimit {
    /// The layer that it limits. `None` is the whole.
    pub layer: Option<Layer>,
    /// A second layer that counts towards it.
    pub and: Option<Layer>,
    /// The only section that it limits, by its number. `None` is every section of those layers.
    pub section: Option<usize>,
    /// The most tokens.
    pub limit: u64,
    /// Tokens under this limit that can't shrink.
    pub fixed: u64,
}

impl FitLimit {
    fn holds(&self, unit: &FitUnit) -> bool {
        self.section.is_none_or(|section| section == unit.section)
            && (self.layer.is_none_or(|layer| layer == unit.layer) || self.and == Some(unit.layer))
    }

    fn used(&self, units: &[Standing<'_>]) -> u64 {
        let under = units.iter().filter(|standing| self.holds(standing.unit));
        under.fold(self.fixed, |sum, standing| sum.saturating_add(standing.step.tokens))
    }
}

/// The choice of [`fit_units`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// For each unit, in the order given, the step that it takes.
    pub chosen: Vec<RungCost>,
    /// Σ priority × tenths, and presence, of what is kept.
    pub worth: u64,
    /// The upper bound of every choice, in the same measure.
    pub bound: u64,
    /// Whether every cap is kept.
    pub outcome: Feasibility,
}

/// Whether everything fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feasibility {
    /// Every cap is kept.
    Fits,
    /// A cap is exceeded by what can't shrink.
    TooLarge,
}

/// A unit on one of its steps.
#[derive(Debug, Clone, Copy)]
struct Standing<'u> {
    unit: &'u FitUnit,
    step: RungCost,
}

impl Standing<'_> {
    fn worth(&self) -> u64 {
        self.unit.worth(self.step)
    }

    /// The way down that loses the least worth for each token saved, the shortest of equals.
    fn cheapest_loss(&self) -> Option<Loss> {
        let lower = self.unit.steps().filter(|step| step.rung > self.step.rung);
        let losses = lower.map(|step| Loss {
            step,
            worth: self.worth().saturating_sub(self.unit.worth(step)),
            tokens: self.step.tokens.saturating_sub(step.tokens),
        });
        // A lower rung can cost as much as a higher one: its note may be longer than what it replaces.
        losses.filter(|loss| loss.tokens > 0).min_by(Loss::compare)
    }
}

/// The value that a step down loses, and the tokens that it saves.
#[derive(Debug, Clone, Copy)]
struct Loss {
    step: RungCost,
    worth: u64,
    /// Never zero.
    tokens: u64,
}

impl Loss {
    /// Compares worth per token. Multiplied out, because a quotient's rounding would decide between
    /// units that are nearly equal; 128 bits hold every product.
    fn compare(&self, other: &Self) -> Ordering {
        let one = u128::from(self.worth).saturating_mul(other.tokens.into());
        one.cmp(&u128::from(other.worth).saturating_mul(self.tokens.into()))
    }
}

/// Chooses a rung for every unit so that all caps are kept.
#[must_use]
pub fn fit_units(units: &[FitUnit], caps: &[FitLimit]) -> Fit {
    let mut standing: Vec<Standing<'_>> = units.iter().map(|unit| Standing { unit, step: unit.best }).collect();
    let all = total_worth(&standing);
    for cap in caps {
        while cap.used(&standing) > cap.limit && shrink_one_step(&mut standing, cap) {}
    }
    regain(&mut standing, caps);
    // Each cap alone is a relaxation of the problem, so the lowest of their bounds holds too.
    let bound = caps.iter().map(|cap| relaxation(units, cap, all)).min().unwrap_or(all);
    let fits = caps.iter().all(|cap| cap.used(&standing) <= cap.limit);
    let outcome = if fits { Feasibility::Fits } else { Feasibility::TooLarge };
    let chosen = standing.iter().map(|standing| standing.step).collect();
    Fit { worth: total_worth(&standing), bound, outcome, chosen }
}

fn total_worth(units: &[Standing<'_>]) -> u64 {
    units.iter().fold(0, |sum, standing| sum.saturating_add(standing.worth()))
}

/// Takes the step down under `cap` that loses the least worth for each token saved, the first of equals, among the units
/// that shrink first. Whether there was one.
fn shrink_one_step(units: &mut [Standing<'_>], cap: &FitLimit) -> bool {
    let under = units.iter_mut().filter(|standing| cap.holds(standing.unit));
    let losses = under.filter_map(|standing| standing.cheapest_loss().map(|loss| (standing, loss)));
    let first = |(one, loss): &(&mut Standing<'_>, Loss), (other, other_loss): &(&mut Standing<'_>, Loss)| {
        one.unit.shrinks.cmp(&other.unit.shrinks).then_with(|| loss.compare(other_loss))
    };
    let Some((standing, loss)) = losses.min_by(first) else { return false };
    standing.step = loss.step;
    true
}

/// Takes back what the last, largest step saved too much: first of the units that shrink last, then the best worth.
fn regain(units: &mut [Standing<'_>], caps: &[FitLimit]) {
    loop {
        let rooms: Vec<(&FitLimit, u64)> = caps.iter().map(|cap| (cap, cap.used(units))).collect();
        let mut best: Option<(&mut Standing<'_>, RungCost, u64)> = None;
        for standing in units.iter_mut() {
            let Standing { unit, step: now } = *standing;
            let fits = |step: &RungCost| {
                let more = step.tokens.saturating_sub(now.tokens);
                let mut over = rooms.iter().filter(|(cap, _)| cap.holds(unit));
                over.all(|(cap, used)| used.saturating_add(more) <= cap.limit)
            };
            // Of equal gains the first counts, which is the highest rung of the first unit.
            let best_order = best.as_ref().map_or(0, |(standing, ..)| standing.unit.shrinks);
            if unit.shrinks < best_order {
                continue;
            }
            let least = best.as_ref().filter(|_| unit.shrinks == best_order).map_or(0, |(.., gain)| *gain);
            let higher = unit.steps().take_while(|step| step.rung < now.rung).filter(fits);
            let gains = higher.map(|step| (step, unit.worth(step).saturating_sub(unit.worth(now))));
            if let Some((step, gain)) = gains.filter(|(_, gain)| *gain > least).min_by(|(_, a), (_, b)| b.cmp(a)) {
                best = Some((standing, step, gain));
            }
        }
        match best {
            Some((standing, step, _)) => standing.step = step,
            None => return,
        }
    }
}

/// An upper bound under one cap: the rungs' upper hulls filled by worth per token, the last one in part. Units outside
/// the cap at full worth.
fn relaxation(units: &[FitUnit], cap: &FitLimit, all: u64) -> u64 {
    let under = || units.iter().filter(|unit| cap.holds(unit));
    let full = under().fold(0u64, |sum, unit| sum.saturating_add(unit.worth(unit.best)));
    let mut worth = 0u64;
    let mut room = cap.limit.saturating_sub(cap.fixed);
    let mut segments: Vec<(u64, u64)> = Vec::new();
    for unit in under() {
        let hull = hull(unit);
        // The cheapest choice has to be paid in any case. Only what is above it is a question.
        if let Some((tokens, value)) = hull.first() {
            room = room.saturating_sub(*tokens);
            worth = worth.saturating_add(*value);
        }
        for pair in hull.windows(2) {
            if let [(a, va), (b, vb)] = pair {
                segments.push((vb.saturating_sub(*va), b.saturating_sub(*a)));
            }
        }
    }
    segments.sort_by(|(va, ta), (vb, tb)| {
        u128::from(*vb).saturating_mul((*ta).into()).cmp(&u128::from(*va).saturating_mul((*tb).into()))
    });
    for (value, tokens) in segments {
        if tokens <= room {
            worth = worth.saturating_add(value);
            room = room.saturating_sub(tokens);
        } else {
            let part = u128::from(value).saturating_mul(room.into()).div_ceil(u128::from(tokens).max(1));
            worth = worth.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
            break;
        }
    }
    worth.min(full).saturating_add(all.saturating_sub(full))
}

/// The unit's choices on their upper convex hull, cheapest first, as (tokens, worth).
fn hull(unit: &FitUnit) -> Vec<(u64, u64)> {
    let mut points: Vec<(u64, u64)> = unit.steps().map(|step| (step.tokens, unit.worth(step))).collect();
    points.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut hull: Vec<(u64, u64)> = Vec::new();
    for (tokens, value) in points {
        // Choices that cost more and are worth less are dropped.
        if hull.last().is_some_and(|(_, best)| value <= *best) {
            continue;
        }
        // The middle one of three goes if it is below the line between the others: on the hull worth per token must
        // fall, or filling by it would not be an upper bound.
        while let [.., (t0, v0), (t1, v1)] = hull.as_slice() {
            let gain = u128::from(v1.saturating_sub(*v0)).saturating_mul(tokens.saturating_sub(*t0).into());
            let direct = u128::from(value.saturating_sub(*v0)).saturating_mul(t1.saturating_sub(*t0).into());
            if gain > direct {
                break;
            }
            hull.pop();
        }
        hull.push((tokens, value));
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(priority: u8, steps: &[(Rung, u64)]) -> FitUnit {
        let mut steps = steps.iter().map(|(rung, tokens)| RungCost { rung: *rung, tokens: *tokens });
        let best = steps.next().unwrap();
        let lower = steps.collect();
        FitUnit { layer: Layer::Context, section: 0, shrinks: 5, priority, share: 100, presence: 0, best, lower }
    }

    /// `expected` is rungs, worth and bound.
    fn check(units: &[FitUnit], limit: u64, fixed: u64, expected: (&[Rung], u64, u64)) {
        let fit = fit_units(units, &[FitLimit { layer: None, and: None, section: None, limit, fixed }]);
        let rungs: Vec<Rung> = fit.chosen.iter().map(|step| step.rung).collect();
        assert_eq!((rungs.as_slice(), fit.worth, fit.bound), expected);
    }

    #[test]
    fn the_least_worth_for_its_tokens_shrinks_first() {
        let units = [
            unit(60, &[(Rung::Full, 100), (Rung::Brief, 40), (Rung::Count, 10), (Rung::Omitted, 0)]),
            unit(20, &[(Rung::Full, 50), (Rung::Omitted, 0)]),
        ];
        check(&units, 200, 0, (&[Rung::Full, Rung::Full], 800, 800));
        check(&units, 100, 0, (&[Rung::Full, Rung::Omitted], 600, 600));
        check(&units, 60, 0, (&[Rung::Brief, Rung::Omitted], 300, 400));
        check(&units, 200, 250, (&[Rung::Omitted, Rung::Omitted], 0, 0));
    }

    #[test]
    fn that_something_is_there_is_worth_more_than_a_little_more_of_another() {
        let likely = unit(90, &[(Rung::Full, 1_000), (Rung::Outline, 300), (Rung::Count, 0)]);
        let unlikely = unit(2, &[(Rung::Full, 1_000), (Rung::Named, 20), (Rung::Count, 0)]);
        check(&[likely.clone(), unlikely.clone()], 1_010, 0, (&[Rung::Full, Rung::Count], 902, 903));
        let there = |unit| FitUnit { presence: 90, ..unit };
        check(&[there(likely), there(unlikely)], 1_010, 0, (&[Rung::Outline, Rung::Named], 544, 1_077));
    }

    #[test]
    fn a_small_share_is_told_from_a_smaller_one() {
        let steps = [(Rung::Full, 100), (Rung::Outline, 40), (Rung::Count, 0)];
        let of = |share| FitUnit { share, ..unit(90, &steps) };
        check(&[of(1), of(2)], 140, 0, (&[Rung::Outline, Rung::Full], 21, 22));
        check(&[of(2), of(1)], 140, 0, (&[Rung::Full, Rung::Outline], 21, 22));
    }

    #[test]
    fn room_that_a_large_step_leaves_is_used() {
        let units =
            [unit(10, &[(Rung::Full, 100), (Rung::Omitted, 0)]), unit(90, &[(Rung::Full, 30), (Rung::Omitted, 0)])];
        check(&units, 110, 0, (&[Rung::Omitted, Rung::Full], 900, 980));
    }

    #[test]
    fn what_cannot_shrink_is_said_to_be_too_large() {
        let cap = FitLimit { layer: None, and: None, section: None, limit: 10, fixed: 11 };
        assert_eq!(fit_units(&[], &[cap]).outcome, Feasibility::TooLarge);
    }

    #[test]
    fn a_layers_cap_leaves_the_other_layers_alone() {
        let units = [
            unit(20, &[(Rung::Full, 50), (Rung::Omitted, 0)]),
            FitUnit { layer: Layer::Task, ..unit(10, &[(Rung::Full, 50), (Rung::Omitted, 0)]) },
        ];
        let fit = fit_units(
            &units,
            &[FitLimit { layer: Some(Layer::Context), and: None, section: None, limit: 10, fixed: 0 }],
        );
        assert_eq!(
            fit.chosen,
            [RungCost { rung: Rung::Omitted, tokens: 0 }, RungCost { rung: Rung::Full, tokens: 50 }]
        );
    }
}
