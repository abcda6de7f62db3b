//! JSON from text and as text.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    json::{parse_json, write_json},
    value::Value,
};

pub(super) const ROWS: &[Row] = &[
    native("json/parse", "s", "The value of a JSON text, with strings as keys; nil for text that isn't JSON.", parse)
        .examples(&[
            ("(json/parse \"{\\\"a\\\": [1, 2.5, null]}\")", "{\"a\" [1 2.5 nil]}"),
            ("(:a (json/parse \"{\\\"a\\\": 1}\"))", "1"),
            ("(json/parse \"{a: 1}\")", "nil"),
        ]),
    native("json/write", "x", "The value as a JSON text, with the keys of maps in order.", |context, args| {
        write_json(args.get(0), &mut context.meter).map(Value::from)
    })
    .examples(&[("(json/write {:b [1 nil] :a \"x\"})", "\"{\\\"a\\\":\\\"x\\\",\\\"b\\\":[1,null]}\"")]),
];

fn parse(context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    if args.get(0).is_nil() {
        return Ok(Value::Nil);
    }
    let text = args.text(0, "json/parse")?;
    Ok(parse_json(text.as_str(), &mut context.meter)?.unwrap_or_default())
}
