//! The arguments about models, and whether any is asked.

use std::path::{Path, PathBuf};

use clap::Args;
use proem_app::project::OpenProject;
use proem_app::records::learning::Adapting;
use proem_app::records::writing::RecordChoice;
use proem_app::run::options::Carriage;
use proem_app::triage::models::{TriageModelOptions, TriageRun, open_triage_run};
use proem_engine::call::NanoDollars;

use crate::failure::CommandFailure;
use crate::ui;

#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Ask no model, whatever the configuration says
    #[arg(long, conflicts_with_all = ["max_cost", "record", "replay", "dry_run"])]
    no_model: bool,
    /// Maximum cost of the calls of one cycle, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = proem_app::config::parse_dollars)]
    max_cost: Option<NanoDollars>,
    /// Record requests and answers in a folder, without API keys
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Take answers from a folder made with --record, if the requests are the same
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    replay: Option<PathBuf>,
    /// Print the first request of each stage instead of sending it, as if models said what rules say
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub(super) dry_run: bool,
    /// Show the way of the signal with this id through every stage, on standard error
    #[arg(long, value_name = "SIGNAL")]
    pub(super) explain: Option<String>,
}

impl ModelArgs {
    /// As configured, or without any model.
    pub(super) const fn as_configured(no_model: bool) -> Self {
        Self { no_model, max_cost: None, record: None, replay: None, dry_run: false, explain: None }
    }

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
        let places = crate::user_places()?;
        let is_wanted = self.record.is_some() || self.replay.is_some() || self.dry_run || self.max_cost.is_some();
        if self.no_model {
            return Ok((OpenProject::without_book(root, &places)?, None));
        }
        let (mut project, run) = open_triage_run(root, &places, &self.options())?;
        if is_wanted && project.config.triage.models != Some(true) {
            return Err(CommandFailure::usage(
                "no model may be asked; set `triage.models = true` in your own configuration, or say so to \
                 `proem triage init`",
            ));
        }
        ui::print_notes(&std::mem::take(&mut project.notes));
        Ok((project, run))
    }
}
