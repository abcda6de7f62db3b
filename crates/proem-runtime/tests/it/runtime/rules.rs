//! Rule files: whose they are, and what is read at all.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use proem_agents::assemble::place_facts::{PlaceFacts, RuleText};
use proem_runtime::{TrustedFile, gather_facts};

use crate::fixture::{Fixture, assert_text, gap_lines, is_root, link};
use crate::skipped::skip;

/// SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn names(gathered: &PlaceFacts) -> Vec<&str> {
    gathered.rule_files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn the_three_files_are_read_in_order_and_are_outside_text() {
    let fixture = Fixture::committed();
    fixture.write(".proem/rules.md", "rules");
    fixture.write("CLAUDE.md", "");
    fixture.write("AGENTS.md", "hello");
    let gathered = fixture.gather();
    assert_eq!(names(&gathered), ["AGENTS.md", "CLAUDE.md", ".proem/rules.md"]);
    assert_eq!(gathered.rule_files[0].hash, HELLO);
    let expected = [("hello", "file/agents-md"), ("", "file/claude-md"), ("rules", "file/proem-rules")];
    for (file, (text, source)) in gathered.rule_files.iter().zip(expected) {
        let RuleText::Outside(found) = &file.text else { panic!("{} is approved", file.name) };
        assert_text(found, text, source);
    }
    assert_eq!(gathered.gaps, []);
}

#[test]
fn approval_is_for_one_name_and_the_exact_bytes() {
    let fixture = Fixture::committed();
    let mut options = fixture.options();
    options.trusted.insert(TrustedFile { name: "AGENTS.md".to_owned(), hash: HELLO.to_owned() });
    for (name, text, approved) in
        [("AGENTS.md", "hello", true), ("AGENTS.md", "hello\n", false), ("CLAUDE.md", "hello", false)]
    {
        fixture.write("AGENTS.md", "");
        fixture.write(name, text);
        let gathered = gather_facts(&fixture.repo, &options).unwrap();
        let file = gathered.rule_files.iter().find(|file| file.name == name).unwrap();
        assert_eq!(file.text == RuleText::Trusted("hello".to_owned()), approved, "{name} {text:?}");
    }
}

#[test]
fn a_long_file_is_cut_between_characters_and_not_approved() {
    let fixture = Fixture::committed();
    fixture.write("AGENTS.md", format!("a{}", "é".repeat(150 * 1024)));
    let gathered = fixture.gather();
    let kept = format!("a{}", "é".repeat(128 * 1024 - 1));
    let file = &gathered.rule_files[0];
    let RuleText::Outside(text) = &file.text else { panic!("approved") };
    assert_text(text, &kept, "file/agents-md");
    assert_eq!(gap_lines(&gathered.gaps), ["AGENTS.md: only its first 262144 bytes are read; make it shorter"]);

    let mut options = fixture.options();
    options.trusted.insert(TrustedFile { name: "AGENTS.md".to_owned(), hash: file.hash.clone() });
    let again = gather_facts(&fixture.repo, &options).unwrap();
    assert!(matches!(again.rule_files[0].text, RuleText::Outside(_)));
}

#[test]
fn text_that_is_not_utf_8_is_not_approved() {
    let fixture = Fixture::committed();
    fixture.write("AGENTS.md", b"a\xffb");
    let mut options = fixture.options();
    let hash = fixture.gather().rule_files[0].hash.clone();
    options.trusted.insert(TrustedFile { name: "AGENTS.md".to_owned(), hash });
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    let RuleText::Outside(text) = &gathered.rule_files[0].text else { panic!("approved") };
    assert_text(text, "a\u{fffd}b", "file/agents-md");
    let why = "AGENTS.md: it is not UTF-8, so parts are replaced and it can't be approved; save it as UTF-8";
    assert_eq!(gap_lines(&gathered.gaps), [why]);
}

#[test]
fn links_are_followed_only_to_markdown_inside() {
    let out = "it is a link to a file outside the repository; replace it with the file";
    let other = "it is a link to something that is not a Markdown file; replace it with a file";
    for (target, expected) in [
        ("CLAUDE.md", Ok(())),
        ("docs/rules.md", Ok(())),
        ("../home/notes.md", Err(out)),
        ("/etc/passwd", Err(out)),
        ("docs/out.md", Err(out)),
        (".env", Err(other)),
        (".git/config", Err(other)),
        (".git/description.md", Err(other)),
        ("AGENTS.md", Err("it is a circular link; remove it")),
        ("nothing.md", Err("it is a broken link; remove it")),
    ] {
        let fixture = Fixture::committed();
        for path in ["../home/notes.md", "CLAUDE.md", "docs/rules.md", ".env", ".git/description.md"] {
            fixture.write(path, "hello");
        }
        link("../../home/notes.md", fixture.repo.join("docs/out.md"));
        link(target, fixture.repo.join("AGENTS.md"));
        let gathered = fixture.gather();
        assert_eq!(names(&gathered).contains(&"AGENTS.md"), expected.is_ok(), "{target}");
        let gaps: Vec<String> = expected.err().map(|why| format!("AGENTS.md: {why}")).into_iter().collect();
        assert_eq!(gap_lines(&gathered.gaps), gaps, "{target}");
    }
}

#[test]
fn a_linked_folder_does_not_lead_out() {
    let fixture = Fixture::committed();
    fixture.write("../home/rules.md", "private");
    link("../home", fixture.repo.join(".proem"));
    let gathered = fixture.gather();
    assert_eq!(names(&gathered), Vec::<&str>::new());
    assert!(gap_lines(&gathered.gaps)[0].starts_with(".proem/rules.md: it is a link to a file outside"));
}

#[test]
fn what_is_no_file_is_a_gap_and_does_not_block() {
    let fixture = Fixture::committed();
    fs::create_dir(fixture.repo.join("CLAUDE.md")).unwrap();
    let made = Command::new("mkfifo").arg(fixture.repo.join("AGENTS.md")).status().unwrap();
    assert!(made.success());
    let gathered = fixture.gather();
    assert_eq!(names(&gathered), Vec::<&str>::new());
    assert_eq!(
        gap_lines(&gathered.gaps),
        [
            "AGENTS.md: it is a named pipe, not a regular file; move it elsewhere",
            "CLAUDE.md: it is a folder, not a regular file; move it elsewhere",
        ]
    );
}

#[test]
fn a_file_without_permission_is_a_gap() {
    if is_root() {
        skip("ordinary-user", "root may read everything");
        return;
    }
    let fixture = Fixture::committed();
    fixture.write("AGENTS.md", "hello");
    fs::set_permissions(fixture.repo.join("AGENTS.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let gathered = fixture.gather();
    assert_eq!(names(&gathered), Vec::<&str>::new());
    assert_eq!(gap_lines(&gathered.gaps), ["AGENTS.md: could not read it: permission denied; check its permissions"]);
}

#[test]
fn a_folder_of_rules_that_is_a_link_is_not_looked_through() {
    let fixture = Fixture::committed();
    fixture.write("elsewhere/x.mdc", "hello");
    fixture.write(".cursor/keep", "");
    link("../elsewhere", fixture.repo.join(".cursor/rules"));
    assert_eq!(names(&fixture.gather()), Vec::<&str>::new());
    fixture.write(".github/instructions/y.instructions.md", "hello");
    assert_eq!(names(&fixture.gather()), [".github/instructions/y.instructions.md"]);
}
