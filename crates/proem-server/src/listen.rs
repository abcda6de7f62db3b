//! Connections: taken, bounded, and ended in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use proem_app::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::event::{ServeEvent, ServeListener};
use crate::receiver::{Receiver, ReceiverOptions};

/// The most connections of each address. Further ones wait until one ends.
const MOST_CONNECTIONS: usize = 1_024;
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The most bytes of a head, and the most headers in it.
const MAX_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// How long connections under way are waited for at the end.
const FAREWELL: Duration = Duration::from_secs(20);
/// How long nothing is accepted after the system refused a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The addresses to listen at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeAddresses {
    /// The address that webhooks are sent to.
    pub deliveries: SocketAddr,
    /// For health, readiness and metrics.
    pub monitoring: SocketAddr,
}

/// Takes deliveries until `stop` is cancelled. Those under way are ended first.
///
/// # Errors
///
/// As [`Receiver::start`] has them, and if an address can't be listened at.
pub async fn serve_webhooks(
    addresses: ServeAddresses,
    options: ReceiverOptions,
    stop: &CancellationToken,
    tell: ServeListener,
) -> Result<(), Error> {
    let deliveries = bind_listener(addresses.deliveries).await?;
    let monitoring = bind_listener(addresses.monitoring).await?;
    let local = |listener: &TcpListener| listener.local_addr().map_err(|error| Error::outside(error.to_string()));
    let (at, monitoring_at) = (local(&deliveries)?, local(&monitoring)?);
    let receiver = Receiver::start(options, Arc::clone(&tell)).await?;
    tell(&ServeEvent::Began { deliveries: at, monitoring: monitoring_at });
    let over = CancellationToken::new();
    let monitor = tokio::spawn(accept_all(monitoring, receiver.monitoring_routes(), over.clone()));
    accept_all_until(deliveries, receiver.delivery_routes(), stop, || receiver.begin_end()).await;
    receiver.end().await;
    over.cancel();
    _ = monitor.await;
    tell(&ServeEvent::Ended);
    Ok(())
}

async fn bind_listener(address: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(address).await.map_err(|error| {
        Error::outside(format!("can't listen at {address}: {error}; end the process that does, or choose another port"))
    })
}

async fn accept_all(listener: TcpListener, routes: Router, stop: CancellationToken) {
    accept_all_until(listener, routes, &stop, || {}).await;
}

/// Accepts connections until `stop` is cancelled, then takes no more, says so, and waits for those under way.
async fn accept_all_until(listener: TcpListener, routes: Router, stop: &CancellationToken, say: impl FnOnce()) {
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let Some((stream, place)) = accepted else {
            // Such as too many open files: trying again at once would only turn in circles.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
        builder.max_buf_size(MAX_HEAD).max_headers(MOST_HEADERS);
        let connection = graceful.watch(builder.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A connection that broke has no one who could be told.
            _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    say();
    _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
}

/// A connection with its place among those that there may be.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(connections).acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    _ = stream.set_nodelay(true);
    Some((stream, place))
}
