//! Experiments: who meets which version, what is counted, and how one ends. The server's log is the oracle of what was
//! sent.

use std::collections::BTreeMap;
use std::fs;

use proem_app::book::experiments::measures::experiment_measures;
use proem_app::book::experiments::starts::{ExperimentStart, ExperimentStarts, start_experiment, stop_experiment};
use proem_app::book::experiments::status::{ExperimentStatus, ExperimentVerdict, experiment_status};
use proem_app::book::experiments::{assign_versions, recorded_assignments};
use proem_app::book::lock::{find_books, lock_book};
use proem_app::book::version_figures::version_figures;
use proem_app::message::Note;
use proem_app::run::batch::{Batch, BatchEvent, Watcher, run_batch};
use proem_app::run::input::{InputForm, InputReading, Source};
use proem_app::run::line_versions::RunSubject;
use proem_app::run::options::RunOptions;
use proem_app::run::setting::RunSetting;
use proem_app::{Error, records};
use proem_engine::run::Time;
use proem_llm::scripted::{Reply, ScriptedServer, ServerScript};
use proem_store::query::RunScope;
use proem_store::record::{Actor, ActorKind, NewFeedback};
use proem_store::{Store, StoreAccess};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Home;

/// A day in June 2026.
const NOW: Time = Time(1_780_000_000_000);

const DECLARED: &str = "[current]
\"me/ask\" = \"1.0.0\"

[experiments.shorter]
prompt = \"me/ask\"
versions = { \"1.0.0\" = 0.5, \"1.1.0\" = 0.5 }
outcome = \"first-attempt\"
better = \"higher\"
smallest_difference = 0.02
guardrails = [{ outcome = \"feedback\", worse_by = 0.05 }]
";

struct Scene {
    home: Home,
    _server: ScriptedServer,
}

impl Scene {
    fn new(answers: usize) -> Self {
        let server = ScriptedServer::start(ServerScript::of(vec![Reply::text("Because."); answers])).unwrap();
        let home = Home::with(&format!("[providers.local]\nbase_url = \"{}/v1\"\n", server.base_url()));
        home.book("me/ask/1.0.0.prompt", crate::asynchronous::ASK);
        home.book("me/ask/1.1.0.prompt", &second());
        home.book("book.toml", DECLARED);
        let scene = Self { home, _server: server };
        scene.lock();
        scene
    }

    fn lock(&self) {
        for target in find_books(&self.home.work, &self.home.places).unwrap() {
            lock_book(&target).unwrap();
        }
    }

    async fn store(&self, access: StoreAccess) -> Store {
        records::open_records(&self.home.project(), access).await.unwrap().store
    }

    async fn start(&self, name: &str) -> Result<ExperimentStart, Error> {
        let store = self.store(StoreAccess::Write).await;
        let started = start_experiment(&self.home.project(), &store, name, ("ada", NOW)).await;
        store.close().await;
        started
    }

    /// Runs the prompt for a subject: the version that answered, and the notes.
    async fn run(&self, subject: &str) -> (String, Vec<Note>) {
        let options = RunOptions {
            provider: Some("local".to_owned()),
            model: Some("llama3.1".to_owned()),
            ..RunOptions::of("me/ask".to_owned())
        };
        let mut project = self.home.project();
        let setting = RunSetting::new(&options, &mut project).unwrap();
        let setting = setting.in_experiment(subject, &options, &mut project).unwrap();
        let mut notes = project.notes.clone();
        let booking = setting.book(&options, &project, &mut notes).await.unwrap();
        let run = setting.begin(booking, &options, &project, &mut notes).await.unwrap();
        run.ask(&json!({ "question": "Why?" }).into(), None, &CancellationToken::new()).await.unwrap();
        let version = run.setting().prompt.id.version.clone();
        notes.extend(run.end().await);
        (version, notes)
    }

    /// Runs a batch with these lines, whose question is the subject: each line's version, or why nothing was asked.
    async fn batch(&self, questions: &[&str]) -> Vec<String> {
        let options = RunOptions {
            provider: Some("local".to_owned()),
            model: Some("llama3.1".to_owned()),
            ..RunOptions::of("me/ask".to_owned())
        };
        let mut project = self.home.project();
        let setting = RunSetting::new(&options, &mut project).unwrap();
        let form = InputForm::of(&setting.prompt, InputReading::Detected).unwrap();
        let mut notes = Vec::new();
        let booking = setting.book(&options, &project, &mut notes).await.unwrap();
        let run = setting.begin(booking, &options, &project, &mut notes).await.unwrap();
        let subject = RunSubject::Field("question".to_owned());
        let run = run.with_subjects(subject, &options, &project, &mut notes).await.unwrap();
        let lines: String = questions.iter().map(|question| format!("{}\n", json!({ "question": question }))).collect();
        let results = std::cell::RefCell::new(Vec::new());
        let tell = |happened: BatchEvent<'_>| {
            if let BatchEvent::Result(text) = happened {
                let result: serde_json::Value = serde_json::from_str(text).unwrap();
                let told = result.get("error").unwrap_or(&result["version"]);
                results.borrow_mut().push(told.as_str().unwrap().to_owned());
            }
            Ok(())
        };
        let batch =
            Batch { from: Source::Reader("the lines", Box::new(lines.as_bytes())), form: &form, texts: &[], out: None };
        let watcher = Watcher { form: &proem_text::json::compact, tell: &tell };
        run_batch(&run, batch, watcher, &CancellationToken::new()).await.unwrap().finish().unwrap();
        run.end().await;
        results.into_inner()
    }

    /// A person's verdict on the newest run.
    async fn judge(&self, verdict: &str) {
        let store = self.store(StoreAccess::Write).await;
        let run = store.find(None, RunScope::Any, "last").await.unwrap();
        let actor = Actor { kind: ActorKind::Person, id: "ada".to_owned(), channel: "terminal".to_owned() };
        let feedback =
            NewFeedback { run, actor, at: NOW, verdict: verdict.to_owned(), note: String::new(), evaluation: None };
        store.feedback(feedback).await.unwrap();
        store.close().await;
    }

    async fn status(&self) -> ExperimentStatus {
        let project = self.home.project();
        let starts = ExperimentStarts::load(&project.places).unwrap();
        let start = starts.last(&project.key, "shorter").unwrap();
        let store = self.store(StoreAccess::Read).await;
        let measured = experiment_measures(&store, &project, start).await.unwrap();
        store.close().await;
        experiment_status(start, &measured)
    }
}

fn second() -> String {
    crate::asynchronous::ASK.replace("1.0.0", "1.1.0").replace("question}}", "question}} Be brief.")
}

fn texts(notes: &[Note]) -> String {
    notes.iter().map(|note| note.message.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_subject_always_meets_the_same_version_and_its_run_says_so() {
    let scene = Scene::new(40);
    let (before, _) = scene.run("TICKET-0").await;
    assert_eq!(before, "1.0.0", "nothing runs before a person starts it");
    scene.start("shorter").await.unwrap();
    let mut versions = Vec::new();
    for subject in (0..8).chain(0..8) {
        versions.push(scene.run(&format!("TICKET-{subject}")).await.0);
    }
    assert_eq!(versions[..8], versions[8..]);
    assert!(versions.iter().any(|version| version == "1.1.0") && versions.iter().any(|version| version == "1.0.0"));
    let store = scene.store(StoreAccess::Read).await;
    let newest = store.run(&store.find(None, RunScope::Any, "last").await.unwrap()).await.unwrap();
    store.close().await;
    let assigned = recorded_assignments(&newest.settings);
    assert_eq!((assigned.len(), assigned[0].version.as_str()), (1, newest.row.prompt.version.as_str()));
    assert!(!newest.settings.to_string().contains("TICKET"), "only the subject's hash is kept");
    let store = scene.store(StoreAccess::Read).await;
    let figures = version_figures(&store, &scene.home.project(), Some("me/ask")).await.unwrap();
    store.close().await;
    let runs = |name: &str| {
        let of = figures.iter().flat_map(|version| version.figures.iter().find(|figure| figure.name == name));
        of.map(|figure| figure.n).sum::<u64>()
    };
    assert_eq!((figures.len(), runs("contract at the first attempt"), runs("good feedback")), (2, 17, 0));
    let status = scene.status().await;
    assert_eq!(status.base.runs + status.others[0].of.runs, 16);
    assert_eq!(status.base.subjects + status.others[0].of.subjects, 8, "a subject counts once");
    assert_eq!(status.others[0].verdict, ExperimentVerdict::NotYet);
}

#[tokio::test]
async fn a_named_version_is_no_part_of_an_experiment() {
    let scene = Scene::new(4);
    scene.start("shorter").await.unwrap();
    let mut project = scene.home.project();
    let options = RunOptions {
        provider: Some("local".to_owned()),
        model: Some("llama3.1".to_owned()),
        ..RunOptions::of("me/ask@1.1.0".to_owned())
    };
    let setting = RunSetting::new(&options, &mut project).unwrap();
    let setting = setting.in_experiment("TICKET-0", &options, &mut project).unwrap();
    assert_eq!(setting.prompt.id.version, "1.1.0");
    assert!(project.book().unwrap().assignments_of(&[&setting.prompt]).len() <= 1);
    assert_eq!(scene.status().await.others[0].of.runs, 0);
}

#[tokio::test]
async fn a_broken_guardrail_leads_everybody_back_to_the_version_in_use() {
    let scene = Scene::new(120);
    scene.start("shorter").await.unwrap();
    let mut notes = String::new();
    for subject in 0..100 {
        let (version, told) = scene.run(&format!("TICKET-{subject}")).await;
        notes.push_str(&texts(&told));
        if notes.contains("stopped the experiment") {
            break;
        }
        scene.judge(if version == "1.0.0" { "good" } else { "bad" }).await;
    }
    assert!(
        notes.contains(
            "the guardrail `feedback` stopped the experiment `shorter` because of 1.1.0; from the next run on, 1.0.0 answers"
        ),
        "{notes}"
    );
    for subject in 0..20 {
        assert_eq!(scene.run(&format!("TICKET-{subject}")).await.0, "1.0.0");
    }
    assert_eq!(scene.status().await.stopped.as_deref(), Some("guardrail feedback"));
    let journal = fs::read_to_string(scene.home.places.book().join("journal.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 1, "a journal has persons' decisions: {journal}");
}

#[tokio::test]
async fn a_second_verdict_replaces_the_first_and_a_late_one_counts_for_the_start_of_its_run() {
    let scene = Scene::new(10);
    scene.home.book("book.toml", &DECLARED.replace("first-attempt", "feedback").replace("guardrails", "#"));
    scene.start("shorter").await.unwrap();
    scene.run("TICKET-0").await;
    scene.judge("good").await;
    scene.judge("bad").await;
    let means = |status: ExperimentStatus| {
        let of = [status.base, status.others[0].of.clone()];
        of.iter().filter_map(|of| of.mean).collect::<Vec<f64>>()
    };
    assert_eq!(means(scene.status().await), [0.0]);
    stop_experiment(&scene.home.project(), "shorter", ("ada", NOW), "enough").unwrap();
    scene.judge("good").await;
    assert_eq!(means(scene.status().await), [1.0], "late, and of the ended start");
    // The clock of the second start is a year behind.
    let store = scene.store(StoreAccess::Write).await;
    let past = Time(NOW.0 - 31_536_000_000);
    let again = start_experiment(&scene.home.project(), &store, "shorter", ("ada", past)).await.unwrap();
    store.close().await;
    assert_eq!(again.begun.at, NOW.0 + 1, "no two starts have one name");
    scene.judge("bad").await;
    assert_eq!(means(scene.status().await), [0.0; 0], "nothing of it belongs to the next start");
}

#[tokio::test]
async fn an_experiment_that_may_not_run_is_refused_with_the_remedy() {
    let scene = Scene::new(4);
    for (declared, expected) in [
        (format!("{DECLARED}until = \"2020-01-01\"\n"), "experiments.shorter.until is 2020-01-01, and today is 2026-"),
        (
            DECLARED.replace("\"feedback\"", "\"cost\""),
            "`cost` needs 20 earlier runs of me/ask@1.0.0 with a known amount above 0 to be measured against, and there are 0",
        ),
        (DECLARED.replace("shorter", "longer"), "no experiment `shorter` in book.toml; it has longer"),
    ] {
        scene.home.book("book.toml", &declared);
        let error = scene.start("shorter").await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let other = DECLARED.split("[experiments").nth(1).unwrap().replace(".shorter", ".other");
    scene.home.book("book.toml", &format!("{DECLARED}\n[experiments{other}"));
    scene.start("shorter").await.unwrap();
    let error = scene.start("other").await.unwrap_err().to_string();
    assert!(error.contains("already runs on `me/ask`, and a subject can be in one at a time"), "{error}");
    let error = stop_experiment(&scene.home.project(), "other", ("ada", NOW), "why").unwrap_err().to_string();
    assert!(error.contains("`other` was not started in this project (started: shorter)"), "{error}");
}

#[tokio::test]
async fn a_version_that_is_edited_or_unlocked_answers_nobody() {
    let scene = Scene::new(8);
    scene.home.book("me/ask/1.1.0.prompt", &second().replace("brief", "long"));
    let error = scene.start("shorter").await.unwrap_err().to_string();
    assert!(error.contains("1.1.0"), "{error}");
    scene.home.book("me/ask/1.1.0.prompt", &second());
    scene.start("shorter").await.unwrap();
    scene.home.book("me/ask/1.1.0.prompt", &second().replace("brief", "long"));
    for subject in 0..4 {
        let (version, notes) = scene.run(&format!("TICKET-{subject}")).await;
        assert_eq!(version, "1.0.0");
        assert!(
            texts(&notes).contains("the experiment `shorter` is ignored, and the version in use answers"),
            "{}",
            texts(&notes)
        );
    }
}

#[tokio::test]
async fn a_repositorys_journal_and_declaration_start_nothing() {
    let scene = Scene::new(4);
    scene.home.book("book.toml", "");
    scene.home.write(".proem/book/book.toml", DECLARED);
    let started = "{\"at\":\"2026-01-01T00:00:00Z\",\"by\":\"ada\",\"about\":\"me/ask\",\
                   \"decision\":{\"kind\":\"experiment-started\",\"experiment\":\"shorter\"}}\n";
    scene.home.write(".proem/book/journal.jsonl", started);
    let error = scene.start("shorter").await.unwrap_err().to_string();
    assert!(error.contains("no experiment `shorter` in book.toml; it declares none"), "{error}");
    let mut project = scene.home.project();
    assign_versions(&mut project, "TICKET-0").unwrap();
    assert_eq!(project.assignments, []);
}

#[tokio::test]
async fn each_line_of_a_batch_meets_the_version_of_its_own_subject() {
    let scene = Scene::new(40);
    assert_eq!(scene.batch(&["T-0", "T-1"]).await, ["1.0.0", "1.0.0"], "nothing runs yet");
    scene.start("shorter").await.unwrap();
    let subjects: Vec<String> = (0..8).map(|subject| format!("T-{subject}")).collect();
    let mut alone = Vec::new();
    for subject in &subjects {
        alone.push(scene.run(subject).await.0);
    }
    let lines: Vec<&str> = subjects.iter().map(String::as_str).collect();
    assert_eq!(scene.batch(&lines).await, alone);
    assert_eq!(scene.batch(&lines[4..]).await, alone[4..], "a batch that goes on asks with the same versions");
    let status = scene.status().await;
    assert_eq!((status.base.runs + status.others[0].of.runs, status.base.subjects > 0), (20, true));
    assert_eq!(status.base.subjects + status.others[0].of.subjects, 8, "each line's subject is its own");
    let without = scene.batch(&[" "]).await;
    assert_eq!(without, ["the input `question`, which names the subject of each run, is neither a text nor a number"]);
}

#[tokio::test]
async fn an_open_run_keeps_its_version_when_the_experiment_stops_and_another_version_is_promoted() {
    let scene = Scene::new(10);
    scene.start("shorter").await.unwrap();
    let options = RunOptions {
        provider: Some("local".to_owned()),
        model: Some("llama3.1".to_owned()),
        ..RunOptions::of("me/ask".to_owned())
    };
    let mut project = scene.home.project();
    let mut chosen = BTreeMap::new();
    for subject in 0..12 {
        let setting = RunSetting::new(&options, &mut project).unwrap();
        let setting = setting.in_experiment(&format!("T-{subject}"), &options, &mut project).unwrap();
        chosen.entry(setting.prompt.id.version.clone()).or_insert(setting);
    }
    assert_eq!(chosen.keys().collect::<Vec<_>>(), ["1.0.0", "1.1.0"]);
    stop_experiment(&scene.home.project(), "shorter", ("ada", NOW), "enough").unwrap();
    scene.home.book("book.toml", &DECLARED.replace("\"me/ask\" = \"1.0.0\"", "\"me/ask\" = \"1.1.0\""));
    for (version, setting) in chosen {
        let mut notes = Vec::new();
        let booking = setting.book(&options, &project, &mut notes).await.unwrap();
        let run = setting.begin(booking, &options, &project, &mut notes).await.unwrap();
        run.ask(&json!({ "question": "Why?" }).into(), None, &CancellationToken::new()).await.unwrap();
        run.end().await;
        let store = scene.store(StoreAccess::Read).await;
        let id = store.find(None, RunScope::Any, "last").await.unwrap();
        let detail = store.run(&id).await.unwrap();
        assert_eq!(detail.row.prompt.version, version);
        assert_eq!(recorded_assignments(&detail.settings)[0].version, version);
        store.close().await;
    }
    let status = scene.status().await;
    assert_eq!((status.base.runs, status.others[0].of.runs), (1, 1), "they count for the start that chose for them");
    assert_eq!(scene.run("T-0").await.0, "1.1.0");
}

#[tokio::test]
async fn a_clock_that_jumps_ahead_and_back_gives_each_start_its_own_runs() {
    let scene = Scene::new(10);
    let store = scene.store(StoreAccess::Write).await;
    let ahead = Time(NOW.0 + 10 * 31_536_000_000);
    let first = start_experiment(&scene.home.project(), &store, "shorter", ("ada", ahead)).await.unwrap();
    store.close().await;
    scene.run("T-0").await;
    stop_experiment(&scene.home.project(), "shorter", ("ada", NOW), "the clock was wrong").unwrap();
    let second = scene.start("shorter").await.unwrap();
    assert_eq!(second.begun.at, first.begun.at + 1);
    scene.run("T-0").await;
    let status = scene.status().await;
    assert_eq!(status.base.runs + status.others[0].of.runs, 1);
}
