//! What a program leaves in memory when it succeeds.

use super::{Machine, Outcome};
use crate::{
    error::{Fault, Reason},
    value::{Census, Map, Value},
};
use alloc::{format, sync::Arc};

impl Machine {
    /// The program's value: a map is merged into the memory, without `:return`, whose value is the result.
    pub(super) fn commit_value(&mut self, value: Value) -> Result<Outcome, Fault> {
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
