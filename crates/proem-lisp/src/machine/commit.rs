//! The memory that a successful program leaves.

use super::{Machine, Outcome};
use crate::{
    error::{Fault, Reason},
    value::{Census, Map, Value},
};
use alloc::{format, sync::Arc};

impl Machine {
    /// The program's value: a map is merged into the memory, without `:return`, whose value is the result.
    pub(super) fn commit_value(&mut self, value: Value) -> Result<Outcome, Fault> {
        if self.context.flow.is_on {
            return self.commit_labelled(value);
        }
        let Value::Map(map) = &value else {
            self.commit()?;
            return Ok(Outcome::Done(value));
        };
        let key = Value::keyword("return");
        let result = map.get(&key, &mut self.context.meter)?.cloned();
        let map = Arc::clone(map);
        self.merge(&map, result.is_some().then_some(&key))?;
        self.commit()?;
        Ok(Outcome::Done(result.unwrap_or(value)))
    }

    /// As [`Machine::commit_value`]: what is kept and given has the label of the floor, and whether a name is kept is
    /// told by the spine of the map.
    fn commit_labelled(&mut self, value: Value) -> Result<Outcome, Fault> {
        let floor = self.context.flow.floor.clone();
        let value = self.join(value, &floor)?;
        let (inner, flow) = value.clone().peel();
        let Value::Map(map) = inner else {
            self.commit()?;
            return Ok(Outcome::Done(value));
        };
        let state = &mut self.context.flow;
        state.labels.join_into(&mut state.memory, &flow);
        let key = Value::keyword("return");
        let result = map.get(&key, &mut self.context.meter)?.cloned();
        for (name, value) in map.iter() {
            if result.is_none() || *name != key {
                let value = self.join(value.clone(), &flow)?;
                self.context.remember(name.clone(), value)?;
            }
        }
        self.commit()?;
        let result = match result {
            Some(result) => self.join(result, &flow)?,
            None => value,
        };
        Ok(Outcome::Done(result))
    }

    /// `return` leaves what was stored, and merges nothing.
    pub(super) fn commit_return(&mut self, value: Value) -> Result<Outcome, Fault> {
        self.commit()?;
        Ok(Outcome::Return(value))
    }

    fn merge(&mut self, map: &Map, except: Option<&Value>) -> Result<(), Fault> {
        for (key, value) in map.iter() {
            if Some(key) != except {
                self.context.remember(key.clone(), value.clone())?;
            }
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        let memory = Value::Map(Arc::clone(&self.context.memory));
        let spine = self.context.flow.memory.clone();
        let memory = self.join(memory, &spine)?;
        let mut census = Census::default();
        census.add(&memory);
        self.context.meter.elements(census.visited())?;
        let most = self.context.meter.limits().memory_bytes;
        if census.bytes() > most {
            let message = format!("the memory needs more than {most} bytes; it is as before the program");
            return Err(Fault::limit(Reason::MemoryExceeded, message, "memory_bytes"));
        }
        self.committed = memory;
        Ok(())
    }
}
