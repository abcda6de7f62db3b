//! Prompts whose answers break their contract, or which people call bad, more often than they should.

use std::collections::{BTreeMap, BTreeSet};

use proem_engine::run::Time;
use proem_guard::show;
use proem_score::bar::{is_above_bar, trials_missing_above_bar};
use proem_score::interval::{Z95, wilson};
use proem_store::Store;
use proem_store::query::{StatisticsWanted, VersionRunRow, VersionRunsWanted};

use super::{BatchScene, BatchSubject, Finding, last_decisions};
use crate::book::journal::Journal;
use crate::book::proposals::{ProposedChange, is_prompt_name};
use crate::error::Error;
use crate::records;

/// The share of inputs whose first answer may break the contract before another wording is worth a person's time: each
/// such answer costs a second request.
const CONTRACT_BAR: f64 = 0.1;
/// The share of judged inputs that people may call bad before another wording is worth it.
const VERDICT_BAR: f64 = 0.25;
/// The most runs of a version that count, the latest ones.
const MOST_RUNS: u32 = 5_000;
/// The most runs and the most rules that a proposal names.
const NAMED: usize = 8;
/// The most other versions that a proposal names.
const OTHER_VERSIONS: usize = 3;

/// The words for both kinds of failure.
const BROKE_CONTRACT: &str = "broke the contract at the first attempt";
const CALLED_BAD: &str = "were called bad by people";

/// One kind of outcome of a version: how many different inputs failed, of how many.
#[derive(Debug, Default)]
struct FailureTally {
    failed: u64,
    inputs: u64,
    /// The first failed run of each failed input, in their order.
    runs: Vec<String>,
    /// The time of the newest outcome.
    newest: Option<Time>,
    /// Whether the failures are shown to be above the bar.
    is_above: bool,
}

/// A prompt's version in use with its outcomes.
#[derive(Debug)]
struct PromptOutcomes {
    prompt: String,
    /// The version as its runs record it.
    version: String,
    contract: FailureTally,
    verdicts: FailureTally,
    /// How often each rule was broken.
    rules: BTreeMap<String, u64>,
    /// Other versions: their failed inputs and all their inputs.
    others: Vec<(String, u64, u64)>,
}

/// The prompts with outcomes, and those that need another wording, with an error of at most `error` together.
pub(super) async fn weigh_prompts(
    scene: &BatchScene,
    store: &Store,
    error: f64,
) -> Result<(Vec<BatchSubject>, Vec<Finding>), Error> {
    let mut outcomes = read_outcomes(scene, store).await?;
    let kinds = outcomes.iter().flat_map(|one| [&one.contract, &one.verdicts]).filter(|tally| tally.inputs > 0).count();
    #[expect(clippy::cast_precision_loss, reason = "two for each prompt")]
    let own = error / kinds.max(1) as f64;
    let mut subjects = Vec::new();
    let mut findings = Vec::new();
    for one in &mut outcomes {
        for (tally, bar) in [(&mut one.contract, CONTRACT_BAR), (&mut one.verdicts, VERDICT_BAR)] {
            tally.is_above = is_above_bar(bar, tally.failed, tally.inputs, own);
        }
        let tallies = [(&one.contract, CONTRACT_BAR, BROKE_CONTRACT), (&one.verdicts, VERDICT_BAR, CALLED_BAD)];
        let name = show::terminal_str(&format!("{}@{}", one.prompt, one.version)).into_string();
        for (tally, bar, what) in tallies.into_iter().filter(|(tally, ..)| tally.inputs > 0) {
            let finding = tally_finding(tally, bar, own, what);
            subjects.push(BatchSubject { name: name.clone(), n: tally.inputs, is_shown: tally.is_above, finding });
        }
        findings.extend(revision_finding(scene, one));
    }
    Ok((subjects, findings))
}

async fn read_outcomes(scene: &BatchScene, store: &Store) -> Result<Vec<PromptOutcomes>, Error> {
    let owner = records::records_owner(scene.nearest.project());
    let last = last_decisions(&Journal::load(&scene.nearest.folder)?);
    let wanted = StatisticsWanted { project: Some(owner.clone()), since: None, agent: None };
    let recorded: Vec<String> = store.statistics(&wanted).await?.prompts.into_iter().map(|group| group.name).collect();
    let mut all = Vec::new();
    for prompt in scene.nearest.book().prompts() {
        // A prompt that can't be read has no version in use. `doctor` and `book check` say so.
        let Ok(read) = scene.nearest.book().prompt(&prompt, None) else { continue };
        let version = read.id.version;
        if !is_prompt_name(&prompt) || !recorded.contains(&format!("{prompt}@{version}")) {
            continue;
        }
        let about = revision_of(scene, &prompt, &version).about();
        let after = [&about, &prompt].into_iter().filter_map(|about| last.get(about)).max();
        let runs = |version: &str, after: Time| {
            let (project, prompt, version) = (owner.clone(), prompt.clone(), version.to_owned());
            store.version_runs(VersionRunsWanted { project, prompt, version, after, most: MOST_RUNS })
        };
        let rows = runs(&version, after.copied().unwrap_or(Time(i64::MIN))).await?;
        let (contract, rules) = contract_tally(&rows);
        let verdicts = verdict_tally(&rows);
        let mut others = Vec::new();
        let names = recorded.iter().filter_map(|name| name.split_once('@'));
        for (_, other) in names.filter(|(name, other)| *name == prompt && *other != version).take(OTHER_VERSIONS) {
            let (tally, _) = contract_tally(&runs(other, Time(i64::MIN)).await?);
            others.push((other.to_owned(), tally.failed, tally.inputs));
        }
        all.push(PromptOutcomes { prompt, version, contract, verdicts, rules, others });
    }
    Ok(all)
}

/// Counts each different input once, by its first answer: one input that always fails is one failure.
fn contract_tally(rows: &[VersionRunRow]) -> (FailureTally, BTreeMap<String, u64>) {
    let (mut tally, mut seen) = (FailureTally::default(), BTreeSet::new());
    let mut rules: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let Some(met) = row.met_contract else { continue };
        if !seen.insert(&row.inputs) {
            continue;
        }
        tally.add(row, !met, row.at);
        for rule in row.broken_rules.iter().filter(|rule| is_schema_keyword(rule)) {
            let known = rules.entry(rule.clone()).or_default();
            *known = known.saturating_add(1);
        }
    }
    (tally, rules)
}

/// Counts each different input once, by a person's last verdict on its last judged run. A verdict on an assessment is
/// about an alarm, and counts for thresholds.
fn verdict_tally(rows: &[VersionRunRow]) -> FailureTally {
    let mut last: BTreeMap<&str, &VersionRunRow> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_bad(row).is_some()) {
        let known = last.entry(&row.inputs).or_insert(row);
        if judged_at(row) >= judged_at(known) {
            *known = row;
        }
    }
    let mut judged: Vec<&VersionRunRow> = last.into_values().collect();
    judged.sort_by(|a, b| judged_at(a).cmp(&judged_at(b)).then_with(|| a.run.cmp(&b.run)));
    let mut tally = FailureTally::default();
    for row in judged {
        tally.add(row, is_bad(row) == Some(true), judged_at(row).unwrap_or(row.at));
    }
    tally
}

fn judged_at(row: &VersionRunRow) -> Option<Time> {
    row.verdict.as_ref().map(|(_, at)| *at)
}

fn is_bad(row: &VersionRunRow) -> Option<bool> {
    match row.verdict.as_ref().map(|(word, _)| word.as_str()) {
        Some("bad") => Some(true),
        Some("good") => Some(false),
        _ => None,
    }
}

/// A keyword of a schema. Anything else that a record holds there is not shown.
fn is_schema_keyword(rule: &str) -> bool {
    (1..=32).contains(&rule.len()) && rule.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl FailureTally {
    fn add(&mut self, row: &VersionRunRow, has_failed: bool, at: Time) {
        self.inputs = self.inputs.saturating_add(1);
        if has_failed {
            self.failed = self.failed.saturating_add(1);
            self.runs.push(row.run.short().to_owned());
        }
        self.newest = self.newest.max(Some(at));
    }
}

fn revision_of(scene: &BatchScene, prompt: &str, version: &str) -> ProposedChange {
    // The hash behind an unlocked version is none of its name.
    let version = version.split('+').next().unwrap_or(version).to_owned();
    ProposedChange::Revision { prompt: prompt.to_owned(), version, project: scene.mark.clone() }
}

/// The words of one kind of outcome, judged with an error of `error`.
fn tally_finding(tally: &FailureTally, bar: f64, error: f64, what: &str) -> String {
    let FailureTally { failed, inputs, .. } = tally;
    let counted = format!("{failed} of {inputs} different inputs {what}");
    let percent = share_in_percent(bar);
    if tally.is_above {
        return format!("{counted}, which is shown to be above {percent}");
    }
    let missing = trials_missing_above_bar(bar, *failed, *inputs, error);
    let more = missing.map_or(String::new(), |missing| format!("; about {missing} more such inputs would show it"));
    format!("{counted}, which is not shown to be above {percent}{more}")
}

/// The proposal of another wording. `None` if no kind of outcome shows that one is needed.
fn revision_finding(scene: &BatchScene, outcomes: &PromptOutcomes) -> Option<Finding> {
    let mut evidence = Vec::new();
    let mut reasons = Vec::new();
    let mut newest = None;
    if outcomes.contract.is_above {
        let FailureTally { failed, inputs, .. } = &outcomes.contract;
        evidence.push(format!(
            "expected effect: with a wording at the bar of {}, {} of {inputs} first answers break the contract instead of {failed}",
            share_in_percent(CONTRACT_BAR),
            rounded_share(CONTRACT_BAR, *inputs),
        ));
        evidence.push(tally_line(&outcomes.contract, BROKE_CONTRACT));
        evidence.extend(rules_line(&outcomes.rules));
        reasons.push(format!("first answers break the contract (n = {inputs})"));
        newest = newest.max(outcomes.contract.newest);
    }
    if outcomes.verdicts.is_above {
        evidence.push(tally_line(&outcomes.verdicts, CALLED_BAD));
        reasons.push(format!("people call its answers bad (n = {})", outcomes.verdicts.inputs));
        newest = newest.max(outcomes.verdicts.newest);
    }
    for (version, failed, inputs) in outcomes.others.iter().filter(|(_, _, inputs)| *inputs > 0) {
        evidence.push(format!(
            "beside it, {} broke the contract for {failed} of {inputs} inputs, which nobody chose at random",
            show::terminal_str(version)
        ));
    }
    evidence.push(
        "the inputs of these runs, by `proem runs show ID`, can become cases of the prompt, by which `proem improve` \
         judges wordings"
            .to_owned(),
    );
    Some(Finding {
        change: revision_of(scene, &outcomes.prompt, &outcomes.version),
        because: reasons.join(", and "),
        evidence,
        newest: newest?,
    })
}

fn tally_line(tally: &FailureTally, what: &str) -> String {
    let FailureTally { failed, inputs, runs, .. } = tally;
    let interval = wilson(*failed, *inputs, Z95).map_or(String::new(), |interval| {
        format!(" (95 % interval {} to {})", share_in_percent(interval.low), share_in_percent(interval.high))
    });
    let newest: Vec<&str> = runs.iter().rev().take(NAMED).map(String::as_str).collect();
    format!("{failed} of {inputs} different inputs {what}{interval}; newest runs: {}", newest.join(", "))
}

/// The rules that were broken most often.
fn rules_line(rules: &BTreeMap<String, u64>) -> Option<String> {
    let mut most: Vec<(&String, &u64)> = rules.iter().collect();
    most.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let named: Vec<String> = most.into_iter().take(NAMED).map(|(rule, count)| format!("{rule} {count}")).collect();
    (!named.is_empty()).then(|| format!("rules of the schema that were broken: {}", named.join(", ")))
}

fn share_in_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "at most some thousand inputs")]
fn rounded_share(share: f64, of: u64) -> String {
    format!("{:.0}", share * of as f64)
}
