//! Programs that are read: sources that are resolved again.

use super::{
    StateError,
    graph::{Object, scan_constants},
    input::Input,
    objects::read_builtin,
};
use crate::{
    builtins::{self, Run},
    code::{Closure, Program},
    limits::Limits,
    machine::prelude_closure,
    resolve::{Names, resolve_source},
    value::{BuiltinId, Value},
};
use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};

/// The bytes that a program, a function of it and what holds that take at least.
const LEAST_BYTES: usize = 16;

/// The programs of a state by number: those of the table's functions first, then that which runs, then others.
#[derive(Debug)]
pub(super) struct Programs {
    all: Vec<Arc<Program>>,
    /// Functions of the table that the machine has resolved itself.
    pub(super) prelude: BTreeMap<BuiltinId, Arc<Closure>>,
    /// The number of the program that runs.
    main: usize,
}

impl Programs {
    pub(super) fn read(input: &mut Input<'_>, limits: &Limits) -> Result<Self, StateError> {
        let own = input.list(read_builtin)?;
        let others = input.list(read_builtin)?;
        let mut programs = Self { all: Vec::new(), prelude: BTreeMap::new(), main: 0 };
        let mut last = None;
        for id in own {
            // In order, so that each is there once.
            if last.replace(id) >= Some(id) {
                return Err(StateError::Malformed("functions are not in order"));
            }
            let closure = table_closure(id)?;
            programs.all.push(Arc::clone(&closure.program));
            programs.prelude.insert(id, closure);
        }
        last = None;
        for id in others {
            if last.replace(id) >= Some(id) || programs.prelude.contains_key(&id) {
                return Err(StateError::Malformed("functions are not in order"));
            }
            programs.all.push(Arc::clone(&table_closure(id)?.program));
        }
        programs.main = programs.all.len();
        let count = input.count()?;
        if count.saturating_mul(LEAST_BYTES) > input.len() {
            return Err(StateError::Malformed("it ends too early"));
        }
        let mut patterns: usize = 0;
        for _ in 0..count {
            let program = read_program(input, limits)?;
            let compiled = |value: &Value| if let Value::Regex(pattern) = value { pattern.bytes() } else { 0 };
            patterns = program.constants.iter().map(compiled).fold(patterns, usize::saturating_add);
            if patterns > limits.bytes {
                return Err(StateError::Malformed("its regular expressions take more bytes than a program may"));
            }
            programs.all.push(Arc::new(program));
        }
        if count == 0 { Err(StateError::Malformed("it has no program")) } else { Ok(programs) }
    }

    pub(super) fn get(&self, number: usize) -> Option<&Arc<Program>> {
        self.all.get(number)
    }

    /// The program that runs.
    pub(super) fn main(&self) -> Option<&Arc<Program>> {
        self.all.get(self.main)
    }

    /// The objects that the sources give, in the order in which the writer has numbered them.
    pub(super) fn visit_constants(&self, visit: &mut dyn FnMut(Object<'_>)) {
        for closure in self.prelude.values() {
            scan_constants(&closure.program).into_iter().for_each(&mut *visit);
            visit(Object::Closure(closure));
        }
        for program in self.all.iter().skip(self.main) {
            scan_constants(program).into_iter().for_each(&mut *visit);
        }
    }
}

fn table_closure(id: BuiltinId) -> Result<Arc<Closure>, StateError> {
    let no_program = StateError::Malformed("a function is no program");
    match builtins::row(id).map(|row| &row.run) {
        Some(Run::Lisp(source)) => prelude_closure(id, source).map_err(|_| no_program),
        _ => Err(no_program),
    }
}

fn read_program(input: &mut Input<'_>, limits: &Limits) -> Result<Program, StateError> {
    let source = input.text()?;
    let mut names = Names::default();
    for set in [&mut names.memory, &mut names.functions] {
        set.extend(input.list(|input| input.text().map(String::from))?);
    }
    // A memory's source may be longer than a program's, and was paid for when it was read first.
    let limits = Limits { source_bytes: usize::MAX, fuel: u64::MAX, ..*limits };
    resolve_source(source, &names, &limits).map_err(|_| StateError::Malformed("a source is no program"))
}
