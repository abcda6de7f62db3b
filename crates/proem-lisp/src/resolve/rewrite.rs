//! Forms that are written in terms of others.

use super::{FormId, FormKind, Op, Position, Resolver, Task, forms::Call};
use alloc::{vec, vec::Vec};

impl Resolver {
    fn rewrite(&mut self, id: FormId, position: Position) {
        self.schedule(vec![Task::Value(id, position)]);
    }

    pub(super) fn if_not(&mut self, call: Call<'_>) {
        let (test, then, other) = match call.arguments {
            [test, then] => (*test, *then, self.nil_form(call.span)),
            [test, then, other] => (*test, *then, *other),
            _ => return self.malformed(&call, "takes a test and one or two forms"),
        };
        let rewritten = self.our_call("if", &[test, other, then], call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn when(&mut self, call: Call<'_>) {
        let Some((test, body)) = call.arguments.split_first() else { return self.malformed(&call, "takes a test") };
        let body = self.our_call("do", body, call.span);
        let nil = self.nil_form(call.span);
        let arms = if self.name_of(&call).as_str() == "when" { [*test, body, nil] } else { [*test, nil, body] };
        let rewritten = self.our_call("if", &arms, call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn when_first(&mut self, call: Call<'_>) {
        let Some((binding, body)) = call.arguments.split_first() else {
            return self.malformed(&call, "takes a binding");
        };
        let Some([pattern, coll]) = self.forms.vector(*binding) else {
            return self.malformed(&call, "takes a binding of one name");
        };
        let (pattern, coll) = (*pattern, *coll);
        let hidden = self.hidden_symbol(call.span);
        let seq = self.our_call("seq", &[coll], call.span);
        let outer = self.forms.add(FormKind::Vector(vec![hidden, seq]), call.span);
        let first = self.our_call("first", &[hidden], call.span);
        let inner = self.forms.add(FormKind::Vector(vec![pattern, first]), call.span);
        let mut arguments = vec![inner];
        arguments.extend(body);
        let inner = self.our_call("let", &arguments, call.span);
        let rewritten = self.our_call("when-let", &[outer, inner], call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn condp(&mut self, call: Call<'_>) {
        let [predicate, expression, clauses @ ..] = call.arguments else {
            return self.malformed(&call, "takes a function and an expression");
        };
        let span = call.span;
        let (test, subject) = (self.hidden_symbol(span), self.hidden_symbol(span));
        let bindings = self.forms.add(FormKind::Vector(vec![test, *predicate, subject, *expression]), span);
        let mut conditions = Vec::new();
        let mut rest = clauses;
        loop {
            match rest {
                [] => {
                    let failing = self.our_call("condp/no-clause", &[subject], span);
                    conditions.extend([self.forms.add(FormKind::Bool(true), span), failing]);
                    break;
                }
                [default] => {
                    conditions.extend([self.forms.add(FormKind::Bool(true), span), *default]);
                    break;
                }
                [constant, arrow, function, after @ ..] if self.is_arrow(*arrow) => {
                    // The function gets what the test gave, so the test is made twice: it is pure or cheap.
                    let made = self.forms.add(FormKind::List(vec![test, *constant, subject]), span);
                    let called = self.forms.add(FormKind::List(vec![*function, made]), span);
                    conditions.extend([made, called]);
                    rest = after;
                }
                [constant, value, after @ ..] => {
                    let made = self.forms.add(FormKind::List(vec![test, *constant, subject]), span);
                    conditions.extend([made, *value]);
                    rest = after;
                }
            }
        }
        let cond = self.our_call("cond", &conditions, span);
        let rewritten = self.our_call("let", &[bindings, cond], span);
        self.rewrite(rewritten, call.position);
    }

    fn is_arrow(&self, id: FormId) -> bool {
        matches!(self.forms.kind(id), FormKind::Keyword(name) if name.as_str() == ">>")
    }

    /// The form with a value as its first or last argument.
    fn threaded(&mut self, value: FormId, form: FormId, is_last: bool) -> FormId {
        let span = self.forms.span(form);
        let elements = match self.forms.list(form) {
            Some([head, arguments @ ..]) => {
                let mut elements = vec![*head];
                if is_last {
                    elements.extend(arguments);
                    elements.push(value);
                } else {
                    elements.push(value);
                    elements.extend(arguments);
                }
                elements
            }
            _ => vec![form, value],
        };
        self.forms.add(FormKind::List(elements), span)
    }

    pub(super) fn thread(&mut self, call: Call<'_>) {
        let Some((first, forms)) = call.arguments.split_first() else { return self.malformed(&call, "takes a value") };
        let is_last = self.name_of(&call).as_str() == "->>";
        let mut value = *first;
        for form in forms {
            value = self.threaded(value, *form, is_last);
        }
        self.rewrite(value, call.position);
    }

    pub(super) fn as_thread(&mut self, call: Call<'_>) {
        let [first, name, forms @ ..] = call.arguments else {
            return self.malformed(&call, "takes a value and a name");
        };
        let mut bindings = vec![*name, *first];
        for form in forms {
            bindings.extend([*name, *form]);
        }
        let bindings = self.forms.add(FormKind::Vector(bindings), call.span);
        let rewritten = self.our_call("let", &[bindings, *name], call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn cond_thread(&mut self, call: Call<'_>) {
        let Some((first, clauses)) = call.arguments.split_first() else {
            return self.malformed(&call, "takes a value");
        };
        let (clauses, rest) = clauses.as_chunks::<2>();
        if !rest.is_empty() {
            return self.malformed(&call, "takes a form after each test");
        }
        let is_last = self.name_of(&call).as_str() == "cond->>";
        let hidden = self.hidden_symbol(call.span);
        let mut bindings = vec![hidden, *first];
        for [test, form] in clauses {
            let step = self.threaded(hidden, *form, is_last);
            let either = self.our_call("if", &[*test, step, hidden], call.span);
            bindings.extend([hidden, either]);
        }
        let bindings = self.forms.add(FormKind::Vector(bindings), call.span);
        let rewritten = self.our_call("let", &[bindings, hidden], call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn some_thread(&mut self, call: Call<'_>) {
        let Some((first, forms)) = call.arguments.split_first() else { return self.malformed(&call, "takes a value") };
        let is_last = self.name_of(&call).as_str() == "some->>";
        let hidden = self.hidden_symbol(call.span);
        let mut bindings = vec![hidden, *first];
        for form in forms {
            let step = self.threaded(hidden, *form, is_last);
            let is_nil = self.our_call("nil?", &[hidden], call.span);
            let nil = self.nil_form(call.span);
            let either = self.our_call("if", &[is_nil, nil, step], call.span);
            bindings.extend([hidden, either]);
        }
        let bindings = self.forms.add(FormKind::Vector(bindings), call.span);
        let rewritten = self.our_call("let", &[bindings, hidden], call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn dotimes(&mut self, call: Call<'_>) {
        let Some((binding, body)) = call.arguments.split_first() else {
            return self.malformed(&call, "takes a binding");
        };
        let Some([name, count]) = self.forms.vector(*binding) else {
            return self.malformed(&call, "takes a binding of one name");
        };
        let (name, count) = (*name, *count);
        let range = self.our_call("range", &[count], call.span);
        let bindings = self.forms.add(FormKind::Vector(vec![name, range]), call.span);
        let mut arguments = vec![bindings];
        arguments.extend(body);
        let rewritten = self.our_call("doseq", &arguments, call.span);
        self.rewrite(rewritten, call.position);
    }

    pub(super) fn while_form(&mut self, call: Call<'_>) {
        let Some((test, body)) = call.arguments.split_first() else { return self.malformed(&call, "takes a test") };
        let (start, end) = (self.label(), self.label());
        self.schedule(vec![
            Task::Place(start),
            Task::Value(*test, Position::Inner),
            Task::Step(Op::JumpIfFalse(end.0), call.span),
            Task::Body(body.to_vec(), Position::Inner),
            Task::Step(Op::Pop, call.span),
            Task::Step(Op::Jump(start.0), call.span),
            Task::Place(end),
            Task::Step(Op::Nil, call.span),
        ]);
    }
}
