//! The arguments about models, and whether any is asked.

use std::path::{Path, PathBuf};

use clap::Args;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::triage::models::{TriageModelOptions, TriageRun};
use proem_engine::call::NanoDollars;

use crate::failure::CommandFailure;
use crate::ui;

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Ask no model, whatever the configuration says
    #[arg(long, conflicts_with_all = ["max_cost", "record", "replay", "dry_run"])]
    no_model: bool,
    /// Maximum cost of the calls of one cycle, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::dollars)]
    max_cost: Option<NanoDollars>,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    replay: Option<PathBuf>,
    /// Print the first requests instead of sending them; nothing is taken in
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub(super) dry_run: bool,
    /// Show the way of the signal with this id through every stage, on standard error
    #[arg(long, value_name = "SIGNAL")]
    pub(super) explain: Option<String>,
}

impl ModelArgs {
    /// How models are asked.
    pub(super) fn options(&self) -> TriageModelOptions {
        TriageModelOptions {
            carriage: if self.dry_run {
                Carriage::Nobody
            } else {
                Carriage::taped(self.record.clone(), self.replay.clone())
            },
            most: self.max_cost,
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
        }
    }

    /// The project, and what asks models where the user's configuration says so and there are keys.
    pub(super) fn open(&self, root: &Path) -> Result<(OpenProject, Option<TriageRun>), CommandFailure> {
        let places = crate::places()?;
        let project = OpenProject::without_book(root, &places)?;
        let is_wanted = self.record.is_some() || self.replay.is_some() || self.dry_run || self.max_cost.is_some();
        match project.config.triage.models {
            _ if self.no_model => return Ok((project, None)),
            Some(true) => {}
            _ if is_wanted => {
                return Err(CommandFailure::usage(
                    "no model may be asked; set `triage.models = true` in your own configuration, or say so to \
                     `proem triage init`",
                ));
            }
            _ => return Ok((project, None)),
        }
        let mut project = OpenProject::open(root, &places, BookReading::Trusted)?;
        let run = TriageRun::new(&self.options(), &mut project)?;
        ui::notes(&std::mem::take(&mut project.notes));
        match run.missing_key().filter(|_| self.replay.is_none() && !self.dry_run) {
            Some(variable) => {
                ui::note(&format!("no model is asked: {variable} is not set"));
                Ok((project, None))
            }
            None => Ok((project, Some(run))),
        }
    }
}
