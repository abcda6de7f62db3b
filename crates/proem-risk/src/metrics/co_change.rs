//! Co-change: which files usually change together, and which of them are missing from a change.
//!
//! In the window, n(a) counts commits that touch file a (those of a alone among them) and n(a, b) those that
//! touch both. The confidence is n(a, b) / n(a), Jaccard's index n(a, b) / (n(a) + n(b) − n(a, b)), the
//! degree 2 n(a, b) / (n(a) + n(b)). Pairs are counted only for files that are asked for, never for all.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::words::{commit_count_words, file_count_words, period_words, saturating_u32};
use super::{DETAILS, RECENT_DAYS, Survey, WIDE, decides_level};
use crate::history::{FileId, PathId};
use crate::metric::{Exclusion, Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal};
use crate::path::FileRole;

/// The fewest commits of a file for a share.
const FEWEST: u32 = 5;

/// The fewest commits together for a partner.
const TOGETHER: u32 = 3;

/// From this lower bound on, a partner is a usual one.
pub(crate) const USUAL: f64 = 0.3;

/// How many files are looked at for the place among the files of the repository.
const SAMPLED: u32 = 200;

/// A file that changed together with another.
#[derive(Debug, Clone)]
pub(crate) struct Partnership {
    pub(crate) file: FileId,
    pub(crate) path: PathId,
    /// Its place in the tree.
    pub(crate) tree: Option<u32>,
    /// Its role. `None` without a tree.
    pub(crate) role: Option<FileRole>,
    /// n(a, b) of n(a).
    pub(crate) together: Fraction,
    /// The lower bound of the share.
    pub(crate) low: f64,
}

/// How a file changed together with others.
#[derive(Debug, Clone, Default)]
pub(crate) struct CoChange {
    /// The file. `None` if it has no history.
    file: Option<FileId>,
    /// n(a).
    commits: u32,
    /// Commits that touched too many files.
    wide: u32,
    /// Files with n(a, b) of 3 or more that are still there, most usual first.
    pub(crate) partners: Vec<Partnership>,
}

impl Partnership {
    /// Whether it counts for the level: tests, generated files and the like don't.
    fn counts(&self) -> bool {
        self.role.is_none_or(decides_level)
    }

    /// Whether somebody would miss it in a change: a usual one that counts.
    fn is_missed(&self, survey: &Survey<'_>) -> bool {
        self.counts() && self.low >= USUAL && !survey.changed().contains(&self.file)
    }
}

/// Counts with what a file of the change changed together.
pub(crate) fn co_change_of_file(survey: &Survey<'_>, file: u32) -> CoChange {
    survey.history_of(file).map_or_else(CoChange::default, |file| count_co_change(survey, file))
}

fn count_co_change(survey: &Survey<'_>, file: FileId) -> CoChange {
    let (past, tree) = (survey.facts().past, survey.facts().tree);
    let mut co_change = CoChange { file: Some(file), ..CoChange::default() };
    let mut together: BTreeMap<FileId, u32> = BTreeMap::new();
    for (index, _) in survey.within(file, survey.facts().window_days) {
        let touches = past.history().touches(index);
        // A renaming or a new licence header touches everything and says nothing of what belongs together. Counted
        // here, these commits would make pairs of all files.
        if touches.len() > WIDE {
            co_change.wide = co_change.wide.saturating_add(1);
            continue;
        }
        co_change.commits = co_change.commits.saturating_add(1);
        for touch in touches.iter().filter(|touch| touch.file != file) {
            let count = together.entry(touch.file).or_default();
            *count = count.saturating_add(1);
        }
    }
    // Before the partners: with so few commits any share is as likely chance.
    if co_change.commits < FEWEST {
        return co_change;
    }
    let enough = together.into_iter().filter(|(_, count)| *count >= TOGETHER);
    let partners = enough.filter_map(|(partner, count)| {
        // A commit may touch a file twice, as a swap of names does.
        let count = count.min(co_change.commits);
        let together = Fraction { numerator: u64::from(count), denominator: u64::from(co_change.commits) };
        let path = survey.path_of(partner)?;
        let place = tree.map(|tree| tree.find(past.history().path(path)));
        if place == Some(None) {
            // It is gone in the change itself, or is no file.
            return None;
        }
        let tree = place.flatten();
        let role = tree.and_then(|index| survey.class(index)).map(|class| class.role);
        Some(Partnership { file: partner, path, tree, role, together, low: together.between()?.low })
    });
    co_change.partners = partners.collect();
    // By the lower bound and not by the share: 3 of 3 says less than 40 of 50.
    co_change.partners.sort_by(|one, other| other.low.total_cmp(&one.low).then_with(|| one.file.cmp(&other.file)));
    co_change
}

/// The metric of a file of the change.
pub(super) fn co_change_metric(survey: &Survey<'_>, file: u32, co_change: &CoChange) -> Metric {
    let unknown = |because: String| Metric::unknown(MetricName::CoChange, Sentence::ours(because));
    let window = survey.facts().window_days;
    let mut metric = match (survey.reach(), co_change.file) {
        (_, None) => unknown("the file has no history yet, so nothing changes with it usually".to_string()),
        (Some(reach), _) if reach < window => {
            unknown(format!("the history goes back {reach} days only, {window} are needed"))
        }
        _ if co_change.commits < FEWEST => unknown(too_few(co_change, window)),
        (_, Some(own)) => known_co_change_metric(survey, file, own, co_change),
    };
    metric.excluded = co_change_exclusions(survey, file, co_change);
    metric
}

fn too_few(co_change: &CoChange, window: u32) -> String {
    let touched = commit_count_words(co_change.commits);
    format!("{touched} of at most {WIDE} files touched it in {}, {FEWEST} are needed", period_words(window))
}

/// The metric of a file that has enough commits: `file` is its place in the change, `own` in the history.
fn known_co_change_metric(survey: &Survey<'_>, file: u32, own: FileId, co_change: &CoChange) -> Metric {
    let (window, history) = (period_words(survey.facts().window_days), survey.facts().past.history());
    let counting = || co_change.partners.iter().filter(|partner| partner.counts());
    let Some(most) = counting().next() else {
        let of = Fraction { numerator: 0, denominator: u64::from(co_change.commits) };
        let evidence = format!(
            "no other file changed with it in {TOGETHER} or more of its {} in {window}",
            commit_count_words(co_change.commits)
        );
        return Metric {
            of: Some(of),
            signal: Signal::Low,
            evidence: Sentence::ours(evidence),
            rank: PercentileRank::among(survey.usual(), 0.0),
            ..Metric::of(MetricName::CoChange, 0.0)
        };
    };
    let share = most.together.share().unwrap_or_default();
    let recent = recent_co_change(survey, own, most.file);
    let evidence = Sentence::default().then(SentencePart::Path(history.path(most.path).to_text())).and(format!(
        " changed in {} of the {} that touched this file in {window} ({share:.2}, at least {:.2}); in the last {RECENT_DAYS} days in {} of {}",
        most.together.numerator,
        commit_count_words(co_change.commits),
        most.low,
        recent.numerator,
        recent.denominator,
    ));
    Metric {
        of: Some(most.together),
        between: most.together.between(),
        rank: PercentileRank::among(survey.usual(), most.low),
        signal: survey.facts().thresholds.signal(MetricName::CoChange, most.low),
        evidence,
        details: counting().take(DETAILS).map(|partner| partnership_detail(survey, file, partner)).collect(),
        total: Some(saturating_u32(counting().count())),
        ..Metric::of(MetricName::CoChange, share)
    }
}

/// n(a, b) of n(a) in the last 90 days.
fn recent_co_change(survey: &Survey<'_>, file: FileId, partner: FileId) -> Fraction {
    let history = survey.facts().past.history();
    let mut recent = Fraction { numerator: 0, denominator: 0 };
    for (index, _) in survey.within(file, RECENT_DAYS) {
        let touches = history.touches(index);
        if touches.len() <= WIDE {
            let is_there = touches.iter().any(|touch| touch.file == partner);
            recent.numerator = recent.numerator.saturating_add(u64::from(is_there));
            recent.denominator = recent.denominator.saturating_add(1);
        }
    }
    recent
}

fn partnership_detail(survey: &Survey<'_>, file: u32, partner: &Partnership) -> Sentence {
    let history = survey.facts().past.history();
    let narrow_enough = survey
        .within(partner.file, survey.facts().window_days)
        .filter(|(index, _)| history.touches(*index).len() <= WIDE);
    let theirs = u64::from(saturating_u32(narrow_enough.count()));
    let Fraction { numerator: both, denominator: own } = partner.together;
    let all = own.saturating_add(theirs);
    let index = |part: u64, whole: u64| Fraction { numerator: part, denominator: whole }.share().unwrap_or_default();
    let jaccard = index(both, all.saturating_sub(both));
    let degree = index(both.saturating_mul(2), all);
    let path = SentencePart::Path(history.path(partner.path).to_text());
    let sentence =
        Sentence::default().then(path).and(format!(": {both} of {own}, Jaccard {jaccard:.2}, degree {degree:.2}"));
    match is_partner_imported(survey, file, partner) {
        Some(true) => sentence.and(", explained by an import"),
        Some(false) => sentence.and(", no import between them"),
        None => sentence,
    }
}

/// Whether an import explains a partnership. `None` if that is unknown.
pub(crate) fn is_partner_imported(survey: &Survey<'_>, file: u32, partner: &Partnership) -> Option<bool> {
    use crate::tree::Imports;
    let tree = survey.facts().tree?;
    let own = survey.tree_index(file)?;
    let other = partner.tree?;
    if tree.graph.imports_between(own, other) {
        return Some(true);
    }
    let is_read = |index: u32| {
        let file = usize::try_from(index).ok().and_then(|index| tree.files.get(index));
        file.is_some_and(|file| matches!(file.imports, Imports::Read { .. } | Imports::None))
    };
    (is_read(own) && is_read(other)).then_some(false)
}

/// How many usual partners are missing from the change.
pub(super) fn co_change_gap(survey: &Survey<'_>, co_change: &CoChange) -> Metric {
    let missing: Vec<&Partnership> = missing_usual_partners(survey, co_change).collect();
    if co_change.commits < FEWEST {
        let because = too_few(co_change, survey.facts().window_days);
        return Metric::unknown(MetricName::CoChangeGap, Sentence::ours(because));
    }
    let number = saturating_u32(missing.len());
    let history = survey.facts().past.history();
    let detail = |partner: &&Partnership| {
        let Fraction { numerator, denominator } = partner.together;
        let path = SentencePart::Path(history.path(partner.path).to_text());
        Sentence::default().then(path).and(format!(": {numerator} of {denominator}"))
    };
    Metric {
        evidence: Sentence::ours(format!(
            "{} that usually changed with it {} not in this change",
            file_count_words(number),
            if number == 1 { "is" } else { "are" }
        )),
        details: missing.iter().take(DETAILS).map(detail).collect(),
        total: Some(number),
        ..Metric::of(MetricName::CoChangeGap, f64::from(number))
    }
}

/// The usual partners of a file that are missing from the change, most usual first.
pub(crate) fn missing_usual_partners<'c>(
    survey: &Survey<'_>,
    co_change: &'c CoChange,
) -> impl Iterator<Item = &'c Partnership> {
    co_change.partners.iter().filter(|partner| partner.is_missed(survey))
}

fn co_change_exclusions(survey: &Survey<'_>, file: u32, co_change: &CoChange) -> Vec<Exclusion> {
    let mut excluded = survey.left_out();
    let not_counted = co_change.partners.iter().filter(|partner| !partner.counts()).count();
    let own = [
        (format!("commits of more than {WIDE} files"), co_change.wide),
        ("partners that are tests, documentation, generated or vendored".to_string(), saturating_u32(not_counted)),
    ];
    let some = own.into_iter().filter(|(_, count)| *count > 0 && survey.file(file).is_some());
    excluded.extend(some.map(|(what, count)| Exclusion { what, count: u64::from(count) }));
    excluded
}

/// The greatest lower bound among the counting partners of some files that have enough commits, ascending.
/// The files are spread evenly over all that the history knows.
pub(super) fn usual_lower_bounds(survey: &Survey<'_>) -> Vec<f64> {
    let files = survey.facts().past.history().files();
    let step = usize::try_from(files.div_ceil(SAMPLED).max(1)).unwrap_or(usize::MAX);
    let looked_at = (0..files).step_by(step).map(|file| count_co_change(survey, FileId(file)));
    let bound = |co_change: &CoChange| {
        co_change.partners.iter().find(|partner| partner.counts()).map_or(0.0, |partner| partner.low)
    };
    let mut bounds: Vec<f64> =
        looked_at.filter(|co_change| co_change.commits >= FEWEST).map(|co_change| bound(&co_change)).collect();
    bounds.sort_by(f64::total_cmp);
    bounds
}
