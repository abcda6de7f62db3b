//! `proem artefacts restore`: an older version becomes the newest one again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use proem_app::operator::Consent;
use proem_app::project::OpenProject;
use proem_app::records;
use proem_app::triage::TriageDesk;
use proem_store::StoreAccess;

use super::ArtefactName;
use crate::failure::CommandFailure;
use crate::ui;

pub(super) const RESTORE_EXAMPLES: &str = "\
No version is deleted: what the older one says becomes a new version, with the changes that the
log tells of since. Of an item that was added since, the log has the id and the status alone: fill
it in with `proem artefacts edit`. It asks at a terminal.

Example:
  proem artefacts restore raid-log 6";

#[derive(Debug, Parser)]
pub(crate) struct Restore {
    /// The artefact to print
    artefact: ArtefactName,
    /// The version that it shall say again
    #[arg(value_name = "VERSION")]
    older: u64,
    /// A folder in the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

pub(super) fn run_artefact_restore(args: &Restore) -> Result<ExitCode, CommandFailure> {
    let project = OpenProject::without_book(&args.root, &crate::user_places()?)?;
    let mut operator = ui::operator("an artefact would be restored", "leave it as it is")?;
    records::blocking(async {
        let desk = ui::print_notes_of(TriageDesk::open(&project, StoreAccess::Write).await?);
        let restored = async {
            let change = desk.plan_restoring(&operator, args.artefact.kind(), args.older).await?;
            let (name, next) = (args.artefact.kind().as_str(), change.artefact.version());
            let items = change.artefact.items().count();
            ui::aside(&format!(
                "version {next} of the {name} would say what version {} says: {items} items\n",
                args.older
            ));
            if ui::confirm(&mut operator, "Write this?")? == Consent::No {
                ui::aside("nothing was written\n");
                return Ok(ExitCode::from(1));
            }
            desk.write_change(&operator, &change).await?;
            ui::print_listing(&format!("version {next} of the {name} is written\n"))?;
            Ok::<_, CommandFailure>(ExitCode::SUCCESS)
        };
        let restored = restored.await;
        desk.close().await;
        restored
    })
}
