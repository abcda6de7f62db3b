//! `proem store`: the file or database that runs are recorded in.

pub(super) mod output;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;
use proem_store::query::{RecordKnowledge, WitnessExtent, WitnessList, WitnessListLine};
use proem_store::{AdoptionCounts, CopiedEffects};
use proem_store::{StoreAccess, StoreCreator};
use proem_text::json;
use serde_json::json;

use self::output::{RecordsOutput, StoreStatusOutput};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, YELLOW, count_with_noun, cut_to_width, style_text};
use proem_app::operator::Consent;
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::copying::{CopyDirection, RecordsCopy};
use proem_app::records::file::RecordsFile;
use proem_app::records::location::RecordsLocation;
use proem_app::{records, when};

pub(crate) const STORE_EXAMPLES: &str = "\
Examples:
  proem store status
  proem store copy --to postgres://proem@db.example/records
  proem store adopt               # another installation's records, a copy, or a restored backup";

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Show where records are, how many there are, and which installation made the file
    #[command(after_help = "Example:\n  proem store status --json")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over another installation's records, or a copy; asks for confirmation
    #[command(after_help = "Example:\n  proem store adopt")]
    Adopt,
    /// Copy all records to a database, or from one into the file; repeat it if it breaks off
    #[command(after_help = COPY_EXAMPLES)]
    Copy(CopyPlaces),
    /// Reset the last recorded time after the clock ran ahead; asks for confirmation
    #[command(after_help = "Example:\n  proem store reset-clock")]
    ResetClock,
}

const COPY_EXAMPLES: &str = "\
Examples:
  proem store copy --to postgres://proem@db.example/records
  proem store copy --from postgres://proem@db.example/records";

/// The database of a copy. The other side is the file in the state folder.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CopyPlaces {
    /// The database that gets the file's records; its password is where `store.password` says
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// The database whose records go into the file
    #[arg(long, value_name = "URL")]
    from: Option<String>,
}

/// The exit code of a negative answer.
const NO: u8 = 1;

pub(super) fn run_store(args: &StoreCommand) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let project = OpenProject::open(Path::new("."), &places, BookReading::Trusted)?;
    let zone = records::booking_zone(&project.config.budget)?;
    let place = records::records_location(&project)?;
    let here = Here { project, place, zone };
    match args {
        StoreCommand::Status { json } => records::blocking(here.status(*json)),
        StoreCommand::Adopt => records::blocking(here.adopt()),
        StoreCommand::ResetClock => records::blocking(here.reset_clock()),
        StoreCommand::Copy(places) => copy_records(&here.project, places),
    }
}

/// Copies all records, with a bar, and prints how many lines each table has.
fn copy_records(project: &OpenProject, places: &CopyPlaces) -> Result<ExitCode, CommandFailure> {
    let copy = match (&places.to, &places.from) {
        (Some(url), _) => RecordsCopy::prepare(project, CopyDirection::ToDatabase, url)?,
        (None, url) => RecordsCopy::prepare(project, CopyDirection::FromDatabase, url.as_deref().unwrap_or_default())?,
    };
    let bar = ProgressBar::with_draw_target(None, ui::progress_target());
    if let Ok(style) = ProgressStyle::with_template("{msg} {pos}/{len} {wide_bar}  {elapsed}") {
        bar.set_style(style);
    }
    let summary = copy.run(&mut |progress| {
        bar.set_message(progress.table.to_owned());
        bar.set_length(progress.all);
        bar.set_position(progress.written);
    });
    bar.finish_and_clear();
    let summary = summary?;
    let lines: u64 = summary.tables.iter().map(|(_, lines)| lines).sum();
    let mut out = String::new();
    for (table, lines) in &summary.tables {
        out.push_str(&format!("{:>12}  {table}\n", line_count_words(*lines)));
    }
    out.push_str(&format!("{:>12}  in all, verified\n", line_count_words(lines)));
    ui::print_listing(&out)?;
    if summary.continued > 0 {
        ui::print_note(&format!("{} of them were copied before", line_count_words(summary.continued)));
    }
    if places.to.is_some() {
        let file = project.places.config_file().display().to_string();
        ui::aside(&format!(
            "The file is as it was. To use the database, name it in `{}`:\n\n  [store]\n  url = \"{}\"\n\n",
            cut_to_width(&file, 84),
            cut_to_width(places.to.as_deref().unwrap_or_default(), 120),
        ));
    }
    if summary.effects == CopiedEffects::Parked {
        ui::aside("Effects are parked in the copy; `proem store adopt` shows what was sent, and takes it over.\n");
    }
    Ok(ExitCode::SUCCESS)
}

fn line_count_words(lines: u64) -> String {
    ui::group_thousands(usize::try_from(lines).unwrap_or(usize::MAX))
}

struct Here {
    project: OpenProject,
    place: RecordsLocation,
    zone: TimeZone,
}

impl Here {
    /// The file, if there is one.
    async fn file(&self, access: StoreAccess) -> Result<Option<RecordsFile>, CommandFailure> {
        let mut notes = Vec::new();
        let file = RecordsFile::open(&self.project, access, &mut notes).await;
        ui::print_notes(&notes);
        Ok(file?)
    }

    async fn status(&self, as_json: bool) -> Result<ExitCode, CommandFailure> {
        let place = match &self.place {
            RecordsLocation::File(path) => path.to_string_lossy().into_owned(),
            RecordsLocation::Database(_) => self.place.to_string(),
        };
        let Some(file) = self.file(StoreAccess::Read).await? else {
            if as_json {
                ui::print_json_document(&json::pretty(&json!(StoreStatusOutput {
                    path: place,
                    exists: false,
                    records: None
                })))?;
            } else {
                ui::aside(&format!(
                    "no records yet in `{}`; `proem run` and `proem assemble` create them\n",
                    cut_to_width(&place, 80)
                ));
            }
            return Ok(ExitCode::SUCCESS);
        };
        if as_json {
            let output = StoreStatusOutput { path: place, exists: true, records: Some(RecordsOutput::new(&file)) };
            ui::print_json_document(&json::pretty(&json!(output)))?;
        } else {
            ui::print_listing(&self.page(&file))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn page(&self, file: &RecordsFile) -> String {
        let RecordsFile { origin, status, witness, .. } = file;
        let origin = match origin {
            StoreCreator::Own => "this installation".to_owned(),
            StoreCreator::Foreign => {
                style_text(YELLOW, "another installation, so they are read-only; `proem store adopt` takes them over")
            }
        };
        let all: u64 = status.runs.values().sum();
        let facts = [
            (place_word(&self.place), cut_to_width(&self.place.to_string(), 84)),
            ("id", cut_to_width(&status.id, 64)),
            ("made by", origin),
            ("made on", when::date_and_clock(status.created, &self.zone)),
            ("last seen", when::date_and_clock(status.last_seen, &self.zone)),
            ("form", status.form.to_string()),
            ("size", format!("{} bytes", ui::group_thousands(usize::try_from(status.bytes).unwrap_or(usize::MAX)))),
            ("open", count_with_noun(status.open, "attempt")),
            ("runs", count_with_noun(all, "run")),
        ];
        let mut out = String::new();
        for (name, fact) in facts {
            out.push_str(&format!("{}  {fact}\n", style_text(DIM, &format!("{name:9}"))));
        }
        if let Some(why) = &witness.parked {
            let what = style_text(YELLOW, &format!("parked: {why}; `proem store adopt` shows what was sent"));
            out.push_str(&format!("{}  {what}\n", style_text(DIM, &format!("{:9}", "effects"))));
        }
        for (project, runs) in &status.runs {
            out.push_str(&format!("  {:>9}  {}\n", ui::short_number(*runs), cut_to_width(project, 84)));
        }
        out
    }

    /// The file to change, with what a person should know first.
    async fn shown(&self) -> Result<RecordsFile, CommandFailure> {
        let Some(file) = self.file(StoreAccess::Write).await? else {
            return Err(CommandFailure::usage(format!("there are no records in `{}`", self.place)));
        };
        ui::aside(&self.page(&file));
        Ok(file)
    }

    async fn adopt(&self) -> Result<ExitCode, CommandFailure> {
        let mut operator = ui::operator(
            "records of another installation, or a copy, would be taken over by this one",
            "look at them with `proem store status`",
        )?;
        let file = self.shown().await?;
        if file.origin == StoreCreator::Own && file.witness.parked.is_none() {
            file.close().await;
            ui::aside("nothing to do: this installation made the records, and their witness agrees with them\n");
            return Ok(ExitCode::SUCCESS);
        }
        ui::aside(&self.sent_page(&file.witness));
        ui::aside(
            "If you take them over: their costs count, prompts learn from their failures,\nand their runs can be \
             resumed. Nothing that was sent is sent again.\n",
        );
        if ui::confirm(&mut operator, "Take them over?")? == Consent::No {
            file.close().await;
            return Ok(ExitCode::from(NO));
        }
        let counts = file.adopt(&operator).await?;
        ui::aside(&format!("these records are this installation's{}\n", adoption_summary(&counts)));
        Ok(ExitCode::SUCCESS)
    }

    /// The effects that the witness knows, for a person who is about to adopt: all that the records lack, then the latest of the
    /// rest.
    fn sent_page(&self, witness: &WitnessList) -> String {
        let mut out = String::new();
        if witness.extent == WitnessExtent::Partial {
            out.push_str(
                "The witness of effects is no whole account: something may have been sent that is not listed here.\nLook \
                 into the mailbox and the tickets. Every action has to be approved anew.\n",
            );
        }
        if witness.lines.is_empty() {
            return out;
        }
        let of = |knowledge| witness.lines.iter().filter(move |line| line.knowledge == knowledge);
        let lacking = of(RecordKnowledge::Unknown).count();
        let known = of(RecordKnowledge::Known).count();
        out.push_str(&format!("Sent, as the witness of effects says ({lacking} that these records lack):\n"));
        for line in of(RecordKnowledge::Unknown).chain(of(RecordKnowledge::Known).take(MOST_KNOWN)) {
            out.push_str(&self.sent_line(line));
        }
        if known > MOST_KNOWN {
            out.push_str(&format!("  and {} earlier that these records know\n", known - MOST_KNOWN));
        }
        out
    }

    fn sent_line(&self, line: &WitnessListLine) -> String {
        let key = line.key.to_string();
        let knowledge = match (line.knowledge, line.state) {
            (RecordKnowledge::Known, _) => "known here".to_owned(),
            (RecordKnowledge::Unknown, None) => style_text(YELLOW, "not in these records"),
            (RecordKnowledge::Unknown, Some(state)) => {
                style_text(YELLOW, &format!("`{}` in these records", state.as_str()))
            }
        };
        let id = key.get(..12).unwrap_or(&key);
        let at = when::date_and_clock(line.at, &self.zone);
        format!("  {id}  {at}  {:16}  {knowledge}\n", outcome_word(line))
    }

    async fn reset_clock(&self) -> Result<ExitCode, CommandFailure> {
        let mut operator =
            ui::operator("the last recorded time would be reset", "look at it with `proem store status`")?;
        let file = self.shown().await?;
        let now = when::time_now();
        let question =
            format!("Set the last recorded time to {}?", style_text(BOLD, &when::date_and_clock(now, &self.zone)));
        if ui::confirm(&mut operator, &question)? == Consent::No {
            file.close().await;
            return Ok(ExitCode::from(NO));
        }
        file.reset_clock(&operator, now).await?;
        ui::aside("set; costs recorded for later days stay with those days\n");
        Ok(ExitCode::SUCCESS)
    }
}

/// The word for the place of records.
const fn place_word(place: &RecordsLocation) -> &'static str {
    match place {
        RecordsLocation::File(_) => "file",
        RecordsLocation::Database(_) => "database",
    }
}

/// The most effects that are listed although the records know of them.
const MOST_KNOWN: usize = 20;

fn outcome_word(line: &WitnessListLine) -> &'static str {
    line.outcome.map_or("may have left", |outcome| outcome.as_str())
}

/// The changes that adopting made, behind the words that it is done.
fn adoption_summary(counts: &AdoptionCounts) -> String {
    let mut out = String::new();
    if counts.doubted > 0 {
        let actions = count_with_noun(counts.doubted, "action");
        out.push_str(&format!("; {actions} left or may have: look, then `proem queue resolve ID`"));
    }
    if counts.returned > 0 {
        out.push_str(&format!("; {} to approve anew", count_with_noun(counts.returned, "action")));
    }
    out
}
