//! A report on one screen: at most 24 lines.

use anstyle::Style;
use jiff::tz::TimeZone;
use proem_agents::risk::investigation::HopChooser;
use proem_agents::risk::report::{AssessmentMode, FindingOut, ReportSentence, RiskReport};
use proem_engine::run::Time;
use proem_risk::level::Level;

use super::lines::{
    LineStart, append_foreign, end_of, metric_words, screen_safe, screen_sentence, short_screen_sentence, wrap_sentence,
};
use crate::ui::{BOLD, DIM, GREEN, RED, YELLOW, count_with_noun, cut_to_width, style_text};
use proem_app::when;
use proem_app::words::two_decimals;

/// Cells of the words in front of a line.
const LABEL: usize = 10;
/// The most characters of a mail address.
const AUTHOR: usize = 32;
/// The most reasons.
const REASONS: usize = 3;
/// The most findings.
const FINDINGS: usize = 5;
/// The most pieces of evidence and of advice.
const MOST: usize = 3;

pub(super) const fn level_colour(level: Level) -> Style {
    match level {
        Level::Low => GREEN,
        Level::Unknown | Level::Medium => YELLOW,
        Level::High => RED,
    }
}

/// Writes lines with a label in front of the first.
#[derive(Debug)]
struct LabelledPage {
    out: String,
    width: usize,
}

impl LabelledPage {
    /// A text under a label, on at most `most` lines. The label is in front of the first only.
    fn text(&mut self, label: &str, text: &str, most: usize) {
        let begins = if label.is_empty() { LineStart::Bare } else { LineStart::Labelled };
        let lines = wrap_sentence(text, self.width.saturating_sub(LABEL), most, begins);
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            self.out.push_str(&format!("{}{line}\n", style_text(DIM, &format!("{label:LABEL$}"))));
        }
    }

    /// Texts under one label, each on at most `most` lines.
    fn texts(&mut self, label: &str, texts: impl IntoIterator<Item = String>, most: usize) {
        for (index, text) in texts.into_iter().enumerate() {
            self.text(if index == 0 { label } else { "" }, &text, most);
        }
    }
}

/// A report on one screen.
pub(super) fn risk_screen(report: &RiskReport, width: usize) -> String {
    let mut page = LabelledPage { out: risk_screen_head(report, width), width };
    page.texts("findings", finding_lines(report), 3);
    if let Some(rank) = report.rank.as_ref().filter(|_| ranks(report)) {
        page.text("rank", rank, 2);
    }
    page.texts("why", other_reasons(report).take(REASONS).map(short_screen_sentence), 1);
    if report.mode == AssessmentMode::Investigated || report.rank.is_none() {
        page.texts("evidence", report.key_evidence.iter().take(MOST).map(short_screen_sentence), 2);
    }
    page.texts("to do", report.recommendations.iter().take(MOST).map(short_screen_sentence), 2);
    page.text("sure", &sure(report), 2);
    let unknown = unknown_line(report, width.saturating_sub(LABEL));
    if !unknown.is_empty() {
        page.text("unknown", &unknown, 1);
    }
    if let Some(id) = &report.id {
        let id: String = id.chars().take(8).collect();
        let say = format!("proem risk feedback {id} --caught, or --false-positive \"REASON\"");
        page.text("right?", &say, 1);
    }
    page.out
}

/// The level, what was assessed, and whose it is.
fn risk_screen_head(report: &RiskReport, width: usize) -> String {
    let change = &report.change;
    let level = report.risk_level.as_str();
    let mut assessed = screen_sentence(&change.assessed);
    let is_said = |chosen: &str| assessed.strip_prefix("the ").unwrap_or(&assessed).starts_with(chosen);
    let says_more = |chosen: &&str| !is_said(chosen.strip_prefix("the ").unwrap_or(chosen));
    if let Some(chosen) = change.chosen.as_deref().filter(says_more) {
        assessed = format!("{assessed} ({})", screen_safe(chosen));
    }
    let level = format!(
        "{}{}",
        style_text(level_colour(report.risk_level), level),
        " ".repeat(LABEL.saturating_sub(level.len()))
    );
    let assessed = wrap_sentence(&assessed, width.saturating_sub(LABEL), 1, LineStart::Labelled).join("");
    let mut out = format!("{level}{}\n", style_text(BOLD, &assessed));
    let mut page = LabelledPage { out: String::new(), width };
    page.text("", &change_facts(report), 1);
    out.push_str(&page.out);
    out
}

/// Size, date and author, and the message last, since it may be long.
pub(super) fn change_facts(report: &RiskReport) -> String {
    let change = &report.change;
    let files = count_with_noun(u64::try_from(change.file_count).unwrap_or(u64::MAX), "file");
    let lines = match (change.lines_added, change.lines_removed) {
        (Some(added), Some(removed)) => format!("+{added} −{removed}"),
        _ => "lines unknown".to_owned(),
    };
    let uncounted = match change.uncounted_files {
        0 => String::new(),
        uncounted => format!(", {uncounted} not counted"),
    };
    let mut parts = vec![format!("{files}, {lines}{uncounted}")];
    if change.id.is_some() {
        parts.push(utc_date(change.at));
    }
    parts.extend(change.author.as_deref().map(|author| cut_to_width(author, AUTHOR)));
    if !change.subject.is_empty() {
        parts.push(format!("\"{}\"", screen_safe(&change.subject)));
    }
    parts.join(" · ")
}

/// A day in UTC.
pub(super) fn utc_date(at: i64) -> String {
    when::iso_date(Time(at.saturating_mul(1_000)), &TimeZone::UTC)
}

/// The most telling findings.
fn finding_lines(report: &RiskReport) -> Vec<String> {
    let sentence = |finding: &FindingOut| short_screen_sentence(&finding.evidence);
    let mut lines: Vec<String> = report.findings.iter().take(FINDINGS).map(sentence).collect();
    let more = report.findings.len().saturating_sub(lines.len());
    if let Some(last) = lines.last_mut().filter(|_| more > 0) {
        last.push_str(&format!(" (and {more} more findings: --explain)"));
    }
    lines
}

/// Whether the rank says something of the level: not where nothing runs differently.
pub(super) fn ranks(report: &RiskReport) -> bool {
    let is_score = |reason: &ReportSentence| reason.exact().starts_with("its score is");
    report.risk_level > Level::Low || report.reasons.is_empty() || report.reasons.iter().any(is_score)
}

/// The reasons beside the rank, which has a line of its own.
fn other_reasons(report: &RiskReport) -> impl Iterator<Item = &ReportSentence> {
    let has_rank = report.rank.is_some();
    report.reasons.iter().filter(move |reason| !has_rank || !reason.exact().starts_with("its score is"))
}

pub(super) fn partner_words(partner: &proem_agents::risk::report::PartnerOut) -> String {
    let imported = match partner.imported {
        Some(true) => ", with an import between them",
        Some(false) => ", with no import between them",
        None => "",
    };
    let together = format!("{} of {}", partner.together.numerator, partner.together.denominator);
    let mut text = String::new();
    append_foreign(&mut text, &end_of(&partner.path));
    text.push_str(&format!(" changed in {together} commits of "));
    append_foreign(&mut text, &end_of(&partner.of));
    text + imported
}

/// How sure it is and how it came about.
pub(super) fn sure(report: &RiskReport) -> String {
    let confidence = report
        .confidence
        .map_or_else(|| "confidence unknown".to_owned(), |c| format!("confidence {}", two_decimals(c)));
    let model = report.model_confidence.map(|c| format!(", the model says {}", two_decimals(c))).unwrap_or_default();
    let mode = match report.mode {
        AssessmentMode::Investigated => {
            let hops = u64::try_from(report.investigation_trace.len()).unwrap_or(u64::MAX);
            let early = report.investigation_trace.iter().find(|hop| hop.hop.by == HopChooser::Fallback);
            let early = early.map(|hop| format!("; hop {} ended early: {}", hop.hop.hop, screen_safe(&hop.hop.result)));
            format!("INVESTIGATED by a model, {}{}", count_with_noun(hops, "hop"), early.unwrap_or_default())
        }
        AssessmentMode::Rules => "by the rules".to_owned(),
        AssessmentMode::Degraded => "by the rules; the model gave no usable summary".to_owned(),
    };
    format!("{confidence}{model}; {mode}")
}

/// The unknown facts, in one line.
fn unknown_line(report: &RiskReport, width: usize) -> String {
    const SEE: &str = " (see --explain)";
    let mut names: Vec<String> = Vec::new();
    // Of documentation alone nothing is measured, so nothing is missing.
    let is_documentation = !report.files.is_empty() && report.files.iter().all(|file| file.role == "documentation");
    for unknown in report.unknown.iter().filter(|_| !is_documentation) {
        let name = metric_words(unknown.metric.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let gaps = match report.gaps.as_slice() {
        [] => None,
        [gap] if names.is_empty() => Some(screen_safe(gap)),
        gaps => Some(count_with_noun(u64::try_from(gaps.len()).unwrap_or(u64::MAX), "gap")),
    };
    let all: Vec<String> = Some(names.join(", ")).filter(|names| !names.is_empty()).into_iter().chain(gaps).collect();
    if all.is_empty() {
        return String::new();
    }
    let line = wrap_sentence(&all.join("; "), width.saturating_sub(SEE.len()), 1, LineStart::Labelled);
    format!("{}{SEE}", line.join(""))
}
