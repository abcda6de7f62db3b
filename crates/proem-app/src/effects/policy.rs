//! The policy in force: the user's or the shipped one, and what the project's own makes of it.

use std::path::Path;

use proem_engine::policy::Policy;
use proem_runtime::files;
use proem_triage::pipeline::SubjectPolicy;

use crate::error::Error;
use crate::message::{Hint, Note, NoteKind, WithNotes};
use crate::project::OpenProject;
use crate::triage::charter;
use crate::trust::sha256_hex;

/// The project's own policy.
pub const PROJECT_POLICY: &str = ".proem/policy.toml";
/// The most bytes of a policy.
pub(super) const MAX_POLICY: usize = 1 << 20;

/// The policy that holds in a project.
///
/// The user's own takes the place of the shipped one. The project's takes the place of both if this user trusts it, and
/// makes them narrower otherwise. A trusted project file for triage adds its people, domains and tickets. Trust while a
/// folder is edited is not enough, for agents edit files, too.
///
/// # Errors
///
/// If one of the policies can't be read, with every problem and its place.
pub fn policy_in_force(project: &OpenProject) -> Result<WithNotes<Policy>, Error> {
    let allowances = charter::allowances(project);
    let own = of_user(&project.places.policy())?.knowing(&allowances);
    let Some(bytes) = project.read(PROJECT_POLICY)? else { return Ok(WithNotes { value: own, notes: Vec::new() }) };
    let text = String::from_utf8_lossy(&bytes);
    // A broken file's prohibitions are unknown, so nothing is decided, whether the file is trusted or not.
    let theirs = Policy::parse(&text, PROJECT_POLICY)?;
    if project.trust.is_trusted_by_hash(PROJECT_POLICY, &sha256_hex(&bytes)) {
        return Ok(WithNotes { value: theirs.knowing(&allowances), notes: Vec::new() });
    }
    let note = format!("{PROJECT_POLICY} is not trusted, so it only makes the policy narrower");
    Ok(WithNotes {
        value: own.narrowed_by(&theirs),
        notes: vec![Note::hinting(NoteKind::Trust, note, Hint::ReviewTrust)],
    })
}

/// The same policy with the texts that it is read from, for a record that it is made anew from.
///
/// # Errors
///
/// As [`policy_in_force`].
pub fn policy_texts(project: &OpenProject) -> Result<SubjectPolicy, Error> {
    let own = match files::read_text(&project.places.policy(), MAX_POLICY) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Policy::shipped_text().to_owned(),
        Err(error) => return Err(Error::invalid(format!("could not read the policy: {error}"))),
    };
    let allowances = charter::allowances(project);
    let Some(bytes) = project.read(PROJECT_POLICY)? else {
        return Ok(SubjectPolicy::read(own, None, &allowances)?);
    };
    let theirs = String::from_utf8_lossy(&bytes).into_owned();
    let is_trusted = project.trust.is_trusted_by_hash(PROJECT_POLICY, &sha256_hex(&bytes));
    let (base, narrower) = if is_trusted { (theirs, None) } else { (own, Some(theirs)) };
    Ok(SubjectPolicy::read(base, narrower, &allowances)?)
}

/// The user's policy, or the shipped one.
///
/// # Errors
///
/// If the user's is there and can't be read.
pub fn of_user(path: &Path) -> Result<Policy, Error> {
    match files::read_text(path, MAX_POLICY) {
        Ok(text) => Ok(Policy::parse(&text, &path.display().to_string())?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Policy::shipped()?),
        Err(error) => Err(Error::invalid(format!("could not read `{}`: {error}", path.display()))),
    }
}
