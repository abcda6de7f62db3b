//! A ticket system that gets a comment, a transition and a new ticket, and the resulting state of the action. The
//! oracle is its log.

use serde_json::{Value as Json, json};

use super::host::{HostReply, ScriptedHost};
use super::scene::Office;

/// An agent's permissions for tickets, each after a yes.
const POLICY: &str = r#"version = 1
level = "tactical"

[allow]
ids = ["TES"]
id_prefixes = ["TES-"]

[lists]
approval = ["comment", "move", "create"]

[actions.comment]
perform = "request:comment"
target = { role = "id" }
fields.body = { role = "text", audience = "internal", required = true }

[actions.move]
perform = "request:move"
target = { role = "id" }
fields.status = { role = "plain", required = true, one_of = ["31", "41"] }

[actions.create]
perform = "request:create"
target = { role = "id" }
fields.summary = { role = "text", audience = "internal", required = true }
"#;

/// An office whose actions are requests to this server.
fn office(server: &ScriptedHost) -> Option<Office> {
    let mut office = Office::open()?;
    office.fixture.configure("policy.toml", POLICY);
    office.fixture.set("TICKETS_TOKEN", "correct-horse-battery");
    let request = |name: &str, kind: &str, path: &str, body: &str| {
        format!(
            "[effects.requests.{name}]\nserver = \"tickets\"\nkind = \"{kind}\"\nmethod = \"POST\"\npath = \"{path}\"\nbody = \
             {body}\nnot_done = [503]\n\n"
        )
    };
    let requests = [
        request("comment", "comment", "/rest/api/2/issue/{target}/comment", "{ body = \"{body}\" }"),
        request(
            "move",
            "transition",
            "/rest/api/2/issue/{target}/transitions",
            "{ transition = { id = \"{status}\" } }",
        ),
        request(
            "create",
            "create",
            "/rest/api/2/issue",
            "{ fields = { project = { key = \"{target}\" }, summary = \"{summary}\", issuetype = { name = \"Task\" } } }",
        ),
    ];
    office.configure(&format!(
        "\n[effects.credentials]\ntickets = {{ variable = \"TICKETS_TOKEN\" }}\n\n[effects.servers.tickets]\norigin = \
         \"http://127.0.0.1:{}\"\nprivate = true\ncredential = \"tickets\"\n\n{}",
        server.port,
        requests.concat()
    ));
    Some(office)
}

/// The id of an action that a person said yes to.
fn approve_ticket(office: &Office, action: &str, target: &str, fields: &Json) -> String {
    let cause = format!("signal-{action}-{target}-{fields}");
    let action =
        json!({ "action": action, "target": target, "fields": fields, "causes": [{ "id": cause, "revision": "1" }] });
    let proposed = office.propose(&action);
    assert_eq!(proposed.code(), 0, "{} {}", proposed.stdout(), proposed.stderr());
    let id = proposed.json()["id"].as_str().unwrap().to_owned();
    office.approve(std::slice::from_ref(&id));
    id
}

#[test]
fn a_ticket_is_commented_moved_and_made() {
    let server = ScriptedHost::start(vec![HostReply::Status("201 Created"); 3]);
    let Some(office) = office(&server) else { return };
    let ids = [
        approve_ticket(&office, "comment", "TES-7", &json!({ "body": "The refund has \"two\" parts.\n{target}" })),
        approve_ticket(&office, "move", "TES-7", &json!({ "status": "31" })),
        approve_ticket(&office, "create", "TES", &json!({ "summary": "Refunds: the second part" })),
    ];
    let swept = office.sweep();
    assert_eq!(swept.code(), 0, "{}", swept.transcript());
    assert!(ids.iter().all(|id| office.states()[id] == "executed"), "{}", swept.stdout());
    let read = server.requests();
    let told: Vec<(&str, Json)> =
        read.iter().map(|(head, body)| (head.lines().next().unwrap(), serde_json::from_str(body).unwrap())).collect();
    // A text of an action fills one place of the template, and no place in it.
    for expected in [
        ("POST /rest/api/2/issue/TES-7/comment HTTP/1.1", json!({ "body": "The refund has \"two\" parts.\n{target}" })),
        ("POST /rest/api/2/issue/TES-7/transitions HTTP/1.1", json!({ "transition": { "id": "31" } })),
        (
            "POST /rest/api/2/issue HTTP/1.1",
            json!({ "fields": { "project": { "key": "TES" }, "summary": "Refunds: the second part", "issuetype": { "name": "Task" } } }),
        ),
    ] {
        assert!(told.contains(&expected), "{expected:?} {told:?}");
    }
    let heads = read.iter().map(|(head, _)| head.to_ascii_lowercase());
    assert!(heads.into_iter().all(|head| head.contains("authorization: bearer correct-horse-battery")));
    assert!(!office.fixture.proem(&["effects", "log", "--json"]).stdout().contains("correct-horse"));
}

/// An unanswered request is unknown, and of a server's failures only the declared one means that it did nothing. Nobody
/// makes the same ticket twice by himself.
#[test]
fn a_ticket_of_which_nothing_was_heard_is_made_once() {
    let server = ScriptedHost::start(vec![
        HostReply::Silence,
        HostReply::Status("500 Internal Server Error"),
        HostReply::Status("503 Service Unavailable"),
        HostReply::Status("400 Bad Request"),
    ]);
    let Some(office) = office(&server) else { return };
    for (number, state) in ["unknown", "unknown", "failed", "failed"].into_iter().enumerate() {
        let id = approve_ticket(&office, "create", "TES", &json!({ "summary": format!("Part {number}") }));
        let swept = office.sweep();
        assert_eq!((swept.code(), office.states()[&id].as_str()), (1, state), "{}", swept.transcript());
    }
    assert_eq!(office.sweep().json()["changes"], json!([]), "what needs a person waits for one");
    assert_eq!(server.requests().len(), 4, "each was sent once");
}
