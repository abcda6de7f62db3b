//! Projects of their own with real records, a provider on loopback, and the use cases that the commands call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use proem_agents::triage::charter::ProjectCharter;
use proem_agents::triage::plan::ArtefactSet;
use proem_agents::triage::sanitise;
use proem_app::places::{Channel, Places};
use proem_app::project::OpenProject;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::triage::charter::CHARTER;
use proem_app::triage::models::{TriageModelOptions, TriageRun, opened};
use proem_app::triage::normalise::NormaliseOptions;
use proem_app::triage::{AskingTerms, CycleReport, TriageDesk};
use proem_app::trust::TrustStore;
use proem_app::{records, when};
use proem_engine::effect::ActionState;
use proem_engine::ledger::ModelMix;
use proem_engine::policy::{AutonomyLevel, Policy};
use proem_guard::show;
use proem_llm::scripted::{Reply, ScriptedServer};
use proem_store::query::{ActionRow, ActionsWanted, EscalationRow, QuarantinedItem, SignalRow};
use proem_store::record::{Actor, ActorKind, EffectsPower, EffectsSwitch};
use proem_store::{OpenedStore, StoreAccess};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::answers::{KnownSignals, Temper, answer};
use crate::triage::asked::StageBench;
use crate::triage::modelled::{NOW, charter_text};
use crate::triage::scenarios::{Scenario, standing_blocker};

/// The most signals that are read back.
const ALL: u64 = 1_000;

/// What the server says now: how, and about which signals.
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

/// A cycle with what it left in the records.
pub(super) struct RecordedCycle {
    pub(super) report: CycleReport,
    /// The ids of the signals that were given.
    pub(super) given: Vec<String>,
    pub(super) signals: Vec<SignalRow>,
    pub(super) questions: Vec<EscalationRow>,
    pub(super) actions: Vec<ActionRow>,
    pub(super) kept_out: Vec<QuarantinedItem>,
    /// The artefacts as they stood before the cycle.
    pub(super) before: ArtefactSet,
    pub(super) after: ArtefactSet,
    /// The policy in force.
    pub(super) policy: Policy,
    /// Whether anything left.
    pub(super) has_outbox: bool,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl<'s> TemperBench<'s> {
    pub(super) fn new(stages: &'s StageBench) -> Result<Self, String> {
        let folder = TempDir::new().map_err(words)?;
        let base = folder.path().canonicalize().map_err(words)?;
        let [config, state, cache, work] = ["config", "state", "cache", "work"].map(|name| base.join(name));
        for folder in [&config, &state, &cache, &work] {
            fs::create_dir(folder).map_err(words)?;
        }
        let script = Script::default();
        let told = Arc::clone(&script);
        let server = ScriptedServer::answering(move |request| {
            let told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.as_ref().map_or_else(|| Reply::raw(500, "{}"), |(temper, known)| answer(*temper, request, known))
        });
        let places = Places { config, state, cache, home: base.clone(), programs: base, channel: Channel::Pipe };
        Ok(Self { places, work, server: server.map_err(words)?, script, stages, _folder: folder })
    }

    /// A scenario at a level, behind a cycle of rules that noted a blocker.
    pub(super) fn run(
        &self,
        scenario: &Scenario,
        level: AutonomyLevel,
        temper: Option<Temper>,
    ) -> Result<RecordedCycle, String> {
        let name = format!("{}-{}-{}", scenario.name, level.as_str(), temper.map_or("none", Temper::as_str));
        let root = self.work.join(name.replace(' ', "-"));
        self.configure(scenario.mix)?;
        let runtime = records::runtime().map_err(words)?;
        self.trust(&root, AutonomyLevel::Artefact)?;
        runtime.block_on(self.prepare(&root))?;
        self.trust(&root, level)?;
        let known = self.known(scenario)?;
        *self.script.lock().map_err(words)? = temper.map(|temper| (temper, known.clone()));
        let options = TriageModelOptions {
            carriage: Carriage::Network,
            most: None,
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
        };
        let (project, models) = match temper {
            Some(_) => opened(&root, &self.places, &options).map_err(words)?,
            None => (OpenProject::without_book(&root, &self.places).map_err(words)?, None),
        };
        if temper.is_some() && models.is_none() {
            return Err("no model can be asked".to_owned());
        }
        let given = known.texts.into_keys().collect();
        runtime.block_on(self.cycle(&project, models.map(|run| (run, options)), scenario, given))
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
        fs::write(self.places.config.join("config.toml"), text).map_err(words)
    }

    /// Writes the project's file and vouches for it.
    fn trust(&self, root: &Path, level: AutonomyLevel) -> Result<(), String> {
        let (file, text) = (root.join(CHARTER), charter_text(level));
        fs::create_dir_all(file.parent().unwrap_or(root)).map_err(words)?;
        fs::write(&file, &text).map_err(words)?;
        let project = OpenProject::without_book(root, &self.places).map_err(words)?;
        let trusted = [(CHARTER.to_owned(), text.into_bytes())];
        TrustStore::new(self.places.state.clone()).trust(&project.key, &trusted).map_err(words)
    }

    /// Switches effects on as a person does, and has rules note a blocker.
    async fn prepare(&self, root: &Path) -> Result<(), String> {
        let project = OpenProject::without_book(root, &self.places).map_err(words)?;
        let OpenedStore { store, .. } = records::open(&project, StoreAccess::Write).await.map_err(words)?;
        let actor = Actor { kind: ActorKind::Person, id: "lab".to_owned(), channel: "terminal".to_owned() };
        let project_of = records::owner(&project);
        let switch = EffectsSwitch { project: project_of, actor, at: when::now(), power: EffectsPower::On };
        store.switch_effects(switch).await.map_err(words)?;
        store.close().await;
        let desk = TriageDesk::open(&project, StoreAccess::Write).await.map_err(words)?.value.at_moment(NOW);
        take_in(&desk, &standing_blocker()).await?;
        desk.work(&mut |_| {}).await.map_err(words)?;
        desk.close().await;
        Ok(())
    }

    /// What a model is to know of a scenario's signals.
    fn known(&self, scenario: &Scenario) -> Result<KnownSignals, String> {
        let mut known = KnownSignals::default();
        for (document, meant) in &scenario.signals {
            let signal = crate::triage::modelled::read(document)?;
            let text = sanitise(&signal, self.stages.screening()).content();
            let text = show::json(&text).as_str().unwrap_or_default().to_owned();
            known.meant.insert(signal.id.clone(), *meant);
            known.texts.insert(signal.id, text);
        }
        Ok(known)
    }

    async fn cycle(
        &self,
        project: &OpenProject,
        models: Option<(TriageRun, TriageModelOptions)>,
        scenario: &Scenario,
        given: Vec<String>,
    ) -> Result<RecordedCycle, String> {
        let desk = TriageDesk::open(project, StoreAccess::Write).await.map_err(words)?.value.at_moment(NOW);
        let before = desk.artefacts().await.map_err(words)?;
        for (document, _) in &scenario.signals {
            take_in(&desk, document).await?;
        }
        let report = match models {
            None => desk.work(&mut |_| {}).await,
            Some((mut run, options)) => {
                let stop = CancellationToken::new();
                let asking = AskingTerms { run: &mut run, options: &options, stop: &stop };
                desk.work_asking(asking, &mut Vec::new(), &mut |_| {}).await
            }
        };
        let report = report.map_err(words)?;
        let after = desk.artefacts().await.map_err(words)?;
        let policy = desk.desk.policy.clone();
        desk.close().await;
        let OpenedStore { store, .. } = records::open(project, StoreAccess::Read).await.map_err(words)?;
        let owner = records::owner(project);
        let wanted = ActionsWanted {
            project: Some(owner.clone()),
            states: ActionState::ALL.to_vec(),
            ..ActionsWanted::default()
        };
        Ok(RecordedCycle {
            report,
            given,
            signals: store.signals(&owner, 0, ALL).await.map_err(words)?,
            questions: store.escalations(&owner, None).await.map_err(words)?,
            actions: store.actions(&wanted).await.map_err(words)?,
            kept_out: store.quarantined(&owner, None).await.map_err(words)?,
            before,
            after,
            policy,
            has_outbox: self.places.state.join("outbox").exists(),
        })
    }
}

async fn take_in(desk: &TriageDesk<'_>, document: &Json) -> Result<(), String> {
    let charter: &ProjectCharter = &desk.charter;
    let read = NormaliseOptions::of_project(charter, NOW).read_stream(document.to_string().as_bytes());
    desk.take_in(&read.map_err(words)?).await.map(|_| ()).map_err(words)
}
