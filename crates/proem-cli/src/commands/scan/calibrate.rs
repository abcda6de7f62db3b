//! `proem scan --calibrate`: fits the flag point to a user's own harmless texts.
//!
//! Never without showing what it was fitted to.

use std::process::ExitCode;

use proem_guard::show;

use super::args::ScanArgs;
use super::{read_document, report_file_name};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, DIM, group_thousands, style_text};
use proem_app::scan::ScanOptions;
use proem_app::scan::calibrate::{Calibrating, HighText};

/// How many of the highest texts are shown, and how much of each, in characters.
const SHOWN: usize = 20;
const MAX_TEXT: usize = 100;

pub(super) fn run_scan_calibrate(args: &ScanArgs, options: &ScanOptions) -> Result<ExitCode, CommandFailure> {
    let places = crate::user_places()?;
    let mut calibrating = calibration_texts(args, options)?;
    let mut out = format!("{}\n", style_text(BOLD, "the highest scores of these texts, which are taken as harmless:"));
    for HighText { logit, place, start } in calibrating.highest().into_iter().take(SHOWN) {
        let (place, start) = (show::terminal_str(place), show::terminal_capped(start, MAX_TEXT));
        out.push_str(&format!("  {logit:+.2}  {}  {start}\n", style_text(DIM, &place.to_string())));
    }
    ui::aside(&out);
    let kept = calibrating.fit(&places)?;
    ui::aside(&format!(
        "flag threshold {:+.2} instead of {:+.2}, from {} texts; written to {}; delete that file to undo it\n",
        kept.calibration.flag,
        kept.instead_of,
        group_thousands(kept.calibration.texts),
        kept.path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Each file as one text. Each line of a `.jsonl` file as one.
fn calibration_texts(args: &ScanArgs, options: &ScanOptions) -> Result<Calibrating, CommandFailure> {
    let mut calibrating = Calibrating::new()?;
    let mut progress = ui::CountLine::new("files");
    for (number, path) in args.files.iter().enumerate() {
        progress.tell(number, args.files.len());
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            calibrating.rows(path)?;
            continue;
        }
        let document = read_document(path, options).map_err(|error| {
            CommandFailure::outside(format!("`{}` {error}", show::terminal_str(&report_file_name(path))))
        })?;
        calibrating.document(report_file_name(path), document);
    }
    progress.clear();
    Ok(calibrating)
}
