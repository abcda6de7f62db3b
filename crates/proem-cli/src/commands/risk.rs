//! `proem risk`: how risky changes of a repository are.
//!
//! Standard output holds the report, everything else goes to standard error. The level is the code's; a
//! model explains it or raises it, if there is a key for one. With `--fail-on` the exit code is 1 when a
//! change reaches the level, or is UNKNOWN and that is to fail; otherwise it passes, and that is said.

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
use crate::ui;
use proem_app::places::Places;
use proem_app::project::{Project, Reading};

pub(super) fn run(args: &Risk) -> Result<ExitCode, Failure> {
    if let Some(RiskCommand::Feedback(args)) = &args.command {
        return feedback::run(args);
    }
    let places = crate::places()?;
    let mut project = Project::open(&args.root, &places, Reading::Trusted)?;
    let reports = assess(args, &places, &mut project);
    // What was not trusted may be why it failed.
    ui::notes(&project.all_notes());
    let (mut reports, trouble) = reports?;
    if args.since.is_some() {
        reports.sort_by(output::by_rank);
    }
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
    let limits = || args.fail_on.iter().map(|fail_on| fail_on.level());
    let limit = limits().filter(|limit| *limit != Level::Unknown).min();
    let fails_unknown = limits().any(|limit| limit == Level::Unknown);
    let count = |is_one: &dyn Fn(Level) -> bool| {
        let number = reports.iter().filter(|report| is_one(report.risk_level)).count();
        (number > 0).then(|| ui::counted(u64::try_from(number).unwrap_or(u64::MAX), "change"))
    };
    let unknown = count(&|level| level == Level::Unknown).filter(|_| !args.fail_on.is_empty());
    let reached = limit.and_then(|limit| Some((limit, count(&|level| level >= limit)?)));
    match &unknown {
        Some(changes) if fails_unknown => ui::note(&format!("{changes} at UNKNOWN (--fail-on unknown)")),
        Some(changes) => {
            ui::note(&format!("{changes} at UNKNOWN, which passes; --fail-on unknown fails on it"));
        }
        None => {}
    }
    if let Some((limit, changes)) = &reached {
        let highest = reports.iter().map(|report| report.risk_level).max().unwrap_or(*limit);
        let limit = limit.as_str().to_lowercase();
        ui::note(&format!("{changes} at {} or above (--fail-on {limit})", highest.as_str()));
    }
    let fails = reached.is_some() || (fails_unknown && unknown.is_some());
    if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
