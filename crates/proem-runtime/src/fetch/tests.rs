//! Secrets in the clear, and addresses that nobody may ask.

use proem_llm::secret::Secret;

use super::token::{TokenGrant, TokenRequest, fetch_access_token};
use super::*;

#[tokio::test]
async fn a_login_in_the_clear_is_refused_before_anything_is_sent() {
    let secret = Secret::new("mail", "refresh-token-of-mine");
    for (url, expected) in [
        ("http://login.example/token", "login.example"),
        ("http://10.0.0.1/token", "10.0.0.1"),
        ("ftp://login.example/token", "`ftp:` is not asked"),
    ] {
        let grant = TokenGrant::Refresh(&secret);
        let request = TokenRequest { url, scope: HostScope::Private, client: "c", permissions: "p", grant };
        let refused =
            fetch_access_token(request, &FetchLimits::default(), &CancellationToken::new()).await.unwrap_err();
        assert!(refused.to_string().contains(expected) && !refused.to_string().contains("mine"), "{refused}");
    }
}

#[tokio::test]
async fn a_stopped_reading_asks_nobody() {
    let stop = CancellationToken::new();
    stop.cancel();
    let request = FetchRequest {
        url: "https://s.example/",
        scope: HostScope::Public,
        headers: &[],
        credential: None,
        form: None,
    };
    let stopped = fetch_json(&request, &FetchLimits::default(), &stop).await.unwrap_err();
    assert_eq!(stopped.to_string(), "the reading was stopped");
}
