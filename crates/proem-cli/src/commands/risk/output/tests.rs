//! All forms of reports that are made by hand, looked at with a reader's eyes.

use std::collections::BTreeMap;

use jsonschema::Validator;
use proem_agents::risk::feedback::Meter;
use proem_agents::risk::investigation::{Hop, HopAction, HopChooser, InvestigationEnd, Synthesis};
use proem_agents::risk::report::{HistoryRead, InvestigationUsage, PromptUsed, Rate, ReportContext, RiskReport};
use proem_risk::assess::{Assessment, ChangeScore, FileAssessment, Investigate, Partner};
use proem_risk::change::{Change, ChangeKind, ChangedFile, FileKind, FileStatus, LineCounts};
use proem_risk::finding::{Advice, Finding, Found};
use proem_risk::history::ObjectId;
use proem_risk::identity::Person;
use proem_risk::level::{Level, LevelReason, LevelRules};
use proem_risk::metric::{
    ConfidenceInterval, Exclusion, Fraction, Metric, MetricName, PercentileRank, Sentence, SentencePart, Signal,
};
use proem_risk::path::{FileRole, Language, PathClass, RepoPath, Sensitive};
use proem_risk::score::{Contribution, Feature, RiskScore};
use proem_risk::signal::{Base, RowSource, SignalName, SignalRow, Worth};
use schemars::schema_for;
use serde_json::Value as Json;

use super::{ReportCount, WIDTH, batch, explain, markdown, risk_json, sarif, terminal};

/// A file name that tries to break a report.
const HOSTILE: &str =
    "src/\u{1b}[31mred\u{1b}[0m\n### LOW `x` | <script>alert(1)</script> @team #1 \u{202e}sr.`` [a](http://b) 木";

fn changed(path: &str, lines: Option<LineCounts>) -> ChangedFile {
    let class = PathClass { language: None, role: FileRole::Code, sensitive: None, framework: None };
    let status = FileStatus::Modified;
    let (lines_before, lines_after) = (Some(100), Some(110));
    ChangedFile {
        path: RepoPath::new(path),
        before: None,
        status,
        kind: FileKind::Regular,
        class,
        lines,
        lines_before,
        lines_after,
    }
}

fn change(paths: &[&str], subject: &str) -> Change {
    Change {
        kind: ChangeKind::Commit,
        id: ObjectId::parse(&[b'1'; 40]),
        base: ObjectId::parse(&[b'2'; 40]),
        commits: 1,
        is_merge: false,
        at: 1_763_800_000,
        author: Some(Person { mail: "ann@example.org".to_owned(), name: "Ann".to_owned() }),
        subject: subject.to_owned(),
        files: paths.iter().map(|path| changed(path, Some(LineCounts { added: 52, removed: 4 }))).collect(),
        identifiers: Vec::new(),
        patches: Vec::new(),
        gaps: Vec::new(),
    }
}

fn file(index: u32, path: &str, level: Level, metrics: Vec<Metric>) -> FileAssessment {
    let class = PathClass {
        language: Some(Language("Rust".to_owned())),
        role: FileRole::Code,
        sensitive: None,
        framework: None,
    };
    let reasons = match level {
        Level::Low => vec![LevelReason::Tier { high: 0, names: Vec::new() }],
        _ => vec![LevelReason::Tier { high: 2, names: vec![MetricName::Coupling, MetricName::CoChange] }],
    };
    FileAssessment {
        index,
        path: path.to_owned(),
        class,
        lines: Some(250),
        status: FileStatus::Modified,
        level,
        reasons,
        metrics,
    }
}

fn path(path: &str) -> SentencePart {
    SentencePart::Path(path.to_owned())
}

/// The Tier metrics of a file that is risky.
fn risky(partner: &str, importer: &str, message: &str) -> Vec<Metric> {
    let of = Fraction { numerator: 18, denominator: 20 };
    vec![
        Metric {
            rank: Some(PercentileRank { percentile: 98.25, among: 812 }),
            signal: Signal::High,
            excluded: vec![Exclusion { what: "files that are tests".to_owned(), count: 4 }],
            evidence: Sentence::ours("12 files import it"),
            details: vec![Sentence::default().then(path(importer)), Sentence::default().then(path("src/b.rs"))],
            ..Metric::of(MetricName::Coupling, 12.0)
        },
        Metric {
            of: Some(of),
            between: of.between(),
            signal: Signal::High,
            evidence: Sentence::default()
                .then(path(partner))
                .and(" changed in 18 of the 20 commits that touched this file"),
            ..Metric::of(MetricName::CoChange, 0.9)
        },
        Metric {
            of: Some(Fraction { numerator: 75, denominator: 250 }),
            signal: Signal::Medium,
            evidence: Sentence::ours("75 lines of tests in 1 file that have its name for 250 lines of code"),
            ..Metric::of(MetricName::TestRatio, 0.302_79)
        },
        Metric {
            signal: Signal::High,
            evidence: Sentence::default()
                .then(SentencePart::Person("ann@example.org".to_owned()))
                .and(" leads since 14 days with 9 of 12 commits in the last 90 days; ")
                .then(SentencePart::Person("bob@example.org".to_owned()))
                .and(" led with 45 of 50 in the 12 months before"),
            ..Metric::of(MetricName::OwnershipChurn, 14.0)
        },
        Metric {
            signal: Signal::High,
            evidence: Sentence::ours("it is like ")
                .then(SentencePart::Message(message.to_owned()))
                .and(", 47 days before, more so than 97 % of 200 past commits are like any incident"),
            ..Metric::of(MetricName::IncidentSimilarity, 97.0)
        },
    ]
}

fn scored() -> ChangeScore {
    let of = |feature: Feature| match feature {
        Feature::La => 0.84,
        Feature::Nf => 0.21,
        Feature::Exp => -0.33,
        _ => 0.01,
    };
    ChangeScore {
        scored: Some(RiskScore {
            probability: 0.412_345,
            log_odds: -0.354,
            intercept: -1.2,
            contributions: Feature::ALL.map(|feature| Contribution { feature, log_odds: of(feature) }).to_vec(),
            given_size: Some(-0.12),
            unknown: vec![Feature::Rexp],
            known: 0.9,
        }),
        rank: Some(PercentileRank { percentile: 97.4, among: 480 }),
        recent: None,
        between: Some(ConfidenceInterval { low: 95.55, high: 98.49 }),
        signal: Signal::High,
    }
}

fn assessment(level: Level, files: Vec<FileAssessment>) -> Assessment {
    Assessment {
        level,
        rules: LevelRules::Rank,
        reasons: vec![LevelReason::Score { percentile: 97.4 }, LevelReason::WorstFile { file: 0 }],
        confidence: Some(0.742_1),
        score: scored(),
        metrics: vec![
            Metric { evidence: Sentence::ours("2 files"), signal: Signal::None, ..Metric::of(MetricName::Files, 2.0) },
            Metric {
                evidence: Sentence::ours("52 lines added"),
                signal: Signal::None,
                ..Metric::of(MetricName::LinesAdded, 104.0)
            },
            Metric {
                evidence: Sentence::ours("its message says that it fixes something"),
                signal: Signal::None,
                ..Metric::of(MetricName::Fix, 1.0)
            },
        ],
        files,
        partners: Vec::new(),
        more_partners: 0,
        found: proem_risk::finding::Found::default(),
        investigate: Investigate::Yes,
        gaps: Vec::new(),
        calibration_error: 0.03,
    }
}

fn about() -> ReportContext {
    ReportContext {
        id: Some("3f2a9c0155667788".to_owned()),
        model: Some("small".to_owned()),
        history: HistoryRead {
            commits: 20_312,
            cached: 20_300,
            window_months: 12,
            merges: 1_204,
            bots: 310,
            sampled: 480,
            sampled_of: 18_790,
            ..HistoryRead::default()
        },
        false_positives: BTreeMap::from([(Meter::Coupling, Rate { count: 2, n: 31 })]),
        ..ReportContext::default()
    }
}

fn partners(path: &str) -> Vec<Partner> {
    let together = Fraction { numerator: 18, denominator: 20 };
    let of = |path: &str, imported| Partner { path: path.to_owned(), of: 0, together, low: 0.699, imported };
    vec![of(path, Some(false)), of("src/roles.rs", Some(true)), of("docs/auth.md", None), of("src/fourth.rs", None)]
}

/// Findings with what such have been worth, and the worth of the score.
fn all_findings(path: &str, other: &str, subject: &str) -> Found {
    let path = || SentencePart::Path(path.to_owned());
    let message = || SentencePart::Message(subject.to_owned());
    let finding = |signal: SignalName, evidence: Sentence, advice: Sentence, command: Option<&str>| Finding {
        signal,
        file: 0,
        is_in_sensitive_file: false,
        line: Some(12),
        of: None,
        count: 3,
        commit: None,
        days: Some(40),
        evidence,
        advice: Some(Advice { sentence: advice, command: command.map(str::to_owned) }),
        worth: SignalRow {
            signal,
            with: Base { fixed: 16, commits: 43 },
            between: Some(ConfidenceInterval { low: 0.24, high: 0.52 }),
            ratio: Some(3.1),
            ratio_by_size: Some(1.7),
            source: RowSource::Here,
            raises: true,
        },
    };
    let lines = Sentence::default().then(path()).and(" loses 3 lines of the fix 0a1b2c3d4e5f, made 40 days before: ");
    let fixed = finding(
        SignalName::FixedLines,
        lines.then(message()),
        Sentence::ours("make sure that what this fixed stays fixed: ").then(message()),
        Some("git show 0a1b2c3d4e5f"),
    );
    let other = SentencePart::Path(other.to_owned());
    let missing = Sentence::default().then(other.clone()).and(" is missing: it changed with ").then(path());
    let partner = finding(
        SignalName::MissingPartner,
        missing.and(" 17 of the last 18 times"),
        Sentence::ours("change ")
            .then(other)
            .and(" too, or say why not: the two changed together 17 of the last 18 times"),
        None,
    );
    let earned = vec![fixed.worth.clone()];
    let (base, like_this) = (Base { fixed: 80, commits: 664 }, Some(Base { fixed: 16, commits: 33 }));
    let worth = Some(Worth { base, like_this, auc: 0.81, auc_lines: 0.8 });
    Found { findings: vec![fixed, partner], earned, worth, quiet: Vec::new() }
}

/// A risky change that the rules assessed.
fn degraded() -> RiskReport {
    let change = change(&["src/auth.rs", "src/lib.rs"], "Speed the check up");
    let calm = vec![
        Metric {
            signal: Signal::Low,
            evidence: Sentence::ours("2 files import it"),
            ..Metric::of(MetricName::Coupling, 2.0)
        },
        Metric::unknown(MetricName::TestRatio, Sentence::ours("no tests of it were found by name, import or history")),
    ];
    let risky = risky("src/session.rs", "src/a.rs", "123 Time-out after the permission check");
    let files = vec![file(0, "src/auth.rs", Level::High, risky), file(1, "src/lib.rs", Level::Low, calm)];
    let mut assessment = assessment(Level::High, files);
    assessment.partners = partners("src/session.rs");
    assessment.found = all_findings("src/auth.rs", "src/session.rs", "Fix the time-out of the check");
    assessment.gaps = vec!["imports of 3 files could not be read: no parser for their language".to_owned()];
    RiskReport::new(
        &change,
        &assessment,
        None,
        ReportContext { notes: vec!["no model is asked: ANTHROPIC_API_KEY is not set".to_owned()], ..about() },
    )
}

/// The same, investigated.
fn investigated() -> RiskReport {
    let change = change(&["src/auth.rs"], "Speed the check up");
    let risky = risky("src/session.rs", "src/a.rs", "123 Time-out after the permission check");
    let assessment = assessment(Level::High, vec![file(0, "src/auth.rs", Level::High, risky)]);
    let hop = Hop {
        hop: 1,
        offered: vec![HopAction::CalculateMetric, HopAction::Finalize],
        action: HopAction::CalculateMetric,
        by: HopChooser::Model,
        metric: Some("ownership_churn".to_owned()),
        file: Some(0),
        result: "ann@example.org leads since 14 days".to_owned(),
        reasoning: "Many files depend on it, so who knows it matters.".to_owned(),
    };
    let synthesis = Synthesis {
        risk_level: Level::High,
        model_confidence: 0.85,
        key_evidence: vec!["12 files import src/auth.rs".to_owned(), "Its owner changed 14 days ago".to_owned()],
        recommendations: vec!["Test the time-out of the permission check".to_owned()],
        reasoning: "Much depends on a file whose owner is new.".to_owned(),
    };
    let investigated = InvestigationEnd {
        assessment: assessment.clone(),
        synthesis: Some(synthesis),
        hops: vec![hop],
        exchanges: Vec::new(),
        notes: Vec::new(),
    };
    let prompt = |name: &str| PromptUsed { name: name.to_owned(), version: "1.0.0".to_owned() };
    let spent = InvestigationUsage {
        model: "claude-haiku-4-5".to_owned(),
        calls: 2,
        input_tokens: Some(3_211),
        cached_tokens: None,
        output_tokens: Some(402),
        cost_nano_dollars: Some(5_221_000),
    };
    let prompts = vec![prompt("risk/decision"), prompt("risk/synthesis")];
    RiskReport::new(&change, &assessment, Some(&investigated), ReportContext { spent: Some(spent), prompts, ..about() })
}

/// Names that somebody chose to break a report, wherever a name can be.
fn hostile() -> RiskReport {
    let mut change = change(&[HOSTILE, "b.rs"], HOSTILE);
    change.author = Some(Person { mail: format!("{HOSTILE}@x"), name: HOSTILE.to_owned() });
    let files =
        vec![file(0, HOSTILE, Level::High, risky(HOSTILE, HOSTILE, HOSTILE)), file(1, "b.rs", Level::Low, Vec::new())];
    let mut assessment = assessment(Level::High, files);
    assessment.partners = partners(HOSTILE);
    assessment.found = all_findings(HOSTILE, HOSTILE, HOSTILE);
    RiskReport::new(&change, &assessment, None, about())
}

/// A change of which nothing could be known.
fn unknown() -> RiskReport {
    let mut change = change(&["src/new.zig"], "");
    change.kind = ChangeKind::WorkTree;
    change.id = None;
    change.author = None;
    change.files = vec![changed("src/new.zig", None)];
    let because = |name: MetricName, text: &str| Metric::unknown(name, Sentence::ours(text));
    let metrics = vec![
        because(MetricName::Coupling, "there is no parser for its language"),
        because(MetricName::CoChange, "3 commits touched the file, 5 are needed"),
        because(MetricName::TestRatio, "its lines could not be counted"),
    ];
    let mut assessment = assessment(Level::Medium, vec![file(0, "src/new.zig", Level::Medium, metrics)]);
    assessment.files[0].reasons = vec![LevelReason::AllUnknown];
    assessment.reasons = vec![LevelReason::AllUnknown];
    assessment.confidence = None;
    assessment.score = ChangeScore { scored: None, rank: None, recent: None, between: None, signal: Signal::Unknown };
    assessment.metrics = vec![because(MetricName::LinesAdded, "no line could be counted")];
    assessment.gaps = vec!["a shallow clone: older commits are missing; fetch the rest of the history".to_owned()];
    let history = HistoryRead { commits: 12, shallow: true, window_months: 12, ..HistoryRead::default() };
    RiskReport::new(
        &change,
        &assessment,
        None,
        ReportContext { history, chosen: Some("since it is dirty".to_owned()), ..ReportContext::default() },
    )
}

/// Documentation.
fn calm() -> RiskReport {
    let change = change(&["docs/guide.md"], "Mend a typo");
    let mut assessment = assessment(Level::Low, vec![file(0, "docs/guide.md", Level::Low, Vec::new())]);
    assessment.files[0].class =
        PathClass { language: None, role: FileRole::Documentation, sensitive: None, framework: None };
    assessment.reasons = vec![LevelReason::Tier { high: 0, names: Vec::new() }];
    assessment.investigate = Investigate::NothingThatRuns;
    assessment.score.rank = Some(PercentileRank { percentile: 12.0, among: 480 });
    assessment.score.signal = Signal::Low;
    RiskReport::new(&change, &assessment, None, about())
}

/// A sensitive file, and a score that is higher than what any file says.
fn sensitive() -> RiskReport {
    let change = change(&["deploy/keys.yml"], "Rotate keys");
    let mut sensitive = file(0, "deploy/keys.yml", Level::Medium, Vec::new());
    sensitive.class.sensitive = Some(Sensitive::Security);
    sensitive.reasons = vec![LevelReason::Sensitive { file: 0 }];
    let mut assessment = assessment(Level::High, vec![sensitive]);
    assessment.reasons = vec![LevelReason::Score { percentile: 97.4 }, LevelReason::Sensitive { file: 0 }];
    RiskReport::new(&change, &assessment, None, about())
}

fn all() -> [(&'static str, RiskReport); 6] {
    [
        ("degraded", degraded()),
        ("investigated", investigated()),
        ("hostile", hostile()),
        ("unknown", unknown()),
        ("calm", calm()),
        ("sensitive", sensitive()),
    ]
}

/// A text without colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_report_fits_one_screen() {
    for (name, report) in all() {
        let text = plain(&terminal::risk_screen(&report, WIDTH));
        insta::assert_snapshot!(format!("terminal_{name}"), text);
        assert!(text.lines().count() <= 24, "{name} has {} lines", text.lines().count());
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= WIDTH, "{name} is {longest} wide");
    }
}

#[test]
fn everything_is_explained() {
    for (name, report) in [("degraded", degraded()), ("investigated", investigated()), ("unknown", unknown())] {
        insta::assert_snapshot!(format!("explain_{name}"), plain(&explain::explained_report(&report, WIDTH)));
    }
}

#[test]
fn a_comment_says_it_in_markdown() {
    for (name, report) in [("degraded", degraded()), ("hostile", hostile()), ("unknown", unknown())] {
        insta::assert_snapshot!(format!("markdown_{name}"), markdown::risk_comment(&[report]));
    }
}

#[test]
fn many_changes_are_ranked() {
    let reports: Vec<RiskReport> = all().into_iter().map(|(_, report)| report).collect();
    insta::assert_snapshot!("batch", plain(&batch::risk_table(&reports, WIDTH)));
    insta::assert_snapshot!("batch_of_none", batch::risk_table(&[], WIDTH));
}

#[test]
fn code_scanning_gets_a_result_for_each_risky_file() {
    let log = sarif::log(&[degraded(), sensitive(), hostile(), calm()]);
    insta::assert_snapshot!("sarif", proem_text::json::pretty(&log));
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules: Vec<&str> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    for result in run["results"].as_array().unwrap() {
        let rule = result["ruleId"].as_str().unwrap();
        assert_eq!(rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()], rule);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"{}|\\^`".contains(&byte)), "{uri}");
        assert_eq!(place["region"]["startLine"], 1);
        assert_eq!(result["partialFingerprints"]["proemRisk/v1"].as_str().unwrap().len(), 64);
    }
    // A finding of the same file and rule stays the same finding, whatever else changed.
    let print = |report: RiskReport| sarif::log(&[report])["runs"][0]["results"][0]["partialFingerprints"].clone();
    assert_eq!(print(degraded()), print(investigated()));
    assert_ne!(print(degraded()), print(hostile()));
}

#[test]
fn json_is_what_its_schema_says() {
    let validator: Validator = jsonschema::validator_for(&schema_for!(RiskReport).to_value()).unwrap();
    for (name, report) in all() {
        let value = risk_json(std::slice::from_ref(&report), ReportCount::One).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(problems.is_empty(), "{name}: {problems:#?}");
        let keys =
            ["risk_level", "confidence", "key_evidence", "recommendations", "reasoning", "investigation_trace", "mode"];
        for key in keys {
            assert!(value.get(key).is_some(), "{name}: no {key}");
            assert!(value["files"].as_array().unwrap().iter().all(|file| file.get(key).is_some()), "{name}: no {key}");
        }
    }
    assert!(!validator.is_valid(&serde_json::json!({ "risk_level": "HIGH" })));
    let mut wrong = risk_json(&[degraded()], ReportCount::One).unwrap();
    wrong["risk_level"] = Json::from("SEVERE");
    assert!(!validator.is_valid(&wrong));
    let list = risk_json(&[degraded()], ReportCount::List).unwrap();
    assert!(list.as_array().is_some_and(|list| list.len() == 1));
    // Names are there as they are. Escaping them is JSON's own.
    let hostile = risk_json(&[hostile()], ReportCount::One).unwrap();
    assert_eq!(hostile["files"][0]["path"], HOSTILE);
}

#[test]
fn nothing_from_outside_steers_a_screen() {
    for form in [
        terminal::risk_screen(&hostile(), WIDTH),
        explain::explained_report(&hostile(), WIDTH),
        batch::risk_table(&[hostile(), calm()], WIDTH),
    ] {
        let text = plain(&form);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.lines().all(|line| !line.starts_with("###")), "{text}");
        assert!(form.contains("\\u{1b}[31mred"), "the colour of a name is shown, not used");
    }
}

/// The rest of Markdown without its code spans, as CommonMark reads them: a run of backticks opens one, and the next
/// run of the same length closes it.
#[expect(clippy::string_slice, reason = "cut at backticks, which are one byte")]
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        if before.ends_with('\\') {
            out.push('`');
            rest = &after[1..];
            continue;
        }
        let length = after.chars().take_while(|c| *c == '`').count();
        let (fence, inner) = after.split_at(length);
        let mut from = 0;
        let end = loop {
            let Some(at) = inner[from..].find(fence).map(|at| at + from) else { break None };
            let run = inner[at..].chars().take_while(|c| *c == '`').count();
            if run == length {
                break Some(at);
            }
            from = at + run;
        };
        let end = end.unwrap_or_else(|| panic!("an open code span: {rest}"));
        assert!(!inner[..end].contains('\n'), "a code span over lines: {}", &inner[..end]);
        rest = &inner[end + length..];
    }
    out.push_str(rest);
    out
}

#[test]
fn nothing_from_outside_is_markup_in_a_comment() {
    let comment = markdown::risk_comment(&[hostile(), hostile()]);
    let ours = without_code(&comment);
    for markup in ["<script", "@team", "](", "#1", "### LOW", "\u{1b}", "\u{202e}", "http"] {
        assert!(!ours.contains(markup), "{markup} is markup in {ours}");
    }
    assert_eq!(comment.matches("\n### ").count(), 2);
}

#[test]
fn a_comment_stays_within_what_a_platform_takes() {
    let many: Vec<RiskReport> = (0..400).map(|_| degraded()).collect();
    let comment = markdown::risk_comment(&many);
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.ends_with(" more changes\n"));
    assert!(comment.starts_with(markdown::MARK));
}
