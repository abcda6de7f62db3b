//! A mail server on loopback that does what a script tells it to, for tests and benches.
//!
//! It takes mails as a submission server does, and ends or answers otherwise at the place that its script names.
//! Invariants: its log is what it has really read, whatever its client believes. A mail is in it only with the dot that
//! ends it. Nothing but loopback is listened on. When the server is dropped, its threads have ended.
//!
//! Its certificates and their keys in `data/` were made for this and prove nothing to anybody.

mod session;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

/// The authority of the server's certificates, in PEM form.
pub const AUTHORITY: &str = include_str!("scripted_smtp/data/authority.pem");

/// A server's behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpScript {
    /// How it encrypts.
    pub encryption: SmtpEncryption,
    /// Its deviations.
    pub faults: Vec<SmtpDeviation>,
    /// The password that it wants; without one it wants none.
    pub password: Option<String>,
}

/// How a scripted server encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpEncryption {
    /// Not at all.
    None,
    /// From the first byte, with a certificate for `localhost`.
    Whole,
    /// From the first byte, with a certificate for another host.
    OtherHost,
    /// From STARTTLS on, with a certificate for `localhost`.
    StartTls,
}

/// A server's deviation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpDeviation {
    /// The place in the dialogue at which the server deviates.
    pub at: SmtpPlace,
    /// Its reaction there.
    pub reaction: SmtpReaction,
}

/// A place in a dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SmtpPlace {
    /// Before the greeting.
    Greeting,
    /// At EHLO.
    Hello,
    /// At STARTTLS.
    StartTls,
    /// At the handshake that encrypts.
    Handshake,
    /// At EHLO behind STARTTLS.
    SecondHello,
    /// At AUTH.
    Login,
    /// At MAIL.
    Sender,
    /// At the RCPT of that number, from 1.
    Recipient(usize),
    /// At DATA.
    Data,
    /// When this many lines of the mail were read.
    Body(usize),
    /// When the dot was read.
    Dot,
    /// When the last answer was written.
    Answered,
}

/// A server's reaction at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmtpReaction {
    /// Closes the connection.
    Drop,
    /// Says nothing until the client goes.
    Hang,
    /// Says this, with its ends of lines, instead of what it should.
    Say(String),
    /// Says what it should, so much later.
    Late(Duration),
}

impl SmtpScript {
    /// A server that takes everything.
    #[must_use]
    pub const fn new(encryption: SmtpEncryption) -> Self {
        Self { encryption, faults: Vec::new(), password: None }
    }

    /// The script with a fault more.
    #[must_use]
    pub fn with(mut self, at: SmtpPlace, reaction: SmtpReaction) -> Self {
        self.faults.push(SmtpDeviation { at, reaction });
        self
    }

    fn reaction(&self, at: SmtpPlace) -> Option<&SmtpReaction> {
        self.faults.iter().find(|fault| fault.at == at).map(|fault| &fault.reaction)
    }
}

/// The log of everything a server has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmtpLog {
    /// How many connections it took.
    pub connections: usize,
    /// The commands of all connections, in their order, without credentials.
    pub commands: Vec<String>,
    /// The mails that were read up to their dot, as they were before their dots were doubled.
    pub mails: Vec<Vec<u8>>,
    /// How many of these it said to have.
    pub accepted: usize,
}

/// A server that plays a script until it is dropped.
#[derive(Debug)]
pub struct ScriptedSmtp {
    address: SocketAddr,
    shared: Arc<SharedSmtp>,
    listening: Option<JoinHandle<()>>,
}

/// The state that the threads of a server share.
#[derive(Debug)]
struct SharedSmtp {
    script: SmtpScript,
    tls: Option<Arc<ServerConfig>>,
    log: Mutex<SmtpLog>,
    is_over: AtomicBool,
}

impl SharedSmtp {
    fn log(&self) -> MutexGuard<'_, SmtpLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptedSmtp {
    /// Starts it on a free port of `127.0.0.1`.
    ///
    /// # Errors
    ///
    /// If the system has no port or no thread to give.
    pub fn start(script: SmtpScript) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let tls = scripted_tls(script.encryption)?;
        let shared = Arc::new(SharedSmtp { script, tls, log: Mutex::default(), is_over: AtomicBool::new(false) });
        let serving = Arc::clone(&shared);
        let named = std::thread::Builder::new().name("scripted-smtp".to_owned());
        let listening = Some(named.spawn(move || serve_connections(&listener, &serving))?);
        Ok(Self { address, shared, listening })
    }

    /// The port that it listens at, which the system chose.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> SmtpLog {
        self.shared.log().clone()
    }

    /// Its whole log, when every connection has ended.
    #[must_use]
    pub fn finish(mut self) -> SmtpLog {
        self.stop();
        self.log()
    }

    fn stop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The listening thread waits for a connection. This one tells it to look up. If it can't be made, the thread is
        // left to itself rather than waited for without end.
        let woken = TcpStream::connect(self.address);
        if let (Some(listening), Ok(_)) = (self.listening.take(), woken) {
            // A thread that panicked has said so on standard error.
            _ = listening.join();
        }
    }
}

impl Drop for ScriptedSmtp {
    fn drop(&mut self) {
        if self.listening.is_some() {
            self.stop();
        }
    }
}

/// Writes the authority's certificate into a file that a client can be told of.
///
/// # Errors
///
/// The system's error.
pub fn write_authority(folder: &Path) -> Result<std::path::PathBuf, crate::Error> {
    let name = Path::new("authority.pem");
    crate::files::write_new(folder, name, AUTHORITY.as_bytes(), crate::files::FileAccess::Private)?;
    Ok(folder.join(name))
}

/// Serves one connection after the other, so that the log is in their order.
fn serve_connections(listener: &TcpListener, shared: &SharedSmtp) {
    while let Ok((stream, _)) = listener.accept() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        shared.log().connections += 1;
        // How a dialogue ended is in the log.
        _ = session::serve(stream, shared);
    }
}

fn scripted_tls(encryption: SmtpEncryption) -> io::Result<Option<Arc<ServerConfig>>> {
    let (certificate, key) = match encryption {
        SmtpEncryption::None => return Ok(None),
        SmtpEncryption::Whole | SmtpEncryption::StartTls => {
            (include_str!("scripted_smtp/data/localhost.pem"), include_str!("scripted_smtp/data/localhost.key.pem"))
        }
        SmtpEncryption::OtherHost => {
            (include_str!("scripted_smtp/data/other.pem"), include_str!("scripted_smtp/data/other.key.pem"))
        }
    };
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(io::Error::other)?;
    Ok(Some(Arc::new(config)))
}
