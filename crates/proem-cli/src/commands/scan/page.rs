//! `proem scan --html`: the texts with their findings marked, as one page: no script, no address, nothing that has to
//! be fetched.
//!
//! Invariant: every text goes through `guard::show::html`, whoever wrote it.

use std::collections::BTreeMap;

use proem_app::scan::examine::{ExaminedField, FileScan, PlacedFinding};
use proem_app::scan::groups::{FindingGroup, finding_groups};
use proem_app::scan::reasons::PlacedReasons;
use proem_app::scan::text_marks::{MarkedLine, marked_lines};
use proem_guard::{ReadingStep, Untrusted, show};
use proem_text::Span;

use crate::ui::group_thousands;
use crate::ui::page::{PAGE_END, begin_page, escape_page_text};

/// The most files on a page.
const FILES: usize = 200;

const STYLE: &str = "\
body { overflow-wrap: anywhere }
pre { font-size: .85rem; line-height: 1.5; border: 1px solid #8885; border-radius: 4px; padding: .5rem 0; margin: .5rem 0;
  white-space: pre-wrap }
pre div { padding-left: 4rem; text-indent: -3.5rem } pre .line { display: inline-block; width: 3rem; text-indent: 0;
  text-align: right; margin-right: .5rem; opacity: .6; user-select: none }
mark { background: #e5a00d55; color: inherit; border-bottom: 2px solid #b06f00 }
mark.high, mark.critical { background: #d1242f33; border-bottom-color: #d1242f }
mark.low { background: #8883; border-bottom-color: #888 }
sup { font-weight: 600 }
.quarantine, .block { color: #d1242f } .flag { color: #b06f00 } .allow { color: #1a7f4b }
ol { padding-left: 1.5rem } li { margin: .5rem 0 }
";

/// The page of the files that have something to look at. `summary` is the listing's.
pub(super) fn scan_page(files: &[FileScan], summary: &str) -> String {
    let mut out = begin_page("Scan", STYLE);
    // The lines of folders say what the table says.
    for line in anstream::adapter::strip_str(summary).to_string().lines().filter(|line| !line.starts_with(' ')) {
        out.push_str(&format!("<p>{}</p>\n", escape_page_text(line)));
    }
    if files.len() > 1 {
        push_folder_table(files, &mut out);
    }
    for (number, file) in files.iter().enumerate().take(FILES) {
        push_file(number, file, &mut out);
    }
    if let more @ 1.. = files.len().saturating_sub(FILES) {
        out.push_str(&format!("<p>and {} more files</p>\n", group_thousands(more)));
    }
    out.push_str(PAGE_END);
    out
}

/// The files by folder, with the worst verdict and the number of findings.
fn push_folder_table(files: &[FileScan], out: &mut String) {
    let mut folders: BTreeMap<&str, Vec<(usize, &FileScan)>> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        let folder = file.path.rsplit_once('/').map_or(".", |(folder, _)| folder);
        folders.entry(folder).or_default().push((number, file));
    }
    out.push_str("<div class=\"scroll\"><table>\n<tr><th>folder</th><th>file</th><th>verdict</th><th class=\"n\">findings</th></tr>\n");
    for (folder, files) in folders {
        for (place, (number, file)) in files.iter().enumerate() {
            let folder = if place == 0 { escape_page_text(folder) } else { String::new() };
            let name = escape_page_text(file.path.rsplit('/').next().unwrap_or_default());
            let name = if *number < FILES { format!("<a href=\"#f{number}\">{name}</a>") } else { name };
            let (verdict, count) = (file.verdict.as_str(), shown_groups(file).len());
            out.push_str(&format!(
                "<tr><td>{folder}</td><td>{name}</td><td class=\"{verdict}\">{verdict}</td><td class=\"n\">{count}</td></tr>\n"
            ));
        }
    }
    out.push_str("</table></div>\n");
}

fn shown_groups(file: &FileScan) -> Vec<FindingGroup<'_>> {
    let mut groups = finding_groups(file);
    groups.retain(FindingGroup::is_worth_showing);
    groups
}

fn push_file(number: usize, file: &FileScan, out: &mut String) {
    let verdict = file.verdict.as_str();
    out.push_str(&format!(
        "<h2 id=\"f{number}\">{} <span class=\"{verdict}\">{verdict}</span> <span class=\"dim\">score {:.2}</span></h2>\n",
        escape_page_text(&file.path),
        file.score
    ));
    let groups = shown_groups(file);
    for (field_number, field) in file.fields.iter().enumerate() {
        let groups: Vec<&FindingGroup<'_>> = groups.iter().filter(|group| group.number == field_number).collect();
        if groups.is_empty() && field.unread.is_empty() {
            continue;
        }
        push_field(number, field, &groups, out);
    }
    for gap in &file.gaps {
        out.push_str(&format!("<p class=\"flag\">not scanned: {}</p>\n", escape_page_text(&gap.about)));
    }
}

fn push_field(file: usize, field: &ExaminedField, groups: &[&FindingGroup<'_>], out: &mut String) {
    if !field.name.is_empty() {
        out.push_str(&format!("<p><code>{}</code></p>\n", escape_page_text(&field.name)));
    }
    let marks: Vec<Span> = groups.iter().map(|group| group.worst.spot.span).collect();
    let lines = marked_lines(field, &marks);
    if !lines.is_empty() {
        out.push_str("<pre>");
        let mut before = None;
        for line in &lines {
            if before.is_some_and(|before: usize| before.saturating_add(1) < line.number) {
                out.push_str("<div class=\"dim\"><span class=\"line\"></span>…</div>");
            }
            before = Some(line.number);
            push_line(line, groups, out);
        }
        out.push_str("</pre>\n");
    }
    out.push_str("<ol>\n");
    for (number, group) in groups.iter().enumerate() {
        push_finding(&format!("f{file}-{}-{number}", group.number), group, out);
    }
    out.push_str("</ol>\n");
    for (_, reason) in &field.unread {
        out.push_str(&format!("<p class=\"flag\">not scanned: {}</p>\n", escape_page_text(&reason.to_string())));
    }
}

fn push_line(line: &MarkedLine, groups: &[&FindingGroup<'_>], out: &mut String) {
    out.push_str(&format!("<div><span class=\"line\">{}</span>", line.number));
    for piece in &line.pieces {
        let [head, tail] = piece.ends.each_ref().map(|end| show::html(end).into_string());
        let text = format!("{head}{}{tail}", if piece.is_cut { "<span class=\"dim\">…</span>" } else { "" });
        match piece.mark.and_then(|mark| Some((mark, groups.get(mark)?))) {
            Some((mark, group)) => {
                let finding = &group.worst.finding;
                let (severity, words) = (finding.severity.as_str(), finding.kind.in_words());
                let number = mark.saturating_add(1);
                let title = escape_page_text(words);
                out.push_str(&format!("<mark class=\"{severity}\" title=\"{title}\">{text}<sup>{number}</sup></mark>"));
            }
            None => out.push_str(&text),
        }
    }
    out.push_str("</div>");
}

fn push_finding(id: &str, group: &FindingGroup<'_>, out: &mut String) {
    let found: &PlacedFinding = group.worst;
    let finding = &found.finding;
    let mut how = vec![finding.severity.as_str().to_owned()];
    if finding.hidden {
        how.push("hidden".to_owned());
    }
    how.extend(finding.steps.iter().copied().map(ReadingStep::as_str).map(|step| format!("read as {step}")));
    out.push_str(&format!(
        "<li id=\"{id}\"><b>{}</b> <code>{}</code> ({}) <span class=\"dim\">line {}, {}</span>",
        escape_page_text(finding.kind.in_words()),
        finding.rule,
        how.join(", "),
        found.spot.line,
        found.id
    ));
    if let Some(consequence) = &found.account.consequence {
        out.push_str(&format!("<br>{}", escape_page_text(consequence)));
    }
    if !group.also.is_empty() {
        out.push_str(&format!("<br><span class=\"dim\">also {}</span>", group.also.join(", ")));
    }
    if let Some(reasons) = &found.account.reasons {
        push_reasons(reasons, out);
    }
    out.push_str("</li>\n");
}

fn push_reasons(reasons: &PlacedReasons, out: &mut String) {
    let word = |text: &Untrusted<String>| format!("<code>{}</code>", show::html(text));
    let concepts: Vec<String> =
        reasons.concepts.iter().map(|(text, concepts)| format!("{} ({})", word(text), concepts.join(", "))).collect();
    if !concepts.is_empty() {
        out.push_str(&format!("<br><span class=\"dim\">words:</span> {}", concepts.join("; ")));
    }
    for window in &reasons.windows {
        let words: Vec<String> =
            window.words.iter().map(|(text, weight)| format!("{} {weight:+.2}", word(text))).collect();
        out.push_str(&format!(
            "<br><span class=\"dim\">scorer:</span> {:+.2} for “{}”",
            window.log_odds,
            show::html(&window.text)
        ));
        if !words.is_empty() {
            out.push_str(&format!(", by {}", words.join(", ")));
        }
    }
}
