//! A machine as bytes: its programs as sources, all objects, and what refers to them.

use super::{
    MAGIC, StateError, TABLE_SUM, VERSION,
    graph::{Object, Scan, scan_constants, scan_machine},
    limit_numbers,
    numbers::Numbers,
    objects::{AUDIENCES, tag},
    output::Output,
};
use crate::{
    code::{Closure, Program},
    error::{Fault, Reason},
    machine::{
        Machine, ToolAnswer,
        frame::{Fiber, Frame},
    },
    value::{BuiltinId, Child, Element, Entry, Flow, Map, Node, Stream, StreamKind, Trie, Value},
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use num_bigint::Sign;
use proem_text::{Label, Sources};

type Written = Result<(), StateError>;

pub(super) fn write_machine(machine: &Machine, most: usize) -> Result<Vec<u8>, StateError> {
    let mut writer = Writer {
        out: Output::new(most),
        numbers: Numbers::new(),
        programs: BTreeMap::new(),
        prelude: Vec::new(),
        labels: machine.context.flow.labels.iter().cloned().collect(),
    };
    writer.out.raw(MAGIC)?;
    writer.out.byte(VERSION)?;
    writer.out.raw(&TABLE_SUM.to_le_bytes())?;
    limit_numbers(machine.context.meter.limits()).into_iter().try_for_each(|number| writer.out.number(number))?;
    writer.labels()?;
    let scan = scan_machine(machine);
    writer.programs(machine, &scan)?;
    writer.objects(&scan)?;
    writer.machine(machine)?;
    Ok(writer.out.into_bytes())
}

struct Writer {
    out: Output,
    numbers: Numbers,
    /// The number of each program by its address.
    programs: BTreeMap<usize, usize>,
    /// The functions of the table that are programs, in the order of their numbers, which are the first.
    prelude: Vec<BuiltinId>,
    /// All labels in their order.
    labels: Vec<Label>,
}

impl Writer {
    fn labels(&mut self) -> Written {
        let labels = core::mem::take(&mut self.labels);
        self.out.size(labels.len())?;
        for label in &labels {
            let audience = AUDIENCES.iter().position(|audience| *audience == label.audience());
            self.out.size(audience.unwrap_or_default())?;
            self.out.byte(u8::from(label.is_secret()))?;
            match label.sources() {
                Sources::Many => self.out.byte(tag::SOURCES_MANY)?,
                Sources::Named(named) => {
                    self.out.byte(tag::SOURCES_NAMED)?;
                    self.out.size(named.len())?;
                    named.iter().try_for_each(|source| self.out.text(source.as_str()))?;
                }
            }
        }
        self.labels = labels;
        Ok(())
    }

    /// 0 for none, else the number of the label and 1.
    fn flow(&mut self, flow: &Flow) -> Written {
        let Some(label) = flow.label() else { return self.out.size(0) };
        let place = self.labels.binary_search(label).map_err(|_| StateError::Malformed("a label was not found"))?;
        self.out.size(place.saturating_add(1))
    }

    /// The programs, with numbers for the objects that their sources give.
    fn programs(&mut self, machine: &Machine, scan: &Scan<'_>) -> Written {
        let own: Vec<BuiltinId> = machine.prelude.keys().copied().collect();
        let others = scan.prelude.iter().copied().filter(|id| !machine.prelude.contains_key(id));
        let others: Vec<BuiltinId> = others.collect();
        for ids in [&own, &others] {
            self.out.size(ids.len())?;
            ids.iter().try_for_each(|id| self.out.number(u64::from(id.0)))?;
        }
        for closure in machine.prelude.values() {
            self.number_constants(&closure.program);
            self.number(Object::Closure(closure));
        }
        // The objects of others aren't here, but resolving them again gives as many.
        self.prelude = own.into_iter().chain(others).collect();
        self.out.size(scan.programs.len())?;
        for program in &scan.programs {
            let number = self.prelude.len().saturating_add(self.programs.len());
            self.programs.insert(Arc::as_ptr(program).addr(), number);
            self.number_constants(program);
            self.out.text(program.source())?;
            for names in [&program.names.memory, &program.names.functions] {
                self.out.size(names.len())?;
                names.iter().try_for_each(|name| self.out.text(name))?;
            }
        }
        Ok(())
    }

    fn number_constants(&mut self, program: &Program) {
        scan_constants(program).into_iter().for_each(|object| self.number(object));
    }

    fn number(&mut self, object: Object<'_>) {
        self.numbers.add(object.address());
    }

    fn objects(&mut self, scan: &Scan<'_>) -> Written {
        let mut new = Vec::new();
        for object in &scan.order {
            if self.numbers.get(object.address()).is_none() {
                self.number(*object);
                new.push(*object);
            }
        }
        self.out.size(new.len())?;
        new.into_iter().try_for_each(|object| self.object(object))
    }

    fn reference(&mut self, object: Object<'_>) -> Written {
        let number = self.numbers.get(object.address());
        self.out.size(number.ok_or(StateError::Malformed("an object was not found"))?)
    }

    fn value(&mut self, value: &Value) -> Written {
        let tag = match value {
            Value::Nil => return self.out.byte(tag::NIL),
            Value::Bool(truth) => return self.out.byte(if truth.get() { tag::TRUE } else { tag::FALSE }),
            Value::Int(int) => {
                self.out.byte(tag::INT)?;
                return self.out.signed(*int);
            }
            Value::Float(float) => {
                self.out.byte(tag::FLOAT)?;
                return self.out.raw(&float.get().to_bits().to_le_bytes());
            }
            Value::Builtin(id) => {
                self.out.byte(tag::BUILTIN)?;
                return self.out.number(u64::from(id.get().0));
            }
            Value::Text(_) => tag::TEXT,
            Value::Keyword(_) => tag::KEYWORD,
            Value::Symbol(_) => tag::SYMBOL,
            _ => tag::OBJECT,
        };
        self.out.byte(tag)?;
        Object::of(value).map_or(Ok(()), |object| self.reference(object))
    }

    fn values(&mut self, values: &[Value]) -> Written {
        self.out.size(values.len())?;
        values.iter().try_for_each(|value| self.value(value))
    }

    fn object(&mut self, object: Object<'_>) -> Written {
        match object {
            Object::Text(text) => {
                self.out.byte(tag::OBJECT_TEXT)?;
                self.out.text(text.as_str())
            }
            Object::Big(big) => {
                self.out.byte(tag::OBJECT_BIG)?;
                self.out.byte(u8::from(big.sign() == Sign::Minus))?;
                let bytes = big.magnitude().to_bytes_le();
                self.out.size(bytes.len())?;
                self.out.raw(&bytes)
            }
            // Nodes are objects of their own, because two vectors that share elements must still share them when the
            // state is read again: otherwise a program's memory would grow by being resumed.
            Object::Elements(node) => match &**node {
                Node::Branch(children) => self.branch(tag::OBJECT_ELEMENTS_ABOVE, children, Object::Elements),
                Node::Leaf(chunk) => {
                    self.out.byte(tag::OBJECT_ELEMENTS)?;
                    self.values(chunk.as_slice())
                }
            },
            Object::Entries(node) => match &**node {
                Node::Branch(children) => self.branch(tag::OBJECT_ENTRIES_ABOVE, children, Object::Entries),
                Node::Leaf(chunk) => {
                    self.out.byte(tag::OBJECT_ENTRIES)?;
                    self.entries(chunk.as_slice())
                }
            },
            Object::Branch(branch) => {
                self.out.byte(tag::OBJECT_BRANCH)?;
                self.out.number(u64::from(branch.bits))?;
                branch.children.iter().try_for_each(|child| self.child(child))
            }
            Object::Places(places) => {
                self.out.byte(tag::OBJECT_PLACES)?;
                self.out.size(places.len())?;
                places.iter().try_for_each(|place| self.out.number(u64::from(*place)))
            }
            Object::Vector(vector) => {
                self.out.byte(tag::OBJECT_VECTOR)?;
                self.trie(vector)
            }
            Object::List(list) => {
                let (front, back, start) = list.parts();
                self.out.byte(tag::OBJECT_LIST)?;
                self.trie(front)?;
                // Many views share one vector, so the back is named and not written out.
                self.reference(Object::Vector(back))?;
                self.out.size(start)
            }
            Object::Map(map) => {
                self.out.byte(tag::OBJECT_MAP)?;
                self.map(map)
            }
            Object::Set(set) => {
                self.out.byte(tag::OBJECT_SET)?;
                self.map(&set.0)
            }
            Object::Stream(stream) => {
                self.out.byte(tag::OBJECT_STREAM)?;
                self.stream(stream)
            }
            Object::Closure(closure) => {
                self.out.byte(tag::OBJECT_CLOSURE)?;
                self.closure(closure)
            }
            Object::Regex(pattern) => {
                self.out.byte(tag::OBJECT_REGEX)?;
                self.out.text(pattern.source())
            }
            Object::Reduced(inner) => {
                self.out.byte(tag::OBJECT_REDUCED)?;
                self.value(inner.as_slice().first().unwrap_or(&Value::Nil))
            }
            Object::Labelled(labelled) => {
                self.out.byte(tag::OBJECT_LABELLED)?;
                self.flow(labelled.flow())?;
                self.value(labelled.value())
            }
        }
    }

    fn branch<'a, T: Element>(
        &mut self,
        tag: u8,
        children: &'a [Arc<Node<T>>],
        object: fn(&'a Arc<Node<T>>) -> Object<'a>,
    ) -> Written {
        self.out.byte(tag)?;
        self.out.size(children.len())?;
        children.iter().try_for_each(|child| self.reference(object(child)))
    }

    fn child(&mut self, child: &Child) -> Written {
        match child {
            Child::Branch(below) => {
                self.out.byte(tag::CHILD_BRANCH)?;
                self.reference(Object::Branch(below))
            }
            Child::One { hash, place } => {
                self.out.byte(tag::CHILD_ONE)?;
                self.out.raw(&hash.to_le_bytes())?;
                self.out.number(u64::from(*place))
            }
            Child::Several { hash, places } => {
                self.out.byte(tag::CHILD_SEVERAL)?;
                self.out.raw(&hash.to_le_bytes())?;
                self.reference(Object::Places(places))
            }
        }
    }

    fn trie(&mut self, trie: &Trie<Value>) -> Written {
        let (root, tail) = trie.parts();
        self.optional(root.map(Object::Elements))?;
        self.values(tail)
    }

    fn map(&mut self, map: &Map) -> Written {
        let (entries, index) = map.parts();
        let (root, tail) = entries.parts();
        self.optional(root.map(Object::Entries))?;
        self.entries(tail)?;
        self.optional(index.map(|index| Object::Branch(&index.root)))
    }

    fn optional(&mut self, object: Option<Object<'_>>) -> Written {
        self.out.byte(u8::from(object.is_some()))?;
        object.map_or(Ok(()), |object| self.reference(object))
    }

    fn entries(&mut self, entries: &[Option<Entry>]) -> Written {
        self.out.size(entries.len())?;
        for entry in entries {
            self.out.byte(u8::from(entry.is_some()))?;
            if let Some(Entry { key, value }) = entry {
                self.value(key)?;
                self.value(value)?;
            }
        }
        Ok(())
    }

    fn stream(&mut self, stream: &Stream) -> Written {
        let count = |out: &mut Output, kind: u8, count: Option<usize>| {
            out.byte(kind)?;
            out.byte(u8::from(count.is_some()))?;
            count.map_or(Ok(()), |count| out.size(count))
        };
        match stream.kind {
            StreamKind::Range { start, step, count: all } => {
                count(&mut self.out, tag::STREAM_RANGE, all)?;
                self.out.signed(start)?;
                self.out.signed(step)?;
            }
            StreamKind::Repeat { count: all } => count(&mut self.out, tag::STREAM_REPEAT, all)?,
            StreamKind::Cycle { start } => {
                self.out.byte(tag::STREAM_CYCLE)?;
                self.out.size(start)?;
            }
            StreamKind::Computed => self.out.byte(tag::STREAM_COMPUTED)?,
        }
        self.values(stream.parts.as_slice())
    }

    fn closure(&mut self, closure: &Closure) -> Written {
        let number = match closure.program.prelude {
            Some(id) => self.prelude.iter().position(|other| *other == id),
            None => self.programs.get(&Arc::as_ptr(&closure.program).addr()).copied(),
        };
        self.out.size(number.ok_or(StateError::Malformed("a program was not found"))?)?;
        self.out.size(closure.function)?;
        self.values(closure.captures.as_slice())
    }

    fn machine(&mut self, machine: &Machine) -> Written {
        let context = &machine.context;
        let inputs = &context.inputs;
        for value in [&inputs.context, &inputs.memory, &inputs.budget].into_iter().chain(&inputs.history) {
            self.value(value)?;
        }
        self.reference(Object::Map(&context.memory))?;
        let (fuel, bytes, count_at) = context.meter.counts();
        self.out.number(fuel)?;
        for size in [bytes, count_at, context.tool_calls, context.printed] {
            self.out.size(size)?;
        }
        self.out.text(&context.output)?;
        let flow = &context.flow;
        [&flow.met, &flow.floor, &flow.memory, &flow.output].into_iter().try_for_each(|flow| self.flow(flow))?;
        self.out.number(machine.next_call)?;
        self.values(&machine.exchanged)?;
        self.out.size(machine.fibers.len())?;
        for fiber in &machine.fibers {
            self.out.byte(u8::from(fiber.is_some()))?;
            if let Some(fiber) = fiber {
                self.fiber(fiber)?;
            }
        }
        self.out.size(machine.ready.len())?;
        machine.ready.iter().try_for_each(|fiber| self.out.size(*fiber))?;
        self.out.size(machine.calls.len())?;
        for pending in &machine.calls {
            self.out.number(pending.id.0)?;
            self.reference(Object::Text(&pending.name))?;
            self.value(&pending.args)?;
            self.flow(&pending.pc)?;
            self.flow(&pending.floor)?;
            self.out.size(pending.fiber)?;
            self.answer(pending.answer.as_ref())?;
        }
        Ok(())
    }

    fn answer(&mut self, answer: Option<&ToolAnswer>) -> Written {
        match answer {
            None => self.out.byte(tag::ANSWER_NONE),
            Some(ToolAnswer::Value(value)) => {
                self.out.byte(tag::ANSWER_VALUE)?;
                self.value(value)
            }
            Some(ToolAnswer::Problem(fault)) => {
                self.out.byte(tag::ANSWER_PROBLEM)?;
                self.fault(fault)
            }
        }
    }

    fn fault(&mut self, fault: &Fault) -> Written {
        let (help, is_usage) = fault.remedy();
        let reason = Reason::ALL.iter().position(|reason| *reason == fault.reason());
        self.out.size(reason.unwrap_or_default())?;
        self.out.text(fault.message())?;
        self.out.byte(u8::from(help.is_some()))?;
        help.map_or(Ok(()), |help| self.out.text(help))?;
        self.out.byte(u8::from(is_usage))
    }

    fn fiber(&mut self, fiber: &Fiber) -> Written {
        self.values(&fiber.stack)?;
        self.out.byte(u8::from(fiber.parent.is_some()))?;
        if let Some((parent, branch)) = fiber.parent {
            self.out.size(parent)?;
            self.out.size(branch)?;
        }
        self.answer(fiber.answer.as_ref())?;
        self.out.size(fiber.deepest)?;
        self.flow(&fiber.pc)?;
        self.out.size(fiber.forms.len())?;
        for form in &fiber.forms {
            // The end of the function is the number after the last.
            self.out.size(form.end.wrapping_add(1))?;
            self.out.size(form.operands)?;
            self.flow(&form.before)?;
            self.flow(&form.flow)?;
            self.out.number(form.locals)?;
            self.out.byte(u8::from(form.has_more))?;
        }
        self.out.size(fiber.frames.len())?;
        fiber.frames.iter().try_for_each(|frame| self.frame(frame))
    }

    fn frame(&mut self, frame: &Frame) -> Written {
        // Every field of a frame is written, even those that could be computed again: a later version may compute them
        // differently, and a run resumes with what it had.
        match frame {
            Frame::Code(frame) => {
                self.out.byte(tag::FRAME_CODE)?;
                self.reference(Object::Closure(&frame.closure))?;
                [frame.arity, frame.at, frame.base, frame.forms].into_iter().try_for_each(|size| self.out.size(size))
            }
            Frame::Each(frame) => {
                self.out.byte(tag::FRAME_EACH)?;
                self.out.number(u64::from(frame.id.0))?;
                self.values(&frame.args)?;
                self.value(&frame.function)?;
                self.out.size(frame.sources.len())?;
                for source in &frame.sources {
                    self.value(source.sequence())?;
                    self.out.size(source.at())?;
                }
                self.values(&frame.results)?;
                self.out.byte(u8::from(frame.waits))
            }
            Frame::Fold(frame) => {
                self.out.byte(tag::FRAME_FOLD)?;
                self.value(&frame.function)?;
                self.value(&frame.result)?;
                self.value(frame.source.sequence())?;
                self.out.size(frame.source.at())?;
                self.out.byte(u8::from(frame.shape == crate::builtins::FoldShape::KeyValue))?;
                self.out.byte(u8::from(frame.waits))
            }
            Frame::Call { function, args } => {
                self.out.byte(tag::FRAME_CALL)?;
                self.value(function)?;
                self.values(args)
            }
            Frame::Parallel { results, missing } => {
                self.out.byte(tag::FRAME_PARALLEL)?;
                self.values(results)?;
                self.out.size(*missing)
            }
            Frame::Scope { before, flow } => {
                self.out.byte(tag::FRAME_SCOPE)?;
                self.flow(before)?;
                self.flow(flow)
            }
        }
    }
}
