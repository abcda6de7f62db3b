//! A model's reading of feedback, asked for if there is a key.

use proem_agents::risk::feedback::FeedbackAnalysis;
use proem_app::project::OpenProject;
use proem_app::records::writing::RecordChoice;
use proem_app::risk::feedback::FeedbackSummary;
use proem_app::risk::feedback::question::{self, PROMPT};
use proem_app::run::line_versions::RunSubject;
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::RunSetting;

use crate::commands::risk::args::Feedback;
use crate::commands::run::{calling, meeting_versions, open_run};
use crate::failure::CommandFailure;
use crate::ui;

/// Asks a model, if there is one and anything to ask about.
pub(super) fn ask_feedback_model(
    args: &Feedback,
    project: &mut OpenProject,
    judged: &FeedbackSummary,
) -> Result<Option<FeedbackAnalysis>, CommandFailure> {
    if args.no_model || judged.tally.runs == 0 {
        return Ok(None);
    }
    let options = options(args);
    if let Some(why) = question::unasked_reason(&options, project)? {
        ui::print_note(&why);
        return Ok(None);
    }
    let setting = RunSetting::new(&options, project);
    ui::print_notes(&project.all_notes());
    let setting = setting?;
    calling(async |stop| {
        let run = open_run(setting, &options, project).await?;
        let run = meeting_versions(run, RunSubject::Inputs, &options, project).await?;
        let mut notes = Vec::new();
        let heard = question::ask_about_feedback(&run, judged, &stop, &mut notes).await;
        ui::print_notes(&run.end().await);
        ui::print_notes(&notes);
        Ok(heard?)
    })
}

/// The call as a run of the prompt.
fn options(args: &Feedback) -> RunOptions {
    RunOptions {
        model: args.model.clone(),
        provider: args.provider.clone(),
        seconds: args.timeout,
        carriage: Carriage::taped(args.record.clone(), args.replay.clone()),
        adapting: args.wishes.adapting(),
        record: if args.no_record { RecordChoice::No } else { RecordChoice::AsConfigured },
        ..RunOptions::of(PROMPT.to_owned())
    }
}
