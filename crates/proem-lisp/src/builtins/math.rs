//! `Math`, numbers as another type, and bits.

use super::{Row, native};
use crate::{
    context::{Args, Context},
    error::Fault,
    limits::Meter,
    value::{Arithmetic, Number, Value, compare_numbers, float_to_integer, from_big},
};
use alloc::format;
use core::cmp::Ordering;

/// A row for a function of one float.
macro_rules! float {
    ($name:literal, $doc:literal, $function:expr, $example:expr) => {
        native($name, "x", $doc, |_, args| Ok(Value::float($function(number(args, 0, $name)?)))).examples(&[$example])
    };
}

/// A row for a function of two floats.
macro_rules! floats {
    ($name:literal, $signature:literal, $doc:literal, $function:expr, $example:expr) => {
        native($name, $signature, $doc, |_, args| {
            Ok(Value::float($function(number(args, 0, $name)?, number(args, 1, $name)?)))
        })
        .examples(&[$example])
    };
}

/// A row for arithmetic under another name.
macro_rules! arithmetic {
    ($name:literal, $signature:literal, $doc:literal, $operation:expr, $start:literal, $example:expr) => {
        native($name, $signature, $doc, |context, args| accumulate(context, args, $operation, $start))
            .examples(&[$example])
    };
}

/// A row for a function of the bits of integers.
macro_rules! bits {
    ($name:literal, $doc:literal, $function:expr, $example:expr) => {
        native($name, "x y & more", $doc, |context, args| {
            context.meter.elements(args.len())?;
            let mut out = integer(args, 0, $name)?;
            for index in 1..args.len() {
                out = $function(out, integer(args, index, $name)?);
            }
            Ok(Value::Int(out))
        })
        .examples(&[$example])
    };
}

/// A row for a function of the bits of an integer and the place of one, of which six bits count.
macro_rules! bit {
    ($name:literal, $doc:literal, $function:expr, $example:expr) => {
        native($name, "x n", $doc, |_, args| {
            let place = integer(args, 1, $name)? & 63;
            Ok(Value::from($function(integer(args, 0, $name)?, u32::try_from(place).unwrap_or(0))))
        })
        .examples(&[$example])
    };
}

pub(super) const ROWS: &[Row] = &[
    native("abs", "x", "The number without its sign.", |context, args| abs("abs", context, args))
        .examples(&[("(abs -3)", "3"), ("(abs -1.5)", "1.5")]),
    native("long", "x", "The number as an integer, without its fraction; the code point of a character.", |_, args| {
        long(args, "long")
    })
    .examples(&[("(long 3.7)", "3"), ("(long \"a\")", "97")]),
    native("int", "x", "As `long`.", |_, args| long(args, "int")).examples(&[("(int -3.7)", "-3")]),
    float!("double", "The number as a float.", |x| x, ("(double 1)", "1.0")),
    float!("float", "As `double`.", |x| x, ("(float 1)", "1.0")),
    native(
        "bigint",
        "x",
        "The number, or the digits, as an integer of any size, without a fraction.",
        |context, args| {
            if let Value::Text(text) = args.get(0) {
                return integer_of_digits(text.as_str(), &mut context.meter);
            }
            to_integer(args.get(0), "bigint")
        },
    )
    .examples(&[("(bigint 1e20)", "100000000000000000000")]),
    native("num", "x", "The number itself.", |_, args| {
        Number::of(args.get(0), "num")?;
        Ok(args.take(0))
    })
    .examples(&[("(num 1)", "1")]),
    arithmetic!("+'", "& numbers", "As `+`.", Arithmetic::Add, 0, ("(+' 1 2)", "3")),
    arithmetic!("*'", "& numbers", "As `*`.", Arithmetic::Multiply, 1, ("(*' 2 3)", "6")),
    arithmetic!("-'", "x & numbers", "As `-`.", Arithmetic::Subtract, 0, ("(-' 3 2)", "1")),
    native("inc'", "x", "As `inc`.", |context, args| {
        Arithmetic::Add.apply(args.get(0), &Value::Int(1), &mut context.meter)
    })
    .examples(&[("(inc' 1)", "2")]),
    native("dec'", "x", "As `dec`.", |context, args| {
        Arithmetic::Subtract.apply(args.get(0), &Value::Int(1), &mut context.meter)
    })
    .examples(&[("(dec' 1)", "0")]),
    bits!("bit-and", "The bits that all have.", |x: i64, y: i64| x & y, ("(bit-and 6 3)", "2")),
    bits!("bit-or", "The bits that one has.", |x: i64, y: i64| x | y, ("(bit-or 6 3)", "7")),
    bits!("bit-xor", "The bits that differ.", |x: i64, y: i64| x ^ y, ("(bit-xor 6 3)", "5")),
    bits!(
        "bit-and-not",
        "The bits of the first that no other has.",
        |x: i64, y: i64| x & !y,
        ("(bit-and-not 6 3)", "4")
    ),
    native("bit-not", "x", "All bits turned over.", |_, args| Ok(Value::Int(!integer(args, 0, "bit-not")?)))
        .examples(&[("(bit-not 0)", "-1")]),
    bit!("bit-shift-left", "The bits n places higher.", |x: i64, n| x.wrapping_shl(n), ("(bit-shift-left 1 3)", "8")),
    bit!(
        "bit-shift-right",
        "The bits n places lower, with the sign kept.",
        |x: i64, n| x.wrapping_shr(n),
        ("(bit-shift-right -8 1)", "-4")
    ),
    bit!(
        "unsigned-bit-shift-right",
        "The bits n places lower.",
        |x: i64, n| x.cast_unsigned().wrapping_shr(n).cast_signed(),
        ("(unsigned-bit-shift-right -1 60)", "15")
    ),
    bit!("bit-test", "Whether bit n is set.", |x: i64, n| x & 1_i64.wrapping_shl(n) != 0, ("(bit-test 4 2)", "true")),
    bit!("bit-set", "The bits with bit n set.", |x: i64, n| x | 1_i64.wrapping_shl(n), ("(bit-set 0 2)", "4")),
    bit!("bit-clear", "The bits with bit n cleared.", |x: i64, n| x & !1_i64.wrapping_shl(n), ("(bit-clear 7 1)", "5")),
    bit!(
        "bit-flip",
        "The bits with bit n turned over.",
        |x: i64, n| x ^ 1_i64.wrapping_shl(n),
        ("(bit-flip 0 1)", "2")
    ),
    native("Math/PI", "", "The ratio of a circle's circumference to its diameter.", |_, _| Ok(PI))
        .examples(&[("Math/PI", "3.141592653589793")]),
    native("Math/E", "", "The base of the natural logarithm.", |_, _| Ok(E))
        .examples(&[("Math/E", "2.718281828459045")]),
    native("Math/abs", "x", "As `abs`.", |context, args| abs("Math/abs", context, args))
        .examples(&[("(Math/abs -3)", "3")]),
    native("Math/max", "x y", "The greater number; a float if one is.", |_, args| {
        extreme(args, "Math/max", Ordering::Greater)
    })
    .examples(&[("(Math/max 1 2.0)", "2.0")]),
    native("Math/min", "x y", "The lesser number; a float if one is.", |_, args| {
        extreme(args, "Math/min", Ordering::Less)
    })
    .examples(&[("(Math/min 1 2)", "1")]),
    native("Math/round", "x", "The nearest integer; of two, the greater.", round)
        .examples(&[("(Math/round 2.5)", "3"), ("(Math/round -2.5)", "-2")]),
    float!("Math/floor", "The greatest whole number up to x, as a float.", libm::floor, ("(Math/floor -1.5)", "-2.0")),
    float!("Math/ceil", "The least whole number from x on, as a float.", libm::ceil, ("(Math/ceil 1.2)", "2.0")),
    float!(
        "Math/rint",
        "The nearest whole number as a float; of two, the even one.",
        libm::rint,
        ("(Math/rint 2.5)", "2.0")
    ),
    float!("Math/sqrt", "The square root; NaN for negative numbers.", libm::sqrt, ("(Math/sqrt 16)", "4.0")),
    float!("Math/cbrt", "The cube root.", libm::cbrt, ("(Math/cbrt 27)", "3.0")),
    floats!("Math/pow", "x y", "x to the power of y.", pow, ("(Math/pow 2 10)", "1024.0")),
    float!("Math/exp", "e to the power of x.", libm::exp, ("(Math/exp 0)", "1.0")),
    float!("Math/expm1", "e to the power of x, less 1.", libm::expm1, ("(Math/expm1 0)", "0.0")),
    float!("Math/log", "The natural logarithm.", libm::log, ("(Math/log 1)", "0.0")),
    float!("Math/log10", "The logarithm to the base 10.", libm::log10, ("(Math/log10 1000)", "3.0")),
    float!("Math/log1p", "The natural logarithm of x and 1.", libm::log1p, ("(Math/log1p 0)", "0.0")),
    float!("Math/sin", "The sine of an angle in radians.", libm::sin, ("(Math/sin 0)", "0.0")),
    float!("Math/cos", "The cosine of an angle in radians.", libm::cos, ("(Math/cos 0)", "1.0")),
    float!("Math/tan", "The tangent of an angle in radians.", libm::tan, ("(Math/tan 0)", "0.0")),
    float!("Math/asin", "The angle of a sine.", libm::asin, ("(Math/asin 0)", "0.0")),
    float!("Math/acos", "The angle of a cosine.", libm::acos, ("(Math/acos 1)", "0.0")),
    float!("Math/atan", "The angle of a tangent.", libm::atan, ("(Math/atan 0)", "0.0")),
    floats!("Math/atan2", "y x", "The angle of a point.", libm::atan2, ("(Math/atan2 0 1)", "0.0")),
    float!("Math/sinh", "The hyperbolic sine.", libm::sinh, ("(Math/sinh 0)", "0.0")),
    float!("Math/cosh", "The hyperbolic cosine.", libm::cosh, ("(Math/cosh 0)", "1.0")),
    float!("Math/tanh", "The hyperbolic tangent.", libm::tanh, ("(Math/tanh 0)", "0.0")),
    floats!("Math/hypot", "x y", "The length of the hypotenuse.", libm::hypot, ("(Math/hypot 3 4)", "5.0")),
    float!("Math/signum", "-1.0, 0.0 or 1.0 by the sign.", signum, ("(Math/signum -2)", "-1.0")),
    float!("Math/toRadians", "An angle in degrees in radians.", f64::to_radians, ("(Math/toRadians 0)", "0.0")),
    float!("Math/toDegrees", "An angle in radians in degrees.", f64::to_degrees, ("(Math/toDegrees 0)", "0.0")),
    native("Math/floorDiv", "n divisor", "The quotient of integers, rounded down.", |context, args| {
        let (n, divisor) = (integer(args, 0, "Math/floorDiv")?, integer(args, 1, "Math/floorDiv")?);
        let rest = Arithmetic::Modulus.apply(&Value::Int(n), &Value::Int(divisor), &mut context.meter)?;
        let whole = Arithmetic::Subtract.apply(&Value::Int(n), &rest, &mut context.meter)?;
        Arithmetic::Quotient.apply(&whole, &Value::Int(divisor), &mut context.meter)
    })
    .examples(&[("(Math/floorDiv -7 2)", "-4")]),
    native("Math/floorMod", "n divisor", "As `mod`, of integers.", |context, args| {
        let (n, divisor) = (integer(args, 0, "Math/floorMod")?, integer(args, 1, "Math/floorMod")?);
        Arithmetic::Modulus.apply(&Value::Int(n), &Value::Int(divisor), &mut context.meter)
    })
    .examples(&[("(Math/floorMod -7 2)", "1")]),
];

const PI: Value = Value::float(core::f64::consts::PI);
const E: Value = Value::float(core::f64::consts::E);

/// The value that a name represents without being called.
pub(crate) fn constant(name: &str) -> Option<Value> {
    Some(match name {
        "Math/PI" | "java.lang.Math/PI" | "clojure.math/PI" => PI,
        "Math/E" | "java.lang.Math/E" | "clojure.math/E" => E,
        "Long/MAX_VALUE" => Value::Int(i64::MAX),
        "Long/MIN_VALUE" => Value::Int(i64::MIN),
        _ => return None,
    })
}

fn number(args: &Args<'_>, index: usize, function: &str) -> Result<f64, Fault> {
    Ok(Number::of(args.get(index), function)?.to_float())
}

fn integer(args: &Args<'_>, index: usize, function: &str) -> Result<i64, Fault> {
    match args.get(index) {
        Value::Int(int) => Ok(*int),
        other => Err(Fault::of_type(format!("`{function}` takes integers of 64 bits, not {}", other.type_phrase()))
            .help("make an integer of a float with `long`")),
    }
}

fn accumulate(context: &mut Context, args: &mut Args<'_>, operation: Arithmetic, start: i64) -> Result<Value, Fault> {
    context.meter.elements(args.len())?;
    let is_negation = operation == Arithmetic::Subtract && args.len() == 1;
    let mut out = if is_negation || args.len() == 0 { Value::Int(start) } else { args.take(0) };
    Number::of(&out, operation.name())?;
    for index in usize::from(!is_negation)..args.len() {
        out = operation.apply(&out, args.get(index), &mut context.meter)?;
    }
    Ok(out)
}

fn abs(function: &str, context: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    match args.get(0) {
        Value::Float(float) => Ok(Value::float(libm::fabs(float.get()))),
        value => {
            Number::of(value, function)?;
            if compare_numbers(value, &Value::Int(0))? == Ordering::Less {
                return Arithmetic::Subtract.apply(&Value::Int(0), value, &mut context.meter);
            }
            Ok(args.take(0))
        }
    }
}

fn integer_of_digits(digits: &str, meter: &mut Meter) -> Result<Value, Fault> {
    let words = u64::try_from(digits.len() / 19).unwrap_or(u64::MAX).saturating_add(1);
    meter.digits(digits.len())?;
    meter.work(words.saturating_mul(words))?;
    meter.new_text(digits.len())?;
    let parsed = digits.parse().map_err(|_| Fault::eval("`bigint`: the string isn't an integer"));
    parsed.map(from_big).map_err(|fault| fault.help("read data with `parse-long`, which gives nil"))
}

fn to_integer(value: &Value, function: &str) -> Result<Value, Fault> {
    match value {
        Value::Int(_) | Value::Big(_) => Ok(value.clone()),
        Value::Float(float) => float_to_integer(float.get()).ok_or_else(|| {
            Fault::eval(format!("`{function}`: {} has no integer", float.get()))
                .help("test for it with `infinite?` and `NaN?`")
        }),
        other => {
            Number::of(other, function)?;
            Ok(Value::Nil)
        }
    }
}

fn long(args: &Args<'_>, function: &str) -> Result<Value, Fault> {
    if let Value::Text(text) = args.get(0) {
        let mut chars = text.as_str().chars();
        if let (Some(c), None) = (chars.next(), chars.next()) {
            return Ok(Value::Int(i64::from(u32::from(c))));
        }
    }
    if let Value::Float(float) = args.get(0)
        && float.get().is_nan()
    {
        return Ok(Value::Int(0));
    }
    match to_integer(args.get(0), function)? {
        int @ Value::Int(_) => Ok(int),
        _ => Err(Fault::eval(format!("`{function}`: the number doesn't fit into 64 bits")).help("use `bigint`")),
    }
}

/// As in Java: NaN wins, and -0.0 is less than 0.0.
fn extreme(args: &mut Args<'_>, function: &str, wanted: Ordering) -> Result<Value, Fault> {
    if let (Value::Int(a), Value::Int(b)) = (args.get(0), args.get(1)) {
        return Ok(Value::Int(if a.cmp(b) == wanted { *a } else { *b }));
    }
    let (a, b) = (number(args, 0, function)?, number(args, 1, function)?);
    if a.is_nan() || b.is_nan() {
        return Ok(Value::float(f64::NAN));
    }
    Ok(Value::float(if a.total_cmp(&b) == wanted { a } else { b }))
}

fn round(_: &mut Context, args: &mut Args<'_>) -> Result<Value, Fault> {
    let float = match args.get(0) {
        Value::Float(float) => float.get(),
        value => {
            Number::of(value, "Math/round")?;
            return Ok(args.take(0));
        }
    };
    let floor = libm::floor(float);
    let whole = if float - floor >= 0.5 { floor + 1.0 } else { floor };
    Ok(match float_to_integer(whole) {
        Some(int @ Value::Int(_)) => int,
        // As in Java, what is beyond 64 bits is the last integer in them, and NaN is 0.
        _ if float.is_nan() => Value::Int(0),
        _ => Value::Int(if float > 0.0 { i64::MAX } else { i64::MIN }),
    })
}

/// As in Java, where 1 to the power of infinity or NaN isn't 1.
fn pow(x: f64, y: f64) -> f64 {
    if y.is_nan() || libm::fabs(x) == 1.0 && y.is_infinite() { f64::NAN } else { libm::pow(x, y) }
}

fn signum(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { libm::copysign(1.0, x) }
}
