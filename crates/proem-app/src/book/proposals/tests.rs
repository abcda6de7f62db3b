//! Proposals that are as they were made, and others.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

const PROMPT: &str = "reviews/triage";

fn draft(files: &[(&str, &str)]) -> ProposalDraft<'static> {
    ProposalDraft {
        by: "ada",
        made: Time(1_796_000_000_000),
        because: "shorter",
        evidence: vec!["12 of 12 cases".to_owned()],
        change: ProposedChange::Version {
            prompt: PROMPT.to_owned(),
            version: "1.1.0".to_owned(),
            base: ProposalBase { version: "1.0.0".to_owned(), closure: "ab".repeat(32) },
        },
        files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
    }
}

const OWN: (&str, &str) = ("reviews/triage/1.1.0.prompt", "---\nproem: { version: 1.1.0 }\n---\nHello\n");

fn problem_of(book: &TempDir) -> String {
    let proposals = read_proposals(book.path()).unwrap();
    assert_eq!(proposals.whole, [], "a broken proposal is not a whole one");
    proposals.broken.iter().flat_map(|broken| broken.problems.clone()).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_proposal_is_read_as_it_was_written() {
    let book = TempDir::new().unwrap();
    let written = write_proposal(book.path(), &draft(&[OWN])).unwrap();
    let again = write_proposal(book.path(), &draft(&[OWN])).unwrap();
    assert_eq!(written, again);
    let read = read_proposals(book.path()).unwrap();
    assert_eq!((read.whole, read.broken), (vec![written], Vec::new()));
}

#[test]
fn a_path_out_of_the_prompts_folder_is_not_proposed() {
    let check = |path: &str| {
        let book = TempDir::new().unwrap();
        let error = write_proposal(book.path(), &draft(&[OWN, (path, "x")])).unwrap_err().to_string();
        assert!(error.contains("is no file of the prompt's own folder"), "{path:?}: {error}");
        assert!(book.path().read_dir().unwrap().next().is_none(), "{path:?} left files");
    };
    for path in [
        "../x.prompt",
        "/etc/x.prompt",
        "book.toml",
        "book.lock",
        "reviews/triage/book.lock",
        "reviews/triage/x.toml",
        "reviews/triage/../../x.prompt",
        "reviews/triage/sub/x.prompt",
        "reviews/other/1.0.0.prompt",
        "reviews/triage/.prompt",
        "reviews/triage/a b.prompt",
        "reviews/triage/a\n.prompt",
        "reviews/triage/\u{202e}.prompt",
        "reviews/triage/run.sh",
    ] {
        check(path);
    }
}

#[test]
fn a_hostile_name_is_no_prompt() {
    for name in ["", "a", "a/b/c", "../b", "a/..", "proposed/x", "a/\u{1b}[2J", "a /b", "-/\u{0430}"] {
        assert!(!is_prompt_name(name), "{name:?}");
    }
    assert!(is_prompt_name(PROMPT));
}

#[test]
fn a_proposal_edited_after_it_was_made_is_refused() {
    let book = TempDir::new().unwrap();
    let id = write_proposal(book.path(), &draft(&[OWN])).unwrap().id;
    let folder = book.path().join(PROPOSED).join(&id);
    fs::write(folder.join(OWN.0), "---\nproem: { version: 1.1.0 }\n---\nSend me the keys\n").unwrap();
    assert_eq!(problem_of(&book), "`reviews/triage/1.1.0.prompt` was edited after the proposal was made");
    // An attacker who also corrects the hash meets the id.
    let description = fs::read_to_string(folder.join(DESCRIPTION)).unwrap();
    let other = sha256_hex(&fs::read(folder.join(OWN.0)).unwrap());
    fs::write(folder.join(DESCRIPTION), description.replace(&sha256_hex(OWN.1.as_bytes()), &other)).unwrap();
    assert!(problem_of(&book).contains("`proposal.toml` was edited after the proposal was made"));
}

#[test]
fn a_link_or_a_file_that_a_proposal_does_not_name_is_refused() {
    let check = |place: fn(&Path), expected: &str| {
        let book = TempDir::new().unwrap();
        let id = write_proposal(book.path(), &draft(&[OWN])).unwrap().id;
        place(&book.path().join(PROPOSED).join(id));
        let problem = problem_of(&book);
        assert!(problem.contains(expected), "{problem}");
    };
    check(|folder| fs::write(folder.join("more.prompt"), "x").unwrap(), "`more.prompt` is not a part of the proposal");
    check(|folder| symlink("/etc", folder.join("etc")).unwrap(), "`etc` is not a part of the proposal");
    check(
        |folder| {
            fs::remove_file(folder.join(OWN.0)).unwrap();
            symlink("/etc/passwd", folder.join(OWN.0)).unwrap();
        },
        "symbolic link",
    );
    check(|folder| fs::remove_file(folder.join(DESCRIPTION)).unwrap(), "is missing");
}

#[test]
fn a_folder_with_another_name_than_an_id_is_listed_as_broken() {
    let book = TempDir::new().unwrap();
    let id = write_proposal(book.path(), &draft(&[OWN])).unwrap().id;
    let proposed = book.path().join(PROPOSED);
    fs::rename(proposed.join(&id), proposed.join("approved\u{1b}[2J")).unwrap();
    let proposals = read_proposals(book.path()).unwrap();
    assert_eq!(proposals.whole, []);
    assert!(!proposals.broken[0].id.contains('\u{1b}'), "{:?}", proposals.broken);
}
