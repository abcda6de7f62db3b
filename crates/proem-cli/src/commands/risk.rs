//! `proem risk`: how risky changes of a repository are.
//!
//! Standard output holds the report, everything else goes to standard error. The level is the code's; a
//! model explains it or raises it, if there is a key for one. With `--fail-on` the exit code is 1 when a
//! change reaches the level.

mod again;
mod assessing;
mod feedback;
mod grounds;
mod investigating;
mod made;
mod output;
mod recording;
mod setting;
mod wanted;

use std::process::ExitCode;

use proem_agents::risk::report::Report;
use proem_risk::level::Level;

pub(super) use self::again::{Again, go_on, replayed};
pub(super) use self::made::Remade;

use self::assessing::Assessing;
use self::output::Form;
use self::setting::Setting;
use super::run::calling;
use crate::args::risk::{Risk, RiskCommand};
use crate::failure::Failure;
use crate::places::Places;
use crate::project::{Project, Reading};
use crate::ui;

pub(super) fn run(args: &Risk) -> Result<ExitCode, Failure> {
    if let Some(RiskCommand::Feedback(args)) = &args.command {
        return feedback::run(args);
    }
    let places = Places::find()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    let reports = assess(args, &places, &mut project);
    // What was not trusted may be why it failed.
    project.say();
    let (reports, trouble) = reports?;
    output::print(&reports, Form::of(args))?;
    if let Some(trouble) = trouble {
        return Err(Failure::outside(trouble));
    }
    Ok(ended(args, &reports))
}

/// The reports, and what could not be recorded after a model was asked.
fn assess(args: &Risk, places: &Places, project: &mut Project) -> Result<(Vec<Report>, Option<String>), Failure> {
    let assessing = Assessing::begin(args, places, project)?;
    let looked = assessing.look(args)?;
    let mut setting = Setting::new(args, places, project)?;
    calling(async |stop| {
        setting.begin(args, places, project).await?;
        let reports = setting.reports(args, &assessing, &looked, &stop).await;
        setting.end(places).await;
        reports
    })
}

fn ended(args: &Risk, reports: &[Report]) -> ExitCode {
    let Some(limit) = args.fail_on.map(crate::args::risk::FailOn::level) else { return ExitCode::SUCCESS };
    let reached: Vec<&Report> = reports.iter().filter(|report| report.risk_level >= limit).collect();
    if reached.is_empty() {
        return ExitCode::SUCCESS;
    }
    let highest = reached.iter().map(|report| report.risk_level).max().unwrap_or(Level::Low);
    ui::note(&format!(
        "{} at {} or above (--fail-on {})",
        ui::counted(u64::try_from(reached.len()).unwrap_or(u64::MAX), "change"),
        highest.as_str(),
        limit.as_str().to_lowercase()
    ));
    ExitCode::FAILURE
}
