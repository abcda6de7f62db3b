//! Names for values: `let` and its relatives, and destructuring.

use super::{FormId, FormKind, Op, Position, Resolver, Task, Text, Value, forms::Call, to_u32};
use alloc::{format, vec, vec::Vec};

/// The local that holds the map, and the names with their defaults.
struct MapPattern {
    local: u32,
    defaults: Vec<[FormId; 2]>,
}

impl Resolver {
    /// The pairs of a vector of bindings. A problem if it isn't one.
    pub(super) fn bindings(&mut self, call: &Call<'_>) -> Option<(Vec<[FormId; 2]>, Vec<FormId>)> {
        let pairs = call.arguments.first().and_then(|first| self.forms.vector(*first)).map(<[FormId]>::as_chunks::<2>);
        match pairs {
            Some((pairs, [])) => Some((pairs.to_vec(), call.arguments.get(1..).unwrap_or_default().to_vec())),
            Some(_) => {
                self.malformed(call, "has a name without a value");
                None
            }
            None => {
                self.malformed(call, "takes its bindings in a vector");
                None
            }
        }
    }

    pub(super) fn let_form(&mut self, call: Call<'_>) {
        let Some((pairs, body)) = self.bindings(&call) else { return };
        self.open_scope();
        let mut tasks = Vec::new();
        for [pattern, value] in pairs {
            tasks.extend([Task::Value(value, Position::Inner), Task::Bind(pattern)]);
        }
        tasks.extend([Task::Body(body, call.position), Task::CloseScope]);
        self.schedule(tasks);
    }

    pub(super) fn letfn(&mut self, call: Call<'_>) {
        let functions = call.arguments.first().and_then(|first| self.forms.vector(*first)).map(<[FormId]>::to_vec);
        let Some(functions) = functions else { return self.malformed(&call, "takes its functions in a vector") };
        let mut bindings = Vec::new();
        for function in functions {
            let span = self.forms.span(function);
            let Some(parts) = self.forms.list(function).map(<[FormId]>::to_vec) else {
                return self.malformed(&call, "takes functions as `(name [params] body)`");
            };
            let Some(name) = parts.first() else { return self.malformed(&call, "takes functions with a name") };
            self.letfn_names.extend(self.forms.symbol(*name).cloned());
            let made = self.our_call("fn", &parts, span);
            bindings.extend([*name, made]);
        }
        let bindings = self.forms.add(FormKind::Vector(bindings), call.span);
        let mut arguments = vec![bindings];
        arguments.extend(call.arguments.get(1..).unwrap_or_default());
        let rewritten = self.our_call("let", &arguments, call.span);
        self.schedule(vec![Task::Value(rewritten, call.position)]);
    }

    /// `if-let`, `if-some`, `when-let` and `when-some`.
    pub(super) fn if_let(&mut self, call: Call<'_>) {
        let name = self.name_of(&call);
        let Some((pairs, body)) = self.bindings(&call) else { return };
        let [[pattern, value]] = pairs.as_slice() else { return self.malformed(&call, "takes one name and its value") };
        let nil = self.nil_form(call.span);
        let (then, other) = match (name.as_str().starts_with("if"), body.as_slice()) {
            (true, [then]) => (vec![*then], nil),
            (true, [then, other]) => (vec![*then], *other),
            (true, _) => return self.malformed(&call, "takes one or two forms after the binding"),
            (false, _) => (body, nil),
        };
        self.open_scope();
        let local = self.local();
        let (middle, end) = (self.label(), self.label());
        let mut tasks = vec![
            Task::Value(*value, Position::Inner),
            Task::Step(Op::Store(local), call.span),
            Task::Step(Op::Local(local), call.span),
        ];
        if name.as_str().ends_with("some")
            && let Some(id) = crate::builtins::id_of("some?")
        {
            tasks.push(Task::Step(Op::Builtin { id, count: 1 }, call.span));
        }
        tasks.extend([
            Task::Step(Op::JumpIfFalse(middle.0), call.span),
            Task::Step(Op::Local(local), call.span),
            Task::Bind(*pattern),
            Task::Body(then, call.position),
            Task::CloseScope,
            Task::Step(Op::Jump(end.0), call.span),
            Task::Place(middle),
            Task::Value(other, call.position),
            Task::Place(end),
        ]);
        self.schedule(tasks);
    }

    /// Steps that pop a value into a pattern's names.
    pub(super) fn bind(&mut self, pattern: FormId) {
        let span = self.forms.span(pattern);
        match self.forms.kind(pattern).clone() {
            FormKind::Symbol(name) => {
                if name.as_str().contains('/') && name.as_str() != "/" {
                    self.problem(span, format!("`{name}` can't be a local name"), "use a name without a namespace");
                }
                let local = self.local();
                self.emit(Op::Store(local), span);
                self.declare(name, local);
            }
            FormKind::Vector(elements) => self.bind_vector(&elements, pattern),
            FormKind::Map(elements) => self.bind_map(&elements, pattern),
            _ => {
                self.problem(span, "this can't be given a value", "use a name, `[a b & rest]` or `{:keys [a b]}`");
                self.emit(Op::Pop, span);
            }
        }
    }

    fn bind_vector(&mut self, elements: &[FormId], pattern: FormId) {
        let span = self.forms.span(pattern);
        let local = self.local();
        self.emit(Op::Store(local), span);
        let mut tasks = Vec::new();
        let mut index: u32 = 0;
        let mut rest = elements;
        while let [first, after @ ..] = rest {
            let is_rest = self.forms.symbol(*first).is_some_and(|name| name.as_str() == "&");
            let is_all = matches!(self.forms.kind(*first), FormKind::Keyword(name) if name.as_str() == "as");
            rest = after;
            if !is_rest && !is_all {
                tasks.extend([
                    Task::Step(Op::Local(local), span),
                    Task::Step(Op::Element(index), self.forms.span(*first)),
                    Task::Bind(*first),
                ]);
                index = index.saturating_add(1);
                continue;
            }
            let [named, after @ ..] = rest else {
                self.problem(self.forms.span(*first), "a name is missing after this", "add the name");
                break;
            };
            rest = after;
            tasks.push(Task::Step(Op::Local(local), span));
            if is_rest {
                tasks.push(Task::Step(Op::Skip(index), span));
                if matches!(self.forms.kind(*named), FormKind::Map(_)) {
                    tasks.push(Task::Step(Op::KeywordArguments, span));
                }
            }
            tasks.push(Task::Bind(*named));
        }
        self.schedule(tasks);
    }

    fn bind_map(&mut self, elements: &[FormId], pattern: FormId) {
        let span = self.forms.span(pattern);
        let local = self.local();
        self.emit(Op::KeywordArguments, span);
        self.emit(Op::Store(local), span);
        let (pairs, _) = elements.as_chunks::<2>();
        let map = MapPattern { local, defaults: self.defaults(pairs) };
        let mut tasks = Vec::new();
        for [target, source] in pairs {
            let FormKind::Keyword(word) = self.forms.kind(*target).clone() else {
                self.bind_key(&mut tasks, &map, *target, *source);
                continue;
            };
            let (namespace, word) =
                word.as_str().rsplit_once('/').map_or(("", word.as_str()), |(space, word)| (space, word));
            match word {
                "or" => {}
                "as" => tasks.extend([Task::Step(Op::Local(local), span), Task::Bind(*source)]),
                "keys" | "strs" | "syms" => {
                    let names = self.forms.vector(*source).map(<[FormId]>::to_vec).unwrap_or_default();
                    for name in names {
                        self.bind_named(&mut tasks, &map, name, (namespace, word));
                    }
                }
                _ => self.problem(
                    self.forms.span(*target),
                    "a pattern has names or patterns before their keys",
                    "write `{name :key}` or `{:keys [name]}`",
                ),
            }
        }
        self.schedule(tasks);
    }

    fn defaults(&self, pairs: &[[FormId; 2]]) -> Vec<[FormId; 2]> {
        let is_or = |id: FormId| matches!(self.forms.kind(id), FormKind::Keyword(word) if word.as_str() == "or");
        let map = pairs.iter().find(|[target, _]| is_or(*target)).map(|[_, map]| *map);
        map.map(|map| self.forms.children(map).as_chunks::<2>().0.to_vec()).unwrap_or_default()
    }

    /// One name of `:keys`, `:strs` or `:syms`. `kind` is the namespace and the word.
    fn bind_named(&mut self, tasks: &mut Vec<Task>, map: &MapPattern, name: FormId, kind: (&str, &str)) {
        let span = self.forms.span(name);
        let full = match self.forms.kind(name) {
            FormKind::Symbol(name) | FormKind::Keyword(name) => name.clone(),
            _ => {
                self.problem(span, "this isn't a name", "list names after `:keys`");
                return;
            }
        };
        let short = Text::from(full.as_str().rsplit_once('/').map_or(full.as_str(), |(_, name)| name));
        let key = if kind.0.is_empty() { full } else { Text::from(format!("{}/{short}", kind.0)) };
        let key = match kind.1 {
            "strs" => FormKind::Text(key),
            "syms" => {
                let quote = self.forms.add(FormKind::Symbol(Text::from("quote")), span);
                let symbol = self.forms.add(FormKind::Symbol(key), span);
                FormKind::List(vec![quote, symbol])
            }
            _ => FormKind::Keyword(key),
        };
        let key = self.forms.add(key, span);
        let target = self.forms.add(FormKind::Symbol(short), span);
        self.bind_key(tasks, map, target, key);
    }

    fn bind_key(&mut self, tasks: &mut Vec<Task>, map: &MapPattern, target: FormId, key: FormId) {
        let span = self.forms.span(target);
        let name = self.forms.symbol(target);
        let default = map.defaults.iter().find(|[other, _]| name.is_some() && self.forms.symbol(*other) == name);
        let default = default.map(|[_, value]| *value);
        let found = self.label();
        tasks.extend([
            Task::Step(Op::Local(map.local), span),
            Task::Value(key, Position::Inner),
            Task::Step(Op::Lookup(found.0), span),
            default.map_or(Task::Step(Op::Nil, span), |default| Task::Value(default, Position::Inner)),
            Task::Place(found),
            Task::Bind(target),
        ]);
    }

    pub(super) fn constant_step(&mut self, value: Value) -> Op {
        Op::Const(self.constant(value))
    }
}

/// The first locals, in order.
pub(super) fn first_locals(count: usize) -> Vec<u32> {
    (0..to_u32(count)).collect()
}
