//! The table of forms: what isn't a function because it doesn't evaluate all its arguments.

use super::{
    FormId, FormKind, Op, Position, Resolver, Task, Value,
    names::{self, OURS},
};
use crate::builtins::Example;
use alloc::{format, vec, vec::Vec};
use proem_text::Span;

/// One form of the language.
pub(crate) struct FormRow {
    pub(crate) name: &'static str,
    /// How it is written, without the round brackets and the name.
    pub(crate) signature: &'static str,
    /// Its documentation, in a line.
    pub(crate) doc: &'static str,
    pub(crate) examples: &'static [Example],
    /// Whether a local of the same name doesn't hide it, as in Clojure.
    pub(super) is_special: bool,
    pub(super) compile: fn(&mut Resolver, Call<'_>),
}

/// A form that is being turned into steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) id: FormId,
    pub(super) span: Span,
    pub(super) arguments: &'a [FormId],
    pub(super) position: Position,
}

/// The row of a form's name, also with the mark of our own rewriting.
pub(super) fn form_row(name: &str) -> Option<&'static FormRow> {
    let name = name.strip_prefix(OURS).unwrap_or(name);
    FORMS.iter().find(|row| row.name == name)
}

const fn row(
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    compile: fn(&mut Resolver, Call<'_>),
) -> FormRow {
    FormRow { name, signature, doc, examples: &[], is_special: false, compile }
}

impl FormRow {
    const fn special(mut self) -> Self {
        self.is_special = true;
        self
    }

    const fn examples(mut self, examples: &'static [Example]) -> Self {
        self.examples = examples;
        self
    }
}

/// All forms, by theme.
pub(crate) const FORMS: &[FormRow] = &[
    row("def", "name value", "Defines a name, which memory keeps if the program succeeds.", Resolver::def)
        .special()
        .examples(&[("(do (def limit 3) (inc limit))", "4")]),
    row("defonce", "name value", "Defines a name unless it has a value.", Resolver::def)
        .examples(&[("(do (defonce a 1) (defonce a 2) a)", "1")]),
    row("defn", "name [params] body", "Defines a function.", Resolver::defn)
        .examples(&[("(do (defn twice [x] (* 2 x)) (twice 4))", "8")]),
    row("defn-", "name [params] body", "Defines a function, as `defn`.", Resolver::defn),
    row("declare", "names", "Announces names that are defined later.", Resolver::declare_names),
    row("fn", "name? [params] body", "Makes a function, with one or more arities.", Resolver::function_form)
        .special()
        .examples(&[("((fn [a & more] [a more]) 1 2 3)", "[1 (2 3)]"), ("((fn [{:keys [a]}] a) {:a 1})", "1")]),
    row("let", "[pattern value …] body", "Gives names to values.", Resolver::let_form)
        .special()
        .examples(&[("(let [[a b] [1 2] {:keys [c] :or {c 3}} {}] (+ a b c))", "6")]),
    row("letfn", "[(name [params] body) …] body", "Gives names to functions, each of which knows those before it.", Resolver::letfn)
        .examples(&[("(letfn [(twice [x] (* 2 x))] (twice 4))", "8")]),
    row("loop", "[pattern value …] body", "Gives names to values, which `recur` gives anew.", Resolver::loop_form)
        .special()
        .examples(&[("(loop [n 5 product 1] (if (zero? n) product (recur (dec n) (* product n))))", "120")]),
    row("recur", "values", "Goes back to the nearest `loop` or function with new values.", Resolver::recur).special(),
    row("if", "test then else?", "Evaluates one of two forms.", Resolver::if_form)
        .special()
        .examples(&[("(if (> 2 1) :yes :no)", ":yes"), ("(if nil :yes)", "nil")]),
    row("if-not", "test then else?", "Evaluates one of two forms, the first if the test fails.", Resolver::if_not)
        .examples(&[("(if-not false 1 2)", "1")]),
    row("if-let", "[pattern value] then else?", "Names a value if it is neither nil nor false.", Resolver::if_let)
        .examples(&[("(if-let [x (:a {:a 1})] (inc x) 0)", "2")]),
    row("if-some", "[pattern value] then else?", "Names a value if it isn't nil.", Resolver::if_let)
        .examples(&[("(if-some [x false] [x] 0)", "[false]")]),
    row("when", "test body", "Evaluates forms if the test holds, else gives nil.", Resolver::when)
        .examples(&[("(when true 1 2)", "2")]),
    row("when-not", "test body", "Evaluates forms if the test fails, else gives nil.", Resolver::when)
        .examples(&[("(when-not false 1)", "1")]),
    row("when-let", "[pattern value] body", "Names a value if it is neither nil nor false, else gives nil.", Resolver::if_let)
        .examples(&[("(when-let [[x] (seq [1 2])] x)", "1")]),
    row("when-some", "[pattern value] body", "Names a value if it isn't nil, else gives nil.", Resolver::if_let)
        .examples(&[("(when-some [x nil] 1)", "nil")]),
    row("when-first", "[pattern coll] body", "Names the first element of a collection that has one.", Resolver::when_first)
        .examples(&[("(when-first [x [7 8]] x)", "7")]),
    row("cond", "test value …", "Gives the value after the first test that holds; `:else` always holds.", Resolver::cond)
        .examples(&[("(cond (< 3 1) :a (< 1 3) :b :else :c)", ":b")]),
    row("condp", "f expression test value … default?", "Gives the value after the first test for which `(f test expression)` holds.", Resolver::condp)
        .examples(&[("(condp = 2 1 :one 2 :two :many)", ":two")]),
    row("case", "expression constant value … default?", "Gives the value after the constant that is equal.", Resolver::case)
        .examples(&[("(case :b :a 1 (:b :c) 2 3)", "2")]),
    row("do", "body", "Evaluates forms and gives the last value.", Resolver::do_form)
        .special()
        .examples(&[("(do 1 2)", "2")]),
    row("and", "tests", "Gives the first value that is nil or false, else the last.", Resolver::and_or)
        .examples(&[("(and 1 nil 2)", "nil"), ("(and 1 2)", "2"), ("(and)", "true")]),
    row("or", "tests", "Gives the first value that is neither nil nor false, else the last.", Resolver::and_or)
        .examples(&[("(or nil false 2)", "2"), ("(or)", "nil")]),
    row("->", "x forms", "Puts a value through forms as their first argument.", Resolver::thread)
        .examples(&[("(-> 5 inc (- 2))", "4")]),
    row("->>", "x forms", "Puts a value through forms as their last argument.", Resolver::thread)
        .examples(&[("(->> [1 2 3] (map inc) (reduce +))", "9")]),
    row("as->", "x name forms", "Puts a value through forms under a name.", Resolver::as_thread)
        .examples(&[("(as-> 5 x (+ x 1) [x x])", "[6 6]")]),
    row("cond->", "x test form …", "Puts a value through the forms whose tests hold, as their first argument.", Resolver::cond_thread)
        .examples(&[("(cond-> {} true (assoc :a 1) false (assoc :b 2))", "{:a 1}")]),
    row("cond->>", "x test form …", "Puts a value through the forms whose tests hold, as their last argument.", Resolver::cond_thread)
        .examples(&[("(cond->> [1 2] true (map inc))", "(2 3)")]),
    row("some->", "x forms", "As `->`, until a value is nil.", Resolver::some_thread)
        .examples(&[("(some-> {:a {:b 1}} :a :b inc)", "2"), ("(some-> {} :a inc)", "nil")]),
    row("some->>", "x forms", "As `->>`, until a value is nil.", Resolver::some_thread)
        .examples(&[("(some->> [1] (map inc))", "(2)")]),
    row("for", "[pattern coll …] body", "Gives the body's values for all elements; `:when`, `:while` and `:let` may follow a binding.", Resolver::for_form)
        .examples(&[("(for [x [1 2] y [:a :b] :when (= x 1)] [x y])", "([1 :a] [1 :b])")]),
    row("doseq", "[pattern coll …] body", "Evaluates forms for all elements and gives nil.", Resolver::for_form)
        .examples(&[("(doseq [x [1 2]] x)", "nil")]),
    row("dotimes", "[name n] body", "Evaluates forms for 0 to n − 1 and gives nil.", Resolver::dotimes)
        .examples(&[("(dotimes [i 3] i)", "nil")]),
    row("while", "test body", "Evaluates forms as long as the test holds and gives nil.", Resolver::while_form)
        .examples(&[("(do (def n 3) (while (pos? n) (def n (dec n))) n)", "0")]),
    row("comment", "anything", "Evaluates nothing and gives nil.", Resolver::nothing)
        .examples(&[("(comment 1 2)", "nil")]),
    row("ns", "anything", "Does nothing: all functions are there.", Resolver::nothing),
    row("require", "anything", "Does nothing: all functions are there.", Resolver::nothing),
    row("quote", "form", "Gives a form as data.", Resolver::quote)
        .special()
        .examples(&[("'(a 1)", "(a 1)")]),
    row("where", "key op? value?", "Makes a predicate: `=` `not=` `<` `<=` `>` `>=` `includes` `in` compare a key's value; a vector of keys is a path.", Resolver::where_form)
        .examples(&[("(filter (where :n > 1) [{:n 1} {:n 2} {}])", "({:n 2})"), ("((where [:a :b]) {:a {:b 1}})", "true")]),
];

impl Resolver {
    pub(super) fn ours(&mut self, name: &str, span: Span) -> FormId {
        self.forms.add(FormKind::Symbol(crate::value::Text::from(format!("{OURS}{name}"))), span)
    }

    /// A list that calls a form or builtin, whatever its name means in the source.
    pub(super) fn our_call(&mut self, name: &str, arguments: &[FormId], span: Span) -> FormId {
        let mut elements = vec![self.ours(name, span)];
        elements.extend(arguments);
        self.forms.add(FormKind::List(elements), span)
    }

    pub(super) fn nil_form(&mut self, span: Span) -> FormId {
        self.forms.add(FormKind::Nil, span)
    }

    pub(super) fn name_of(&self, call: &Call<'_>) -> crate::value::Text {
        let head = self.forms.list(call.id).and_then(|elements| elements.first());
        let name = head.and_then(|id| self.forms.symbol(*id)).cloned().unwrap_or_else(|| "".into());
        name.as_str().strip_prefix(OURS).map_or(name.clone(), Into::into)
    }

    /// Says how the form is written, and goes on with nil.
    pub(super) fn malformed(&mut self, call: &Call<'_>, message: &str) {
        let name = self.name_of(call);
        let signature = form_row(name.as_str()).map_or("", |row| row.signature);
        self.problem(call.span, format!("`{name}` {message}"), format!("write it as `({name} {signature})`"));
        self.emit(Op::Nil, call.span);
    }

    fn def(&mut self, call: Call<'_>) {
        let is_once = self.name_of(&call).as_str() == "defonce";
        let (name, value) = match call.arguments {
            [name] => (*name, self.nil_form(call.span)),
            [name, value] => (*name, *value),
            // A docstring is between the two.
            [name, doc, value] if matches!(self.forms.kind(*doc), FormKind::Text(_)) => (*name, *value),
            _ => return self.malformed(&call, "takes a name and a value"),
        };
        let Some(symbol) = self.forms.symbol(name).cloned() else {
            return self.malformed(&call, "takes a name first");
        };
        if symbol.as_str().contains('/') && symbol.as_str() != "/" {
            return self.malformed(&call, "takes a name without a namespace");
        }
        self.check_definable(symbol.as_str(), self.forms.span(name));
        let is_builtin = names::is_builtin(symbol.as_str());
        if is_builtin && self.forms.is_constant(value) {
            let mut problem = names::data_hides_function(symbol.as_str()).at(self.forms.span(name));
            problem.reason = crate::Reason::AnalysisError;
            self.problems.push(problem);
        }
        let key = self.constant(Value::Keyword(symbol));
        let define = if is_builtin { Op::DefineFunction(key) } else { Op::Define(key) };
        if is_once {
            let end = self.label();
            self.schedule(vec![
                Task::Step(Op::DefineOnce(key), call.span),
                Task::Step(Op::Jump(end.0), call.span),
                Task::Value(value, Position::Inner),
                Task::Step(define, call.span),
                Task::Place(end),
            ]);
        } else {
            self.schedule(vec![Task::Value(value, Position::Inner), Task::Step(define, call.span)]);
        }
    }

    fn declare_names(&mut self, call: Call<'_>) {
        self.emit(Op::Nil, call.span);
    }

    fn do_form(&mut self, call: Call<'_>) {
        if call.arguments.is_empty() {
            self.emit(Op::Nil, call.span);
        } else {
            self.schedule(vec![Task::Body(call.arguments.to_vec(), call.position)]);
        }
    }

    fn quote(&mut self, call: Call<'_>) {
        let [form] = call.arguments else { return self.malformed(&call, "takes one form") };
        if let Some(name) = self.forms.symbol(*form)
            && name.as_str().ends_with('\'')
            && !names::is_builtin(name.as_str())
        {
            let message = format!("`'{}` is a symbol, not text", crate::reader::excerpt(name.as_str()));
            let help = format!("write text in double quotes: `\"{}\"`", name.as_str().trim_end_matches('\''));
            self.problem(self.forms.span(*form), message, help);
        }
        let value = self.literal(*form);
        self.push_constant(value, call.span);
    }

    fn nothing(&mut self, call: Call<'_>) {
        self.emit(Op::Nil, call.span);
    }

    pub(super) fn if_form(&mut self, call: Call<'_>) {
        let (test, then, other) = match call.arguments {
            [test, then] => (*test, *then, self.nil_form(call.span)),
            [test, then, other] => (*test, *then, *other),
            _ => return self.malformed(&call, "takes a test and one or two forms"),
        };
        let (middle, end) = (self.label(), self.label());
        self.schedule(vec![
            Task::Value(test, Position::Inner),
            Task::Step(Op::JumpIfFalse(middle.0), call.span),
            Task::Value(then, call.position),
            Task::Step(Op::Jump(end.0), call.span),
            Task::Place(middle),
            Task::Value(other, call.position),
            Task::Place(end),
        ]);
    }

    fn and_or(&mut self, call: Call<'_>) {
        let is_and = self.name_of(&call).as_str() == "and";
        // The last operand of `or` may be the predicate that is used if there is no other.
        let joined =
            if is_and { call.arguments } else { call.arguments.split_last().map_or(&[][..], |(_, before)| before) };
        self.check_joined(joined, if is_and { "and" } else { "or" });
        let Some((last, before)) = call.arguments.split_last() else {
            return self.push_constant(if is_and { Value::bool(true) } else { Value::Nil }, call.span);
        };
        let end = self.label();
        let op = if is_and { Op::JumpIfFalseElsePop(end.0) } else { Op::JumpIfTrueElsePop(end.0) };
        let mut tasks = Vec::new();
        for test in before {
            tasks.push(Task::Value(*test, Position::Inner));
            tasks.push(Task::Step(op, self.forms.span(*test)));
        }
        tasks.push(Task::Value(*last, call.position));
        tasks.push(Task::Place(end));
        self.schedule(tasks);
    }

    /// A predicate that `where` and its relatives make is a function, so `and`, `or` and `not` take it as true.
    pub(super) fn check_joined(&mut self, operands: &[FormId], joiner: &str) {
        let makers = ["where", "all-of", "any-of", "none-of"];
        for operand in operands {
            let head = self.forms.list(*operand).and_then(|elements| elements.first());
            let name = head.and_then(|head| self.forms.symbol(*head)).cloned();
            let Some(name) = name.filter(|name| makers.contains(&name.as_str()) && !self.is_defined(name)) else {
                continue;
            };
            let instead = match joiner {
                "and" => "join predicates with `(all-of f g)`",
                "or" => "join predicates with `(any-of f g)`",
                _ => "turn a predicate round with `(none-of f)` or `complement`",
            };
            let message = format!("`{name}` makes a predicate, which `{joiner}` takes as true");
            self.problem(self.forms.span(*operand), message, instead);
        }
    }

    fn cond(&mut self, call: Call<'_>) {
        let end = self.label();
        let mut tasks = Vec::new();
        let (clauses, rest) = call.arguments.as_chunks::<2>();
        if !rest.is_empty() {
            return self.malformed(&call, "takes a value after each test");
        }
        for [test, value] in clauses {
            let next = self.label();
            tasks.push(Task::Value(*test, Position::Inner));
            tasks.push(Task::Step(Op::JumpIfFalse(next.0), self.forms.span(*test)));
            tasks.push(Task::Value(*value, call.position));
            tasks.push(Task::Step(Op::Jump(end.0), call.span));
            tasks.push(Task::Place(next));
        }
        tasks.push(Task::Step(Op::Nil, call.span));
        tasks.push(Task::Place(end));
        self.schedule(tasks);
    }

    fn case(&mut self, call: Call<'_>) {
        let Some((subject, clauses)) = call.arguments.split_first() else {
            return self.malformed(&call, "takes an expression");
        };
        let (clauses, default) = clauses.as_chunks::<2>();
        self.open_scope();
        let local = self.local();
        let end = self.label();
        let mut tasks = vec![Task::Value(*subject, Position::Inner), Task::Step(Op::Store(local), call.span)];
        for [constant, value] in clauses {
            let next = self.label();
            let span = self.forms.span(*constant);
            // A list holds several constants.
            let constants = self.forms.list(*constant).map_or_else(|| vec![*constant], <[FormId]>::to_vec);
            let set = self.forms.add(FormKind::Set(constants), span);
            let set = self.literal(set);
            let set = self.constant(set);
            let Some(contains) = crate::builtins::id_of("contains?") else { return };
            tasks.extend([
                Task::Step(Op::Const(set), span),
                Task::Step(Op::Local(local), span),
                Task::Step(Op::Builtin { id: contains, count: 2 }, span),
                Task::Step(Op::JumpIfFalse(next.0), span),
                Task::Value(*value, call.position),
                Task::Step(Op::Jump(end.0), span),
                Task::Place(next),
            ]);
        }
        match default {
            [default] => tasks.push(Task::Value(*default, call.position)),
            _ => tasks.extend([Task::Step(Op::Local(local), call.span), Task::Step(Op::NoClause, call.span)]),
        }
        tasks.extend([Task::Place(end), Task::CloseScope]);
        self.schedule(tasks);
    }

    /// `(where :k > v)`: the operator is a name that represents no value.
    fn where_form(&mut self, call: Call<'_>) {
        let span = call.span;
        let rewritten = match call.arguments {
            [key] => self.our_call("where/present", &[*key], span),
            [key, operator, value] => {
                let name = self.forms.symbol(*operator).cloned();
                let known = ["=", "not=", "<", "<=", ">", ">=", "includes", "in"];
                let Some(name) = name.filter(|name| known.contains(&name.as_str())) else {
                    self.problem(
                        self.forms.span(*operator),
                        "`where` doesn't know this operator",
                        format!("the operators are `{}`", known.join("`, `")),
                    );
                    return self.emit(Op::Nil, span);
                };
                self.our_call(&format!("where/{name}"), &[*key, *value], span)
            }
            _ => return self.malformed(&call, "takes a key, or a key, an operator and a value"),
        };
        self.schedule(vec![Task::Value(rewritten, call.position)]);
    }
}
