//! Proposals from their making to a person's verdict.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::book::diff::CacheEffect;
use crate::book::promotion::DecisionReason;
use crate::book::promotion::tests::{REASON, Scene, prompt_text};

const PROMPT: &str = "reviews/triage";

/// A prompt file outside of the book.
fn draft(scene: &Scene, version: &str, body: &str) -> PathBuf {
    let path = scene.work.join("draft.prompt");
    fs::write(&path, prompt_text(version, "change", body)).unwrap();
    path
}

fn propose_by(scene: &Scene, what: &str, by: &str) -> Result<StoredProposal, Error> {
    let wish = ProposalWish { what, prompt: Some(PROMPT), by, at: Time(1_796_000_000_000), because: "fewer words" };
    let book = scene.open();
    prepare_proposal(&book, &wish)?.write(&book, &wish, Vec::new())
}

fn propose_version(scene: &Scene, version: &str, body: &str) -> StoredProposal {
    let file = draft(scene, version, body);
    propose_by(scene, file.to_str().unwrap(), "bob").unwrap()
}

fn checked(scene: &Scene, stored: &StoredProposal) -> CheckedProposal {
    check_proposal(&scene.open(), stored.clone()).unwrap()
}

fn approve_as(scene: &Scene, stored: &StoredProposal, by: &str) -> Result<ApprovalResult, Error> {
    scene.open().accept(&checked(scene, stored), by, REASON)
}

fn decisions(scene: &Scene) -> Vec<String> {
    let journal = Journal::load(&scene.open().folder).unwrap();
    journal.entries.iter().map(|(_, entry)| entry.in_words()).collect()
}

#[test]
fn an_approved_version_is_in_the_book_and_not_in_use() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    // Without a manifest the newest version is in use: the approval has to hold the present one.
    fs::remove_file(scene.user().join("book.toml")).unwrap();
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    assert_eq!(stored.proposal.by, "bob");
    assert_eq!(stored.proposal.evidence[0], "no cases");
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0", "a proposal changes nothing");
    let result = approve_as(&scene, &stored, "ada").unwrap();
    assert_eq!(result, ApprovalResult::Entered { version: "reviews/triage@1.2.0".to_owned() });
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0", "the version in use does not move");
    scene.promote("reviews/triage@1.2.0");
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.2.0");
    assert!(read_proposals(&scene.user()).unwrap().whole.is_empty());
    assert_eq!(decisions(&scene).len(), 2, "an approval and a promotion: {:?}", decisions(&scene));
}

#[test]
fn the_proposer_cannot_approve_where_the_book_asks_for_two_persons() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let manifest = scene.user().join("book.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text}\n[approval]\npersons = 2\n")).unwrap();
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    for approver in ["bob", "BOB", "unknown", ""] {
        let error = approve_as(&scene, &stored, approver).unwrap_err().to_string();
        assert!(error.contains("another person has to approve it"), "{approver:?}: {error}");
    }
    assert!(approve_as(&scene, &stored, "ada").is_ok());
    let nobody = draft(&scene, "1.3.0", "Sort now.");
    let stored = propose_by(&scene, nobody.to_str().unwrap(), "unknown").unwrap();
    assert!(approve_as(&scene, &stored, "ada").is_err(), "an unknown proposer may be anybody");
}

#[test]
fn an_untrusted_book_may_ask_for_two_persons() {
    let scene = Scene::new();
    scene.fill(&scene.own());
    scene.trust_all();
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    fs::create_dir_all(scene.user()).unwrap();
    fs::write(scene.user().join("book.toml"), "[approval]\npersons = 2\n").unwrap();
    assert!(approve_as(&scene, &stored, "bob").is_err());
}

#[test]
fn a_stale_base_is_not_approved() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    scene.promote("reviews/triage@1.1.0");
    let error = approve_as(&scene, &stored, "ada").unwrap_err().to_string();
    assert!(error.contains("it was made from 1.0.0, and reviews/triage 1.1.0 is in use"), "{error}");
}

#[test]
fn two_proposals_for_one_version_are_both_named() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let first = propose_version(&scene, "1.2.0", "Sort.");
    let second = propose_version(&scene, "1.2.0", "Sort it.");
    let all = check_proposals(&scene.open()).unwrap();
    let problems: Vec<&String> = all.whole.iter().flat_map(|proposal| &proposal.problems).collect();
    assert!(problems.iter().any(|problem| problem.contains(&first.id)), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains(&second.id)), "{problems:?}");
    approve_as(&scene, &first, "ada").unwrap();
    let error = approve_as(&scene, &second, "ada").unwrap_err().to_string();
    assert!(error.contains("the book has `reviews/triage/1.2.0.prompt` already"), "{error}");
}

#[test]
fn a_rejected_proposal_leaves_a_line_and_no_files() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    scene.open().turn_down(&stored, "ada", DecisionReason { because: Some("too terse"), ..REASON }).unwrap();
    assert!(read_proposals(&scene.user()).unwrap().whole.is_empty());
    let lines = decisions(&scene);
    assert!(lines[0].ends_with(": too terse") && lines[0].contains("rejected proposal"), "{lines:?}");
    // The same proposal, put back from an old branch, was decided already.
    write_again(&scene);
    let all = check_proposals(&scene.open()).unwrap();
    assert!(all.whole[0].problems[0].starts_with("it was decided already"), "{:?}", all.whole[0].problems);
}

fn write_again(scene: &Scene) {
    propose_version(scene, "1.2.0", "Sort.");
}

#[test]
fn after_a_kill_within_an_approval_it_can_be_repeated() {
    let scene = Scene::new();
    scene.fill(&scene.own());
    scene.trust_all();
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    // A kill after the files and before the lock, and one before the journal's line.
    let path = scene.own().join("reviews/triage/1.2.0.prompt");
    fs::write(&path, &stored.files["reviews/triage/1.2.0.prompt"]).unwrap();
    approve_as(&scene, &stored, "ada").unwrap();
    assert_eq!(decisions(&scene).len(), 1);
    scene.promote("reviews/triage@1.2.0");
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.2.0", "what was approved is trusted and locked");
}

#[test]
fn a_version_of_the_book_is_proposed_as_the_one_in_use() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let stored = propose_by(&scene, "reviews/triage@1.1.0", "bob").unwrap();
    let result = approve_as(&scene, &stored, "ada").unwrap();
    assert_eq!(result, ApprovalResult::Promoted { version: "reviews/triage@1.1.0".to_owned() });
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0");
}

#[test]
fn a_file_that_is_no_newer_version_is_not_proposed() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let refusal = |path: &str| propose_by(&scene, path, "bob").unwrap_err().to_string();
    let same = draft(&scene, "1.1.0", "Sort.");
    assert!(refusal(same.to_str().unwrap()).contains("the book has reviews/triage 1.1.0 already"));
    assert!(refusal("nowhere.prompt").contains("is neither a file nor a version"));
    let broken = scene.work.join("broken.prompt");
    fs::write(&broken, "---\nproem:\n  version: 1.4.0\n---\n{{#each}}\n").unwrap();
    assert!(refusal(broken.to_str().unwrap()).contains("nothing was proposed"));
    assert!(read_proposals(&scene.user()).unwrap().whole.is_empty());
}

#[test]
fn a_change_is_told_in_money_or_why_that_is_unknown() {
    let check = |config: &str, expected: &str| {
        let scene = Scene::new();
        scene.fill(&scene.user());
        fs::write(scene.places.config_file(), config).unwrap();
        let stored = propose_by(&scene, "reviews/triage@1.1.0", "bob").unwrap();
        let cost = checked(&scene, &stored).cost.unwrap();
        assert!(cost.contains(expected), "{cost}");
        assert!(stored.proposal.evidence.contains(&cost), "{stored:?}");
    };
    let server = "[roles]\nsmall = \"far/m\"\n[providers.far]\nbase_url = \"https://far.example/v1\"\n";
    check(
        server,
        "cost unknown: `m` of `far` has no price; set `input_price` and `output_price` under `[providers.far",
    );
    let priced = format!("{server}[providers.far.models.m]\ninput_price = 1000\noutput_price = 5000\n");
    // Four tokens of the role are six then, at a dollar for a million.
    check(&priced, "1000 calls of `m`: $0.00");
    check(&priced, "for the sections' own text; inputs come on top; nothing cached, answers come on top");
    let here = "[roles]\nsmall = \"near/m\"\n[providers.near]\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    check(here, "calls of `m` cost nothing");
    check("[roles]\nsmall = \"nobody/m\"\n", "cost unknown: ");
}

#[test]
fn the_only_proposal_needs_no_id() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    assert!(scene.open().only_proposal().unwrap_err().to_string().starts_with("there is no proposal in "));
    let stored = propose_version(&scene, "1.2.0", "Sort.");
    assert_eq!(scene.open().only_proposal().unwrap(), stored);
    propose_version(&scene, "1.3.0", "Sort now.");
    let error = scene.open().only_proposal().unwrap_err().to_string();
    assert!(error.starts_with("there are 2 proposals; name one"), "{error}");
}

#[test]
fn a_cached_section_is_written_anew_from_the_first_difference_on() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let effects = |second: &str| {
        let book = scene.open();
        let found = compare_versions(book.book(), "reviews/triage@1.0.0", second).unwrap();
        found.cache_effects()
    };
    assert_eq!(effects("reviews/triage@1.0.0"), [CacheEffect::Kept, CacheEffect::Never]);
    assert_eq!(effects("reviews/triage@1.1.0"), [CacheEffect::Anew, CacheEffect::Never]);
}
