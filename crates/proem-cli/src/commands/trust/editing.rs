//! `proem trust --while-editing`

use std::path::Path;
use std::process::ExitCode;

use proem_guard::show;

use super::candidates::{Candidate, Candidates};
use super::list::utc;
use super::review::{Reviewed, heading, review};
use super::{NO, Place, ask, is_below, on_terminal, untrusted};
use crate::failure::Failure;
use crate::ui::{self, BOLD, styled};
use proem_app::project::{BOOK, head, now};
use proem_app::trust::{EDITING_SECONDS, Editing};

pub(super) fn run(place: &Place, file: &Path) -> Result<ExitCode, Failure> {
    let path = place.path(file)?;
    if path.is_empty() {
        return Err(Failure::usage(format!("that is the whole project; name a file, or a folder such as `{BOOK}`")));
    }
    let candidates = Candidates::read(&place.root);
    let covered = covered(place, candidates, &path)?;
    let shown = show::terminal_str(&path);
    on_terminal(
        &format!("`{shown}` would be trusted whatever its content"),
        "trust single versions with `proem trust --sha256 HEX FILE`",
    )?;
    let head = head(&place.root, &place.git)?;
    let until = now().saturating_add(EDITING_SECONDS);
    let open = untrusted(place, &covered);
    let reviewed: Vec<Reviewed<'_>> = open.iter().map(|candidate| place.reviewed(candidate)).collect();
    ui::aside(&review(&reviewed, &[]));
    let ends = match &head {
        Some(commit) => {
            format!(
                "until HEAD is no longer {}, at the latest until {}",
                commit.get(..12).unwrap_or(commit),
                utc(until)
            )
        }
        None if place.in_git() => format!("until there is a commit, at the latest until {}", utc(until)),
        None => format!("until {}", utc(until)),
    };
    ui::aside(&heading(&styled(BOLD, "while editing: "), &path));
    ui::aside(&format!(
        "  If you trust it: any content is trusted, whoever writes it, {ends}.\n  `proem trust revoke` ends it \
         sooner.\n\n"
    ));
    if !ask("Trust it while it is being edited?")? {
        return Ok(ExitCode::from(NO));
    }
    place.store.edit(
        &place.key,
        &Editing { root: place.root.to_string_lossy().into_owned(), path: path.clone(), head, until },
    )?;
    ui::aside(&format!("`{shown}` is trusted {ends}\n"));
    Ok(ExitCode::SUCCESS)
}

/// The candidates at or below a path that may be trusted while it is edited.
fn covered(place: &Place, candidates: Candidates, path: &str) -> Result<Vec<Candidate>, Failure> {
    let in_book = path == ".proem" || path == BOOK || is_below(path, BOOK);
    let holds_some = candidates.files.iter().any(|candidate| is_below(&candidate.path, path));
    let refused = candidates.refused.iter().any(|refused| refused.path == path);
    if refused || !is_folder(&place.root, path) || !(in_book || holds_some) {
        return Ok(vec![candidates.get(path)?.clone()]);
    }
    Ok(candidates.files.into_iter().filter(|candidate| is_below(&candidate.path, path)).collect())
}

/// Whether a path is a folder, and no link is on the way to it.
fn is_folder(root: &Path, path: &str) -> bool {
    let mut folder = root.to_path_buf();
    path.split('/').all(|name| {
        folder.push(name);
        folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    })
}
