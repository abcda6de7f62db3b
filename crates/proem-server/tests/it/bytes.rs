//! Any bytes at all.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::scene::{GRAPH_SECRET, JIRA_SECRET, Scene, request, sign};

/// Makes some bytes a delivery in each way that there is; the statuses.
async fn deliver(routes: &Router, bytes: &[u8], query: &str) -> Vec<u16> {
    let signature = format!("sha256={}", sign(JIRA_SECRET, bytes));
    let text = String::from_utf8_lossy(bytes).replace(['\r', '\n', '\0'], "");
    let mut statuses = Vec::new();
    for (path, header) in [
        ("/hooks/jira", Some(("x-hub-signature", signature.as_str()))),
        ("/hooks/jira", Some(("x-hub-signature", text.as_str()))),
        ("/hooks/asana", Some(("x-hook-signature", text.as_str()))),
        ("/hooks/asana", Some(("x-hook-secret", text.as_str()))),
        ("/hooks/graph", None),
    ] {
        let mut built = Request::post(format!("{path}{query}"));
        if let Some((name, value)) = header {
            built = built.header(name, value);
        }
        // A header or an address of other bytes is no request.
        let Ok(asked) = built.body(Body::from(bytes.to_vec())) else { continue };
        statuses.push(request(routes, asked).await.status);
    }
    statuses
}

#[test]
fn no_bytes_are_more_than_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scene = Scene::new("");
    let receiver = runtime.block_on(scene.receiver(&[]));
    let routes = receiver.delivery_routes();
    let names = proptest::sample::select(vec!["value", "events", "timestamp", "webhookEvent"]);
    let state = format!("[{{\"clientState\":\"{GRAPH_SECRET}\",\"subscriptionId\":\"s\",\"resource\":\"m\"}}]");
    let values = ["[]", "[1]", "1", "{}", "\"a\"", "[{}]", &state].map(str::to_owned);
    let values = proptest::sample::select(values.to_vec());
    let json = (names, values).prop_map(|(name, value)| format!("{{\"{name}\":{value}}}").into_bytes());
    let bytes = prop_oneof![proptest::collection::vec(any::<u8>(), 0..200), json];
    let queries = prop_oneof!["", "\\?[a-zA-Z=&%0-9]{0,20}", "\\?validationToken=[a-z%0-9]{0,8}"];
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() });
    let law = runner.run(&(bytes, queries), |(bytes, query)| {
        for status in runtime.block_on(deliver(&routes, &bytes, &query)) {
            prop_assert!([200, 400, 401].contains(&status), "{status}");
        }
        Ok(())
    });
    law.unwrap();
    runtime.block_on(receiver.end());
}
