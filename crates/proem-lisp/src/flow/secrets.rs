//! Fields that are secret by their name.

use crate::value::Value;
use alloc::{vec, vec::Vec};
use proem_text::Label;

/// The remaining work.
enum Task {
    /// A value, and whether it is in a secret field.
    Visit(Value, bool),
    /// Makes a collection like this one of the last values that are done.
    Make(Value, usize),
}

/// The value with everything in fields whose name begins with `_` labelled as secret, at any depth.
///
/// For inputs and for what tools answer: a signature that declares `_token` says no more than this name does. Labels
/// that are there are joined, and all else is as it was.
#[must_use]
pub fn label_secret_fields(value: Value) -> Value {
    let secret = Label::trusted().made_secret();
    change_secret_fields(value, &|value| value.labelled(&secret))
}

/// The value with everything in fields whose name begins with `_` without labels: for a reader whom a signature gives
/// these fields. Secrets elsewhere stay secret.
#[must_use]
pub fn open_secret_fields(value: Value) -> Value {
    change_secret_fields(value, &|value| value.without_labels())
}

fn change_secret_fields(value: Value, change: &dyn Fn(Value) -> Value) -> Value {
    let mut tasks = vec![Task::Visit(value, false)];
    let mut done: Vec<Value> = Vec::new();
    while let Some(task) = tasks.pop() {
        let (value, parts) = match task {
            Task::Visit(value, true) => {
                done.push(change(value));
                continue;
            }
            Task::Visit(value, false) => {
                let parts = parts_of(&value);
                (value, parts)
            }
            Task::Make(like, count) => {
                let mut parts = done.split_off(done.len().saturating_sub(count));
                parts.reverse();
                done.push(make_like(&like, parts));
                continue;
            }
        };
        if parts.is_empty() {
            done.push(value);
            continue;
        }
        tasks.push(Task::Make(value, parts.len()));
        tasks.extend(parts.into_iter().map(|(part, is_secret)| Task::Visit(part, is_secret)));
    }
    done.pop().unwrap_or_default()
}

fn parts_of(value: &Value) -> Vec<(Value, bool)> {
    let value = value.unlabelled();
    let is_secret = |key: &Value| key.as_str().is_some_and(|name| name.starts_with('_'));
    match value {
        Value::Map(_) => value.entries().map(|(key, value)| (value.clone(), is_secret(key))).collect(),
        Value::Vector(_) | Value::List(_) => value.elements().map(|element| (element.clone(), false)).collect(),
        _ => Vec::new(),
    }
}

fn make_like(like: &Value, parts: Vec<Value>) -> Value {
    let made = match like.unlabelled() {
        inner @ Value::Map(_) => Value::map(inner.entries().map(|(key, _)| key.clone()).zip(parts)),
        Value::List(_) => Value::list(parts),
        _ => Value::vector(parts),
    };
    made.labelled(&like.flow().to_label())
}
