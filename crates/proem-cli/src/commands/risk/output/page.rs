//! `proem risk --html`: reports as one page, the riskiest first, for people who would rather look than read.

use proem_agents::risk::report::{FileOut, ReportPhrase, ReportSentence, RiskReport};
use proem_risk::level::Level;

use super::lines::metric_words;
use super::picture::risk_picture;
use super::terminal;
use super::treemap::{file_treemap, level_class};
use crate::ui::drawing::{MARGIN, WIDTH, begin_picture, push_box, push_svg_text};
use crate::ui::page::{PAGE_END, begin_page, escape_page_text};
use crate::ui::{UNKNOWN, count_with_noun};
use proem_app::words::two_decimals;

/// The most files in a table.
const FILES: usize = 40;
/// The height of the line of ranks, and the place of its axis.
const RANKS: (usize, usize) = (84, 34);

const STYLE: &str = "\
section { border-top: 1px solid #8885; margin-top: 2rem; padding-top: .5rem }
svg { width: 100%; height: auto }
.level { border-radius: 4px; padding: .1rem .45rem; font-size: .85rem; font-weight: 600; color: #11181f }
.level.rules { background: #4fb286 } .level.untrusted { background: #f0a04b }
.level.bad { background: #ff7b72 } .level.empty { background: #b8bfc7 }
summary h2 { display: inline } summary { margin-bottom: .5rem }
h3 { font-size: 1rem; margin: 1rem 0 .25rem } ul { margin: .25rem 0; padding-left: 1.3rem }
";

/// The page.
pub(in crate::commands::risk) fn risk_page(reports: &[RiskReport]) -> String {
    let mut sorted: Vec<&RiskReport> = reports.iter().collect();
    sorted.sort_by(|a, b| super::riskiest_first(a, b));
    let title = match reports {
        [report] => format!("Change risk: {}", report.risk_level.as_str()),
        reports => {
            let count = u64::try_from(reports.len()).unwrap_or(u64::MAX);
            format!("Change risk of {}", count_with_noun(count, "change"))
        }
    };
    let mut out = begin_page(&title, STYLE);
    if sorted.is_empty() {
        out.push_str("<p>There is no commit to assess.</p>\n");
    }
    if sorted.len() > 1 {
        out.push_str(&risk_picture(reports));
        push_changes(&sorted, &mut out);
    }
    for (index, report) in sorted.iter().enumerate() {
        let is_folded = sorted.len() > 1 && report.risk_level == Level::Low;
        push_report(report, (index, is_folded), &mut out);
    }
    out.push_str(PAGE_END);
    out
}

/// A table of all changes, each of which leads to its report.
fn push_changes(reports: &[&RiskReport], out: &mut String) {
    out.push_str(
        "<div class=\"scroll\"><table>\n<tr><th>level</th><th>change</th><th>first finding or reason</th></tr>\n",
    );
    for (index, report) in reports.iter().enumerate() {
        let finding = report.findings.first().map(|finding| &finding.evidence);
        let finding = finding.or(report.reasons.first()).map(page_sentence).unwrap_or_default();
        out.push_str(&format!(
            "<tr><td>{}</td><td><a href=\"#change-{index}\">{}</a></td><td>{finding}</td></tr>\n",
            level_mark(report.risk_level),
            change_name(report)
        ));
    }
    out.push_str("</table></div>\n");
}

fn change_name(report: &RiskReport) -> String {
    let change = &report.change;
    let id = change.id.as_deref().map_or(change.kind.as_str(), |id| id.get(..10).unwrap_or(id));
    let subject = if change.subject.is_empty() { &change.kind } else { &change.subject };
    format!("<code>{}</code> {}", escape_page_text(id), escape_page_text(subject))
}

/// One report. One of several that says LOW is folded.
fn push_report(report: &RiskReport, (index, is_folded): (usize, bool), out: &mut String) {
    let open = if is_folded { "" } else { " open" };
    out.push_str(&format!(
        "<section id=\"change-{index}\">\n<details{open}><summary><h2>{} {}</h2></summary>\n<p>{} <span class=\"dim\">{}</span></p>\n",
        level_mark(report.risk_level),
        change_name(report),
        page_sentence(&report.change.assessed),
        escape_page_text(&terminal::change_facts(report))
    ));
    push_list("Findings", report.findings.iter().map(|finding| page_sentence(&finding.evidence)), out);
    push_list("Why", report.reasons.iter().map(page_sentence), out);
    push_list("To do", report.recommendations.iter().map(page_sentence), out);
    push_rank(report, out);
    push_files(&report.files, out);
    let unknown = report.unknown.iter().map(|unknown| {
        let of = unknown.path.as_deref().map(|path| format!(" of <code>{}</code>", escape_page_text(path)));
        let name = escape_page_text(&metric_words(unknown.metric.as_str()));
        format!("{name}{}: {}", of.unwrap_or_default(), page_sentence(&unknown.why))
    });
    let unknown = unknown.chain(report.gaps.iter().map(|gap| escape_page_text(gap)));
    push_list("Unknown", unknown.take(FILES), out);
    out.push_str(&format!(
        "<p class=\"dim\">{}</p>\n</details></section>\n",
        escape_page_text(&terminal::sure(report))
    ));
}

/// A list under a heading. Nothing of no items.
fn push_list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    if !items.is_empty() {
        out.push_str(&format!("<h3>{title}</h3>\n<ul>\n{items}</ul>\n"));
    }
}

/// The change's place among the repository's past: a line from the least to the most risky of them.
fn push_rank(report: &RiskReport, out: &mut String) {
    let Some(words) = &report.rank else { return };
    out.push_str(&format!("<h3>Rank</h3>\n<p>{}</p>\n", escape_page_text(words)));
    let Some(rank) = report.score.rank else { return };
    let title = format!("Riskier than {} % of {} past changes", two_decimals(rank.percentile.floor()), rank.among);
    out.push_str(&begin_picture(&title, RANKS.0));
    push_box(out, "empty", [MARGIN, RANKS.1, WIDTH - 2 * MARGIN, 6], None);
    if let Some(interval) = report.score.interval {
        let (low, high) = (on_axis(interval.low), on_axis(interval.high));
        let words = "the range of the rank in 95 of 100 samples";
        push_box(out, "trusted", [low, RANKS.1, high.saturating_sub(low).max(2), 6], Some(words));
    }
    let mark = [on_axis(rank.percentile).saturating_sub(3), RANKS.1 - 12, 6, 30];
    push_box(out, level_class(report.risk_level), mark, Some(&title));
    push_svg_text(out, "dim", (MARGIN, RANKS.0 - 14), "least risky of the past");
    push_svg_text(out, "dim number", (WIDTH - MARGIN, RANKS.0 - 14), "most risky");
    out.push_str("</svg>\n");
}

/// The place of a percentage on the line of ranks.
fn on_axis(percent: f64) -> usize {
    let room = WIDTH - 2 * MARGIN;
    (1..=room).take_while(|step| *step as f64 * 100.0 <= percent * room as f64).count().saturating_add(MARGIN)
}

fn push_files(files: &[FileOut], out: &mut String) {
    let Some(picture) = file_treemap(files) else { return };
    out.push_str(&format!("<h3>Files</h3>\n{picture}"));
    out.push_str("<div class=\"scroll\"><table>\n<tr><th>level</th><th>file</th><th class=\"n\">lines</th><th>evidence</th></tr>\n");
    for file in files.iter().take(FILES) {
        let lines = file.lines.map_or_else(|| UNKNOWN.to_owned(), |lines| lines.to_string());
        let evidence: Vec<String> = file.key_evidence.iter().map(page_sentence).collect();
        out.push_str(&format!(
            "<tr><td>{}</td><td><code>{}</code> <span class=\"dim\">{}</span></td><td class=\"n\">{lines}</td><td>{}</td></tr>\n",
            level_mark(file.risk_level),
            escape_page_text(&file.path),
            escape_page_text(&file.status),
            evidence.join("<br>")
        ));
    }
    out.push_str("</table></div>\n");
    let more = files.len().saturating_sub(FILES);
    if more > 0 {
        out.push_str(&format!("<p class=\"dim\">{more} less risky files are left out.</p>\n"));
    }
}

fn level_mark(level: Level) -> String {
    format!("<span class=\"level {}\">{}</span>", level_class(level), level.as_str())
}

/// A sentence in which each text from outside is set apart from ours.
fn page_sentence(words: &ReportSentence) -> String {
    let part = |part: &ReportPhrase| match part {
        ReportPhrase::Ours(text) => escape_page_text(text),
        ReportPhrase::Path(text)
        | ReportPhrase::Person(text)
        | ReportPhrase::Message(text)
        | ReportPhrase::Foreign(text) => format!("<code>{}</code>", escape_page_text(text)),
    };
    words.parts().iter().map(part).collect()
}
