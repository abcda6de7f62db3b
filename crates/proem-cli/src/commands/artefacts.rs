//! `proem artefacts`: the delivery state, the RAID log, the backlog summary and the decision log of a project.

mod edit;
pub(super) mod log;
mod restore;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::triage::TriageDesk;
use proem_store::StoreAccess;
use proem_triage::artefact::{ArtefactKind, artefact_difference};

use crate::failure::CommandFailure;
use crate::ui;

pub(crate) const ARTEFACTS_EXAMPLES: &str = "\
Examples:
  proem artefacts show
  proem artefacts show raid-log --json
  proem artefacts log --limit 20
  proem artefacts diff raid-log 3 5
  proem artefacts edit R001 --set owner=\"Sam Okoro\" --reason \"agreed in the review\"
  proem artefacts export --output status.md";

#[derive(Debug, Subcommand)]
pub(crate) enum ArtefactsCommand {
    /// Show the artefacts as they are, with where each statement came from
    #[command(after_help = "Example:\n  proem artefacts show raid-log")]
    Show(show::Show),
    /// Show what changed, the newest first, with who and what caused it
    #[command(after_help = "Example:\n  proem artefacts log raid-log --limit 20")]
    Log(log::Log),
    /// Show what differs between two versions of an artefact
    #[command(after_help = "Example:\n  proem artefacts diff raid-log 3 5")]
    Diff {
        /// The artefact to print
        artefact: ArtefactName,
        /// The older version
        from: u64,
        /// The newer version
        to: u64,
        /// A folder in the project
        #[arg(long, value_name = "DIR", default_value = ".")]
        root: PathBuf,
    },
    /// Change an item in your own words, or add one; asks at a terminal
    #[command(after_help = edit::EDIT_EXAMPLES)]
    Edit(edit::Edit),
    /// Make an older version the newest one again, if that can't be read; asks at a terminal
    #[command(after_help = restore::RESTORE_EXAMPLES)]
    Restore(restore::Restore),
    /// Write the artefacts for a report
    #[command(
        after_help = "Example:\n  proem artefacts edit R001 --set owner=\"Sam Okoro\" --reason \"agreed in the review\"
  proem artefacts export --output status.md"
    )]
    Export(show::Export),
}

/// An artefact as people name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArtefactName {
    /// Health, sprint, milestones and blockers
    DeliveryState,
    /// Risks, assumptions, issues and dependencies
    RaidLog,
    /// Tickets of the backlog that deserve attention
    BacklogSummary,
    /// Decisions with their authors and reasons
    DecisionLog,
}

impl ArtefactName {
    const fn kind(self) -> ArtefactKind {
        match self {
            Self::DeliveryState => ArtefactKind::DeliveryState,
            Self::RaidLog => ArtefactKind::RaidLog,
            Self::BacklogSummary => ArtefactKind::BacklogSummary,
            Self::DecisionLog => ArtefactKind::DecisionLog,
        }
    }
}

/// The kinds that are meant: the named one, else all.
fn kinds(name: Option<ArtefactName>) -> Vec<ArtefactKind> {
    name.map_or_else(|| ArtefactKind::ALL.to_vec(), |name| vec![name.kind()])
}

pub(super) fn run_artefacts(command: &ArtefactsCommand) -> Result<ExitCode, CommandFailure> {
    match command {
        ArtefactsCommand::Show(args) => show::run_artefact_show(args),
        ArtefactsCommand::Log(args) => log::run_artefact_log(args),
        ArtefactsCommand::Diff { artefact, from, to, root } => {
            let project = OpenProject::without_book(root, &crate::user_places()?)?;
            records::blocking(async {
                let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Read).await?);
                let kind = artefact.kind();
                let pair = async { Ok((desk.version(kind, Some(*from)).await?, desk.version(kind, Some(*to)).await?)) };
                let pair: Result<_, CommandFailure> = pair.await;
                let ahead_of_utc = desk.charter.ahead_of_utc;
                desk.close().await;
                let (before, after) = pair?;
                let lines = artefact_difference(&before, &after, ahead_of_utc);
                let text = if lines.is_empty() { "nothing differs".to_owned() } else { lines.join("\n") };
                ui::print_listing(&format!("{text}\n"))
            })?;
            Ok(ExitCode::SUCCESS)
        }
        ArtefactsCommand::Edit(args) => edit::run_artefact_edit(args),
        ArtefactsCommand::Restore(args) => restore::run_artefact_restore(args),
        ArtefactsCommand::Export(args) => show::run_artefact_export(args),
    }
}
