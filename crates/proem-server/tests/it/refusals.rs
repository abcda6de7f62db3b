//! Refused deliveries, of which nothing is kept.

use std::fs;

use axum::body::Body;
use axum::http::Request;
use futures_util::stream;
use proem_app::webhooks::load_webhooks;
use proem_server::{ServeEvent, WebhookOutcome};
use serde_json::json;

use crate::scene::{
    ASANA_SECRET, GRAPH_SECRET, JIRA_SECRET, Scene, graph_notice, jira_event, post, post_jira, request, sign,
};

#[tokio::test]
async fn what_is_not_there_is_not_told_apart() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    for (method, path) in [
        ("POST", "/"),
        ("POST", "/hooks/"),
        ("POST", "/hooks/other"),
        ("POST", "/hooks/jira/"),
        ("POST", "/hooks/JIRA"),
        ("POST", "/hooks/%6Aira"),
        ("GET", "/hooks/jira"),
        ("PUT", "/hooks/asana"),
        ("GET", "/metrics"),
    ] {
        let asked = Request::builder().method(method).uri(path).body(Body::from("{}")).unwrap();
        let answer = request(&routes, asked).await;
        assert_eq!((answer.status, answer.body.as_str()), (404, ""), "{method} {path}");
    }
    receiver.end().await;
}

#[tokio::test]
async fn nothing_is_kept_or_told_of_an_unknown_sender() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    let mut event = jira_event(1);
    event["issue"]["fields"]["summary"] = json!("A-TEXT-OF-NOBODY");
    let body = event.to_string();
    let right = sign(JIRA_SECRET, body.as_bytes());
    let wrong = sign("another secret than the one", body.as_bytes());
    let [right, wrong, upper, sha1] =
        [format!("sha256={right}"), format!("sha256={wrong}"), format!("SHA256={right}"), format!("sha1={right}")];
    for headers in [
        vec![],
        vec![("X-Hub-Signature", wrong.as_str())],
        vec![("X-Hub-Signature", "sha256=")],
        vec![("X-Hub-Signature", upper.as_str())],
        vec![("X-Hub-Signature", sha1.as_str())],
        vec![("X-Hub-Signature", right.as_str()), ("X-Hub-Signature", right.as_str())],
        vec![("X-Hook-Signature", right.as_str())],
    ] {
        let answer = post(&routes, "/hooks/jira", &headers, body.clone()).await;
        assert_eq!((answer.status, answer.body.as_str()), (401, ""), "{headers:?}");
    }
    // The bytes are signed, not the value.
    let spaced = format!(" {body}");
    assert_eq!(post(&routes, "/hooks/jira", &[("X-Hub-Signature", &right)], spaced).await.status, 401);
    let notice = json!({ "value": [graph_notice("A-TEXT-OF-NOBODY")] }).to_string();
    assert_eq!(post(&routes, "/hooks/graph", &[], notice).await.status, 401);
    // Before its handshake a webhook of Asana has no secret, and an empty one is none.
    for key in ["", ASANA_SECRET] {
        let signature = sign(key, b"{\"events\":[]}");
        let headers = [("X-Hook-Signature", signature.as_str())];
        assert_eq!(post(&routes, "/hooks/asana", &headers, "{\"events\":[]}").await.status, 401);
    }
    assert!(scene.stored().is_empty() && !scene.keeps("A-TEXT-OF-NOBODY"));
    let events = scene.events.lock().unwrap().clone();
    assert!(!format!("{events:?}").contains("A-TEXT-OF-NOBODY"));
    // One event for each webhook, however many deliveries.
    let refused = events.iter().filter(|event| matches!(event, ServeEvent::Refused { .. })).count();
    assert_eq!(refused, 3, "{events:?}");
    receiver.end().await;
}

#[tokio::test]
async fn forms_sizes_and_ages_are_bounded() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    let deep = format!("{{\"webhookEvent\":\"x\",\"issue\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let large = format!("{{\"webhookEvent\":\"{}\"}}", "x".repeat(1 << 20));
    let mut old = jira_event(1);
    old["timestamp"] = json!(1_795_500_000_000_u64 - 7 * 86_400_000);
    let mail = json!({ "subscriptionId": "s", "resource": "Users/u/Messages/m" });
    for (body, expected) in [
        (b"\xff{}".to_vec(), 400),
        (b"[]".to_vec(), 400),
        (b"{\"timestamp\":1,\"timestamp\":2}".to_vec(), 400),
        (deep.into_bytes(), 400),
        (mail.to_string().into_bytes(), 400),
        (old.to_string().into_bytes(), 400),
        (large.into_bytes(), 413),
    ] {
        let signature = format!("sha256={}", sign(JIRA_SECRET, &body));
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let answer = post(&routes, "/hooks/jira", &[("X-Hub-Signature", &signature)], body).await;
        assert_eq!(answer.status, expected, "{shown}");
    }
    // Without a length, a body is read until it is too large.
    let pieces = stream::iter((0..32).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 16])));
    let answer = post(&routes, "/hooks/jira", &[("X-Hub-Signature", "sha256=00")], Body::from_stream(pieces)).await;
    assert_eq!(answer.status, 413);
    // One that ends early is none.
    let pieces = stream::iter([Ok(vec![b'{']), Err(std::io::Error::other("cut"))]);
    let answer = post(&routes, "/hooks/jira", &[("X-Hub-Signature", "sha256=00")], Body::from_stream(pieces)).await;
    assert_eq!(answer.status, 400);
    for token in ["", "a%0Ab", &"x".repeat(3_000)] {
        let answer = post(&routes, &format!("/hooks/graph?validationToken={token}"), &[], "").await;
        assert_eq!((answer.status, answer.body.as_str()), (400, ""), "{token}");
    }
    assert!(scene.stored().is_empty(), "{:?}", scene.stored());
    receiver.end().await;
}

#[tokio::test]
async fn a_webhook_that_delivers_too_often_is_asked_to_wait() {
    let scene = Scene::new("per_second = 1");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    // Unknown senders use nothing up.
    for _ in 0..30 {
        assert_eq!(post_jira(&routes, "another secret than the one", &jira_event(1)).await, 401);
    }
    let mut taken = 0_usize;
    let limited = loop {
        let body = jira_event(u32::try_from(taken).unwrap()).to_string();
        let signature = format!("sha256={}", sign(JIRA_SECRET, body.as_bytes()));
        let answer = post(&routes, "/hooks/jira", &[("X-Hub-Signature", &signature)], body).await;
        if answer.status != 200 {
            break answer;
        }
        taken += 1;
    };
    assert_eq!((limited.status, limited.headers["retry-after"].to_str().unwrap()), (429, "2"));
    assert!(taken >= 10, "{taken}");
    assert_eq!(scene.stored().len(), taken);
    // Another webhook has a limit of its own.
    let notice = json!({ "value": [graph_notice(GRAPH_SECRET)] }).to_string();
    assert_eq!(post(&routes, "/hooks/graph", &[], notice).await.status, 200);
    receiver.end().await;
}

#[tokio::test]
async fn records_that_cannot_be_written_are_no_acknowledgement() {
    let scene = Scene::new("");
    let receiver = scene.receiver(&[]).await;
    let routes = receiver.delivery_routes();
    // Nobody trusts the project's file any more.
    fs::write(scene.project.join(proem_app::triage::charter::CHARTER), "id = 1\n").unwrap();
    let body = jira_event(1).to_string();
    let signature = format!("sha256={}", sign(JIRA_SECRET, body.as_bytes()));
    let answer = post(&routes, "/hooks/jira", &[("X-Hub-Signature", &signature)], body).await;
    assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (503, "30"));
    assert!(scene.stored().is_empty());
    // The problem is told after the answer.
    receiver.end().await;
    let events = scene.events.lock().unwrap().clone();
    let has =
        |outcome| events.iter().any(|event| matches!(event, ServeEvent::Refused { outcome: o, .. } if *o == outcome));
    assert!(has(WebhookOutcome::Unstored), "{events:?}");
    assert!(events.iter().any(|event| matches!(event, ServeEvent::Problem { .. })), "{events:?}");
}

#[tokio::test]
async fn a_wrong_configuration_names_its_place() {
    let scene = Scene::new("");
    let place = scene.project.display();
    let table = |name: &str, rest: &str| format!("[webhooks.{name}]\nproject = \"{place}\"\n{rest}\n");
    let short = scene.places.config.join("short");
    fs::write(&short, "0123456789\n").unwrap();
    fs::set_permissions(&short, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for (text, expected) in [
        (String::new(), "no webhook is configured; add a table `[webhooks.NAME]` to `"),
        (table("a", "source = \"jira\""), "`webhooks.a`: it has no `secret`; write `secret = "),
        (table("a", "source = \"asana\"\nsecret = { file = \"x\" }"), "`webhooks.a`: Asana chooses the secret; leave"),
        (table("'a/b'", "source = \"asana\""), "`webhooks.a/b`: its name is the end of an address; use up to 64"),
        (
            table("a", "source = \"jira\"\nsecret = { file = \"none\" }"),
            "no credential `webhooks.a.secret`: there is no file",
        ),
        (
            table("a", "source = \"graph\"\nsecret = { file = \"short\" }"),
            "`webhooks.a.secret` has fewer than 16 characters, so it can be guessed; choose a longer one",
        ),
        (
            table(
                "a",
                "source = \"jira\"\nsecret = { variable = \"X\" }\n[effects.credentials]\nb = { variable = \"X\" }",
            ),
            "`webhooks.a`: its secret is a credential of `effects`, with which actions leave; choose another one",
        ),
        (
            "[webhooks.a]\nsource = \"asana\"\nproject = \"tea\"\n".to_owned(),
            "`webhooks.a`: `project` is not an absolute path; give the whole path of the project's folder",
        ),
    ] {
        scene.configure(&text);
        let problem = load_webhooks(&scene.places).unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{problem}");
    }
    scene.configure(&table("a", "source = \"asana\""));
    let problem = scene.try_receiver(&["b"]).await.unwrap_err().to_string();
    assert_eq!(problem, "`b` is no webhook of Asana; only those have a handshake");
    fs::remove_file(scene.project.join(proem_app::triage::charter::CHARTER)).unwrap();
    let problem = scene.try_receiver(&[]).await.unwrap_err().to_string();
    assert_eq!(problem, "there is no .proem/triage/project.toml here");
}
