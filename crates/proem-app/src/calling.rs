//! Which model is asked, where it is, and with which key: what configuration says about providers.
//!
//! Keys enter here by the name of their variable, and only for the endpoint that is asked. Nothing
//! that a repository says counts before this user trusted it: `[providers]` and `[roles]` come from
//! the user's configuration or a trusted `proem.toml`.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use proem_engine::call::{Arrival, FailureKind, NanoDollars, Usage, call_cost};
use proem_engine::ledger::Pricing;
use proem_engine::providers::{EnforcementSource, Model, Prices, Provider, Providers};
use proem_llm::endpoint::{Authorities, Endpoint, EndpointKey, EndpointLimits};
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::effects::smtp::ExtraAnchors;

use crate::config::{Config, ModelFile, ProviderFile, ServerProtocol};
use crate::error::Error;
use crate::message::Hint;
use crate::secrets;

/// An endpoint that is known without configuration.
struct BuiltIn {
    name: &'static str,
    protocol: ServerProtocol,
    base_url: &'static str,
    key: &'static str,
}

/// The public services, by their documentation: <https://platform.claude.com/docs/en/api/overview>
/// and <https://developers.openai.com/api/reference>.
const BUILT_IN: [BuiltIn; 2] = [
    BuiltIn {
        name: "anthropic",
        protocol: ServerProtocol::Anthropic,
        base_url: "https://api.anthropic.com",
        key: "ANTHROPIC_API_KEY",
    },
    BuiltIn {
        name: "openai",
        protocol: ServerProtocol::OpenAi,
        base_url: "https://api.openai.com/v1",
        key: "OPENAI_API_KEY",
    },
];

/// A model and everything that is needed to ask it.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    /// The model that is asked, with its limits and prices.
    pub model: Model,
    /// Its address.
    pub endpoint: Endpoint,
    /// How its answers arrive.
    pub arrival: Arrival,
    /// Whether it can be asked what its cache makes of a request.
    pub diagnoses_cache: bool,
    /// The configured price. A recorded model has its listed one.
    pub pricing: Pricing,
}

impl ModelEndpoint {
    /// Whether the model's price holds, or it costs nothing: it runs on this machine, or configuration says so.
    pub fn priced(&self) -> Pricing {
        let is_free = self.pricing == Pricing::Free || self.endpoint.is_loopback();
        if self.model.prices.is_empty() && is_free { Pricing::Free } else { Pricing::Listed }
    }

    /// The cost of a call: nothing on this machine, unless prices are configured.
    pub fn cost(&self, usage: &Usage) -> Option<NanoDollars> {
        match self.priced() {
            Pricing::Free => Some(NanoDollars(0)),
            Pricing::Listed => call_cost(usage, &self.model),
        }
    }
}

/// Which model is meant, by whoever says so. Every command that counts, plans, encodes for or asks a
/// model finds it through this.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedModel<'w> {
    /// The value of `--model`: a model, a role, or `PROVIDER/MODEL`.
    pub model: Option<&'w str>,
    /// The value of `--provider`.
    pub provider: Option<&'w str>,
    /// The model that the prompt file names.
    pub prompt: Option<&'w str>,
}

impl<'w> WantedModel<'w> {
    /// The model or role: the command line's, the configuration's, the prompt's, in this order.
    pub fn name(&self, config: &'w Config) -> &'w str {
        self.model.or(config.model.as_deref()).or(self.prompt).unwrap_or("small")
    }

    /// The model's provider, if anything names one, and the model's name there.
    fn place(&self, config: &'w Config) -> (Option<&'w str>, &'w str) {
        let name = self.name(config);
        let parts = |name: &'w str| match name.split_once('/') {
            Some((first, rest)) if is_known_provider(config, first) => (Some(first), rest),
            _ => (None, name),
        };
        match (config.roles.get(name), self.provider) {
            // A role says who and which. The command line may say who else.
            (Some(role), provider) => {
                let (by_role, model) = parts(role);
                (provider.or(by_role), model)
            }
            // With a provider beside it, a slash belongs to the model's name.
            (None, Some(provider)) => (Some(provider), name),
            (None, None) => parts(name),
        }
    }
}

/// The model that is wanted, and where it is.
///
/// # Errors
///
/// If nobody is known by that name, several have the model, or configuration is wrong.
pub fn wanted_endpoint(
    config: &Config,
    providers: &Providers,
    wanted: &WantedModel<'_>,
    environment: &Environment,
) -> Result<ModelEndpoint, Error> {
    let (provider, name) = wanted.place(config);
    let by_name = providers.model(name);
    let listed = by_name.or_else(|unknown| providers.family(name).ok_or(unknown));
    let provider = match (provider, &listed) {
        (Some(provider), _) => provider.to_owned(),
        (None, Ok(model)) => protocol_name(model.provider()).to_owned(),
        (None, Err(unknown)) => only_host_of_model(config, name, unknown)?,
    };
    let endpoint = locate_provider(config, &provider, environment)?;
    if let Ok(model) = providers.model(name)
        && model.name != name
        && model.provider() != endpoint.provider
    {
        return Err(Error::invalid(format!(
            "role `{name}` stands for {}, which `{provider}` does not have",
            model.name
        ))
        .hinting(Hint::NameModel { or_set: format!("`{name} = \"{provider}/MODEL\"` under `[roles]`") }));
    }
    let file = config.providers.get(&provider).cloned().unwrap_or_default();
    let model = model_at_endpoint(providers, name, &provider, endpoint.provider, &file);
    let arrival = if file.stream == Some(false) { Arrival::Whole } else { Arrival::Streamed };
    // Another server of the same protocol may refuse what it doesn't know.
    let is_its_own = provider == "anthropic" && file.base_url.is_none();
    let diagnoses_cache = endpoint.provider == Provider::Anthropic && file.cache_diagnostics.unwrap_or(is_its_own);
    let is_free = |own: &ModelFile| (own.input_price, own.output_price) == (Some(0), Some(0));
    let pricing = if file.models.get(&model.name).is_some_and(is_free) { Pricing::Free } else { Pricing::Listed };
    Ok(ModelEndpoint { model, endpoint, arrival, diagnoses_cache, pricing })
}

/// The one provider whose configuration lists a model that is otherwise unknown.
fn only_host_of_model(config: &Config, name: &str, unknown: &proem_engine::Error) -> Result<String, Error> {
    match hosts_of_model(config, name).as_slice() {
        [host] => Ok((*host).to_owned()),
        [] => {
            let roles: Vec<String> = config.roles.iter().map(|(role, model)| format!("{role} ({model})")).collect();
            let roles = if roles.is_empty() { String::new() } else { format!("\n  your roles: {}", roles.join(", ")) };
            Err(Error::invalid(format!("{unknown}{roles}")).hinting(Hint::NameProvider(provider_names(config))))
        }
        several => {
            let hosts = several.iter().map(|host| (*host).to_owned()).collect();
            Err(Error::invalid(format!("`{name}` is a model of several providers"))
                .hinting(Hint::ChooseProvider(hosts)))
        }
    }
}

/// The model of that name as an endpoint of that name and protocol has it, with what `file` says of it.
pub fn model_at_endpoint(
    providers: &Providers,
    name: &str,
    endpoint: &str,
    protocol: Provider,
    file: &ProviderFile,
) -> Model {
    let family = || providers.family(name).map(|family| Model { name: name.to_owned(), ..family.clone() });
    let listed = providers.model(name).ok().cloned().or_else(family);
    let mut model = match listed {
        Some(mut model) if model.provider() == protocol => {
            // Another server may ask another price for the same model.
            if BUILT_IN.iter().all(|built_in| built_in.name != endpoint) {
                model.prices.clear();
            }
            model
        }
        _ => providers.unlisted(name, protocol),
    };
    configure(&mut model, file, file.models.get(name));
    model
}

/// The place of a provider, by its name.
///
/// # Errors
///
/// If no such provider is known, or its address or key can't be used.
pub fn locate_provider(config: &Config, provider: &str, environment: &Environment) -> Result<Endpoint, Error> {
    let file = config.providers.get(provider).cloned().unwrap_or_default();
    let built_in = BUILT_IN.iter().find(|built_in| built_in.name == provider);
    if built_in.is_none() && !config.providers.contains_key(provider) {
        return Err(Error::invalid(format!(
            "no provider `{provider}`; known are {}, and `[providers.{provider}]` in your configuration adds one",
            provider_names(config).join(", ")
        )));
    }
    endpoint(provider, &file, built_in, environment)
}

fn provider_names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN.iter().map(|built_in| built_in.name.to_owned()).collect();
    names.extend(config.providers.keys().cloned());
    names.sort();
    names.dedup();
    names.into_iter().map(|name| format!("`{name}`")).collect()
}

/// The names of the providers that are known without configuration.
pub(crate) fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|built_in| built_in.name)
}

fn is_known_provider(config: &Config, name: &str) -> bool {
    config.providers.contains_key(name) || BUILT_IN.iter().any(|built_in| built_in.name == name)
}

/// The configured providers that list a model of that name.
fn hosts_of_model<'c>(config: &'c Config, model: &str) -> Vec<&'c str> {
    let listing = config.providers.iter().filter(|(_, file)| file.models.contains_key(model));
    listing.map(|(name, _)| name.as_str()).collect()
}

const fn protocol_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        Provider::OpenAi => "openai",
    }
}

fn endpoint(
    name: &str,
    file: &ProviderFile,
    built_in: Option<&BuiltIn>,
    environment: &Environment,
) -> Result<Endpoint, Error> {
    let protocol = file.protocol.or(built_in.map(|built_in| built_in.protocol)).unwrap_or(ServerProtocol::OpenAi);
    let base_url = file.base_url.as_deref().or(built_in.map(|built_in| built_in.base_url));
    let Some(base_url) = base_url else {
        return Err(Error::invalid(format!(
            "provider `{name}` has no address; set `base_url` under `[providers.{name}]`, such as \
             \"http://127.0.0.1:11434/v1\""
        )));
    };
    // A key that was meant for the public service isn't sent to another address by default.
    let own_address = file.base_url.is_none();
    let variable = file.key.as_deref().or(built_in.filter(|_| own_address).map(|built_in| built_in.key));
    let endpoint = Endpoint {
        name: name.to_owned(),
        provider: match protocol {
            ServerProtocol::Anthropic => Provider::Anthropic,
            ServerProtocol::OpenAi => Provider::OpenAi,
        },
        base_url: base_url.trim_end_matches('/').to_owned(),
        key: variable.map_or(EndpointKey::None, |variable| endpoint_key(variable, environment)),
        limits: endpoint_limits(file),
        authorities: authorities(name, file)?,
    };
    match endpoint.check() {
        // Without a key there may still be a fallback or a cassette.
        Err(failure) if failure.kind != FailureKind::NoKey => Err(Error::invalid(failure.message)),
        Ok(()) | Err(_) => Ok(endpoint),
    }
}

/// The authorities that count beside the system's.
fn authorities(name: &str, file: &ProviderFile) -> Result<Option<Authorities>, Error> {
    let Some(path) = &file.authorities else { return Ok(None) };
    if !path.is_absolute() {
        let problem = "is a relative path; write the whole path of the file";
        return Err(Error::invalid(format!("`providers.{name}.authorities` {problem}")));
    }
    let anchors = ExtraAnchors::read(path)
        .map_err(|refused| Error::invalid(format!("`providers.{name}.authorities`: {refused}")))?;
    Ok(Some(Authorities::from_der(anchors.der())))
}

fn endpoint_key(variable: &str, environment: &Environment) -> EndpointKey {
    let value = environment.get(variable).and_then(|value| value.to_str()).map(str::trim).filter(|v| !v.is_empty());
    match value {
        Some(value) => {
            let secret = Secret::new(variable, value);
            secrets::keep_from_print(&secret);
            EndpointKey::Loaded { variable: variable.to_owned(), secret }
        }
        None => EndpointKey::Missing { variable: variable.to_owned() },
    }
}

fn endpoint_limits(file: &ProviderFile) -> EndpointLimits {
    let usual = EndpointLimits::default();
    let seconds = |given: Option<NonZeroU32>, usual: Duration| {
        given.map_or(usual, |seconds| Duration::from_secs(u64::from(seconds.get())))
    };
    EndpointLimits {
        concurrency: file.concurrency.unwrap_or(usual.concurrency),
        requests_per_minute: file.requests_per_minute.or(usual.requests_per_minute),
        attempts: file.attempts.unwrap_or(usual.attempts),
        connect: seconds(file.connect_seconds, usual.connect),
        call: seconds(file.call_seconds, usual.call),
        idle: seconds(file.idle_seconds, usual.idle),
        answer_bytes: file.answer_bytes.map_or(usual.answer_bytes, std::num::NonZeroUsize::get),
    }
}

/// Applies the configuration of a model over the known facts.
fn configure(model: &mut Model, file: &ProviderFile, own: Option<&ModelFile>) {
    if let Some(answers) = own.and_then(|own| own.answers).or(file.answers) {
        (model.answers, model.answers_by) = (answers, EnforcementSource::Known);
    }
    let Some(own) = own else { return };
    model.context_tokens = own.context_tokens.or(model.context_tokens);
    model.output_tokens = own.output_tokens.or(model.output_tokens);
    if (own.input_price, own.output_price) == (Some(0), Some(0)) {
        model.prices.clear();
    }
    let price = |price: Option<u64>| price.and_then(NonZeroU64::new);
    if let (Some(input), Some(output)) = (price(own.input_price), price(own.output_price)) {
        model.prices = vec![Prices {
            as_of: "configured".to_owned(),
            up_to_tokens: None,
            input,
            output,
            cache_read: own.cache_read_price,
            cache_writes: Vec::new(),
        }];
    }
}

#[cfg(test)]
mod tests;
