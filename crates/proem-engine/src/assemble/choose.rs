//! Chooses what each section shows, so that all limits hold.
//!
//! Stable sections are chosen first, against half of each limit and by nothing but themselves;
//! what is left goes to the others. So nothing that changes from task to task can move a byte of
//! the prefix.

use super::{Bench, wide};
use crate::budget::{self, Cap, Outcome, Step, Unit};
use crate::error::{Error, ErrorKind};
use crate::prompt::file::Section;
use crate::section::{Keep, Layer, Rank, Rung};

/// How often a choice is made again because sections don't quite add up.
const MAX_ROUNDS: usize = 8;

/// What was chosen, with the account of it.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    /// The rungs taken, by section and ladder.
    pub(super) rungs: Vec<Vec<Rung>>,
    /// The sections left out.
    pub(super) dropped: Vec<bool>,
    pub(super) worth: u64,
    pub(super) bound: u64,
}

/// A limit on one layer, or on all of them.
type Limit = (Option<Layer>, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Stable,
    Volatile,
}

/// Chooses a rung for every ladder, and what to leave out.
pub(super) fn choose(bench: &mut Bench<'_, '_>) -> Result<Chosen, Error> {
    let sections = &bench.prompt.file.sections;
    let rungs = sections.iter().map(|section| section.spec.ladders.iter().map(|l| best(&l.rungs)).collect()).collect();
    let mut chosen = Chosen { rungs, dropped: vec![false; sections.len()], worth: 0, bound: 0 };
    let whole = bench.limits();
    // Halves of the limits themselves: a profile must not move what is stable.
    let halves: Vec<Limit> = whole.iter().map(|(layer, limit)| (*layer, limit / 2)).collect();
    let limits: Vec<Limit> =
        whole.iter().map(|(layer, limit)| (*layer, limit.saturating_sub(bench.learned_tokens(*layer)))).collect();

    let tokens = tokens(bench, &chosen)?;
    if whole.iter().any(|(layer, limit)| bench.learned_tokens(*layer) > *limit) {
        return Err(too_small(bench, &whole, &tokens));
    }
    let stable: Vec<usize> =
        tokens.iter().enumerate().map(|(index, tokens)| if is_stable(bench, index) { *tokens } else { 0 }).collect();
    let stable_fits = over(bench, &halves, &stable) == 0 || !stable_shrinks(bench);
    if stable_fits && over(bench, &limits, &tokens) == 0 {
        chosen.worth = all_worth(bench);
        chosen.bound = chosen.worth;
        return Ok(chosen);
    }
    let model = Model::new(bench)?;
    if stable_fits {
        let kept = model.best_worth(bench, Group::Stable);
        (chosen.worth, chosen.bound) = (kept, kept);
    } else {
        model.squeeze(bench, &mut chosen, &halves, Group::Stable)?;
    }
    let (worth, bound) = (chosen.worth, chosen.bound);
    let tokens = self::tokens(bench, &chosen)?;
    if over(bench, &limits, &tokens) == 0 {
        let kept = model.best_worth(bench, Group::Volatile);
        (chosen.worth, chosen.bound) = (worth.saturating_add(kept), bound.saturating_add(kept));
        return Ok(chosen);
    }
    let tokens = model.squeeze(bench, &mut chosen, &limits, Group::Volatile)?;
    (chosen.worth, chosen.bound) = (chosen.worth.saturating_add(worth), chosen.bound.saturating_add(bound));
    if over(bench, &limits, &tokens) == 0 { Ok(chosen) } else { Err(too_small(bench, &whole, &tokens)) }
}

fn tokens(bench: &mut Bench<'_, '_>, chosen: &Chosen) -> Result<Vec<usize>, Error> {
    Ok(bench.render_all(chosen)?.iter().map(|rendered| rendered.tokens).collect())
}

fn within(bench: &Bench<'_, '_>, layer: Option<Layer>, index: usize) -> bool {
    layer.is_none_or(|layer| bench.section(index).is_some_and(|section| section.spec.layer == layer))
}

fn sum(bench: &Bench<'_, '_>, layer: Option<Layer>, tokens: &[usize]) -> u64 {
    let under = tokens.iter().enumerate().filter(|(index, _)| within(bench, layer, *index));
    under.fold(0, |sum, (_, tokens)| sum.saturating_add(wide(*tokens)))
}

/// By how much the limit that is exceeded most is exceeded.
fn over(bench: &Bench<'_, '_>, limits: &[Limit], tokens: &[usize]) -> u64 {
    let over = limits.iter().map(|(layer, limit)| sum(bench, *layer, tokens).saturating_sub(*limit));
    over.max().unwrap_or(0)
}

fn is_stable(bench: &Bench<'_, '_>, index: usize) -> bool {
    bench.section(index).is_some_and(|section| section.spec.rank() <= Rank::UntrustedPerRun)
}

fn stable_shrinks(bench: &Bench<'_, '_>) -> bool {
    let stable = bench.prompt.file.sections.iter().filter(|section| section.spec.rank() <= Rank::UntrustedPerRun);
    let mut shrinks = stable.map(|section| !section.spec.ladders.is_empty() || section.spec.keep != Keep::Required);
    shrinks.any(|shrinks| shrinks)
}

/// The worth of every section and ladder on its best rung.
fn all_worth(bench: &Bench<'_, '_>) -> u64 {
    let sections = bench.prompt.file.sections.iter().zip(&bench.full).filter(|(_, rendered)| !rendered.is_empty());
    sections.fold(0, |sum: u64, (section, _)| {
        let tenths: u32 = match (section.spec.ladders.as_slice(), section.spec.keep) {
            ([], Keep::Required) => 0,
            ([], Keep::Priority(_)) => Rung::Full.tenths(),
            (ladders, _) => ladders.iter().map(|ladder| best(&ladder.rungs).tenths()).sum(),
        };
        sum.saturating_add(u64::from(priority(section)).saturating_mul(tenths.into()))
    })
}

fn too_small(bench: &Bench<'_, '_>, limits: &[Limit], tokens: &[usize]) -> Error {
    let needed = |layer: Option<Layer>| sum(bench, layer, tokens).saturating_add(bench.learned_tokens(layer));
    let over = limits.iter().filter(|(layer, limit)| needed(*layer) > *limit);
    let problem = |(layer, limit): &Limit| {
        let name = layer.map_or_else(|| "the whole prompt".to_owned(), |layer| format!("layer `{}`", layer.as_str()));
        let needed = needed(*layer);
        let under = tokens.iter().enumerate().filter(|(index, tokens)| within(bench, *layer, *index) && **tokens > 0);
        let mut list: Vec<String> = under
            .filter_map(|(index, tokens)| Some(format!("`{}` {tokens}", bench.section(index)?.spec.name)))
            .collect();
        let learned = bench.learned_tokens(*layer);
        if learned > 0 {
            list.push(format!("`profile` {learned}"));
        }
        format!(
            "budget too small: {name} may have {limit} tokens and needs at least {needed} ({}); raise the limit or \
             shorten these sections",
            list.join(", ")
        )
    };
    Error::all(ErrorKind::BudgetTooSmall, over.map(problem).collect())
}

/// A unit of the fit and what it stands for.
struct Named {
    section: usize,
    /// The ladder's index; `None` is the section as a whole.
    ladder: Option<usize>,
    unit: Unit,
}

/// The fit's view of the sections.
struct Model {
    units: Vec<Named>,
    /// The tokens of each section that no unit accounts for.
    fixed: Vec<u64>,
}

impl Model {
    fn new(bench: &mut Bench<'_, '_>) -> Result<Self, Error> {
        let mut model = Self { units: Vec::new(), fixed: Vec::new() };
        for (index, section) in bench.prompt.file.sections.iter().enumerate() {
            let full = bench.full.get(index).map_or(0, |full| full.tokens);
            let empty = bench.full.get(index).is_none_or(|full| full.is_empty());
            let fixed = match (section.spec.ladders.as_slice(), section.spec.keep) {
                _ if empty => 0,
                ([], Keep::Required) => wide(full),
                ([], Keep::Priority(_)) => {
                    let steps =
                        vec![Step { rung: Rung::Full, tokens: wide(full) }, Step { rung: Rung::Omitted, tokens: 0 }];
                    let unit = Unit { priority: priority(section), steps };
                    model.units.push(Named { section: index, ladder: None, unit });
                    0
                }
                _ => model.ladders(bench, index, section)?,
            };
            model.fixed.push(fixed);
        }
        Ok(model)
    }

    /// Adds a unit for each ladder; returns what the section costs with all on their last rung.
    fn ladders(&mut self, bench: &mut Bench<'_, '_>, index: usize, section: &Section) -> Result<u64, Error> {
        let lowest: Vec<Rung> = section.spec.ladders.iter().map(|ladder| last(&ladder.rungs)).collect();
        // A section that goes with its only ladder costs nothing of its own.
        let goes = droppable(section) && section.spec.ladders.len() == 1;
        let base = if goes { 0 } else { wide(bench.render(index, &lowest)?.tokens) };
        for (at, ladder) in section.spec.ladders.iter().enumerate() {
            let mut steps = Vec::new();
            for rung in &ladder.rungs {
                let mut rungs = lowest.clone();
                if let Some(slot) = rungs.get_mut(at) {
                    *slot = *rung;
                }
                let tokens = match rung {
                    Rung::Omitted if goes => 0,
                    _ => wide(bench.render(index, &rungs)?.tokens),
                };
                steps.push(Step { rung: *rung, tokens: tokens.saturating_sub(base) });
            }
            let unit = Unit { priority: priority(section), steps };
            self.units.push(Named { section: index, ladder: Some(at), unit });
        }
        Ok(base)
    }

    fn members(&self, bench: &Bench<'_, '_>, group: Group) -> Vec<&Named> {
        self.units.iter().filter(|unit| is_stable(bench, unit.section) == (group == Group::Stable)).collect()
    }

    fn best_worth(&self, bench: &Bench<'_, '_>, group: Group) -> u64 {
        let worth = |named: &Named| {
            let tenths = named.unit.steps.first().map_or(0, |step| step.rung.tenths());
            u64::from(named.unit.priority).saturating_mul(tenths.into())
        };
        self.members(bench, group).into_iter().fold(0, |sum, named| sum.saturating_add(worth(named)))
    }

    /// Fits one group into the limits; returns the tokens that count towards them.
    ///
    /// What the fit expects is a sum of sections rendered apart. If the text is larger than that,
    /// the fit is made again with less room, and at last with everything on its last rung.
    fn squeeze(
        &self,
        bench: &mut Bench<'_, '_>,
        chosen: &mut Chosen,
        limits: &[Limit],
        group: Group,
    ) -> Result<Vec<usize>, Error> {
        let members = self.members(bench, group);
        let units: Vec<Unit> = members.iter().map(|named| named.unit.clone()).collect();
        // What the other group shows can't shrink any more, or doesn't count yet.
        let shown = tokens(bench, chosen)?;
        let fixed = |(index, (own, shown)): (usize, (&u64, usize))| match (is_stable(bench, index), group) {
            (true, Group::Stable) | (false, Group::Volatile) => *own,
            (true, Group::Volatile) => wide(shown),
            (false, Group::Stable) => 0,
        };
        let fixed: Vec<u64> = self.fixed.iter().zip(shown).enumerate().map(fixed).collect();
        let mut slack = 0u64;
        let mut counted = Vec::new();
        for round in 0..=MAX_ROUNDS {
            let caps = caps(bench, &members, &fixed, limits, slack);
            let fit = budget::fit(&units, &caps);
            for (member, step) in members.iter().zip(&fit.chosen) {
                let step = if round == MAX_ROUNDS { member.unit.steps.len().saturating_sub(1) } else { *step };
                apply(member, step, bench, chosen);
            }
            chosen.worth = worth(&members, chosen);
            if round == 0 {
                chosen.bound = fit.bound;
            }
            counted = tokens(bench, chosen)?;
            if group == Group::Stable {
                let volatile = counted.iter_mut().enumerate().filter(|(index, _)| !is_stable(bench, *index));
                volatile.for_each(|(_, tokens)| *tokens = 0);
            }
            match over(bench, limits, &counted) {
                0 => break,
                _ if fit.outcome == Outcome::TooLarge && slack == 0 => break,
                over => slack = slack.saturating_add(over),
            }
        }
        Ok(counted)
    }
}

/// The caps on `members`, each lower by `slack`.
fn caps(bench: &Bench<'_, '_>, members: &[&Named], fixed: &[u64], limits: &[Limit], slack: u64) -> Vec<Cap> {
    let cap = |(layer, limit): &Limit| {
        let own = fixed.iter().enumerate().filter(|(index, _)| within(bench, *layer, *index));
        let fixed = own.fold(0u64, |sum, (_, tokens)| sum.saturating_add(*tokens));
        let under = members.iter().enumerate().filter(|(_, named)| within(bench, *layer, named.section));
        Cap { limit: limit.saturating_sub(slack), fixed, units: under.map(|(position, _)| position).collect() }
    };
    limits.iter().map(cap).collect()
}

fn apply(named: &Named, step: usize, bench: &Bench<'_, '_>, chosen: &mut Chosen) {
    let Some(section) = bench.section(named.section) else { return };
    let rung = named.unit.steps.get(step).map_or(Rung::Full, |step| step.rung);
    let rungs = chosen.rungs.get_mut(named.section);
    let gone = match (named.ladder, rungs) {
        (Some(ladder), Some(rungs)) => {
            if let Some(slot) = rungs.get_mut(ladder) {
                *slot = rung;
            }
            droppable(section) && rungs.iter().all(|rung| *rung == Rung::Omitted)
        }
        _ => rung == Rung::Omitted,
    };
    if let Some(dropped) = chosen.dropped.get_mut(named.section) {
        *dropped = gone;
    }
}

fn worth(members: &[&Named], chosen: &Chosen) -> u64 {
    let tenths = |named: &Named| match named.ladder {
        None if chosen.dropped.get(named.section).copied().unwrap_or(false) => 0,
        None => Rung::Full.tenths(),
        Some(ladder) => {
            let rung = chosen.rungs.get(named.section).and_then(|rungs| rungs.get(ladder));
            rung.map_or(0, |rung| rung.tenths())
        }
    };
    let worth = |named: &Named| u64::from(named.unit.priority).saturating_mul(tenths(named).into());
    members.iter().fold(0, |sum, named| sum.saturating_add(worth(named)))
}

fn priority(section: &Section) -> u8 {
    match section.spec.keep {
        Keep::Required => 100,
        Keep::Priority(priority) => priority,
    }
}

/// Whether the section goes when all its ladders are on their last rung.
fn droppable(section: &Section) -> bool {
    section.spec.keep != Keep::Required
        && section.spec.ladders.iter().all(|ladder| last(&ladder.rungs) == Rung::Omitted)
}

fn best(rungs: &[Rung]) -> Rung {
    rungs.first().copied().unwrap_or(Rung::Full)
}

fn last(rungs: &[Rung]) -> Rung {
    rungs.last().copied().unwrap_or(Rung::Full)
}
