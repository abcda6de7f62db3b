//! The agents' files of a folder: which they are, and what they would do.
//!
//! A link counts as the file that it leads to, because programs follow links. Nothing outside the folder is read.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use proem_guard::{Bar, Finding, Severity, Untrusted, Verdict, show};
use proem_runtime::files::{FileContent, read_beneath};
use proem_runtime::folder::{EntryKind, FolderEntry, list_untracked_files};
use proem_runtime::readers::DocumentField;

use super::agent_files::{AgentFileUse, AgentFinding, AgentSurvey, is_agent_material, judge_agent_file};
use super::examine::{ExaminedField, FieldContents, FileScan, PlacedFinding, ScanDepth, place_finding_list};
use super::place;
use crate::error::Error;
use crate::trust::sha256_hex;

/// The most of a file that a command names, or of settings, that is read, in bytes.
const READ_BYTES: usize = 4 << 20;

/// The text of a file, and how it is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentFileText<'f> {
    /// `None` for a file that is not one text.
    pub(super) field: Option<&'f DocumentField>,
    pub(super) bar: Bar,
    pub(super) detail: ScanDepth,
}

/// The agents' files of a folder.
#[derive(Debug)]
pub(super) struct AgentFolder {
    root: PathBuf,
    survey: AgentSurvey,
    /// Folders that agents' links lead to, and files, from the root.
    linked: BTreeSet<PathBuf>,
    /// Files that git doesn't track, from the root.
    untracked: BTreeSet<PathBuf>,
}

impl AgentFolder {
    /// Reads the settings among the entries of a folder.
    pub(super) fn survey(root: &Path, entries: &[FolderEntry]) -> Self {
        let mut folder = Self {
            root: root.to_path_buf(),
            survey: AgentSurvey::default(),
            linked: BTreeSet::new(),
            untracked: BTreeSet::new(),
        };
        for entry in entries {
            let is_link = entry.kind == EntryKind::Link;
            // A link to a folder has the name that the folder's files get behind it.
            if is_link && (is_agent_material(&entry.path) || is_agent_material(&entry.path.join("file"))) {
                folder.linked.extend(folder.link_target(&entry.path));
            }
        }
        for entry in entries {
            if entry.kind == EntryKind::File
                && folder.is_loaded(&entry.path)
                && let Some(bytes) = folder.bytes_of(&entry.path)
            {
                folder.survey.add(&entry.path.to_string_lossy(), &String::from_utf8_lossy(&bytes));
            }
        }
        folder
    }

    /// Reads the settings of a folder of which git tracks `entries`, and adds to these what agents load although git
    /// doesn't track it: programs don't ask git.
    ///
    /// # Errors
    ///
    /// If there are more files than are listed.
    pub(super) fn survey_untracked(root: &Path, entries: &mut Vec<FolderEntry>) -> Result<Self, Error> {
        let found = list_untracked_files(root, entries, &is_agent_material)?;
        let mut untracked: BTreeSet<PathBuf> = found.iter().map(|entry| entry.path.clone()).collect();
        entries.extend(found);
        let mut folder = Self::survey(root, entries);
        let known: BTreeSet<&Path> = entries.iter().map(|entry| entry.path.as_path()).collect();
        let is_below = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let is_new_file = |path: &Path| is_below(path) && !known.contains(path) && root.join(path).is_file();
        let referred = folder.survey.referred_paths().filter(|path| is_new_file(path));
        let referred: Vec<PathBuf> = referred.map(Path::to_path_buf).collect();
        entries.extend(referred.iter().map(|path| FolderEntry { path: path.clone(), kind: EntryKind::File }));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        untracked.extend(referred);
        folder.untracked = untracked;
        Ok(folder)
    }

    /// Whether an agent loads the file, or runs it because settings name it.
    pub(super) fn is_loaded(&self, path: &Path) -> bool {
        is_agent_material(path)
            || self.linked.iter().any(|linked| path.starts_with(linked))
            || self.survey.refers_to(&path.to_string_lossy())
    }

    /// The path that a link leads to, from the root. `None` if that is nowhere, or outside.
    fn link_target(&self, path: &Path) -> Option<PathBuf> {
        let root = self.root.canonicalize().ok()?;
        let target = self.root.join(path).canonicalize().ok()?;
        target.strip_prefix(&root).ok().filter(|inside| !inside.as_os_str().is_empty()).map(Path::to_path_buf)
    }

    fn bytes_of(&self, path: &Path) -> Option<Vec<u8>> {
        match read_beneath(&self.root, path, READ_BYTES) {
            Ok(Some(FileContent::Whole(bytes) | FileContent::Cut(bytes))) => Some(bytes),
            Ok(None) | Err(_) => None,
        }
    }

    /// Adds what a file would make an agent do, and says of each finding when an agent meets it.
    pub(super) fn judge(&self, path: &Path, asked: &AgentFileText<'_>, file: &mut FileScan) {
        let shown = path.to_string_lossy();
        let uses = AgentFileUse::of_path(&shown);
        for found in file.fields.iter_mut().flat_map(|field| &mut field.findings) {
            if found.finding.severity > Severity::Low {
                found.account.consequence = Some(uses.in_words().to_owned());
            }
        }
        self.add_own_findings(path, asked, file);
        if self.untracked.contains(path) {
            let accounts = file.fields.iter_mut().flat_map(|field| &mut field.findings);
            for text in accounts.filter_map(|found| found.account.consequence.as_mut()) {
                text.push_str(" Git doesn't track this file, so no review of a change shows it.");
            }
        }
    }

    /// Adds what a file would make an agent do.
    fn add_own_findings(&self, path: &Path, asked: &AgentFileText<'_>, file: &mut FileScan) {
        let AgentFileText { field, bar, detail } = *asked;
        let shown = path.to_string_lossy();
        let Some(field) = field else { return };
        let exact = show::exact_json(&field.text);
        let judged = judge_agent_file(&shown, exact.as_str().unwrap_or_default(), &self.survey);
        if judged.is_empty() {
            return;
        }
        let findings = judged.iter().map(agent_finding).collect();
        let mut placed = place_finding_list(&field.text, field.place, findings, bar);
        for (placed, judged) in placed.iter_mut().zip(judged) {
            placed.id = self.pinned_id(&judged, &field.text, placed);
            placed.account.consequence = Some(judged.consequence);
        }
        add_to_file(placed, &field.text, detail, file);
    }

    /// An id that ends with the finding's words, and with the files that its command names.
    fn pinned_id(&self, judged: &AgentFinding, text: &Untrusted<String>, placed: &PlacedFinding) -> String {
        let pins = judged.refers.iter().filter_map(|path| {
            let bytes = self.bytes_of(Path::new(path))?;
            Some(format!("{path}\0{}\0", sha256_hex(&bytes)))
        });
        let pins: String = pins.collect();
        let head = format!("{}\0{}\0{pins}", judged.rule.id, judged.severity.as_str());
        let mut id = place::line_hash(&head, text, judged.whole);
        id.truncate(placed.id.len());
        id
    }

    /// The files that the finding at `place` of a file names, of those that the folder has.
    pub(super) fn referred_by(&self, path: &Path) -> Vec<PathBuf> {
        let Some(bytes) = self.bytes_of(path) else { return Vec::new() };
        let judged = judge_agent_file(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes), &self.survey);
        judged.into_iter().flat_map(|finding| finding.refers).map(PathBuf::from).collect()
    }
}

fn agent_finding(judged: &AgentFinding) -> Finding {
    Finding {
        kind: judged.rule.kind,
        rule: judged.rule.id,
        span: judged.span,
        steps: Vec::new(),
        hidden: false,
        severity: judged.severity,
        score: 1.0,
    }
}

/// Adds findings to the text of a file that is one text.
fn add_to_file(mut placed: Vec<PlacedFinding>, text: &Untrusted<String>, detail: ScanDepth, file: &mut FileScan) {
    let worst = placed.iter().map(|found| found.verdict).max().unwrap_or(Verdict::Allow);
    match file.fields.iter_mut().find(|field| field.name.is_empty()) {
        Some(field) => {
            field.findings.append(&mut placed);
            field.findings.sort_by_key(|found| (found.finding.span, found.finding.kind, found.finding.rule));
            field.verdict = field.verdict.max(worst);
            if detail == ScanDepth::Reasons {
                field.detail = FieldContents::Reasons(text.clone());
            }
        }
        None => file.fields.push(ExaminedField {
            name: String::new(),
            verdict: worst,
            score: 0.0,
            findings: placed,
            unread: Vec::new(),
            unread_verdict: Verdict::Allow,
            detail: match detail {
                ScanDepth::Reasons => FieldContents::Reasons(text.clone()),
                ScanDepth::FindingsOnly | ScanDepth::Cut => FieldContents::FindingsOnly,
            },
        }),
    }
    file.verdict = file.verdict.max(worst);
    file.filtered_count = file.fields.iter().filter(|field| field.verdict >= Verdict::Quarantine).count();
}
