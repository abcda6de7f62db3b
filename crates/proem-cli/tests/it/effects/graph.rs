//! Mails that leave through Microsoft Graph. The oracle is the log of a server that behaves as its documents say.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::host::{HostReply, ScriptedHost};
use super::scene::{Office, id_of};

const TOKEN: HostReply =
    HostReply::Body(r#"{ "access_token": "an-access-token", "refresh_token": "the-refresh-token-of-next-time" }"#);
const ACCEPTED: HostReply = HostReply::Status("202 Accepted");

/// An office whose mails leave by this server, as `user`.
fn office(server: &ScriptedHost, user: &str) -> Option<Office> {
    let office = Office::open()?;
    let origin = format!("http://127.0.0.1:{}", server.port);
    office.configure(&format!(
        "[effects.mail.graph]\nurl = \"{origin}\"\nprivate = true\n{user}credential = \"graph-send\"\n\n\
         [effects.mail.graph.login]\nurl = \"{origin}/token\"\nclient = \"client-1\"\n\
         permissions = \"offline_access https://graph.microsoft.com/Mail.Send\"\n\n\
         [effects.credentials]\ngraph-send = {{ file = \"graph-send.txt\" }}\n"
    ));
    office.fixture.configure("graph-send.txt", "the-refresh-token-of-a-sign-in\n");
    fs::set_permissions(credential_file(&office), Permissions::from_mode(0o600)).unwrap();
    Some(office)
}

fn credential_file(office: &Office) -> std::path::PathBuf {
    office.fixture.base.join("config/proem/graph-send.txt")
}

/// A mail goes as it is recorded, whole, with a token that a login gave; one login serves a sweep.
#[test]
fn mails_leave_from_a_mailbox() {
    let server = ScriptedHost::start(vec![TOKEN, ACCEPTED, ACCEPTED]);
    let Some(office) = office(&server, "user = \"team&co@corp.example\"\n") else { return };
    let ids = office.approve_notes(2);
    let swept = office.sweep();
    assert_eq!(swept.code(), 0, "{}", swept.transcript());
    assert!(ids.iter().all(|id| office.states()[id] == "executed"), "{}", swept.stdout());
    let requests = server.requests();
    assert!(requests[0].1.contains("refresh_token=the-refresh-token-of-a-sign-in"), "{requests:?}");
    let mut sent = Vec::new();
    for (head, body) in &requests[1..] {
        assert!(head.starts_with("POST /v1.0/users/team&co@corp.example/sendMail HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(head.contains("authorization: bearer an-access-token"), "{head}");
        assert!(head.contains("content-type: text/plain"), "{head}");
        let mail = STANDARD.decode(body).unwrap();
        assert!(mail.ends_with(b"The last.\r\n"), "{}", String::from_utf8_lossy(&mail));
        sent.push(id_of(&mail));
    }
    sent.sort();
    let mut expected = ids;
    expected.sort();
    assert_eq!(sent, expected);
    assert_eq!(fs::read_to_string(credential_file(&office)).unwrap(), "the-refresh-token-of-next-time\n");
    let log = office.fixture.proem(&["effects", "log", "--json"]);
    assert!(!log.stdout().contains("an-access-token") && !log.stdout().contains("refresh-token"), "{}", log.stdout());
}

/// A refusal is final, a throttled mail was taken by nobody, and a server that goes away leaves it open.
#[test]
fn what_graph_says_decides_what_became_of_a_mail() {
    let server = ScriptedHost::start(vec![
        TOKEN,
        HostReply::Status("403 Forbidden"),
        TOKEN,
        HostReply::Status("429 Too Many Requests"),
        TOKEN,
        HostReply::Silence,
        TOKEN,
        HostReply::Status("503 Service Unavailable"),
    ]);
    let Some(office) = office(&server, "") else { return };
    for (number, state) in ["failed", "waiting", "unknown", "unknown"].into_iter().enumerate() {
        let id = office.approve_notes(1).remove(0);
        let swept = office.sweep();
        assert_eq!((swept.code(), office.states()[&id].as_str()), (1, state), "{}", swept.transcript());
        let requests = server.requests();
        assert_eq!(requests.len(), 2 * (number + 1), "each was sent once");
        assert!(requests[2 * number + 1].0.starts_with("POST /v1.0/me/sendMail HTTP/1.1"), "{requests:?}");
    }
    assert_eq!(office.sweep().json()["changes"], json!([]), "what needs a person waits for one");
}

/// A login that fails leaves the action approved: nothing was taken up.
#[test]
fn a_login_that_fails_leaves_the_approval() {
    let refused = HostReply::Status("401 Unauthorized");
    let server = ScriptedHost::start(vec![refused, TOKEN, ACCEPTED]);
    let Some(office) = office(&server, "") else { return };
    let id = office.approve_notes(1).remove(0);
    let swept = office.sweep();
    assert_eq!((swept.code(), office.states()[&id].as_str()), (1, "approved"), "{}", swept.transcript());
    assert!(
        swept.stdout().contains("the login refused the credential `graph-send` (status 401)"),
        "{}",
        swept.stdout()
    );
    assert_eq!(office.sweep().code(), 0);
    assert_eq!(office.states()[&id], "executed");
    office
        .configure("[effects.mail.server]\nhost = \"localhost\"\n[effects.mail.graph]\ncredential = \"graph-send\"\n");
    office.approve_notes(1);
    let both = office.sweep();
    assert!(both.stdout().contains("`effects.mail` has both `server` and `graph`"), "{}", both.transcript());
}
