//! A run's requests made anew from its record, and compared byte by byte.

use proem_engine::providers::Provider;
use proem_engine::run::{Exchange, Outcome};
use proem_engine::versions::{VersionChange, in_words};
use proem_llm::endpoint::{Endpoint, EndpointKey, EndpointLimits};
use proem_runtime::records::{ASSEMBLED_ONLY, ReplayReport, replay};
use proem_store::Store;
use proem_store::query::RunDetail;

use crate::error::Error as Failure;
use crate::places::Places;
use crate::run::made::RunStart;
use crate::run::setting::{CallUse, RunSetting};

/// A kind of run whose requests can be made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// A prompt's.
    Prompt,
    /// An investigation's.
    Investigation,
}

/// What kind of run it is.
///
/// # Errors
///
/// In words, if its requests can't be made anew.
pub fn kind(detail: &RunDetail) -> Result<ExitKind, String> {
    match detail.row.kind.as_str() {
        _ if detail.settings.is_null() => Err("only its hashes are kept (see `records.keep`)".to_owned()),
        "prompt" => Ok(ExitKind::Prompt),
        "assemble" => Err(ASSEMBLED_ONLY.to_owned()),
        "risk" => Ok(ExitKind::Investigation),
        kind => Err(format!("its kind `{kind}` is unknown to this version of Proem; update Proem")),
    }
}

/// Says why a run can't be replayed.
#[must_use]
pub fn refused(detail: &RunDetail, why: &str) -> Failure {
    Failure::finding(format!("run {} can't be replayed: {why}", detail.row.id.short()))
}

/// Why a record made with other versions can't be read or rebuilt.
#[must_use]
pub fn blamed(versions: &[VersionChange], why: String) -> String {
    if versions.is_empty() {
        return why;
    }
    let (recorded, today) = in_words(versions);
    format!("it was made with {recorded}, but this Proem has {today}: {why}")
}

/// Replays the run of a prompt, made with versions of which these are others today.
///
/// # Errors
///
/// If its request can't be made, or something of the record is missing or damaged.
pub async fn prompt(
    remade: RunStart,
    detail: &RunDetail,
    places: &Places,
    (store, versions): (&Store, &[VersionChange]),
) -> Result<ReplayReport, Failure> {
    let inputs = remade.inputs.clone();
    let endpoint = nowhere(&detail.row.endpoint, remade.model.provider());
    let setting = RunSetting::again(remade, detail, places, (endpoint, CallUse::NoCalls))?;
    let failed = |failure: Failure| refused(detail, &blamed(versions, failure.to_string()));
    let prepared = setting.prepare(&inputs).map_err(failed)?;
    let mut exchange = Exchange::new(setting.terms(), prepared.request);
    Ok(replay(store, detail, setting.model(), &mut exchange, Outcome::clone).await?)
}

/// An endpoint that nothing is sent to.
#[must_use]
pub fn nowhere(name: &str, provider: Provider) -> Endpoint {
    let (name, base_url) = (name.to_owned(), String::new());
    Endpoint { name, provider, base_url, key: EndpointKey::None, limits: EndpointLimits::default() }
}
