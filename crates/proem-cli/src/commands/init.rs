//! `proem init`: writes what a project lacks.
//!
//! Invariants: what is there is never changed and no link is followed; everything that could be in
//! the way is looked at before the first file is written; what was written is trusted, and what was
//! there already is not.

mod config;
mod import;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use proem_guard::show;
use proem_runtime::Error;
use proem_runtime::files::{self, Access, Content};
use proem_runtime::git::GitProgram;

use super::trust::candidates::{Candidate, Candidates, listed};
use crate::args::Init;
use crate::failure::Failure;
use crate::ui::{self, DIM, GREEN, styled};
use config::Values;
use import::import;
use proem_app::project::{BOOK, CONFIG, git, head, locate, now};
use proem_app::trust::{MAX_FILE_BYTES, TrustStore};

const QUESTION: &str = include_str!("init/question.prompt");
const QUESTION_PATH: &str = "project/question/1.0.0.prompt";
const MANIFEST: &str = "\
# The version of each prompt that is used; without an entry, the newest.
[current]
\"project/question\" = \"1.0.0\"
";
const PRIVATE: &str = include_str!("init/private.md");

/// A file that may be written.
#[derive(Debug)]
struct Planned {
    path: String,
    text: String,
    why: &'static str,
    access: Access,
    /// Whether it is among what is read as trusted.
    read_as_trusted: bool,
}

impl Planned {
    fn trusted(path: impl Into<String>, text: impl Into<String>, why: &'static str) -> Self {
        Self { read_as_trusted: true, ..Self::plain(path, text, why) }
    }

    fn plain(path: impl Into<String>, text: impl Into<String>, why: &'static str) -> Self {
        Self { path: path.into(), text: text.into(), why, access: Access::Shared, read_as_trusted: false }
    }

    fn private(path: &str, text: &str, why: &'static str) -> Self {
        Self { access: Access::Private, ..Self::plain(path, text, why) }
    }
}

/// What became of the files.
#[derive(Debug, Default)]
struct Outcome {
    written: Vec<Planned>,
    kept: Vec<Planned>,
    /// Those of `kept` that hold something else.
    other: BTreeSet<String>,
}

pub(super) fn run(args: &Init) -> Result<ExitCode, Failure> {
    if args.print {
        ui::data(&config::every_key()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let places = crate::places()?;
    let git = git(&places)?;
    let (root, key) = locate(&args.root, &git)?;
    let shown = show::terminal_str(&args.root.display().to_string()).into_string();
    let Some(root) = root else {
        let problem =
            format!("`{shown}` is in a bare repository, which has no work tree; run this in a clone that has one");
        return Err(Failure::usage(problem));
    };
    // The store is opened first: if it can't be read, nothing should have been written.
    let store = TrustStore::new(places.state);
    store.check()?;
    let import = args.from.as_deref().map(import).transpose()?;
    let values = import.as_ref().map(|import| import.values.clone()).unwrap_or_default();
    let mut planned = vec![Planned::trusted(
        CONFIG,
        config::text(&values),
        "the most common settings; `proem init --print` prints every key",
    )];
    planned.extend(book(&root)?);
    let account = import.map(|import| {
        let parts: BTreeSet<String> = import.planned.iter().map(|file| file.path.clone()).collect();
        planned.extend(import.planned);
        (import.account, parts)
    });
    planned.push(Planned::private(".proem/private/.gitignore", "*\n", "keeps the folder out of the repository"));
    planned.push(Planned::private(
        ".proem/private/README.md",
        PRIVATE,
        "which files are allowed next to it, and who may read it",
    ));
    let outcome = write(&root, planned)?;
    let trusted = outcome.written.iter().filter(|file| file.read_as_trusted);
    let trusted: Vec<(String, Vec<u8>)> =
        trusted.map(|file| (file.path.clone(), file.text.clone().into_bytes())).collect();
    if !trusted.is_empty() {
        store.trust(&key, &trusted).map_err(|e| {
            Failure::outside(format!("the files were written but are not trusted yet: {e}; run `proem trust`"))
        })?;
    }
    let written: Vec<(&str, &[u8])> =
        outcome.written.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
    if !written.is_empty() {
        store.wrote(&key, &written)?;
    }
    if let Some((account, parts)) = account
        && outcome.written.iter().any(|file| parts.contains(&file.path))
    {
        ui::listing(&account)?;
        let stay: Vec<&str> = outcome.other.intersection(&parts).map(String::as_str).collect();
        if !stay.is_empty() {
            ui::note(&format!(
                "{} already {} other content and {} changed; the original text is in {}",
                listed(&stay),
                if stay.len() == 1 { "has" } else { "have" },
                if stay.len() == 1 { "is not" } else { "are not" },
                import::BASELINE
            ));
        }
    }
    ui::listing(&told(&root, &outcome, &values))?;
    let store = Told { store: &store, git: &git, key: &key };
    ui::listing(&next((&args.root, &root), &store, &outcome)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of a book with one example, as far as the project has none of its own.
fn book(root: &Path) -> Result<Vec<Planned>, Failure> {
    let found = Candidates::read(root);
    let own =
        |candidate: &&Candidate| candidate.path.starts_with(&format!("{BOOK}/")) && candidate.path.ends_with(".prompt");
    let example = format!("{BOOK}/{QUESTION_PATH}");
    let others = found.files.iter().filter(own).any(|file| file.path != example || file.text != QUESTION);
    if others || found.refused.iter().any(|refused| refused.path.starts_with(BOOK)) {
        // An example would be in the way of a book that is in use.
        return Ok(Vec::new());
    }
    let files: BTreeMap<String, String> = [("book.toml", MANIFEST), (QUESTION_PATH, QUESTION)]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
    let why = |path: &str| match path {
        "book.toml" => "which version of each prompt is used",
        _ => "an example of a prompt, to change or delete",
    };
    Ok(files.into_iter().map(|(path, text)| Planned::trusted(format!("{BOOK}/{path}"), text, why(&path))).collect())
}

/// Writes what is missing, after looking at what is there.
fn write(root: &Path, planned: Vec<Planned>) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let mut missing = Vec::new();
    for file in planned {
        match files::read_beneath(root, Path::new(&file.path), MAX_FILE_BYTES) {
            Ok(None) => missing.push(file),
            Ok(Some(content)) => {
                if !matches!(content, Content::Whole(bytes) if bytes == file.text.as_bytes()) {
                    outcome.other.insert(file.path.clone());
                }
                outcome.kept.push(file);
            }
            Err(error @ (Error::Link { .. } | Error::NotRegular { .. })) => {
                return Err(Failure::usage(format!("{error}; nothing was written")));
            }
            Err(error) => return Err(Failure::outside(format!("{error}; nothing was written"))),
        }
    }
    for file in missing {
        match files::write_new(root, Path::new(&file.path), file.text.as_bytes(), file.access) {
            Ok(()) => outcome.written.push(file),
            // Somebody else was faster.
            Err(Error::Exists { .. }) => outcome.kept.push(file),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(outcome)
}

/// What was written and what was left alone, one line each.
fn told(root: &Path, outcome: &Outcome, values: &Values) -> String {
    let shown = show::terminal_str(&root.display().to_string());
    let mut out = if outcome.written.is_empty() {
        format!("nothing to do: everything is there in {shown}\n")
    } else {
        format!("wrote to {shown} and trusted:\n")
    };
    let all = outcome.written.iter().chain(&outcome.kept);
    let width = all.map(|file| file.path.len()).max().unwrap_or(0);
    for file in &outcome.written {
        let not = if file.read_as_trusted { "" } else { " (does not need to be trusted)" };
        out.push_str(&format!(
            "  {}  {}{}\n",
            styled(GREEN, &format!("{:width$}", file.path)),
            file.why,
            styled(DIM, not)
        ));
    }
    for file in &outcome.kept {
        out.push_str(&format!("  {:width$}  {}\n", file.path, styled(DIM, "already exists and was left unchanged")));
    }
    let missing = if outcome.kept.iter().any(|file| file.path == CONFIG) { unset(root, values) } else { Values::new() };
    if !missing.is_empty() {
        out.push_str(&format!("\n{CONFIG} already exists and was not changed; to use the parts, add this to it:\n\n"));
        let lines = config::lines(&missing);
        lines.lines().for_each(|line| out.push_str(&format!("    {line}\n").replace("    \n", "\n")));
    }
    out
}

/// Those values that the project's configuration doesn't have.
fn unset(root: &Path, values: &Values) -> Values {
    let found = Candidates::read(root);
    let text = found.files.iter().find(|candidate| candidate.path == CONFIG).map_or("", |candidate| &candidate.text);
    let table: toml::Table = text.parse().unwrap_or_default();
    let set = |name: &str| {
        let mut keys = name.split('.');
        let first = table.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key)).map(ToString::to_string)
    };
    values
        .iter()
        .filter(|(name, value)| set(name).as_ref() != Some(value))
        .map(|(name, value)| (*name, value.clone()))
        .collect()
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let shown = show::terminal_str(&path.display().to_string()).into_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if shown.chars().all(plain) { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) }
}

/// What is known of a project's trust.
struct Told<'t> {
    store: &'t TrustStore,
    git: &'t GitProgram,
    key: &'t str,
}

/// What to do next.
fn next((asked, root): (&Path, &Path), told: &Told<'_>, outcome: &Outcome) -> Result<String, Failure> {
    let vouched = told.store.vouched(told.key, &root.to_string_lossy(), now(), || head(root, told.git))?;
    let candidates = Candidates::read(root);
    let open = candidates.files.iter().filter(|candidate| !vouched.covers(&candidate.path, &candidate.hash));
    let open: Vec<&str> = open.map(|candidate| candidate.path.as_str()).collect();
    let elsewhere = if asked == Path::new(".") { String::new() } else { format!(" --root {}", quoted(asked)) };
    let mut out = String::new();
    if !open.is_empty() {
        out.push_str(&format!("  proem trust{elsewhere}    # not trusted yet: {}\n", listed(&open)));
    }
    if !outcome.written.is_empty() {
        out.push_str(&format!("  proem assemble \"what does this project do?\" --explain{elsewhere}\n"));
    }
    Ok(if out.is_empty() { out } else { format!("\nnext:\n{out}") })
}
