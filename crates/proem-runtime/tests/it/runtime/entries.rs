//! Memories and activity: the user's own, never the repository's.

use std::fs;

use proem_agents::assemble::place_facts::PlaceFacts;
use proem_runtime::gather_facts;

use crate::fixture::{Fixture, assert_text, link, said};

const MEMORY: &str = ".proem/private/memory.jsonl";
const ACTIVITY: &str = ".proem/private/activity.jsonl";
const LINE: &str = r#"{"text":"Use tabs.","kind":"preference","time":"2024-01-01T00:00:00Z"}"#;

#[track_caller]
fn assert_ignored(gathered: &PlaceFacts, gaps: &[&str]) {
    assert_eq!((gathered.memories.len(), said(&gathered.gaps)), (0, gaps.iter().map(|&gap| gap.to_owned()).collect()));
}

#[test]
fn entries_are_read_with_their_lines() {
    for fixture in [Fixture::committed(), Fixture::folder()] {
        fixture.write(MEMORY, format!("\n{LINE}\n"));
        fixture.write(ACTIVITY, "{\"text\":\"Ran tests.\",\"kind\":\"command\",\"time\":7}");
        let gathered = fixture.gather();
        let [memory, activity] = [&gathered.memories[0], &gathered.activity[0]];
        assert_text(&memory.text, "Use tabs.", "memory");
        assert_text(&memory.kind, "preference", "memory");
        assert_eq!((memory.time, memory.line), (Some(1_704_067_200), 2));
        assert_text(&activity.text, "Ran tests.", "activity");
        assert_eq!((activity.time, activity.line), (Some(7), 1));
        assert_eq!(gathered.gaps, []);
    }
}

#[test]
fn broken_lines_are_named_and_the_others_stay() {
    let fixture = Fixture::committed();
    fixture.write(MEMORY, format!("{LINE}\nnot json\n{LINE}\n{{\"kind\":\"k\"}}\n"));
    let gathered = fixture.gather();
    assert_eq!(gathered.memories.len(), 2);
    let why = ".proem/private/memory.jsonl: 2 lines are left out (line 2: not a JSON object; \
               line 4: `text` is not a string); correct or remove what is wrong";
    assert_eq!(said(&gathered.gaps), [why]);
}

#[test]
fn a_long_file_is_read_up_to_its_last_whole_line() {
    let fixture = Fixture::committed();
    fixture.write(MEMORY, format!("{LINE}\n").repeat(3));
    let mut options = fixture.options();
    options.limits.entries_bytes = LINE.len() * 2;
    let gathered = gather_facts(&fixture.repo, &options).unwrap();
    assert_eq!(gathered.memories.len(), 1);
    let cap = LINE.len() * 2;
    let why = format!("{MEMORY}: only its first {cap} bytes are read; remove entries you don't need");
    assert_eq!(said(&gathered.gaps), [why]);
}

#[test]
fn what_git_tracks_is_ignored() {
    let why = "it is tracked by git, so anybody may have written it, and it is ignored; untrack it, and add its folder \
               to `.gitignore`";
    let fixture = Fixture::committed();
    fixture.write(MEMORY, LINE);
    fixture.git(&["add", "-f", MEMORY]);
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}")]);

    // The whole folder as a submodule.
    let fixture = Fixture::committed();
    fixture.git(&["init", "-q", ".proem"]);
    fixture.write(MEMORY, LINE);
    fixture.git(&["-C", ".proem", "add", "-A"]);
    fixture.git(&["-C", ".proem", "commit", "-q", "-m", "shipped"]);
    fixture.git(&["add", ".proem"]);
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}"), &format!("{ACTIVITY}: {why}")]);
}

#[test]
fn links_are_ignored_wherever_they_are() {
    let why = "it is a symbolic link, and links are not followed here; replace it with what it points to";
    let outside = |fixture: &Fixture| fixture.write("../home/private/memory.jsonl", LINE);

    let fixture = Fixture::committed();
    outside(&fixture);
    fs::create_dir_all(fixture.repo.join(".proem/private")).unwrap();
    link("../../../home/private/memory.jsonl", fixture.repo.join(MEMORY));
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}")]);

    let fixture = Fixture::committed();
    outside(&fixture);
    fs::create_dir_all(fixture.repo.join(".proem")).unwrap();
    link("../../home/private", fixture.repo.join(".proem/private"));
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}"), &format!("{ACTIVITY}: {why}")]);

    let fixture = Fixture::committed();
    fs::create_dir_all(fixture.repo.join(".proem")).unwrap();
    link("private", fixture.repo.join(".proem/private"));
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}"), &format!("{ACTIVITY}: {why}")]);
}

#[test]
fn what_is_no_file_is_a_gap() {
    let fixture = Fixture::committed();
    fs::create_dir_all(fixture.repo.join(MEMORY)).unwrap();
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: it is a folder, not a regular file; move it elsewhere")]);
    let fixture = Fixture::committed();
    fixture.write(".proem", "a file");
    let why = "it is a regular file, not a folder; move it elsewhere";
    assert_ignored(&fixture.gather(), &[&format!("{MEMORY}: {why}"), &format!("{ACTIVITY}: {why}")]);
}
