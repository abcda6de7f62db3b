//! The server on standard input and output, or on any two streams: one message on each line.

use proem_app::{Error, records};
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::McpServer;
use crate::lines::BoundedLines;

/// The longest message that is read, in bytes, on any transport.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Serves one client on standard input and output, until the input ends or somebody stops the process. `refused` hears
/// of messages that were too long. Nothing but the protocol is written to standard output.
///
/// # Errors
///
/// If the client doesn't begin as the protocol wants, or the system gives no resources.
pub fn serve_stdio(server: &McpServer, refused: fn(&str)) -> Result<(), Error> {
    run_until_stopped(server, async |stop| {
        let (read, write) = stdio_pipes();
        serve_streams(server.clone(), (read, write), refused, stop).await
    })
}

/// Serves one client on two streams, until the first ends or `stop` fires.
///
/// # Errors
///
/// If the client doesn't begin as the protocol wants.
pub async fn serve_streams<R, W>(
    server: McpServer,
    streams: (R, W),
    refused: fn(&str),
    stop: CancellationToken,
) -> Result<(), Error>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let lines = BoundedLines::new(streams.0, MAX_MESSAGE_BYTES, refused);
    let transport = AsyncRwTransport::new_server(lines, streams.1).with_max_line_length(MAX_MESSAGE_BYTES);
    match server.serve_with_ct(transport, stop).await {
        Ok(running) => {
            running.waiting().await.map_err(|error| Error::bug("the session broke off", error))?;
            Ok(())
        }
        // A client may go before it says anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        // The error holds the client's message, which may be anything.
        Err(_) => Err(Error::outside("the client did not begin with a request, or it went while it was answered")),
    }
}

/// Does asynchronous work until it ends. Its token fires when somebody stops the process.
pub(crate) fn run_until_stopped(
    server: &McpServer,
    work: impl AsyncFnOnce(CancellationToken) -> Result<(), Error>,
) -> Result<(), Error> {
    let runtime = records::runtime()?;
    let done = runtime.block_on(async {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let signals = tokio::spawn(async move {
            wait_for_signal().await;
            stopped.cancel();
        });
        let done = work(stop).await;
        signals.abort();
        server.end_recorded_calls().await;
        done
    });
    // Work whose client went need not end first, unless it is recorded.
    runtime.shutdown_background();
    done
}

/// Waits until somebody stops the process. A process that hears no signals waits for ever.
async fn wait_for_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
