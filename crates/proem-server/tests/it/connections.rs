//! Connections: a delivery under way at the end is stored, and an address that is taken is named.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proem_server::{ServeAddresses, ServeEvent, ServeListener, serve_webhooks};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::scene::{JIRA_SECRET, Scene, jira_event, sign};

const ANY: ServeAddresses = ServeAddresses {
    deliveries: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0),
    monitoring: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0),
};

#[tokio::test]
async fn a_delivery_under_way_at_the_end_is_stored() {
    let scene = Scene::new("");
    let (options, stop) = (scene.options(&[]), CancellationToken::new());
    let (sender, mut events) = mpsc::unbounded_channel();
    let tell: ServeListener = Arc::new(move |event: &ServeEvent| _ = sender.send(event.clone()));
    let stopped = stop.clone();
    // An address of its own, so that no other test listens there once this server has ended. Only Linux has it.
    let own = if cfg!(target_os = "linux") { [127, 0, 0, 7] } else { [127, 0, 0, 1] };
    let addresses = ServeAddresses { deliveries: SocketAddr::from((own, 0)), ..ANY };
    let served = tokio::spawn(async move { serve_webhooks(addresses, options, &stopped, tell).await });
    let Some(ServeEvent::NoSecret { .. }) = events.recv().await else { panic!("Asana has no secret yet") };
    let Some(ServeEvent::Began { deliveries, .. }) = events.recv().await else { panic!("it did not begin") };
    let body = jira_event(1).to_string();
    let head = format!(
        "POST /hooks/jira HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nX-Hub-Signature: sha256={}\r\n\r\n",
        body.len(),
        sign(JIRA_SECRET, body.as_bytes())
    );
    let mut stream = TcpStream::connect(deliveries).await.unwrap();
    let (early, late) = body.split_at(10);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(early.as_bytes()).await.unwrap();
    // The first bytes are in once the head of another request, made later, was answered.
    let mut other = TcpStream::connect(deliveries).await.unwrap();
    other.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 404"));
    stop.cancel();
    let Some(ServeEvent::Ending) = events.recv().await else { panic!("it did not say that it ends") };
    // A process that another test starts has every open file until it runs its program, the listener among them.
    let refused = async { while TcpStream::connect(deliveries).await.is_ok() {} };
    tokio::time::timeout(Duration::from_mins(2), refused).await.unwrap();
    stream.write_all(late.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    served.await.unwrap().unwrap();
    assert_eq!(scene.stored(), ["jira ticket_updated open"]);
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let scene = Scene::new("");
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addresses = ServeAddresses { deliveries: taken.local_addr().unwrap(), ..ANY };
    let problem =
        serve_webhooks(addresses, scene.options(&[]), &CancellationToken::new(), scene.listener()).await.unwrap_err();
    let expected = format!("can't listen at {}: ", addresses.deliveries);
    assert!(problem.to_string().starts_with(&expected), "{problem}");
    assert!(problem.to_string().ends_with("; end the process that does, or choose another port"), "{problem}");
}
