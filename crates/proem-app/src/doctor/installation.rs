//! The parts of this installation that can be checked without a model: key, records, trust, rules, locale.

use std::path::Path;

use proem_guard::show;
use proem_runtime::{Environment, installation_key};
use proem_store::{StoreAccess, StoreCreator};

use super::{CheckupLine, CheckupState, CheckupSubject};
use crate::config::{Config, KeepRecords};
use crate::context::index::index_failure;
use crate::effects::policy;
use crate::embedding::EmbeddingSetup;
use crate::error::Error;
use crate::guarding::GuardSetup;
use crate::message::{Hint, Note};
use crate::places::Places;
use crate::project::OpenProject;
use crate::records;
use crate::records::file::RecordsFile;
use crate::records::location::RecordsLocation;
use crate::trust::{TrustPlace, TrustState, trust_entries};
use crate::webhooks::{Webhook, load_webhooks};
use crate::when;
use crate::words::{count_with_noun, cut_to_width, group_thousands};

/// How far the last recorded time may be ahead before nothing is released any more, in milliseconds.
const AHEAD: i64 = 60_000;

/// Looks at the installation's key, and makes none.
pub(super) fn key_line(places: &Places) -> CheckupLine {
    let subject = CheckupSubject::Key;
    let path = places.key();
    let shown = installation_path(&path);
    if path.symlink_metadata().is_err() {
        if is_creatable(&path) {
            let text = format!("none yet; the first command that needs one writes `{shown}`");
            return CheckupLine::new(subject, CheckupState::Good, text);
        }
        let text = format!(
            "none, and `{shown}` can't be written: prompts are made, but nothing is recorded, remembered or sent by an effect; \
             set XDG_STATE_HOME to a folder of yours"
        );
        return CheckupLine::new(subject, CheckupState::Missing, text);
    }
    match installation_key(&path) {
        Ok(_) => CheckupLine::new(subject, CheckupState::Good, format!("`{shown}`, readable by you alone")),
        Err(failure) => {
            let open = match &failure {
                proem_runtime::Error::TooOpen { path, .. } => Some(show::terminal_str(&path.display().to_string())),
                _ => None,
            };
            let line = CheckupLine::failed(subject, failure.into());
            match open {
                Some(path) => line.hinting(Hint::CloseToOthers { path: path.into_string() }),
                None => line,
            }
        }
    }
}

/// Looks at how the last reading of the whole repository ended. Nothing if it is well.
pub(super) fn index_line(project: &OpenProject) -> Option<CheckupLine> {
    let why = index_failure(project)?;
    let text = format!(
        "the whole repository could not be read and kept: {}; `find` and `assemble` look only at what is likeliest until \
         that works",
        show::terminal_str(&why)
    );
    Some(CheckupLine::new(CheckupSubject::Git, CheckupState::Wrong, text).hinting(Hint::ReadWhole))
}

/// Looks at the webhooks of the configuration and their secrets. Nothing if there is none.
pub(super) fn webhook_line(places: &Places, config: &Config) -> Option<CheckupLine> {
    if config.webhooks.is_empty() {
        return None;
    }
    let subject = CheckupSubject::Webhook;
    let webhooks = match load_webhooks(places) {
        Ok(webhooks) => webhooks,
        Err(failure) => return Some(CheckupLine::failed(subject, failure)),
    };
    let names = |webhooks: &[&Webhook]| {
        let names: Vec<&str> = webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
        names.join(", ")
    };
    let (ready, shut): (Vec<&Webhook>, Vec<&Webhook>) = webhooks.iter().partition(|webhook| webhook.secret.is_some());
    Some(if shut.is_empty() {
        CheckupLine::new(subject, CheckupState::Good, format!("{}, each with a secret", names(&ready)))
    } else {
        let text = format!("{} waits for the handshake in which Asana chooses its secret", names(&shut));
        CheckupLine::new(subject, CheckupState::Missing, text)
    })
}

/// Whether a file that isn't there could be made: the nearest folder above it that is there can be written.
fn is_creatable(path: &Path) -> bool {
    let above = path.ancestors().skip(1).find(|folder| folder.exists());
    above.is_some_and(|folder| {
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
    })
}

/// Looks at the records.
pub(super) fn records_line(project: &OpenProject) -> Result<CheckupLine, Error> {
    let subject = CheckupSubject::Store;
    if let Err(failure) = records::booking_zone(&project.config.budget) {
        return Ok(CheckupLine::failed(subject, failure));
    }
    let runtime = records::runtime()?;
    let mut notes = Vec::new();
    let opened = runtime.block_on(async {
        let file = RecordsFile::open(project, StoreAccess::Read, &mut notes).await?;
        Ok::<_, Error>(match file {
            Some(file) => {
                let found = (file.origin.clone(), file.status.clone(), file.witness.parked.clone());
                file.close().await;
                Some(found)
            }
            None => None,
        })
    });
    let place = match records::records_location(project) {
        Ok(place) => place,
        Err(failure) => return Ok(CheckupLine::failed(subject, failure)),
    };
    Ok(match opened {
        Err(failure) => CheckupLine::failed(subject, failure),
        Ok(_) if project.config.records.keep == KeepRecords::Nothing => {
            CheckupLine::new(subject, CheckupState::Good, "`records.keep` says that nothing is recorded")
        }
        Ok(None) => {
            let text = match &place {
                RecordsLocation::File(_) => format!("none yet; the first run makes `{place}`"),
                RecordsLocation::Database(_) => {
                    format!("none yet; `{place}` is reachable, and the first run makes tables")
                }
            };
            CheckupLine::new(subject, CheckupState::Good, text)
        }
        Ok(Some((StoreCreator::Foreign, ..))) => {
            let text = format!("`{place}` was made by another installation, so it is read-only");
            CheckupLine::new(subject, CheckupState::Wrong, text).hinting(Hint::AdoptRecords)
        }
        Ok(Some((StoreCreator::Own, _, Some(why)))) => {
            let text = format!("effects are parked: {why}");
            CheckupLine::new(subject, CheckupState::Wrong, text).hinting(Hint::AdoptRecords)
        }
        Ok(Some((StoreCreator::Own, status, None)))
            if status.last_seen.0.saturating_sub(when::time_now().0) > AHEAD =>
        {
            let text = format!("the last recorded time, {}, is ahead of the clock", when::rfc3339(status.last_seen));
            CheckupLine::new(subject, CheckupState::Wrong, text).hinting(Hint::ResetClock)
        }
        Ok(Some((StoreCreator::Own, status, None))) => {
            let runs = count_with_noun(status.runs.values().sum(), "run");
            let bytes = group_thousands(usize::try_from(status.bytes).unwrap_or(usize::MAX));
            let remarks: String = notes.iter().map(|note| format!("; {}", note_text(note))).collect();
            let at = match &place {
                RecordsLocation::File(_) => format!("`{place}`"),
                RecordsLocation::Database(_) => format!("form {}, reachable at `{place}`", status.form),
            };
            CheckupLine::new(subject, CheckupState::Good, format!("{runs}, {bytes} bytes, {at}{remarks}"))
        }
    })
}

/// Counts which of the project's files count.
pub(super) fn trust(folder: &Path, project: &OpenProject) -> CheckupLine {
    let subject = CheckupSubject::Trust;
    if project.root.is_none() {
        return CheckupLine::new(subject, CheckupState::Good, "a bare repository has no files to trust");
    }
    let place = match TrustPlace::open(folder, &project.places) {
        Ok(place) => place,
        Err(failure) => return CheckupLine::failed(subject, failure),
    };
    let candidates = match place.candidates(&[]) {
        Ok(candidates) => candidates,
        Err(failure) => return CheckupLine::failed(subject, failure),
    };
    let entries = trust_entries(&candidates, &place.trust);
    let of = |wanted: fn(&TrustState) -> bool| entries.values().filter(|entry| wanted(&entry.state)).count();
    let counts = [
        (of(|state| matches!(state, TrustState::Trusted)), "trusted"),
        (of(|state| matches!(state, TrustState::Editing(_))), "trusted while edited"),
        (of(|state| matches!(state, TrustState::Changed)), "changed since it was trusted"),
        (of(|state| matches!(state, TrustState::Untrusted)), "not trusted"),
        (of(|state| matches!(state, TrustState::Refused(_))), "that can't be trusted"),
        (of(|state| matches!(state, TrustState::Gone)), "trusted and not there"),
    ];
    let words: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if words.is_empty() {
        return CheckupLine::new(subject, CheckupState::Good, "no file here would need trust");
    }
    let waits = of(|state| matches!(state, TrustState::Changed | TrustState::Untrusted | TrustState::Refused(_))) > 0;
    let line = |state| CheckupLine::new(subject, state, format!("files of the project: {}", words.join(", ")));
    if waits { line(CheckupState::Missing).hinting(Hint::ReviewTrust) } else { line(CheckupState::Good) }
}

/// Looks at the policy, the guard and the embedding model.
pub(super) fn rules_lines(project: &OpenProject) -> Vec<CheckupLine> {
    let policy = match policy::policy_in_force(project) {
        Ok(policy) if policy.notes.is_empty() => {
            CheckupLine::new(CheckupSubject::Policy, CheckupState::Good, "can be read")
        }
        Ok(policy) => with_notes(CheckupSubject::Policy, policy.notes),
        Err(failure) => CheckupLine::failed(CheckupSubject::Policy, failure).hinting(Hint::CheckPolicy),
    };
    let guard = match GuardSetup::load(&project.places, &[]) {
        Ok(guard) if guard.notes.is_empty() => {
            let how = if guard.files.calibration.is_some() { "calibrated by you" } else { "as it ships" };
            CheckupLine::new(CheckupSubject::Guard, CheckupState::Good, how)
        }
        Ok(guard) => CheckupLine { state: CheckupState::Wrong, ..with_notes(CheckupSubject::Guard, guard.notes) },
        Err(failure) => CheckupLine::failed(CheckupSubject::Guard, failure),
    };
    let embedding = match EmbeddingSetup::new(&project.config, &project.places) {
        Ok(setup) => match setup.calibrated() {
            (Ok(model), _, notes) if notes.is_empty() => {
                let which = if model.built_in().is_some() { "the one that ships" } else { "your own, calibrated" };
                CheckupLine::new(CheckupSubject::Embedding, CheckupState::Good, which)
            }
            (Ok(_), _, notes) => CheckupLine::new(CheckupSubject::Embedding, CheckupState::Wrong, notes.join("; ")),
            (Err(why), ..) => CheckupLine::new(CheckupSubject::Embedding, CheckupState::Missing, why),
        },
        Err(failure) => CheckupLine::failed(CheckupSubject::Embedding, failure),
    };
    vec![policy, guard, embedding]
}

/// Whether the environment says that a terminal shows Unicode.
pub(super) fn locale(environment: &Environment) -> CheckupLine {
    let subject = CheckupSubject::Terminal;
    // The first that is set and not empty decides: POSIX, Environment Variables, 8.2.
    let set = |name: &&str| environment.get(name).and_then(|value| value.to_str()).filter(|value| !value.is_empty());
    let Some(value) = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set) else {
        let text = "no locale is set, so lines and letters may come out garbled";
        return CheckupLine::new(subject, CheckupState::Missing, text).hinting(Hint::SetLocale);
    };
    let shown = cut_to_width(value, 40);
    let folded = value.to_ascii_lowercase();
    if folded.contains("utf-8") || folded.contains("utf8") {
        CheckupLine::new(subject, CheckupState::Good, format!("the locale is `{shown}`"))
    } else {
        let text = format!("the locale is `{shown}`, so lines and letters may come out garbled");
        CheckupLine::new(subject, CheckupState::Missing, text).hinting(Hint::SetLocale)
    }
}

fn with_notes(subject: CheckupSubject, notes: Vec<Note>) -> CheckupLine {
    let mut line = CheckupLine::new(subject, CheckupState::Missing, String::new());
    for note in notes {
        let message = note.message;
        line.message.text.push_str(if line.message.text.is_empty() { "" } else { "; " });
        line.message.text.push_str(&message.text);
        line.message.hint = message.hint.or(line.message.hint);
    }
    line
}

fn note_text(note: &Note) -> &str {
    &note.message.text
}

fn installation_path(path: &Path) -> String {
    show::terminal_str(&path.display().to_string()).into_string()
}
