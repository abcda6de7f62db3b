//! `proem trust revoke`

use std::path::PathBuf;
use std::process::ExitCode;

use proem_guard::show;

use crate::failure::CommandFailure;
use crate::ui;
use proem_app::trust::{RevokeScope, TrustPlace};

pub(super) fn run_trust_revoke(place: &TrustPlace, files: &[PathBuf], all: bool) -> Result<ExitCode, CommandFailure> {
    let scope = if all { RevokeScope::All } else { RevokeScope::Named };
    let Some(revoked) = place.revoke(files, scope)? else {
        ui::aside("nothing to do: nothing is trusted here\n");
        return Ok(ExitCode::SUCCESS);
    };
    for path in &revoked.paths {
        ui::aside(&format!("no longer trusted: `{}`\n", show::terminal_str(path)));
    }
    ui::print_notes(&revoked.notes);
    Ok(ExitCode::SUCCESS)
}
