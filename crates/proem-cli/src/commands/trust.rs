//! `proem trust`: shows a project's files, asks, and keeps the answer.
//!
//! Invariants: only this command asks, only on a terminal, and once for all files; the bytes that
//! were shown are the bytes that become trusted.

pub(super) mod candidates;
mod editing;
mod list;
pub(super) mod review;
mod revoke;

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use proem_guard::show;
use proem_runtime::git::GitProgram;

use crate::args::{Trust, TrustCommand};
use crate::failure::Failure;
use crate::ui::{self, BOLD, styled};
use candidates::{Candidate, Candidates, listed, within};
use proem_app::project::{git, head, locate, now};
use proem_app::trust::{TrustStore, Vouched};
use review::{Before, Reviewed, review};

/// The exit code of a negative answer.
const NO: u8 = 1;
/// More than any answer, in bytes.
const MAX_ANSWER: u64 = 256;

pub(super) fn run(args: &Trust) -> Result<ExitCode, Failure> {
    let place = Place::open(&args.root)?;
    match &args.command {
        Some(TrustCommand::List { json }) => list::run(&place, *json),
        Some(TrustCommand::Revoke { files, all }) => revoke::run(&place, files, *all),
        None => match (&args.while_editing, &args.sha256) {
            (Some(path), _) => editing::run(&place, path),
            (None, Some(hash)) => by_hash(&place, &args.files, hash),
            (None, None) => by_review(&place, &args.files),
        },
    }
}

/// A project and what is trusted in it.
struct Place {
    root: PathBuf,
    /// The folder that was named; relative paths start there.
    folder: PathBuf,
    /// What the trust store calls the project.
    key: String,
    store: TrustStore,
    vouched: Vouched,
    git: GitProgram,
}

impl Place {
    fn open(folder: &Path) -> Result<Self, Failure> {
        let places = crate::places()?;
        let git = git(&places)?;
        let (root, key) = locate(folder, &git)?;
        let shown = show::terminal_str(&folder.display().to_string()).into_string();
        let Some(root) = root else {
            let problem =
                format!("`{shown}` is in a bare repository, which has no files to trust; run this in a work tree");
            return Err(Failure::usage(problem));
        };
        let folder =
            std::fs::canonicalize(folder).map_err(|e| Failure::usage(format!("could not open `{shown}`: {e}")))?;
        let store = TrustStore::new(places.state);
        let vouched = store.vouched(&key, &root.to_string_lossy(), now(), || head(&root, &git))?;
        Ok(Self { root, folder, key, store, vouched, git })
    }

    /// The path, relative to the root, of a file that was named.
    fn path(&self, file: &Path) -> Result<String, Failure> {
        within(&self.root, &self.folder, file)
    }

    /// Outside git the project is called by its own path.
    fn in_git(&self) -> bool {
        Path::new(&self.key) != self.root
    }

    fn reviewed<'c>(&self, candidate: &'c Candidate) -> Reviewed<'c> {
        let copy = self.store.last(&self.vouched, &candidate.path).and_then(|bytes| String::from_utf8(bytes).ok());
        let before = match copy {
            Some(text) => Before::Trusted(text),
            None if self.vouched.knows(&candidate.path) => Before::Lost,
            None => Before::New,
        };
        Reviewed { candidate, before }
    }
}

/// Shows what isn't trusted and asks.
fn by_review(place: &Place, files: &[PathBuf]) -> Result<ExitCode, Failure> {
    let mut candidates = Candidates::read(&place.root);
    if !files.is_empty() {
        // Somebody who names files wants to hear about those only.
        let wanted = wanted(place, &candidates, files)?;
        candidates.files.retain(|candidate| wanted.contains(&candidate.path));
        candidates.refused.clear();
    }
    let open: Vec<&Candidate> = untrusted(place, &candidates.files);
    let reviewed: Vec<Reviewed<'_>> = open.iter().map(|candidate| place.reviewed(candidate)).collect();
    let names: Vec<&str> = open.iter().map(|candidate| candidate.path.as_str()).collect();
    if names.is_empty() {
        ui::aside(&review(&[], &candidates.refused));
        ui::aside(&format!("{}\n", nothing(&candidates)));
        return Ok(ExitCode::SUCCESS);
    }
    on_terminal(
        &format!("not trusted: {}", listed(&names)),
        "review each file yourself and run `proem trust --sha256 HEX FILE`",
    )?;
    ui::aside(&review(&reviewed, &candidates.refused));
    let count = names.len();
    let question = if count == 1 { "Trust this file?".to_owned() } else { format!("Trust these {count} files?") };
    if !ask(&question)? {
        return Ok(ExitCode::from(NO));
    }
    let trusted: Vec<(String, Vec<u8>)> =
        open.iter().map(|candidate| (candidate.path.clone(), candidate.text.clone().into_bytes())).collect();
    place.store.trust(&place.key, &trusted)?;
    ui::aside(&format!("trusted {count} {}\n", if count == 1 { "file" } else { "files" }));
    Ok(ExitCode::SUCCESS)
}

/// Those whose present bytes nobody trusted.
fn untrusted<'c>(place: &Place, files: &'c [Candidate]) -> Vec<&'c Candidate> {
    files.iter().filter(|candidate| !place.vouched.has(&candidate.path, &candidate.hash)).collect()
}

/// The paths that were named; a folder stands for the candidates below it.
fn wanted(place: &Place, candidates: &Candidates, files: &[PathBuf]) -> Result<BTreeSet<String>, Failure> {
    let mut wanted = BTreeSet::new();
    for file in files {
        let path = place.path(file)?;
        let below: Vec<&Candidate> =
            candidates.files.iter().filter(|candidate| is_below(&candidate.path, &path)).collect();
        if below.is_empty() {
            wanted.insert(candidates.get(&path)?.path.clone());
        }
        wanted.extend(below.into_iter().map(|candidate| candidate.path.clone()));
    }
    Ok(wanted)
}

/// Whether `path` lies below `folder`; everything lies below the root, which is empty.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn nothing(candidates: &Candidates) -> String {
    match candidates.files.as_slice() {
        [] => format!("nothing to trust; {}", candidates.known()),
        [one] => {
            format!("nothing to do: `{}` is already trusted in its current version", show::terminal_str(&one.path))
        }
        all => format!("nothing to do: all {} files are already trusted in their current versions", all.len()),
    }
}

/// Trusts one file whose hash was reviewed elsewhere.
fn by_hash(place: &Place, files: &[PathBuf], wanted: &str) -> Result<ExitCode, Failure> {
    let [file] = files else {
        return Err(Failure::usage("`--sha256` takes one file; run the command once for each"));
    };
    let wanted = wanted.to_ascii_lowercase();
    if wanted.len() != 64 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let wanted = show::terminal_str(&wanted);
        return Err(Failure::usage(format!(
            "`{wanted}` is not a SHA-256 of 64 hexadecimal digits; `sha256sum FILE` prints one"
        )));
    }
    let path = place.path(file)?;
    let candidates = Candidates::read(&place.root);
    let candidate = candidates.get(&path)?;
    let shown = show::terminal_str(&path);
    if candidate.hash != wanted {
        let problem = format!("`{shown}` has the SHA-256 {}, not {wanted}; review what it holds", candidate.hash);
        return Err(Failure::finding(problem));
    }
    place.store.trust(&place.key, &[(path.clone(), candidate.text.clone().into_bytes())])?;
    ui::aside(&format!("trusted `{shown}`\n"));
    Ok(ExitCode::SUCCESS)
}

/// Refuses to go on where nobody can be asked.
pub(super) fn on_terminal(about: &str, otherwise: &str) -> Result<(), Failure> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{about}; this needs confirmation, and there is no terminal: run it in one, or {otherwise}"
    )))
}

/// Asks one question; anything but yes is no.
pub(super) fn ask(question: &str) -> Result<bool, Failure> {
    ui::aside(&format!("{} [y/N] ", styled(BOLD, question)));
    let mut answer = Vec::new();
    let mut input = std::io::stdin().lock().take(MAX_ANSWER);
    input.read_until(b'\n', &mut answer).map_err(|e| Failure::outside(format!("could not read the answer: {e}")))?;
    let yes = matches!(answer.trim_ascii().to_ascii_lowercase().as_slice(), b"y" | b"yes");
    if !yes {
        ui::aside("nothing was changed\n");
    }
    Ok(yes)
}
