//! Turns forms into a program: names into places, forms into steps, with all problems found.
//!
//! Works through a list of tasks instead of calling itself, so that no nesting reaches the host's stack. A task for a
//! form puts the tasks for its parts on top of the list. The steps come out in the order in which they run.

mod arguments;
mod bindings;
mod emit;
mod forms;
mod functions;
mod liveness;
mod loops;
mod names;
mod rewrite;
mod suggest;

use crate::{
    builtins,
    code::{Arity, Capture, Function, Op, Program},
    error::{Problem, Reason},
    form::{FormId, FormKind, Forms},
    limits::{Limits, Meter},
    reader::read_source,
    signature::Signature,
    value::{BuiltinId, Text, Value},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    sync::Arc,
    vec,
    vec::Vec,
};
pub(crate) use forms::FORMS;
pub(crate) use liveness::successors;
pub(crate) use names::{data_hides_function, is_builtin};
use proem_text::Span;
pub(crate) use suggest::{missing_feature, nearest};

/// So many problems are listed.
const MOST_PROBLEMS: usize = 20;

/// The names that a program may refer to besides those that it defines.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Keys of the memory, which are names in the program.
    pub memory: BTreeSet<String>,
    /// Those keys of the memory that hold a function: such a name hides the function of the language that it has.
    pub functions: BTreeSet<String>,
    /// The tools that there are, if that is known: calls of others are found before anything runs.
    pub tools: Option<BTreeSet<String>>,
    /// Signatures of tools by name: arguments of another shape are found before anything runs.
    pub signatures: BTreeMap<String, Arc<Signature>>,
    /// The names of the inputs, if they are known: other names in `ctx/` are found before anything runs.
    pub inputs: Option<BTreeSet<String>>,
}

impl Names {
    /// The names that a memory gives: its keywords and strings.
    #[must_use]
    pub fn of_memory(memory: &Value) -> Self {
        // A source is resolved by names alone, whatever their labels.
        let entries = || memory.unlabelled().entries();
        let named = || entries().filter_map(|(key, value)| Some((key.as_str()?, value.unlabelled())));
        let functions = named().filter(|(_, value)| value.is_function()).map(|(name, _)| String::from(name)).collect();
        let memory = named().map(|(name, _)| String::from(name)).collect();
        Self { memory, functions, ..Self::default() }
    }
}

/// A source as a program, with all problems.
///
/// # Errors
///
/// All problems of the source, in order, if there are any.
pub fn resolve_source(source: &str, names: &Names, limits: &Limits) -> Result<Program, Vec<Problem>> {
    let reading = read_source(source, limits);
    if !reading.problems.is_empty() {
        return Err(reading.problems);
    }
    let mut resolver = Resolver::new(reading.forms, names.clone(), *limits);
    resolver.resolve_program(&reading.top, Span::new(0, source.len()));
    resolver.finish(Text::from(source))
}

/// Whether a form's value is that of the function or loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Tail,
    Inner,
}

/// A place in a function's steps, found later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label(u32);

/// The remaining work.
#[derive(Debug, Clone)]
enum Task {
    /// Steps that push a form's value.
    Value(FormId, Position),
    /// Steps for forms whose last value counts.
    Body(Vec<FormId>, Position),
    Step(Op, Span),
    Place(Label),
    /// Steps that pop a value into the names of a pattern.
    Bind(FormId),
    /// Gives a name to a local that is there.
    Declare(Text, u32),
    CloseScope,
    OpenTarget(Target),
    CloseTarget,
    /// The next binding or modifier of `for` or `doseq`, or the body.
    Loop(loops::LoopStep),
    BeginArity(functions::ArityForm),
    EndArity,
    EndFunction(Span),
}

/// The target of `recur`.
#[derive(Debug, Clone)]
struct Target {
    label: Label,
    locals: Vec<u32>,
    name: &'static str,
}

/// A function whose steps are being made.
#[derive(Debug, Default)]
struct FunctionState {
    function: Function,
    arity: Arity,
    /// The step that each label names.
    labels: Vec<u32>,
    /// Names in scope with their locals, inner ones last.
    scope: Vec<(Text, u32)>,
    /// The scope's length and the next local where each open scope began.
    marks: Vec<(usize, u32)>,
    next_local: u32,
    targets: Vec<Target>,
    /// The step that the last label was placed at.
    last_placed: usize,
}

struct Resolver {
    forms: Forms,
    names: Names,
    /// Names that the program defines anywhere.
    defined: BTreeSet<Text>,
    /// Names of functions of `letfn`, for the message to those before them.
    letfn_names: BTreeSet<Text>,
    problems: Vec<Problem>,
    constants: Vec<Value>,
    functions: Vec<Function>,
    stack: Vec<FunctionState>,
    tasks: Vec<Task>,
    hidden: u32,
    /// Bounds what making literals costs, such as compiling regular expressions.
    meter: Meter,
}

impl Resolver {
    fn new(forms: Forms, names: Names, limits: Limits) -> Self {
        Self {
            forms,
            names,
            defined: BTreeSet::new(),
            letfn_names: BTreeSet::new(),
            problems: Vec::new(),
            constants: Vec::new(),
            functions: Vec::new(),
            stack: Vec::new(),
            tasks: Vec::new(),
            hidden: 0,
            meter: Meter::new(limits),
        }
    }

    fn resolve_program(&mut self, top: &[FormId], span: Span) {
        self.collect_definitions();
        let mut main = FunctionState::default();
        main.function.span = span;
        self.stack.push(main);
        self.schedule(vec![Task::Body(top.to_vec(), Position::Inner), Task::Step(Op::Return, span), Task::EndArity]);
        while let Some(task) = self.tasks.pop() {
            if self.problems.len() >= MOST_PROBLEMS {
                break;
            }
            self.perform(task);
        }
        if let Some(main) = self.stack.pop() {
            self.functions.push(main.function);
        }
    }

    fn finish(mut self, source: Text) -> Result<Program, Vec<Problem>> {
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|problem| problem.diagnostic.span);
            return Err(self.problems);
        }
        let main = self.functions.len().saturating_sub(1);
        let defined = self.defined.iter().map(Text::as_str).chain(self.names.functions.iter().map(String::as_str));
        let hidden = defined.filter(|name| names::is_builtin(name)).map(String::from).collect();
        let names = self.used_names();
        let (functions, constants) = (self.functions, self.constants);
        Ok(Program { source, functions, constants, hidden, main, names, prelude: None })
    }

    /// The names of the memory that make a difference to this source.
    fn used_names(&self) -> Names {
        let Names { memory, functions, .. } = &self.names;
        if memory.is_empty() && functions.is_empty() {
            return Names::default();
        }
        let symbols = || self.forms.symbols().map(Text::as_str);
        let memory = symbols().filter(|name| memory.contains(*name)).map(String::from).collect();
        let hiding = functions.iter().filter(|name| names::is_builtin(name)).cloned();
        Names { memory, functions: hiding.collect(), ..Names::default() }
    }

    /// Puts tasks on top of the list, the first to be done first.
    fn schedule(&mut self, tasks: Vec<Task>) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::Value(id, position) => self.value(id, position),
            Task::Body(forms, position) => self.body(&forms, position),
            Task::Step(op, span) => self.emit(op, span),
            Task::Place(label) => self.place(label),
            Task::Bind(pattern) => self.bind(pattern),
            Task::Declare(name, local) => self.declare(name, local),
            Task::CloseScope => self.close_scope(),
            Task::OpenTarget(target) => {
                if let Some(state) = self.stack.last_mut() {
                    state.targets.push(target);
                }
            }
            Task::CloseTarget => {
                if let Some(state) = self.stack.last_mut() {
                    state.targets.pop();
                }
            }
            Task::Loop(step) => self.loop_step(step),
            Task::BeginArity(form) => self.begin_arity(form),
            Task::EndArity => self.end_arity(),
            Task::EndFunction(span) => self.end_function(span),
        }
    }

    fn body(&mut self, forms: &[FormId], position: Position) {
        let Some((last, before)) = forms.split_last() else {
            self.emit(Op::Nil, Span::default());
            return;
        };
        let mut tasks = Vec::new();
        for form in before {
            tasks.push(Task::Value(*form, Position::Inner));
            tasks.push(Task::Step(Op::Pop, self.forms.span(*form)));
        }
        tasks.push(Task::Value(*last, position));
        self.schedule(tasks);
    }

    fn value(&mut self, id: FormId, position: Position) {
        let span = self.forms.span(id);
        if self.forms.is_constant(id) {
            let value = self.literal(id);
            self.push_constant(value, span);
            return;
        }
        match self.forms.kind(id).clone() {
            FormKind::Symbol(name) => self.symbol(&name, span),
            FormKind::List(elements) => self.list(id, &elements, position),
            FormKind::Vector(elements) => self.collection(&elements, Op::Vector, span),
            FormKind::Map(elements) => self.collection(&elements, Op::Map, span),
            FormKind::Set(elements) => self.collection(&elements, Op::Set, span),
            FormKind::ShortFunction { body, parameters, takes_rest } => {
                self.short_function(body, parameters, takes_rest, span);
            }
            _ => {}
        }
    }

    fn collection(&mut self, elements: &[FormId], op: fn(u32) -> Op, span: Span) {
        let count = match op(0) {
            Op::Map(_) => elements.len() / 2,
            _ => elements.len(),
        };
        let mut tasks: Vec<Task> = elements.iter().map(|id| Task::Value(*id, Position::Inner)).collect();
        tasks.push(Task::Step(op(to_u32(count)), span));
        self.schedule(tasks);
    }

    fn list(&mut self, id: FormId, elements: &[FormId], position: Position) {
        let span = self.forms.span(id);
        let Some((head, arguments)) = elements.split_first() else {
            self.push_constant(Value::list(Vec::new()), span);
            return;
        };
        let Some(name) = self.forms.symbol(*head).cloned() else {
            self.call_value(*head, arguments, span);
            return;
        };
        let is_shadowed = self.find(&name).is_some();
        if let Some(row) = forms::form_row(name.as_str())
            && (!is_shadowed || row.is_special)
        {
            (row.compile)(self, forms::Call { id, span, arguments, position });
            return;
        }
        if is_shadowed || self.is_defined(&name) {
            self.call_value(*head, arguments, span);
            return;
        }
        if let Some(tool) = name.as_str().strip_prefix("tool/") {
            self.call_tool(tool, arguments, span);
        } else if let Some(builtin) = builtins::id_of(name.as_str()) {
            self.check_meant(name.as_str(), arguments, span);
            self.call_builtin(builtin, arguments, span);
        } else if suggest::missing_feature(name.as_str()).is_some() && !self.names.memory.contains(name.as_str()) {
            // Its parts have a meaning only with it, so they aren't looked at.
            self.symbol(&name, self.forms.span(*head));
        } else {
            self.call_value(*head, arguments, span);
        }
    }

    /// A call of what the head evaluates to.
    fn call_value(&mut self, head: FormId, arguments: &[FormId], span: Span) {
        if let FormKind::Keyword(name) = self.forms.kind(head)
            && let [map] = arguments
        {
            let key = self.constant(Value::Keyword(name.clone()));
            self.schedule(vec![Task::Value(*map, Position::Inner), Task::Step(Op::Field(key), span)]);
            return;
        }
        self.check_callable(head, arguments.len());
        let mut tasks = vec![Task::Value(head, Position::Inner)];
        tasks.extend(arguments.iter().map(|id| Task::Value(*id, Position::Inner)));
        tasks.push(Task::Step(Op::Call(to_u32(arguments.len())), span));
        self.schedule(tasks);
    }

    fn check_callable(&mut self, head: FormId, count: usize) {
        if let FormKind::Keyword(name) = self.forms.kind(head)
            && !(1..=2).contains(&count)
        {
            let message = alloc::format!("a keyword called as a function doesn't take {count} arguments");
            let help = alloc::format!("call it with a map, and a default if you want: `(:{name} map default)`");
            self.problems.push(Problem::new(Reason::ArityError, self.forms.span(head), message).help(help));
        }
        let what = match self.forms.kind(head) {
            FormKind::Nil => "nil",
            FormKind::Bool(_) => "a boolean",
            FormKind::Int(_) | FormKind::Big(_) | FormKind::Float(_) => "a number",
            FormKind::Text(_) => "a string",
            _ => return,
        };
        let span = self.forms.span(head);
        let problem = Problem::new(Reason::AnalysisError, span, alloc::format!("{what} is called like a function"));
        self.problems
            .push(problem.help("write data as a vector, `[…]`; a list in round brackets calls its first element"));
    }

    fn call_builtin(&mut self, id: BuiltinId, arguments: &[FormId], span: Span) {
        self.check_tool(id, arguments);
        if builtins::row(id).is_some_and(|row| row.name == "not") {
            self.check_joined(arguments, "not");
        }
        if let Some(row) = builtins::row(id)
            && let Err(message) = row.check_arity(arguments.len())
        {
            let help = alloc::format!("it is called as {}", row.usage());
            self.problems.push(Problem::new(Reason::ArityError, span, message).help(help));
        }
        let mut tasks: Vec<Task> = arguments.iter().map(|id| Task::Value(*id, Position::Inner)).collect();
        tasks.push(Task::Step(Op::Builtin { id, count: to_u32(arguments.len()) }, span));
        self.schedule(tasks);
    }

    /// `(tool/name …)`: the arguments are one map, or keywords and values in turn.
    fn call_tool(&mut self, tool: &str, arguments: &[FormId], span: Span) {
        let name = self.forms.add(FormKind::Text(Text::from(tool)), span);
        let arguments = match arguments {
            [] | [_] => arguments.to_vec(),
            pairs => vec![self.forms.add(FormKind::Map(pairs.to_vec()), span)],
        };
        let mut all = vec![name];
        all.extend(arguments);
        if let Some(call) = builtins::id_of("call") {
            self.call_builtin(call, &all, span);
        }
    }

    fn problem(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem::new(Reason::AnalysisError, span, message).help(help));
    }
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn to_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
