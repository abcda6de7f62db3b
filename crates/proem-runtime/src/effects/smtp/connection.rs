//! Connects to a mail server and encrypts the connection.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls_platform_verifier::Verifier;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig};

use super::line::SmtpStream;
use super::{SmtpSecurity, SmtpServer};

/// Connects to the first address of the server that takes a connection.
///
/// An error is what went wrong and what to do.
pub(super) async fn connect(server: &SmtpServer) -> Result<Box<dyn SmtpStream>, String> {
    let SmtpServer { host, port, limits, .. } = server;
    let connecting = async {
        let found = lookup_host((host.as_str(), *port)).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() {
            return Err(format!("`{host}` has no address; check its name and the network"));
        }
        let is_here = addresses.iter().all(|address| address.ip().is_loopback());
        if server.security == SmtpSecurity::LoopbackPlain && !is_here {
            return Err(format!("`{host}` is not on this machine, where alone a mail goes unencrypted; configure TLS"));
        }
        for address in addresses {
            if let Ok(stream) = TcpStream::connect(address).await {
                // Commands are short and wait for their replies.
                _ = stream.set_nodelay(true);
                return Ok(Box::new(stream) as Box<dyn SmtpStream>);
            }
        }
        Err(format!("`{host}` takes no connection on port {port}; check that it runs, its port and the network"))
    };
    let slow = || Err(format!("no connection to `{host}` within {} s; check the network", limits.connect.as_secs()));
    timeout(limits.connect, connecting).await.unwrap_or_else(|_| slow())
}

/// Encrypts a connection and sees to it that the server is who it should be.
pub(super) async fn encrypt(stream: Box<dyn SmtpStream>, server: &SmtpServer) -> Result<Box<dyn SmtpStream>, String> {
    let host = &server.host;
    let Ok(name) = ServerName::try_from(host.clone()) else {
        return Err(format!("`{host}` is not a name that a certificate could have; correct it"));
    };
    let unready =
        |_| "the system's certificates can't be read; install them (`ca-certificates` on most Linux)".to_owned();
    let config = config(server).map_err(unready)?;
    let handshake = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match timeout(server.limits.command, handshake).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => {
            let broken = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
            Err(encryption_problem(host, broken))
        }
        Err(_) => Err(format!("`{host}` did not agree on encryption in time; try again")),
    }
}

fn config(server: &SmtpServer) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(server.roots.certificates(), Arc::clone(&provider))?;
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    // Naming a verifier is called dangerous. This one is the system's.
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Why there is no encryption. The words are ours: what is in certificates was written by others.
fn encryption_problem(host: &str, error: Option<&rustls::Error>) -> String {
    use CertificateError as E;
    match error {
        Some(rustls::Error::InvalidCertificate(E::UnknownIssuer)) => format!(
            "the certificate of `{host}` is not signed by an authority that this system trusts; if it is your own, name \
             the authority's certificate in your configuration"
        ),
        Some(rustls::Error::InvalidCertificate(E::Expired | E::ExpiredContext { .. })) => {
            format!("the certificate of `{host}` has expired; have it renewed")
        }
        Some(rustls::Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. })) => {
            format!("the certificate of `{host}` is for other hosts; correct the server's name")
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            format!("the certificate of `{host}` is not valid; have it renewed")
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("`{host}` doesn't speak TLS on this port; try another port, or STARTTLS")
        }
        _ => format!("no encrypted connection to `{host}` could be made; check its port and what is in between"),
    }
}
