//! `proem book test`: the cases of prompts, without a model and with one.
//!
//! Without a model nothing depends on the machine: the shipped guard, a fixed key and one tokeniser, so
//! that a case passes everywhere or nowhere.

mod live;
mod output;

use std::process::ExitCode;

use proem_agents::prompted::{Ask, Given, prepare};
use proem_agents::risk::investigation;
use proem_agents::screen::Screening;
use proem_engine::call::Arrival;
use proem_engine::contract::Contract;
use proem_engine::prompt::book::Book;
use proem_engine::prompt::cases::{Case, Cases};
use proem_engine::prompt::loaded::Prompt;
use proem_engine::providers::{Answers, Model, Provider, Providers};
use proem_engine::tokens::{Counts, OpenAi};
use proem_guard::{Guard, Key, Policy};
use serde::Serialize;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::args::BookTest;
use crate::failure::Failure;
use crate::places::Places;
use crate::project::{Project, Reading};

/// What came of one case.
#[derive(Debug, Serialize)]
struct Tested {
    /// `agent/name@version`.
    prompt: String,
    case: String,
    passed: bool,
    /// Whether a model is asked at all: the rules may settle it.
    asked: bool,
    /// The tokens of the request.
    tokens: Option<usize>,
    /// What did not hold.
    problems: Vec<String>,
    /// What a model answered; `None` if none was asked.
    live: Option<live::Heard>,
    #[serde(skip)]
    inputs: Option<Json>,
}

/// A prompt with its cases.
struct Suite {
    /// `agent/name`.
    name: String,
    version: String,
    prompt: Prompt,
    cases: Cases,
}

pub(super) fn run(args: &BookTest) -> Result<ExitCode, Failure> {
    let book = if args.live { trusted(args)? } else { super::open(&args.place)? };
    let bench = Bench::new()?;
    let suites = suites(&book, args.prompt.as_deref())?;
    let mut tested = Vec::new();
    for suite in &suites {
        let mut of_suite = Vec::new();
        for case in &suite.cases.cases {
            of_suite.push(bench.test(suite, case)?);
        }
        if args.live {
            live::ask(args, suite, &mut of_suite)?;
        }
        tested.append(&mut of_suite);
    }
    output::print(&tested, args.place.json)?;
    Ok(ExitCode::from(u8::from(tested.iter().any(|tested| !tested.passed))))
}

/// The book that a model is asked with: nothing in it is anybody's who isn't trusted.
fn trusted(args: &BookTest) -> Result<Book, Failure> {
    Project::open(&args.place.root, &Places::find()?, Reading::Trusted)?.book()
}

/// The prompts that are tested.
fn suites(book: &Book, wanted: Option<&str>) -> Result<Vec<Suite>, Failure> {
    let names = match wanted {
        Some(name) => vec![name.to_owned()],
        None => book.prompts().into_iter().collect(),
    };
    let mut suites = Vec::new();
    for full in names {
        let (name, version) = match full.split_once('@') {
            Some((name, version)) => (name.to_owned(), version.to_owned()),
            None => (full.clone(), book.current(&full)?),
        };
        let prompt = match book.prompt(&name, Some(&version)) {
            Ok(prompt) => prompt,
            Err(error) if wanted.is_some() => return Err(error.into()),
            // `proem book check` says what is wrong with it.
            Err(_) => return Err(Failure::finding(format!("`{name}` can't be read; see `proem book check`"))),
        };
        let Some(file) = prompt.file.strict.cases.clone() else {
            match wanted {
                Some(_) => return Err(Failure::usage(format!("`{name}` has no cases; name a file in `proem.cases`"))),
                None => continue,
            }
        };
        let Some((text, _)) = book.file(&format!("{name}/{file}")) else {
            return Err(Failure::finding(format!("`{name}` names `{file}` in `proem.cases`, which is not beside it")));
        };
        let cases = Cases::parse(text.as_str())
            .map_err(|error| Failure::finding(format!("{name}/{file}: {}", error.problems().join("; "))))?;
        suites.push(Suite { name, version, prompt, cases });
    }
    if suites.is_empty() {
        return Err(Failure::usage("no prompt has cases; name a file in `proem.cases` of one"));
    }
    Ok(suites)
}

/// What requests are made with.
struct Bench {
    guard: Guard,
    policy: Policy,
    model: Model,
    key: Key,
}

impl Bench {
    fn new() -> Result<Self, Failure> {
        let shipped = |error: &dyn std::fmt::Display| Failure::bug("a shipped file can't be read", error);
        let mut model = Providers::load()?.unlisted("any", Provider::OpenAi);
        // The form of the answer is in the schema that goes with the request, not in its words.
        model.answers = Answers::Tool;
        Ok(Self {
            guard: Guard::shipped(&[]).map_err(|error| shipped(&error))?,
            policy: Policy::shipped().map_err(|error| shipped(&error))?,
            model,
            key: Key::new([0; 32]),
        })
    }

    fn test(&self, suite: &Suite, case: &Case) -> Result<Tested, Failure> {
        let mut tested = Tested {
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
            match self.request(&suite.prompt, contract.as_ref(), inputs) {
                Ok((assembly, hash)) => {
                    tested.problems.extend(case.expect.broken_request(&assembly, &hash));
                    tested.tokens = Some(assembly.tokens());
                }
                Err(error) => tested.problems.extend(error.problems().iter().cloned()),
            }
        } else if tested.problems.is_empty() && case.expect.wants_request() {
            tested.problems.push("nobody is asked, so there is no request to look at".to_owned());
        }
        tested.passed = tested.problems.is_empty();
        Ok(tested)
    }

    /// Lets an agent's rules make the inputs.
    fn pose(&self, kind: &str, case: &Case, tested: &mut Tested) {
        let given = case.given.as_ref().unwrap_or(&Json::Null);
        let posed = match kind {
            investigation::DECISION | investigation::SYNTHESIS => investigation::case(kind, given),
            other => {
                let known = format!("`{}` and `{}`", investigation::DECISION, investigation::SYNTHESIS);
                tested.problems.push(format!("no agent knows the kind `{other}`; there are {known}"));
                return;
            }
        };
        match posed {
            Ok(posed) => {
                tested.problems.extend(case.expect.broken_rules(&posed.rules));
                tested.asked = posed.inputs.is_some();
                tested.inputs = posed.inputs;
            }
            Err(error) => tested.problems.push(error.to_string()),
        }
    }

    /// The request for these inputs, and the hash of its text.
    fn request(
        &self,
        prompt: &Prompt,
        contract: Option<&Contract>,
        inputs: &Json,
    ) -> Result<(proem_engine::assembly::Assembly, String), proem_engine::Error> {
        let ask = Ask {
            prompt,
            contract,
            inputs,
            given: Given::ByCaller,
            model: &self.model,
            key: &self.key,
            screening: Screening { guard: &self.guard, policy: &self.policy },
            input_tokens: None,
            arrival: Arrival::Whole,
            profile: None,
        };
        let assembly = prepare(&ask, &mut Counts::new(&OpenAi::O200k))?.request.assembly;
        let hash = proem_text::hex::encode(Sha256::digest(assembly.text()));
        Ok((assembly, hash))
    }
}
