//! Recorded investigations: replayed from their record alone, and gone on with where their change is still
//! what it was.

mod difference;

use std::path::Path;
use std::process::ExitCode;

use proem_agents::risk::investigation::Investigation;
use proem_agents::risk::report::Report;
use proem_engine::ordered::Ordered;
use proem_llm::endpoint::{Endpoint, Key};
use proem_runtime::Environment;
use proem_runtime::records::{Going, Recording, Replayed, Resumed, replay, resumable, resume};
use proem_store::Store;
use proem_store::query::RunDetail;
use proem_store::record::{RunId, hash};
use serde_json::Value as Json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::assessing::{Assessing, Looked};
use super::investigating::{asking, subject};
use super::made::{Remade, policy};
use super::output::{Form, Many, print};
use super::recording::{Beginning, Done, Earlier, Kept, inputs, outcome};
use super::setting::{Investigator, Setting};
use crate::commands::run::calling;
use crate::commands::run::setting::Wanted;
use crate::failure::Failure;
use proem_app::calling as endpoints;
use proem_app::guarding::GuardFiles;
use proem_app::places::Places;
use proem_app::project::Project;
use proem_app::records;
use proem_app::records::learning::learned_before;
use proem_app::records::writing::{NONE_TO_GO_ON_IN, Record, Writing};

/// Makes the requests of an investigation anew and compares them with its record; nothing is sent, and no
/// repository is looked at.
///
/// # Errors
///
/// If something of the record is missing or damaged.
pub(in crate::commands) async fn replayed(
    remade: Remade,
    detail: &RunDetail,
    (places, endpoint): (&Places, Endpoint),
    store: &Store,
) -> Result<Replayed, Failure> {
    let subject = remade.subject.clone();
    let setting = Setting::again(remade, detail, places, (endpoint, Wanted::NoCalls))?;
    let investigator = setting.asked()?;
    let mut machine = Investigation::new(setting.terms(investigator), subject);
    let model = &investigator.asked.model;
    Ok(replay(store, detail, model, &mut machine, outcome).await?)
}

/// How a recorded investigation is gone on with.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Again<'a> {
    /// A folder of the repository.
    pub(in crate::commands) root: &'a Path,
    /// Under which id.
    pub(in crate::commands) going: Going,
    /// Whether the report is printed as JSON.
    pub(in crate::commands) json: bool,
}

/// Goes on with an investigation, and prints its report. Before it is taken over, its change is looked at as it
/// is today.
///
/// # Errors
///
/// If it can't go on: it has ended, there is no key, or the change is not what it was.
pub(in crate::commands) fn go_on(
    (places, project): (&Places, &Project),
    (detail, mut remade): (&RunDetail, Remade),
    again: Again<'_>,
) -> Result<ExitCode, Failure> {
    let refused = |why: String| Failure::usage(format!("run {} can't be resumed: {why}", detail.row.id.short()));
    resumable(detail, &records::owner(project)).map_err(|error| Failure::usage(error.to_string()))?;
    let endpoint = endpoints::located(&project.config, &detail.row.endpoint, &Environment::inherited())?;
    if let Key::Missing { variable } = &endpoint.key {
        return Err(refused(format!("`{}` needs a key in {variable}; set it", endpoint.name)));
    }
    let (assessing, looked) = same((places, project), (detail, &remade), again.root).map_err(refused)?;
    let (inputs, settings) = (remade.inputs.clone(), remade.settings.clone());
    // The state opens under the rules of today only, so these are the recorded ones.
    remade.guard = GuardFiles::load(places)?;
    let policy = policy(&remade.guard.rules(), &settings);
    let mut setting = Setting::again(remade, detail, places, (endpoint, Wanted::Calls))?;
    let (report, trouble) = calling(async |stop| {
        setting.record(places, project, Record::Needed).await?;
        crate::ui::notes(&learned_before(detail));
        let bar = asking(setting.asked()?);
        let kept = Kept { setting: &setting, assessing: &assessing, looked: &looked };
        let resuming = Resuming { kept, investigator: setting.asked()? };
        let reported = resuming.on((&detail.row.id, again.going), (inputs, settings), (policy, &stop)).await;
        bar.finish_and_clear();
        setting.end(places).await;
        reported
    })?;
    print(&[report], if again.json { Form::Json(Many::One) } else { Form::Terminal })?;
    trouble.map_or(Ok(ExitCode::SUCCESS), |trouble| Err(Failure::outside(trouble)))
}

/// The change as it is today, if that is what was assessed.
fn same(
    (places, project): (&Places, &Project),
    (detail, remade): (&RunDetail, &Remade),
    root: &Path,
) -> Result<(Assessing, Looked), String> {
    let anew = |why: String| format!("{why}; assess the change again with `proem risk`");
    let assessing = Assessing::again(&remade.kept.assessed, root, (places, project)).map_err(anew)?;
    let looked =
        assessing.look_one(0).ok_or("its change is missing from the record")?.map_err(|failure| failure.to_string())?;
    let look =
        assessing.look_at(0).ok_or("its change is missing from the record")?.map_err(|failure| failure.to_string())?;
    let today = subject(&look, &looked.first);
    let written = inputs(&today).map_err(|failure| failure.to_string())?;
    if hash(written.compact().as_bytes()) == detail.inputs {
        return Ok((assessing, looked));
    }
    // Where the rules of before are meant, metrics were counted otherwise too; the change itself must be the same.
    let different = if remade.kept.assessed.grounds.level_rules.are_of_before() {
        difference::of_change(&remade.subject, &today)
    } else {
        Some(difference::first(&remade.subject, &today))
    };
    match different {
        Some(different) => Err(anew(format!("the change differs from the recorded one: {different}"))),
        None => Ok((assessing, looked)),
    }
}

/// An investigation that is gone on with.
struct Resuming<'r> {
    kept: Kept<'r>,
    investigator: &'r Investigator,
}

impl Resuming<'_> {
    async fn on(
        &self,
        (run, going): (&RunId, Going),
        (inputs, settings): (Ordered, Json),
        (policy, stop): (String, &CancellationToken),
    ) -> Result<(Report, Option<String>), Failure> {
        let Kept { setting, assessing, looked } = &self.kept;
        let Some(records) = &setting.records else { return Err(Failure::usage(NONE_TO_GO_ON_IN)) };
        let Some(look) = assessing.look_at(looked.change).transpose()? else {
            return Err(Failure::bug("a change is missing", looked.change));
        };
        let common = records.kept();
        let resumed = resume(common.store, common.seal, common.project, (run, going), &policy).await;
        // A run that can't go on is an answer about the record, not a fault of the system.
        let resumed = resumed.map_err(|error| Failure::usage(error.to_string()))?;
        let began = Instant::now();
        let (id, parent) = match going {
            Going::On => (run.clone(), None),
            Going::Apart => (Writing::id()?, Some(run.clone())),
        };
        let (investigator, steps) = (self.investigator, resumed.step);
        let begins = Beginning { id, parent, steps, setting, investigator, inputs, settings, policy };
        let recording = Recording::new(&common, &begins.start());
        let known = (&look, &looked.full);
        let (investigated, made) = setting.go_on(investigator, known, (&resumed, &recording), stop).await?;
        let done = Done { investigated, made, earlier: earlier(&resumed, going), began };
        self.kept.ended(&recording, &done).await
    }
}

/// What was asked before.
fn earlier(resumed: &Resumed, going: Going) -> Earlier {
    let attempts = resumed.detail.calls.iter().map(|call| call.attempts.len()).sum();
    let lost = match going {
        Going::On => resumed.lost(),
        // It belongs to the run that lost it.
        Going::Apart => 0,
    };
    Earlier { attempts, lost }
}
