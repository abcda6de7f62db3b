//! Access tokens by OAuth 2.0 (RFC 6749): of a refresh token (section 6), or of a client's secret (section 4.4).
//!
//! Source for Microsoft: "Microsoft identity platform and OAuth 2.0 authorization code flow", "Refresh the access token"
//! (<https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow>).

use bytes::Bytes;
use proem_llm::client::hosts::{AddressKind, HostRefusal, HostScope, check_url};
use proem_llm::secret::Secret;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;
use url::{Host, Url, form_urlencoded};

use super::{FetchFailure, FetchLimits, FetchRequest, fetch_json};

/// A server that gives access tokens, and who asks it.
#[derive(Debug, Clone, Copy)]
pub struct TokenRequest<'a> {
    /// The address that tokens come from.
    pub url: &'a str,
    /// The addresses that its host may have.
    pub scope: HostScope,
    /// The id of the registered client.
    pub client: &'a str,
    /// The permissions to ask for, with spaces between them.
    pub permissions: &'a str,
    /// The proof.
    pub grant: TokenGrant<'a>,
}

/// The proof that a token is asked for with.
#[derive(Debug, Clone, Copy)]
pub enum TokenGrant<'a> {
    /// A token that a person's sign-in left.
    Refresh(&'a Secret),
    /// The secret of a client that acts for itself.
    Client(&'a Secret),
}

/// A bearer token and the time until which it is used.
#[derive(Debug, Clone)]
pub struct AccessToken {
    /// The token.
    pub secret: Secret,
    /// The refresh token for the next time, if the server gave another one.
    pub next: Option<Secret>,
}

/// Asks for an access token.
///
/// # Errors
///
/// [`FetchFailure`], which holds no part of a token.
pub async fn fetch_access_token(
    request: TokenRequest<'_>,
    limits: &FetchLimits,
    stop: &CancellationToken,
) -> Result<AccessToken, FetchFailure> {
    let url = check_url(request.url, request.scope).map_err(|refusal| FetchFailure::new(refusal.to_string()))?;
    if url.scheme() != "https" && !is_loopback(&url) {
        let host = url.host_str().unwrap_or_default().to_owned();
        return Err(FetchFailure::new(HostRefusal::Unencrypted { host }.to_string()));
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("client_id", request.client).append_pair("scope", request.permissions);
    let credential = match request.grant {
        TokenGrant::Refresh(secret) => {
            form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", secret.expose());
            secret
        }
        TokenGrant::Client(secret) => {
            form.append_pair("grant_type", "client_credentials").append_pair("client_secret", secret.expose());
            secret
        }
    };
    let headers = [
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
    ];
    let fetch = FetchRequest {
        url: request.url,
        scope: request.scope,
        headers: &headers,
        credential: None,
        form: Some(Bytes::from(form.finish())),
    };
    let answer = fetch_json(&fetch, limits, stop).await?;
    let text = |name: &str| answer.json.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    let name = credential.name();
    match (answer.status, text("access_token")) {
        (200..=299, Some(token)) => Ok(AccessToken {
            secret: Secret::new(format!("access token of {name}"), token),
            next: text("refresh_token").filter(|next| *next != credential.expose()).map(|next| Secret::new(name, next)),
        }),
        (200..=299, None) => {
            Err(FetchFailure::new("the answer of the login has no `access_token`; check the login's `url`"))
        }
        // RFC 6749, section 5.2: the grant is over or was taken back.
        (400, _) if text("error") == Some("invalid_grant") => {
            Err(FetchFailure::new(format!("the credential `{name}` has expired or was revoked; sign in again")))
        }
        (status, _) => Err(FetchFailure::new(format!(
            "the login refused the credential `{name}` (status {status}); check it, the client and its permissions"
        ))),
    }
}

/// Whether an address is this machine by its numbers or by the name that is reserved for it.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => AddressKind::of(address.into()) == AddressKind::Loopback,
        Some(Host::Ipv6(address)) => AddressKind::of(address.into()) == AddressKind::Loopback,
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        None => false,
    }
}
