//! The text that a model reads: the prompt of an agent's run, chosen once, and the turns since.
//!
//! Invariants: nothing here depends on a turn but the turns themselves, so no turn changes a byte before them. Text
//! from outside is a leaf with its label, so that the engine contains it. A secret value is in no input. By default a
//! model reads the declared type of untrusted data and nothing of the data; the agent's file names sources to show.

mod facts;
mod inventory;
mod mission;
mod preview;
mod tools;
mod turns;

use proem_engine::Error;
use proem_engine::budget::AnswerLength;
use proem_engine::call::Arrival;
use proem_engine::input::{DeclaredTrust, Inputs};
use proem_engine::profile::Profile;
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::Model;
use proem_engine::run::AnswerRequirement;
use proem_engine::tokens::{CachingCounter, TokenCounter};
use proem_guard::{InstallationKey, LabelTree, LanguageFamily, Untrusted};
use proem_lisp::documentation::PromptReference;
use proem_text::Label;

use self::facts::{OutsidePlace, OutsideText, WITHHELD};
use self::inventory::Inventory;
use self::mission::Mission;
use self::turns::history_input;
use super::definition::{AgentDefinition, PromptLimits};
use crate::prompt_call::{LabelledCall, PreparedRequest, prepare_labelled};
use crate::screen::{Screen, Screening, ScreeningNote};

pub use self::facts::PromptFacts;
pub use self::mission::blank_input;
pub use self::preview::{PreviewPart, preview_parts, specified_place};
pub use self::turns::{FeedbackPart, TurnText};

pub(super) use self::mission::mission_placeholders;

/// How a model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptForm {
    /// With programs, until one calls `return` or `fail`.
    Agent,
    /// With one expression, whose value is the answer.
    Single,
}

impl PromptForm {
    /// The form of an agent: one turn without tools is a single expression.
    #[must_use]
    pub fn of(agent: &AgentDefinition) -> Self {
        if agent.is_single_shot() { Self::Single } else { Self::Agent }
    }

    /// The name of its prompt in the book.
    #[must_use]
    pub const fn prompt(self) -> &'static str {
        match self {
            Self::Agent => "lisp/agent",
            Self::Single => "lisp/single",
        }
    }

    /// The form whose prompt this is, if it is one of the two.
    #[must_use]
    pub fn of_prompt(agent: &str, name: &str) -> Option<Self> {
        [Self::Agent, Self::Single].into_iter().find(|form| form.prompt().split_once('/') == Some((agent, name)))
    }
}

/// The prompt of a run, the same in each of its turns.
#[derive(Debug, Clone)]
pub struct ChosenPrompt {
    form: PromptForm,
    inputs: Inputs,
    label: Label,
    noted: Vec<ScreeningNote>,
}

/// Chooses the prompt of a run.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`](proem_engine::ErrorKind::InvalidInput) with each placeholder of the mission that has no
/// value, or [`ErrorKind::InvalidFile`](proem_engine::ErrorKind::InvalidFile) if a shipped file is broken.
pub fn choose(facts: &PromptFacts<'_>) -> Result<ChosenPrompt, Error> {
    let form = PromptForm::of(facts.agent);
    let mission = Mission::of(facts)?;
    let inventory = Inventory::of(facts);
    let mut screen = Screen::new(facts.screening);
    let outside = inventory.samples.iter().map(|sample| ("samples", sample));
    for (number, (input, text)) in outside.chain(mission.values.iter().map(|value| ("values", value))).enumerate() {
        let what = format!("`{}` of the program agent's prompt", text.name);
        let place = OutsidePlace { input, number };
        // Samples are data, which marks at each word would make unreadable.
        match input {
            "samples" => screen.admit_source(place, &what, &text.text, LanguageFamily::Code),
            _ => screen.admit(place, &what, &text.text, None),
        };
    }
    screen.rejoin();
    let mut number = 0;
    let mut screened = |input: &'static str, texts: &[OutsideText], write: fn(LabelTree, LabelTree) -> LabelTree| {
        LabelTree::list(texts.iter().map(|text| {
            let place = OutsidePlace { input, number };
            number += 1;
            let like = |words: &str| LabelTree::Outside(Untrusted::new(words.to_owned(), text.text.label().clone()));
            let shown = screen.value(&place, |text| text).unwrap_or_else(|| like(WITHHELD));
            write(like(&text.name), shown)
        }))
    };
    let samples = screened("samples", &inventory.samples, |key, full| {
        let excerpt = inventory::sample_excerpt(&full);
        LabelTree::from([("key", key), ("full", full), ("excerpt", excerpt)])
    });
    let values = screened("values", &mission.values, |name, text| LabelTree::from([("name", name), ("text", text)]));
    let label = samples.label().join(&values.label());
    let mut inputs = Inputs::from([
        ("reference".to_owned(), reference_versions(facts.agent.prompt)),
        ("fields".to_owned(), LabelTree::list(inventory.rows)),
        ("has_hidden".to_owned(), LabelTree::Bool(inventory.has_hidden)),
        ("samples".to_owned(), samples),
        ("values".to_owned(), values),
        ("mission".to_owned(), LabelTree::Text(mission.text)),
        ("result".to_owned(), LabelTree::Text(facts.agent.signature.result_type())),
    ]);
    if form == PromptForm::Agent {
        inputs.extend(tools::tool_inputs(facts.agent)?);
    }
    Ok(ChosenPrompt { form, inputs, label, noted: screen.into_noted() })
}

impl ChosenPrompt {
    /// How the model answers.
    #[must_use]
    pub const fn form(&self) -> PromptForm {
        self.form
    }

    /// The label of all that the model reads before the first turn.
    #[must_use]
    pub const fn label(&self) -> &Label {
        &self.label
    }

    /// The texts that did not go in as they were.
    #[must_use]
    pub fn noted(&self) -> &[ScreeningNote] {
        &self.noted
    }

    /// The inputs of the prompt behind these turns, the oldest first, and the texts of the turns that did not go in as
    /// they were.
    #[must_use]
    pub fn inputs(&self, turns: &[TurnText], screening: Screening<'_>) -> (Inputs, Vec<ScreeningNote>) {
        let mut inputs = self.inputs.clone();
        let (history, noted) = history_input(turns, screening);
        if let Some(history) = history {
            inputs.insert(proem_engine::history::INPUT.to_owned(), history);
        }
        (inputs, noted)
    }
}

/// The reference of the language in its versions, from the longest that the agent's file wants.
fn reference_versions(limits: PromptLimits) -> LabelTree {
    let longest = match limits {
        PromptLimits { omit_reference: true, .. } => PromptReference::None,
        PromptLimits { full_reference: true, .. } => PromptReference::Full,
        _ => PromptReference::Lean,
    };
    let lean = if limits.omit_reference { PromptReference::None } else { PromptReference::Lean };
    let text = |reference: PromptReference| LabelTree::Text(reference.text().into_owned());
    LabelTree::from([("full", text(longest)), ("lean", text(lean)), ("none", text(PromptReference::None))])
}

/// Makes the requests of a run.
#[derive(Debug, Clone)]
pub struct MissionPrompt<'p> {
    /// The parts that the run shows.
    pub chosen: &'p ChosenPrompt,
    /// Its prompt file.
    pub prompt: &'p Prompt,
    /// The model that is asked.
    pub model: &'p Model,
    /// The installation's key.
    pub key: &'p InstallationKey,
    /// The guard for the texts of turns.
    pub screening: Screening<'p>,
    /// The most input tokens. `None` leaves it to the prompt and the model.
    pub input_tokens: Option<usize>,
    /// The most tokens of an answer. `None` leaves it to the prompt.
    pub output_tokens: Option<usize>,
    /// The lessons of earlier failures.
    pub profile: Option<&'p Profile>,
    /// Counts tokens.
    pub counter: &'p dyn TokenCounter,
}

impl MissionPrompt<'_> {
    /// The request behind these turns.
    ///
    /// # Errors
    ///
    /// The errors of [`prepare_labelled`].
    pub fn request(&self, turns: &[TurnText]) -> Result<PreparedRequest, Error> {
        let (inputs, noted) = self.chosen.inputs(turns, self.screening);
        let call = LabelledCall {
            prompt: self.prompt,
            owed: AnswerRequirement::Text,
            inputs: &inputs,
            declared: DeclaredTrust::Holds,
            model: self.model,
            key: self.key,
            input_tokens: self.input_tokens,
            answer: AnswerLength::of(self.output_tokens, self.prompt),
            arrival: Arrival::Whole,
            profile: self.profile,
            inquiry: None,
        };
        let mut prepared = prepare_labelled(&call, &mut CachingCounter::new(self.counter))?;
        prepared.noted = self.chosen.noted.iter().cloned().chain(noted).collect();
        Ok(prepared)
    }
}
