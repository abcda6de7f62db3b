//! Programs of PTC-Lisp for people: checked, run and looked up, without a model.
//!
//! Invariants: a program reads its input and its memory, and changes its memory alone, unless it runs with an agent's
//! tools ([`running`]). One that fails or is stopped leaves the memory as it was.

pub mod agent;
pub mod chain;
pub mod children;
mod files;
mod history;
pub mod kept_program;
pub mod mission;
pub mod models;
mod problem;
mod recorded_questions;
pub mod running;
mod signatures;
mod tool_secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use proem_agents::lisp::{ProgramEnd as MachineEnd, ProgramOutcome};
use proem_lisp::documentation::{entry, nearest_name};
use proem_lisp::{
    CleanSource, Inputs, Limits, Machine, Meter, Names, Outcome, Problem, Program, Repair, Signature, SignatureProblem,
    ToolAnswer, ToolCall, Value, label_secret_fields, open_secret_fields, print_readable, repair_delimiters,
    resolve_source, sanitise_source,
};
use proem_text::{Label, Span};

pub use self::files::{LispSource, MemoryFile, read_input, read_input_text, read_value};
pub use self::history::LineHistory;
pub use self::problem::ProgramProblem;
pub use self::signatures::{parse_signature, read_tools};
use crate::error::Error;
use crate::message::Note;
use crate::places::Places;
use crate::project;

/// How many units of fuel are used between two looks at whether a program is to stop: some hundredths of a second.
const FUEL_BETWEEN_LOOKS: u64 = 500_000;

/// The limits of programs in a folder, with `fuel` instead of what is configured.
///
/// # Errors
///
/// If the configuration can't be read.
pub fn limits_in(folder: &Path, fuel: Option<u64>, places: &Places, said: &mut Vec<Note>) -> Result<Limits, Error> {
    let mut settings = project::settings_in(folder, places, said)?.lisp;
    settings.fuel = fuel.or(settings.fuel);
    Ok(settings.limits())
}

/// Whether miscounted brackets are repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelimiterRepair {
    /// The one repair that fits is offered.
    Offer,
    /// It is applied.
    Apply,
}

/// A program that nothing speaks against.
#[derive(Debug)]
pub struct CheckedProgram {
    program: Arc<Program>,
    source: ReadSource,
    /// The changes before it could be read, as excerpts.
    pub warnings: Vec<String>,
    /// The brackets that were changed because the caller wanted it.
    pub repairs: Vec<String>,
}

/// Why a source is no program.
#[derive(Debug)]
pub struct SourceRefusal {
    /// Its problems, in order.
    pub problems: Vec<ProgramProblem>,
    /// The changes before it was read, as excerpts.
    pub warnings: Vec<String>,
    /// The brackets that were changed because the caller wanted it. Places are in the source after that.
    pub repairs: Vec<String>,
    /// The brackets that would fit its indentation, if there is one way only.
    pub repair: Option<Repair>,
}

/// A source as it was given, and as it was read.
#[derive(Debug)]
struct ReadSource {
    given: LispSource,
    clean: CleanSource,
}

impl ReadSource {
    fn new(given: LispSource) -> Self {
        let clean = sanitise_source(&given.text);
        Self { given, clean }
    }

    /// A problem with its place in what was given.
    fn place(&self, problem: &Problem) -> ProgramProblem {
        let mut problem = problem.clone();
        problem.diagnostic.span = problem.diagnostic.span.map(|span| self.clean.map.original(span));
        ProgramProblem::new(&problem, &self.given.name, &self.given.text)
    }

    fn warnings(&self) -> Vec<String> {
        self.clean.changes.iter().map(|change| change.render(&self.given.name, &self.given.text)).collect()
    }
}

/// How a program ended.
#[derive(Debug)]
pub enum ProgramEnd {
    /// With a value, by itself or by `return`, in which fields whose name begins with `_` are open if there is a
    /// signature.
    Value(Value),
    /// With a value that isn't what the signature says. Nothing is kept.
    Mismatch(Vec<SignatureProblem>),
    /// It called `fail` with this value.
    Fail(Value),
    /// It could not go on.
    Problem(ProgramProblem),
    /// It was stopped.
    Stopped,
}

/// The outcome of a program.
#[derive(Debug)]
pub struct ProgramRun {
    /// How it ended.
    pub end: ProgramEnd,
    /// The value, or what `fail` was given, as it reads. Empty for ends without one.
    pub text: String,
    /// Units of fuel used. Unknown if they would tell of a secret.
    pub fuel: Option<u64>,
    /// Bytes of values at its end. Unknown if they would tell of a secret.
    pub bytes: Option<usize>,
    /// The label of what it ended with, if anything that it was given has one.
    pub label: Option<Label>,
    /// The calls of tools that it asked for.
    pub calls: Vec<TracedCall>,
}

/// A call of a tool with the labels that it was made under.
#[derive(Debug)]
pub struct TracedCall {
    /// The tool.
    pub name: String,
    /// The arguments as they read, with `[Hidden]` for secrets.
    pub arguments: String,
    /// The label of each argument.
    pub labels: BTreeMap<String, Label>,
    /// The label of what decided on the call.
    pub pc: Label,
    /// The label of what decided on effects so far.
    pub floor: Label,
}

impl TracedCall {
    fn of(call: &ToolCall, limits: Limits) -> Self {
        let arguments = print_readable(&call.args, &mut Meter::new(limits));
        Self {
            name: call.name.to_string(),
            arguments: arguments.unwrap_or_else(|fault| fault.message().to_owned()),
            labels: call.labels.clone(),
            pc: call.pc.clone(),
            floor: call.floor.clone(),
        }
    }
}

/// The state that successive programs share: limits, input, memory and the last results.
#[derive(Debug)]
pub struct LispSession {
    /// The limits of each program.
    pub limits: Limits,
    context: Value,
    memory: Value,
    history: [Value; 3],
    signature: Option<Signature>,
    tools: Option<BTreeMap<String, Arc<Signature>>>,
    /// The labels of inputs by their names.
    labels: BTreeMap<String, Label>,
    /// Problems so far that only told their kind and line.
    hidden_problems: usize,
}

/// So many problems that secrets had a part in end a session: each may tell a little about them.
const MOST_HIDDEN_PROBLEMS: usize = 2;

impl LispSession {
    /// A session before its first program. `context` and `memory` are maps.
    #[must_use]
    pub const fn new(limits: Limits, context: Value, memory: Value) -> Self {
        let history = [Value::Nil, Value::Nil, Value::Nil];
        let labels = BTreeMap::new();
        Self { limits, context, memory, history, signature: None, tools: None, labels, hidden_problems: 0 }
    }

    /// Adds an input with a label.
    ///
    /// # Errors
    ///
    /// There is an input of this name.
    pub fn add_input(&mut self, name: &str, value: Value, label: Label) -> Result<(), Error> {
        if self.context.field(name).is_some() {
            return Err(Error::invalid(format!("there are two inputs named `{name}`; give each name once")));
        }
        let others = self.context.entries().map(|(key, value)| (key.clone(), value.clone()));
        self.context = Value::map(others.chain([(Value::text(name), value)]));
        self.labels.insert(name.to_owned(), label);
        Ok(())
    }

    /// Whether programs have ended with so many hidden problems that no further one is run.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.hidden_problems >= MOST_HIDDEN_PROBLEMS
    }

    /// The inputs with their labels. With a signature, fields whose name begins with `_` are secret.
    fn labelled_context(&self) -> Value {
        if self.labels.is_empty() && self.signature.is_none() {
            return self.context.clone();
        }
        let entries = self.context.entries().map(|(key, value)| {
            let label = key.as_str().and_then(|name| self.labels.get(name));
            let value = value.clone();
            (key.clone(), label.map_or(value.clone(), |label| value.labelled(label)))
        });
        let context = Value::map(entries);
        if self.signature.is_some() { label_secret_fields(context) } else { context }
    }

    /// Names the inputs and the result of the programs: other inputs are problems of a source.
    #[must_use]
    pub fn with_signature(mut self, signature: Signature) -> Self {
        self.signature = Some(signature);
        self
    }

    /// Names the tools: calls of others, or with other arguments, are problems of a source.
    #[must_use]
    pub fn with_tools(mut self, tools: BTreeMap<String, Arc<Signature>>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Corrects the input where nothing is lost, and gives what was corrected.
    ///
    /// # Errors
    ///
    /// All that is wrong with the input and can't be corrected.
    pub fn correct_input(&mut self) -> Result<Vec<SignatureProblem>, Vec<SignatureProblem>> {
        let Some(signature) = &self.signature else { return Ok(Vec::new()) };
        let corrected = signature.coerce_inputs(&self.context).map_err(|problems| self.without_secrets(problems))?;
        let mut warnings = self.without_secrets(corrected.warnings);
        // A correction quotes the corrected value, which is the secret in another form.
        for warning in warnings.iter_mut().filter(|warning| self.is_about_secret(warning)) {
            "was corrected".clone_into(&mut warning.expected);
        }
        self.context = corrected.value;
        Ok(warnings)
    }

    /// Problems of inputs, without the values of secret ones.
    fn without_secrets(&self, mut problems: Vec<SignatureProblem>) -> Vec<SignatureProblem> {
        for problem in problems.iter_mut().filter(|problem| self.is_about_secret(problem)) {
            problem.found = None;
        }
        problems
    }

    /// Whether a problem is one of a secret input. A signature writes `-` of a name as `_`.
    fn is_about_secret(&self, problem: &SignatureProblem) -> bool {
        let fold = |name: &str| name.replace('-', "_");
        let name = fold(problem.path.split(['.', '[']).next().unwrap_or_default());
        self.labels.iter().any(|(input, label)| label.is_secret() && fold(input) == name)
    }

    /// The memory that the programs so far have kept.
    #[must_use]
    pub const fn memory(&self) -> &Value {
        &self.memory
    }

    /// Names that programs can use because memory has them.
    #[must_use]
    pub fn memory_names(&self) -> BTreeSet<String> {
        self.memory.unlabelled().entries().filter_map(|(key, _)| key.as_str()).map(str::to_owned).collect()
    }

    /// Forgets the memory and the last results.
    pub fn reset(&mut self) {
        self.memory = Value::map([]);
        self.history = [Value::Nil, Value::Nil, Value::Nil];
    }

    /// Reads and analyses a source.
    ///
    /// # Errors
    ///
    /// All its problems.
    pub fn check(&self, source: LispSource, repair: DelimiterRepair) -> Result<CheckedProgram, SourceRefusal> {
        let source = ReadSource::new(source);
        let warnings = source.warnings();
        let problems = match self.resolve(&source) {
            Ok(program) => return Ok(CheckedProgram { program, source, warnings, repairs: Vec::new() }),
            Err(problems) => problems,
        };
        let fitting = repair_delimiters(&source.clean.text, &self.limits);
        if repair == DelimiterRepair::Apply
            && let Some(Repair { text, changes }) = &fitting
        {
            let repaired = ReadSource::new(LispSource { name: source.given.name.clone(), text: text.clone() });
            let repairs = changes.clone();
            return match self.resolve(&repaired) {
                Ok(program) => Ok(CheckedProgram { program, source: repaired, warnings, repairs }),
                Err(problems) => Err(SourceRefusal { problems, warnings, repairs, repair: None }),
            };
        }
        Err(SourceRefusal { problems, warnings, repairs: Vec::new(), repair: fitting })
    }

    fn resolve(&self, source: &ReadSource) -> Result<Arc<Program>, Vec<ProgramProblem>> {
        let mut names = Names::of_memory(&self.memory);
        names.inputs = self.signature.as_ref().map(|signature| signature.parameters().map(str::to_owned).collect());
        if let Some(tools) = &self.tools {
            names.tools = Some(tools.keys().cloned().collect());
            names.signatures.clone_from(tools);
        }
        match resolve_source(&source.clean.text, &names, &self.limits) {
            Ok(program) => Ok(Arc::new(program)),
            Err(problems) => Err(problems.iter().map(|problem| source.place(problem)).collect()),
        }
    }

    /// Runs a program to its end. `meanwhile` gets what it prints, often an empty text, and may stop it.
    pub fn run(&mut self, checked: &CheckedProgram, mut meanwhile: impl FnMut(&str) -> ControlFlow<()>) -> ProgramRun {
        let inputs = Inputs {
            context: self.labelled_context(),
            memory: self.memory.clone(),
            history: self.history.clone(),
            budget: Value::map([]),
        };
        let mut machine = Machine::new(Arc::clone(&checked.program), inputs, self.limits);
        let mut calls = Vec::new();
        let outcome = loop {
            let outcome = machine.run(FUEL_BETWEEN_LOOKS);
            let wish = meanwhile(&machine.take_output());
            match outcome {
                Outcome::CallTools(open) => {
                    for call in open {
                        calls.push(TracedCall::of(&call, self.limits));
                        machine.answer(call.id, refuse_tool(&call));
                    }
                }
                Outcome::OutOfFuel if wish.is_break() => break None,
                Outcome::OutOfFuel => {}
                end => break Some(end),
            }
        };
        if let Some(Outcome::Error(Problem { is_hidden: true, .. })) = &outcome {
            self.hidden_problems = self.hidden_problems.saturating_add(1);
        }
        let value = match &outcome {
            Some(Outcome::Done(value) | Outcome::Return(value)) => value.clone(),
            _ => Value::Nil,
        };
        let (end, text) = self.end(outcome, checked);
        if let ProgramEnd::Value(_) = &end {
            self.memory = machine.memory().clone();
            let [last, before, _] = std::mem::take(&mut self.history);
            self.history = [value, last, before];
        }
        let met = machine.work_label();
        let tells_nothing = !met.is_secret();
        ProgramRun {
            end,
            text,
            fuel: tells_nothing.then(|| machine.fuel_used()),
            bytes: tells_nothing.then(|| machine.bytes_used()),
            label: (!met.is_empty()).then(|| machine.end_label()),
            calls,
        }
    }

    /// The result of a program that ran with an agent's tools.
    pub fn take_outcome(&mut self, outcome: ProgramOutcome, checked: &CheckedProgram) -> ProgramRun {
        let ProgramOutcome { end, fuel, bytes, memory, label, .. } = outcome;
        let end = match end {
            MachineEnd::Value(value) | MachineEnd::Mismatch(value, _) => Some(Outcome::Done(value)),
            MachineEnd::Fail(value) => Some(Outcome::Fail(value)),
            MachineEnd::Problem(problem) => Some(Outcome::Error(problem)),
            MachineEnd::Cancelled(_) => None,
        };
        let (end, text) = self.end(end, checked);
        if matches!(end, ProgramEnd::Value(_)) {
            self.memory = memory;
        }
        let tells_nothing = !label.is_secret();
        ProgramRun {
            end,
            text,
            fuel: tells_nothing.then_some(fuel),
            bytes: tells_nothing.then_some(bytes),
            label: (!label.is_empty()).then_some(label),
            calls: Vec::new(),
        }
    }

    fn result_problems(&self, value: &Value) -> Vec<SignatureProblem> {
        let Some(signature) = &self.signature else { return Vec::new() };
        let mut problems = signature.check_result(&value.without_labels());
        if value.label().is_secret() {
            problems.iter_mut().for_each(|problem| problem.found = None);
        }
        problems
    }

    /// The value as its reader gets it: fields whose name begins with `_` are open to whoever gave the signature.
    fn open_for_reader(&self, value: Value) -> Value {
        if self.signature.is_some() { open_secret_fields(value) } else { value }
    }

    /// The end for people, with its value as text. A value that can't be printed is a problem.
    fn end(&self, outcome: Option<Outcome>, checked: &CheckedProgram) -> (ProgramEnd, String) {
        let print = |value: &Value| print_readable(value, &mut Meter::new(self.limits));
        let whole = Span::new(0, checked.program.source().len());
        let unprintable = |fault: proem_lisp::Fault| ProgramEnd::Problem(checked.source.place(&fault.at(whole)));
        match outcome {
            Some(Outcome::Done(value) | Outcome::Return(value)) => match print(&self.open_for_reader(value.clone())) {
                Ok(text)
                    if let problems = self.result_problems(&value)
                        && !problems.is_empty() =>
                {
                    (ProgramEnd::Mismatch(problems), text)
                }
                Ok(text) => (ProgramEnd::Value(self.open_for_reader(value)), text),
                Err(fault) => (unprintable(fault), String::new()),
            },
            Some(Outcome::Fail(value)) => match print(&value) {
                Ok(text) => (ProgramEnd::Fail(value), text),
                Err(fault) => (unprintable(fault), String::new()),
            },
            Some(Outcome::Error(problem)) => (ProgramEnd::Problem(checked.source.place(&problem)), String::new()),
            Some(Outcome::CallTools(_) | Outcome::OutOfFuel) | None => (ProgramEnd::Stopped, String::new()),
        }
    }
}

/// The answer to a call where there are no tools, with what may have been meant.
fn refuse_tool(call: &ToolCall) -> ToolAnswer {
    let name = call.name.as_str();
    let folded = name.replace('_', "-");
    let help = match (entry(&folded), nearest_name(&folded)) {
        (Some(entry), _) => format!("`{}` is part of the language; write `{}`", entry.name, entry.usage()),
        (None, Some(near)) => format!("did you mean `{near}`, which is part of the language?"),
        (None, None) => "tools belong to agents; give what the tool would answer as an input".to_owned(),
    };
    ToolAnswer::unknown_tool(name, &help)
}
