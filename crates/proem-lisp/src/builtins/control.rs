//! Functions that direct the machine: calls, ends, tools, memory and budget.

use super::{Control, Row, Run, native, row_of};
use crate::{
    context::{Args, Context},
    error::Fault,
    print::print_excerpt,
    value::{Flow, Map, Value},
};
use alloc::{format, sync::Arc, vec::Vec};

pub(super) const ROWS: &[Row] = &[
    control("apply", "f x & more", "Calls a function with the elements of its last argument as arguments.", apply)
        .examples(&[("(apply + [1 2 3])", "6"), ("(apply max 1 [3 2])", "3")]),
    control("return", "result", "Ends the program with a result.", |_, args| Ok(Control::Return(args.take(0)))),
    control("fail", "error", "Ends the program with a failure, a map of `:reason` and `:message`.", |_, args| {
        Ok(Control::Fail(args.take(0)))
    }),
    control("call", "name map?", "Calls a tool by name with a map of arguments.", call),
    control("pmap", "f coll & colls", "As `map`; the tools that the branches call work at the same time.", pmap)
        .examples(&[("(pmap inc [1 2])", "(2 3)")]),
    control(
        "pcalls",
        "& fs",
        "Calls functions without arguments; the tools that they call work at the same time.",
        pcalls,
    )
    .examples(&[("(pcalls (fn [] 1) (fn [] 2))", "(1 2)")]),
    native("memory/get", "key default?", "The value of memory under a key.", memory_get)
        .examples(&[("(memory/get :a 0)", "0")]),
    native("memory/put", "key value", "Keeps a value in memory if the program succeeds, and gives it.", memory_put)
        .examples(&[("(do (memory/put :a 1) memory/a)", "1")]),
    native("budget/remaining", "", "The program's remaining limits, as a map.", budget)
        .examples(&[("(:tool-calls (budget/remaining))", "100")]),
    native("condp/no-clause", "x", "", |_, args| Err(crate::machine::no_clause(&print_excerpt(args.get(0), 80)))),
];

pub(super) const fn control(
    name: &'static str,
    signature: &'static str,
    doc: &'static str,
    run: fn(&mut Context, &mut Args<'_>) -> Result<Control, Fault>,
) -> Row {
    row_of(name, signature, doc, Run::Control(run))
}

fn apply(context: &mut Context, args: &mut Args<'_>) -> Result<Control, Fault> {
    let function = args.take(0);
    let last = args.len().saturating_sub(1);
    let mut all = super::sequence::Items::default();
    for index in 1..last {
        all.push(args.take(index), &mut context.meter)?;
    }
    if last > 0 {
        all.extend(args.take(last), &mut context.meter)?;
    }
    Ok(Control::Call { function, args: all.into_vec() })
}

fn call(_: &mut Context, args: &mut Args<'_>) -> Result<Control, Fault> {
    let name = match args.get(0) {
        Value::Text(name) | Value::Keyword(name) | Value::Symbol(name) => name.clone(),
        other => {
            return Err(Fault::of_type(format!("a tool's name is a string, not {}", other.type_phrase()))
                .help("call it as `(call \"name\" {:argument value})`"));
        }
    };
    let args = match args.take(1) {
        Value::Nil => Value::from(Map::default()),
        map @ Value::Map(_) => map,
        other => {
            return Err(Fault::of_type(format!("a tool takes a map of arguments, not {}", other.type_phrase()))
                .help("call it as `(call \"name\" {:argument value})`"));
        }
    };
    Ok(Control::Tool { name, args })
}

fn pmap(context: &mut Context, args: &mut Args<'_>) -> Result<Control, Fault> {
    let function = args.take(0);
    let mut columns = Vec::new();
    for index in 1..args.len() {
        columns.push(super::sequence::Cursor::over(args.take(index), &mut context.meter)?);
    }
    let mut branches = Vec::new();
    loop {
        let mut arguments = Vec::new();
        for column in &mut columns {
            match column.next(&mut context.meter)? {
                Some(value) => arguments.push(value),
                None => return Ok(Control::Parallel(branches)),
            }
        }
        context.meter.elements(1)?;
        context.meter.allocate(crate::cost::OBJECT)?;
        context.meter.collection(branches.len())?;
        branches.push((function.clone(), arguments));
    }
}

fn pcalls(_: &mut Context, args: &mut Args<'_>) -> Result<Control, Fault> {
    Ok(Control::Parallel((0..args.len()).map(|index| (args.take(index), Vec::new())).collect()))
}

fn memory_get(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let memory = Arc::clone(&context.memory);
    check_memory_name(args.get(0), "get")?;
    let found = memory.lookup(args.get(0), &mut context.meter)?.cloned();
    Ok(found.unwrap_or_else(|| args.take(1)))
}

/// A collection or function as a key of the memory is most often a name without its colon.
fn check_memory_name(key: &Value, function: &str) -> Result<(), Fault> {
    if !key.is_nil() && !key.is_function() && !crate::value::has_children(key) {
        return Ok(());
    }
    let fault = Fault::of_type(format!("`memory/{function}` takes a name, not {}", key.type_phrase()));
    Err(fault.help(format!("write the name as a keyword, such as `(memory/{function} :name …)`")))
}

fn memory_put(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    check_memory_name(args.get(0), "put")?;
    let value = args.get(1).clone();
    context.remember(args.take(0), value.clone())?;
    Ok(value)
}

fn budget(context: &mut Context, _: &mut Args<'_>) -> Result<Value, Fault> {
    let limits = *context.meter.limits();
    let left = [
        ("tool-calls", limits.tool_calls.saturating_sub(context.tool_calls)),
        ("fuel", usize::try_from(limits.fuel.saturating_sub(context.meter.fuel_used())).unwrap_or(usize::MAX)),
        ("bytes", limits.bytes.saturating_sub(context.meter.bytes_used())),
    ];
    let mut map = match &context.inputs.budget {
        Value::Map(map) => (**map).clone(),
        _ => Map::default(),
    };
    for (key, left) in left {
        // How much work was done tells of everything that came in.
        let depends_on_work = key != "tool-calls";
        if depends_on_work && context.flow.met.is_secret() {
            continue;
        }
        let met = if depends_on_work { context.flow.met.clone() } else { Flow::NONE };
        let left = Value::from(left).with_flow(&met, &mut context.flow.labels, &mut context.meter)?;
        map.insert(Value::keyword(key), left, &mut context.meter)?;
    }
    Ok(Value::from(map))
}
