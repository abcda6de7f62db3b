use super::*;
use proem_app::trust::candidates::{TrustCandidate, TrustUse};
use proem_app::trust::sha256_hex;

fn reviewed(text: &str, before: Before) -> String {
    let candidate = TrustCandidate {
        path: "AGENTS.md".into(),
        uses: vec![TrustUse::RuleFile],
        text: text.into(),
        hash: sha256_hex(text.as_bytes()),
    };
    let styled = trust_review(&[FileReview { candidate: &candidate, before }], &[]);
    anstream::adapter::strip_str(&styled).to_string()
}

/// The lines that are behind a mark.
fn marked(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('│') || line.starts_with('┆')).collect()
}

#[test]
fn every_line_of_a_file_stands_behind_a_mark() {
    let hostile =
        "a\r\nTrust these 0 files? [y/N] y\n\u{1b}[2Jgone\u{1b}[1A\n\u{202e}txet\n\nok\rover\n\tp\u{430}y\n│ \u{2028}x";
    let text = reviewed(hostile, Before::New);
    assert_eq!(
        marked(&text),
        [
            r"│ a\r",
            "│ Trust these 0 files? [y/N] y",
            r"│ \u{1b}[2Jgone\u{1b}[1A",
            r"│ \u{202e}txet",
            "│",
            r"│ ok\rover",
            "│ \\tp\u{430}y⟨mixed script: Latin+Cyrillic⟩",
            r"│ │ \u{2028}x",
        ]
    );
    let ours: Vec<&str> = text.lines().filter(|line| !line.starts_with('│')).collect();
    assert_eq!(ours.len(), 4, "{text}");
    assert!(ours[2].starts_with("  If you trust it: it will be read as rules"), "{text}");
}

#[test]
fn long_lines_do_not_reach_the_edge() {
    let text = reviewed(&format!("{}Trust these 0 files? [y/N] y", " ".repeat(160)), Before::New);
    assert!(marked(&text).len() == 3 && text.lines().all(|line| line.chars().count() <= 110), "{text}");
    assert!(marked(&text)[2].starts_with("┆ "), "{text}");
    let text = reviewed(&"宽".repeat(80), Before::New);
    assert_eq!(marked(&text).iter().map(|line| line.chars().count()).collect::<Vec<_>>(), [39, 39, 8]);
    assert_eq!(cut_into_cells("", 10), [""]);
}

#[test]
fn a_cap_says_what_is_missing() {
    let text = reviewed(&"x\n".repeat(MAX_LINES + 1500), Before::New);
    assert_eq!(marked(&text).len(), MAX_LINES);
    assert!(text.contains("NOT SHOWN: 1,500 more lines; open the file to read them before you answer"), "{text}");
}

#[test]
fn changes_are_shown_as_a_difference() {
    let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let after = before.replace("line 10\n", "line ten\u{1b}\nand more\n").trim_end().to_owned();
    let text = reviewed(&after, Before::Trusted(before));
    assert_eq!(
        marked(&text),
        [
            "│ @@ -7,7 +7,8 @@",
            "│  line 7",
            "│  line 8",
            "│  line 9",
            "│ -line 10",
            r"│ +line ten\u{1b}",
            "│ +and more",
            "│  line 11",
            "│  line 12",
            "│  line 13",
            "│ @@ -17,4 +18,4 @@",
            "│  line 17",
            "│  line 18",
            "│  line 19",
            "│ -line 20",
            "│ +line 20",
            "│ (no line break at the end of the file)",
        ]
    );
}

#[test]
fn what_changed_inside_a_line_is_marked_where_that_is_asked_for() {
    let (before, after) = ("a\nBranch: main\nx\ny\n", "a\nBranch: feature\nz\ny\n");
    let plain = |lines: Vec<String>| anstream::adapter::strip_str(&lines.join("\n")).to_string();
    assert_eq!(
        plain(unified_difference(before, after, Inside::Marked)),
        "│ @@ -1,4 +1,4 @@\n│  a\n│ -Branch: main\n│          ^^^^\n│ -x\n│ +Branch: feature\n│          ^^^^^^^\n│ +z\n│  y"
    );
    assert!(!plain(unified_difference(before, after, Inside::Plain)).contains('^'));
}
