//! A user with a project and webhooks, and deliveries to them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use hmac::{Hmac, KeyInit as _, Mac as _};
use proem_app::places::{Channel, Places};
use proem_app::project::OpenProject;
use proem_app::triage::charter::CHARTER;
use proem_app::trust::TrustStore;
use proem_app::webhooks::load_webhooks;
use proem_app::{Error, when};
use proem_server::{Receiver, ReceiverOptions, ServeEvent, ServeListener};
use serde_json::{Value as Json, json};
use sha2::Sha256;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// The secrets of the webhooks `jira` and `graph`.
pub(crate) const JIRA_SECRET: &str = "It's a Secret to Everybody";
pub(crate) const GRAPH_SECRET: &str = "0f1e2d3c-subscription-state";
/// The secret that Asana chooses.
pub(crate) const ASANA_SECRET: &str = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";

const PROJECT: &str = "id = \"0192f0c1-7a2b-4c3d-8e4f-5a6b7c8d9e0f\"\nname = \"Tea\"\nkey = \"TES\"\n\
                       level = \"monitoring\"\nowner = \"Olivia Reyes\"\ntime_zone = \"UTC\"\n\
                       domains = [\"corp.example\"]\n\n[[trackers]]\nsource = \"asana\"\nproject = \"1208\"\n";

/// A user with a project and three webhooks.
pub(crate) struct Scene {
    pub(crate) places: Places,
    pub(crate) project: PathBuf,
    pub(crate) events: Arc<Mutex<Vec<ServeEvent>>>,
    _folder: TempDir,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Scene {
    /// `more` is in the table of each webhook.
    pub(crate) fn new(more: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let [config, state, cache, project] = ["config", "state", "cache", "tea"].map(|name| base.join(name));
        for folder in [&config, &state, &cache, &project.join(".proem/triage")] {
            fs::create_dir_all(folder).unwrap();
        }
        let places =
            Places { config, state, cache, home: base.clone(), programs: base.clone(), channel: Channel::Pipe };
        fs::write(project.join(CHARTER), PROJECT).unwrap();
        let key = OpenProject::without_book(&project, &places).unwrap().key;
        let trusted = [(CHARTER.to_owned(), PROJECT.as_bytes().to_vec())];
        TrustStore::new(places.state.clone()).trust(&key, &trusted).unwrap();
        let scene = Self { places, project, events: Arc::default(), _folder: folder };
        let mut text = String::new();
        for (name, secret) in [("jira", Some(JIRA_SECRET)), ("asana", None), ("graph", Some(GRAPH_SECRET))] {
            let place = scene.project.display();
            _ = writeln!(text, "[webhooks.{name}]\nsource = \"{name}\"\nproject = \"{place}\"\n{more}");
            if let Some(secret) = secret {
                let file = scene.places.config.join(format!("{name}.secret"));
                fs::write(&file, format!("{secret}\n")).unwrap();
                fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
                _ = writeln!(text, "secret = {{ file = \"{name}.secret\" }}");
            }
        }
        scene.configure(&text);
        scene
    }

    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.places.config_file(), text).unwrap();
    }

    pub(crate) fn options(&self, handshakes: &[&str]) -> ReceiverOptions {
        ReceiverOptions {
            places: self.places.clone(),
            webhooks: load_webhooks(&self.places).unwrap(),
            handshakes: handshakes.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>(),
        }
    }

    pub(crate) fn listener(&self) -> ServeListener {
        let events = Arc::clone(&self.events);
        Arc::new(move |event: &ServeEvent| events.lock().unwrap().push(event.clone()))
    }

    /// Starts to take deliveries.
    pub(crate) async fn receiver(&self, handshakes: &[&str]) -> Receiver {
        self.try_receiver(handshakes).await.unwrap()
    }

    pub(crate) async fn try_receiver(&self, handshakes: &[&str]) -> Result<Receiver, Error> {
        Receiver::start(self.options(handshakes), self.listener()).await
    }

    /// The stored signals, by source, kind and standing.
    pub(crate) fn stored(&self) -> Vec<String> {
        self.rows("SELECT source || ' ' || kind || ' ' || standing FROM signals ORDER BY seq")
    }

    pub(crate) fn rows(&self, statement: &str) -> Vec<String> {
        let connection = rusqlite::Connection::open(self.places.records()).unwrap();
        let mut query = connection.prepare(statement).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    /// Whether a text is anywhere in the user's folders, the file of the records included.
    pub(crate) fn keeps(&self, text: &str) -> bool {
        let files = [self.places.records(), self.places.records().with_extension("db-wal")];
        files
            .iter()
            .filter_map(|file| fs::read(file).ok())
            .any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    }
}

/// Makes a request of routes.
pub(crate) async fn request(routes: &Router, request: Request<Body>) -> Answer {
    let answer = routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    Answer { status, headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

/// Posts a body.
pub(crate) async fn post(routes: &Router, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
    let mut built = Request::post(path);
    for (name, value) in headers {
        built = built.header(*name, *value);
    }
    request(routes, built.body(body.into()).unwrap()).await
}

/// Posts a body of Jira with the signature of `secret`.
pub(crate) async fn post_jira(routes: &Router, secret: &str, body: &Json) -> u16 {
    let body = body.to_string();
    let signature = format!("sha256={}", sign(secret, body.as_bytes()));
    post(routes, "/hooks/jira", &[("X-Hub-Signature", &signature)], body).await.status
}

/// The HMAC-SHA256 of a body in hexadecimal digits.
pub(crate) fn sign(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A change of a ticket as Jira sends it.
pub(crate) fn jira_event(number: u32) -> Json {
    json!({
        "timestamp": when::time_now().0, "webhookEvent": "jira:issue_updated", "issue_event_type_name": "issue_generic",
        "user": { "accountId": "5b10", "displayName": "Ana" },
        "issue": { "id": format!("10{number}"), "key": format!("TES-{number}"),
            "self": "https://tea.atlassian.net/rest/api/2/issue/1",
            "fields": { "project": { "key": "TES" }, "summary": "Refunds", "issuetype": { "name": "Story" },
                "status": { "name": "Done", "statusCategory": { "key": "done" } } } },
        "changelog": { "id": number.to_string(), "items": [{ "field": "status", "fromString": "To Do", "toString": "Done" }] },
    })
}

/// A notification as Graph sends it.
pub(crate) fn graph_notice(state: &str) -> Json {
    json!({
        "subscriptionId": "7f105c7d-2dc5-4530-97cd-4e7ae6534c07", "subscriptionExpirationDateTime": "2999-03-20T11:00:00.0000000Z",
        "clientState": state, "changeType": "created", "resource": "Users/ddfcd489-628b-40d7-b48b-57002df800e5/Messages/AAMk",
        "tenantId": "84bd8158-6d4d-4958-8b9f-9d6445542f95",
        "resourceData": { "@odata.type": "#Microsoft.Graph.Message", "@odata.id": "Users/dd/Messages/AAMk",
            "@odata.etag": "W/\"CQAAABYA\"", "id": "AAMk" },
    })
}
