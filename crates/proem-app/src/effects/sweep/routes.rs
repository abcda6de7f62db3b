//! The destination of bytes, and their credentials, which are read here, when they are needed, and nowhere else.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proem_engine::effect::key::{EffectKey, OutboxForm};
use proem_engine::policy::Permit;
use proem_guard::credential;
use proem_llm::client::hosts::HostScope;
use proem_llm::client::once::{HostCredential, HostLimits};
use proem_llm::secret::Secret;
use proem_runtime::Environment;
use proem_runtime::effects::credentials::{CredentialAccess, leaking, load};
use proem_runtime::effects::smtp::{ExtraAnchors, SmtpLimits, SmtpLogin, SmtpSecurity, SmtpServer};
use proem_runtime::effects::{
    DeliveryBytes, DeliveryOutcome, DeliveryRoute, DeliveryTrouble, GraphMailRoute, RequestRoute, SmtpRoute, perform,
};
use proem_runtime::fetch::FetchLimits;

use proem_store::WitnessedIntent;
use tokio_util::sync::CancellationToken;

use super::super::drafting::{ActionDraft, DraftRefusal, DraftWay};
use crate::config::effects::{EffectsFile, MailSecurity, MailServerFile, TicketServerFile};
use crate::config::login::LoginFile;
use crate::error::Error;
use crate::login::LoginAccount;
use crate::project::OpenProject;
use crate::secrets;
use crate::triage::sync::GRAPH;

/// How long it may take to perform an action, whichever way it leaves (the seed's stage *execute*). A mail server that
/// needs longer leaves it open whether it has the mail, so a person is asked.
const EXECUTE: Duration = Duration::from_secs(60);
/// How long an access token is used. Those of Microsoft live for 60 minutes at least
/// (<https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens>).
const TOKEN_USE: Duration = Duration::from_mins(30);

/// The starter of the sweep, and so the possible places of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialReading {
    /// A person or a timer: files and this process' own environment.
    OwnEnvironment,
    /// Another process of Proem, whose environment is somebody's word: files alone.
    FilesAlone,
}

/// The ways out of a project, and the credentials that are loaded.
#[derive(Debug)]
pub(super) struct DeliveryRoutes<'p> {
    settings: &'p EffectsFile,
    folder: PathBuf,
    outbox: PathBuf,
    /// The environment, if credentials may be there.
    environment: Option<Environment>,
    secrets: BTreeMap<String, Secret>,
    /// Those whose credential becomes an access token, by its name.
    accounts: BTreeMap<String, SignedInAccount>,
    server: Option<SmtpServer>,
}

/// An account with an access token.
#[derive(Debug)]
struct SignedInAccount {
    account: LoginAccount,
    /// When the token was asked for.
    at: Instant,
}

impl<'p> DeliveryRoutes<'p> {
    pub(super) fn new(project: &'p OpenProject, reading: CredentialReading) -> Self {
        let settings = &project.config.effects;
        let folder = project.places.config.clone();
        let outbox = match &settings.outbox {
            Some(path) => folder.join(path),
            None => project.places.state.join("outbox"),
        };
        let mut routes = Self {
            settings,
            folder,
            outbox,
            environment: (reading == CredentialReading::OwnEnvironment).then(Environment::inherited),
            secrets: BTreeMap::new(),
            accounts: BTreeMap::new(),
            server: None,
        };
        routes.load_all();
        routes
    }

    /// Loads every credential that the configuration names, to look for each of them in whatever leaves. One that
    /// can't be read is missed where it is needed.
    fn load_all(&mut self) {
        for name in self.settings.credentials.keys() {
            // The request that needs it gets the reason.
            _ = self.load(Some(name));
        }
    }

    /// Loads what the way of an action needs, and looks for credentials in its bytes.
    pub(super) async fn ready(&mut self, draft: &ActionDraft, key: EffectKey) -> Result<(), DraftRefusal> {
        let prepared = self.prepare_way(&draft.way).await;
        prepared.map_err(|error| DraftRefusal::Configuration(error.to_string()))?;
        let Some(form) = draft.way.form() else { return Ok(()) };
        if !credential::find_credentials(&String::from_utf8_lossy(&draft.bytes)).is_empty() {
            let why = "its text looks as if it held a credential; cancel it, and change that credential";
            return Err(DraftRefusal::Action(why.to_owned()));
        }
        let loaded: Vec<Secret> = self.secrets.values().cloned().collect();
        match leaking(&DeliveryBytes { key, form, bytes: &draft.bytes }, &loaded) {
            Some(secret) => Err(DraftRefusal::Action(format!(
                "its text holds the credential `{}`; cancel it, and change that credential",
                secret.name()
            ))),
            None => Ok(()),
        }
    }

    /// Whether an action that leaves in this way has to wait for an access token.
    pub(super) fn must_sign_in(&self, way: &DraftWay) -> bool {
        let (name, login) = match way {
            DraftWay::Inside => return false,
            DraftWay::Mail { .. } => match &self.settings.mail.graph {
                Some(graph) => (Some(&graph.credential), graph.login.is_some()),
                None => return false,
            },
            DraftWay::Request { server, .. } => match self.settings.servers.get(server) {
                Some(known) => (known.credential.as_ref(), known.login.is_some()),
                None => return false,
            },
        };
        login && name.is_some_and(|name| !self.has_token(name))
    }

    /// Whether there is an access token that is still used.
    fn has_token(&self, name: &str) -> bool {
        self.accounts.get(name).is_some_and(|known| known.at.elapsed() < TOKEN_USE)
    }

    async fn prepare_way(&mut self, way: &DraftWay) -> Result<(), Error> {
        let mail = &self.settings.mail;
        match (way, &mail.server, &mail.graph) {
            (DraftWay::Inside, _, _) => Ok(()),
            (DraftWay::Request { server, .. }, _, _) => {
                let known = self.ticket_server(server)?;
                let name = known.credential.as_deref();
                self.load(name)?;
                self.sign_in(name, known.login.as_ref(), host_scope(known.private)).await
            }
            (DraftWay::Mail { .. }, Some(_), Some(_)) => {
                Err(Error::invalid("`effects.mail` has both `server` and `graph`; keep the one that mails leave by"))
            }
            (DraftWay::Mail { .. }, Some(server), None) => {
                self.server = Some(smtp_server(server, &self.folder)?);
                self.load(server.credential.as_deref())
            }
            (DraftWay::Mail { .. }, None, Some(graph)) => {
                self.load(Some(&graph.credential))?;
                self.sign_in(Some(&graph.credential), graph.login.as_ref(), host_scope(graph.private)).await
            }
            (DraftWay::Mail { .. }, None, None) => self.make_outbox(),
        }
    }

    /// Gets an access token for a credential that is none itself. Nothing has been taken up yet, so a login that fails
    /// leaves the action and its approval as they are.
    async fn sign_in(&mut self, name: Option<&str>, login: Option<&LoginFile>, scope: HostScope) -> Result<(), Error> {
        let (Some(name), Some(login)) = (name, login) else { return Ok(()) };
        if self.has_token(name) {
            return Ok(());
        }
        let (Some(credential), Some(file)) = (self.secrets.get(name), self.settings.credentials.get(name)) else {
            return Ok(());
        };
        let place = secrets::credential_place(&self.folder, file);
        let mut account = match self.accounts.remove(name) {
            Some(known) => known.account,
            None => LoginAccount::new(place, credential.clone()),
        };
        let at = Instant::now();
        let renewed = account.renew(login, scope, &FetchLimits::default(), &CancellationToken::new()).await;
        renewed.map_err(|failure| Error::outside(failure.to_string()))?;
        for secret in account.token().into_iter().chain([account.credential()]) {
            self.secrets.insert(secret.name().to_owned(), secret.clone());
        }
        self.accounts.insert(name.to_owned(), SignedInAccount { account, at });
        Ok(())
    }

    /// The proof that a server gets: a user's password, an access token, or the credential itself.
    fn host_credential<'s>(&'s self, name: &str, user: Option<&'s str>) -> Option<HostCredential<'s>> {
        if let Some(token) = self.accounts.get(name).and_then(|known| known.account.token()) {
            return Some(HostCredential::Bearer(token));
        }
        let secret = self.secrets.get(name)?;
        Some(match user {
            Some(user) => HostCredential::Basic { user, secret },
            None => HostCredential::Bearer(secret),
        })
    }

    /// Makes the folder of Proem's own that mails go to where the configuration names none.
    fn make_outbox(&self) -> Result<(), Error> {
        if self.settings.outbox.is_some() {
            return Ok(());
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.outbox);
        made.map_err(|error| Error::outside(format!("could not create `{}`: {error}", self.outbox.display())))
    }

    fn ticket_server(&self, name: &str) -> Result<&'p TicketServerFile, Error> {
        self.settings
            .servers
            .get(name)
            .ok_or_else(|| Error::invalid(format!("`effects.servers.{name}` is not set; declare the server")))
    }

    fn load(&mut self, name: Option<&str>) -> Result<(), Error> {
        let Some(name) = name else { return Ok(()) };
        if self.secrets.contains_key(name) {
            return Ok(());
        }
        let Some(file) = self.settings.credentials.get(name) else {
            return Err(Error::invalid(format!(
                "`effects.credentials.{name}` is not set; say where the credential is"
            )));
        };
        let place = secrets::credential_place(&self.folder, file);
        let access = self.environment.as_ref().map_or(CredentialAccess::FileAlone, CredentialAccess::Own);
        let secret = load(name, &place, access).map_err(|refused| Error::invalid(refused.to_string()))?;
        self.secrets.insert(name.to_owned(), secret);
        Ok(())
    }

    /// Hands the bytes over, once.
    pub(super) async fn deliver(
        &self,
        permit: Permit,
        intent: &WitnessedIntent,
        form: OutboxForm,
        draft: &ActionDraft,
    ) -> DeliveryOutcome {
        let delivery = DeliveryBytes { key: *intent.key(), form, bytes: &draft.bytes };
        let secrets: Vec<Secret> = self.secrets.values().cloned().collect();
        match self.route(&draft.way) {
            Ok(route) => perform::perform_outside(permit, intent, &delivery, &route, &secrets).await,
            Err(problem) => DeliveryOutcome::NotSent(DeliveryTrouble { message: problem.to_string(), answer: None }),
        }
    }

    fn route(&self, way: &DraftWay) -> Result<DeliveryRoute<'_>, Error> {
        let limits = HostLimits { whole: EXECUTE, ..HostLimits::default() };
        let DraftWay::Request { server, template } = way else {
            if let Some(graph) = &self.settings.mail.graph {
                let name = &graph.credential;
                let Some(credential) = self.host_credential(name, None) else {
                    return Err(Error::invalid(format!("the credential `{name}` is not loaded; say where it is")));
                };
                return Ok(DeliveryRoute::Graph(GraphMailRoute {
                    origin: graph.url.as_deref().unwrap_or(GRAPH),
                    mailbox: graph.user.as_deref(),
                    scope: host_scope(graph.private),
                    credential,
                    limits,
                }));
            }
            let (Some(file), Some(server)) = (&self.settings.mail.server, &self.server) else {
                return Ok(DeliveryRoute::Outbox(&self.outbox));
            };
            let secret = file.credential.as_ref().and_then(|name| self.secrets.get(name));
            let login = file.user.as_deref().zip(secret).map(|(user, secret)| SmtpLogin { user, secret });
            return Ok(DeliveryRoute::Smtp(SmtpRoute { server, login }));
        };
        let known = self.ticket_server(server)?;
        let credential = known.credential.as_ref().and_then(|name| self.host_credential(name, known.user.as_deref()));
        // One request's settings for statuses hold for no other of the same server.
        let not_done = self.settings.requests.get(template);
        Ok(DeliveryRoute::Request(RequestRoute {
            origin: &known.origin,
            scope: host_scope(known.private),
            credential,
            not_done: not_done.map_or(&[], |file| file.not_done.as_slice()),
            limits,
        }))
    }
}

const fn host_scope(private: bool) -> HostScope {
    if private { HostScope::Private } else { HostScope::Public }
}

/// The mail server that the configuration declares.
fn smtp_server(file: &MailServerFile, folder: &Path) -> Result<SmtpServer, Error> {
    let security = match file.security {
        MailSecurity::Tls => SmtpSecurity::Tls,
        MailSecurity::Starttls => SmtpSecurity::StartTls,
        MailSecurity::LoopbackPlain => SmtpSecurity::LoopbackPlain,
    };
    let usual = if security == SmtpSecurity::Tls { 465 } else { 587 };
    let roots = match &file.authorities {
        Some(path) => ExtraAnchors::read(&folder.join(path)).map_err(|refused| Error::invalid(refused.to_string()))?,
        None => ExtraAnchors::default(),
    };
    Ok(SmtpServer {
        host: file.host.clone(),
        port: file.port.unwrap_or(usual),
        security,
        roots,
        limits: SmtpLimits { answer: EXECUTE, whole: EXECUTE, ..SmtpLimits::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_out_takes_longer_than_an_execution_may() {
        let file: MailServerFile = toml::from_str("host = \"mail.example.org\"").unwrap();
        let limits = smtp_server(&file, Path::new("/")).unwrap().limits;
        assert_eq!((limits.whole, limits.answer), (EXECUTE, EXECUTE));
        assert!(limits.connect <= EXECUTE && limits.command <= EXECUTE, "{limits:?}");
    }

    #[test]
    fn a_request_fails_by_its_own_statuses_alone() {
        let settings: EffectsFile = toml::from_str(
            r#"
[servers.tickets]
origin = "https://tickets.example.org"

[requests.a]
server = "tickets"
kind = "comment"
method = "POST"
path = "/a"
body = {}
not_done = [503]

[requests.b]
server = "tickets"
kind = "create"
method = "POST"
path = "/b"
body = {}
"#,
        )
        .unwrap();
        let routes = DeliveryRoutes {
            settings: &settings,
            folder: PathBuf::new(),
            outbox: PathBuf::new(),
            environment: None,
            secrets: BTreeMap::new(),
            accounts: BTreeMap::new(),
            server: None,
        };
        for (template, expected) in [("a", &[503][..]), ("b", &[])] {
            let way = DraftWay::Request { server: "tickets".to_owned(), template: template.to_owned() };
            let DeliveryRoute::Request(route) = routes.route(&way).unwrap() else { panic!("it is a request") };
            assert_eq!(route.not_done, expected, "{template}");
            assert_eq!(route.limits.whole, EXECUTE, "{template}");
        }
    }
}
