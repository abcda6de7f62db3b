//! The account that a source is read with: its credential, and the access token made of it.
//!
//! Invariants: the credential of one source is loaded, by name, when its turn comes. It and each token are kept from
//! print. A token that was refused is renewed once.

use std::path::Path;

use proem_llm::client::once::HostCredential;
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::effects::credentials::{CredentialAccess, CredentialPlace, load};
use proem_runtime::fetch::token::{TokenGrant, TokenRequest, fetch_access_token};
use proem_runtime::files::{self, FileAccess};
use proem_triage::sync::{SyncAnswer, SyncRequest};
use tokio_util::sync::CancellationToken;

use super::{FetchFailure, FetchLimits, FetchRequest, FetchedAnswer, SyncFeed, fetch_json};
use crate::config::effects::CredentialFile;
use crate::config::sources::{LoginGrant, SignalSystem, SourceLoginFile};
use crate::error::Error;
use crate::project::OpenProject;
use crate::secrets;

/// The account that a feed is read with.
#[derive(Debug)]
pub(super) struct SourceAccount<'f> {
    feed: &'f SyncFeed,
    place: CredentialPlace,
    credential: Secret,
    /// The access token, once there is one.
    token: Option<Secret>,
}

impl<'f> SourceAccount<'f> {
    /// Loads the credential of a feed.
    pub(super) fn open(project: &OpenProject, feed: &'f SyncFeed) -> Result<Self, Error> {
        let name = &feed.file.credential;
        let place = match project.config.effects.credentials.get(name) {
            Some(CredentialFile::Variable(variable)) => CredentialPlace::Variable(variable.clone()),
            Some(CredentialFile::File(path)) => CredentialPlace::File(project.places.config.join(path)),
            None => {
                let problem = format!("`effects.credentials.{name}` is not set; say where the credential is");
                return Err(Error::invalid(problem));
            }
        };
        let environment = Environment::inherited();
        let credential = load(name, &place, CredentialAccess::Own(&environment))
            .map_err(|refusal| Error::invalid(refusal.to_string()))?;
        secrets::keep_from_print(&credential);
        Ok(Self { feed, place, credential, token: None })
    }

    /// Asks the feed's server. If it refuses an access token, a new one is asked for, once.
    pub(super) async fn ask(
        &mut self,
        request: &SyncRequest,
        limits: &FetchLimits,
        stop: &CancellationToken,
    ) -> Result<SyncAnswer, FetchFailure> {
        let login = self.feed.file.login.as_ref();
        let mut is_fresh = false;
        if let Some(login) = login.filter(|_| self.token.is_none()) {
            self.renew(login, limits, stop).await?;
            is_fresh = true;
        }
        let mut answer = self.fetch(request, limits, stop).await?;
        if let Some(login) = login.filter(|_| answer.status == 401 && !is_fresh) {
            self.renew(login, limits, stop).await?;
            answer = self.fetch(request, limits, stop).await?;
        }
        Ok(SyncAnswer { status: answer.status, body: answer.json })
    }

    async fn fetch(
        &self,
        request: &SyncRequest,
        limits: &FetchLimits,
        stop: &CancellationToken,
    ) -> Result<FetchedAnswer, FetchFailure> {
        let user = self.feed.file.user.as_deref().filter(|_| self.feed.file.system == SignalSystem::Jira);
        let credential = match (&self.token, user) {
            (Some(token), _) => HostCredential::Bearer(token),
            (None, Some(user)) => HostCredential::Basic { user, secret: &self.credential },
            (None, None) => HostCredential::Bearer(&self.credential),
        };
        let fetch = FetchRequest {
            url: &request.url,
            scope: self.feed.source_hosts(),
            headers: &request.headers,
            credential: Some(credential),
            form: None,
        };
        fetch_json(&fetch, limits, stop).await
    }

    async fn renew(
        &mut self,
        login: &SourceLoginFile,
        limits: &FetchLimits,
        stop: &CancellationToken,
    ) -> Result<(), FetchFailure> {
        let grant = match login.grant {
            LoginGrant::RefreshToken => TokenGrant::Refresh(&self.credential),
            LoginGrant::ClientSecret => TokenGrant::Client(&self.credential),
        };
        let request = TokenRequest {
            url: &login.url,
            scope: self.feed.source_hosts(),
            client: &login.client,
            permissions: &login.permissions,
            grant,
        };
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
