//! The addresses that are asked, and answers that no document describes.

use serde_json::json;

use super::*;

fn plan(system: SyncSystem, part: &str) -> SyncPlan {
    SyncPlan { system, base: "https://s.example".to_owned(), part: part.to_owned(), since: None }
}

/// Drives a walk with answers, and tells what it asked, what it gave and how it ended.
#[track_caller]
fn check(plan: &SyncPlan, cursor: Option<&Json>, answers: &[(u16, Json)], expected: &[&str]) {
    let mut walk = begin_walk(plan, cursor);
    let mut told = Vec::new();
    for (status, body) in answers {
        let Some(request) = walk.request() else { break };
        told.push(request.url.split_once("/").unwrap().1.split("opt_fields").next().unwrap().to_owned());
        match walk.take(SyncAnswer { status: *status, body: body.clone() }) {
            Ok(page) if page.cursor.is_some() => told.push(format!("{} values", page.values.len())),
            Ok(_) => {}
            Err(fault) => {
                told.push(fault.to_string());
                break;
            }
        }
    }
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "`{told}` has no `{expected}`");
    }
    assert_eq!(told.len(), expected.len(), "{told:#?}");
}

#[test]
fn a_key_is_quoted_in_jql() {
    let clock = (200, json!({ "serverTime": "2026-11-30T10:00:00.000+0000" }));
    let search = (200, json!({ "issues": [], "isLast": true }));
    let hostile = plan(SyncSystem::Jira, "A\" OR project = \"B\\");
    let quoted = "jql=project%20%3D%20%22A%5C%22%20OR%20project%20%3D%20%5C%22B%5C%5C%22%20ORDER";
    check(&hostile, None, &[clock.clone(), search.clone()], &["serverInfo", quoted, "0 values"]);
    // The age is taken on the server's clock: an hour, a begun minute and the overlap.
    let cursor = json!({ "from": 1_796_029_200_000_i64 });
    check(
        &plan(SyncSystem::Jira, "TES"),
        Some(&cursor),
        &[clock, search],
        &["serverInfo", "updated%20%3E%3D%20%22-71m%22", "0 values"],
    );
}

#[test]
fn a_server_that_breaks_its_word_is_left() {
    let clock = (200, json!({ "serverTime": "2026-11-30T10:00:00.000+0000" }));
    let page = |token: &str| (200, json!({ "issues": [{ "id": "1" }], "nextPageToken": token }));
    let tes = plan(SyncSystem::Jira, "TES");
    check(
        &tes,
        None,
        &[clock.clone(), page("a"), page("b"), page("a")],
        &["serverInfo", "search/jql", "1 values", "nextPageToken=a", "1 values", "nextPageToken=b", "in a circle"],
    );
    let lie = (200, json!({ "issues": [], "isLast": false }));
    check(&tes, None, &[clock, lie], &["serverInfo", "search/jql", "no `nextPageToken`, although more follows"]);
    check(&tes, None, &[(200, json!({ "serverTime": "noon" }))], &["serverInfo", "no `serverTime`"]);
    check(&tes, None, &[(401, Json::Null)], &["serverInfo", "refused the credential (status 401)"]);
    let inbox = plan(SyncSystem::Graph, "me");
    for link in ["https://s.example.evil/x", "https://s.example:444/x", "https://s.example@evil/x", "//evil/x"] {
        let page = (200, json!({ "value": [], "@odata.deltaLink": link }));
        check(&inbox, None, &[page], &["v1.0/me/mailFolders/inbox/messages/delta", "leads to another server"]);
        let cursor = json!({ "link": link });
        let end = (200, json!({ "value": [], "@odata.deltaLink": "https://s.example/d" }));
        check(&inbox, Some(&cursor), &[end], &["v1.0/me/mailFolders/inbox/messages/delta", "0 values"]);
    }
    let gone = (410, Json::Null);
    check(&inbox, None, &[gone.clone(), gone], &["delta", "delta", "(status 410)"]);
    let more = (200, json!({ "data": [], "sync": "t", "has_more": true }));
    check(&plan(SyncSystem::Asana, "1"), Some(&json!({ "sync": "t" })), &[more], &["sync=t", "in a circle"]);
}

#[test]
fn any_cursor_and_any_answer_is_taken() {
    let odd =
        [Json::Null, json!([]), json!({ "link": 1, "from": "x", "walk": {}, "sync": 7, "listing": {} }), json!("x")];
    for system in [SyncSystem::Jira, SyncSystem::Graph, SyncSystem::Asana] {
        for cursor in &odd {
            for body in &odd {
                let mut walk = begin_walk(&plan(system, "1"), Some(cursor));
                assert!(walk.request().is_some(), "it begins anew");
                assert!(walk.take(SyncAnswer { status: 200, body: body.clone() }).is_err(), "{body}");
            }
        }
    }
}
