//! A project whose signals are triaged through the use cases, in the test's own process. Without a model.

use std::fs;
use std::path::PathBuf;

use proem_app::Error;
use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::triage::charter::CHARTER;
use proem_app::triage::normalise::NormaliseOptions;
use proem_app::triage::output::{TriageOutput, TriageSignalsOutput, TriageStatusOutput};
use proem_app::triage::{IntakeCounts, TriageDesk};
use proem_app::trust::TrustStore;
use proem_app::{records, when};
use proem_engine::run::Time;
use proem_store::StoreAccess;
use proem_store::query::EscalationRow;
use proem_store::record::EscalationState;
use proem_triage::artefact::ArtefactKind;
use rusqlite::Connection;
use serde_json::{Value as Json, json};

/// A user, and the folder of the project.
#[derive(Debug, Clone)]
pub(crate) struct TriageScene {
    pub(crate) places: Places,
    pub(crate) folder: PathBuf,
    /// The time of cycles, if that is not the clock's.
    pub(crate) moment: Option<Time>,
}

impl TriageScene {
    /// Writes the project's own file, which a person trusts.
    pub(crate) fn trust_charter(&self, charter: &str) {
        let file = self.folder.join(CHARTER);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, charter).unwrap();
        let trusted = [(CHARTER.to_owned(), charter.as_bytes().to_vec())];
        TrustStore::new(self.places.state.clone()).trust(&self.project().key, &trusted).unwrap();
    }

    pub(crate) fn project(&self) -> OpenProject {
        OpenProject::without_book(&self.folder, &self.places).unwrap()
    }

    /// Works at the project's desk.
    pub(crate) fn at_triage<T>(&self, work: impl AsyncFnOnce(&TriageDesk<'_>) -> Result<T, Error>) -> T {
        self.at_triage_with(StoreAccess::Write, work)
    }

    fn at_triage_with<T>(&self, access: StoreAccess, work: impl AsyncFnOnce(&TriageDesk<'_>) -> Result<T, Error>) -> T {
        let project = self.project();
        let done = records::blocking(async {
            let desk = TriageDesk::open(&project, access).await?.value;
            let desk = if let Some(moment) = self.moment { desk.at_moment(moment) } else { desk };
            let done = work(&desk).await;
            desk.close().await;
            done
        });
        done.unwrap()
    }

    /// Takes files of the project's folder in, and works on all that is open. The report as programs get it.
    pub(crate) fn take_files(&self, files: &[&str]) -> Json {
        self.at_triage(async |desk| {
            let now = self.moment.unwrap_or_else(when::time_now);
            let options = NormaliseOptions::of_project(&desk.charter, now);
            let mut counts = IntakeCounts::default();
            for file in files {
                for part in options.open(&self.folder.join(file))?.parts()? {
                    counts = counts.and(desk.take_in(&part).await?);
                }
            }
            let report = desk.work(&mut |_| {}).await?;
            Ok(json!(TriageOutput::new(Some(counts), &report)))
        })
    }

    /// Takes signals in, a line each, and works on them.
    pub(crate) fn take_signals(&self, signals: &[Json]) -> Json {
        let lines: Vec<String> = signals.iter().map(Json::to_string).collect();
        self.write("signals.jsonl", lines.join("\n"));
        self.take_files(&["signals.jsonl"])
    }

    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.join(file), content).unwrap();
    }

    /// An artefact as programs get it, by its name, such as `raid-log`.
    pub(crate) fn artefact(&self, name: &str) -> Json {
        let kind = ArtefactKind::ALL.into_iter().find(|kind| kind.as_str().replace('_', "-") == name).unwrap();
        self.at_triage_with(StoreAccess::Read, async |desk| {
            let report = desk.artefact_report(&[kind]).await?;
            Ok(report.artefacts.first().unwrap().to_json(Some(&report.figures)))
        })
    }

    /// Every signal with what became of it, as programs get it.
    pub(crate) fn signals(&self) -> Vec<Json> {
        let since = Time(0);
        let listed =
            self.at_triage(async |desk| Ok(json!(TriageSignalsOutput::new(since, &desk.signal_entries(since).await?))));
        listed["signals"].as_array().unwrap().clone()
    }

    /// The state of triage as programs get it.
    pub(crate) fn status(&self) -> Json {
        // The first one who writes makes the records.
        let access = if self.places.records().exists() { StoreAccess::Read } else { StoreAccess::Write };
        self.at_triage_with(access, async |desk| Ok(json!(TriageStatusOutput::new(desk, &desk.status().await?))))
    }

    /// The first column of SQLite's answer about the records.
    pub(crate) fn first_column(&self, statement: &str) -> Vec<String> {
        let connection = Connection::open(self.places.records()).unwrap();
        let mut query = connection.prepare(statement).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    /// The texts of the questions that are open, as they are written down.
    pub(crate) fn open_reasons(&self) -> Vec<String> {
        self.first_column("SELECT reason FROM escalations WHERE state = 'open'")
    }

    /// The signals of a report of which nothing that is written down says what became of them.
    pub(crate) fn untold_signals(&self, report: &Json) -> Vec<String> {
        let (open, changed) = (self.open_reasons(), changed_items(report));
        let kept = self.first_column("SELECT signal FROM quarantined");
        let forms = "SELECT CAST(contents.bytes AS TEXT) FROM contents JOIN actions ON actions.form = contents.hash";
        let actions = self.first_column(forms);
        let is_told = |signal: &Json| {
            let id = signal["id"].as_str().unwrap();
            let mut about = signal["items"].as_array().unwrap().iter().filter_map(Json::as_str);
            match signal["outcome"].as_str().unwrap() {
                "incorporated" => about.any(|item| changed.contains(&item)),
                "escalated" => open.iter().any(|question| question.contains(id)),
                "commented" | "drafted" => actions.iter().any(|action| action.contains(id)),
                "kept-out" => kept.iter().any(|known| known == id),
                "logged" => signal["category"].is_string() && signal["basis"].is_string(),
                _ => false,
            }
        };
        let signals = report["signals"].as_array().unwrap().iter().filter(|signal| !is_told(signal));
        signals.map(|signal| format!("{} {}", signal["id"], signal["outcome"])).collect()
    }

    /// The questions in a state, or all of them.
    pub(crate) fn questions(&self, state: Option<EscalationState>) -> Vec<EscalationRow> {
        self.at_triage_with(StoreAccess::Read, async |desk| desk.desk.escalations(state).await)
    }
}

/// The outcome of each signal of a report.
pub(crate) fn signal_outcomes(report: &Json) -> Vec<String> {
    let signals = report["signals"].as_array().unwrap().iter();
    let text = |signal: &Json, name: &str| signal[name].as_str().unwrap().to_owned();
    let words = ["outcome", "category", "importance"];
    signals.map(|signal| words.map(|name| text(signal, name)).join(" ")).collect()
}

/// The items that changed.
pub(crate) fn changed_items(report: &Json) -> Vec<&str> {
    let changes = report["changes"].as_array().unwrap().iter();
    changes.flat_map(|change| change["items"].as_array().unwrap()).filter_map(Json::as_str).collect()
}
