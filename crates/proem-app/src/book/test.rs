//! The cases of prompts, without a model. [`live`](super::live) asks one too.
//!
//! Nothing depends on the machine: the shipped guard, a fixed key and one tokeniser, so
//! that a case passes everywhere or nowhere.

use std::collections::BTreeMap;

use proem_agents::prompt_call::{InputAuthor, PreparedRequest, PromptCall, prepare_prompt_call};
use proem_agents::risk::investigation;
use proem_agents::screen::Screening;
use proem_engine::ErrorKind;
use proem_engine::call::Arrival;
use proem_engine::contract::AnswerContract;
use proem_engine::ordered_json::OrderedJson;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::cases::{Case, Cases};
use proem_engine::prompt::compiled_prompt::Prompt;
use proem_engine::providers::{EnforcementSource, Model, Provider, Providers, SchemaEnforcement};
use proem_engine::tokens::{CachingCounter, OpenAi};
use proem_guard::{Guard, InstallationKey, Policy};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::error::Error;

/// The counts of a model's answers to one case.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct LiveCounts {
    /// How often it was asked.
    pub times: u32,
    /// How often its first answer was JSON.
    pub json: u32,
    /// How often its first answer met the schema.
    pub schema: u32,
    /// How often its answer, the second try included, was as expected.
    pub expected: u32,
    /// How often it gave its most frequent answer, as far as the case speaks of it.
    pub(super) same: u32,
    /// Each answer as far as the case speaks of it, with how often it came.
    #[serde(skip)]
    pub answers: BTreeMap<String, u32>,
    /// Figures that only a comparison of its answers gives.
    #[serde(skip)]
    pub repeats: RepeatedAnswers,
}

/// The figures of a comparison of the answers to one case.
#[derive(Debug, Default)]
pub struct RepeatedAnswers {
    /// Answers that a cache gave, which are not among those counted.
    pub cached: u32,
    /// Runs without an answer because the provider failed or the run was cancelled.
    pub unanswered: u32,
    /// The verdicts of both graders on each answer, where there are two.
    pub verdicts: Vec<(String, String)>,
}

impl LiveCounts {
    /// The counts in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { times, json, schema, expected, same, .. } = self;
        format!(
            "of {times} answers: {json} JSON, {schema} matching the schema, {expected} as expected, {same} identical"
        )
    }
}

/// The result of one case.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BookCaseResult {
    /// `agent/name@version`.
    pub prompt: String,
    /// The case's name.
    pub case: String,
    /// Whether everything held.
    pub passed: bool,
    /// Whether a model is asked at all: the rules may settle it.
    pub asked: bool,
    /// The tokens of the request.
    pub tokens: Option<usize>,
    /// The unmet expectations.
    pub problems: Vec<String>,
    /// The counts of a model's answers. `None` if none was asked.
    pub live: Option<LiveCounts>,
    #[serde(skip)]
    pub(super) inputs: Option<OrderedJson>,
}

/// A prompt with its cases.
#[derive(Debug)]
pub struct Suite {
    /// `agent/name`.
    pub(super) name: String,
    pub(super) version: String,
    pub(super) prompt: Prompt,
    pub(super) cases: Cases,
}

impl Suite {
    /// The suite with some of its cases only.
    pub(super) fn retaining(mut self, keep: impl Fn(&Case) -> bool) -> Self {
        self.cases.cases.retain(keep);
        self
    }

    /// Whether any case says what a model should answer.
    #[must_use]
    pub fn has_live_cases(&self) -> bool {
        self.cases.cases.iter().any(|case| case.live.is_some())
    }

    /// Tests every case.
    ///
    /// # Errors
    ///
    /// If the prompt's contract can't be read.
    pub fn test(&self, bench: &AssemblyState) -> Result<Vec<BookCaseResult>, Error> {
        self.cases.cases.iter().map(|case| bench.test(self, case)).collect()
    }
}

/// A prompt whose cases could not be run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UntestedPrompt {
    /// `agent/name@version`.
    pub prompt: String,
    /// Why, with the place where there is one.
    pub problem: String,
    /// Whether it was changed after it was locked.
    #[serde(skip)]
    pub is_edited: bool,
}

/// The prompts that are tested, and those that can't be: all that have cases, or the requested one, as `agent/name` or
/// `agent/name@version`. A problem with one stops its own tests only.
///
/// # Errors
///
/// If the one that is wanted is missing, or there are no cases.
pub fn suites(book: &Book, wanted: Option<&str>) -> Result<(Vec<Suite>, Vec<UntestedPrompt>), Error> {
    let names = match wanted {
        Some(name) => vec![name.to_owned()],
        None => book.prompts().into_iter().collect(),
    };
    let (mut suites, mut untested) = (Vec::new(), Vec::new());
    for full in names {
        let (name, version) = match full.split_once('@') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => (full.clone(), book.current(&full)?),
        };
        match suite(book, name.clone(), version.clone()) {
            Ok(Some(suite)) => suites.push(suite),
            Ok(None) if wanted.is_some() => {
                return Err(Error::invalid(format!(
                    "`{name}` has no test cases; name a file of cases under \
                                                   `proem.cases` in the prompt file"
                )));
            }
            Ok(None) => {}
            Err(error) if wanted.is_some() && error.kind() == ErrorKind::NotFound => return Err(error.into()),
            Err(error) => untested.push(UntestedPrompt {
                prompt: format!("{name}@{version}"),
                problem: error.to_string(),
                is_edited: error.kind() == ErrorKind::Edited,
            }),
        }
    }
    if suites.is_empty() && untested.is_empty() {
        return Err(Error::invalid(
            "no prompt has test cases; name a file of cases under `proem.cases` in a prompt \
                                   file",
        ));
    }
    Ok((suites, untested))
}

/// A prompt with its cases. `None` if it names none.
pub(super) fn suite(book: &Book, name: String, version: String) -> Result<Option<Suite>, proem_engine::Error> {
    let prompt = book.prompt(&name, Some(&version))?;
    let Some(file) = prompt.file.strict.cases.clone() else { return Ok(None) };
    let Some((text, _)) = book.file(&format!("{name}/{file}")) else {
        let missing = format!("`proem.cases` names `{file}`, which is not in the folder of the prompt file");
        return Err(proem_engine::Error::new(ErrorKind::InvalidFile, missing));
    };
    let cases = Cases::for_inputs(&format!("{name}/{file}"), text.as_str(), &prompt.file.input_schema())?;
    Ok(Some(Suite { name, version, prompt, cases }))
}

/// The parts that requests are made with.
#[derive(Debug)]
pub struct AssemblyState {
    pub(super) guard: Guard,
    pub(super) policy: Policy,
    model: Model,
    key: InstallationKey,
}

impl AssemblyState {
    /// The same on every machine.
    ///
    /// # Errors
    ///
    /// If what ships can't be read, which is a bug.
    pub fn new() -> Result<Self, Error> {
        let shipped = |error: &dyn std::fmt::Display| Error::bug("a file that ships with Proem can't be read", error);
        let mut model = Providers::load()?.unlisted("any", Provider::OpenAi);
        // The form of the answer is in the schema that goes with the request, not in its words.
        (model.answers, model.answers_by) = (SchemaEnforcement::Tool, EnforcementSource::Known);
        Ok(Self {
            guard: Guard::shipped(&[]).map_err(|error| shipped(&error))?,
            policy: Policy::shipped().map_err(|error| shipped(&error))?,
            model,
            key: InstallationKey::new([0; 32]),
        })
    }

    fn test(&self, suite: &Suite, case: &Case) -> Result<BookCaseResult, Error> {
        let mut tested = BookCaseResult {
            prompt: format!("{}@{}", suite.name, suite.version),
            case: case.name.clone(),
            passed: true,
            asked: true,
            tokens: None,
            problems: Vec::new(),
            live: None,
            inputs: case.inputs.clone(),
        };
        if let Some(kind) = &suite.cases.kind {
            self.pose(kind, case, &mut tested);
        }
        if let Some(inputs) = &tested.inputs {
            let contract = suite.prompt.contract()?;
            match self.request(&suite.prompt, &contract, inputs) {
                Ok((prepared, hash)) => {
                    tested.problems.extend(case.expect.broken_request(&prepared.request, &hash));
                    tested.problems.extend(case.expect.broken_states(&prepared.report));
                    tested.tokens = Some(prepared.request.assembly.tokens());
                }
                Err(error) => tested.problems.extend(error.problems().iter().cloned()),
            }
        } else if tested.problems.is_empty() && case.expect.wants_request() {
            tested.problems.push("no model is asked in this case, so there is no request to check".to_owned());
        }
        tested.passed = tested.problems.is_empty();
        Ok(tested)
    }

    /// Lets an agent's rules make the inputs.
    fn pose(&self, kind: &str, case: &Case, tested: &mut BookCaseResult) {
        let given = case.given.as_ref().unwrap_or(&Json::Null);
        let posed = match kind {
            investigation::DECISION | investigation::SYNTHESIS => investigation::pose_case(kind, given),
            other => {
                let known = format!("`{}` and `{}`", investigation::DECISION, investigation::SYNTHESIS);
                tested.problems.push(format!("unknown kind `{other}`; the kinds are {known}"));
                return;
            }
        };
        match posed {
            Ok(posed) => {
                tested.problems.extend(case.expect.broken_rules(&posed.rules));
                tested.asked = posed.inputs.is_some();
                tested.inputs = posed.inputs.map(OrderedJson::from);
            }
            Err(error) => tested.problems.push(error.to_string()),
        }
    }

    /// The request for these inputs, and the hash of its text.
    fn request(
        &self,
        prompt: &Prompt,
        contract: &AnswerContract,
        inputs: &OrderedJson,
    ) -> Result<(PreparedRequest, String), proem_engine::Error> {
        let ask = PromptCall {
            prompt,
            owed: contract.owed(),
            inputs,
            given: InputAuthor::ByCaller,
            model: &self.model,
            key: &self.key,
            screening: Screening { guard: &self.guard, policy: &self.policy },
            input_tokens: None,
            output_tokens: None,
            arrival: Arrival::Whole,
            profile: None,
            inquiry: None,
        };
        let prepared = prepare_prompt_call(&ask, &mut CachingCounter::new(&OpenAi::O200k))?;
        let hash = proem_text::hex::encode_hex(Sha256::digest(prepared.request.assembly.text()));
        Ok((prepared, hash))
    }
}
