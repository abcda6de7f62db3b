//! The place of a provider, and the permitted uses.
//!
//! Invariants: a key leaves this machine encrypted or not at all. No message holds a key, or a password that was
//! written into an address.

use core::fmt;
use core::num::{NonZeroU32, NonZeroUsize};
use core::time::Duration;
use std::sync::Arc;

use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::providers::Provider;
use url::{Host, Url};

use crate::secret::Secret;

/// A server that speaks a provider's protocol.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name in the configuration, such as `anthropic` or `ollama`.
    pub name: String,
    /// The protocol that it speaks.
    pub provider: Provider,
    /// The base of every path, without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key that requests to it carry.
    pub key: EndpointKey,
    /// Its limits and ours.
    pub limits: EndpointLimits,
    /// Authorities whose signature under its certificate counts beside those that the system trusts.
    pub authorities: Option<Authorities>,
}

/// Certificates of authorities, each in DER form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Authorities(Arc<[Vec<u8>]>);

impl Authorities {
    /// These certificates, each in DER form.
    #[must_use]
    pub fn from_der(certificates: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self(certificates.into_iter().collect())
    }

    /// Each certificate in DER form.
    pub(crate) fn der(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authorities({} certificates)", self.0.len())
    }
}

/// The source of an endpoint's secret.
#[derive(Debug, Clone)]
pub enum EndpointKey {
    /// The endpoint wants no key.
    None,
    /// The variable that holds it is empty or missing.
    Missing {
        /// The variable's name.
        variable: String,
    },
    /// It was read from the environment.
    Loaded {
        /// The variable's name.
        variable: String,
        /// The key that is sent in the header.
        secret: Secret,
    },
}

impl EndpointKey {
    /// The variable that holds it.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Missing { variable } | Self::Loaded { variable, .. } => Some(variable),
        }
    }
}

/// The limits of an endpoint and ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointLimits {
    /// The most requests at once.
    pub concurrency: NonZeroUsize,
    /// The most requests a minute. `None` leaves it to the endpoint to say 429.
    pub requests_per_minute: Option<NonZeroU32>,
    /// How often a request is sent at most, the first time included.
    pub attempts: NonZeroU32,
    /// How long a connection may take.
    pub connect: Duration,
    /// How long an attempt may take in all.
    pub call: Duration,
    /// How long nothing may come while an answer is read.
    pub idle: Duration,
    /// The most bytes of an answer.
    pub answer_bytes: usize,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            concurrency: NonZeroUsize::MIN.saturating_add(7),
            requests_per_minute: None,
            attempts: NonZeroU32::MIN.saturating_add(3),
            connect: Duration::from_secs(10),
            call: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            answer_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Whether an address is on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostLocation {
    /// It is: `localhost`, `127.0.0.0/8` or `::1`.
    Loopback,
    /// It isn't, or nobody knows.
    Elsewhere,
}

impl Endpoint {
    /// The address of a path, as it is in cassettes. If both the base and the path name the version, it occurs once:
    /// Anthropic's paths begin with it, and users copy bases that end with it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        let base = self.base_url.trim_end_matches('/');
        let rest = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/') && base.ends_with("/v1"));
        format!("{base}{}", rest.unwrap_or(path))
    }

    /// Whether it is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.address("").is_ok_and(|(_, place)| place == HostLocation::Loopback)
    }

    /// Whether it can be asked at all: its address is one, its key is there and stays secret.
    ///
    /// # Errors
    ///
    /// [`FailureKind::NoKey`] and [`FailureKind::KeyRefused`] for the key, [`FailureKind::Refused`] for the address.
    /// The message names the variable or the configuration key.
    pub fn check(&self) -> Result<(), CallFailure> {
        self.address("").map(|_| ()).and_then(|()| self.credential().map(|_| ()))
    }

    /// The address of a path, if a request may be sent there.
    pub(crate) fn address(&self, path: &str) -> Result<(Url, HostLocation), CallFailure> {
        let Ok(url) = Url::parse(&self.url(path)) else {
            return Err(self.misplaced("is not a URL; write it as `https://HOST/PATH`"));
        };
        if !matches!(url.scheme(), "http" | "https") {
            let problem = format!("starts with `{}:`; write `https:`, or `http:` for this machine", url.scheme());
            return Err(self.misplaced(&problem));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.misplaced(
                "contains a user name or password; remove it and put the key into an environment variable",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(self.misplaced("holds `?` or `#`; end it with the path"));
        }
        let place = host_location(&url);
        if let (Some(variable), "http", HostLocation::Elsewhere) = (self.key.variable(), url.scheme(), place) {
            let host = url.host_str().unwrap_or_default();
            let problem = format!("would send the key in `{variable}` to `{host}` unencrypted; write `https:`");
            return Err(self.misplaced(&problem));
        }
        Ok((url, place))
    }

    /// The key, if the provider wants one, as it can be in a header.
    pub(crate) fn credential(&self) -> Result<Option<&str>, CallFailure> {
        match &self.key {
            EndpointKey::None => Ok(None),
            EndpointKey::Loaded { variable, secret } if !secret.expose().trim().is_empty() => {
                let key = secret.expose();
                if key.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Ok(Some(key));
                }
                let message = format!(
                    "the key in `{variable}` contains a space, a line break or another invalid character; set it again \
                     without it"
                );
                Err(CallFailure::new(FailureKind::KeyRefused, message))
            }
            EndpointKey::Missing { variable } | EndpointKey::Loaded { variable, .. } => {
                let message = format!("no key for provider `{}`; set the environment variable {variable}", self.name);
                Err(CallFailure::new(FailureKind::NoKey, message))
            }
        }
    }

    /// The configuration key of one of its settings.
    pub(crate) fn setting(&self, name: &str) -> String {
        format!("providers.{}.{name}", self.name)
    }

    /// A failure for its address, which is not shown: it may hold a password.
    fn misplaced(&self, problem: &str) -> CallFailure {
        CallFailure::new(FailureKind::Refused, format!("`{}` {problem}", self.setting("base_url")))
    }
}

/// The place of a host. A name is only believed if the standard reserves it:
/// <https://www.rfc-editor.org/rfc/rfc6761#section-6.3>.
pub(crate) fn host_location(url: &Url) -> HostLocation {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_local { HostLocation::Loopback } else { HostLocation::Elsewhere }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str, key: EndpointKey) -> Endpoint {
        let limits = EndpointLimits::default();
        Endpoint {
            name: "x".into(),
            provider: Provider::OpenAi,
            base_url: base_url.into(),
            key,
            limits,
            authorities: None,
        }
    }

    fn loaded(key: &str) -> EndpointKey {
        EndpointKey::Loaded { variable: "X_KEY".into(), secret: Secret::new("X_KEY", key) }
    }

    #[track_caller]
    fn check(base_url: &str, key: EndpointKey, expected: &str) {
        let checked = endpoint(base_url, key).check();
        assert_eq!(checked.map_or_else(|failure| failure.message, |()| "fine".to_owned()), expected, "{base_url}");
    }

    #[test]
    fn addresses() {
        for base_url in [
            "https://api.openai.com/v1",
            "https://api.openai.com/v1/",
            "https://[::1]:8443",
            "http://localhost:11434/v1",
            "http://127.1.2.3/v1",
            "http://[::1]:80/v1",
        ] {
            check(base_url, loaded("sk-1"), "fine");
        }
        check("http://gpu.lan:8000/v1", EndpointKey::None, "fine");
        let no_address = "`providers.x.base_url` is not a URL; write it as `https://HOST/PATH`";
        for base_url in ["", "api.openai.com/v1", "https://", "https://user:hunter2@host:port/v1"] {
            check(base_url, EndpointKey::None, no_address);
        }
        let user = "`providers.x.base_url` contains a user name or password; remove it and put the key into an \
                    environment variable";
        check("https://user:hunter2@host/v1", EndpointKey::None, user);
        check("https://user@host/v1", EndpointKey::None, user);
        let tail = "`providers.x.base_url` holds `?` or `#`; end it with the path";
        check("https://host/v1?key=hunter2", EndpointKey::None, tail);
        check("https://host/v1#a", EndpointKey::None, tail);
        let scheme = "`providers.x.base_url` starts with `ftp:`; write `https:`, or `http:` for this machine";
        check("ftp://host/v1", EndpointKey::None, scheme);
        let file = "`providers.x.base_url` starts with `file:`; write `https:`, or `http:` for this machine";
        check("file:///etc/passwd", EndpointKey::None, file);
    }

    #[test]
    fn keys_leave_this_machine_encrypted_only() {
        for host in ["gpu.lan", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0", "128.0.0.1", "[::2]"] {
            let expected =
                format!("`providers.x.base_url` would send the key in `X_KEY` to `{host}` unencrypted; write `https:`");
            check(&format!("http://{host}/v1"), loaded("sk-1"), &expected);
        }
    }

    #[test]
    fn keys() {
        let missing = EndpointKey::Missing { variable: "X_KEY".into() };
        for key in [missing, loaded(""), loaded(" \n")] {
            check("https://host/v1", key, "no key for provider `x`; set the environment variable X_KEY");
        }
        for key in ["sk-1\n", "sk-1\r\nx-evil: 1", "sk 1", "sk-é", "sk-\u{200b}"] {
            let expected = "the key in `X_KEY` contains a space, a line break or another invalid character; set it \
                            again without it";
            check("https://host/v1", loaded(key), expected);
        }
    }

    #[test]
    fn paths_follow_the_base() {
        assert_eq!(endpoint("https://host/a", EndpointKey::None).url("/v1/messages"), "https://host/a/v1/messages");
        for base_url in ["https://host/v1", "https://host/v1/"] {
            assert_eq!(endpoint(base_url, EndpointKey::None).url("/models"), "https://host/v1/models");
            assert_eq!(endpoint(base_url, EndpointKey::None).url("/v1/messages"), "https://host/v1/messages");
            assert_eq!(endpoint(base_url, EndpointKey::None).url("/v1x"), "https://host/v1/v1x");
        }
    }
}
