//! Objects that are read, each checked against what it is made of.

use super::{StateError, graph::Object, input::Input, programs::Programs};
use crate::{
    builtins,
    code::Closure,
    limits::{Limits, Meter, cost},
    pattern::Regexp,
    value::{
        Branch, BuiltinId, Child, Chunk, Element, Entry, Flow, Index, Labelled, Labels, List, Map, Node, NodeSize, Set,
        Stream, StreamKind, Text, Trie, Value, Vector, from_big, is_equal,
    },
};
use alloc::{collections::BTreeSet, sync::Arc, vec, vec::Vec};
use num_bigint::{BigInt, Sign};
use proem_text::{Audience, Label, Source, label::MAX_NAMED_SOURCES};

/// The bytes that say what follows.
pub(super) mod tag {
    pub(in super::super) const NIL: u8 = 0;
    pub(in super::super) const FALSE: u8 = 1;
    pub(in super::super) const TRUE: u8 = 2;
    pub(in super::super) const INT: u8 = 3;
    pub(in super::super) const FLOAT: u8 = 4;
    pub(in super::super) const BUILTIN: u8 = 5;
    pub(in super::super) const TEXT: u8 = 6;
    pub(in super::super) const KEYWORD: u8 = 7;
    pub(in super::super) const SYMBOL: u8 = 8;
    /// A value of the one kind that its object has.
    pub(in super::super) const OBJECT: u8 = 9;

    pub(in super::super) const OBJECT_TEXT: u8 = 0;
    pub(in super::super) const OBJECT_BIG: u8 = 1;
    pub(in super::super) const OBJECT_ELEMENTS: u8 = 2;
    pub(in super::super) const OBJECT_ELEMENTS_ABOVE: u8 = 3;
    pub(in super::super) const OBJECT_ENTRIES: u8 = 4;
    pub(in super::super) const OBJECT_ENTRIES_ABOVE: u8 = 5;
    pub(in super::super) const OBJECT_BRANCH: u8 = 6;
    pub(in super::super) const OBJECT_PLACES: u8 = 7;
    pub(in super::super) const OBJECT_VECTOR: u8 = 8;
    pub(in super::super) const OBJECT_LIST: u8 = 9;
    pub(in super::super) const OBJECT_MAP: u8 = 10;
    pub(in super::super) const OBJECT_SET: u8 = 11;
    pub(in super::super) const OBJECT_STREAM: u8 = 12;
    pub(in super::super) const OBJECT_CLOSURE: u8 = 13;
    pub(in super::super) const OBJECT_REGEX: u8 = 14;
    pub(in super::super) const OBJECT_REDUCED: u8 = 15;
    pub(in super::super) const OBJECT_LABELLED: u8 = 16;

    pub(in super::super) const CHILD_BRANCH: u8 = 0;
    pub(in super::super) const CHILD_ONE: u8 = 1;
    pub(in super::super) const CHILD_SEVERAL: u8 = 2;

    pub(in super::super) const STREAM_RANGE: u8 = 0;
    pub(in super::super) const STREAM_REPEAT: u8 = 1;
    pub(in super::super) const STREAM_CYCLE: u8 = 2;
    pub(in super::super) const STREAM_COMPUTED: u8 = 3;

    pub(in super::super) const ANSWER_NONE: u8 = 0;
    pub(in super::super) const ANSWER_VALUE: u8 = 1;
    pub(in super::super) const ANSWER_PROBLEM: u8 = 2;

    pub(in super::super) const FRAME_CODE: u8 = 0;
    pub(in super::super) const FRAME_EACH: u8 = 1;
    pub(in super::super) const FRAME_FOLD: u8 = 2;
    pub(in super::super) const FRAME_CALL: u8 = 3;
    pub(in super::super) const FRAME_PARALLEL: u8 = 4;
    pub(in super::super) const FRAME_SCOPE: u8 = 5;

    pub(in super::super) const SOURCES_NAMED: u8 = 0;
    pub(in super::super) const SOURCES_MANY: u8 = 1;
}

/// The permitted readers of a text, in the order of their numbers.
pub(super) const AUDIENCES: [Audience; 4] =
    [Audience::Public, Audience::External, Audience::Internal, Audience::Restricted];

/// The labels of a state, in their one order.
pub(super) fn read_labels(input: &mut Input<'_>) -> Read<Labels> {
    let mut last: Option<Label> = None;
    let mut labels = Labels::default();
    for _ in 0..input.count()? {
        let audience = AUDIENCES.get(input.size()?).copied().ok_or(NO_LABEL)?;
        let is_secret = input.flag()?;
        let sources = match input.byte()? {
            tag::SOURCES_MANY => Label::from_many(),
            tag::SOURCES_NAMED => {
                let named = input.list(|input| Source::parse(input.text()?).ok_or(NO_LABEL))?;
                if !named.is_sorted_by(|a, b| a < b) || named.len() > MAX_NAMED_SOURCES {
                    return Err(NO_LABEL);
                }
                named.into_iter().fold(Label::trusted(), |label, source| label.join(&Label::from_source(source)))
            }
            _ => return Err(NO_LABEL),
        };
        let label = if is_secret { sources.made_secret() } else { sources }.narrowed_to(audience);
        if label.is_empty() || last.as_ref().is_some_and(|last| *last >= label) {
            return Err(NO_LABEL);
        }
        labels.meet(&Flow::of(&label));
        last = Some(label);
    }
    Ok(labels)
}

/// An object that was read, or that a program's source gave.
#[derive(Debug)]
enum ReadObject {
    Text(Text),
    /// A value by itself: all but texts, which are values of three kinds.
    Value(Value),
    Elements(Arc<Node<Value>>, NodeSize),
    /// With the number of entries in it.
    Entries(Arc<Node<Option<Entry>>>, NodeSize, usize),
    /// With the number of places that it leads to.
    Branch(Arc<Branch>, usize),
    Places(Arc<Vec<u32>>),
}

impl ReadObject {
    /// How many values the object takes the place of.
    fn slots(&self) -> usize {
        fn node_slots<T: Element>(node: &Node<T>) -> usize {
            match node {
                Node::Branch(children) => children.len(),
                Node::Leaf(chunk) => chunk.as_slice().len(),
            }
        }
        let map_slots = |map: &Map| map.parts().0.parts().1.len().saturating_mul(2);
        match self {
            Self::Text(text) => text.len() / cost::SLOT,
            Self::Elements(node, _) => node_slots(node),
            Self::Entries(node, ..) => node_slots(node).saturating_mul(2),
            Self::Branch(branch, _) => branch.children.len(),
            Self::Places(places) => places.len(),
            Self::Value(Value::Big(big)) => usize::try_from(big.bits() / 128).unwrap_or(usize::MAX),
            Self::Value(Value::Vector(vector)) => vector.parts().1.len(),
            Self::Value(Value::List(list)) => list.parts().0.parts().1.len(),
            Self::Value(Value::Map(map)) => map_slots(map),
            Self::Value(Value::Set(set)) => map_slots(&set.0),
            Self::Value(Value::Stream(stream)) => stream.parts.as_slice().len(),
            Self::Value(Value::Closure(closure)) => closure.captures.as_slice().len(),
            Self::Value(_) => 1,
        }
    }
}

/// The objects so far.
#[derive(Debug)]
pub(super) struct Objects<'p> {
    all: Vec<ReadObject>,
    programs: &'p Programs,
    limits: Limits,
    /// The bytes of the state: no trie in it has more elements than that, since none has a part of it twice.
    length: usize,
    /// Bytes that compiled expressions take.
    patterns: usize,
    /// Bytes that all other objects take, as the machine counts them.
    bytes: usize,
    /// Entries whose keys an index was seen to lead to, by the number of their object.
    found: BTreeSet<usize>,
    labels: Vec<Flow>,
}

const NO_LABEL: StateError = StateError::Malformed("a label isn't one, or is where none may be");
const NO_OBJECT: StateError = StateError::Malformed("a reference leads to no object of its kind");
const NO_TRIE: StateError = StateError::Malformed("a collection isn't built as one");
const NO_MAP: StateError = StateError::Malformed("the index of a map doesn't lead to its keys");

type Read<T> = Result<T, StateError>;

impl<'p> Objects<'p> {
    /// The objects that the programs' sources gave.
    pub(super) fn of_programs(programs: &'p Programs, limits: Limits, length: usize, labels: Vec<Flow>) -> Self {
        let all = Vec::new();
        let mut objects = Self { all, programs, limits, length, patterns: 0, bytes: 0, found: BTreeSet::new(), labels };
        programs.visit_constants(&mut |object| objects.add_constant(object));
        objects
    }

    fn add_constant(&mut self, object: Object<'_>) {
        let read = match object {
            Object::Text(text) => ReadObject::Text(text.clone()),
            Object::Elements(node) => ReadObject::Elements(Arc::clone(node), size_of_node(node)),
            Object::Entries(node) => {
                self.found.insert(self.all.len());
                ReadObject::Entries(Arc::clone(node), size_of_node(node), count_entries(node))
            }
            Object::Branch(branch) => ReadObject::Branch(Arc::clone(branch), count_places(branch)),
            Object::Places(places) => ReadObject::Places(Arc::clone(places)),
            Object::Big(big) => ReadObject::Value(Value::Big(Arc::clone(big))),
            Object::Vector(vector) => ReadObject::Value(Value::Vector(Arc::clone(vector))),
            Object::List(list) => ReadObject::Value(Value::List(Arc::clone(list))),
            Object::Map(map) => ReadObject::Value(Value::Map(Arc::clone(map))),
            Object::Set(set) => ReadObject::Value(Value::Set(Arc::clone(set))),
            Object::Stream(stream) => ReadObject::Value(Value::Stream(Arc::clone(stream))),
            Object::Closure(closure) => ReadObject::Value(Value::Closure(Arc::clone(closure))),
            Object::Regex(pattern) => ReadObject::Value(Value::Regex(Arc::clone(pattern))),
            Object::Reduced(inner) => ReadObject::Value(Value::Reduced(Arc::clone(inner))),
            Object::Labelled(labelled) => ReadObject::Value(Value::Labelled(Arc::clone(labelled))),
        };
        self.all.push(read);
    }

    /// Reads all objects.
    pub(super) fn read(&mut self, input: &mut Input<'_>) -> Read<()> {
        let count = input.count()?;
        for _ in 0..count {
            let object = self.object(input)?;
            let bytes = object.slots().saturating_mul(cost::SLOT).saturating_add(cost::OBJECT);
            self.bytes = self.bytes.saturating_add(bytes);
            // Nodes between are not counted while a program runs.
            if self.bytes / 2 > self.limits.bytes {
                return Err(StateError::Malformed("it holds more than a program may"));
            }
            self.all.push(object);
        }
        Ok(())
    }

    fn referred(&self, input: &mut Input<'_>) -> Read<(usize, &ReadObject)> {
        let number = input.size()?;
        Ok((number, self.all.get(number).ok_or(NO_OBJECT)?))
    }

    pub(super) fn flow(&self, input: &mut Input<'_>) -> Read<Flow> {
        match input.size()?.checked_sub(1) {
            None => Ok(Flow::NONE),
            Some(number) => self.labels.get(number).cloned().ok_or(NO_LABEL),
        }
    }

    pub(super) fn text(&self, input: &mut Input<'_>) -> Read<Text> {
        match self.referred(input)?.1 {
            ReadObject::Text(text) => Ok(text.clone()),
            _ => Err(NO_OBJECT),
        }
    }

    pub(super) fn closure(&self, input: &mut Input<'_>) -> Read<Arc<Closure>> {
        match self.referred(input)?.1 {
            ReadObject::Value(Value::Closure(closure)) => Ok(Arc::clone(closure)),
            _ => Err(NO_OBJECT),
        }
    }

    pub(super) fn map(&self, input: &mut Input<'_>) -> Read<Arc<Map>> {
        match self.referred(input)?.1 {
            ReadObject::Value(Value::Map(map)) => Ok(Arc::clone(map)),
            _ => Err(NO_OBJECT),
        }
    }

    pub(super) fn value(&self, input: &mut Input<'_>) -> Read<Value> {
        Ok(match input.byte()? {
            tag::NIL => Value::Nil,
            tag::FALSE => Value::bool(false),
            tag::TRUE => Value::bool(true),
            tag::INT => Value::Int(input.signed()?),
            tag::FLOAT => Value::float(f64::from_bits(u64::from_le_bytes(read_array(input)?))),
            tag::BUILTIN => Value::builtin(read_builtin(input)?),
            tag::TEXT => Value::Text(self.text(input)?),
            tag::KEYWORD => Value::Keyword(self.text(input)?),
            tag::SYMBOL => Value::Symbol(self.text(input)?),
            tag::OBJECT => match self.referred(input)?.1 {
                ReadObject::Value(value) => value.clone(),
                _ => return Err(NO_OBJECT),
            },
            _ => return Err(StateError::Malformed("there is no such kind of value")),
        })
    }

    pub(super) fn values(&self, input: &mut Input<'_>) -> Read<Vec<Value>> {
        input.list(|input| self.value(input))
    }

    fn object(&mut self, input: &mut Input<'_>) -> Read<ReadObject> {
        Ok(ReadObject::Value(match input.byte()? {
            tag::OBJECT_TEXT => return Ok(ReadObject::Text(Text::from(input.text()?))),
            tag::OBJECT_BIG => self.big(input)?,
            tag::OBJECT_ELEMENTS => {
                let elements = self.values(input)?;
                let size = NodeSize::of_leaf(elements.len()).ok_or(NO_TRIE)?;
                return Ok(ReadObject::Elements(Arc::new(Node::leaf(elements)), size));
            }
            tag::OBJECT_ELEMENTS_ABOVE => return self.elements_above(input),
            tag::OBJECT_ENTRIES => {
                let (entries, count) = self.entries(input)?;
                let size = NodeSize::of_leaf(entries.len()).ok_or(NO_TRIE)?;
                return Ok(ReadObject::Entries(Arc::new(Node::leaf(entries)), size, count));
            }
            tag::OBJECT_ENTRIES_ABOVE => return self.entries_above(input),
            tag::OBJECT_BRANCH => return self.branch(input),
            tag::OBJECT_PLACES => {
                let places = input.list(|input| {
                    u32::try_from(input.number()?).map_err(|_| StateError::Malformed("a place is too large"))
                })?;
                return Ok(ReadObject::Places(Arc::new(places)));
            }
            tag::OBJECT_VECTOR => Value::Vector(Arc::new(self.trie(input)?)),
            tag::OBJECT_LIST => {
                let front = self.trie(input)?;
                // Objects name only objects before them, so reading ends and no state holds a circle.
                let ReadObject::Value(Value::Vector(back)) = self.referred(input)?.1 else { return Err(NO_OBJECT) };
                let back: Arc<Vector> = Arc::clone(back);
                Value::from(List::from_parts(front, back, input.size()?).ok_or(NO_TRIE)?)
            }
            tag::OBJECT_MAP => Value::from(self.whole_map(input)?),
            tag::OBJECT_SET => Value::from(Set(self.whole_map(input)?)),
            tag::OBJECT_STREAM => Value::Stream(Arc::new(self.stream(input)?)),
            tag::OBJECT_CLOSURE => Value::Closure(Arc::new(self.new_closure(input)?)),
            tag::OBJECT_REGEX => self.pattern(input)?,
            tag::OBJECT_REDUCED => Value::reduced(self.value(input)?),
            tag::OBJECT_LABELLED => {
                // The machine never makes an empty label or one within another. Such a state was forged, and a label
                // below a label would be missed by whoever takes one off.
                let flow = self.flow(input)?;
                let value = self.value(input)?;
                if flow.is_none() || matches!(value, Value::Labelled(_)) {
                    return Err(NO_LABEL);
                }
                Value::Labelled(Arc::new(Labelled::new(value, flow)))
            }
            _ => return Err(StateError::Malformed("there is no such kind of object")),
        }))
    }

    fn big(&self, input: &mut Input<'_>) -> Read<Value> {
        let sign = if input.flag()? { Sign::Minus } else { Sign::Plus };
        let length = input.size()?;
        let value = from_big(BigInt::from_bytes_le(sign, input.raw(length)?));
        // A digit has more than three bits.
        let is_bounded = length <= self.limits.digits;
        if is_bounded && matches!(value, Value::Big(_)) {
            Ok(value)
        } else {
            Err(StateError::Malformed("an integer has another form"))
        }
    }

    fn elements_above(&self, input: &mut Input<'_>) -> Read<ReadObject> {
        let children = input.list(|input| match self.referred(input)?.1 {
            ReadObject::Elements(node, size) => Ok((Arc::clone(node), *size)),
            _ => Err(NO_OBJECT),
        })?;
        let (children, sizes): (Vec<_>, Vec<_>) = children.into_iter().unzip();
        let size = self.checked_size(NodeSize::of_branch(&sizes))?;
        Ok(ReadObject::Elements(Arc::new(Node::Branch(children)), size))
    }

    fn entries_above(&mut self, input: &mut Input<'_>) -> Read<ReadObject> {
        let children = input.list(|input| match self.referred(input)? {
            (number, ReadObject::Entries(node, size, count)) => Ok((number, Arc::clone(node), *size, *count)),
            _ => Err(NO_OBJECT),
        })?;
        let sizes: Vec<NodeSize> = children.iter().map(|(_, _, size, _)| *size).collect();
        let size = self.checked_size(NodeSize::of_branch(&sizes))?;
        let count = children.iter().fold(0_usize, |sum, (_, _, _, count)| sum.saturating_add(*count));
        let children = children.into_iter().map(|(_, node, _, _)| node).collect();
        Ok(ReadObject::Entries(Arc::new(Node::Branch(children)), size, count))
    }

    fn checked_size(&self, size: Option<NodeSize>) -> Read<NodeSize> {
        size.filter(|size| size.chunks <= self.length).ok_or(NO_TRIE)
    }

    /// Places of entries, and how many of them have one.
    fn entries(&self, input: &mut Input<'_>) -> Read<(Vec<Option<Entry>>, usize)> {
        let entries = input.list(|input| {
            if !input.flag()? {
                return Ok(None);
            }
            let entry = Entry { key: self.value(input)?, value: self.value(input)? };
            if matches!(entry.key, Value::Labelled(_)) { Err(NO_LABEL) } else { Ok(Some(entry)) }
        })?;
        let count = entries.iter().flatten().count();
        Ok((entries, count))
    }

    fn branch(&self, input: &mut Input<'_>) -> Read<ReadObject> {
        let bits = u32::try_from(input.number()?).map_err(|_| NO_MAP)?;
        let mut children = Vec::new();
        let mut count: usize = 0;
        for _ in 0..bits.count_ones() {
            let (child, places) = self.child(input)?;
            children.push(child);
            count = count.saturating_add(places);
        }
        Ok(ReadObject::Branch(Arc::new(Branch { bits, children }), count))
    }

    fn child(&self, input: &mut Input<'_>) -> Read<(Child, usize)> {
        match input.byte()? {
            tag::CHILD_BRANCH => match self.referred(input)?.1 {
                ReadObject::Branch(branch, count) => Ok((Child::Branch(Arc::clone(branch)), *count)),
                _ => Err(NO_OBJECT),
            },
            tag::CHILD_ONE => {
                let hash = u32::from_le_bytes(read_array(input)?);
                let place = u32::try_from(input.number()?).map_err(|_| NO_MAP)?;
                Ok((Child::One { hash, place }, 1))
            }
            tag::CHILD_SEVERAL => {
                let hash = u32::from_le_bytes(read_array(input)?);
                match self.referred(input)?.1 {
                    ReadObject::Places(places) if !places.is_empty() => {
                        Ok((Child::Several { hash, places: Arc::clone(places) }, places.len()))
                    }
                    _ => Err(NO_OBJECT),
                }
            }
            _ => Err(NO_MAP),
        }
    }

    fn trie(&self, input: &mut Input<'_>) -> Read<Trie<Value>> {
        let root = if input.flag()? {
            match self.referred(input)?.1 {
                ReadObject::Elements(node, size) => Some((Arc::clone(node), *size)),
                _ => return Err(NO_OBJECT),
            }
        } else {
            None
        };
        let trie = Trie::from_parts(root, self.values(input)?).ok_or(NO_TRIE)?;
        if trie.len() > self.length { Err(NO_TRIE) } else { Ok(trie) }
    }

    fn whole_map(&mut self, input: &mut Input<'_>) -> Read<Map> {
        let (mut root, mut count, mut number) = (None, 0, None);
        if input.flag()? {
            let (at, ReadObject::Entries(node, size, entries)) = self.referred(input)? else { return Err(NO_OBJECT) };
            (root, count, number) = (Some((Arc::clone(node), *size)), *entries, Some(at));
        }
        let (tail, in_tail) = self.entries(input)?;
        let index = if input.flag()? {
            let ReadObject::Branch(branch, places) = self.referred(input)?.1 else { return Err(NO_OBJECT) };
            if *places != count.saturating_add(in_tail) {
                return Err(NO_MAP);
            }
            Some(Index { root: Arc::clone(branch) })
        } else {
            None
        };
        let tail_length = tail.len();
        let entries = Trie::from_parts(root, tail).ok_or(NO_TRIE)?;
        if entries.len() > self.length {
            return Err(NO_TRIE);
        }
        let map = Map::from_parts(entries, index, count.saturating_add(in_tail)).ok_or(NO_MAP)?;
        self.check_keys(&map, number, tail_length)?;
        Ok(map)
    }

    /// Whether every key is found, once. Entries that another map shares were looked up there, so that versions of a
    /// large map take no longer than what they don't share.
    fn check_keys(&mut self, map: &Map, root: Option<usize>, tail: usize) -> Read<()> {
        let (entries, index) = map.parts();
        let is_known = root.is_none_or(|number| !self.found.insert(number));
        let first = if is_known { entries.len().saturating_sub(tail) } else { 0 };
        let mut meter = Meter::unlimited();
        let mut keys: Vec<&Value> = Vec::new();
        for (at, entry) in entries.iter_from(first).enumerate() {
            let Some(Entry { key, .. }) = entry else { continue };
            let place = first.saturating_add(at);
            let is_same = |other: &Value, meter: &mut Meter| is_equal(other, key, meter).unwrap_or(true);
            if index.is_none() {
                if keys.iter().any(|other| is_same(other, &mut meter)) {
                    return Err(NO_MAP);
                }
                keys.push(key);
                continue;
            }
            let places = map.places_like(key, &mut meter).map_err(|_| NO_MAP)?;
            let mut is_found = false;
            for other in places {
                let other = usize::try_from(*other).unwrap_or(usize::MAX);
                let is_twice = match entries.get(other) {
                    _ if other == place => {
                        is_found = true;
                        false
                    }
                    Some(Some(entry)) => is_same(&entry.key, &mut meter),
                    _ => true,
                };
                if is_twice {
                    return Err(NO_MAP);
                }
            }
            if !is_found {
                return Err(NO_MAP);
            }
        }
        Ok(())
    }

    fn stream(&self, input: &mut Input<'_>) -> Read<Stream> {
        let kind = input.byte()?;
        let count = if matches!(kind, tag::STREAM_RANGE | tag::STREAM_REPEAT) && input.flag()? {
            Some(input.size()?)
        } else {
            None
        };
        let (kind, parts_are) = match kind {
            tag::STREAM_RANGE => (StreamKind::Range { start: input.signed()?, step: input.signed()?, count }, 0..=0),
            tag::STREAM_REPEAT => (StreamKind::Repeat { count }, 1..=1),
            tag::STREAM_CYCLE => (StreamKind::Cycle { start: input.size()? }, 1..=usize::MAX),
            tag::STREAM_COMPUTED => (StreamKind::Computed, 3..=3),
            _ => return Err(StateError::Malformed("there is no such kind of sequence")),
        };
        let parts = self.values(input)?;
        let starts_in_it = if let StreamKind::Cycle { start } = kind { start < parts.len() } else { true };
        if !parts_are.contains(&parts.len()) || !starts_in_it {
            return Err(StateError::Malformed("a sequence isn't built as one"));
        }
        Ok(Stream { kind, parts: Chunk::new(parts) })
    }

    fn new_closure(&self, input: &mut Input<'_>) -> Read<Closure> {
        let program = self.programs.get(input.size()?).ok_or(NO_OBJECT)?;
        let function = input.size()?;
        let captures = self.values(input)?;
        let closure = Closure { program: Arc::clone(program), function, captures: Chunk::new(captures) };
        let expected = closure.function().map(|function| function.captures.len());
        if expected == Some(closure.captures.as_slice().len()) {
            Ok(closure)
        } else {
            Err(StateError::Malformed("a function captures something else"))
        }
    }

    fn pattern(&mut self, input: &mut Input<'_>) -> Read<Value> {
        let pattern = Regexp::compile(input.text()?, &mut Meter::new(self.limits))
            .map_err(|_| StateError::Malformed("a regular expression can't be compiled"))?;
        self.patterns = self.patterns.saturating_add(pattern.bytes());
        if self.patterns > self.limits.bytes {
            return Err(StateError::Malformed("its regular expressions take more bytes than a program may"));
        }
        Ok(Value::Regex(Arc::new(pattern)))
    }
}

pub(super) fn read_array<const N: usize>(input: &mut Input<'_>) -> Read<[u8; N]> {
    <[u8; N]>::try_from(input.raw(N)?).map_err(|_| StateError::Malformed("it ends too early"))
}

pub(super) fn read_builtin(input: &mut Input<'_>) -> Read<BuiltinId> {
    let id = u16::try_from(input.number()?).ok().map(BuiltinId);
    id.filter(|id| builtins::row(*id).is_some()).ok_or(StateError::Malformed("there is no such function"))
}

/// The size of a node that a source gave.
fn size_of_node<T: Element>(node: &Arc<Node<T>>) -> NodeSize {
    let (mut levels, mut chunks): (u32, usize) = (0, 0);
    let mut open = vec![(node, 0_u32)];
    while let Some((node, level)) = open.pop() {
        levels = levels.max(level);
        match &**node {
            Node::Branch(children) => open.extend(children.iter().map(|child| (child, level.saturating_add(1)))),
            Node::Leaf(_) => chunks = chunks.saturating_add(1),
        }
    }
    NodeSize { levels, chunks }
}

fn count_entries(node: &Arc<Node<Option<Entry>>>) -> usize {
    let mut count: usize = 0;
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match &**node {
            Node::Branch(children) => open.extend(children),
            Node::Leaf(chunk) => count = count.saturating_add(chunk.as_slice().iter().flatten().count()),
        }
    }
    count
}

fn count_places(branch: &Arc<Branch>) -> usize {
    let mut count: usize = 0;
    let mut open = vec![branch];
    while let Some(branch) = open.pop() {
        for child in &branch.children {
            match child {
                Child::Branch(below) => open.push(below),
                Child::One { .. } => count = count.saturating_add(1),
                Child::Several { places, .. } => count = count.saturating_add(places.len()),
            }
        }
    }
    count
}
