//! Chooses what each section shows, so that all limits hold.
//!
//! Stable sections are chosen first, against their share of each limit (half, unless the prompt file says
//! another) and by nothing but themselves; what is left goes to the others. So nothing that changes from task
//! to task can move a byte of the prefix.

use std::rc::Rc;

use super::render::{LadderState, RenderedSection, Renderer};
use super::tokens_as_u64;
use crate::budget::{self, Feasibility, FitLimit, FitUnit, RungCost, UnitValue};
use crate::error::{Error, ErrorKind};
use crate::prompt::file::Section;
use crate::report::ShrunkReport;
use crate::section::{Climber, Ladder, Layer, Rung, SectionGroup, SectionPriority};

/// How often a choice is made again because sections don't quite add up.
const MAX_ROUNDS: usize = 16;
/// The rounds that take only as much room away as was missing. A few tokens may not be enough to change the choice, so
/// the later ones take twice as much each time.
const ADDING_ROUNDS: usize = 8;

/// The choice, with its account.
#[derive(Debug)]
pub(super) struct RungSelection<'p> {
    /// One for each section of the file, in its order.
    pub(super) choices: Vec<Choice<'p>>,
    /// Σ priority × tenths, and presence, of what is shown.
    pub(super) worth: u64,
    /// The upper bound of every choice, in the same measure.
    pub(super) bound: u64,
}

/// A section and what is shown of it.
#[derive(Debug)]
pub(super) struct Choice<'p> {
    pub(super) section: &'p Section,
    /// The section's number in the file.
    number: usize,
    /// The section with everything in it.
    pub(super) full: Rc<RenderedSection>,
    parts: Vec<Part<'p>>,
    dropped: bool,
    /// The section with its parts on their rungs. Empty if it is dropped.
    pub(super) shown: Rc<RenderedSection>,
    /// The tokens that no part accounts for, once something has to shrink.
    fixed: u64,
}

/// A part that may shrink: an input with a ladder, an item of one, or the section as a whole.
#[derive(Debug)]
struct Part<'p> {
    /// `None` is the section as a whole.
    ladder: Option<&'p Ladder>,
    /// The item that is on the ladder. `None` is the input as a whole.
    item: Option<usize>,
    /// From 0 to 100.
    priority: u8,
    /// How much of that it has, in per cent. Of an item, what the item says.
    share: u8,
    /// The worth of showing anything of it: a quarter of its section's priority for an item, however small the item's
    /// share. A higher worth would name twenty files in a small budget and show none.
    presence: u8,
    /// The rungs on which it can be, best first.
    rungs: Vec<Rung>,
    rung: Rung,
    /// The cost of each rung, once something has to shrink. `None` for an empty section.
    unit: Option<FitUnit>,
}

/// The place in which a section's units count.
#[derive(Debug, Clone, Copy)]
struct UnitPlace {
    layer: Layer,
    /// The section's number in the file.
    section: usize,
    shrinks: u8,
}

/// A limit on one layer, or on all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) layer: Option<Layer>,
    /// A second layer that counts towards it.
    pub(super) and: Option<Layer>,
    /// The only section that it limits, by its number in the file.
    pub(super) section: Option<usize>,
    pub(super) tokens: u64,
    /// The tokens that the profile takes of it, before any section.
    pub(super) learned: u64,
    /// The tokens that the turns of a history take of it, likewise.
    pub(super) history: u64,
    /// The model's window, where the limit is what the answer leaves of it.
    pub(super) window: Option<ModelWindow>,
}

/// The tokens that a model reads and writes, and the part that is kept free for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelWindow {
    pub(super) tokens: u64,
    pub(super) answer: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stability {
    Stable,
    Volatile,
}

impl Stability {
    fn holds(self, choice: &Choice<'_>) -> bool {
        choice.is_stable() == (self == Self::Stable)
    }

    /// Whether a section's tokens count while this group is chosen: stable sections don't look at the
    /// others, which have to make do with what those leave.
    fn counts(self, choice: &Choice<'_>) -> bool {
        self == Self::Volatile || choice.is_stable()
    }
}

/// Every section with each of its ladders on its best rung.
pub(super) fn everything<'p>(renderer: &mut Renderer<'p, '_>) -> Result<Vec<Choice<'p>>, Error> {
    let prompt = renderer.prompt;
    let choice = |(number, section)| Choice::of(section, number, renderer);
    prompt.file.sections.iter().enumerate().map(choice).collect()
}

/// Chooses a rung for every ladder, and what to leave out.
pub(super) fn choose_rungs<'p>(
    renderer: &mut Renderer<'_, '_>,
    mut choices: Vec<Choice<'p>>,
    limits: &[Limit],
) -> Result<RungSelection<'p>, Error> {
    if limits.iter().any(|limit| limit.reserved() > limit.tokens) {
        return Err(too_small(&choices, limits));
    }
    // Shares of the limits themselves: a profile must not move what is stable.
    let percent = u64::from(renderer.prompt.file.strict.stable_percent);
    let share = |tokens: u64| u64::try_from(u128::from(tokens) * u128::from(percent) / 100).unwrap_or(u64::MAX);
    // A section's own limit is shared with nothing.
    let shared = |limit: &Limit| if limit.section.is_some() { limit.tokens } else { share(limit.tokens) };
    let shares: Vec<Limit> =
        limits.iter().map(|limit| Limit { tokens: shared(limit), learned: 0, history: 0, ..*limit }).collect();
    // If nothing stable can shrink, there is nothing to choose, and the share is a limit that nobody set.
    let stable_fits = over(&choices, &shares, Stability::Stable) == 0 || !stable_shrinks(&choices);
    if stable_fits && over(&choices, limits, Stability::Volatile) == 0 {
        let worth = choices.iter().map(Choice::worth).fold(0, u64::saturating_add);
        return Ok(RungSelection { choices, worth, bound: worth });
    }
    // Only here, because it renders every section on every rung.
    for choice in &mut choices {
        choice.price(renderer)?;
    }
    let mut bound = if stable_fits {
        group_worth(&choices, Stability::Stable)
    } else {
        squeeze(renderer, &mut choices, &shares, Stability::Stable)?
    };
    bound = bound.saturating_add(if over(&choices, limits, Stability::Volatile) == 0 {
        group_worth(&choices, Stability::Volatile)
    } else {
        squeeze(renderer, &mut choices, limits, Stability::Volatile)?
    });
    if over(&choices, limits, Stability::Volatile) > 0 {
        return Err(too_small(&choices, limits));
    }
    let worth = group_worth(&choices, Stability::Stable).saturating_add(group_worth(&choices, Stability::Volatile));
    Ok(RungSelection { choices, worth, bound })
}

/// Fits one group into the limits. Returns what no choice of its rungs can exceed in worth.
///
/// The fit expects the sum of sections rendered apart. If the text is larger, the fit is made again with less room, and
/// finally with everything on its last rung.
fn squeeze(
    renderer: &mut Renderer<'_, '_>,
    choices: &mut [Choice<'_>],
    limits: &[Limit],
    group: Stability,
) -> Result<u64, Error> {
    let members = choices.iter().filter(|choice| group.holds(choice));
    let units: Vec<FitUnit> = members.flat_map(|choice| &choice.parts).filter_map(|part| part.unit.clone()).collect();
    let mut slack = 0u64;
    // Of the first round: in the later ones the caps are lower than what was asked for.
    let mut bound = None;
    for round in 0..=MAX_ROUNDS {
        let caps: Vec<FitLimit> = limits.iter().map(|limit| cap(choices, limit, slack, group)).collect();
        let fit = budget::fit_units(&units, &caps);
        bound = bound.or(Some(fit.bound));
        // The same parts in the same order as those that the units were taken from.
        let mut steps = fit.chosen.into_iter();
        for choice in choices.iter_mut().filter(|choice| group.holds(choice)) {
            let last_round = round == MAX_ROUNDS;
            choice.take(renderer, |unit| if last_round { Some(unit.last()) } else { steps.next() })?;
        }
        match over(choices, limits, group) {
            0 => break,
            // With the caps as they are even the last rungs are too much: no slack makes that better.
            _ if fit.outcome == Feasibility::TooLarge && slack == 0 => break,
            over if round < ADDING_ROUNDS => slack = slack.saturating_add(over),
            over => slack = slack.saturating_mul(2).max(over),
        }
    }
    Ok(bound.unwrap_or_default())
}

/// A limit as the fit of one group sees it, lower by `slack`.
fn cap(choices: &[Choice<'_>], limit: &Limit, slack: u64, group: Stability) -> FitLimit {
    let counted = choices.iter().filter(|choice| limit.holds(choice) && group.counts(choice));
    // The other group's choice is final and can't shrink any more.
    let fixed =
        counted.map(|choice| if group.holds(choice) { choice.fixed } else { tokens_as_u64(choice.shown.tokens) });
    FitLimit {
        layer: limit.layer,
        and: limit.and,
        section: limit.section,
        limit: limit.left().saturating_sub(slack),
        fixed: fixed.fold(0, u64::saturating_add),
    }
}

impl Limit {
    /// The room left for sections.
    const fn left(&self) -> u64 {
        self.tokens.saturating_sub(self.reserved())
    }

    /// The tokens that no section can have.
    const fn reserved(&self) -> u64 {
        self.learned.saturating_add(self.history)
    }

    fn holds(&self, choice: &Choice<'_>) -> bool {
        let layer = choice.section.spec.layer;
        self.section.is_none_or(|section| section == choice.number)
            && (self.layer.is_none_or(|limited| limited == layer) || self.and == Some(layer))
    }

    /// The tokens of those sections under it that count while `group` is chosen.
    fn used(&self, choices: &[Choice<'_>], group: Stability) -> u64 {
        let counted = choices.iter().filter(|choice| self.holds(choice) && group.counts(choice));
        counted.fold(0, |sum, choice| sum.saturating_add(tokens_as_u64(choice.shown.tokens)))
    }
}

/// By how much the limit that is exceeded most is exceeded.
fn over(choices: &[Choice<'_>], limits: &[Limit], group: Stability) -> u64 {
    let over = limits.iter().map(|limit| limit.used(choices, group).saturating_sub(limit.left()));
    over.max().unwrap_or(0)
}

fn stable_shrinks(choices: &[Choice<'_>]) -> bool {
    let mut stable = choices.iter().filter(|choice| choice.is_stable()).map(|choice| &choice.section.spec);
    stable.any(|spec| !spec.ladders.is_empty() || spec.keep != SectionPriority::Required)
}

fn group_worth(choices: &[Choice<'_>], group: Stability) -> u64 {
    let members = choices.iter().filter(|choice| group.holds(choice));
    members.fold(0, |sum, choice| sum.saturating_add(choice.worth()))
}

fn too_small(choices: &[Choice<'_>], limits: &[Limit]) -> Error {
    let needed = |limit: &Limit| limit.used(choices, Stability::Volatile).saturating_add(limit.reserved());
    let over = limits.iter().filter(|limit| needed(limit) > limit.tokens);
    let problem = |limit: &Limit| {
        let layer = limit.layer.map(|layer| format!("layer `{}`", layer.as_str()));
        let and = limit.and.map_or(String::new(), |layer| format!(" with layer `{}`", layer.as_str()));
        let under = choices.iter().filter(|choice| limit.holds(choice) && choice.shown.tokens > 0);
        if limit.section.is_some() {
            let name = under.map(|choice| choice.section.spec.name.as_str()).collect::<String>();
            return format!(
                "budget too small: section `{name}` may have {} tokens and needs at least {}; raise the `budget` of the \
                 section in the prompt file or shorten what it shows",
                limit.tokens,
                needed(limit)
            );
        }
        let name = layer.map_or_else(|| "the whole prompt".to_owned(), |layer| format!("{layer}{and}"));
        let mut list: Vec<String> =
            under.map(|choice| format!("`{}` {}", choice.section.spec.name, choice.shown.tokens)).collect();
        if limit.learned > 0 {
            list.push(format!("`profile` {}", limit.learned));
        }
        if limit.history > 0 {
            list.push(format!("`history` {}", limit.history));
        }
        let (why, remedy) =
            limit.window.map_or((String::new(), "raise the limit or shorten these sections"), |window| {
                let ModelWindow { tokens, answer } = window;
                let why =
                    format!(", because the model's window has {tokens} and {answer} are kept free for the answer,");
                (why, "shorten these sections, keep less free for the answer, or ask a model with a larger window")
            });
        format!(
            "budget too small: {name} may have {} tokens{why} and needs at least {} ({}); {remedy}",
            limit.tokens,
            needed(limit),
            list.join(", ")
        )
    };
    Error::all(ErrorKind::BudgetTooSmall, over.map(problem).collect())
}

impl<'p> Choice<'p> {
    fn of(section: &'p Section, number: usize, renderer: &mut Renderer<'_, '_>) -> Result<Self, Error> {
        let full = Rc::new(renderer.full(section)?);
        let parts = match (section.spec.ladders.as_slice(), section.spec.keep) {
            ([], SectionPriority::Required) => Vec::new(),
            ([], SectionPriority::Priority(priority)) => vec![Part::new(None, vec![Rung::Full], priority)],
            (ladders, _) => ladders.iter().flat_map(|ladder| Part::on(ladder, section, renderer)).collect(),
        };
        let mut choice = Self { section, number, shown: Rc::clone(&full), full, parts, dropped: false, fixed: 0 };
        choice.show(renderer)?;
        Ok(choice)
    }

    const fn place(&self) -> UnitPlace {
        UnitPlace { layer: self.section.spec.layer, section: self.number, shrinks: self.section.spec.shrinks }
    }

    fn is_stable(&self) -> bool {
        self.section.spec.rank() <= SectionGroup::UntrustedPerRun
    }

    /// The inputs that are not on the rung on which everything is shown.
    pub(super) fn shrunk(&self) -> Vec<ShrunkReport> {
        let low = self.parts.iter().filter(|part| match part.item {
            None => part.rung != Rung::Full,
            Some(_) => part.rung != best_rung(&part.rungs),
        });
        let report = |part: &Part<'_>| {
            let ladder = part.ladder?;
            let version = ladder.version(part.rung).map(str::to_owned);
            Some(ShrunkReport { input: ladder.input.clone(), item: part.item, rung: part.rung, version })
        };
        low.filter_map(report).collect()
    }

    fn worth(&self) -> u64 {
        // Nothing is lost where there was nothing to show.
        let parts = self.parts.iter().filter(|_| !self.full.is_empty());
        parts.fold(0u64, |sum, part| sum.saturating_add(part.value().on(part.rung)))
    }

    /// Renders the section as it is chosen.
    fn show(&mut self, renderer: &mut Renderer<'_, '_>) -> Result<(), Error> {
        let states = self.states(|part| part.rung);
        self.shown =
            if self.dropped { Rc::default() } else { renderer.on(self.section, &self.full, states.into_iter())? };
        Ok(())
    }

    /// Each ladder with what is where on it, by `rung`.
    fn states(&self, rung: impl Fn(&Part<'p>) -> Rung) -> Vec<(&'p Ladder, LadderState)> {
        let ladders = self.section.spec.ladders.iter();
        let state = |ladder: &'p Ladder| {
            let mut on = self.parts.iter().filter(|part| part.ladder == Some(ladder));
            match ladder.climber {
                Climber::Item => LadderState::Items(on.map(&rung).collect()),
                Climber::Input => LadderState::Input(on.next().map_or(Rung::Full, &rung)),
                Climber::Version(_) => LadderState::Version(on.next().map_or(Rung::Full, &rung)),
            }
        };
        ladders.map(|ladder| (ladder, state(ladder))).collect()
    }

    /// Finds out what the section costs with all parts on their last rung, and what each part costs
    /// above that on each of its own.
    fn price(&mut self, renderer: &mut Renderer<'_, '_>) -> Result<(), Error> {
        if self.full.is_empty() {
            return Ok(());
        }
        let (section, full) = (self.section, Rc::clone(&self.full));
        let place = self.place();
        let whole = tokens_as_u64(full.tokens);
        if section.spec.ladders.is_empty() {
            self.fixed = if self.parts.is_empty() { whole } else { 0 };
            for part in &mut self.parts {
                let best = RungCost { rung: Rung::Full, tokens: whole };
                part.unit = Some(part.as_unit(place, best, vec![RungCost { rung: Rung::Omitted, tokens: 0 }]));
            }
            return Ok(());
        }
        let states = |raised: Option<(&'p Ladder, Rung)>| {
            let low = self.states(|part| last_rung(&part.rungs)).into_iter();
            low.map(move |(ladder, state)| match (raised, state) {
                (Some((one, rung)), LadderState::Input(_)) if one == ladder => (ladder, LadderState::Input(rung)),
                (Some((one, rung)), LadderState::Version(_)) if one == ladder => (ladder, LadderState::Version(rung)),
                (_, state) => (ladder, state),
            })
        };
        let mut cost = |raised: Option<(&'p Ladder, Rung)>| {
            Ok::<u64, Error>(tokens_as_u64(renderer.on(section, &full, states(raised))?.tokens))
        };
        // A section that goes with its only ladder costs nothing of its own.
        let goes = droppable(section) && matches!(section.spec.ladders.as_slice(), [one] if one.is_of_input());
        let base = if goes { 0 } else { cost(None)? };
        let mut units = Vec::new();
        for part in &self.parts {
            let Some((ladder, None)) = part.ladder.map(|ladder| (ladder, part.item)) else {
                units.push(None);
                continue;
            };
            let mut step = |rung: &Rung| {
                let tokens = if goes && *rung == Rung::Omitted { 0 } else { cost(Some((ladder, *rung)))? };
                Ok(RungCost { rung: *rung, tokens: tokens.saturating_sub(base) })
            };
            let Some((best, lower)) = part.rungs.split_first() else { continue };
            let best = step(best)?;
            units.push(Some(part.as_unit(place, best, lower.iter().map(step).collect::<Result<_, Error>>()?)));
        }
        self.fixed = base;
        for (part, unit) in self.parts.iter_mut().zip(units) {
            part.unit = unit;
        }
        self.price_items(renderer);
        Ok(())
    }

    /// Finds out what each item costs on each of its rungs. Rendering a section for each would take a time that
    /// grows with the square of its items, so their own texts are counted, and what the section says around
    /// them is its own.
    fn price_items(&mut self, renderer: &mut Renderer<'_, '_>) {
        let place = self.place();
        let mut all = 0u64;
        for part in self.parts.iter_mut().filter(|part| part.item.is_some()) {
            let Some((ladder, item)) = part.ladder.zip(part.item) else { continue };
            let mut step = |rung: &Rung| RungCost {
                rung: *rung,
                tokens: tokens_as_u64(renderer.item_tokens(ladder, item, *rung)),
            };
            let Some((best, lower)) = part.rungs.split_first() else { continue };
            let best = step(best);
            all = all.saturating_add(best.tokens);
            let lower = lower.iter().map(step).collect();
            part.unit = Some(part.as_unit(place, best, lower));
        }
        // Ladders of whole inputs in the same section are in `fixed` on their last rung already.
        let around = tokens_as_u64(self.full.tokens).saturating_sub(all);
        let others = self.parts.iter().any(|part| part.item.is_none());
        if all > 0 && !others {
            self.fixed = around;
        }
    }

    /// Puts each part on the step that `step` gives for it, in their order, and renders the section.
    fn take(
        &mut self,
        renderer: &mut Renderer<'_, '_>,
        mut step: impl FnMut(&FitUnit) -> Option<RungCost>,
    ) -> Result<(), Error> {
        for part in &mut self.parts {
            if let Some(step) = part.unit.as_ref().and_then(&mut step) {
                part.rung = step.rung;
            }
        }
        let priced = self.parts.iter().any(|part| part.unit.is_some());
        self.dropped = priced && droppable(self.section) && self.parts.iter().all(|part| part.rung == Rung::Omitted);
        self.show(renderer)
    }
}

impl<'p> Part<'p> {
    fn new(ladder: Option<&'p Ladder>, rungs: Vec<Rung>, priority: u8) -> Self {
        Self { ladder, item: None, priority, share: 100, presence: 0, rung: best_rung(&rungs), rungs, unit: None }
    }

    const fn value(&self) -> UnitValue {
        UnitValue { priority: self.priority, share: self.share, presence: self.presence }
    }

    /// Its figures for the fit.
    const fn as_unit(&self, place: UnitPlace, best: RungCost, lower: Vec<RungCost>) -> FitUnit {
        let UnitValue { priority, share, presence } = self.value();
        let UnitPlace { layer, section, shrinks } = place;
        FitUnit { layer, section, shrinks, priority, share, presence, best, lower }
    }

    /// The climbers on a ladder: an input, or each of its items.
    fn on(ladder: &'p Ladder, section: &Section, renderer: &Renderer<'_, '_>) -> Vec<Self> {
        let all = priority(section);
        if ladder.climber != Climber::Item {
            return vec![Self::new(Some(ladder), ladder.rungs.clone(), all)];
        }
        let items = renderer.items(ladder).into_iter().enumerate();
        let part = |(index, (rungs, share))| Self {
            item: Some(index),
            share,
            presence: all / 4,
            ..Self::new(Some(ladder), rungs, all)
        };
        items.map(part).collect()
    }
}

fn priority(section: &Section) -> u8 {
    match section.spec.keep {
        SectionPriority::Required => 100,
        SectionPriority::Priority(priority) => priority,
    }
}

/// Whether the section goes when all its ladders are on their last rung.
fn droppable(section: &Section) -> bool {
    section.spec.keep != SectionPriority::Required
        && section.spec.ladders.iter().all(|ladder| last_rung(&ladder.rungs) == Rung::Omitted)
}

// Every ladder has rungs: the file's header refuses an empty one.

fn best_rung(rungs: &[Rung]) -> Rung {
    rungs.first().copied().unwrap_or(Rung::Full)
}

fn last_rung(rungs: &[Rung]) -> Rung {
    rungs.last().copied().unwrap_or(Rung::Full)
}
