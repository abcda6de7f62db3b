//! Projects of their own with real records, a provider on loopback, and the use cases that the commands call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proem_app::places::{Channel, Places};
use proem_app::project::OpenProject;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::triage::charter::CHARTER;
use proem_app::triage::models::{TriageModelOptions, TriageRun, open_triage_run};
use proem_app::triage::normalise::NormaliseOptions;
use proem_app::triage::{AskingTerms, CycleReport, TriageDesk};
use proem_app::trust::TrustStore;
use proem_app::{records, when};
use proem_engine::effect::ActionState;
use proem_engine::ledger::ModelMix;
use proem_engine::policy::{AutonomyLevel, Policy};
use proem_engine::run::Time;
use proem_guard::show;
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_store::query::{ActionRow, ActionsWanted, EscalationRow, QuarantinedItem, SignalRow};
use proem_store::record::{Actor, ActorKind, EffectsPower, EffectsSwitch};
use proem_store::{OpenedStore, StoreAccess};
use proem_triage::plan::ArtefactSet;
use proem_triage::{ProjectSignal, sanitise_signal};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::answers::{KnownSignals, Temper, temper_answer};
use crate::triage::model_report::{NOW, read_scenario_signal, scenario_charter};
use crate::triage::scenarios::{Scenario, SignalMeaning, standing_blocker};
use crate::triage::stage_bench::StageBench;

/// The most signals that are read back.
const ALL: u64 = 1_000;

/// The server's present script: the temper, and the signals.
type Script = Arc<Mutex<Option<(Temper, KnownSignals)>>>;

/// A user with records of their own, and a provider that answers as it is told.
pub(super) struct TemperBench<'s> {
    places: Places,
    work: PathBuf,
    server: ScriptedServer,
    script: Script,
    stages: &'s StageBench,
    _folder: TempDir,
}

/// The signals that arrive at once.
pub(super) struct ArrivedSignals {
    /// As systems sent it.
    pub(super) documents: Vec<Json>,
    /// When it is read.
    pub(super) now: Time,
    /// A model's possible knowledge of it.
    pub(super) known: KnownSignals,
}

/// A cycle with what it left in the records.
pub(super) struct RecordedCycle {
    pub(super) report: CycleReport,
    /// The ids of the signals that were given.
    pub(super) given: Vec<String>,
    pub(super) signals: Vec<SignalRow>,
    pub(super) questions: Vec<EscalationRow>,
    pub(super) actions: Vec<ActionRow>,
    pub(super) kept_out: Vec<QuarantinedItem>,
    /// The artefacts as they were before the cycle.
    pub(super) before: ArtefactSet,
    pub(super) after: ArtefactSet,
    /// The policy in force.
    pub(super) policy: Policy,
    /// Whether anything left.
    pub(super) has_outbox: bool,
}

fn error_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<'s> TemperBench<'s> {
    pub(super) fn new(stages: &'s StageBench) -> Result<Self, String> {
        let folder = TempDir::new().map_err(error_words)?;
        let base = folder.path().canonicalize().map_err(error_words)?;
        let [config, state, cache, work] = ["config", "state", "cache", "work"].map(|name| base.join(name));
        for folder in [&config, &state, &cache, &work] {
            fs::create_dir(folder).map_err(error_words)?;
        }
        let script = Script::default();
        let told = Arc::clone(&script);
        let server = ScriptedServer::answering(move |request| {
            let told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.as_ref()
                .map_or_else(|| Reply::raw(500, "{}"), |(temper, known)| temper_answer(*temper, request, known))
        });
        let places = Places { config, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
        Ok(Self { places, work, server: server.map_err(error_words)?, script, stages, _folder: folder })
    }

    /// A scenario at a level, behind a cycle of rules that noted a blocker.
    pub(super) fn run(
        &self,
        scenario: &Scenario,
        level: AutonomyLevel,
        temper: Option<Temper>,
    ) -> Result<RecordedCycle, String> {
        let name = format!("{}-{}-{}", scenario.name, level.as_str(), temper.map_or("none", Temper::as_str));
        let root = self.project(&name, &scenario_charter(AutonomyLevel::Artefact), scenario.mix)?;
        let before = ArrivedSignals { documents: vec![standing_blocker()], now: NOW, known: KnownSignals::default() };
        self.cycle(&root, None, &before)?;
        self.trust(&root, &scenario_charter(level))?;
        let documents = scenario.signals.iter().map(|(document, _)| document.clone()).collect();
        let mut known = KnownSignals::default();
        for (document, meant) in &scenario.signals {
            self.tell(&read_scenario_signal(document)?, *meant, &mut known);
        }
        self.cycle(&root, temper, &ArrivedSignals { documents, now: NOW, known })
    }

    /// Gives a model its knowledge of a signal.
    pub(super) fn tell(&self, signal: &ProjectSignal, meant: SignalMeaning, known: &mut KnownSignals) {
        let text = sanitise_signal(signal, self.stages.screening()).content();
        let text = show::exact_json(&text).as_str().unwrap_or_default().to_owned();
        known.meant.insert(signal.id.clone(), meant);
        known.texts.insert(signal.id.clone(), text);
    }

    /// A project with a file that its user vouched for, and effects switched on.
    pub(super) fn project(&self, name: &str, charter: &str, mix: ModelMix) -> Result<PathBuf, String> {
        let root = self.work.join(name.replace(' ', "-"));
        self.configure(mix)?;
        self.trust(&root, charter)?;
        let project = OpenProject::without_book(&root, &self.places).map_err(error_words)?;
        records::runtime().map_err(error_words)?.block_on(switch_on(&project))?;
        Ok(root)
    }

    fn configure(&self, mix: ModelMix) -> Result<(), String> {
        let address = self.server.address();
        // From the first cent on a day like the eighth scenario's.
        let steps = match mix {
            ModelMix::SmallOnly => "[budget.agent.triage]\nsteps = [{ from = 0, models = \"small-only\" }]\n",
            _ => "",
        };
        let text = format!(
            "[providers.anthropic]\nbase_url = \"http://{address}\"\n\n[triage]\nmodels = true\nretries = 0\n\n{steps}"
        );
        fs::write(self.places.config.join("config.toml"), text).map_err(error_words)
    }

    /// Writes the project's file and vouches for it.
    fn trust(&self, root: &Path, charter: &str) -> Result<(), String> {
        let file = root.join(CHARTER);
        fs::create_dir_all(file.parent().unwrap_or(root)).map_err(error_words)?;
        fs::write(&file, charter).map_err(error_words)?;
        let project = OpenProject::without_book(root, &self.places).map_err(error_words)?;
        let trusted = [(CHARTER.to_owned(), charter.as_bytes().to_vec())];
        TrustStore::new(self.places.state.clone()).trust(&project.key, &trusted).map_err(error_words)
    }

    /// A cycle, with a model of a temper or without one.
    pub(super) fn cycle(
        &self,
        root: &Path,
        temper: Option<Temper>,
        arrived: &ArrivedSignals,
    ) -> Result<RecordedCycle, String> {
        *self.script.lock().map_err(error_words)? = temper.map(|temper| (temper, arrived.known.clone()));
        let options = TriageModelOptions {
            carriage: Carriage::Network,
            most: None,
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
        };
        let (project, models) = match temper {
            Some(_) => open_triage_run(root, &self.places, &options).map_err(error_words)?,
            None => (OpenProject::without_book(root, &self.places).map_err(error_words)?, None),
        };
        if temper.is_some() && models.is_none() {
            return Err("no model can be asked".to_owned());
        }
        let models = models.map(|run| (run, options));
        records::runtime().map_err(error_words)?.block_on(self.recorded(&project, models, arrived))
    }

    async fn recorded(
        &self,
        project: &OpenProject,
        models: Option<(TriageRun, TriageModelOptions)>,
        arrived: &ArrivedSignals,
    ) -> Result<RecordedCycle, String> {
        let desk =
            TriageDesk::open(project, StoreAccess::Write).await.map_err(error_words)?.value.at_moment(arrived.now);
        let before = desk.artefacts().await.map_err(error_words)?;
        for document in &arrived.documents {
            take_document_in(&desk, document, arrived.now).await?;
        }
        let report = match models {
            None => desk.work(&mut |_| {}).await,
            Some((mut run, options)) => {
                let stop = CancellationToken::new();
                let asking = AskingTerms { run: &mut run, options: &options, stop: &stop };
                desk.work_asking(asking, &mut Vec::new(), &mut |_| {}).await
            }
        };
        let report = report.map_err(error_words)?;
        let after = desk.artefacts().await.map_err(error_words)?;
        let policy = desk.desk.policy.clone();
        desk.close().await;
        let OpenedStore { store, .. } = records::open_records(project, StoreAccess::Read).await.map_err(error_words)?;
        let owner = records::records_owner(project);
        let wanted = ActionsWanted {
            project: Some(owner.clone()),
            states: ActionState::ALL.to_vec(),
            ..ActionsWanted::default()
        };
        Ok(RecordedCycle {
            report,
            given: arrived.known.texts.keys().cloned().collect(),
            signals: store.signals(&owner, 0, ALL).await.map_err(error_words)?,
            questions: store.escalations(&owner, None).await.map_err(error_words)?,
            actions: store.actions(&wanted).await.map_err(error_words)?,
            kept_out: store.quarantined(&owner, None).await.map_err(error_words)?,
            before,
            after,
            policy,
            has_outbox: self.places.state.join("outbox").exists(),
        })
    }
}

/// Switches effects on, as a person does.
async fn switch_on(project: &OpenProject) -> Result<(), String> {
    let OpenedStore { store, .. } = records::open_records(project, StoreAccess::Write).await.map_err(error_words)?;
    let actor = Actor { kind: ActorKind::Person, id: "lab".to_owned(), channel: "terminal".to_owned() };
    let owner = records::records_owner(project);
    let switch = EffectsSwitch { project: owner, actor, at: when::time_now(), power: EffectsPower::On };
    store.switch_effects(switch).await.map_err(error_words)?;
    store.close().await;
    Ok(())
}

async fn take_document_in(desk: &TriageDesk<'_>, document: &Json, now: Time) -> Result<(), String> {
    let read = NormaliseOptions::of_project(&desk.charter, now).read_stream(document.to_string().as_bytes());
    desk.take_in(&read.map_err(error_words)?).await.map(|_| ()).map_err(error_words)
}
