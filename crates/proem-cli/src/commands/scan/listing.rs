//! A scanned file, for people.

use std::io::IsTerminal as _;

use anstyle::Style;
use proem_guard::{ReadingStep, Untrusted, Verdict, show};
use proem_runtime::readers::{DocumentGap, GapReason};

use crate::ui::{BLUE, BOLD, DIM, GREEN, LEAD, RED, YELLOW, group_thousands, style_text};
use proem_app::scan::examine::{ExaminedField, FileScan, LineScope, PlacedFinding, Spot};
use proem_app::scan::groups::{FindingGroup, finding_groups, finding_rank};
use proem_app::scan::reasons::PlacedReasons;

/// The most findings, and the most gaps, that are shown of one file.
const MAX_FINDINGS: usize = 20;
const MAX_GAPS: usize = 10;

/// How much is shown of a word and of a window, in characters.
const MAX_WORD: usize = 40;
const MAX_WINDOW: usize = 120;

/// How the place of a finding is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkStyle {
    /// Coloured and underlined.
    Colour,
    /// With carets on the line below.
    Carets,
}

impl MarkStyle {
    /// The abilities of standard output.
    pub(super) fn of_stdout() -> Self {
        match anstream::AutoStream::choice(&std::io::stdout()) {
            anstream::ColorChoice::Never => Self::Carets,
            _ => Self::Colour,
        }
    }
}

/// A file with what was found in it. One line if nothing speaks against it.
pub(super) fn file_listing(file: &FileScan, marking: MarkStyle) -> String {
    let name = show::terminal_str(&file.path);
    let mut out = format!(
        "{LEAD}{}: {} (score {:.2})\n",
        style_text(BOLD, name.as_str()),
        style_text(verdict_style(file.verdict), file.verdict.as_str()),
        file.score
    );
    if file.verdict == Verdict::Allow {
        return out;
    }
    let mut groups = finding_groups(file);
    let all = groups.len();
    // A finding that only counts towards the score is nothing to look at.
    groups.retain(FindingGroup::is_worth_showing);
    groups.sort_by_key(|group| std::cmp::Reverse(finding_rank(group.worst)));
    groups.truncate(MAX_FINDINGS);
    groups.sort_by_key(|group| (group.number, group.worst.spot.span));
    groups.iter().for_each(|group| out.push_str(&finding_group_text(group, marking)));
    let more = all.saturating_sub(groups.len());
    if more > 0 {
        out.push_str(&format!(
            "  {}\n",
            style_text(DIM, &format!("and {} more (--json shows all)", group_thousands(more)))
        ));
    }
    for field in file.fields.iter().filter(|field| field.findings.is_empty() && field.unread.is_empty()) {
        if field.verdict > Verdict::Allow {
            out.push_str(&format!(
                "  {}: suspicious as a whole (score {:.2})\n",
                field_text_name_or_whole(field),
                field.score
            ));
        }
    }
    out.push_str(&not_looked_at(file));
    out
}

fn finding_group_text(group: &FindingGroup<'_>, marking: MarkStyle) -> String {
    let FindingGroup { field, worst: found, .. } = group;
    let finding = &found.finding;
    let mut how = vec![finding.severity.as_str().to_owned()];
    if finding.hidden {
        how.push("hidden".to_owned());
    }
    if !finding.steps.is_empty() {
        let steps: Vec<&str> = finding.steps.iter().copied().map(ReadingStep::as_str).collect();
        how.push(format!("read as {}", steps.join(", then ")));
    }
    let about = format!("{} ({})", finding.kind.in_words(), how.join(", "));
    let mut out = format!(
        "  {}  {}: {about} {}\n",
        style_text(DIM, &spot_words(field, &found.spot)),
        style_text(BLUE, finding.rule),
        style_text(DIM, &format!("[{}]", found.id))
    );
    out.push_str(&marked_excerpt(found, marking));
    if let Some(consequence) = &found.account.consequence {
        out.push_str(&format!("    {} {consequence}\n", style_text(DIM, "so:")));
    }
    if let Some(reasons) = &found.account.reasons {
        out.push_str(&reason_lines(reasons));
    }
    if !group.also.is_empty() {
        out.push_str(&format!("    {} {}\n", style_text(DIM, "also"), group.also.join(", ")));
    }
    out
}

/// The words that a rule saw, and the windows of the learned scorer with theirs.
fn reason_lines(reasons: &PlacedReasons) -> String {
    let mut out = String::new();
    let concepts: Vec<String> = reasons
        .concepts
        .iter()
        .map(|(word, concepts)| format!("{} ({})", show::terminal_capped(word, MAX_WORD), concepts.join(", ")))
        .collect();
    if !concepts.is_empty() {
        out.push_str(&format!("    {} {}\n", style_text(DIM, "words:"), concepts.join("; ")));
    }
    for window in &reasons.windows {
        let text = show::terminal_capped(&window.text, MAX_WINDOW);
        let score = format!("{:+.2}", window.log_odds);
        let score = if window.log_odds > 0.0 { style_text(RED, &score) } else { score };
        let words: Vec<String> = window
            .words
            .iter()
            .map(|(word, weight)| format!("{} {weight:+.2}", show::terminal_capped(word, MAX_WORD)))
            .collect();
        out.push_str(&format!("    {} {score} {text}\n", style_text(DIM, "scorer:")));
        if !words.is_empty() {
            out.push_str(&format!("      {} {}\n", style_text(DIM, "by"), words.join(", ")));
        }
    }
    out
}

/// `line 3, column 14`, and of what.
fn spot_words(field: &ExaminedField, spot: &Spot) -> String {
    let Spot { line, column, within, .. } = *spot;
    match within {
        LineScope::File if field.name.is_empty() => format!("line {line}, column {column}"),
        LineScope::File => format!("line {line}, column {column} ({})", field.name),
        LineScope::Field => format!("{}, line {line}, column {column}", field_text_name_or_whole(field)),
    }
}

fn field_text_name_or_whole(field: &ExaminedField) -> &str {
    if field.name.is_empty() { "the text" } else { &field.name }
}

fn marked_excerpt(found: &PlacedFinding, marking: MarkStyle) -> String {
    let line = found.spot.line.to_string();
    let margin = " ".repeat(line.len());
    let [before, within, after] = found.excerpt.clipped.map(|clipped| if clipped { "…" } else { "" });
    let before = format!("{before}{}", show::terminal_text(&found.excerpt.before));
    let marked = format!("{}{within}", show::terminal_text(&found.excerpt.marked));
    let after = format!("{}{after}", show::terminal_text(&found.excerpt.after));
    match marking {
        MarkStyle::Colour => {
            let style = RED.underline();
            format!("    {} {before}{}{after}\n", style_text(DIM, &format!("{line} |")), style_text(style, &marked))
        }
        MarkStyle::Carets => {
            let indent = " ".repeat(before.chars().count());
            let carets = "^".repeat(marked.chars().count().max(1));
            let code = format!("    {line} | {before}{marked}{after}");
            format!("{}\n    {margin} | {indent}{carets}\n", code.trim_end())
        }
    }
}

pub(super) fn not_looked_at(file: &FileScan) -> String {
    let mut lines: Vec<String> = file.gaps.iter().map(gap_sentence).collect();
    for field in &file.fields {
        for (spot, reason) in &field.unread {
            lines.push(format!("not scanned: {}: {reason}", spot_words(field, spot)));
        }
    }
    let more = lines.len().saturating_sub(MAX_GAPS);
    let mut out: String = lines.iter().take(MAX_GAPS).map(|line| format!("  {}\n", style_text(YELLOW, line))).collect();
    if more > 0 {
        out.push_str(&format!(
            "  {}\n",
            style_text(DIM, &format!("and {} more (--json shows all)", group_thousands(more)))
        ));
    }
    out
}

fn gap_sentence(gap: &DocumentGap) -> String {
    let what = match gap.reason {
        GapReason::TooLong | GapReason::TooMany | GapReason::NotText => "not scanned",
        _ => "not fully decoded",
    };
    let field = if gap.field.is_empty() { String::new() } else { format!("{}: ", gap.field) };
    format!("{what}: {field}{}", gap.about)
}

/// One line about several files.
pub(super) fn verdict_summary(verdicts: &[Verdict], unreadable: usize) -> String {
    let all = verdicts.len().saturating_add(unreadable);
    let mut counts: Vec<String> = Verdict::ALL
        .iter()
        .rev()
        .map(|verdict| (verdict, verdicts.iter().filter(|other| *other == verdict).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| {
            format!("{} {}", group_thousands(count), style_text(verdict_style(*verdict), verdict.as_str()))
        })
        .collect();
    if unreadable > 0 {
        counts.push(format!("{} {}", group_thousands(unreadable), style_text(RED, "could not be read")));
    }
    let files = if all == 1 { "file" } else { "files" };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    format!("{} {files}{counts}\n", group_thousands(all))
}

/// The rest of a text: exactly, unless a terminal has to show it.
pub(super) fn cut_text(text: &Untrusted<String>) -> String {
    let exact = show::exact_json(text);
    let exact = exact.as_str().unwrap_or_default();
    if std::io::stdout().is_terminal() {
        exact.lines().map(|line| format!("{}\n", show::terminal_str(line))).collect()
    } else {
        exact.to_owned()
    }
}

/// The rest of one of several texts, below its name and apart from the text before it.
pub(super) fn named_cut_text(field: &ExaminedField, number: usize, text: &Untrusted<String>) -> String {
    let text = cut_text(text);
    let (before, after) = (if number == 0 { "" } else { "\n" }, if text.ends_with('\n') { "" } else { "\n" });
    format!("{before}[{}]\n{text}{after}", show::terminal_str(field_text_name_or_whole(field)))
}

/// The cuts in a text of a file.
pub(super) fn cut_account(file: &FileScan, field: &ExaminedField) -> String {
    let name = show::terminal_str(&file.path);
    let of_several = file.fields.len() > 1;
    let name = if of_several {
        format!("{name}, {}", show::terminal_str(field_text_name_or_whole(field)))
    } else {
        name.into_string()
    };
    let verdict = if of_several { field.verdict } else { file.verdict };
    let mut out =
        format!("{LEAD}{}: {}", style_text(BOLD, &name), style_text(verdict_style(verdict), verdict.as_str()));
    if let Some(cut) = field.text_without_attacks() {
        let places = match cut.removed.len() {
            1 => "1 place".to_owned(),
            count => format!("{} places", group_thousands(count)),
        };
        let left = format!("{:.0} % is left", cut.content_preserved_ratio * 100.0);
        let verdict = style_text(verdict_style(cut.verdict), cut.verdict.as_str());
        out.push_str(&match (&cut.text, cut.removed.is_empty()) {
            (None, _) => ", which can't be cut out; the whole text is left out".to_owned(),
            (Some(_), true) => ", nothing to cut out".to_owned(),
            (Some(_), false) => format!(", cut out at {places}; {left}, with the verdict {verdict}"),
        });
    }
    out.push('\n');
    out
}

pub(super) const fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Allow => GREEN,
        Verdict::Flag => YELLOW,
        Verdict::Quarantine | Verdict::Block => RED,
    }
}
