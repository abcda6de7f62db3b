//! Reports as a comment on a pull request.
//!
//! Everything from outside is in a code span: there, no platform makes a link, a mention, a reference to an issue or
//! HTML of it.

use proem_agents::risk::report::{AssessmentMode, FileOut, ReportPhrase, ReportSentence, RiskReport};

use super::lines::{false_alarms, fraction_parts, metric_value, metric_words};
use super::terminal;
use crate::ui::{code_in_table, code_span};
use proem_app::words::two_decimals;

/// The first line, by which a script finds the comment to replace.
pub(super) const MARK: &str = "<!-- proem-risk -->";
/// The most files in the details.
const FILES: usize = 30;
/// The most findings.
const FINDINGS: usize = 5;
/// The most bytes. GitHub takes 65,536 characters.
const MOST: usize = 60_000;

/// A comment with all reports, the first in full, as far as there is room.
pub(super) fn risk_comment(reports: &[RiskReport]) -> String {
    let mut out = format!("{MARK}\n");
    for (index, report) in reports.iter().enumerate() {
        let short = risk_comment_head(report);
        let full = format!("{short}{}", risk_comment_details(report));
        let room = MOST.saturating_sub(out.len());
        let page = if full.len() <= room { full } else { short };
        if page.len() > room {
            out.push_str(&format!("\nand {} more changes\n", reports.len().saturating_sub(index)));
            break;
        }
        out.push_str(&page);
    }
    out
}

/// Words of ours, in which nothing is markup.
fn escape_markup(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '*' | '_' | '`' | '[' | ']' | '\\' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        out
    })
}

fn markdown_sentence(words: &ReportSentence) -> String {
    let part = |part: &ReportPhrase| match part {
        ReportPhrase::Ours(text) => escape_markup(text),
        ReportPhrase::Path(text)
        | ReportPhrase::Person(text)
        | ReportPhrase::Message(text)
        | ReportPhrase::Foreign(text) => code_span(text),
    };
    words.parts().iter().map(part).collect()
}

fn push_folded_list(out: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!("\n**{title}**\n\n"));
    for item in items {
        out.push_str(&format!("- {item}\n"));
    }
}

/// The part that everybody should read.
fn risk_comment_head(report: &RiskReport) -> String {
    let change = &report.change;
    let mut out =
        format!("\n### Change risk: {}\n\n{}", report.risk_level.as_str(), markdown_sentence(&change.assessed));
    if !change.subject.is_empty() {
        out.push_str(&format!(", {}", code_span(&change.subject)));
    }
    out.push_str(&format!("; {}\n", escape_markup(&terminal::sure(report))));
    push_folded_list(&mut out, "Findings", &finding_items(report));
    if let Some(rank) = report.rank.as_ref().filter(|_| terminal::ranks(report)) {
        out.push_str(&format!("\nRank: {}\n", escape_markup(rank)));
    }
    push_folded_list(&mut out, "Why", &report.reasons.iter().map(markdown_sentence).collect::<Vec<_>>());
    if report.mode == AssessmentMode::Investigated || report.rank.is_none() {
        push_folded_list(&mut out, "Evidence", &report.key_evidence.iter().map(markdown_sentence).collect::<Vec<_>>());
    }
    push_folded_list(&mut out, "To do", &report.recommendations.iter().map(markdown_sentence).collect::<Vec<_>>());
    out
}

/// The most telling findings, as many as fit a screen.
fn finding_items(report: &RiskReport) -> Vec<String> {
    let mut items: Vec<String> =
        report.findings.iter().take(FINDINGS).map(|finding| markdown_sentence(&finding.evidence)).collect();
    let more = report.findings.len().saturating_sub(items.len());
    if more > 0 {
        items.push(format!("and {more} more"));
    }
    items
}

/// The part that folds away.
fn risk_comment_details(report: &RiskReport) -> String {
    let mut out = "\n<details><summary>Details</summary>\n\n".to_owned();
    out.push_str("| file | level | metric | value | counts | signal | false alarms |\n|---|---|---|---|---|---|---|\n");
    for file in report.files.iter().take(FILES) {
        tier_metric_rows(file, &mut out);
    }
    let more = report.files.len().saturating_sub(FILES);
    if more > 0 {
        out.push_str(&format!("\nand {more} less risky files\n"));
    }
    if let Some(rank) = report.score.rank {
        let top: Vec<String> = report
            .score
            .contributions
            .iter()
            .take(5)
            .map(|one| format!("{} {:+.2}", escape_markup(&one.meaning), one.log_odds))
            .collect();
        out.push_str(&format!(
            "\nScore: above {} % of {} past commits; {}\n",
            two_decimals(rank.percentile.floor()),
            rank.among,
            top.join(", ")
        ));
    }
    let unknown = report.unknown.iter().map(|unknown| {
        let of = unknown.path.as_deref().map(|path| format!(" of {}", code_span(path))).unwrap_or_default();
        format!("{}{of}: {}", escape_markup(&metric_words(unknown.metric.as_str())), markdown_sentence(&unknown.why))
    });
    let unknown: Vec<String> = unknown.chain(report.gaps.iter().map(|gap| code_span(gap))).take(FILES).collect();
    push_folded_list(&mut out, "Unknown", &unknown);
    out.push_str("\n</details>\n");
    out
}

/// The Tier metrics of a file.
fn tier_metric_rows(file: &FileOut, out: &mut String) {
    for metric in file.metrics.iter().filter(|metric| metric.tier.is_some()) {
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            code_in_table(&file.path),
            file.risk_level.as_str(),
            escape_markup(&metric_words(metric.name.as_str())),
            escape_markup(&metric_value(metric)),
            fraction_parts(metric.of),
            metric.signal.as_str(),
            false_alarms(metric.false_positives)
        ));
    }
}
