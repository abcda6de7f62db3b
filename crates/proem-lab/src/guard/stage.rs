//! The second stage: weighs what the windows, the bank and the rules say about a whole text.
//!
//! It is learned from texts that the first stage hasn't seen: a model for each fold scores the
//! fold's texts, and its texts spliced into its mails, attacks as well as benign ones, so that
//! length and genre say nothing. The flag point is the log-odds above which, or by a rule of which,
//! one benign text in a hundred is flagged.

use std::collections::BTreeMap;
use std::path::Path;

use proem_guard::score::{InjectionFeatures, NAMES, TextScorer};
use proem_guard::sentence_scorer::SentenceScorer;
use proem_guard::{FindingKind, Guard, Scan, Severity, Untrusted};
use proem_score::linear::{Logistic, TrainingOptions, fit_logistic};
use proem_text::{Label, Source};
use serde_json::json;

use super::labelled_texts::{LabelledText, OWN, splice};
use crate::selection::public_sets::Dice;

/// The share of benign texts that may be flagged.
const RATE: f64 = 0.01;
/// Half the penalty on a squared weight, in examples.
const PENALTY: f64 = 10.0;

/// One text as the first stage saw it, without having learned from it.
#[derive(Debug, Clone)]
pub(crate) struct StageExample {
    pub(crate) features: InjectionFeatures,
    pub(crate) is_attack: bool,
    /// Whether a rule flags it, whatever the score.
    pub(crate) by_rule: bool,
    pub(crate) source: String,
}

/// A guard with this model's file. It lives as long as the program. Without a stage nothing is weighed.
pub(crate) fn guard_with(file: &[u8], stage: Option<TextScorer>) -> Result<Guard, String> {
    let bytes: &'static [u8] = Vec::leak(file.to_vec());
    let model = SentenceScorer::read(bytes).map_err(|error| error.to_string())?;
    let unweighed = || TextScorer::new(Logistic { weights: vec![0.0; NAMES.len()], bias: 0.0 }, 1.0, 0.0);
    Guard::learned(&[], model, stage.unwrap_or_else(unweighed)).map_err(|error| error.to_string())
}

pub(crate) fn scan_lab_text(guard: &Guard, text: &str) -> Scan {
    guard.scan(&Untrusted::new(text.to_owned(), Label::from_source(Source::named("lab"))))
}

/// Whether a rule flags a text, whatever its score.
pub(crate) fn by_rule(scan: &Scan) -> bool {
    !scan.unread.is_empty()
        || scan.findings.iter().any(|finding| {
            finding.severity > Severity::Low && !matches!(finding.kind, FindingKind::Learned | FindingKind::Similar)
        })
}

/// The end of the name of a source whose texts are in mails.
const IN_MAIL: &str = " in a mail";

/// A guard's verdicts on texts that its model hasn't seen, alone and spliced into the mails among them.
pub(crate) fn stage_examples(
    guard: &Guard,
    held: &[&LabelledText],
    mails: &[&LabelledText],
    dice: &mut Dice,
) -> Vec<StageExample> {
    let mut all = Vec::new();
    let mut add = |text: &str, is_attack: bool, source: String| {
        let scan = scan_lab_text(guard, text);
        all.push(StageExample { features: scan.features, is_attack, by_rule: by_rule(&scan), source });
    };
    for row in held {
        add(&row.text, row.is_attack(), row.source.clone());
        if let Some(mail) = mails.get(dice.below(mails.len())) {
            add(&splice(&row.text, &mail.text, dice), row.is_attack(), format!("{}{IN_MAIL}", row.source));
        }
    }
    all
}

/// Learns the weights, none below 0: attacks and benign texts count the same together.
pub(crate) fn learn(examples: &[&StageExample]) -> Result<Logistic, String> {
    let rows: Vec<[f32; NAMES.len()]> = examples.iter().map(|example| example.features.0).collect();
    let labels: Vec<bool> = examples.iter().map(|example| example.is_attack).collect();
    let mut counts: BTreeMap<bool, f32> = BTreeMap::new();
    labels.iter().for_each(|label| *counts.entry(*label).or_default() += 1.0);
    let most = counts.values().copied().fold(0.0, f32::max);
    let weights: Vec<f32> = labels.iter().map(|label| most / counts.get(label).copied().unwrap_or(most)).collect();
    let mut rows = rows;
    loop {
        let options = TrainingOptions { l2: PENALTY, ..TrainingOptions::default() };
        let model = fit_logistic(&rows, &labels, &weights, options).map_err(|error| error.to_string())?.model;
        // Nothing that is suspicious may speak for a text; without it the others are weighed anew.
        let Some(worst) = (0..NAMES.len()).find(|index| model.weights.get(*index).is_some_and(|weight| *weight < 0.0))
        else {
            return Ok(model);
        };
        rows.iter_mut().filter_map(|row| row.get_mut(worst)).for_each(|value| *value = 0.0);
    }
}

/// The log-odds above which, with the rules, one benign text in a hundred is flagged.
pub(crate) fn flag_point(weights: &Logistic, benign: &[&StageExample]) -> f32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a count")]
    let allowed = (benign.len() as f64 * RATE) as usize;
    let by_rule = benign.iter().filter(|example| example.by_rule).count();
    let mut scores: Vec<f32> =
        benign.iter().filter(|example| !example.by_rule).map(|example| weights.score(&example.features.0)).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    scores.get(allowed.saturating_sub(by_rule)).map_or(0.0, |score| score.next_up())
}

/// Fits the stage and writes its file. `unseen` are examples of texts that nothing was learned
/// from.
pub(crate) fn fit_and_write_stage(
    examples: &[StageExample],
    unseen: &[StageExample],
    path: &Path,
) -> Result<(TextScorer, String), String> {
    // Lines of our own are hard on purpose, and the rules know their attacks.
    let public: Vec<&StageExample> = examples.iter().filter(|example| !example.source.starts_with(OWN)).collect();
    let weights = learn(&public)?;
    // A few mails are around many texts. The point is that of texts as they are.
    let ordinary = |example: &&StageExample| !example.is_attack && !example.source.ends_with(IN_MAIL);
    let benign: Vec<&StageExample> = public.iter().copied().chain(unseen).filter(ordinary).collect();
    let flag = flag_point(&weights, &benign);
    let window = window_point(&benign);
    let named: BTreeMap<&str, f32> = NAMES.into_iter().zip(weights.weights.iter().copied()).collect();
    let file = json!({ "weights": named, "bias": weights.bias, "flag": flag, "window": window });
    std::fs::write(path, format!("{file:#}\n"))
        .map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    let stage = TextScorer::new(weights, flag, window);
    let mut report = format!("flag point {flag:.3} from {} benign texts\n", benign.len());
    for (name, keep) in [("learned from", examples), ("unseen", unseen)] {
        report.push_str(&format!("{name}:\n{}", stage_table(&stage, keep)));
    }
    Ok((stage, report))
}

/// The log-odds of a best window that one benign text in a hundred has.
fn window_point(benign: &[&StageExample]) -> f32 {
    let mut best: Vec<f32> = benign.iter().filter_map(|example| example.features.0.first().copied()).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    best.get(best.len() / 100).copied().unwrap_or(0.0)
}

/// How many texts of each source are flagged.
fn stage_table(stage: &TextScorer, examples: &[StageExample]) -> String {
    let mut counts: BTreeMap<(bool, &str), (usize, usize)> = BTreeMap::new();
    for example in examples {
        let (flagged, all) = counts.entry((example.is_attack, &example.source)).or_default();
        *flagged += usize::from(example.by_rule || stage.flags(stage.logit(&example.features)));
        *all += 1;
    }
    let line = |((is_attack, source), (flagged, all)): (&(bool, &str), &(usize, usize))| {
        let what = if *is_attack { "attacks" } else { "benign" };
        #[expect(clippy::cast_precision_loss, reason = "some thousand texts")]
        let share = 100.0 * *flagged as f64 / *all as f64;
        format!("  {what} {source}: {share:.1} % of {all}\n")
    };
    counts.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(best: f32, is_attack: bool, by_rule: bool) -> StageExample {
        let mut features = InjectionFeatures::default();
        features.0[0] = best;
        StageExample { features, is_attack, by_rule, source: "s".into() }
    }

    #[test]
    fn rules_count_towards_the_rate() {
        let weights = Logistic { weights: vec![1.0], bias: 0.0 };
        let mut texts: Vec<StageExample> = (0..300u16).map(|n| example(f32::from(n), false, false)).collect();
        let flagged = |texts: &[StageExample]| {
            let flag = flag_point(&weights, &texts.iter().collect::<Vec<_>>());
            texts.iter().filter(|text| text.by_rule || text.features.0[0] >= flag).count()
        };
        assert_eq!(flagged(&texts), 3);
        texts[0].by_rule = true;
        texts[1].by_rule = true;
        assert_eq!(flagged(&texts), 3);
    }

    #[test]
    fn what_tells_attacks_apart_gets_weight() {
        let texts: Vec<StageExample> =
            (0..40u16).map(|n| example(f32::from(n % 2) * 4.0 - 2.0, n % 2 == 1, false)).collect();
        let weights = learn(&texts.iter().collect::<Vec<_>>()).unwrap();
        assert!(weights.weights[0] > 0.1, "{weights:?}");
    }
}
