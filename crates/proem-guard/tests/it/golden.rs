//! The guard's verdicts on whole documents, as files that a reviewer reads.
//!
//! Each folder of `fixtures/` gives one snapshot: verdict, findings, and what is left after cutting.
#![expect(clippy::unwrap_used, reason = "a test may stop at what it didn't expect")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proem_guard::{Bar, Finding, Guard, Policy, Severity, Untrusted, Verdict, cut_attacks, show};
use proem_text::{Label, Source, Span};

static GUARD: LazyLock<Guard> = LazyLock::new(|| Guard::shipped(&[]).unwrap());

fn field_bar() -> Bar {
    Policy::shipped().unwrap().bar("fixture", "text")
}

fn outside(text: &str) -> Untrusted<String> {
    Untrusted::new(text.to_owned(), Label::from_source(Source::named("fixture")))
}

fn fixtures_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The files of a folder by name.
fn files(folder: &Path) -> Vec<(String, String)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, String)> = paths
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn shown(text: &str, span: Span) -> String {
    let piece = text.get(span.start..span.end).unwrap();
    show::terminal_capped(&outside(piece), 120).to_string()
}

fn describe(finding: &Finding, text: &str) -> String {
    let steps: Vec<_> = finding.steps.iter().map(|step| step.as_str()).collect();
    let via = if steps.is_empty() { String::new() } else { format!(" via {}", steps.join(", ")) };
    let hidden = if finding.hidden { " hidden" } else { "" };
    format!("{} {}{via}{hidden}: {}", finding.severity.as_str(), finding.rule, shown(text, finding.span))
}

fn account(text: &str) -> String {
    let (bar, outside) = (field_bar(), outside(text));
    let scan = GUARD.scan(&outside);
    let mut account = format!("{}\n", bar.judge(&scan).as_str());
    for finding in scan.findings.iter().filter(|finding| finding.severity > Severity::Low) {
        writeln!(account, "  {}", describe(finding, text)).unwrap();
    }
    for unread in &scan.unread {
        writeln!(account, "  unread {:?}: {}", unread.span, unread.reason).unwrap();
    }
    if bar.judge(&scan) >= Verdict::Quarantine {
        let cut = cut_attacks(&GUARD, bar, &outside, &scan);
        let left = cut.text.map_or_else(|| "nothing".to_owned(), |left| show::terminal_capped(&left, 400).to_string());
        writeln!(account, "  cut to {} ({:.2} left): {left}", cut.verdict.as_str(), cut.content_preserved_ratio)
            .unwrap();
    }
    account
}

#[test]
fn every_family_is_found() {
    let mut missed = Vec::new();
    for folder in std::fs::read_dir(fixtures_folder()).unwrap().map(|entry| entry.unwrap().path()) {
        let family = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut all = String::new();
        let mut count = 0;
        for (name, text) in files(&folder) {
            let account = account(&text);
            let verdict = Verdict::parse(account.lines().next().unwrap()).unwrap();
            // The learned score may flag a benign text. Nothing may keep one out.
            let is_benign = family == "benign" || name.contains("benign");
            let is_right = if is_benign { verdict < Verdict::Quarantine } else { verdict > Verdict::Allow };
            if !is_right {
                missed.push(format!("{family}/{name}: {}", verdict.as_str()));
            }
            writeln!(all, "{name}: {account}").unwrap();
            count += 1;
        }
        assert!(count >= if family == "seed" { 7 } else { 12 }, "{family}: {count} fixtures");
        insta::assert_snapshot!(family, all);
    }
    assert_eq!(missed, Vec::<String>::new());
}
