//! The models behind roles, their addresses, and whether there is a key: named, never shown.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use proem_engine::call::FailureKind;
use proem_engine::providers::Providers;
use proem_llm::client::{Client, ModelList};
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_runtime::Environment;

use super::{CheckupLine, CheckupState, CheckupSubject};
use crate::answer_modes::AnswerModes;
use crate::calling::{self, WantedModel, locate_provider};
use crate::config::Config;
use crate::error::Error;
use crate::message::Hint;
use crate::places::Places;
use crate::windows::ContextWindows;
use crate::words::cut_to_width;

/// The roles that shipped prompts name.
const ROLES: [&str; 2] = ["small", "large"];

/// A server that could be asked whether it is there, and the models that it is asked for.
#[derive(Debug)]
pub struct ReachableServer {
    /// Its address.
    pub endpoint: Endpoint,
    /// Its models by name, each with the context window that configuration names.
    models: BTreeMap<String, Option<NonZeroUsize>>,
}

/// Looks at the models and their servers. The servers that could be asked.
pub(super) fn check_models(
    config: &Config,
    (environment, modes): (&Environment, &AnswerModes),
    lines: &mut Vec<CheckupLine>,
) -> Vec<ReachableServer> {
    let providers = match Providers::load() {
        Ok(providers) => providers,
        Err(failure) => {
            lines.push(CheckupLine::failed(CheckupSubject::Model, failure.into()));
            return Vec::new();
        }
    };
    let mut names: Vec<&str> = ROLES.to_vec();
    names.extend(config.model.as_deref());
    names.extend(config.roles.keys().map(String::as_str));
    names.sort_unstable();
    names.dedup();
    let mut endpoints = BTreeMap::new();
    let mut asked_models: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in names {
        let wanted = WantedModel { model: Some(name), ..WantedModel::default() };
        match calling::wanted_endpoint(config, &providers, &wanted, environment) {
            Ok(mut asked) => {
                let mode = modes.apply(&asked.endpoint, &mut asked.model).map_or_else(String::new, |mode| {
                    format!("; its answers are held to a schema by `{}`, as was found by trying", mode.as_str())
                });
                let text = format!(
                    "`{}` is {} at `{}`{mode}",
                    cut_to_width(name, 60),
                    cut_to_width(&asked.model.name, 80),
                    cut_to_width(&asked.endpoint.name, 60)
                );
                lines.push(CheckupLine::new(CheckupSubject::Model, CheckupState::Good, text));
                asked_models.entry(asked.endpoint.name.clone()).or_default().insert(asked.model.name);
                endpoints.insert(asked.endpoint.name.clone(), asked.endpoint);
            }
            Err(failure) => lines.push(model_failed(name, failure)),
        }
    }
    for name in config.providers.keys() {
        match locate_provider(config, name, environment) {
            Ok(endpoint) => _ = endpoints.insert(name.clone(), endpoint),
            Err(failure) => lines.push(CheckupLine::failed(CheckupSubject::Provider, failure)),
        }
    }
    lines.extend(endpoints.values().map(endpoint_key_line));
    let reachable = endpoints.into_values().filter(|endpoint| endpoint.check().is_ok());
    reachable.map(|endpoint| server(config, endpoint, &mut asked_models)).collect()
}

/// A server with the models that roles represent and that configuration names.
fn server(config: &Config, endpoint: Endpoint, asked: &mut BTreeMap<String, BTreeSet<String>>) -> ReachableServer {
    let configured = config.providers.get(&endpoint.name).map(|file| &file.models);
    let mut names = asked.remove(&endpoint.name).unwrap_or_default();
    names.extend(configured.iter().flat_map(|models| models.keys().cloned()));
    let window = |name: &String| configured.and_then(|models| models.get(name)?.context_tokens);
    let models = names.into_iter().map(|name| (window(&name), name)).map(|(window, name)| (name, window)).collect();
    ReachableServer { endpoint, models }
}

fn model_failed(role: &str, failure: Error) -> CheckupLine {
    let line = CheckupLine::failed(CheckupSubject::Model, failure);
    // Only the first line: what it lists below is for who named a model.
    let text = line.message.text.lines().next().unwrap_or_default().to_owned();
    let role = cut_to_width(role, 60);
    CheckupLine::new(CheckupSubject::Model, CheckupState::Wrong, text).hinting(Hint::SetRole { role })
}

/// Whether there is a key for a server, and where it comes from.
fn endpoint_key_line(endpoint: &Endpoint) -> CheckupLine {
    let (name, address) = endpoint_name_and_address(endpoint);
    let subject = CheckupSubject::Provider;
    match (&endpoint.key, endpoint.check()) {
        (EndpointKey::Missing { variable }, _) => {
            let text = format!("`{name}` ({address}): its key `{variable}` is not set, so it can't be asked");
            CheckupLine::new(subject, CheckupState::Missing, text)
                .hinting(Hint::SetKey { variable: cut_to_width(variable, 80) })
        }
        (_, Err(failure)) => CheckupLine::new(subject, CheckupState::Wrong, failure.message),
        (EndpointKey::None, Ok(())) => {
            let text = format!("`{name}` ({address}): needs no key; not connected");
            CheckupLine::new(subject, CheckupState::Good, text).hinting(Hint::Connect)
        }
        (EndpointKey::Loaded { variable, .. }, Ok(())) => {
            let text = format!("`{name}` ({address}): its key `{variable}` is set; not connected");
            CheckupLine::new(subject, CheckupState::Good, text).hinting(Hint::Connect)
        }
    }
}

/// Asks a server for the list of its models, which costs nothing. The answer shows whether the server can be reached
/// and takes the key, and how large its models' context windows are. The windows are remembered. Callers ask the user
/// first.
pub async fn reach(server: &ReachableServer, places: &Places) -> CheckupLine {
    let endpoint = &server.endpoint;
    let (name, address) = endpoint_name_and_address(endpoint);
    let subject = CheckupSubject::Provider;
    let client = Client::new();
    match client.models(endpoint).await {
        Err(failure) => {
            let state = if failure.kind == FailureKind::NoKey { CheckupState::Missing } else { CheckupState::Wrong };
            CheckupLine::new(subject, state, format!("`{name}`: {}", failure.message))
        }
        Ok(list) => match list.head.status {
            200..=299 => match windows(&client, server, &list, places).await {
                Ok((state, windows)) => {
                    CheckupLine::new(subject, state, format!("`{name}` ({address}): answers{windows}"))
                }
                Err(failure) => CheckupLine::failed(subject, failure),
            },
            status @ (401 | 403) => {
                let text = format!("`{name}` ({address}): refuses the key (HTTP {status})");
                let line = CheckupLine::new(subject, CheckupState::Wrong, text);
                match endpoint.key.variable() {
                    Some(variable) => line.hinting(Hint::SetKey { variable: variable.to_owned() }),
                    None => line,
                }
            }
            // A server of one's own need not list its models.
            status @ (404 | 405) => {
                let text = format!("`{name}` ({address}): answers, and lists no models (HTTP {status})");
                CheckupLine::new(subject, CheckupState::Good, text)
            }
            status => {
                let text = format!("`{name}` ({address}): answers with HTTP {status}; try again, or check `base_url`");
                CheckupLine::new(subject, CheckupState::Wrong, text)
            }
        },
    }
}

/// The context windows that a server names, each behind `; `, and whether configuration agrees with them.
async fn windows(
    client: &Client,
    server: &ReachableServer,
    list: &ModelList,
    places: &Places,
) -> Result<(CheckupState, String), Error> {
    let (mut state, mut text) = (CheckupState::Good, String::new());
    let mut models = server.models.clone();
    for remembered in ContextWindows::load(places)?.models(&server.endpoint) {
        models.entry(remembered.clone()).or_default();
    }
    for (model, configured) in &models {
        let Some(window) = client.window(&server.endpoint, list, model).await else { continue };
        ContextWindows::remember(places, &server.endpoint, model, window)?;
        text.push_str(&format!("; the context window of {} has {window} tokens", cut_to_width(model, 60)));
        if let Some(configured) = configured.filter(|configured| *configured > window) {
            state = CheckupState::Wrong;
            text.push_str(&format!(
                ", and `context_tokens` says {configured}: lower it, or start the server with more"
            ));
        }
    }
    Ok((state, text))
}

/// Name and address of a server, on one line.
fn endpoint_name_and_address(endpoint: &Endpoint) -> (String, String) {
    let address = cut_to_width(&endpoint.base_url, 100);
    (cut_to_width(&endpoint.name, 60), address)
}
