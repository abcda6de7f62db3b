//! Fits what may shrink into token limits.
//!
//! The problem is a multiple-choice knapsack: each [`Unit`] takes one of its rungs, worth its
//! priority times 1, 0.5, 0.1 or 0. [`fit`] is greedy by worth lost per token saved, ties by
//! order, and reports the linear relaxation's value as an upper bound (Kellerer, Pferschy and
//! Pisinger, *Knapsack Problems*, 2004, §11.2).
//!
//! Invariants: no limit is exceeded while a unit can still shrink; what can't shrink is not
//! touched; the result depends on nothing but the arguments.

use crate::section::Rung;

/// One rung of a unit and what the unit's section costs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// How much is shown.
    pub rung: Rung,
    /// Tokens on this rung, above the section's own.
    pub tokens: u64,
}

/// Something that may shrink: an input with a ladder, or a whole section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// From 0 to 100.
    pub priority: u8,
    /// Its rungs, best first; never empty.
    pub steps: Vec<Step>,
}

impl Unit {
    fn worth(&self, step: usize) -> u64 {
        let tenths = self.steps.get(step).map_or(0, |step| step.rung.tenths());
        u64::from(self.priority).saturating_mul(u64::from(tenths))
    }

    fn tokens(&self, step: usize) -> u64 {
        self.steps.get(step).map_or(0, |step| step.tokens)
    }
}

/// A limit on some of the units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    /// The most tokens.
    pub limit: u64,
    /// Tokens under this limit that can't shrink.
    pub fixed: u64,
    /// Indices of the units under this limit.
    pub units: Vec<usize>,
}

impl Cap {
    fn used(&self, units: &[Unit], chosen: &[usize]) -> u64 {
        let each = self.units.iter().map(|index| match (units.get(*index), chosen.get(*index)) {
            (Some(unit), Some(step)) => unit.tokens(*step),
            _ => 0,
        });
        each.fold(self.fixed, u64::saturating_add)
    }
}

/// What [`fit`] chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// For each unit, the index of its step.
    pub chosen: Vec<usize>,
    /// Σ priority × tenths of what is kept.
    pub worth: u64,
    /// What no choice can exceed, in the same measure.
    pub bound: u64,
    /// Whether every cap is kept.
    pub outcome: Outcome,
}

/// Whether everything fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every cap is kept.
    Fits,
    /// A cap is exceeded by what can't shrink.
    TooLarge,
}

/// Chooses a rung for every unit so that all caps are kept.
#[must_use]
pub fn fit(units: &[Unit], caps: &[Cap]) -> Fit {
    let mut chosen = vec![0; units.len()];
    for cap in caps {
        while cap.used(units, &chosen) > cap.limit {
            let Some((unit, step)) = cheapest_loss(units, &chosen, cap) else { break };
            if let Some(slot) = chosen.get_mut(unit) {
                *slot = step;
            }
        }
    }
    regain(units, caps, &mut chosen);
    let worth = |chosen: &[usize]| {
        units.iter().zip(chosen).fold(0u64, |sum, (unit, step)| sum.saturating_add(unit.worth(*step)))
    };
    let all = worth(&vec![0; units.len()]);
    let bound = caps.iter().map(|cap| relaxation(units, cap, all)).min().unwrap_or(all);
    let fits = caps.iter().all(|cap| cap.used(units, &chosen) <= cap.limit);
    let outcome = if fits { Outcome::Fits } else { Outcome::TooLarge };
    Fit { worth: worth(&chosen), bound, outcome, chosen }
}

/// The step down under `cap` that loses the least worth for each token saved.
fn cheapest_loss(units: &[Unit], chosen: &[usize], cap: &Cap) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize, u64, u64)> = None;
    for index in &cap.units {
        let (Some(unit), Some(now)) = (units.get(*index), chosen.get(*index)) else { continue };
        for step in now.saturating_add(1)..unit.steps.len() {
            let saved = unit.tokens(*now).saturating_sub(unit.tokens(step));
            let lost = unit.worth(*now).saturating_sub(unit.worth(step));
            if saved == 0 {
                continue;
            }
            let better = best.is_none_or(|(_, _, best_lost, best_saved)| {
                u128::from(lost).saturating_mul(best_saved.into()) < u128::from(best_lost).saturating_mul(saved.into())
            });
            if better {
                best = Some((*index, step, lost, saved));
            }
        }
    }
    best.map(|(unit, step, ..)| (unit, step))
}

/// Takes back what the last, largest step saved too much, best worth first.
fn regain(units: &[Unit], caps: &[Cap], chosen: &mut [usize]) {
    loop {
        let mut best: Option<(usize, usize, u64)> = None;
        for (index, unit) in units.iter().enumerate() {
            let Some(now) = chosen.get(index).copied() else { continue };
            for step in 0..now {
                let gain = unit.worth(step).saturating_sub(unit.worth(now));
                let more = unit.tokens(step).saturating_sub(unit.tokens(now));
                let room = caps
                    .iter()
                    .filter(|cap| cap.units.contains(&index))
                    .all(|cap| cap.used(units, chosen).saturating_add(more) <= cap.limit);
                if room && gain > 0 && best.is_none_or(|(_, _, best_gain)| gain > best_gain) {
                    best = Some((index, step, gain));
                }
            }
        }
        match best {
            Some((index, step, _)) => {
                if let Some(slot) = chosen.get_mut(index) {
                    *slot = step;
                }
            }
            None => return,
        }
    }
}

/// An upper bound under one cap: the rungs' upper hulls filled by worth per token, the last one
/// in part; units outside the cap at full worth.
fn relaxation(units: &[Unit], cap: &Cap, all: u64) -> u64 {
    let under = |index: &&usize| units.get(**index);
    let full =
        cap.units.iter().filter_map(|index| under(&index)).fold(0u64, |sum, unit| sum.saturating_add(unit.worth(0)));
    let mut worth = 0u64;
    let mut room = cap.limit.saturating_sub(cap.fixed);
    let mut segments: Vec<(u64, u64)> = Vec::new();
    for unit in cap.units.iter().filter_map(|index| units.get(*index)) {
        let hull = hull(unit);
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
fn hull(unit: &Unit) -> Vec<(u64, u64)> {
    let mut points: Vec<(u64, u64)> = (0..unit.steps.len()).map(|step| (unit.tokens(step), unit.worth(step))).collect();
    points.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut hull: Vec<(u64, u64)> = Vec::new();
    for (tokens, value) in points {
        if hull.last().is_some_and(|(_, best)| value <= *best) {
            continue;
        }
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

    fn unit(priority: u8, steps: &[(Rung, u64)]) -> Unit {
        Unit { priority, steps: steps.iter().map(|(rung, tokens)| Step { rung: *rung, tokens: *tokens }).collect() }
    }

    /// `expected` is steps, worth and bound.
    fn check(units: &[Unit], limit: u64, fixed: u64, expected: (&[usize], u64, u64)) {
        let cap = Cap { limit, fixed, units: (0..units.len()).collect() };
        let fit = fit(units, &[cap]);
        assert_eq!((fit.chosen.as_slice(), fit.worth, fit.bound), expected);
    }

    #[test]
    fn the_least_worth_for_its_tokens_shrinks_first() {
        let units = [
            unit(60, &[(Rung::Full, 100), (Rung::Brief, 40), (Rung::Count, 10), (Rung::Omitted, 0)]),
            unit(20, &[(Rung::Full, 50), (Rung::Omitted, 0)]),
        ];
        check(&units, 200, 0, (&[0, 0], 800, 800));
        check(&units, 100, 0, (&[0, 1], 600, 600));
        check(&units, 60, 0, (&[1, 1], 300, 400));
        check(&units, 200, 250, (&[3, 1], 0, 0));
    }

    #[test]
    fn room_that_a_large_step_leaves_is_used() {
        let units =
            [unit(10, &[(Rung::Full, 100), (Rung::Omitted, 0)]), unit(90, &[(Rung::Full, 30), (Rung::Omitted, 0)])];
        check(&units, 110, 0, (&[1, 0], 900, 980));
    }

    #[test]
    fn what_cannot_shrink_is_said_to_be_too_large() {
        let cap = Cap { limit: 10, fixed: 11, units: Vec::new() };
        assert_eq!(fit(&[], &[cap]).outcome, Outcome::TooLarge);
    }
}
