//! `proem cost fit`: how far our counts are from what providers report, and counting by that.
//!
//! Where a provider publishes no tokeniser, another one's count is scaled up. What was reported says
//! by how much it should be; the new scale is reported ÷ counted × the scale so far, rounded up, so
//! that a count stays an upper estimate of the mean.

use std::collections::BTreeMap;
use std::process::ExitCode;

use proem_store::query::Estimate;
use proem_text::json;
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::ui::{self, BOLD, DIM, YELLOW, cell, styled};
use proem_app::factors::{Factor, Factors, RANGE};
use proem_app::places::Places;
use proem_app::project::Project;
use proem_app::records;

/// Fewer calls say too little.
const MIN_CALLS: u64 = 20;
/// What is done with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is shown.
    Show,
    /// From now on it is counted by.
    Apply,
    /// The factors before it count again.
    Revert,
}

/// What was found about a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fitted {
    model: String,
    base: String,
    /// The factor that counts today.
    present: usize,
    /// The one that would fit, within its limits; nothing if there are too few calls.
    fitted: Option<usize>,
    calls: u64,
    reported: u64,
    /// What the base alone counts, before it is scaled.
    base_counted: u64,
}

pub(super) async fn run(places: &Places, project: &Project, way: Way, as_json: bool) -> Result<ExitCode, Failure> {
    let mut factors = Factors::load(places)?;
    if way == Way::Revert {
        return revert(places, factors);
    }
    let store = crate::ui::tell(records::look(places, project).await?);
    let fitted = fit(&store.estimates().await?, &factors);
    if as_json {
        ui::document(&json::pretty(&json!({ "models": fitted, "minCalls": MIN_CALLS })))?;
    } else {
        ui::listing(&table(&fitted))?;
    }
    if way == Way::Show {
        return Ok(ExitCode::SUCCESS);
    }
    let mut changed = 0_u64;
    for one in &fitted {
        let Some(percent) = one.fitted.filter(|percent| *percent != one.present) else { continue };
        factors.models.insert(one.model.clone(), Factor { percent, calls: one.calls, previous: Some(one.present) });
        changed = changed.saturating_add(1);
    }
    if changed == 0 {
        ui::aside("nothing to change\n");
        return Ok(ExitCode::SUCCESS);
    }
    factors.store(places)?;
    ui::aside(&format!(
        "estimates for {} changed; `proem cost fit --revert` undoes it\n",
        ui::counted(changed, "model")
    ));
    Ok(ExitCode::SUCCESS)
}

fn revert(places: &Places, mut factors: Factors) -> Result<ExitCode, Failure> {
    let mut changed = 0_u64;
    for factor in factors.models.values_mut() {
        let Some(previous) = factor.previous.take() else { continue };
        factor.percent = previous;
        changed = changed.saturating_add(1);
    }
    if changed == 0 {
        return Err(Failure::finding("no factor was changed, so there is nothing to undo"));
    }
    factors.store(places)?;
    ui::aside(&format!("estimates for {} use the previous factors again\n", ui::counted(changed, "model")));
    Ok(ExitCode::SUCCESS)
}

/// What fits each model that is counted by an estimate.
fn fit(estimates: &[Estimate], factors: &Factors) -> Vec<Fitted> {
    let mut found: BTreeMap<(String, String), Fitted> = BTreeMap::new();
    for estimate in estimates {
        let Some((base, percent)) = scaled(&estimate.counter) else { continue };
        let present = factors.models.get(&estimate.model).map_or(percent, |factor| factor.percent);
        let one = found.entry((estimate.model.clone(), base.to_owned())).or_insert_with(|| Fitted {
            model: estimate.model.clone(),
            base: base.to_owned(),
            present,
            fitted: None,
            calls: 0,
            reported: 0,
            base_counted: 0,
        });
        one.calls = one.calls.saturating_add(estimate.calls);
        one.reported = one.reported.saturating_add(estimate.reported);
        // Counts were rounded up; what the base counted is at most this.
        let counted = estimate.counted.saturating_mul(100) / u64::try_from(percent).unwrap_or(u64::MAX).max(1);
        one.base_counted = one.base_counted.saturating_add(counted);
    }
    let mut fitted: Vec<Fitted> = found.into_values().collect();
    for one in &mut fitted {
        if one.calls >= MIN_CALLS && one.base_counted > 0 {
            let percent = one.reported.saturating_mul(100).div_ceil(one.base_counted);
            let percent = usize::try_from(percent).unwrap_or(usize::MAX);
            one.fitted = Some(percent.clamp(*RANGE.start(), *RANGE.end()));
        }
    }
    fitted
}

/// The base and the hundredths of a counter's name such as `o200k × 1.30`; a counter without a factor
/// is exact.
fn scaled(counter: &str) -> Option<(&str, usize)> {
    let (base, factor) = counter.split_once(" × ")?;
    let (whole, part) = factor.split_once('.')?;
    if part.len() != 2 {
        return None;
    }
    Some((base, whole.parse::<usize>().ok()?.checked_mul(100)?.checked_add(part.parse().ok()?)?))
}

fn table(fitted: &[Fitted]) -> String {
    if fitted.is_empty() {
        return "nothing to compare: no recorded call has both an estimate and a token count from the provider\n"
            .to_owned();
    }
    let head =
        format!("{:32}  {:12}  {:>5}  {:>8}  {:>5}  {:>5}", "model", "counted by", "calls", "reported", "now", "fits");
    let mut out = format!("{}\n", styled(DIM, &head));
    for one in fitted {
        let of = |percent: usize| format!("{}.{:02}", percent / 100, percent % 100);
        let fits = match one.fitted {
            None => styled(DIM, &format!("{:>5}  too few calls; at least {MIN_CALLS} are needed", ui::UNKNOWN)),
            Some(percent) if percent == one.present => format!("{:>5}", of(percent)),
            Some(percent) => styled(YELLOW, &format!("{:>5}", of(percent))),
        };
        out.push_str(&format!(
            "{}  {}  {:>5}  {:>8}  {:>5}  {fits}\n",
            styled(BOLD, &cell(&one.model, 32)),
            cell(&one.base, 12),
            ui::short(one.calls),
            ui::short(one.reported),
            of(one.present),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(counter: &str, calls: u64, counted: u64, reported: u64) -> Estimate {
        Estimate { model: "m".to_owned(), counter: counter.to_owned(), calls, counted, reported }
    }

    #[test]
    fn factors_follow_what_was_reported() {
        for (estimates, expected) in [
            (vec![estimate("o200k", 40, 100, 100)], vec![]),
            (vec![estimate("o200k × 1.30", 19, 1_300, 1_400)], vec![None]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 1_340)], vec![Some(134)]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 500)], vec![Some(100)]),
            (vec![estimate("o200k × 1.30", 20, 1_300, 9_000)], vec![Some(200)]),
            // Counts under two factors are the same base's.
            (
                vec![estimate("o200k × 1.30", 10, 1_300, 1_200), estimate("o200k × 2.00", 10, 2_000, 1_200)],
                vec![Some(120)],
            ),
            (vec![estimate("o200k × 1.30", 20, 0, 0)], vec![None]),
        ] {
            let fitted: Vec<Option<usize>> =
                fit(&estimates, &Factors::default()).iter().map(|one| one.fitted).collect();
            assert_eq!(fitted, expected, "{estimates:?}");
        }
    }

    #[test]
    fn a_counters_name_says_its_factor() {
        for (counter, expected) in [
            ("o200k × 1.30", Some(("o200k", 130))),
            ("o200k × 10.05", Some(("o200k", 1_005))),
            ("o200k", None),
            ("o200k × 1.3", None),
            ("o200k × x.30", None),
        ] {
            assert_eq!(scaled(counter), expected, "{counter}");
        }
    }
}
