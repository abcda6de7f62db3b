//! `proem risk feedback`: what persons say of assessments, counted. Thresholds that follow from it, taken over and
//! taken back.

mod question;
pub(in crate::commands) mod report;

use std::process::ExitCode;

use proem_agents::risk::feedback::{AssessmentOpinion, Suggestion};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records;
use proem_app::risk::feedback::{self, Opinion, TakenBack};
use proem_text::json;

use super::args::Feedback;
use crate::failure::CommandFailure;
use crate::ui::{self, count_with_noun};

pub(super) fn run_risk_feedback(args: &Feedback) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut project = OpenProject::open(&args.root, &places, BookReading::Trusted)?;
    if args.undo {
        return take_back_thresholds(&project);
    }
    if let Some(run) = args.run.as_deref() {
        return record_judgement(&project, run, args);
    }
    let judged = ui::print_notes_of(records::blocking(feedback::count_feedback(&project, &args.since))?);
    if args.apply {
        return take_over_thresholds(&project, &judged.suggestions);
    }
    let heard = question::ask_feedback_model(args, &mut project, &judged)?;
    if args.json {
        ui::print_json_document(&json::pretty(&report::feedback_json(&judged, heard.as_ref())?))?;
    } else {
        ui::print_listing(&report::feedback_page(&judged, heard.as_ref()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Records what a person says of an assessment.
fn record_judgement(project: &OpenProject, run: &str, args: &Feedback) -> Result<ExitCode, CommandFailure> {
    let (said, reason) = match &args.false_positive {
        Some(reason) if reason.trim().is_empty() => {
            return Err(CommandFailure::usage(
                "`--false-positive` needs a reason, such as \"coupled by the framework\"",
            ));
        }
        Some(reason) => (AssessmentOpinion::FalsePositive, reason.as_str()),
        None => (AssessmentOpinion::Caught, ""),
    };
    let opinion = Opinion { said, about: &args.metric, reason };
    let run = records::blocking(feedback::record_opinion(project, run, opinion))?;
    let about: Vec<&str> = args.metric.iter().map(|meter| meter.as_str()).collect();
    let about = if about.is_empty() { String::new() } else { format!(", about {}", about.join(", ")) };
    ui::aside(&format!("assessment {}: {}{about}\n", run.short(), said.as_str()));
    Ok(ExitCode::SUCCESS)
}

/// Takes suggested thresholds over.
fn take_over_thresholds(project: &OpenProject, suggestions: &[Suggestion]) -> Result<ExitCode, CommandFailure> {
    if suggestions.is_empty() {
        ui::aside("nothing to change: no threshold is suggested; `proem risk feedback --report` says why\n");
        return Ok(ExitCode::SUCCESS);
    }
    feedback::apply_thresholds(project, suggestions)?;
    ui::print_listing(&report::suggestion_lines(suggestions))?;
    let number = u64::try_from(suggestions.len()).unwrap_or(u64::MAX);
    ui::aside(&format!("applied {}; `proem risk feedback --undo` undoes it\n", count_with_noun(number, "suggestion")));
    Ok(ExitCode::SUCCESS)
}

/// Takes back what was taken over last.
fn take_back_thresholds(project: &OpenProject) -> Result<ExitCode, CommandFailure> {
    let TakenBack { before, after } = feedback::undo_thresholds(project)?;
    ui::print_listing(&report::threshold_changes(&before, &after))?;
    ui::aside("the previous thresholds apply again\n");
    Ok(ExitCode::SUCCESS)
}
