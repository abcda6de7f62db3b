//! The account that a source is read with: its credential, and the access token made of it.
//!
//! Invariants: the credential of one source is loaded, by name, when its turn comes. It and each token are kept from
//! print. A token that was refused is renewed once.

use proem_llm::client::once::HostCredential;
use proem_triage::sync::{SyncAnswer, SyncRequest};
use tokio_util::sync::CancellationToken;

use super::{FetchFailure, FetchLimits, FetchRequest, FetchedAnswer, SyncFeed, fetch_json};
use crate::config::sources::SignalSystem;
use crate::error::Error;
use crate::login::LoginAccount;
use crate::project::OpenProject;
use crate::secrets;

/// The account that a feed is read with.
#[derive(Debug)]
pub(super) struct SourceAccount<'f> {
    feed: &'f SyncFeed,
    login: LoginAccount,
}

impl<'f> SourceAccount<'f> {
    /// Loads the credential of a feed.
    pub(super) fn open(project: &OpenProject, feed: &'f SyncFeed) -> Result<Self, Error> {
        let name = &feed.file.credential;
        let Some(file) = project.config.effects.credentials.get(name) else {
            return Err(Error::invalid(format!(
                "`effects.credentials.{name}` is not set; say where the credential is"
            )));
        };
        let place = secrets::credential_place(&project.places.config, file);
        let credential = secrets::load_credential(project, name)?;
        Ok(Self { feed, login: LoginAccount::new(place, credential) })
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
        if let Some(login) = login.filter(|_| self.login.token().is_none()) {
            self.login.renew(login, self.feed.source_hosts(), limits, stop).await?;
            is_fresh = true;
        }
        let mut answer = self.fetch(request, limits, stop).await?;
        if let Some(login) = login.filter(|_| answer.status == 401 && !is_fresh) {
            self.login.renew(login, self.feed.source_hosts(), limits, stop).await?;
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
        let credential = match (self.login.token(), user) {
            (Some(token), _) => HostCredential::Bearer(token),
            (None, Some(user)) => HostCredential::Basic { user, secret: self.login.credential() },
            (None, None) => HostCredential::Bearer(self.login.credential()),
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
}
