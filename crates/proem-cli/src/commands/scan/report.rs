//! A scan for other programs: SARIF 2.1.0 (OASIS, 2020) for code scanning, and Markdown for comments.
//!
//! Neither repeats the text that was found: a reader goes there by file and line.

use proem_app::scan::acceptances::{AcceptedEntry, EntryEnd};
use proem_app::scan::agent_files::AGENT_RULES;
use proem_app::scan::examine::{FileScan, LineScope, PlacedFinding};
use proem_app::scan::groups::{FindingGroup, finding_groups};
use proem_guard::{Verdict, scanners};
use serde_json::{Value as Json, json};

use crate::failure::CommandFailure;
use crate::ui::{code_in_table, group_thousands, relative_uri, sarif_text};
use proem_app::Error;

/// The first line of a table, by which a script finds the comment to replace.
const MARK: &str = "<!-- proem-scan -->";

/// The most rows of a table.
const ROWS: usize = 50;

/// A log with a result for each place, and a notification for each acceptance that has ended.
///
/// # Errors
///
/// If the rules inside the program are damaged.
pub(super) fn sarif_log(files: &[FileScan], ended: &[(&AcceptedEntry, EntryEnd)]) -> Result<Json, CommandFailure> {
    let catalogue = scanners::catalogue().map_err(|error| Error::bug("the rules of the scan", error))?;
    let mut rules: Vec<(&str, &str)> = catalogue.iter().map(|rule| (rule.id, rule.meaning)).collect();
    rules.extend(AGENT_RULES.iter().map(|rule| (rule.id, rule.meaning)));
    rules.push(("unread", "A part of the file was not looked at."));
    let index = |id: &str| rules.iter().position(|(rule, _)| *rule == id);
    let results: Vec<Json> = files.iter().flat_map(|file| scan_results(file, &index)).collect();
    let described: Vec<Json> = rules
        .iter()
        .map(|(id, text)| json!({ "id": id, "name": id.replace('/', "_"), "shortDescription": { "text": text } }))
        .collect();
    let notices: Vec<Json> = ended
        .iter()
        .map(|(entry, end)| {
            let why = if *end == EntryEnd::Expired { "has expired" } else { "matches nothing" };
            let text = format!("the acceptance of {} in {} {why}", entry.rule, entry.path);
            json!({ "level": "warning", "message": { "text": sarif_text(&text) } })
        })
        .collect();
    Ok(json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "proem", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": described } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{ "executionSuccessful": true, "toolExecutionNotifications": notices }],
            "results": results,
        }],
    }))
}

fn scan_results(file: &FileScan, index: &dyn Fn(&str) -> Option<usize>) -> Vec<Json> {
    let groups = finding_groups(file);
    let shown: Vec<&FindingGroup<'_>> = groups.iter().filter(|group| group.worst.verdict > Verdict::Allow).collect();
    let mut results: Vec<Json> = shown
        .iter()
        .map(|group| {
            let found = group.worst;
            let mut text = format!("{} ({})", found.finding.kind.in_words(), found.finding.severity.as_str());
            if found.spot.within == LineScope::Field {
                text.push_str(&format!(" in {}", field_name(group)));
            }
            if let Some(consequence) = &found.account.consequence {
                text.push_str(&format!(". {consequence}"));
            }
            let place = (found.verdict, region(found));
            let mut result = scan_result(file, found.finding.rule, &text, place);
            if let Some(result) = result.as_object_mut() {
                result.insert("ruleIndex".to_owned(), json!(index(found.finding.rule)));
                result.insert("partialFingerprints".to_owned(), json!({ "proemFinding/v1": found.id }));
            }
            result
        })
        .collect();
    if results.is_empty() {
        let text = "a part of this file was not looked at";
        results.push(scan_result(file, "unread", text, (file.verdict, json!({ "startLine": 1 }))));
    }
    results
}

fn scan_result(file: &FileScan, rule: &str, text: &str, (verdict, region): (Verdict, Json)) -> Json {
    let level = if verdict >= Verdict::Quarantine { "error" } else { "warning" };
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": sarif_text(text) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": relative_uri(&file.path), "uriBaseId": "%SRCROOT%" },
            "region": region,
        } }],
        "properties": { "verdict": verdict.as_str() },
    })
}

/// The place in the file. Text that the file has in another form begins at its first line.
fn region(found: &PlacedFinding) -> Json {
    match found.spot.within {
        LineScope::Field => json!({ "startLine": 1 }),
        LineScope::File => json!({ "startLine": found.spot.line, "startColumn": found.spot.column }),
    }
}

fn field_name<'a>(group: &FindingGroup<'a>) -> &'a str {
    if group.field.name.is_empty() { "the text" } else { &group.field.name }
}

/// A table of the places, and the summary below it.
pub(super) fn markdown_table(files: &[FileScan], summary: &str) -> String {
    let title = match files.len() {
        0 => "nothing to look at".to_owned(),
        1 => "1 file to look at".to_owned(),
        count => format!("{} files to look at", group_thousands(count)),
    };
    let mut out = format!("{MARK}\n### Prompt injections: {title}\n\n");
    let mut rows: Vec<String> = Vec::new();
    for file in files {
        let before = rows.len();
        let path = code_in_table(&file.path);
        for group in finding_groups(file).iter().filter(|group| group.worst.verdict > Verdict::Allow) {
            let found = group.worst;
            let (rule, words) = (found.finding.rule, found.finding.kind.in_words());
            let place = match found.spot.within {
                LineScope::File => found.spot.line.to_string(),
                LineScope::Field => code_in_table(field_name(group)),
            };
            let verdict = found.verdict.as_str();
            let so = found.account.consequence.as_ref().map(|text| format!(". {text}")).unwrap_or_default();
            rows.push(format!("| {path} | {place} | {verdict} | {words} (`{rule}`){so} | `{}` |\n", found.id));
        }
        if rows.len() == before {
            rows.push(format!("| {path} | | {} | not all of it was scanned | |\n", file.verdict.as_str()));
        }
    }
    if !rows.is_empty() {
        out.push_str("| file | line | verdict | finding | id |\n|---|---|---|---|---|\n");
        rows.iter().take(ROWS).for_each(|row| out.push_str(row));
        if let more @ 1.. = rows.len().saturating_sub(ROWS) {
            out.push_str(&format!("\nand {} more\n", group_thousands(more)));
        }
        out.push('\n');
    }
    for line in anstream::adapter::strip_str(summary).to_string().lines() {
        out.push_str(&format!("{}  \n", code_in_table(line.trim())));
    }
    out
}
