//! Risky operations and weaker tests.

use alloc::format;
use alloc::vec::Vec;

use super::scene::SceneFile;
use super::{Advice, Raw, Search, command_word, counted_noun};
use crate::change::{ChangedFile, FileStatus};
use crate::metric::{Sentence, SentencePart};
use crate::metrics::decides_level;
use crate::patch::{ChangedPin, Operation, OperationSite, PinChange, changed_pins, operation_sites};
use crate::path::FileRole;
use crate::signal::SignalName;

pub(super) fn operation_findings(search: Search<'_>) -> Vec<Raw> {
    let mut found = Vec::new();
    for (scene, file) in search.scene.files.iter().zip(&search.facts.change.files) {
        let sites = search.facts.change.patch(&file.path).map(operation_sites).unwrap_or_default();
        if scene.role == FileRole::Test {
            found.extend(weaker_tests(search, scene, &sites));
            continue;
        }
        if decides_level(scene.role) {
            found.extend(sites.iter().filter_map(|site| operation(search, (scene, file), site)));
        }
        if decides_level(scene.role) || scene.role == FileRole::Lock {
            let pins = search.facts.change.patch(&file.path).map(changed_pins).unwrap_or_default();
            found.extend(pins.iter().map(|pin| other_source(search, (scene, file), pin)));
        }
    }
    found
}

fn operation(search: Search<'_>, (scene, file): (&SceneFile<'_>, &ChangedFile), site: &OperationSite) -> Option<Raw> {
    let (signal, what) = match site.operation {
        Operation::Concurrency => (SignalName::Concurrency, "changes locks or threads"),
        Operation::Permissions if file.status == FileStatus::Deleted => {
            (SignalName::Permissions, "is deleted with the permissions that it had")
        }
        Operation::Permissions => (SignalName::Permissions, "changes permissions"),
        Operation::StoredData => (SignalName::StoredData, "changes stored data or its schema"),
        Operation::ErrorPath if search.scene.handles_fewer_errors(scene) => {
            (SignalName::ErrorPath, "handles fewer errors")
        }
        Operation::ErrorPath
        | Operation::Assertions
        | Operation::SkippedTest
        | Operation::AddedTest
        | Operation::OtherSource => return None,
    };
    let path = search.path(scene.index);
    // Of those that the file loses, the ones that no other file of the change gets.
    let lost = site.lost.min(search.scene.lost_error_paths());
    let lost = if lost > 0 { format!(", {lost} fewer") } else { alloc::string::String::new() };
    let evidence = Sentence::default().then(SentencePart::Path(path.clone())).and(format!(
        " {what} at line {} (`{}`{lost})",
        site.line,
        site.word.trim()
    ));
    let advice = Advice {
        sentence: Sentence::ours("have line ")
            .and(format!("{} of ", site.line))
            .then(SentencePart::Path(path))
            .and(format!(" reviewed on its own: it {what}")),
        command: show_command(search, file),
    };
    Some(Raw { line: Some(site.line), count: 1, advice: Some(advice), ..Raw::new(signal, scene.index, evidence) })
}

fn other_source(search: Search<'_>, (scene, file): (&SceneFile<'_>, &ChangedFile), pin: &ChangedPin) -> Raw {
    let path = search.path(scene.index);
    let what = match pin.change {
        PinChange::Source => "takes code from another source",
        PinChange::Digest => "takes other bytes under the same version",
        PinChange::Unpinned => "no longer takes code by its digest",
    };
    let evidence = Sentence::default()
        .then(SentencePart::Path(path))
        .and(format!(" {what} at line {}: ", pin.line))
        .then(SentencePart::Message(pin.before.clone()))
        .and(" becomes ")
        .then(SentencePart::Message(pin.after.clone()));
    let advice = Advice {
        sentence: Sentence::ours("check who publishes ")
            .then(SentencePart::Message(pin.after.clone()))
            .and(" and why it replaces what was there"),
        command: show_command(search, file),
    };
    let raw = Raw::new(SignalName::OtherSource, scene.index, evidence);
    Raw { line: Some(pin.line), count: 1, advice: Some(advice), ..raw }
}

/// The command that shows the change of a file.
fn show_command(search: Search<'_>, file: &ChangedFile) -> Option<alloc::string::String> {
    let change = search.facts.change;
    let path = file.path.to_text();
    let path = command_word(&path)?;
    match (change.base, change.id) {
        (Some(base), Some(id)) => Some(format!("git diff {:.12} {:.12} -- {path}", format!("{base}"), format!("{id}"))),
        _ => Some(format!("git diff HEAD -- {path}")),
    }
}

fn weaker_tests(search: Search<'_>, scene: &SceneFile<'_>, sites: &[OperationSite]) -> Option<Raw> {
    if !search.scene.weakens_tests(scene) {
        return None;
    }
    let path = SentencePart::Path(search.path(scene.index));
    let site = |operation| sites.iter().find(|site| site.operation == operation);
    let (line, lost, words) = match (scene.status, site(Operation::SkippedTest), site(Operation::Assertions)) {
        (FileStatus::Deleted, ..) => (None, 0, alloc::string::ToString::to_string(" is deleted, with its tests")),
        (_, Some(skip), _) => {
            (Some(skip.line), 1, format!(" skips a test at line {} (`{}`)", skip.line, skip.word.trim()))
        }
        (_, None, Some(lost)) => {
            let number = usize::try_from(lost.lost).unwrap_or(usize::MAX);
            (Some(lost.line), number, format!(" checks less: {} fewer than before", counted_noun(number, "assertion")))
        }
        (_, None, None) => return None,
    };
    let evidence = Sentence::default().then(path.clone()).and(words);
    let advice = Advice {
        sentence: Sentence::ours("say in the message what ").then(path).and(" no longer checks, and why"),
        command: usize::try_from(scene.index)
            .ok()
            .and_then(|index| search.facts.change.files.get(index))
            .and_then(|file| show_command(search, file)),
    };
    let raw = Raw::new(SignalName::WeakerTests, scene.index, evidence);
    Some(Raw { line, count: lost, advice: Some(advice), ..raw })
}
