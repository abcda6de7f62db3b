//! How a prompt is run, in the words of whoever asks for it.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use proem_agents::prompt_call::InputAuthor;
use proem_engine::call::NanoDollars;
use proem_engine::contract::CallChoice;
use proem_engine::run::{EffectId, ExchangeLimits};

use crate::records::learning::Adapting;
use crate::records::writing::RecordChoice;

/// How often a model is asked at most until its answer meets the contract, where nothing else is said.
const ATTEMPTS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// The longest that one run may take where nothing else is said, in seconds.
const SECONDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(299);

/// How a prompt is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// `agent/name`, `agent/name@version`, or the path of a prompt file.
    pub prompt: String,
    /// The model or role that is asked, instead of the prompt's own.
    pub model: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The most requests at once, instead of the endpoint's.
    pub concurrency: Option<NonZeroUsize>,
    /// The author of the inputs.
    pub given: InputAuthor,
    /// The required form of the answer, in one line, instead of the prompt's.
    pub schema: Option<String>,
    /// Whether the answer calls a tool, instead of what the prompt says.
    pub tool_choice: Option<CallChoice>,
    /// The most input tokens.
    pub input_tokens: Option<usize>,
    /// The most tokens of each answer, instead of what the prompt and the model's window give.
    pub output_tokens: Option<usize>,
    /// How often is asked, and with how many tokens at most.
    pub limits: ExchangeLimits,
    /// The most that one run may cost.
    pub most: Option<NanoDollars>,
    /// The longest that one run may take, in seconds.
    pub seconds: NonZeroU32,
    /// The carrier of requests.
    pub carriage: Carriage,
    /// The influences on the prompt beside its inputs.
    pub adapting: Adapting,
    /// Whether runs are recorded. With [`Carriage::Cassettes`] and [`Carriage::Nobody`] none is.
    pub record: RecordChoice,
}

impl RunOptions {
    /// A prompt, as it is run where nothing else is said: two attempts, and five minutes.
    #[must_use]
    pub fn of(prompt: String) -> Self {
        Self {
            prompt,
            model: None,
            provider: None,
            concurrency: None,
            given: InputAuthor::ByCaller,
            schema: None,
            tool_choice: None,
            input_tokens: None,
            output_tokens: None,
            limits: ExchangeLimits { attempts: ATTEMPTS, tokens: None },
            most: None,
            seconds: SECONDS,
            carriage: Carriage::Network,
            adapting: Adapting::default(),
            record: RecordChoice::AsConfigured,
        }
    }
}

/// The carrier of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carriage {
    /// Requests go to the provider over the network.
    Network,
    /// The network, and what goes over it is kept in this folder, without keys.
    Recorder(PathBuf),
    /// Nobody: answers come from such a folder.
    Cassettes(PathBuf),
    /// Nobody: requests are made and looked at.
    Nobody,
}

impl Carriage {
    /// The carrier for these folders: answers from `replay`, or wire traffic kept in `record`.
    #[must_use]
    pub fn taped(record: Option<PathBuf>, replay: Option<PathBuf>) -> Self {
        match (record, replay) {
            (_, Some(folder)) => Self::Cassettes(folder),
            (Some(folder), None) => Self::Recorder(folder),
            (None, None) => Self::Network,
        }
    }

    /// The carrier for the run that a call of a tool starts. Its record has a folder of its own.
    #[must_use]
    pub(crate) fn within_call(&self, call: EffectId) -> Self {
        self.within_part(&format!("call-{:04}", call.0))
    }

    /// The carrier for a part of a command's runs that counts them itself. Its record has a folder of that name.
    #[must_use]
    pub fn within_part(&self, part: &str) -> Self {
        let below = |folder: &Path| folder.join(part);
        match self {
            Self::Recorder(folder) => Self::Recorder(below(folder)),
            Self::Cassettes(folder) => Self::Cassettes(below(folder)),
            Self::Network => Self::Network,
            Self::Nobody => Self::Nobody,
        }
    }
}
