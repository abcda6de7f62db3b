//! Promotions and demotions, in the user's book and in a project's.

use std::fs;

use proem_engine::prompt::book::Book;
use tempfile::TempDir;

use super::*;
use crate::book::journal::JOURNAL;
use crate::book::lock::{find_books, lock_book};
use crate::places::Channel;
use crate::project::read_book;
use crate::run::options::{Carriage, RunOptions};
use crate::run::setting::RunSetting;
use crate::trust::candidates::Candidates;

const PROMPT: &str = "reviews/triage";

/// A user with a folder that is no repository.
pub(in crate::book) struct Scene {
    _folder: TempDir,
    pub(in crate::book) places: Places,
    pub(in crate::book) work: PathBuf,
}

pub(in crate::book) fn prompt_text(version: &str, input: &str, body: &str) -> String {
    format!(
        "---\ninput:\n  schema: {{ {input}: string }}\nproem:\n  version: {version}\n  purpose: sort\n  changes: words\n  \
         sections:\n    - {{ name: role, trust: rules, cache: static }}\n    - {{ name: ask, trust: untrusted, cache: never }}\n---\n\
         {{{{role \"system\"}}}}{{{{section \"role\"}}}}\n{body}\n{{{{role \"user\"}}}}{{{{section \"ask\"}}}}\n{{{{{input}}}}}\n"
    )
}

pub(in crate::book) const REASON: DecisionReason<'static> =
    DecisionReason { at: Time(1_796_000_000_000), because: Some("better"), evidence: None };

impl Scene {
    pub(in crate::book) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [config, state, cache, work] = ["config", "state", "cache", "work"].map(|name| base.join(name));
        for folder in [&config, &state, &cache, &work] {
            fs::create_dir(folder).unwrap();
        }
        let places = Places { config, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
        Self { _folder: folder, places, work }
    }

    pub(in crate::book) fn write(&self, book: &Path, version: &str, body: &str) {
        let folder = book.join(PROMPT);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{version}.prompt")), prompt_text(version, "change", body)).unwrap();
    }

    /// A book with two locked versions, of which `book.toml` names the first.
    pub(in crate::book) fn fill(&self, book: &Path) {
        self.write(book, "1.0.0", "Sort the change.");
        self.write(book, "1.1.0", "Sort the change by severity.");
        fs::write(book.join(MANIFEST), "# ours\n[current]\n'reviews/triage' = '1.0.0' # for now\n").unwrap();
        self.lock();
    }

    pub(in crate::book) fn lock(&self) {
        for target in find_books(&self.work, &self.places).unwrap() {
            lock_book(&target).unwrap();
        }
    }

    pub(in crate::book) fn user(&self) -> PathBuf {
        self.places.book()
    }

    pub(in crate::book) fn own(&self) -> PathBuf {
        self.work.join(BOOK)
    }

    pub(in crate::book) fn open(&self) -> DecidedBook {
        DecidedBook::open(&self.work, &self.places, BookChoice::Nearest).unwrap()
    }

    pub(in crate::book) fn promote(&self, wanted: &str) -> TrustEffect {
        let book = self.open();
        let plan = book.plan_promotion(wanted, InterfaceConsent::Same).unwrap();
        book.carry_out(&plan, "ada", REASON).unwrap()
    }

    fn refusal(&self, wanted: &str) -> String {
        self.open().plan_promotion(wanted, InterfaceConsent::Same).unwrap_err().to_string()
    }

    pub(in crate::book) fn trust_all(&self) {
        let candidates = Candidates::read(&self.work);
        let files: Vec<(String, Vec<u8>)> =
            candidates.files.iter().map(|file| (file.path.clone(), file.text.clone().into_bytes())).collect();
        let key = self.open().project.key;
        TrustStore::new(self.places.state.clone()).trust(&key, &files).unwrap();
    }
}

#[test]
fn a_demotion_restores_the_bytes_and_both_leave_a_line() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let path = scene.user().join(MANIFEST);
    let before = fs::read(&path).unwrap();
    scene.promote("reviews/triage@1.1.0");
    let promoted = fs::read_to_string(&path).unwrap();
    assert_eq!(promoted, "# ours\n[current]\n'reviews/triage' = \"1.1.0\" # for now\n");
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0");
    let book = scene.open();
    let plan = book.plan_demotion(PROMPT).unwrap();
    assert!(plan.is_exact);
    book.take_back(&plan, "ada", REASON).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    let journal = Journal::load(&scene.user()).unwrap();
    let words: Vec<String> = journal.entries.iter().map(|(_, entry)| entry.in_words()).collect();
    assert_eq!(words.len(), 2, "{words:?}");
    assert!(words[0].ends_with("ada promoted reviews/triage 1.0.0 → 1.1.0: better"), "{words:?}");
    assert!(words[1].ends_with("ada demoted reviews/triage 1.1.0 → 1.0.0: better"), "{words:?}");
    assert!(scene.open().plan_demotion(PROMPT).unwrap_err().to_string().contains("has no promotion"));
}

#[test]
fn a_file_that_was_edited_since_loses_only_the_line() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    scene.promote("reviews/triage@1.1.0");
    let path = scene.user().join(MANIFEST);
    let edited = format!("{}\n[approval]\npersons = 2\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, edited).unwrap();
    let book = scene.open();
    let plan = book.plan_demotion(PROMPT).unwrap();
    assert!(!plan.is_exact);
    book.take_back(&plan, "ada", REASON).unwrap();
    let expected = "# ours\n[current]\n'reviews/triage' = \"1.0.0\" # for now\n\n[approval]\npersons = 2\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn a_book_without_a_manifest_has_none_again_after_the_demotion() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let path = scene.user().join(MANIFEST);
    fs::remove_file(&path).unwrap();
    scene.promote("reviews/triage@1.0.0");
    assert!(path.exists());
    let book = scene.open();
    let plan = book.plan_demotion(PROMPT).unwrap();
    book.take_back(&plan, "ada", REASON).unwrap();
    assert!(!path.exists());
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0", "the newest is current without a manifest");
}

#[test]
fn a_user_without_a_book_promotes_a_version_that_ships() {
    let scene = Scene::new();
    let book = DecidedBook::open(&scene.work, &scene.places, BookChoice::Nearest).unwrap();
    let plan = book.plan_promotion("risk/feedback@1.0.0", InterfaceConsent::MayDiffer).unwrap();
    book.carry_out(&plan, "ada", REASON).unwrap();
    let text = fs::read_to_string(scene.places.book().join(MANIFEST)).unwrap();
    assert!(text.contains("\"risk/feedback\" = \"1.0.0\""), "{text}");
}

#[test]
fn only_a_locked_version_that_fits_is_promoted() {
    let scene = Scene::new();
    let user = scene.user();
    scene.fill(&user);
    assert!(scene.refusal(PROMPT).contains("names no version"));
    assert!(scene.refusal("reviews/triage@9.9.9").contains("has no version `9.9.9`"));
    assert!(scene.refusal("reviews/triage@1.0.0").contains("is the version in use already"));
    scene.write(&user, "1.2.0", "Newer.");
    assert!(scene.refusal("reviews/triage@1.2.0").contains("is not locked"));
    fs::write(user.join(PROMPT).join("1.2.0.prompt"), prompt_text("1.2.0", "patch", "Newer.")).unwrap();
    scene.lock();
    let refusal = scene.refusal("reviews/triage@1.2.0");
    assert!(refusal.contains("it also takes the input patch; it no longer takes the input change"), "{refusal}");
    assert!(scene.open().plan_promotion("reviews/triage@1.2.0", InterfaceConsent::MayDiffer).is_ok());
    scene.write(&user, "1.1.0", "Sort it otherwise.");
    assert!(scene.refusal("reviews/triage@1.1.0").contains("is locked, but"));
}

#[test]
fn a_promotion_in_a_trusted_project_keeps_its_trust_and_gains_none() {
    let scene = Scene::new();
    scene.fill(&scene.own());
    assert!(scene.refusal("reviews/triage@1.1.0").contains("is not trusted; review it with `proem trust` first"));
    scene.trust_all();
    scene.write(&scene.own(), "1.2.0", "From a stranger.");
    assert_eq!(scene.promote("reviews/triage@1.1.0"), TrustEffect::Kept);
    let project = OpenProject::open(&scene.work, &scene.places, BookReading::Trusted).unwrap();
    assert_eq!(project.book().unwrap().current(PROMPT).unwrap(), "1.1.0");
    let untrusted: Vec<&str> = project.untrusted.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(untrusted, [".proem/book/reviews/triage/1.2.0.prompt"], "the stranger's file gained nothing");
    let manifest = scene.own().join(MANIFEST);
    fs::write(&manifest, format!("{}# a stranger's\n", fs::read_to_string(&manifest).unwrap())).unwrap();
    assert!(scene.refusal("reviews/triage@1.0.0").contains("`.proem/book/book.toml` is not trusted"));
}

#[test]
fn after_a_kill_between_the_line_and_the_change_the_command_completes_it() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let before = fs::read(scene.user().join(MANIFEST)).unwrap();
    scene.promote("reviews/triage@1.1.0");
    // The state after a kill: the line is there, the change is not.
    fs::write(scene.user().join(MANIFEST), before).unwrap();
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.0.0");
    scene.promote("reviews/triage@1.1.0");
    assert_eq!(scene.open().book().current(PROMPT).unwrap(), "1.1.0");
    assert_eq!(Journal::load(&scene.user()).unwrap().entries.len(), 1);
}

#[test]
fn a_file_that_somebody_changed_while_a_person_read_is_not_overwritten() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let book = scene.open();
    let plan = book.plan_promotion("reviews/triage@1.1.0", InterfaceConsent::Same).unwrap();
    fs::write(scene.user().join(MANIFEST), "# another\n").unwrap();
    let error = book.carry_out(&plan, "ada", REASON).unwrap_err().to_string();
    assert!(error.contains("was changed meanwhile"), "{error}");
    assert_eq!(fs::read_to_string(scene.user().join(MANIFEST)).unwrap(), "# another\n");
}

#[test]
fn a_hostile_journal_changes_no_more_than_one_version() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    scene.promote("reviews/triage@1.1.0");
    let text = fs::read_to_string(scene.user().join(MANIFEST)).unwrap();
    let restored = "[approval]\npersons = 1\n";
    let edit = ManifestEdit {
        at: 0,
        removed: restored.to_owned(),
        inserted: text.clone(),
        before: Some(sha256_hex(restored.as_bytes())),
        after: sha256_hex(text.as_bytes()),
    };
    let decision = JournalDecision::Promoted { from: "1.0.0".to_owned(), to: "1.1.0".to_owned(), edit };
    scene.open().append(PROMPT, &decision, "eve", REASON).unwrap();
    let error = scene.open().plan_demotion(PROMPT).unwrap_err().to_string();
    assert!(error.contains("would change more than the version"), "{error}");
}

#[test]
fn two_machines_that_decided_from_the_same_state_are_a_conflict_until_a_person_decides() {
    let (here, there) = (Scene::new(), Scene::new());
    for scene in [&here, &there] {
        scene.fill(&scene.user());
        scene.write(&scene.user(), "1.2.0", "Shorter.");
        scene.lock();
    }
    here.promote("reviews/triage@1.1.0");
    there.promote("reviews/triage@1.2.0");
    let theirs = fs::read_to_string(there.user().join(JOURNAL)).unwrap();
    let ours = fs::read_to_string(here.user().join(JOURNAL)).unwrap();
    fs::write(here.user().join(JOURNAL), ours + &theirs).unwrap();
    let conflicts = Journal::load(&here.user()).unwrap().conflicts();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    let error = here.open().plan_demotion(PROMPT).unwrap_err().to_string();
    assert!(error.contains("two decisions about reviews/triage"), "{error}");
    here.promote("reviews/triage@1.2.0");
    assert_eq!(Journal::load(&here.user()).unwrap().conflicts(), []);
}

#[test]
fn proposals_and_journals_are_no_prompts() {
    let scene = Scene::new();
    scene.fill(&scene.own());
    let proposed = scene.own().join("proposed/0123456789abcdef/reviews/other");
    fs::create_dir_all(&proposed).unwrap();
    fs::write(proposed.join("1.0.0.prompt"), "not a prompt {{").unwrap();
    fs::write(scene.own().join(JOURNAL), "not json\n").unwrap();
    let layer = read_book(&scene.own(), Origin::Project).unwrap().unwrap();
    assert!(layer.files.keys().all(|path| !path.contains("proposed") && !path.contains(JOURNAL)), "{layer:?}");
    assert_eq!(Book::new(vec![layer]).unwrap().prompts().len(), 1);
    let candidates = Candidates::read(&scene.work);
    assert!(candidates.files.iter().all(|file| !file.path.contains("proposed")), "nobody is asked to trust one");
    scene.lock();
}

#[test]
fn a_run_that_was_set_up_before_a_promotion_keeps_its_version() {
    let scene = Scene::new();
    scene.fill(&scene.user());
    let options = RunOptions { carriage: Carriage::Nobody, ..RunOptions::of(PROMPT.to_owned()) };
    let set_up = || {
        let mut project = OpenProject::open(&scene.work, &scene.places, BookReading::Trusted).unwrap();
        RunSetting::new(&options, &mut project).unwrap()
    };
    let open = set_up();
    scene.promote("reviews/triage@1.1.0");
    let inputs = serde_json::json!({ "change": "x" }).into();
    let text = |setting: &RunSetting| setting.prepare(&inputs).unwrap().request.assembly.text();
    assert!(text(&open).contains("Sort the change."), "{}", text(&open));
    assert!(text(&set_up()).contains("Sort the change by severity."));
}
