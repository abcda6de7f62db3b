//! What a model makes of feedback: the prompt `risk/feedback`, asked like any other.

use proem_agents::risk::feedback::{Heard, inputs};
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::Providers;
use proem_engine::run::Ended;
use proem_llm::endpoint::Key;
use proem_runtime::Environment;

use super::Period;
use crate::args::Run;
use crate::args::risk::Feedback;
use crate::commands::run::calling;
use crate::commands::run::setting::Setting;
use crate::failure::Failure;
use crate::ui;
use proem_app::calling as endpoints;
use proem_app::places::Places;
use proem_app::project::Project;

/// The prompt.
const PROMPT: &str = "risk/feedback";

/// Asks a model, if there is one and anything to ask about. An answer that can't be used is noted: the
/// counts stand without it.
pub(super) fn ask(
    args: &Feedback,
    places: &Places,
    project: &mut Project,
    period: &Period,
) -> Result<Option<Heard>, Failure> {
    if args.no_model || period.tally.runs == 0 {
        return Ok(None);
    }
    let prompt = project.book()?.prompt(PROMPT, None)?;
    if let Some(why) = unasked(args, project, &prompt)? {
        ui::note(&why);
        return Ok(None);
    }
    let run = run(args).options();
    let setting = Setting::new(&run, places, project);
    ui::notes(&project.all_notes());
    let mut setting = setting?;
    let inputs = inputs(&format!("{} on", period.since), &period.tally, &period.suggestions);
    let ended = calling(async |stop| {
        let mut notes = Vec::new();
        let begun = setting.begin(&run, (places, project), &mut notes).await;
        ui::notes(&notes);
        begun?;
        let ran = setting.ask(&inputs.into(), None, &stop).await;
        ui::notes(&setting.end(places).await);
        Ok(ran?.outcome.ended)
    })?;
    match ended {
        Ended::Answered { value } => {
            let value = proem_guard::show::value(&value);
            Heard::read(&value, &period.suggestions)
                .map(Some)
                .map_err(|error| Failure::bug("an answer that matches its schema", error))
        }
        Ended::FellBack { .. } | Ended::Failed { .. } => {
            ui::note("the model gave no usable answer; the counts and suggestions are complete without it");
            Ok(None)
        }
    }
}

/// Why nobody is asked although nobody said so: there is no key.
fn unasked(args: &Feedback, project: &Project, prompt: &Prompt) -> Result<Option<String>, Failure> {
    if args.replay.is_some() || args.model.is_some() || args.provider.is_some() {
        return Ok(None);
    }
    let wanted =
        endpoints::WantedModel { prompt: prompt.file.header.model.as_deref(), ..endpoints::WantedModel::default() };
    let asked = endpoints::ask(&project.config, &Providers::load()?, &wanted, &Environment::inherited())?;
    Ok(matches!(asked.endpoint.key, Key::Missing { .. }).then(|| {
        let variable = asked.endpoint.key.variable().unwrap_or("a key");
        format!("no model is asked: {variable} is not set")
    }))
}

/// The call as `proem run` has it.
fn run(args: &Feedback) -> Run {
    Run {
        prompt: PROMPT.to_owned(),
        input: None,
        set: Vec::new(),
        batch: None,
        out: None,
        concurrency: None,
        model: args.model.clone(),
        provider: args.provider.clone(),
        input_untrusted: false,
        budget: None,
        attempts: std::num::NonZeroU32::MIN.saturating_add(1),
        max_tokens: None,
        max_cost: None,
        timeout: args.timeout,
        dry_run: false,
        record: args.record.clone(),
        wishes: args.wishes.clone(),
        no_record: args.no_record,
        replay: args.replay.clone(),
        json: false,
        explain: false,
        root: args.root.clone(),
    }
}
