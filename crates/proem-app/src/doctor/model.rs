//! Which models roles stand for, where they are, and whether there is a key: named, never shown.

use std::collections::BTreeMap;

use proem_engine::call::FailureKind;
use proem_engine::providers::Providers;
use proem_llm::client::Client;
use proem_llm::endpoint::{Endpoint, EndpointKey};
use proem_runtime::Environment;

use super::{CheckupLine, CheckupState, CheckupSubject};
use crate::answer_modes::{AnswerModes, mode_word};
use crate::calling::{self, WantedModel, located};
use crate::config::Config;
use crate::error::Error;
use crate::message::Hint;
use crate::words::cut;

/// The roles that shipped prompts name.
const ROLES: [&str; 2] = ["small", "large"];

/// Looks at the models and their servers; the servers that could be asked.
pub(super) fn models(
    config: &Config,
    (environment, modes): (&Environment, &AnswerModes),
    lines: &mut Vec<CheckupLine>,
) -> Vec<Endpoint> {
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
    for name in names {
        let wanted = WantedModel { model: Some(name), ..WantedModel::default() };
        match calling::ask(config, &providers, &wanted, environment) {
            Ok(mut asked) => {
                let mut file = config.providers.get(&asked.endpoint.name).cloned().unwrap_or_default();
                let mode = modes.apply(&mut asked, &mut file).map_or_else(String::new, |mode| {
                    format!("; its answers are held to a schema by `{}`, as was found by trying", mode_word(mode))
                });
                let text = format!(
                    "`{}` is {} at `{}`{mode}",
                    cut(name, 60),
                    cut(&asked.model.name, 80),
                    cut(&asked.endpoint.name, 60)
                );
                lines.push(CheckupLine::new(CheckupSubject::Model, CheckupState::Good, text));
                endpoints.insert(asked.endpoint.name.clone(), asked.endpoint);
            }
            Err(failure) => lines.push(model_failed(name, failure)),
        }
    }
    for name in config.providers.keys() {
        match located(config, name, environment) {
            Ok(endpoint) => _ = endpoints.insert(name.clone(), endpoint),
            Err(failure) => lines.push(CheckupLine::failed(CheckupSubject::Provider, failure)),
        }
    }
    lines.extend(endpoints.values().map(keyed));
    endpoints.into_values().filter(|endpoint| endpoint.check().is_ok()).collect()
}

fn model_failed(role: &str, failure: Error) -> CheckupLine {
    let line = CheckupLine::failed(CheckupSubject::Model, failure);
    // Only the first line: what it lists below is for who named a model.
    let text = line.message.text.lines().next().unwrap_or_default().to_owned();
    let role = cut(role, 60);
    CheckupLine::new(CheckupSubject::Model, CheckupState::Wrong, text).hinting(Hint::SetRole { role })
}

/// Whether there is a key for a server, and where it comes from.
fn keyed(endpoint: &Endpoint) -> CheckupLine {
    let (name, address) = described(endpoint);
    let subject = CheckupSubject::Provider;
    match (&endpoint.key, endpoint.check()) {
        (EndpointKey::Missing { variable }, _) => {
            let text = format!("`{name}` ({address}): its key `{variable}` is not set, so it can't be asked");
            CheckupLine::new(subject, CheckupState::Missing, text).hinting(Hint::SetKey { variable: cut(variable, 80) })
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

/// Asks a server for the list of its models, which costs nothing: whether it can be reached and takes the key. Whoever
/// calls this asked first.
pub async fn reach(endpoint: &Endpoint) -> CheckupLine {
    let (name, address) = described(endpoint);
    let subject = CheckupSubject::Provider;
    match Client::new().models(endpoint).await {
        Err(failure) => {
            let state = if failure.kind == FailureKind::NoKey { CheckupState::Missing } else { CheckupState::Wrong };
            CheckupLine::new(subject, state, format!("`{name}`: {}", failure.message))
        }
        Ok(head) => match head.status {
            200..=299 => CheckupLine::new(subject, CheckupState::Good, format!("`{name}` ({address}): answers")),
            401 | 403 => {
                let text = format!("`{name}` ({address}): refuses the key (HTTP {})", head.status);
                let line = CheckupLine::new(subject, CheckupState::Wrong, text);
                match endpoint.key.variable() {
                    Some(variable) => line.hinting(Hint::SetKey { variable: variable.to_owned() }),
                    None => line,
                }
            }
            // A server of one's own need not list its models.
            404 | 405 => {
                let text = format!("`{name}` ({address}): answers, and lists no models (HTTP {})", head.status);
                CheckupLine::new(subject, CheckupState::Good, text)
            }
            status => {
                let text = format!("`{name}` ({address}): answers with HTTP {status}; try again, or check `base_url`");
                CheckupLine::new(subject, CheckupState::Wrong, text)
            }
        },
    }
}

/// Name and address of a server, on one line.
fn described(endpoint: &Endpoint) -> (String, String) {
    let address = cut(&endpoint.base_url, 100);
    (cut(&endpoint.name, 60), address)
}
