//! Recorded investigations that are gone on with where their change is still what it was.

use std::path::Path;
use std::process::ExitCode;

use proem_app::places::Places;
use proem_app::project::OpenProject;
use proem_app::records::learning::learned_before;
use proem_app::risk::again::{Resuming, Resumption};
use proem_app::risk::made::InvestigationStart;
use proem_runtime::records::ResumeIdentity;
use proem_store::query::RunDetail;

use super::output::{ReportCount, RiskFormat, print};
use super::{asking, reading};
use crate::commands::run::calling;
use crate::failure::CommandFailure;
use crate::ui;

/// How a recorded investigation is gone on with.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct InvestigationResumption<'a> {
    /// A folder of the repository.
    pub(in crate::commands) root: &'a Path,
    /// Under which id.
    pub(in crate::commands) going: ResumeIdentity,
    /// Whether the report is printed as JSON.
    pub(in crate::commands) json: bool,
}

/// Goes on with an investigation, and prints its report.
///
/// # Errors
///
/// If it can't go on: it has ended, there is no key, or the change is not what it was.
pub(in crate::commands) fn go_on(
    (places, project): (&Places, &OpenProject),
    (detail, remade): (&RunDetail, InvestigationStart),
    again: InvestigationResumption<'_>,
) -> Result<ExitCode, CommandFailure> {
    let mut resuming = reading(|progress| Resuming::new((places, project), (detail, remade), again.root, progress))?;
    let Resumption { report, trouble } = calling(async |stop| {
        let mut notes = Vec::new();
        let begun = resuming.begin((places, project), &mut notes).await;
        ui::notes(&notes);
        begun?;
        ui::notes(&learned_before(detail));
        let bar = asking(resuming.asked()?);
        let resumed = resuming.on(again.going, &stop).await;
        bar.finish_and_clear();
        ui::notes(&resuming.end(places).await);
        Ok(resumed?)
    })?;
    print(&[report], if again.json { RiskFormat::Json(ReportCount::One) } else { RiskFormat::Terminal })?;
    trouble.map_or(Ok(ExitCode::SUCCESS), |trouble| Err(CommandFailure::outside(trouble)))
}
