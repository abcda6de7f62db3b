//! Sequences without an end that are computed: `iterate`, and `map` or `filter` over what has no end.
//!
//! Such a sequence is data: a word, a function and what it works on. Only what takes from it calls the
//! function. The machine calls the function of this file in place of one that meets such a sequence.

use super::{Row, id_of, lisp, native};
use crate::{
    error::Fault,
    limits::cost,
    value::{BuiltinId, Chunk, Stream, StreamKind, Value},
};
use alloc::{format, sync::Arc, vec};

pub(super) const ROWS: &[Row] = &[
    lisp("iterate", "f x", "Endlessly x, (f x), (f (f x)) and so on.", "(fn [f x] (stream/make :iterate f x))")
        .examples(&[
            ("(take 3 (iterate inc 1))", "(1 2 3)"),
            ("(first (filter #(> % 50) (iterate #(* 2 %) 1)))", "64"),
        ]),
    lisp(
        "repeatedly",
        "n? f",
        "The results of a function without arguments, n times or endlessly.",
        "(fn ([f] (stream/make :map (fn [_] (f)) (range))) ([n f] (map (fn [_] (f)) (range n))))",
    )
    .examples(&[("(repeatedly 2 (fn [] 1))", "(1 1)")]),
    native("stream/make", "kind f from", "", |context, args| {
        context.meter.allocate(cost::OBJECT.saturating_add(cost::SLOT.saturating_mul(3)))?;
        let parts = Chunk::new(vec![args.take(0), args.take(1), args.take(2)]);
        Ok(Value::Stream(Arc::new(Stream { kind: StreamKind::Computed, parts })))
    }),
    native("stream/parts", "stream", "", |_, args| match args.get(0) {
        Value::Stream(stream) if stream.kind == StreamKind::Computed => {
            Ok(Value::vector(stream.parts.as_slice().to_vec()))
        }
        other => Ok(Value::vector(vec![Value::keyword("plain"), Value::Nil, other.clone()])),
    }),
    // The next element and the stream behind it.
    lisp(
        "stream/next",
        "stream",
        "",
        "(fn go [s]
      (let [[kind f from] (stream/parts s)]
        (case kind
          :iterate [from (stream/make :after f from)]
          :after (let [x (f from)] [x (stream/make :after f x)])
          :map (let [[x more] (go from)] [(f x) (stream/make :map f more)])
          :filter (loop [s from] (let [[x more] (go s)] (if (f x) [x (stream/make :filter f more)] (recur more))))
          [(first s) (rest s)])))",
    ),
    lisp(
        "stream/take",
        "n stream",
        "",
        "(fn [n s] (loop [n n s s out []] (if (pos? n) (let [[x more] (stream/next s)] (recur (dec n) more (conj out x))) (seq->list out))))",
    ),
    lisp(
        "stream/drop",
        "n stream",
        "",
        "(fn [n s] (loop [n n s s] (if (pos? n) (recur (dec n) (second (stream/next s))) s)))",
    ),
    lisp("stream/first", "stream", "", "(fn [s] (first (stream/next s)))"),
    lisp("stream/second", "stream", "", "(fn [s] (second (stream/take 2 s)))"),
    lisp("stream/rest", "stream", "", "(fn [s] (second (stream/next s)))"),
    lisp("stream/seq", "stream", "", "(fn [s] s)"),
    lisp("stream/nth", "stream n default?", "", "(fn [s n & _] (first (stream/next (stream/drop n s))))"),
    lisp("stream/map", "f stream", "", "(fn [f s] (stream/make :map f s))"),
    lisp("stream/filter", "f stream", "", "(fn [f s] (stream/make :filter f s))"),
    lisp("stream/remove", "f stream", "", "(fn [f s] (stream/make :filter (fn [x] (not (f x))) s))"),
    lisp("stream/keep", "f stream", "", "(fn [f s] (stream/make :filter some? (stream/make :map f s)))"),
    lisp("stream/map-indexed", "f stream", "", "(fn [f s] (stream/make :map (fn [i] (f i (stream/nth s i))) (range)))"),
    lisp(
        "stream/take-while",
        "f stream",
        "",
        "(fn [f s] (loop [s s out []] (let [[x more] (stream/next s)] (if (f x) (recur more (conj out x)) (seq->list out)))))",
    ),
    lisp(
        "stream/drop-while",
        "f stream",
        "",
        "(fn [f s] (loop [s s] (let [[x more] (stream/next s)] (if (f x) (recur more) (stream/cons x more)))))",
    ),
    lisp(
        "stream/cons",
        "x stream",
        "",
        "(fn [x s] (stream/make :map (fn [i] (if (zero? i) x (stream/nth s (dec i)))) (range)))",
    ),
    lisp(
        "stream/some",
        "f stream",
        "",
        "(fn [f s] (loop [s s] (let [[x more] (stream/next s) found (f x)] (if found found (recur more)))))",
    ),
    lisp(
        "stream/every?",
        "f stream",
        "",
        "(fn [f s] (loop [s s] (let [[x more] (stream/next s)] (if (f x) (recur more) false))))",
    ),
];

/// The function that takes the place of another for these arguments: `None` unless the last is a
/// stream that the other can't go through.
pub(crate) fn stream_version(name: &str, args: &[Value]) -> Option<BuiltinId> {
    let is_stream = |value: &Value, is_endless_enough: fn(&Stream) -> bool| matches!(value, Value::Stream(stream) if is_endless_enough(stream));
    // A function that makes a stream would never come to the end of an endless one.
    let makes_stream = matches!(name, "map" | "filter" | "remove" | "keep" | "map-indexed") && args.len() == 2;
    let is_endless: fn(&Stream) -> bool =
        if makes_stream { |stream| stream.count().is_none() } else { |stream| stream.kind == StreamKind::Computed };
    if !args.iter().any(|value| is_stream(value, is_endless)) {
        return None;
    }
    id_of(&format!("stream/{name}"))
}

/// Whether going through a collection calls functions.
pub(crate) fn check_stored(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Stream(stream) if stream.kind == StreamKind::Computed => Err(crate::value::endless()),
        _ => Ok(()),
    }
}
