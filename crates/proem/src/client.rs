//! A model asked for a checked value.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use proem_app::Note;
use proem_app::config::ProviderFile;
use proem_app::places::{Channel, Places};
use proem_app::project::{BookReading, OpenProject};
use proem_app::records::writing::RecordChoice;
use proem_app::run::course::{FinishedRun, RunCourse};
use proem_app::run::options::{Carriage, RunOptions};
use proem_app::run::setting::{OpenRun, RunSetting};
use proem_engine::call::{NanoDollars, Usage};
use proem_engine::contract::{AnswerContract, Contract};
use proem_engine::run::{ExchangeEnd, ExchangeLimits};
use proem_guard::{Untrusted, show};
use proem_llm::caller::listener::TextListener;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::prompt::in_declared_order;
use crate::{Error, ErrorKind, Prompt};

/// Asks models. It finds them as the program `proem` does: by the user's configuration and the keys in the environment.
///
/// ```no_run
/// use proem::{Client, Prompt};
///
/// #[derive(serde::Deserialize, proem::schemars::JsonSchema)]
/// #[schemars(crate = "proem::schemars")]
/// struct Product { name: String, faulty: bool }
///
/// # async fn ask(prompt: Prompt) -> Result<(), proem::Error> {
/// let answer = Client::from_env()?.ask::<Product>(&prompt, &serde_json::json!({ "complaint": "The kettle leaks." })).await?;
/// assert!(answer.value.faulty);
/// # Ok(())
/// # }
/// ```
pub struct Client {
    places: Places,
    folder: PathBuf,
    server: Option<String>,
    model: Option<String>,
    budget: Budget,
    records: Records,
    tape: Carriage,
}

/// The most that one question may take. Every limit is one on all its attempts together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Budget {
    attempts: NonZeroU32,
    tokens: Option<u64>,
    cost: Option<NanoDollars>,
    seconds: NonZeroU32,
}

impl Default for Budget {
    /// Two attempts and five minutes.
    fn default() -> Self {
        let usual = RunOptions::of(String::new());
        Self { attempts: usual.limits.attempts, tokens: None, cost: None, seconds: usual.seconds }
    }
}

impl Budget {
    /// Asks at most so often until the answer meets the contract, the first time included.
    pub const fn attempts(mut self, attempts: NonZeroU32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Uses at most so many tokens, prompts and answers together.
    pub const fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Costs at most so much. Money is booked before it is spent, so this needs [`Records::Kept`].
    pub const fn cost(mut self, most: NanoDollars) -> Self {
        self.cost = Some(most);
        self
    }

    /// Takes at most so many seconds.
    pub const fn seconds(mut self, seconds: NonZeroU32) -> Self {
        self.seconds = seconds;
        self
    }
}

/// The recording of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Records {
    /// Nothing.
    #[default]
    Off,
    /// Every run, where the user's configuration says: `proem runs` lists, shows and replays them.
    Kept,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The value. It meets the contract.
    pub value: T,
    /// Whether it is the prompt's own fallback, because the model gave none.
    pub fell_back: bool,
    /// How often the model was asked.
    pub attempts: usize,
    /// The usage of all attempts. `None` if the server did not report it.
    pub usage: Option<Usage>,
    /// Their cost. `None` if it is unknown, which is not zero.
    pub cost: Option<NanoDollars>,
    /// The run's id in the records, if they are kept.
    pub run: Option<String>,
    /// Notes for a person: the guard's effect on inputs, and failures to record.
    pub notes: Vec<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, model, budget, records, .. } = self;
        let mut shown = f.debug_struct("Client");
        shown.field("server", server).field("model", model).field("budget", budget).field("records", records);
        shown.finish_non_exhaustive()
    }
}

impl Client {
    /// A client with the user's configuration and the keys in the environment, such as `ANTHROPIC_API_KEY`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if there is no home folder, [`ErrorKind::Outside`] if there is no current one.
    pub fn from_env() -> Result<Self, Error> {
        let folder = std::env::current_dir().map_err(|error| Error::of(ErrorKind::Outside, error))?;
        Ok(Self {
            places: Places::find(Channel::Pipe)?,
            folder,
            server: None,
            model: None,
            budget: Budget::default(),
            records: Records::Off,
            tape: Carriage::Network,
        })
    }

    /// A client of one server that speaks OpenAI's protocol, such as `http://127.0.0.1:8080/v1`, and of one of its
    /// models.
    ///
    /// # Errors
    ///
    /// Those of [`Client::from_env`]. An address that is none is reported when a model is asked.
    pub fn of_server(base_url: impl Into<String>, model: impl Into<String>) -> Result<Self, Error> {
        Ok(Self { server: Some(base_url.into()), model: Some(model.into()), ..Self::from_env()? })
    }

    /// Asks this model, or the model of this role, instead of the one that the prompt or the configuration names.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Holds each question to a budget.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Keeps records, or none.
    #[must_use]
    pub const fn records(mut self, records: Records) -> Self {
        self.records = records;
        self
    }

    /// Keeps what goes over the wire in this folder, without keys.
    #[must_use]
    pub fn record_to(mut self, folder: impl Into<PathBuf>) -> Self {
        self.tape = Carriage::Recorder(folder.into());
        self
    }

    /// Sends nothing: answers come from a folder that [`Client::record_to`] filled.
    #[must_use]
    pub fn replay_from(mut self, folder: impl Into<PathBuf>) -> Self {
        self.tape = Carriage::Cassettes(folder.into());
        self
    }

    /// Asks with a prompt and its inputs, and gives the answer as a `T` whose schema the model is held to.
    ///
    /// A [`serde_json::Value`] is held to the prompt's own contract. A [`String`] is the model's text, if the prompt
    /// has no contract of its own. The value is text from outside: it meets the contract, and nothing else is known of
    /// it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if the prompt, an input or the configuration is wrong, [`ErrorKind::Negative`] if the
    /// model refused or no answer met the contract, [`ErrorKind::Outside`] if it could not be asked.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        prompt: &Prompt,
        inputs: &impl Serialize,
    ) -> Result<Answer<T>, Error> {
        let mut all = self.ask_each(prompt, std::slice::from_ref(inputs)).await?;
        all.pop().unwrap_or_else(|| Err(Error::new(ErrorKind::Bug, "one question had no answer")))
    }

    /// The same for many inputs, as many at once as the server's configuration allows. The answers are in the order of
    /// the inputs, and one that fails does not keep the others back.
    ///
    /// # Errors
    ///
    /// If nothing can be asked at all.
    pub async fn ask_each<T: DeserializeOwned + JsonSchema>(
        &self,
        prompt: &Prompt,
        inputs: &[impl Serialize],
    ) -> Result<Vec<Result<Answer<T>, Error>>, Error> {
        let run = self.begin(prompt, contract_for::<T>(prompt)?).await?;
        let questions = inputs.iter().zip(1u32..).map(|(inputs, line)| {
            let (run, inputs) = (&run, in_declared_order(inputs));
            async move {
                let ran = run.ask(&inputs?, Some(line), &CancellationToken::new()).await?;
                answer(run.setting(), &ran)
            }
        });
        let answers = futures_util::future::join_all(questions).await;
        let more: Vec<String> = run.end().await.into_iter().map(words).collect();
        let noted = |answer: Answer<T>| Answer { notes: [answer.notes, more.clone()].concat(), ..answer };
        Ok(answers.into_iter().map(|answer| answer.map(noted)).collect())
    }

    /// Asks for a text and hands its parts to `hear` as they arrive and as the model wrote them.
    /// `proem_guard::show::stream` makes them safe for a terminal.
    ///
    /// # Errors
    ///
    /// Those of [`Client::ask`]. A prompt with a contract of its own is refused, since a value says nothing before it
    /// is checked.
    pub async fn ask_streaming(
        &self,
        prompt: &Prompt,
        inputs: &impl Serialize,
        hear: impl FnMut(&str) + Send,
    ) -> Result<Answer<String>, Error> {
        let run = self.begin(prompt, contract_for::<String>(prompt)?).await?;
        let listener = Hearing(Mutex::new(hear));
        let nobody = proem_app::agents::person::AbsentPerson;
        let stop = CancellationToken::new();
        let course = RunCourse {
            line: None,
            stop: &stop,
            person: &nobody,
            listener: Some(&listener),
            hand_on: &|_: &FinishedRun| Ok(()),
        };
        let ran = run.ask_and(&in_declared_order(inputs)?, &course).await?;
        let mut answer = answer(run.setting(), &ran)?;
        answer.notes.extend(run.end().await.into_iter().map(words));
        Ok(answer)
    }

    /// Everything that questions with one prompt share.
    async fn begin(&self, prompt: &Prompt, contract: AnswerContract) -> Result<OpenRun, Error> {
        let mut project = OpenProject::open(&self.folder, &self.places, BookReading::Trusted)?;
        if let Some(base_url) = &self.server {
            let file = ProviderFile { base_url: Some(base_url.clone()), ..ProviderFile::default() };
            project.config.providers.insert(SERVER.to_owned(), file);
        }
        let options = RunOptions {
            model: self.model.clone(),
            provider: self.server.as_ref().map(|_| SERVER.to_owned()),
            limits: ExchangeLimits { attempts: self.budget.attempts, tokens: self.budget.tokens },
            most: self.budget.cost,
            seconds: self.budget.seconds,
            carriage: self.tape.clone(),
            record: match self.records {
                Records::Off => RecordChoice::No,
                Records::Kept => RecordChoice::AsConfigured,
            },
            ..RunOptions::of(String::new())
        };
        let loaded = prompt.loaded_again()?;
        let setting = RunSetting::of_prompt(loaded, contract, &prompt.book, &options, &mut project)?;
        let mut notes = Vec::new();
        let booking = setting.book(&options, &project, &mut notes).await?;
        Ok(setting.begin(booking, &options, &project, &mut notes).await?)
    }
}

/// A client's name for its own server.
const SERVER: &str = "server";

/// The required form of the answer, so that a `T` can be made of it.
fn contract_for<T: JsonSchema>(prompt: &Prompt) -> Result<AnswerContract, Error> {
    let own = prompt.loaded.contract()?;
    let schema: Json = schemars::schema_for!(T).into();
    let kind = schema.get("type").and_then(Json::as_str);
    let says_nothing =
        schema.as_object().is_none_or(|schema| schema.keys().all(|key| key == "$schema" || key == "title"));
    if says_nothing || (kind == Some("string") && matches!(own, AnswerContract::Text)) {
        return Ok(own);
    }
    Ok(AnswerContract::Value(Contract::of_bounded::<T>("answer")?))
}

/// How a run ended, as an answer.
fn answer<T: DeserializeOwned>(setting: &RunSetting, ran: &FinishedRun) -> Result<Answer<T>, Error> {
    if let Some(failure) = ran.failure() {
        return Err(failure.into());
    }
    let (value, fell_back) = match &ran.outcome.ended {
        ExchangeEnd::Answered { value } => (show::exact_value(value), false),
        ExchangeEnd::FellBack { value, .. } => (value.clone(), true),
        ExchangeEnd::Failed { because } => return Err(Error::new(ErrorKind::Negative, because.in_words())),
    };
    let mut notes: Vec<String> = ran.prepared.noted.iter().map(proem_agents::screen::ScreeningNote::in_words).collect();
    notes.extend(ran.trouble.clone());
    Ok(Answer {
        value: serde_json::from_value(value).map_err(|error| Error::of(ErrorKind::Negative, error))?,
        fell_back,
        attempts: ran.outcome.asked().count(),
        usage: ran.outcome.usage(),
        cost: setting.cost(ran),
        run: ran.run.as_ref().map(ToString::to_string),
        notes,
    })
}

fn words(note: Note) -> String {
    note.message.text
}

/// Hands parts of a text on.
struct Hearing<F>(Mutex<F>);

impl<F> fmt::Debug for Hearing<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hearing")
    }
}

impl<F: FnMut(&str) + Send> TextListener for Hearing<F> {
    fn begins(&self) {}

    fn hears(&self, more: &Untrusted<String>) {
        let mut hear = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(text) = show::exact_json(more).as_str() {
            hear(text);
        }
    }

    fn breaks_off(&self) {}

    fn waits(&self, _asked: Duration) {}
}
