//! A server of embeddings as an [`Embedder`].
//!
//! Invariants: one entry for each text, in the texts' order. A text of white space is never sent and has no vector. No
//! request holds more than [`MAX_TEXTS`] texts or [`MAX_REQUEST_BYTES`] of them. Asking ends within
//! [`EmbedderLimits::all`], attempts and waits included, and what went wrong is an error that says what to do. A server
//! that failed is left alone for [`HELD`], so that many questions in a row don't each wait for it.
//!
//! An embedder is asked synchronously, the network is asynchronous: a thread of its own waits for it. So neither asking
//! nor dropping panics wherever it happens. Within an asynchronous runtime it holds up the thread that asks, as every
//! embedder does.

mod client;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proem_engine::call::{CallFailure, FailureKind};
use proem_engine::providers::Provider;
use proem_engine::{Error, ErrorKind};
use proem_llm::endpoint::Endpoint;
use proem_select::catalogue::Sha256Hash;
use proem_select::embedding::{Embedder, ModelId, Vector};

use self::client::EmbeddingClient;

/// The most texts of one request.
pub const MAX_TEXTS: usize = 96;
/// The most bytes of text in one request, unless a single text is longer.
pub const MAX_REQUEST_BYTES: usize = 256 * 1000;
/// How long a server that failed is left alone.
pub const HELD: Duration = Duration::from_secs(30);

/// The most bytes of an address's host and of a model's name that are in a model's id; what is longer is told apart by
/// the hash.
const HOST_BYTES: usize = 56;
const NAME_BYTES: usize = 48;

/// The expectations of a server of embeddings, beside the limits of its endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedderLimits {
    /// How long asking may take in all.
    pub all: Duration,
    /// The most texts of one request. Above [`MAX_TEXTS`] it counts as that.
    pub texts: NonZeroUsize,
    /// The most bytes of one text. The rest of a longer one is not sent.
    pub text_bytes: NonZeroUsize,
}

impl Default for EmbedderLimits {
    /// Twenty seconds, 96 texts of 8,000 bytes: no text of so many bytes has more than the 8,192
    /// tokens that a public service takes
    /// (<https://developers.openai.com/api/reference/resources/embeddings>), whatever its language.
    fn default() -> Self {
        Self {
            all: Duration::from_secs(20),
            texts: NonZeroUsize::MIN.saturating_add(MAX_TEXTS.saturating_sub(1)),
            text_bytes: NonZeroUsize::MIN.saturating_add(7_999),
        }
    }
}

/// A model at a server that speaks OpenAI's protocol of embeddings.
#[derive(Debug)]
pub struct RemoteEmbedder {
    id: ModelId,
    /// The operation and its place, as errors begin.
    named: String,
    text_bytes: usize,
    jobs: Sender<EmbeddingJob>,
    sent: Arc<AtomicUsize>,
    held: Mutex<Option<HeldFailure>>,
}

/// Texts to embed, and who waits for them.
#[derive(Debug)]
struct EmbeddingJob {
    texts: Vec<String>,
    answer: Sender<Result<Vec<Vec<f32>>, CallFailure>>,
}

/// A failure that is given again instead of asking.
#[derive(Debug)]
struct HeldFailure {
    until: Instant,
    error: Error,
}

impl RemoteEmbedder {
    /// The model of that name at `endpoint`, with vectors of `dimensions` numbers, or of as many as
    /// the server gives. Nothing is sent before a text is embedded.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Embedding`] if the endpoint can't be one of embeddings: it speaks another
    /// protocol, or its address is none. A missing key is an error of embedding.
    pub fn new(
        endpoint: Endpoint,
        model: &str,
        dimensions: Option<u32>,
        limits: EmbedderLimits,
    ) -> Result<Self, Error> {
        let named = format!("embedding with `{}` at provider `{}`", printable(model), printable(&endpoint.name));
        let wrong = |why: &str| Error::new(ErrorKind::Embedding, format!("{named}: {why}"));
        if endpoint.provider != Provider::OpenAi {
            return Err(wrong("its protocol has no embeddings; choose a provider of protocol `openai`"));
        }
        if let Err(failure) = endpoint.check()
            && !matches!(failure.kind, FailureKind::NoKey)
        {
            return Err(wrong(&failure.message));
        }
        let id = remote_model_id(&endpoint, model, dimensions)?;
        let sent = Arc::new(AtomicUsize::new(0));
        let asking = EmbeddingClient::new(endpoint, model, dimensions, limits, Arc::clone(&sent));
        let (jobs, waiting) = mpsc::channel();
        let thread = std::thread::Builder::new().name("embeddings".to_owned());
        // It ends when the embedder is dropped, and what it holds belongs to nobody else.
        let spawned = thread.spawn(move || work(&asking, &waiting));
        spawned.map_err(|error| wrong(&format!("could not start a thread ({error}); close other programs")))?;
        Ok(Self { id, named, text_bytes: limits.text_bytes.get(), jobs, sent, held: Mutex::new(None) })
    }

    /// How many requests were sent, repeated ones included.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    fn ask(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Error> {
        if let Some(held) = self.held().as_ref().filter(|held| held.until > Instant::now()) {
            return Err(held.error.clone());
        }
        let (answer, answered) = mpsc::channel();
        // Sending and hearing fail only if the thread has ended, which it does with this embedder.
        let asked = self.jobs.send(EmbeddingJob { texts, answer }).ok().and_then(|()| answered.recv().ok());
        let ended =
            || CallFailure::new(FailureKind::Cancelled, "the thread that sends requests has ended; start again");
        match asked.unwrap_or_else(|| Err(ended())) {
            Ok(vectors) => Ok(vectors),
            Err(failure) => {
                let error = Error::new(embedding_error_kind(&failure), format!("{}: {}", self.named, failure.message));
                if is_about_the_server(failure.kind) {
                    let until = Instant::now().checked_add(HELD);
                    *self.held() = until.map(|until| HeldFailure { until, error: error.clone() });
                }
                Err(error)
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<HeldFailure>> {
        // Nothing panics while the lock is held.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for RemoteEmbedder {
    fn model(&self) -> &ModelId {
        &self.id
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        let is_sent = |text: &&&str| !text.trim().is_empty();
        let cut = |text: &&str| text.get(..text.floor_char_boundary(self.text_bytes)).unwrap_or_default().to_owned();
        let sent: Vec<String> = texts.iter().filter(is_sent).map(cut).collect();
        if sent.is_empty() {
            return Ok(vec![None; texts.len()]);
        }
        // As many vectors as texts came, or it is a failure.
        let mut vectors = self.ask(sent)?.into_iter();
        let vector = |text: &&str| {
            let values = if is_sent(&text) { vectors.next() } else { None };
            values.map(|values| Vector::new(&self.id, values)).transpose()
        };
        texts.iter().map(vector).collect()
    }
}

/// Asks for one job after the other, until nobody can have another.
fn work(asking: &EmbeddingClient, jobs: &Receiver<EmbeddingJob>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    for job in jobs {
        let result = match &runtime {
            Ok(runtime) => runtime.block_on(asking.ask(&job.texts)),
            Err(error) => {
                let message = format!("could not start the runtime for network calls: {error}");
                Err(CallFailure::new(FailureKind::Unreachable, message))
            }
        };
        // The caller waits for as long as it exists.
        _ = job.answer.send(result);
    }
}

/// Whether an answer came that is of no use, or none at all.
const fn embedding_error_kind(failure: &CallFailure) -> ErrorKind {
    match failure.kind {
        FailureKind::Malformed => ErrorKind::InvalidVector,
        _ => ErrorKind::Embedding,
    }
}

/// Whether other texts would fail too.
const fn is_about_the_server(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::Malformed | FailureKind::TooLong | FailureKind::TooLarge | FailureKind::Refused)
}

/// `HOST/MODEL@DIMENSIONS#HASH`: the hash is of the whole address, the whole name and the number, so
/// that no two models share an id however long their names are.
fn remote_model_id(endpoint: &Endpoint, model: &str, dimensions: Option<u32>) -> Result<ModelId, Error> {
    let address = endpoint.url("");
    let host = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let at = dimensions.map(|dimensions| format!("@{dimensions}")).unwrap_or_default();
    let hash = Sha256Hash::of(format!("{address}\n{model}\n{at}").as_bytes()).short(8);
    let (host, name) = (printable(host), printable(model));
    let (host, name) = (host.get(..HOST_BYTES).unwrap_or(&host), name.get(..NAME_BYTES).unwrap_or(&name));
    ModelId::new(&format!("{host}/{name}{at}#{hash}"))
}

/// A name in printable ASCII without spaces and backticks.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() && c != '`' { c } else { '_' }).collect()
}
