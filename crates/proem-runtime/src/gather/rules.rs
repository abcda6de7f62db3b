//! Reads the files that ask to be read as rules.
//!
//! A link is followed only to a Markdown file inside the root and outside `.git`: such links are
//! common (`CLAUDE.md` for `AGENTS.md`), while a link to `.env` or `.git/config` would carry the
//! user's secrets into a prompt.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use proem_agents::assemble::gathered::{Gap, RuleFile, RuleText};
use proem_guard::Untrusted;
use proem_text::{Label, Source, hex};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    files::{FileContent, TrustedFile, read_regular},
    gaps::{gap, gap_of},
    gather::GatherOptions,
};

/// The known names, each with the source that its text is labelled with.
const RULE_FILES: [(&str, Source); 3] = [
    ("AGENTS.md", Source::named("file/agents-md")),
    ("CLAUDE.md", Source::named("file/claude-md")),
    (".proem/rules.md", Source::named("file/proem-rules")),
];

/// The rule files in `root`, in the order of their names above.
pub(super) fn rule_files(root: &Path, options: &GatherOptions, gaps: &mut Vec<Gap>) -> Vec<RuleFile> {
    RULE_FILES.into_iter().filter_map(|(name, source)| rule_file(root, name, &source, options, gaps)).collect()
}

fn rule_file(
    root: &Path,
    name: &'static str,
    source: &Source,
    options: &GatherOptions,
    gaps: &mut Vec<Gap>,
) -> Option<RuleFile> {
    let outside = |text| RuleText::Outside(Untrusted::new(text, Label::from_source(source.clone())));
    let content = match content(root, name, options.limits.rule_file_bytes) {
        Ok(content) => content?,
        Err(RuleFileProblem::Leads(why)) => {
            gaps.push(gap(name, why));
            return None;
        }
        Err(RuleFileProblem::Failed(error)) => {
            gaps.push(gap_of(name, &error));
            return None;
        }
    };
    let (bytes, whole) = match content {
        FileContent::Whole(bytes) => (bytes, true),
        FileContent::Cut(bytes) => {
            gaps.push(gap(name, format!("only its first {} bytes are read; make it shorter", bytes.len())));
            (without_half_character(bytes), false)
        }
    };
    let hash = hex::encode(Sha256::digest(&bytes));
    let approved = whole && options.trusted.contains(&TrustedFile { name: name.to_owned(), hash: hash.clone() });
    let text = match String::from_utf8(bytes) {
        Ok(text) if approved => RuleText::Approved(text),
        Ok(text) => outside(text),
        Err(error) => {
            gaps.push(gap(name, "it is not UTF-8, so parts are replaced and it can't be approved; save it as UTF-8"));
            outside(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
    };
    Some(RuleFile { name, hash, text })
}

/// Why a rule file isn't read.
enum RuleFileProblem {
    /// A link that isn't followed, and why.
    Leads(&'static str),
    Failed(Error),
}

fn content(root: &Path, name: &str, cap: usize) -> Result<Option<FileContent>, RuleFileProblem> {
    let path = root.join(name);
    if let Err(error) = path.symlink_metadata()
        && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    {
        return Ok(None);
    }
    let real = real_path(root, &path)?;
    read_regular(&real, cap).map_err(RuleFileProblem::Failed)
}

/// The path without links, if none leads where it must not.
fn real_path(root: &Path, path: &Path) -> Result<PathBuf, RuleFileProblem> {
    let failed = |error| RuleFileProblem::Failed(Error::io("follow", path)(error));
    let root = fs::canonicalize(root).map_err(failed)?;
    let real = match fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RuleFileProblem::Leads("it is a broken link; remove it"));
        }
        Err(error) if path.is_symlink() && !matches!(error.kind(), io::ErrorKind::PermissionDenied) => {
            return Err(RuleFileProblem::Leads("it is a circular link; remove it"));
        }
        Err(error) => return Err(failed(error)),
    };
    let Ok(inside) = real.strip_prefix(&root) else {
        return Err(RuleFileProblem::Leads("it is a link to a file outside the repository; replace it with the file"));
    };
    let in_git = inside.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
    let markdown = inside.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    if in_git || !markdown {
        return Err(RuleFileProblem::Leads(
            "it is a link to something that is not a Markdown file; replace it with a file",
        ));
    }
    Ok(real)
}

/// The bytes up to the last whole character, if all before it are UTF-8.
fn without_half_character(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        let whole = error.valid_up_to();
        bytes.truncate(whole);
    }
    bytes
}
