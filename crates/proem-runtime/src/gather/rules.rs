//! Reads the files that ask to be read as rules.
//!
//! A link is followed only to a Markdown file inside the root and outside `.git`: such links are
//! common (`CLAUDE.md` for `AGENTS.md`), while a link to `.env` or `.git/config` would carry the
//! user's secrets into a prompt.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use proem_agents::assemble::place_facts::{Gap, RuleFile, RuleText};
use proem_agents::assemble::rule_names::{FOLDER_RULES, RULE_FILES, RULE_FOLDERS, rule_source};
use proem_guard::Untrusted;
use proem_text::{Label, hex};
use sha2::{Digest, Sha256};

use crate::{
    Error,
    files::{FileContent, TrustedFile, read_regular},
    gaps::{gap, gap_of},
    gather::GatherOptions,
};

/// The most files of one such folder.
const MAX_FOLDER_RULES: usize = 20;

/// The rule files in `root`, in the order of [`RULE_FILES`], then those of folders.
pub(super) fn rule_files(root: &Path, options: &GatherOptions, gaps: &mut Vec<Gap>) -> Vec<RuleFile> {
    let known = RULE_FILES.into_iter().map(str::to_owned);
    let in_folders = RULE_FOLDERS.into_iter().flat_map(|(folder, endings)| files_of_folder(root, folder, endings));
    known.chain(in_folders).filter_map(|name| rule_file(root, &name, options, gaps)).collect()
}

/// The rule files of folders below `root`, in the order given.
pub fn folder_rules(root: &Path, folders: &[&str], options: &GatherOptions, gaps: &mut Vec<Gap>) -> Vec<RuleFile> {
    let names = folders.iter().filter(|folder| !folder.is_empty());
    let names = names.flat_map(|folder| FOLDER_RULES.map(|name| format!("{folder}/{name}")));
    names.filter_map(|name| rule_file(root, &name, options, gaps)).collect()
}

/// The paths of the rules in a folder, sorted.
fn files_of_folder(root: &Path, path: &str, endings: &[&str]) -> Vec<String> {
    // With its slash, a link would be looked through.
    let folder = root.join(path.trim_end_matches('/'));
    if !folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| endings.iter().any(|ending| name.ends_with(ending))).collect();
    names.sort();
    names.into_iter().take(MAX_FOLDER_RULES).map(|name| format!("{path}{name}")).collect()
}

fn rule_file(root: &Path, name: &str, options: &GatherOptions, gaps: &mut Vec<Gap>) -> Option<RuleFile> {
    let source = rule_source(name);
    // A gap's words are ours: what somebody else named a folder is beside them.
    let is_known = RULE_FILES.contains(&name);
    let what = if is_known { name } else { "a rule file" };
    let about = |gap: Gap| match is_known {
        true => gap,
        false => Gap { about: Some(Untrusted::new(name.to_owned(), Label::from_source(source.clone()))), ..gap },
    };
    let has_settings = RULE_FOLDERS.iter().any(|(folder, _)| name.starts_with(folder));
    let rules = |text: String| if has_settings { without_settings(&text) } else { text };
    let outside = |text| RuleText::Outside(Untrusted::new(text, Label::from_source(source.clone())));
    let content = match rule_file_content(root, name, options.limits.rule_file_bytes) {
        Ok(content) => content?,
        Err(RuleFileProblem::Leads(why)) => {
            gaps.push(about(gap(what, why)));
            return None;
        }
        Err(RuleFileProblem::Failed(error)) => {
            gaps.push(about(gap_of(what, &error)));
            return None;
        }
    };
    let (bytes, whole) = match content {
        FileContent::Whole(bytes) => (bytes, true),
        FileContent::Cut(bytes) => {
            gaps.push(about(gap(what, format!("only its first {} bytes are read; make it shorter", bytes.len()))));
            (without_half_character(bytes), false)
        }
    };
    let hash = hex::encode_hex(Sha256::digest(&bytes));
    let approved = whole && options.trusted.contains(&TrustedFile { name: name.to_owned(), hash: hash.clone() });
    let text = match String::from_utf8(bytes) {
        Ok(text) if approved => RuleText::Trusted(rules(text)),
        Ok(text) => outside(rules(text)),
        Err(error) => {
            gaps.push(about(gap(
                what,
                "it is not UTF-8, so parts are replaced and it can't be approved; save it as UTF-8",
            )));
            outside(rules(String::from_utf8_lossy(error.as_bytes()).into_owned()))
        }
    };
    Some(RuleFile { name: name.to_owned(), hash, text })
}

/// A rule without the front matter that its editor reads; which files it is about stays, as the editor's key says it.
///
/// A front matter without an end is text.
fn without_settings(text: &str) -> String {
    let after = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let Some(after) = after else { return text.to_owned() };
    let mut offset = 0_usize;
    let mut about = String::new();
    for line in after.split_inclusive('\n') {
        offset = offset.saturating_add(line.len());
        let bare = line.trim_end();
        if bare == "---" {
            return format!("{about}{}", after.get(offset..).unwrap_or_default());
        }
        let files = bare.strip_prefix("globs:").or_else(|| bare.strip_prefix("applyTo:")).map(str::trim);
        if let Some(files) = files.filter(|files| !matches!(*files, "" | "[]" | "\"\"" | "''")) {
            about = format!("For files that match {files}:\n");
        }
    }
    text.to_owned()
}

/// Why a rule file isn't read.
enum RuleFileProblem {
    /// A link that isn't followed, and why.
    Leads(&'static str),
    Failed(Error),
}

fn rule_file_content(root: &Path, name: &str, cap: usize) -> Result<Option<FileContent>, RuleFileProblem> {
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
    // A path that is no link was found under a known name, whatever its ending.
    let is_link = real != root.join(path.strip_prefix(&root).unwrap_or(path));
    let markdown = !is_link || inside.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editors_settings_are_not_sent_and_the_files_they_name_are() {
        for (text, expected) in [
            ("Use tabs.\n", "Use tabs.\n"),
            ("---\nalwaysApply: true\n---\nUse tabs.\n", "Use tabs.\n"),
            (
                "---\ndescription: x\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\nUse tabs.\n",
                "For files that match *.ts,*.tsx:\nUse tabs.\n",
            ),
            ("---\r\napplyTo: '**/*.py'\r\n---\r\nUse spaces.\r\n", "For files that match '**/*.py':\nUse spaces.\r\n"),
            ("---\nglobs:\n---\nx", "x"),
            ("---\nglobs: a\nno end\n", "---\nglobs: a\nno end\n"),
        ] {
            assert_eq!(without_settings(text), expected, "{text:?}");
        }
    }
}
