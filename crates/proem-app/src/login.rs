//! An account of another system: its credential, and the access token made of it.
//!
//! Invariant: the credential and each token are kept from print.

use std::path::Path;

use proem_llm::client::hosts::HostScope;
use proem_llm::secret::Secret;
use proem_runtime::effects::credentials::CredentialPlace;
use proem_runtime::fetch::token::{TokenGrant, TokenRequest, fetch_access_token};
use proem_runtime::fetch::{FetchFailure, FetchLimits};
use proem_runtime::files::{self, FileAccess};
use tokio_util::sync::CancellationToken;

use crate::config::login::{LoginFile, LoginGrant};
use crate::secrets;

/// An account of another system.
#[derive(Debug)]
pub(crate) struct LoginAccount {
    place: CredentialPlace,
    credential: Secret,
    /// The access token, once there is one.
    token: Option<Secret>,
}

impl LoginAccount {
    /// The account of a credential that was loaded from this place.
    pub(crate) fn new(place: CredentialPlace, credential: Secret) -> Self {
        secrets::keep_from_print(&credential);
        Self { place, credential, token: None }
    }

    /// The credential itself.
    pub(crate) const fn credential(&self) -> &Secret {
        &self.credential
    }

    /// The access token, once there is one.
    pub(crate) const fn token(&self) -> Option<&Secret> {
        self.token.as_ref()
    }

    /// Asks for an access token. A refresh token that comes with it replaces the credential.
    pub(crate) async fn renew(
        &mut self,
        login: &LoginFile,
        scope: HostScope,
        limits: &FetchLimits,
        stop: &CancellationToken,
    ) -> Result<(), FetchFailure> {
        let grant = match login.grant {
            LoginGrant::RefreshToken => TokenGrant::Refresh(&self.credential),
            LoginGrant::ClientSecret => TokenGrant::Client(&self.credential),
        };
        let request =
            TokenRequest { url: &login.url, scope, client: &login.client, permissions: &login.permissions, grant };
        let token = fetch_access_token(request, limits, stop).await?;
        secrets::keep_from_print(&token.secret);
        self.token = Some(token.secret);
        if let Some(next) = token.next.filter(|_| login.grant == LoginGrant::RefreshToken) {
            secrets::keep_from_print(&next);
            self.replace_credential(next)?;
        }
        Ok(())
    }

    /// Keeps the refresh token that follows, where the last one came from. In a variable it can't be kept; the last one
    /// stays good for its time, as the server's documents say.
    fn replace_credential(&mut self, next: Secret) -> Result<(), FetchFailure> {
        if let CredentialPlace::File(path) = &self.place {
            let (folder, name) = path.parent().zip(path.file_name()).unwrap_or((Path::new("."), path.as_os_str()));
            let text = format!("{}\n", next.expose());
            files::replace_file(folder, Path::new(name), text.as_bytes(), FileAccess::Private).map_err(|error| {
                FetchFailure::new(format!("the next token of `{}` can't be kept: {error}", next.name()))
            })?;
        }
        self.credential = next;
        Ok(())
    }
}
