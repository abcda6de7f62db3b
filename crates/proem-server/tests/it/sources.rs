//! Each source as its documents say.

use proem_server::ServeEvent;
use proem_triage::SubscriptionNews;
use serde_json::json;

use crate::scene::{ASANA_SECRET, GRAPH_SECRET, JIRA_SECRET, Scene, graph_notice, jira_event, post, post_jira, sign};

#[tokio::test]
async fn jira_signs_its_events_and_one_delivery_is_one_signal() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    let event = jira_event(7);
    assert_eq!(post_jira(&routes, JIRA_SECRET, &event).await, 200);
    assert_eq!(scene.stored(), ["jira ticket_updated open"]);
    // Sent again, as Jira does if the answer was lost.
    assert_eq!(post_jira(&routes, JIRA_SECRET, &event).await, 200);
    assert_eq!(scene.stored().len(), 1);
    assert_eq!(post_jira(&routes, JIRA_SECRET, &jira_event(8)).await, 200);
    // A person gets what cannot be read.
    assert_eq!(post_jira(&routes, JIRA_SECRET, &json!({ "hello": "there" })).await, 200);
    assert_eq!(scene.stored()[1..], ["jira ticket_updated open", "unknown malformed malformed"]);
    receiver.end().await;
}

#[tokio::test]
async fn deliveries_at_once_are_each_stored() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    let all = (0..40).map(|number| {
        let routes = routes.clone();
        tokio::spawn(async move { post_jira(&routes, JIRA_SECRET, &jira_event(number)).await })
    });
    for delivery in all.collect::<Vec<_>>() {
        assert_eq!(delivery.await.unwrap(), 200);
    }
    assert_eq!(scene.stored().len(), 40);
    receiver.end().await;
}

#[tokio::test]
async fn asana_chooses_its_secret_once_and_signs_with_it() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&["asana"]).await;
    let routes = receiver.delivery_routes();
    let handshake = [("X-Hook-Secret", ASANA_SECRET)];
    let answer = post(&routes, "/hooks/asana", &handshake, "{}").await;
    assert_eq!((answer.status, answer.headers["x-hook-secret"].to_str().unwrap()), (200, ASANA_SECRET));
    assert_eq!(post(&routes, "/hooks/asana", &[("X-Hook-Secret", "0123456789abcdef-other")], "{}").await.status, 401);
    receiver.end().await;
    // The secret outlasts the process, and the door is shut.
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    assert_eq!(post(&routes, "/hooks/asana", &handshake, "{}").await.status, 401);
    let events = json!({ "events": [
        { "user": { "gid": "12", "resource_type": "user" }, "created_at": "2999-08-21T18:20:37.972Z", "action": "changed",
          "resource": { "gid": "1337", "resource_type": "task", "resource_subtype": "default_task" }, "parent": null,
          "change": { "field": "assignee", "action": "changed", "new_value": { "gid": "12", "resource_type": "user" } } },
        { "user": { "gid": "12", "resource_type": "user" }, "created_at": "2999-08-21T18:22:45.421Z", "action": "added",
          "resource": { "gid": "99", "resource_type": "task" }, "parent": { "gid": "1208", "resource_type": "project" } },
    ] })
    .to_string();
    for (body, key, expected) in [
        ("{\"events\": []}", ASANA_SECRET, 200),
        (events.as_str(), "another secret than the one", 401),
        (events.as_str(), ASANA_SECRET, 200),
        (events.as_str(), ASANA_SECRET, 200),
    ] {
        let signature = sign(key, body.as_bytes());
        assert_eq!(
            post(&routes, "/hooks/asana", &[("X-Hook-Signature", &signature)], body.to_owned()).await.status,
            expected
        );
    }
    assert_eq!(scene.stored(), ["asana ticket_updated open", "asana ticket_created open"]);
    assert!(scene.keeps("1337"), "a signal names the task that a connector reads");
    receiver.end().await;
}

#[tokio::test]
async fn graph_sends_a_token_first_and_its_state_with_each_notification() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    let path = "/hooks/graph?validationToken=Validation%3a+Testing+client%2Fapp+%3Cb%3E";
    let answer = post(&routes, path, &[], "").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "Validation: Testing client/app <b>"));
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    let lifecycle = json!({ "subscriptionId": "s", "subscriptionExpirationDateTime": "2999-03-20T11:00:00Z", "tenantId": "t",
        "clientState": GRAPH_SECRET, "lifecycleEvent": "reauthorizationRequired" });
    for (items, expected) in [
        (vec![graph_notice(GRAPH_SECRET)], 200),
        (vec![graph_notice(GRAPH_SECRET)], 200),
        (vec![graph_notice(GRAPH_SECRET), graph_notice("wrong")], 401),
        (vec![], 401),
        (vec![lifecycle], 200),
    ] {
        let body = json!({ "value": items }).to_string();
        assert_eq!(post(&routes, "/hooks/graph", &[], body).await.status, expected, "{items:?}");
    }
    assert_eq!(scene.stored(), ["outlook email_announced open", "outlook unknown open"]);
    assert!(scene.keeps("AAMk") && !scene.keeps(GRAPH_SECRET));
    let news =
        ServeEvent::Subscription { webhook: "graph".to_owned(), news: SubscriptionNews::ReauthorizationRequired };
    assert!(scene.events.lock().unwrap().contains(&news));
    receiver.end().await;
}

#[tokio::test]
async fn another_projects_tickets_are_set_aside() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let mut event = jira_event(1);
    event["issue"]["key"] = json!("OPS-1");
    event["issue"]["fields"]["project"]["key"] = json!("OPS");
    assert_eq!(post_jira(&receiver.delivery_routes(), JIRA_SECRET, &event).await, 200);
    assert_eq!(scene.stored(), ["jira ticket_updated set-aside"]);
    receiver.end().await;
}
