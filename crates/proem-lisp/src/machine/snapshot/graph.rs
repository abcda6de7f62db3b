//! Objects on the heap, found in one order without recursion: each behind what it is made of.

use crate::{
    code::{Closure, Program},
    machine::{
        Machine, ToolAnswer,
        frame::{Fiber, Frame},
    },
    pattern::Regexp,
    value::{
        Branch, BuiltinId, Child, Chunk, Entry, Labelled, List, Map, Node, Set, Stream, Text, Trie, Value, Vector,
    },
};
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use num_bigint::BigInt;

/// An object that others refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Object<'a> {
    Text(&'a Text),
    Big(&'a Arc<BigInt>),
    Elements(&'a Arc<Node<Value>>),
    Entries(&'a Arc<Node<Option<Entry>>>),
    Branch(&'a Arc<Branch>),
    Places(&'a Arc<Vec<u32>>),
    Vector(&'a Arc<Vector>),
    List(&'a Arc<List>),
    Map(&'a Arc<Map>),
    Set(&'a Arc<Set>),
    Stream(&'a Arc<Stream>),
    Closure(&'a Arc<Closure>),
    Regex(&'a Arc<Regexp>),
    Reduced(&'a Arc<Chunk<Value>>),
    Labelled(&'a Arc<Labelled>),
}

/// Address and number of holders.
fn holders<T>(object: &Arc<T>) -> (usize, usize) {
    (Arc::as_ptr(object).cast::<()>().addr(), Arc::strong_count(object))
}

impl<'a> Object<'a> {
    /// The object that a value refers to, unless it is all of it itself.
    pub(super) const fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Builtin(_) => return None,
            Value::Big(big) => Self::Big(big),
            Value::Text(text) | Value::Keyword(text) | Value::Symbol(text) => Self::Text(text),
            Value::List(list) => Self::List(list),
            Value::Vector(vector) => Self::Vector(vector),
            Value::Map(map) => Self::Map(map),
            Value::Set(set) => Self::Set(set),
            Value::Stream(stream) => Self::Stream(stream),
            Value::Closure(closure) => Self::Closure(closure),
            Value::Regex(pattern) => Self::Regex(pattern),
            Value::Reduced(inner) => Self::Reduced(inner),
            Value::Labelled(labelled) => Self::Labelled(labelled),
        })
    }

    /// The address, and whether others may hold the object as well.
    fn place(self) -> (usize, bool) {
        let (address, count) = match self {
            Self::Text(text) => return (text.address(), text.shared_address().is_some()),
            Self::Big(object) => holders(object),
            Self::Elements(object) => holders(object),
            Self::Entries(object) => holders(object),
            Self::Branch(object) => holders(object),
            Self::Places(object) => holders(object),
            Self::Vector(object) => holders(object),
            Self::List(object) => holders(object),
            Self::Map(object) => holders(object),
            Self::Set(object) => holders(object),
            Self::Stream(object) => holders(object),
            Self::Closure(object) => holders(object),
            Self::Regex(object) => holders(object),
            Self::Reduced(object) => holders(object),
            Self::Labelled(object) => holders(object),
        };
        (address, count > 1)
    }

    pub(super) fn address(self) -> usize {
        self.place().0
    }

    /// The parts of the object, in order.
    fn parts(self, visit: &mut dyn FnMut(Self)) {
        match self {
            Self::Text(_) | Self::Big(_) | Self::Places(_) | Self::Regex(_) => {}
            Self::Elements(node) => match &**node {
                Node::Branch(children) => children.iter().for_each(|child| visit(Self::Elements(child))),
                Node::Leaf(chunk) => chunk.as_slice().iter().filter_map(Self::of).for_each(visit),
            },
            Self::Entries(node) => match &**node {
                Node::Branch(children) => children.iter().for_each(|child| visit(Self::Entries(child))),
                Node::Leaf(chunk) => entry_parts(chunk.as_slice(), visit),
            },
            Self::Branch(branch) => {
                for child in &branch.children {
                    match child {
                        Child::Branch(below) => visit(Self::Branch(below)),
                        Child::Several { places, .. } => visit(Self::Places(places)),
                        Child::One { .. } => {}
                    }
                }
            }
            Self::Vector(vector) => trie_parts(vector, visit),
            Self::List(list) => {
                let (front, back, _) = list.parts();
                trie_parts(front, visit);
                visit(Self::Vector(back));
            }
            Self::Map(map) => map_parts(map, visit),
            Self::Set(set) => map_parts(&set.0, visit),
            Self::Stream(stream) => stream.parts.as_slice().iter().filter_map(Self::of).for_each(visit),
            Self::Closure(closure) => closure.captures.as_slice().iter().filter_map(Self::of).for_each(visit),
            Self::Reduced(inner) => inner.as_slice().iter().filter_map(Self::of).for_each(visit),
            Self::Labelled(labelled) => Self::of(labelled.value()).into_iter().for_each(visit),
        }
    }
}

fn trie_parts<'a>(trie: &'a Trie<Value>, visit: &mut dyn FnMut(Object<'a>)) {
    let (root, tail) = trie.parts();
    root.map(Object::Elements).into_iter().for_each(&mut *visit);
    tail.iter().filter_map(Object::of).for_each(visit);
}

fn entry_parts<'a>(entries: &'a [Option<Entry>], visit: &mut dyn FnMut(Object<'a>)) {
    for entry in entries.iter().flatten() {
        [&entry.key, &entry.value].into_iter().filter_map(Object::of).for_each(&mut *visit);
    }
}

fn map_parts<'a>(map: &'a Map, visit: &mut dyn FnMut(Object<'a>)) {
    let (entries, index) = map.parts();
    let (root, tail) = entries.parts();
    root.map(Object::Entries).into_iter().for_each(&mut *visit);
    entry_parts(tail, visit);
    index.map(|index| Object::Branch(&index.root)).into_iter().for_each(visit);
}

/// Objects in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Scan<'a> {
    seen: BTreeSet<usize>,
    open: Vec<(Object<'a>, bool)>,
    /// Each behind what it is made of.
    pub(super) order: Vec<Object<'a>>,
    /// Programs that functions come from, but for those of the table.
    pub(super) programs: Vec<&'a Arc<Program>>,
    /// Functions of the table that functions come from.
    pub(super) prelude: BTreeSet<BuiltinId>,
}

impl<'a> Scan<'a> {
    /// Adds an object and all below it.
    pub(super) fn add(&mut self, object: Object<'a>) {
        self.open.push((object, false));
        while let Some((object, is_complete)) = self.open.pop() {
            if is_complete {
                self.order.push(object);
                continue;
            }
            // An object with a single holder is met only once.
            let (address, is_shared) = object.place();
            if is_shared && !self.seen.insert(address) {
                continue;
            }
            self.open.push((object, true));
            if let Object::Closure(closure) = object {
                self.add_program(&closure.program);
            }
            let first = self.open.len();
            object.parts(&mut |part| self.open.push((part, false)));
            if let Some(parts) = self.open.get_mut(first..) {
                parts.reverse();
            }
        }
    }

    pub(super) fn add_program(&mut self, program: &'a Arc<Program>) {
        match program.prelude {
            Some(id) => _ = self.prelude.insert(id),
            None if self.seen.insert(Arc::as_ptr(program).addr()) => self.programs.push(program),
            None => {}
        }
    }

    pub(super) fn add_value(&mut self, value: &'a Value) {
        Object::of(value).into_iter().for_each(|object| self.add(object));
    }
}

/// Adds all that a machine holds.
pub(super) fn scan_machine(machine: &Machine) -> Scan<'_> {
    let mut scan = Scan::default();
    scan.add_program(&machine.program);
    let inputs = &machine.context.inputs;
    for value in [&inputs.context, &inputs.memory, &inputs.budget].into_iter().chain(&inputs.history) {
        scan.add_value(value);
    }
    scan.add(Object::Map(&machine.context.memory));
    machine.exchanged.iter().for_each(|value| scan.add_value(value));
    machine.fibers.iter().flatten().for_each(|fiber| scan_fiber(&mut scan, fiber));
    for pending in &machine.calls {
        scan.add(Object::Text(&pending.name));
        scan.add_value(&pending.args);
        scan_answer(&mut scan, pending.answer.as_ref());
    }
    scan
}

fn scan_answer<'a>(scan: &mut Scan<'a>, answer: Option<&'a ToolAnswer>) {
    if let Some(ToolAnswer::Value(value)) = answer {
        scan.add_value(value);
    }
}

fn scan_fiber<'a>(scan: &mut Scan<'a>, fiber: &'a Fiber) {
    fiber.stack.iter().for_each(|value| scan.add_value(value));
    scan_answer(scan, fiber.answer.as_ref());
    for frame in &fiber.frames {
        match frame {
            Frame::Code(frame) => scan.add(Object::Closure(&frame.closure)),
            Frame::Each(frame) => {
                let sources = frame.sources.iter().map(|source| source.sequence());
                frame
                    .args
                    .iter()
                    .chain([&frame.function])
                    .chain(sources)
                    .chain(&frame.results)
                    .for_each(|value| scan.add_value(value));
            }
            Frame::Fold(frame) => {
                [&frame.function, &frame.result, frame.source.sequence()]
                    .into_iter()
                    .for_each(|value| scan.add_value(value));
            }
            Frame::Call { function, args } => {
                core::iter::once(function).chain(args).for_each(|value| scan.add_value(value));
            }
            Frame::Parallel { results, .. } => results.iter().for_each(|value| scan.add_value(value)),
            Frame::Scope { .. } => {}
        }
    }
}

/// The objects of a program's constants, which its source gives again in the same order.
pub(super) fn scan_constants(program: &Program) -> Vec<Object<'_>> {
    let mut scan = Scan::default();
    program.constants.iter().for_each(|value| scan.add_value(value));
    scan.order
}
