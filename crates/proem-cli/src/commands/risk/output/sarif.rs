//! Reports as SARIF 2.1.0 (OASIS, 2020), for code scanning.
//!
//! A file of level MEDIUM or HIGH is one result. A change that is riskier than each of its files is one at its riskiest
//! file, and so is a change that is UNKNOWN, as an open question. A result's rule is what speaks loudest there.

use std::collections::BTreeMap;

use proem_agents::risk::report::{FileOut, RiskReport};
use proem_risk::level::Level;
use proem_risk::metric::Signal;
use serde_json::{Value as Json, json};

use super::lines;
use crate::ui::{relative_uri, sarif_text};
use proem_app::trust::sha256_hex;

/// The rules, with what each says.
const RULES: [(&str, &str); 8] = [
    ("risk/score", "The change scores above most past commits of the repository"),
    ("risk/coupling", "Many files import a changed file"),
    ("risk/co_change", "A changed file usually changes together with another one"),
    ("risk/test_ratio", "A changed file has few lines of tests"),
    ("risk/ownership_churn", "The main author of a changed file changed recently"),
    ("risk/incident_similarity", "The change resembles earlier ones that caused incidents"),
    ("risk/sensitive", "A changed file is sensitive, or nothing could be measured for it"),
    ("risk/unknown", "Nothing about the change could be measured"),
];

/// A log with all results.
pub(super) fn log(reports: &[RiskReport]) -> Json {
    let rules: Vec<Json> = RULES
        .iter()
        .map(|(id, text)| json!({ "id": id, "name": id.replace('/', "_"), "shortDescription": { "text": text } }))
        .collect();
    let results: Vec<Json> = reports.iter().flat_map(sarif_results).collect();
    let changes: Vec<Json> = reports
        .iter()
        .map(|report| {
            json!({
                "change": report.change.id,
                "kind": report.change.kind,
                "riskLevel": report.risk_level,
                "confidence": report.confidence,
                "mode": report.mode,
                "scorePercentile": report.score.rank.map(|rank| rank.percentile),
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "proem", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": { "changes": changes },
        }],
    })
}

fn sarif_results(report: &RiskReport) -> Vec<Json> {
    let risky = || report.files.iter().filter(|file| file.risk_level >= Level::Medium);
    let worst = risky().map(|file| file.risk_level).max().unwrap_or(Level::Low);
    let own = report.files.first().filter(|_| report.risk_level > worst);
    let of_change = own.map(|file| match report.risk_level {
        Level::Unknown => {
            let sentences: Vec<String> = report.reasons.iter().map(lines::quoted_sentence).collect();
            sarif_result(report, file, "risk/unknown", Level::Unknown, &sentences)
        }
        level => {
            let sentences: Vec<String> = report.key_evidence.iter().map(lines::quoted_sentence).collect();
            sarif_result(report, file, "risk/score", level, &sentences)
        }
    });
    let of_files = risky().map(|file| {
        let sentences: Vec<String> =
            file.key_evidence.iter().chain(&file.reasons).map(lines::quoted_sentence).collect();
        sarif_result(report, file, rule(file), file.risk_level, &sentences)
    });
    of_change.into_iter().chain(of_files).collect()
}

/// The strongest finding of a file: its first HIGH signal. Without one, the file's own level, or that nothing is known.
fn rule(file: &FileOut) -> &'static str {
    let high = file.metrics.iter().filter(|metric| metric.signal == Signal::High);
    high.filter_map(|metric| sarif_rule(metric.name.as_str())).next().unwrap_or("risk/sensitive")
}

fn sarif_rule(metric: &str) -> Option<&'static str> {
    RULES.iter().map(|(id, _)| *id).find(|id| id.strip_prefix("risk/") == Some(metric))
}

fn sarif_result(report: &RiskReport, file: &FileOut, rule: &str, level: Level, sentences: &[String]) -> Json {
    // An undecided result is open, and then has no level (SARIF 2.1.0, 3.27.9 and 3.27.10).
    let (kind, level) = match level {
        Level::Unknown => ("open", "none"),
        Level::Low => ("fail", "note"),
        Level::Medium => ("fail", "warning"),
        Level::High => ("fail", "error"),
    };
    let text = format!("{}: {}", file.path, sentences.join("; "));
    let mut fingerprints = BTreeMap::new();
    fingerprints.insert("proemRisk/v1", sha256_hex(format!("{rule}\0{}", file.path).as_bytes()));
    json!({
        "ruleId": rule,
        "ruleIndex": RULES.iter().position(|(id, _)| *id == rule),
        "kind": kind,
        "level": level,
        "message": { "text": sarif_text(&text) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": relative_uri(&file.path), "uriBaseId": "%SRCROOT%" },
                "region": { "startLine": 1 },
            },
        }],
        "partialFingerprints": fingerprints,
        "properties": {
            "change": report.change.id,
            "confidence": file.confidence,
            "mode": file.mode,
            "metrics": file.metrics.iter().map(|metric| (metric.name.as_str().to_owned(), json!({
                "value": metric.value, "unit": metric.unit, "signal": metric.signal,
            }))).collect::<BTreeMap<String, Json>>(),
        },
    })
}
