//! Health, readiness and metrics.

use std::fs;

use axum::body::Body;
use axum::http::Request;

use crate::scene::{JIRA_SECRET, Scene, jira_event, post, post_jira, request};

#[tokio::test]
async fn metrics_count_by_names_of_the_user_and_words_of_ours() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let (routes, monitoring) = (receiver.delivery_routes(), receiver.monitoring_routes());
    assert_eq!(post_jira(&routes, JIRA_SECRET, &jira_event(1)).await, 200);
    assert_eq!(post_jira(&routes, "another secret than the one", &jira_event(2)).await, 401);
    assert_eq!(post(&routes, "/hooks/EVIL", &[], "").await.status, 404);
    let text = request(&monitoring, Request::get("/metrics").body(Body::empty()).unwrap()).await.body;
    for line in [
        "proem_deliveries_total{webhook=\"jira\",source=\"jira\",outcome=\"stored\"} 1",
        "proem_deliveries_total{webhook=\"jira\",source=\"jira\",outcome=\"unauthorised\"} 1",
        "proem_deliveries_total{webhook=\"graph\",source=\"graph\",outcome=\"stored\"} 0",
        "proem_delivery_seconds_count{webhook=\"jira\",source=\"jira\"} 1",
        "proem_deliveries_waiting{webhook=\"jira\",source=\"jira\"} 0",
        "proem_unknown_deliveries_total 1",
        "proem_body_bytes 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("EVIL"));
    receiver.end().await;
}

#[tokio::test]
async fn readiness_is_whether_records_can_be_written() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let monitoring = receiver.monitoring_routes();
    let get = async |path: &str| request(&monitoring, Request::get(path).body(Body::empty()).unwrap()).await;
    fs::remove_file(scene.project.join(proem_app::triage::charter::CHARTER)).unwrap();
    let answer = get("/readyz").await;
    assert_eq!((answer.status, answer.body.as_str()), (503, "the records can't be written\n"));
    assert_eq!(get("/healthz").await.status, 200);
    receiver.end().await;
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let monitoring = receiver.monitoring_routes();
    let answer = request(&monitoring, Request::get("/readyz").body(Body::empty()).unwrap()).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "ready\n"));
    receiver.end().await;
}
