//! The context windows that servers named, in a list of models or in an error. They hold where configuration says
//! nothing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use proem_engine::providers::Model;
use proem_llm::endpoint::Endpoint;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::places::Places;
use crate::state_file::StateFile;

/// The file that keeps them.
const FILE: StateFile = StateFile { name: "context-windows.json", version: 1 };

/// The windows of all models, by provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWindows {
    version: u32,
    providers: BTreeMap<String, ProviderWindows>,
}

/// The windows that one server named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ProviderWindows {
    /// The server's address: another address is another server.
    base_url: String,
    /// The tokens of prompt and answer together, by the model's name.
    models: BTreeMap<String, NonZeroUsize>,
}

impl Default for ContextWindows {
    fn default() -> Self {
        Self { version: FILE.version, providers: BTreeMap::new() }
    }
}

impl ContextWindows {
    /// Reads the file. No windows if it is missing.
    ///
    /// # Errors
    ///
    /// If it is there and can't be used.
    pub fn load(places: &Places) -> Result<Self, Error> {
        let found = FILE.load(places).map_err(|error| match error.kind() {
            ErrorKind::Invalid => Error::invalid(format!("{error}; remove it")),
            _ => error,
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The window that a server named for a model.
    #[must_use]
    pub fn window(&self, endpoint: &Endpoint, model: &str) -> Option<NonZeroUsize> {
        let known = self.providers.get(&endpoint.name).filter(|known| known.base_url == endpoint.base_url)?;
        known.models.get(model).copied()
    }

    /// The names of the models whose windows a server named.
    pub(crate) fn models(&self, endpoint: &Endpoint) -> impl Iterator<Item = &String> {
        let known = self.providers.get(&endpoint.name).filter(|known| known.base_url == endpoint.base_url);
        known.into_iter().flat_map(|known| known.models.keys())
    }

    /// Gives a model the window that its server named, unless configuration names one or a smaller one is known. The
    /// window, if it holds.
    pub fn apply(&self, config: &Config, endpoint: &Endpoint, model: &mut Model) -> Option<NonZeroUsize> {
        let configured = config.providers.get(&endpoint.name).and_then(|file| file.models.get(&model.name));
        let window = self.window(endpoint, &model.name)?;
        let is_known = configured.is_some_and(|file| file.context_tokens.is_some())
            || model.context_tokens.is_some_and(|known| known <= window);
        if is_known {
            return None;
        }
        model.context_tokens = Some(window);
        Some(window)
    }

    /// Remembers the window that a server named.
    ///
    /// # Errors
    ///
    /// If the file can't be read or written.
    pub fn remember(places: &Places, endpoint: &Endpoint, model: &str, tokens: NonZeroUsize) -> Result<(), Error> {
        let mut windows = Self::load(places)?;
        let known = windows.providers.entry(endpoint.name.clone()).or_default();
        if known.base_url != endpoint.base_url {
            *known = ProviderWindows { base_url: endpoint.base_url.clone(), models: BTreeMap::new() };
        }
        if known.models.insert(model.to_owned(), tokens) == Some(tokens) {
            return Ok(());
        }
        FILE.store(places, &windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Channel;
    use proem_engine::providers::{Provider, Providers};
    use proem_llm::endpoint::{EndpointKey, EndpointLimits};

    fn endpoint(name: &str, base_url: &str) -> Endpoint {
        Endpoint {
            name: name.to_owned(),
            provider: Provider::OpenAi,
            base_url: base_url.to_owned(),
            key: EndpointKey::None,
            limits: EndpointLimits::default(),
            authorities: None,
        }
    }

    #[test]
    fn a_window_is_remembered_for_its_server_and_model() {
        let folder = tempfile::tempdir().unwrap();
        let [config, state, cache, home] = ["config", "state", "cache", "home"].map(|name| folder.path().join(name));
        let places = Places { config, state, cache, programs: home.clone(), home, channel: Channel::Pipe };
        let local = endpoint("local", "http://127.0.0.1:8080/v1");
        let tokens = |tokens| NonZeroUsize::new(tokens).unwrap();
        assert_eq!(ContextWindows::load(&places).unwrap(), ContextWindows::default());
        ContextWindows::remember(&places, &local, "m", tokens(2_048)).unwrap();
        ContextWindows::remember(&places, &local, "n", tokens(4_096)).unwrap();
        let windows = ContextWindows::load(&places).unwrap();
        assert_eq!(windows.window(&local, "m"), Some(tokens(2_048)));
        assert_eq!(windows.window(&local, "other"), None);
        let moved = endpoint("local", "http://127.0.0.1:9090/v1");
        assert_eq!(windows.window(&moved, "m"), None);
        // Another server under the name knows nothing of the first.
        ContextWindows::remember(&places, &moved, "m", tokens(512)).unwrap();
        let windows = ContextWindows::load(&places).unwrap();
        assert_eq!((windows.window(&local, "m"), windows.window(&moved, "n")), (None, None));
        assert_eq!(windows.window(&moved, "m"), Some(tokens(512)));
    }

    #[test]
    fn configuration_and_smaller_windows_count_more() {
        let check = |configured: &str, known: usize, expected: usize| {
            let config: Config = toml::from_str(configured).unwrap();
            let mut model = Providers::load().unwrap().unlisted("m", Provider::OpenAi);
            model.context_tokens = NonZeroUsize::new(known);
            let local = endpoint("local", "http://127.0.0.1:8080/v1");
            let mut windows = ContextWindows::default();
            let models = BTreeMap::from([("m".to_owned(), NonZeroUsize::new(2_048).unwrap())]);
            windows.providers.insert("local".into(), ProviderWindows { base_url: local.base_url.clone(), models });
            _ = windows.apply(&config, &local, &mut model);
            assert_eq!(model.context_tokens, NonZeroUsize::new(expected), "{configured} {known}");
        };
        check("", 0, 2_048);
        check("", 8_192, 2_048);
        check("", 512, 512);
        check("[providers.local.models.m]\ncontext_tokens = 8192", 8_192, 8_192);
        check("[providers.local.models.m]\noutput_tokens = 100", 0, 2_048);
    }
}
