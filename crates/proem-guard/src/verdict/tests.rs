use super::*;
use crate::score::InjectionFeatures;
use proem_text::Span;

fn finding(kind: FindingKind, severity: Severity) -> Finding {
    Finding { kind, rule: "test/rule", span: Span::new(0, 1), steps: Vec::new(), hidden: false, severity, score: 1.0 }
}

fn scan(findings: &[(FindingKind, Severity)], unread: &[UnreadReason], score: f64) -> Scan {
    Scan {
        findings: findings.iter().map(|(kind, severity)| finding(*kind, *severity)).collect(),
        unread: unread
            .iter()
            .map(|reason| crate::scan::UnreadSpan { span: Span::new(0, 1), reason: *reason })
            .collect(),
        score,
        features: InjectionFeatures::default(),
        window_count: 1,
    }
}

#[test]
fn the_worst_counts() {
    use FindingKind::{Learned, Override, Similar};
    use Severity::{Critical, High, Low, Medium};
    let bar = Policy::shipped().unwrap().bar("mail", "body");
    let broken = UnreadReason::Scanner { name: "override", reason: "test" };
    for (findings, unread, score, expected) in [
        (&[][..], &[][..], 0.0, Verdict::Allow),
        (&[(Override, Low)], &[], 0.1, Verdict::Allow),
        (&[(Override, Low), (Override, Medium)], &[], 0.6, Verdict::Flag),
        (&[(Override, High), (Override, Medium)], &[], 0.8, Verdict::Quarantine),
        (&[(Override, Critical)], &[], 0.9, Verdict::Block),
        (&[], &[], 0.5, Verdict::Flag),
        (&[], &[], f64::NAN, Verdict::Flag),
        (&[(Learned, Medium)], &[], 0.99, Verdict::Flag),
        (&[(Learned, Critical), (Similar, Critical)], &[], 1.0, Verdict::Flag),
        (&[], &[UnreadReason::DecodingLimit], 0.0, Verdict::Flag),
        (&[], &[broken], 0.0, Verdict::Quarantine),
        (&[(Override, Critical)], &[broken], 0.9, Verdict::Block),
    ] {
        assert_eq!(bar.judge(&scan(findings, unread, score)), expected, "{findings:?} {unread:?} {score}");
    }
}

#[test]
fn the_more_precise_line_counts() {
    let policy = Policy::parse(
        "# comment\n*\t*\tallow\tflag\tquarantine\tblock\n\
         *\tbody\tallow\tallow\tflag\tblock\n\
         mail*\t*\tflag\tflag\tflag\tflag\n\
         mail/jira\t*\tquarantine\tquarantine\tquarantine\tquarantine\n\
         mail/jira\tsubject*\tblock\tblock\tblock\tblock\n",
    )
    .unwrap();
    let low = finding(FindingKind::Override, Severity::Low);
    for (source, field, expected) in [
        ("web", "title", Verdict::Allow),
        ("web", "body", Verdict::Allow),
        ("mail", "body", Verdict::Flag),
        ("mail/jira", "body", Verdict::Quarantine),
        ("mail/jira", "subject[0]", Verdict::Block),
        ("mail/jira2", "subject", Verdict::Flag),
    ] {
        assert_eq!(policy.bar(source, field).of(&low), expected, "{source} {field}");
    }
}

#[test]
fn a_wrong_table_is_refused() {
    for (text, expected) in [
        ("", "line 1: no line for every source and field; add one that begins with `*`, tab, `*`"),
        (
            "mail\t*\tallow\tflag\tquarantine\tblock\n",
            "line 1: no line for every source and field; add one that begins with `*`, tab, `*`",
        ),
        ("\n*\t*\tallow\tflag", "line 2: 4 columns; write source, field and four verdicts, separated by tabs"),
        ("*\t*\tallow\tflag\tdeny\tblock", "line 1: `deny` is not a verdict; write allow, flag, quarantine or block"),
        (
            "*\t*\tflag\tallow\tquarantine\tblock",
            "line 1: a more severe finding has a milder verdict; order the verdicts from mild to strict",
        ),
        (
            "*\t*\tallow\tflag\tquarantine\tblock\n*\t*\tallow\tflag\tblock\tblock",
            "line 2: repeats the source and field of an earlier line; remove one",
        ),
    ] {
        assert_eq!(Policy::parse(text).unwrap_err().to_string(), expected, "{text:?}");
    }
}
