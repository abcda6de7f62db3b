//! `proem trust revoke`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use proem_guard::show;

use super::candidates::listed;
use super::{Place, is_below};
use crate::failure::Failure;
use crate::ui;

pub(super) fn run(place: &Place, files: &[PathBuf], all: bool) -> Result<ExitCode, Failure> {
    let stored = &place.vouched;
    let paths =
        stored.hashes().map(|(path, _)| path).chain(stored.editing().iter().map(|editing| editing.path.as_str()));
    let known: BTreeSet<&str> = paths.collect();
    if all && known.is_empty() {
        ui::aside("nothing to do: nothing is trusted here\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut wanted = BTreeSet::new();
    for file in files {
        let path = place.path(file)?;
        let found: Vec<&str> = known.iter().copied().filter(|known| *known == path || is_below(known, &path)).collect();
        if found.is_empty() {
            return Err(unknown(place, &path, &known));
        }
        wanted.extend(found.into_iter().map(str::to_owned));
    }
    let revoked = place.store.revoke(&place.key, |path| all || wanted.contains(path))?;
    for path in &revoked {
        ui::aside(&format!("no longer trusted: `{}`\n", show::terminal_str(path)));
    }
    for path in revoked.iter().filter(|_| !all) {
        let still = place
            .vouched
            .editing()
            .iter()
            .find(|editing| !wanted.contains(&editing.path) && is_below(path, &editing.path));
        if let Some(editing) = still {
            let (path, folder) = (show::terminal_str(path), show::terminal_str(&editing.path));
            ui::note(&format!(
                "`{path}` is still trusted while `{folder}` is edited; `proem trust revoke {folder}` ends that"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(place: &Place, path: &str, known: &BTreeSet<&str>) -> Failure {
    let shown = show::terminal_str(path);
    if let Some(editing) = place.vouched.editing().iter().find(|editing| is_below(path, &editing.path)) {
        let folder = show::terminal_str(&editing.path);
        return Failure::finding(format!(
            "`{shown}` is trusted only while `{folder}` is edited; `proem trust revoke {folder}` ends that"
        ));
    }
    if known.is_empty() {
        return Failure::finding(format!("`{shown}` is not trusted; nothing is trusted here"));
    }
    let names: Vec<&str> = known.iter().copied().collect();
    Failure::finding(format!("`{shown}` is not trusted; the trusted files are {}", listed(&names)))
}
