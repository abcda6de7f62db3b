//! `proem-lab eval guard`: how well the shipped guard works on texts that it hasn't learned from.
//!
//! Recall is measured where one benign text in a hundred is flagged, by the score; what the shipped flag point does is
//! beside it. Everything but the times is the same on every machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use proem_guard::score::TextScorer;
use proem_guard::{Guard, Policy, Verdict};

use super::labelled_texts::{DOCUMENTS, LabelledText, OWN, folds, read_labelled_texts, read_own_texts, splice};
use super::stage::{guard_with, scan_lab_text};
use super::train;
use crate::selection::public_sets::Dice;
use crate::stopwatch::Stopwatch;

/// Measures the guard.
#[derive(Debug, Args)]
pub(crate) struct EvalGuard {
    /// Folder with `guard/train.jsonl` and `guard/dev.jsonl`.
    #[arg(long, value_name = "DIR", default_value = concat!("../", "shared/data"))]
    data: PathBuf,
    /// The workspace's folder, whose `evals/guard/scores.md` is written.
    #[arg(long, value_name = "DIR", default_value = ".")]
    to: PathBuf,
}

const SCORES: &str = "evals/guard/scores.md";
const TEXTS: &str = "evals/guard";
const RATE: f64 = 0.01;
const FOLDS: usize = 3;
const SEED: u64 = 7;

/// One text's score and whether it is flagged or worse as shipped.
#[derive(Debug, Clone, Copy)]
struct GuardedText {
    score: f64,
    is_flagged: bool,
    is_kept_out: bool,
}

pub(crate) fn run_eval_guard(args: &EvalGuard) -> Result<String, String> {
    let (training, dev) = (
        read_labelled_texts(&args.data.join("guard/train.jsonl"))?,
        read_labelled_texts(&args.data.join("guard/dev.jsonl"))?,
    );
    let written = read_own_texts(&args.to.join(TEXTS))?;
    let guard = Guard::shipped(&[]).map_err(|error| error.to_string())?;
    let lab = GuardBench { dev, policy: Policy::shipped().map_err(|error| error.to_string())? };
    let mut report = format!(
        "# Guard: scores\n\nMade by `cargo lab eval guard`; what the sets are says the [data card](README.md). \
         Model {}.\n",
        guard.model_id()
    );
    lab.overall(&guard, &mut report);
    lab.by_source(&guard, &mut report);
    lab.ablation(&mut report)?;
    lab.unseen(&training, &written, &mut report)?;
    lab.held_out(&training, &written, &mut report)?;
    let path = args.to.join(SCORES);
    std::fs::write(&path, &report).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
    Ok(format!("{report}\n{}", scan_times(&guard, &lab.dev)))
}

struct GuardBench {
    dev: Vec<LabelledText>,
    policy: Policy,
}

impl GuardBench {
    fn judge(&self, guard: &Guard, text: &str) -> GuardedText {
        let scan = scan_lab_text(guard, text);
        let verdict = self.policy.bar("lab", "text").judge(&scan);
        GuardedText {
            score: scan.score,
            is_flagged: verdict >= Verdict::Flag,
            is_kept_out: verdict >= Verdict::Quarantine,
        }
    }

    fn judged<'r>(&self, guard: &Guard, rows: impl IntoIterator<Item = &'r LabelledText>) -> Vec<GuardedText> {
        rows.into_iter().map(|row| self.judge(guard, &row.text)).collect()
    }

    fn benign(&self, guard: &Guard) -> Vec<GuardedText> {
        self.judged(guard, self.dev.iter().filter(|row| !row.is_attack()))
    }

    fn spliced(&self, guard: &Guard, keep: impl Fn(&LabelledText) -> bool) -> Vec<GuardedText> {
        let mails: Vec<&LabelledText> = self.dev.iter().filter(|row| row.is_mail()).collect();
        let mut dice = Dice(SEED);
        let attacks = self.dev.iter().filter(|row| row.is_attack());
        let spliced = attacks.filter_map(|row| {
            let mail = mails.get(dice.below(mails.len()))?;
            let text = splice(&row.text, &mail.text, &mut dice);
            keep(row).then(|| self.judge(guard, &text))
        });
        spliced.collect()
    }

    fn overall(&self, guard: &Guard, report: &mut String) {
        let benign = self.benign(guard);
        let point = point(&benign);
        let attacks = self.judged(guard, self.dev.iter().filter(|row| row.is_attack()));
        let spliced = self.spliced(guard, |_| true);
        let notinject = self.judged(guard, self.dev.iter().filter(|row| row.source == "notinject"));
        push_report_text(
            report,
            "\n## Dev\n\n| texts | n | found at 1 % false positives | flagged as shipped | kept out as shipped |\n|---|---|---|---|---|",
        );
        for (name, judged) in
            [("attacks", &attacks), ("attacks in mails", &spliced), ("benign", &benign), ("NotInject", &notinject)]
        {
            push_guard_row(report, name, judged, point);
        }
    }

    fn by_source(&self, guard: &Guard, report: &mut String) {
        let point = point(&self.benign(guard));
        for (title, key) in [
            ("source", (|row: &LabelledText| row.source.clone()) as fn(&LabelledText) -> String),
            ("language", |row| row.lang.clone()),
        ] {
            let names: BTreeSet<(bool, String)> = self.dev.iter().map(|row| (!row.is_attack(), key(row))).collect();
            push_report_text(
                report,
                &format!(
                    "\n## By {title}\n\n`xx` stands for rows without a language.\n\n| {title} | n | found at 1 % | flagged | kept out |\n|---|---|---|---|---|"
                ),
            );
            for (is_benign, name) in names {
                let of = self.dev.iter().filter(|row| row.is_attack() != is_benign && key(row) == name);
                let judged = self.judged(guard, of);
                let what = if is_benign { "benign" } else { "attacks" };
                push_guard_row(report, &format!("{what}, {name}"), &judged, point);
            }
        }
    }

    /// The loss without each scanner, and the result of each part alone.
    fn ablation(&self, report: &mut String) -> Result<(), String> {
        let shipped = || Guard::shipped(&[]).map_err(|error| error.to_string());
        let names: Vec<&'static str> = shipped()?.scanner_names().collect();
        push_report_text(
            report,
            "\n## Without each part\n\n| guard | attacks at 1 % | attacks in mails at 1 % | attacks flagged | benign flagged |\n|---|---|---|---|---|",
        );
        let mut variants: Vec<(String, Guard)> = vec![("as shipped".into(), shipped()?)];
        for name in &names {
            variants.push((format!("without {name}"), shipped()?.with_scanners(|other| other != *name)));
        }
        variants.push(("learned scorer only".into(), shipped()?.with_scanners(|_| false)));
        let blind = shipped()?.stage().clone().with_flag(f32::MAX);
        variants.push(("rules only".into(), shipped()?.with_stage(blind)));
        for (name, guard) in variants {
            let benign = self.benign(&guard);
            let point = point(&benign);
            let attacks = self.judged(&guard, self.dev.iter().filter(|row| row.is_attack()));
            let spliced = self.spliced(&guard, |_| true);
            let cells = [
                found_share(&attacks, point),
                found_share(&spliced, point),
                flagged_share(&attacks),
                flagged_share(&benign),
            ];
            push_report_text(report, &format!("| {name} | {} |", cells.join(" | ")));
        }
        Ok(())
    }

    /// Every family of attacks as if nobody had ever seen it: neither it nor the attacks that were
    /// written for Proem are learned from.
    fn unseen(&self, training: &[LabelledText], written: &[LabelledText], report: &mut String) -> Result<(), String> {
        push_report_text(
            report,
            "\n## Families never seen\n\nThe attacks of one source, and those written for Proem, are left out of training; recall over the source's attacks in both files at 1 % false positives on dev.\n\n| left out | n | learned scorer only | with rules | with rules and the attacks written for Proem |\n|---|---|---|---|---|",
        );
        let families: [&[&str]; 5] =
            [&["cyberseceval", "cyberseceval-ml"], &["deepset"], &["bipia-text"], &["bipia-code"], &["promptshield"]];
        let stage = TextScorer::shipped().map_err(|error| error.to_string())?;
        for family in families {
            let is_of = |row: &&LabelledText| row.is_attack() && family.contains(&row.source.as_str());
            let others = training.iter().filter(|row| !is_of(row));
            let benign: Vec<&LabelledText> =
                others.clone().chain(written.iter().filter(|row| !row.is_attack())).collect();
            let all: Vec<&LabelledText> = others.chain(written).collect();
            let attacks: Vec<&LabelledText> = training.iter().chain(&self.dev).filter(is_of).collect();
            let mut cells = Vec::new();
            for (rows, with_rules) in [(&benign, false), (&benign, true), (&all, true)] {
                let guard = guard_with(&train::train_scorer(rows)?, Some(stage.clone()))?.with_scanners(|_| with_rules);
                let point = point(&self.benign(&guard));
                cells.push(found_share(&self.judged(&guard, attacks.iter().copied()), point));
            }
            push_report_text(report, &format!("| {} | {} | {} |", family.join(", "), attacks.len(), cells.join(" | ")));
        }
        Ok(())
    }

    /// Training texts, each judged by a model that hasn't seen its fold, at the shipped flag point.
    fn held_out(&self, training: &[LabelledText], written: &[LabelledText], report: &mut String) -> Result<(), String> {
        push_report_text(
            report,
            "\n## Training texts held out\n\nThree folds; flagged at the shipped point by a model that hasn't seen the text.\n\n| texts | n | flagged | kept out |\n|---|---|---|---|",
        );
        let all: Vec<&LabelledText> = training.iter().chain(written).collect();
        let owned: Vec<LabelledText> = all.iter().map(|row| (*row).clone()).collect();
        let dealt = folds(&owned, FOLDS, SEED);
        let stage = TextScorer::shipped().map_err(|error| error.to_string())?;
        let mut judged: BTreeMap<(bool, String), Vec<GuardedText>> = BTreeMap::new();
        for fold in 0..FOLDS {
            let (held, rest): (Vec<_>, Vec<_>) = all.iter().zip(&dealt).partition(|(_, other)| **other == fold);
            let rest: Vec<&LabelledText> = rest.into_iter().map(|(row, _)| *row).collect();
            let guard = guard_with(&train::train_scorer(&rest)?, Some(stage.clone()))?;
            for (row, _) in held {
                let name = match row.source.as_str() {
                    OWN => "lines written for Proem",
                    DOCUMENTS => "documents written for Proem",
                    other => other,
                };
                judged.entry((!row.is_attack(), name.to_owned())).or_default().push(self.judge(&guard, &row.text));
            }
        }
        for ((is_benign, name), judged) in &judged {
            let what = if *is_benign { "benign" } else { "attacks" };
            let kept_out = share_of_texts(judged.iter().filter(|judged| judged.is_kept_out).count(), judged.len());
            push_report_text(
                report,
                &format!("| {what}, {name} | {} | {} | {kept_out} |", judged.len(), flagged_share(judged)),
            );
        }
        Ok(())
    }
}

/// The score that at most one benign text in a hundred is above.
fn point(benign: &[GuardedText]) -> f64 {
    let mut scores: Vec<f64> = benign.iter().map(|judged| judged.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a count")]
    let allowed = (scores.len() as f64 * RATE) as usize;
    scores.get(allowed).copied().unwrap_or(1.0)
}

fn push_report_text(report: &mut String, text: &str) {
    report.push_str(text);
    report.push('\n');
}

fn push_guard_row(report: &mut String, name: &str, judged: &[GuardedText], point: f64) {
    let kept_out = share_of_texts(judged.iter().filter(|judged| judged.is_kept_out).count(), judged.len());
    push_report_text(
        report,
        &format!(
            "| {name} | {} | {} | {} | {kept_out} |",
            judged.len(),
            found_share(judged, point),
            flagged_share(judged)
        ),
    );
}

fn found_share(judged: &[GuardedText], point: f64) -> String {
    share_of_texts(judged.iter().filter(|judged| judged.score > point).count(), judged.len())
}

fn flagged_share(judged: &[GuardedText]) -> String {
    share_of_texts(judged.iter().filter(|judged| judged.is_flagged).count(), judged.len())
}

fn share_of_texts(part: usize, all: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "some thousand texts")]
    let share = 100.0 * part as f64 / all.max(1) as f64;
    format!("{share:.1} %")
}

/// How long it takes, for the reader of the terminal.
fn scan_times(guard: &Guard, dev: &[LabelledText]) -> String {
    let all: String = dev.iter().map(|row| format!("{}\n\n", row.text)).collect();
    let mut times: Vec<f64> = Vec::new();
    let mut at = 0;
    while times.len() < 2_000 {
        let start = all.floor_char_boundary(at % all.len().saturating_sub(4_096).max(1));
        let text = all.get(start..all.floor_char_boundary(start + 4_096)).unwrap_or_default();
        let begun = Stopwatch::start();
        let scanned = scan_lab_text(guard, text);
        times.push(begun.elapsed().as_secs_f64());
        // The result is used, so that nothing is left out.
        at += 977 + usize::from(scanned.score > 2.0);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = (times.len() as f64 * share) as usize;
        times.get(index).copied().unwrap_or(0.0) * 1e6
    };
    let begun = Stopwatch::start();
    let score = scan_lab_text(guard, &all).score;
    #[expect(clippy::cast_precision_loss, reason = "a length")]
    let speed = all.len() as f64 / begun.elapsed().as_secs_f64() / 1e6;
    let mut out = String::new();
    _ = writeln!(
        out,
        "4 KiB of dev, 2,000 times: median {:.0} µs, 99th percentile {:.0} µs; all of dev at once, {} bytes: {speed:.1} MB/s (score {score:.2})",
        at(0.5),
        at(0.99),
        all.len()
    );
    out
}
