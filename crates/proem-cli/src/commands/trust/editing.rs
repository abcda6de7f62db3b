//! `proem trust --while-editing`

use std::path::Path;
use std::process::ExitCode;

use proem_guard::show;

use super::NO;
use super::list::utc_minute;
use super::review::{path_heading, trust_review};
use crate::failure::CommandFailure;
use crate::ui::{self, BOLD, style_text};
use proem_app::operator::Consent;
use proem_app::trust::{FileReview, TrustPlace};

pub(super) fn run_trust_editing(place: &TrustPlace, file: &Path) -> Result<ExitCode, CommandFailure> {
    let offer = place.editing(file)?;
    let shown = show::terminal_str(&offer.path).into_string();
    let mut operator = ui::operator(
        &format!("`{shown}` would be trusted whatever its content"),
        "trust single versions with `proem trust --sha256 HEX FILE`",
    )?;
    let offer = place.timed(offer)?;
    let open = place.untrusted(&offer.covered);
    let reviewed: Vec<FileReview<'_>> = open.iter().map(|candidate| place.reviewed(candidate)).collect();
    ui::aside(&trust_review(&reviewed, &[]));
    let until = offer.until;
    let ends = match &offer.head {
        Some(commit) => {
            format!(
                "until HEAD is no longer {}, at the latest until {}",
                commit.get(..12).unwrap_or(commit),
                utc_minute(until)
            )
        }
        None if place.in_git() => format!("until there is a commit, at the latest until {}", utc_minute(until)),
        None => format!("until {}", utc_minute(until)),
    };
    ui::aside(&path_heading(&style_text(BOLD, "while editing: "), &offer.path));
    ui::aside(&format!(
        "  If you trust it: any content is trusted, whoever writes it, {ends}.\n  `proem trust revoke` ends it \
         sooner.\n\n"
    ));
    if ui::confirm(&mut operator, "Trust it while it is being edited?")? == Consent::No {
        return Ok(ExitCode::from(NO));
    }
    place.edit(&operator, offer)?;
    ui::aside(&format!("`{shown}` is trusted {ends}\n"));
    Ok(ExitCode::SUCCESS)
}
