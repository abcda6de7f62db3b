//! Batches of feedback, simulated: how often they propose without a reason, and how soon with one.

use std::fmt::Write as _;

use proem_agents::risk::feedback::{AssessmentOpinion, Meter, ThresholdTrial};
use proem_app::book::batch::BATCH_ERROR;
use proem_risk::level::Steps;
use proem_score::bar::is_above_bar;

use super::{Randomness, percent_of};

/// Outcomes between two looks.
const OUTCOMES_OF_A_WEEK: u32 = 10;
/// The prompts of a simulated project.
const PROMPTS: u32 = 5;
/// The fewest outcomes from which the rule without a test proposes another wording.
const FEWEST_WITHOUT_TEST: u64 = 30;

/// Judged alarms of one kind: false ones and right ones are spread evenly over their own values.
#[derive(Debug, Clone, Copy)]
struct SimulatedAlarms {
    name: &'static str,
    share_false: f64,
    false_at: (f64, f64),
    right_at: (f64, f64),
    verdicts: u32,
}

/// The counts of many projects.
#[derive(Debug, Default)]
struct ProposalCounts {
    tested: u64,
    untested: u64,
    verdicts: u64,
    /// Proposed thresholds that truly drop more than a tenth of the right alarms, with the test and without.
    harmful: u64,
    harmful_untested: u64,
}

/// The tables of all rows, over that many projects each.
pub(super) fn proposals_report(projects: u64) -> String {
    let mut out = format!(
        "# Proposals of the weekly batch, simulated\n\n`cargo lab eval lifecycle` writes this file. Each row is {projects} \
         seeded projects with a look after every\n{OUTCOMES_OF_A_WEEK} outcomes of each meter or prompt. *Without a test* is \
         the simplest alternative: propose whenever the figures\nso far say so.\n\n## Thresholds without an effect\n\nIn \
         each project people judge alarms of all six meters. Whether an alarm is false does not depend on its\nvalue. \
         *Proposed* counts projects with any proposal at any look.\n\n| false alarms | verdicts on a meter | proposed | \
         without a test |\n|---|---|---|---|\n"
    );
    for share_false in [0.3, 0.5, 0.8, 0.95] {
        let alarms =
            SimulatedAlarms { name: "", share_false, false_at: (10.5, 40.0), right_at: (10.5, 40.0), verdicts: 200 };
        let found = simulate_projects(alarms, Meter::ALL.len(), projects);
        let (tested, untested) = (percent_of(found.tested, projects), percent_of(found.untested, projects));
        _ = writeln!(out, "| {share_false} | {} | {tested} | {untested} |", alarms.verdicts);
    }
    out.push_str(
        "\n## Thresholds with an effect\n\nOne meter, and the share of false alarms is 0.6. *Harmful* is a proposal that truly \
         silences more than a tenth of the\nright alarms.\n\n| alarms | verdicts | proposed | mean verdicts until then | harmful \
         | without a test | harmful |\n|---|---|---|---|---|---|---|\n",
    );
    let effect = |name, right_at, verdicts| SimulatedAlarms {
        name,
        share_false: 0.6,
        false_at: (10.5, 30.0),
        right_at,
        verdicts,
    };
    for alarms in [
        effect("right ones always higher", (31.0, 60.0), 100),
        effect("right ones always higher", (31.0, 60.0), 200),
        effect("right ones mostly higher", (24.0, 60.0), 200),
        effect("right ones a little higher", (14.0, 34.0), 200),
    ] {
        let found = simulate_projects(alarms, 1, projects);
        let mean = found.verdicts.checked_div(found.tested).unwrap_or(0);
        _ = writeln!(
            out,
            "| {} | {} | {} | {mean} | {} | {} | {} |",
            alarms.name,
            alarms.verdicts,
            percent_of(found.tested, projects),
            percent_of(found.harmful, projects),
            percent_of(found.untested, projects),
            percent_of(found.harmful_untested, projects)
        );
    }
    push_prompts(&mut out, projects);
    out
}

fn push_prompts(out: &mut String, projects: u64) {
    _ = writeln!(
        out,
        "\n## Prompts\n\nEach project has {PROMPTS} prompts, whose different inputs break the contract with the same probability. \
         The bar is 10 %.\n*Proposed* counts projects with any proposal at any look; *without a test* proposes whenever the \
         share so far is\nabove the bar, from {FEWEST_WITHOUT_TEST} inputs on.\n\n| true share | inputs of a prompt | proposed | \
         without a test |\n|---|---|---|---|"
    );
    for (share, inputs) in [(0.05, 300), (0.1, 300), (0.2, 100), (0.2, 300), (0.3, 100), (0.5, 50)] {
        let (mut tested, mut untested) = (0, 0);
        for seed in 0..projects {
            let found = simulate_prompts(share, inputs, seed);
            tested += u64::from(found.0);
            untested += u64::from(found.1);
        }
        let (tested, untested) = (percent_of(tested, projects), percent_of(untested, projects));
        _ = writeln!(out, "| {share} | {inputs} | {tested} | {untested} |");
    }
}

/// Whether any prompt is proposed at any look: with the test, and without.
fn simulate_prompts(share: f64, inputs: u32, seed: u64) -> (bool, bool) {
    let mut dice = Randomness(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(3));
    let own = BATCH_ERROR / 2.0 / f64::from(PROMPTS);
    let (mut tested, mut untested) = (false, false);
    for _ in 0..PROMPTS {
        let mut failed = 0;
        for input in 1..=u64::from(inputs) {
            failed += u64::from(dice.uniform() < share);
            if input % u64::from(OUTCOMES_OF_A_WEEK) == 0 {
                tested |= is_above_bar(0.1, failed, input, own);
                untested |= input >= FEWEST_WITHOUT_TEST && failed * 10 > input;
            }
        }
    }
    (tested, untested)
}

fn simulate_projects(alarms: SimulatedAlarms, meters: usize, projects: u64) -> ProposalCounts {
    let mut counts = ProposalCounts::default();
    for seed in 0..projects {
        let mut dice = Randomness(seed.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(2));
        let (mut tested, mut untested) = (None, None);
        for _ in 0..meters {
            let found = simulate_meter(alarms, &mut dice);
            tested = tested.or(found.0);
            untested = untested.or(found.1);
        }
        if let Some((second, verdicts)) = tested {
            counts.tested += 1;
            counts.verdicts += u64::from(verdicts);
            counts.harmful += u64::from(is_harmful(alarms, second));
        }
        if let Some(second) = untested {
            counts.untested += 1;
            counts.harmful_untested += u64::from(is_harmful(alarms, second));
        }
    }
    counts
}

fn is_harmful(alarms: SimulatedAlarms, second: f64) -> bool {
    let (low, high) = alarms.right_at;
    ((second - low) / (high - low)).clamp(0.0, 1.0) > 0.1
}

/// The first proposal of one meter: its threshold and the verdicts until then, with the test, and its threshold without.
fn simulate_meter(alarms: SimulatedAlarms, dice: &mut Randomness) -> (Option<(f64, u32)>, Option<f64>) {
    let own = BATCH_ERROR / 2.0 / f64::from(u8::try_from(Meter::ALL.len()).unwrap_or(u8::MAX));
    // All meters of which more is worse are judged alike.
    let from = Steps { first: 5.0, second: 10.0 };
    let Some(mut trial) = ThresholdTrial::new(Meter::Coupling, from, own) else { return (None, None) };
    let (mut tested, mut untested) = (None, None);
    for verdict in 1..=alarms.verdicts {
        let is_false = dice.uniform() < alarms.share_false;
        let ((low, high), said) = if is_false {
            (alarms.false_at, AssessmentOpinion::FalsePositive)
        } else {
            (alarms.right_at, AssessmentOpinion::Caught)
        };
        trial.add(low + dice.uniform() * (high - low), said);
        if verdict % OUTCOMES_OF_A_WEEK == 0 {
            if tested.is_none() {
                tested = trial.proven().map(|found| (found.to.second, verdict));
            }
            if untested.is_none() {
                untested = trial.untested().map(|found| found.to.second);
            }
        }
    }
    (tested, untested)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_seldom_proposed_with_the_test_and_often_without() {
        let alarms = SimulatedAlarms {
            name: "",
            share_false: 0.8,
            false_at: (10.5, 40.0),
            right_at: (10.5, 40.0),
            verdicts: 60,
        };
        let found = simulate_projects(alarms, Meter::ALL.len(), 40);
        assert!(found.tested <= 2 && found.untested > 10, "{found:?}");
        let (mut tested, mut untested) = (0_u32, 0_u32);
        for seed in 0..100 {
            let found = simulate_prompts(0.1, 60, seed);
            tested += u32::from(found.0);
            untested += u32::from(found.1);
        }
        assert!(tested <= 5 && untested > 50, "{tested} {untested}");
    }
}
