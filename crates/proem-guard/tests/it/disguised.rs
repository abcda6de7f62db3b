//! Attacks in texts without a name that pass for code or for a patch.

use std::path::Path;

use proem_guard::{Guard, LanguageFamily, Policy, Untrusted, Verdict};
use proem_text::{Label, Source};

/// Code that an attack is in.
const CODE: [&str; 2] =
    ["int add(int a, int b) {\n    return a + b;\n}\n\n", "\nint main(void) {\n    return add(1, 2);\n}\n"];

/// The attacks as they are in code: alone on their lines, in a comment, and in a patch.
fn disguised_attack(attack: &str) -> [(String, LanguageFamily); 3] {
    let [before, after] = CODE;
    let comment: String = attack.lines().map(|line| format!("// {line}\n")).collect();
    let added: String = format!("{before}{attack}{after}").lines().map(|line| format!("+{line}\n")).collect();
    [
        (format!("{before}{attack}{after}"), LanguageFamily::Code),
        (format!("{before}{comment}{after}"), LanguageFamily::Code),
        (format!("diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -0,0 +1,9 @@\n{added}"), LanguageFamily::Patch),
    ]
}

#[test]
fn half_of_the_attacks_that_are_found_in_prose_are_found_among_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/guard/strangers-attacks.jsonl");
    let guard = Guard::shipped(&[]).unwrap();
    let bar = Policy::shipped().unwrap().bar("input", "piped");
    let outside = |text: &str| Untrusted::new(text.to_owned(), Label::from_source(Source::named("input")));
    let (mut as_prose, mut as_code, mut recognised, mut all) = (0, 0, 0, 0);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        for (text, family) in disguised_attack(row.get("text").and_then(|text| text.as_str()).unwrap()) {
            all += 1;
            recognised += usize::from(LanguageFamily::of_text(&text) == Some(family));
            as_prose += usize::from(bar.judge(&guard.scan(&outside(&text))) > Verdict::Allow);
            as_code += usize::from(bar.judge(&guard.scan_source(&outside(&text), family)) > Verdict::Allow);
        }
    }
    assert_eq!((recognised, all), (240, 240));
    // As prose, 86 are found, but so is one of four ordinary files of source. With the learned score alone, 73 would be
    // found, but so would be half of the notebooks and translations.
    assert_eq!((as_code, as_prose), (45, 86));
}
