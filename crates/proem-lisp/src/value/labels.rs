//! Values with labels: how a label is put on, taken off and found, at one level and at all.
//!
//! Nothing here recurses: what is deep is gone through with a list, and paid for in fuel.

use super::{Chunk, List, Map, Stream, Value};
use crate::{
    error::Fault,
    limits::{Meter, cost},
};
use alloc::{collections::BTreeSet, sync::Arc, vec, vec::Vec};
use proem_text::{Label, Secrecy};

/// A label as values have it: nothing for what is trusted, open and public.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flow(Option<Arc<Label>>);

/// A value with its label.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    /// The one value. A chunk, so that it is dropped without recursion.
    inner: Chunk<Value>,
    flow: Flow,
}

/// So many labels are told apart in one program. Further ones have the source "many", so that a program can't fill the
/// memory with sets of sources.
const MOST_LABELS: usize = 1_024;

/// The labels that a machine has met or made, each once.
#[derive(Debug, Default)]
pub(crate) struct Labels(BTreeSet<Arc<Label>>);

impl Flow {
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn of(label: &Label) -> Self {
        Self((!label.is_empty()).then(|| Arc::new(label.clone())))
    }

    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.0.as_deref().is_some_and(Label::is_secret)
    }

    pub(crate) fn to_label(&self) -> Label {
        self.0.as_deref().cloned().unwrap_or_else(Label::trusted)
    }

    pub(crate) fn label(&self) -> Option<&Label> {
        self.0.as_deref()
    }

    /// Whether joining the other changes nothing.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(all), Some(some)) => Arc::ptr_eq(all, some) || all.covers(some),
        }
    }
}

impl Labels {
    /// The least label that covers both.
    pub(crate) fn join(&mut self, a: &Flow, b: &Flow) -> Flow {
        match (&a.0, &b.0) {
            _ if a.covers(b) => a.clone(),
            _ if b.covers(a) => b.clone(),
            (Some(a), Some(b)) => self.add(a.join(b)),
            _ => Flow::NONE,
        }
    }

    /// Joins the second into the first.
    pub(crate) fn join_into(&mut self, into: &mut Flow, other: &Flow) {
        if !into.covers(other) {
            *into = self.join(into, other);
        }
    }

    fn add(&mut self, label: Label) -> Flow {
        if let Some(known) = self.0.get(&label) {
            return Flow(Some(Arc::clone(known)));
        }
        let label = if self.0.len() < MOST_LABELS {
            label
        } else {
            let many = Label::from_many().narrowed_to(label.audience());
            if label.secrecy() == Secrecy::Secret { many.made_secret() } else { many }
        };
        let label = Arc::new(label);
        self.0.insert(Arc::clone(&label));
        Flow(Some(label))
    }

    /// The label of what a host gave, which counts as known from now on.
    pub(crate) fn meet(&mut self, flow: &Flow) {
        if let Some(label) = &flow.0
            && !self.0.contains(label)
        {
            self.0.insert(Arc::clone(label));
        }
    }

    /// All of them, in their order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Label> {
        self.0.iter().map(|label| &**label)
    }

    /// All of them as values have them.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        self.0.iter().map(|label| Flow(Some(Arc::clone(label)))).collect()
    }
}

impl Labelled {
    pub(crate) fn new(value: Value, flow: Flow) -> Self {
        Self { inner: Chunk::new(vec![value]), flow }
    }

    pub(crate) fn value(&self) -> &Value {
        self.inner.as_slice().first().unwrap_or(&Value::Nil)
    }

    pub(crate) const fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(crate) fn into_value(mut self) -> Value {
        self.inner.take().pop().unwrap_or_default()
    }
}

impl Value {
    /// The value with a label: of a collection that of its spine (how many elements, which keys, in which order).
    ///
    /// The label of a value that has one is joined. Keys of maps and elements of sets have no labels of their own.
    /// Label the collection instead.
    #[must_use]
    pub fn labelled(self, label: &Label) -> Self {
        if label.is_empty() {
            return self;
        }
        let (value, own) = self.peel();
        let flow = if own.is_none() { Flow::of(label) } else { Flow::of(&own.to_label().join(label)) };
        Self::Labelled(Arc::new(Labelled::new(value, flow)))
    }

    /// The join of its label and of all labels inside.
    #[must_use]
    pub fn label(&self) -> Label {
        let mut found = Label::trusted();
        for label in AllParts::of(self).filter_map(|value| value.flow().label()) {
            if !found.covers(label) {
                found = found.join(label);
            }
        }
        found
    }

    /// Its own label, of a collection that of its spine.
    #[must_use]
    pub fn own_label(&self) -> Label {
        self.flow().to_label()
    }

    /// The value without labels, at any depth: for a host that has looked at [`Value::label`] and decided.
    ///
    /// A function keeps the labels of what it captured.
    #[must_use]
    pub fn without_labels(&self) -> Self {
        // A value that can't be rebuilt is left out rather than shown with its labels lost.
        take_all_labels(self.clone(), &mut Meter::unlimited()).unwrap_or_default()
    }

    /// The value inside the label, if there is one.
    #[inline]
    #[must_use]
    pub fn unlabelled(&self) -> &Self {
        if let Self::Labelled(labelled) = self { labelled.value() } else { self }
    }

    /// Its own label, of a collection that of the spine.
    pub(crate) fn flow(&self) -> &Flow {
        if let Self::Labelled(labelled) = self { labelled.flow() } else { &Flow::NONE }
    }

    /// The value and its own label apart. A value that nobody else holds moves, so that it can change in place.
    pub(crate) fn peel(self) -> (Self, Flow) {
        let Self::Labelled(labelled) = self else { return (self, Flow::NONE) };
        match Arc::try_unwrap(labelled) {
            Ok(labelled) => {
                let flow = labelled.flow.clone();
                (labelled.into_value(), flow)
            }
            Err(shared) => (shared.value().clone(), shared.flow.clone()),
        }
    }

    /// The value with a label joined, paid for.
    pub(crate) fn with_flow(self, flow: &Flow, labels: &mut Labels, meter: &mut Meter) -> Result<Self, Fault> {
        if self.flow().covers(flow) {
            return Ok(self);
        }
        meter.allocate(cost::OBJECT.saturating_add(cost::SLOT))?;
        let (value, own) = self.peel();
        Ok(Self::Labelled(Arc::new(Labelled::new(value, labels.join(&own, flow)))))
    }
}

/// Puts what a value is made of on a list. Of a function what it captured.
fn push_parts<'a>(value: &'a Value, open: &mut Vec<&'a Value>) {
    match value {
        Value::Labelled(labelled) => open.push(labelled.value()),
        Value::Reduced(inner) => open.extend(inner.as_slice()),
        Value::Stream(stream) => open.extend(stream.parts.as_slice()),
        Value::Closure(closure) => open.extend(closure.captures.as_slice()),
        Value::List(list) => open.extend(list.iter()),
        Value::Vector(vector) => open.extend(vector.iter()),
        Value::Map(map) => open.extend(map.iter().map(|(_, value)| value)),
        _ => {}
    }
}

/// A value and all that it is made of. Keys and elements of sets have no labels and aren't visited.
#[derive(Debug)]
pub(crate) struct AllParts<'a>(Vec<&'a Value>);

impl<'a> AllParts<'a> {
    pub(crate) fn of(value: &'a Value) -> Self {
        Self(vec![value])
    }
}

impl<'a> Iterator for AllParts<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        let value = self.0.pop()?;
        push_parts(value, &mut self.0);
        Some(value)
    }
}

/// The join of what printing a value shows: what is secret stays hidden, with all inside.
pub(crate) fn shown_flow(value: &Value, labels: &mut Labels, meter: &mut Meter) -> Result<Flow, Fault> {
    let mut found = Flow::NONE;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if value.flow().is_secret() {
            continue;
        }
        labels.join_into(&mut found, value.flow());
        let before = open.len();
        push_parts(value, &mut open);
        meter.elements(open.len().saturating_sub(before))?;
    }
    Ok(found)
}

/// The join of a value's own label and of all inside.
pub(crate) fn deep_flow(value: &Value, labels: &mut Labels, meter: &mut Meter) -> Result<Flow, Fault> {
    let mut found = Flow::NONE;
    for value in AllParts::of(value) {
        meter.elements(1)?;
        labels.join_into(&mut found, value.flow());
    }
    Ok(found)
}

/// The rest to do to take labels off.
enum Task {
    Take(Value),
    /// Makes a collection like this one of the last values that are done.
    Make(Value, usize),
}

/// The value without any label. `value` itself where there is none.
pub(crate) fn take_all_labels(value: Value, meter: &mut Meter) -> Result<Value, Fault> {
    let mut has_labels = false;
    for value in AllParts::of(&value) {
        meter.elements(1)?;
        has_labels |= matches!(value, Value::Labelled(_));
    }
    if !has_labels {
        return Ok(value);
    }
    let mut tasks = vec![Task::Take(value)];
    let mut done: Vec<Value> = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Task::Take(value) => {
                let (value, _) = value.peel();
                let parts: Vec<Value> = match &value {
                    Value::List(list) => list.iter().cloned().collect(),
                    Value::Vector(vector) => vector.iter().cloned().collect(),
                    Value::Map(map) => map.iter().map(|(_, value)| value.clone()).collect(),
                    Value::Stream(stream) => stream.parts.as_slice().to_vec(),
                    Value::Reduced(inner) => inner.as_slice().to_vec(),
                    _ => {
                        done.push(value);
                        continue;
                    }
                };
                meter.elements(parts.len())?;
                meter.allocate(parts.len().saturating_mul(cost::SLOT).saturating_add(cost::OBJECT))?;
                tasks.push(Task::Make(value, parts.len()));
                tasks.extend(parts.into_iter().map(Task::Take));
            }
            Task::Make(like, count) => {
                // Parts come off the list from the last to the first.
                let mut parts = done.split_off(done.len().saturating_sub(count));
                parts.reverse();
                done.push(make_like(&like, parts, meter)?);
            }
        }
    }
    Ok(done.pop().unwrap_or_default())
}

fn make_like(like: &Value, parts: Vec<Value>, meter: &mut Meter) -> Result<Value, Fault> {
    Ok(match like {
        Value::List(_) => Value::from(List::from_vec(parts)),
        Value::Vector(_) => Value::vector(parts),
        Value::Map(map) => {
            let mut made = Map::default();
            for ((key, _), value) in map.iter().zip(parts) {
                made.insert(key.clone(), value, meter)?;
            }
            Value::from(made)
        }
        Value::Stream(stream) => Value::Stream(Arc::new(Stream { kind: stream.kind, parts: Chunk::new(parts) })),
        Value::Reduced(_) => Value::Reduced(Arc::new(Chunk::new(parts))),
        other => other.clone(),
    })
}
